package io.snowraft.dev;

import io.snowraft.client.Clock;

/**
 * The clock of the system, which a test slows down: the window of a generator then lasts long enough, also on a busy machine. Slow it down
 * only after the members stopped answering or just before, because they refuse clocks that are wrong.
 */
public final class SlowClock implements Clock {
    private static final long FACTOR = 1000;

    private volatile long slowSince = Long.MAX_VALUE; // monotonic ms

    /** Makes the time pass 1000 times more slowly from now on. */
    public void slowDown() {
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
