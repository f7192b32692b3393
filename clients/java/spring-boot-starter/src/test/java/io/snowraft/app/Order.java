package io.snowraft.app;

import io.snowraft.hibernate.SnowraftId;
import jakarta.persistence.Entity;
import jakarta.persistence.Id;
import jakarta.persistence.Table;

/** An entity of JPA. */
@Entity
@Table(name = "orders")
class Order {
    @Id
    @SnowraftId
    Long id;
    String item = "tea";
}
