package io.snowraft.layout;

import java.time.Instant;

/**
 * The fields of an ID. A field that the layout does not have is 0.
 *
 * @param tick       ticks since the layout's epoch
 * @param tickMillis start of the tick in Unix milliseconds
 * @param datacenter the datacenter
 * @param worker     the worker
 * @param sequence   the sequence
 */
public record DecodedId(long tick, long tickMillis, long datacenter, long worker, long sequence) {
    /** Returns the start of the tick. */
    public Instant time() {
        return Instant.ofEpochMilli(tickMillis);
    }
}
