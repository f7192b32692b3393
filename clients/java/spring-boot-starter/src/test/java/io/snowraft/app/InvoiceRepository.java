package io.snowraft.app;

import org.springframework.data.jpa.repository.JpaRepository;

/** Stores invoices. */
interface InvoiceRepository extends JpaRepository<Invoice, Long> {
}
