package io.snowraft.driver;

import io.snowraft.client.Clock;

/** A clock that stands still between settings. */
final class SetClock implements Clock {
    private volatile long wall;
    private volatile long monotonic;

    void set(long wallMillis, long monotonicMillis) {
        wall = wallMillis;
        monotonic = monotonicMillis;
    }

    @Override
    public long wallMillis() {
        return wall;
    }

    @Override
    public long monotonicMillis() {
        return monotonic;
    }
}
