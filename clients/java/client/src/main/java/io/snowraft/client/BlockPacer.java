package io.snowraft.client;

import io.snowraft.internal.json.JsonException;
import io.snowraft.internal.json.JsonObject;
import java.util.concurrent.ThreadLocalRandom;

/**
 * Decides when to request a block, and how many numbers. Rates are in numbers per millisecond, times in milliseconds. Guarded by the lock of
 * {@link Blocks}.
 *
 * <p>The next block is requested when a fifth of the current one is left, or when the rest would be used up within two round trips. A block
 * should last for the block duration of the sequence, and has at least half as many numbers as the one before.
 */
final class BlockPacer {
    private static final long MIN_WINDOW = 100; // the shortest time over which a rate is measured
    private static final long SHORT_WINDOW = 10;
    private static final long BURST_WINDOW = 1000;
    private static final long HEADROOM = 4; // the least number of round trips that a block lasts
    private static final long DEFAULT_DURATION = 10_000;
    private static final long MAX_DURATION = 3_600_000;
    private static final long MOST = 100_000_000;

    private final long firstSize;
    private long duration; // time that a block should last; 0 if none was granted yet
    private long min;
    private long max;
    private long size; // numbers requested last
    private double roundTrip;
    private long since; // start of the present window, and the numbers issued before it
    private long base;
    private boolean running;
    private double rate; // smoothed over the windows
    private double recent;
    private double burst;
    private int failures;
    private long retryAt = Long.MIN_VALUE;

    BlockPacer(long firstSize) {
        this.firstSize = firstSize;
    }

    /** Records how many numbers were issued so far. */
    void measure(long mono, long taken) {
        if (!running || taken < base || mono < since) {
            since = mono;
            base = taken;
            running = true;
            return;
        }
        double n = taken - base;
        long elapsed = mono - since;
        recent = n / Math.max(elapsed, SHORT_WINDOW);
        burst = n / BURST_WINDOW;
        if (elapsed < MIN_WINDOW) {
            return;
        }
        double weight = Math.min(1, Math.max(0.5, (double) elapsed / Math.max(duration, 1)));
        rate = rate > 0 ? rate + weight * (recent - rate) : recent;
        since = mono;
        base = taken;
        burst = 0;
    }

    /** Records a block, and the time that its request took. */
    void granted(JsonObject block, long took) throws JsonException {
        long d = block.int64("blockDurationMs");
        duration = Math.min(d > 0 ? d : DEFAULT_DURATION, MAX_DURATION);
        long most = block.int64("maxBlock");
        max = most > 0 ? Math.min(most, MOST) : MOST;
        min = Math.max(1, Math.min(block.int64("minBlock"), max));
        failures = 0;
        retryAt = Long.MIN_VALUE;
        double sample = Math.max(1, took);
        roundTrip = sample > roundTrip ? sample : roundTrip + (sample - roundTrip) / 8;
    }

    /** Records a failed request. */
    void failed(long mono) {
        long pause = Math.min(50L << Math.min(failures++, 16), 1000);
        retryAt = mono + Math.max(50, pause - ThreadLocalRandom.current().nextLong(pause / 2));
    }

    /** Reports whether a request in the background may begin. */
    boolean mayRequest(long mono) {
        return mono >= retryAt;
    }

    /** Returns how many numbers to request when callers wait for that many together. */
    long ask(long waiting) {
        if (duration == 0) {
            size = firstSize;
            return Math.max(size, waiting);
        }
        double now = Math.max(rate, burst);
        long wanted = clamp(now * Math.max(duration, HEADROOM * roundTrip), size / 2, Math.min(2 * size, MOST));
        wanted = Math.max(wanted, clamp(now * Math.max(duration / 4.0, HEADROOM * roundTrip), 0, MOST));
        size = Math.max(min, Math.min(wanted, max));
        return Math.max(size, waiting);
    }

    /** Returns how many numbers of a block are left when the next block is requested. */
    long reserve(long count) {
        return Math.max(count / 5 + Math.min(count % 5, 1), clamp(2 * roundTrip * Math.max(rate, recent), 0, MOST));
    }

    private static long clamp(double count, long low, long high) {
        return count >= high ? high : Math.max(low, (long) Math.ceil(count));
    }
}
