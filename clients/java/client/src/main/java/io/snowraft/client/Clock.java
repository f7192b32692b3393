package io.snowraft.client;

import java.util.OptionalLong;

/**
 * Reads the clocks of this machine. Tests pass a clock of their own; the default is {@link #system()}. Implementations are called from
 * many threads, and {@code wallMillis} for each ID, so they must be fast.
 */
public interface Clock {
    /** Returns the wall clock in Unix milliseconds. It may jump in both directions. */
    long wallMillis();

    /** Returns the monotonic clock in milliseconds since some fixed moment. It never jumps. */
    long monotonicMillis();

    /**
     * Returns for how many milliseconds the machine was suspended, plus a constant; empty if that is not known now. The monotonic clock
     * stands still meanwhile. Without this time, the wall clock seems to jump at the end of a suspension.
     */
    default OptionalLong suspendedMillis() {
        return OptionalLong.empty();
    }

    /** Returns the clock of the system. */
    static Clock system() {
        return SystemClock.INSTANCE;
    }
}
