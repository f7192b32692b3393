package io.snowraft.hibernate;

import jakarta.persistence.Entity;
import jakarta.persistence.Id;
import jakarta.persistence.MappedSuperclass;

/** The entities of the tests. */
final class Orders {
    private Orders() {
    }

    @Entity(name = "PrimitiveOrder")
    static class PrimitiveOrder {
        @Id
        @SnowraftId
        long id;
    }

    @Entity(name = "BoxedOrder")
    static class BoxedOrder {
        @Id
        @SnowraftId
        Long id;
    }

    @MappedSuperclass
    static class Keyed<K> {
        @Id
        @SnowraftId
        K id;
    }

    @Entity(name = "TextOrder")
    static class TextOrder extends Keyed<String> {
    }

    @Entity(name = "NamedOrder")
    static class NamedOrder {
        private long id;

        @Id
        @SnowraftId(generator = "named")
        long getId() {
            return id;
        }

        void setId(long to) {
            id = to;
        }
    }

    @Entity(name = "ShortOrder")
    static class ShortOrder {
        @Id
        @SnowraftId
        Integer id;
    }
}
