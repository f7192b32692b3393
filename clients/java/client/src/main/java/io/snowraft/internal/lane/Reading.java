package io.snowraft.internal.lane;

/** The clock at one moment: Unix milliseconds, and milliseconds of the monotonic clock. */
record Reading(long wall, long mono) {
    /** Returns wall - mono, which stays the same while the clock runs correctly. */
    long base() {
        return wall - mono;
    }
}
