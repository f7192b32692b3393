package io.snowraft.client;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.snowraft.test.FakeCluster;
import io.snowraft.test.FakeMember;
import java.time.Duration;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

/** The least and the greatest time limits that a {@link Duration} can express. */
class TimeLimitTest {
    private static final Duration GREATEST = Duration.ofSeconds(Long.MAX_VALUE, 999_999_999);
    private static final Duration LEAST = Duration.ofSeconds(Long.MIN_VALUE);

    @Test
    void greatLimitsNeverPass() throws Exception {
        try (FakeMember member = new FakeMember(new FakeCluster());
                SnowraftClient client = SnowraftClient.builder().addresses(member.address()).timeout(GREATEST).build()) {
            client.ready(GREATEST);
            assertTrue(client.nextId() > 0);
            assertTrue(client.sequence("s").next() > 0);
            try (Generator generator = client.generator()) {
                generator.ready(GREATEST);
                assertTrue(generator.next() > 0);
                assertTrue(generator.next(GREATEST) > 0);
            }
            try (Buffer buffer = client.buffer(10); Buffer empty = client.buffer(1)) {
                buffer.ready(GREATEST);
                for (int i = 0; i < 100; i++) {
                    assertTrue(buffer.next() > 0);
                    assertTrue(empty.next() > 0); // waits for most of them
                }
            }
            try (Blocks blocks = client.blocks("s")) {
                assertTrue(blocks.next() > 0);
            }
        }
    }

    @Test
    void limitsThatHavePassedFailAtOnce() throws Exception {
        try (FakeMember member = new FakeMember(r -> null);
                SnowraftClient client = SnowraftClient.builder().addresses(member.address()).build();
                Generator generator = client.generator(); Buffer buffer = client.buffer(10)) {
            for (Duration limit : new Duration[] {LEAST, Duration.ofNanos(-1), Duration.ZERO}) {
                refused(Reason.TIMEOUT, client::ready, limit);
                refused(Reason.WINDOW_ENDED, generator::ready, limit);
                refused(Reason.WINDOW_ENDED, generator::next, limit);
                refused(Reason.EMPTY, buffer::ready, limit);
            }
        }
    }

    @Test
    void impossibleOptionsAreRefused() {
        for (Duration limit : new Duration[] {LEAST, Duration.ofNanos(-1), Duration.ZERO}) {
            refused(Reason.INVALID_ARGUMENT, SnowraftClient.builder()::timeout, limit);
            refused(Reason.INVALID_ARGUMENT, BufferOptions.defaults()::withMaxAge, limit);
        }
        refused(Reason.INVALID_ARGUMENT, BufferOptions.defaults()::withMaxAge, Duration.ofDays(366));
        refused(Reason.INVALID_ARGUMENT, BufferOptions.defaults()::withMaxAge, GREATEST);
        assertDoesNotThrow(() -> BufferOptions.defaults().withMaxAge(Duration.ofDays(365)));
    }

    private static void refused(Reason reason, Consumer<Duration> call, Duration limit) {
        assertEquals(reason, assertThrows(SnowraftException.class, () -> call.accept(limit), limit::toString).reason());
    }
}
