package io.snowraft.dev;

import io.snowraft.client.Clock;
import io.snowraft.client.Generator;
import java.time.Instant;

/**
 * The clock of the system, which a test slows down: the window of a generator then lasts for hours, whatever the machine is busy with. The
 * members must stop next, because they refuse clocks that are wrong.
 */
public final class SlowClock implements Clock {
    private static final long FACTOR = 1000;
    private static final long LEAST_WINDOW = 10_000; // ms; it takes some extensions to grow

    private volatile long slowSince = Long.MAX_VALUE; // monotonic ms

    /** Waits until the window of a generator lasts for 10 s, and makes the time pass 1000 times more slowly from then on. */
    public void slowDown(Generator generator) {
        Until.holds(() -> generator.lanes().stream().flatMap(lane -> lane.serveUntil().stream())
                .anyMatch(end -> end.isAfter(Instant.ofEpochMilli(wallMillis() + LEAST_WINDOW))));
        slowSince = Clock.system().monotonicMillis();
    }

    @Override
    public long wallMillis() {
        long monotonic = Clock.system().monotonicMillis();
        return Clock.system().wallMillis() - (monotonic - slowed(monotonic));
    }

    @Override
    public long monotonicMillis() {
        return slowed(Clock.system().monotonicMillis());
    }

    private long slowed(long monotonic) {
        long since = slowSince;
        return monotonic <= since ? monotonic : since + (monotonic - since) / FACTOR;
    }
}
