package io.snowraft.app;

import org.springframework.data.jpa.repository.JpaRepository;

/** Stores orders. */
interface OrderRepository extends JpaRepository<Order, Long> {
}
