package io.snowraft.app;

import io.snowraft.hibernate.SnowraftId;
import jakarta.persistence.Entity;
import jakarta.persistence.Id;

/** An entity of JPA with a generator of its own. */
@Entity
class Invoice {
    @Id
    @SnowraftId(generator = "invoiceIds")
    Long id;
}
