package io.snowraft.client;

import java.util.concurrent.atomic.AtomicLong;

/** The clock of the system, with a wall clock that a test moves. */
final class TestClock implements Clock {
    private final AtomicLong offset = new AtomicLong();

    /** Moves the wall clock by that many milliseconds. */
    void jump(long millis) {
        offset.addAndGet(millis);
    }

    @Override
    public long wallMillis() {
        return Clock.system().wallMillis() + offset.get();
    }

    @Override
    public long monotonicMillis() {
        return Clock.system().monotonicMillis();
    }
}
