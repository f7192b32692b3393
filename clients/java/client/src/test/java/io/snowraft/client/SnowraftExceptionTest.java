package io.snowraft.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

class SnowraftExceptionTest {
    private static SnowraftException of(boolean retry, boolean unknown) {
        return SnowraftException.of(Reason.INTERNAL, "INTERNAL", "broken", "a:1", Duration.ofMillis(5), retry, unknown, new IllegalStateException());
    }

    @Test
    void classesAreComplete() {
        assertEquals(Set.of(SnowraftException.Repeatable.class, SnowraftException.OutcomeUnknown.class, SnowraftException.Refused.class),
                Set.of(SnowraftException.class.getPermittedSubclasses()));
    }

    @Test
    void copiesAreEqual() throws Exception {
        for (SnowraftException e : List.of(of(true, true), of(true, false), of(false, true), of(false, false))) {
            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
                out.writeObject(e);
            }
            SnowraftException read = (SnowraftException) new ObjectInputStream(new ByteArrayInputStream(bytes.toByteArray())).readObject();
            for (SnowraftException copy : List.of(e.copy(), read)) {
                assertSame(e.getClass(), copy.getClass());
                assertEquals("snowraft: broken [INTERNAL]", copy.getMessage());
                assertEquals(List.of(e.retry(), e.unknown(), e.member(), e.retryAfter()),
                        List.of(copy.retry(), copy.unknown(), copy.member(), copy.retryAfter()));
                assertEquals(IllegalStateException.class, copy.getCause().getClass());
            }
        }
    }
}
