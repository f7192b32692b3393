package io.snowraft.internal.lane;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.snowraft.client.Clock;
import io.snowraft.client.Reason;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

/** The clock of a process whose machine is suspended. */
class WatchTest {
    private static final long START = 1_000_000_000_000L;
    private static final long MINUTE = 60_000;

    /** A clock that stands still until a test moves it. */
    private static final class StillClock implements Clock {
        private long wall = START;
        private long mono;
        private OptionalLong asleep = OptionalLong.of(5_000);
        private int waits; // readings of the wall clock after which the thread has to wait

        @Override
        public long wallMillis() {
            long read = wall;
            if (waits > 0) {
                waits--;
                wall += 700;
                mono += 700;
            }
            return read;
        }

        @Override
        public long monotonicMillis() {
            return mono;
        }

        @Override
        public OptionalLong suspendedMillis() {
            return asleep;
        }

        /** Suspends the machine for a minute. The readings of its clocks are some milliseconds apart. */
        private void suspend() {
            wall += MINUTE;
            mono += 10;
            asleep = OptionalLong.of(asleep.getAsLong() + MINUTE - 10);
        }
    }

    @Test
    void waitBetweenTheReadingsOfTwoClocksIsNoJump() {
        StillClock clock = new StillClock();
        clock.waits = 3;
        Watch watch = new Watch(clock);
        clock.wall += MINUTE;
        clock.mono += MINUTE;
        assertNull(watch.check(watch.now()));
        clock.waits = 1;
        assertEquals(new Reading(clock.wall + 700, clock.mono + 700), watch.now());
    }

    @Test
    void suspensionIsNoJump() {
        StillClock clock = new StillClock();
        Watch watch = new Watch(clock);
        watch.observe(START);
        clock.suspend();
        assertEquals(Reason.CLOCK_SKEW, watch.check(watch.now()).reason());
        watch.update();
        assertNull(watch.check(watch.now()));
        assertEquals(START + MINUTE, watch.observed());
        clock.wall += MINUTE;
        watch.update();
        assertEquals(Reason.CLOCK_SKEW, watch.check(watch.now()).reason(), "a jump remains one");
    }

    @Test
    void answersAfterASuspensionAreNotMoved() {
        StillClock clock = new StillClock();
        Watch watch = new Watch(clock);
        watch.observePeer("m", START, 0);
        clock.suspend();
        watch.observe(START + MINUTE);
        watch.observePeer("m", START + MINUTE, 0);
        watch.update();
        assertEquals(START + MINUTE, watch.observed());
        assertNull(watch.check(watch.now()));
        assertTrue(watch.trusted());
    }

    @Test
    void suspensionBeforeTheFirstReadingCountsAsNone() {
        StillClock clock = new StillClock();
        clock.asleep = OptionalLong.empty();
        Watch watch = new Watch(clock);
        clock.asleep = OptionalLong.of(MINUTE);
        watch.update();
        assertNull(watch.check(watch.now()));
        clock.wall += MINUTE;
        watch.update();
        assertEquals(Reason.CLOCK_SKEW, watch.check(watch.now()).reason());
    }

    @Test
    void systemKnowsItsSuspensions() {
        if (!Files.exists(Path.of("/proc/uptime"))) {
            assertEquals(OptionalLong.empty(), Clock.system().suspendedMillis());
            return;
        }
        OptionalLong asleep = OptionalLong.empty();
        while (asleep.isEmpty()) { // a busy machine reads its clocks too slowly now and then
            asleep = Clock.system().suspendedMillis();
        }
        for (int i = 0; i < 100; i++) {
            long then = Clock.system().suspendedMillis().orElse(asleep.getAsLong());
            assertTrue(Math.abs(then - asleep.getAsLong()) <= 50, "it stays the same while the machine runs");
        }
    }
}
