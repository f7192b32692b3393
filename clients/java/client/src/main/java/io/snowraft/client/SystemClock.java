package io.snowraft.client;

/** The clock of the system. */
enum SystemClock implements Clock {
    INSTANCE;

    @Override
    public long wallMillis() {
        return System.currentTimeMillis();
    }

    @Override
    public long monotonicMillis() {
        return System.nanoTime() / 1_000_000;
    }
}
