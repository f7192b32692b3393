package io.snowraft.internal.lane;

import java.util.concurrent.ThreadLocalRandom;

/**
 * Decides how long a window to request: 2 s at first, two to four times as much after each extension, up to the longest that the cluster
 * grants. A process that crashes in a loop thus holds workers for seconds only. It also decides when to extend, at random moments, so
 * that processes that started together do not extend together. Times are in milliseconds. Only the lane's thread uses it.
 */
final class SlowStart {
    static final long FIRST_WINDOW = 2_000;
    static final long MIN_BACKOFF = 50;
    static final long MAX_BACKOFF = 1_000;
    private static final long DEFAULT_WINDOW = 600_000;

    private long current = FIRST_WINDOW;
    private long coming; // the next window to request
    private long reached; // longest window so far, on any worker
    private long max;
    private boolean apart; // extensions are spread, relative to lanes that began or failed at the same time

    /** Starts over with a new worker. */
    void begin(long grantMax) {
        current = FIRST_WINDOW;
        apart = false;
        limit(grantMax);
    }

    /** Records that an extension was granted. */
    void extended(long grantMax) {
        current = coming;
        reached = Math.max(reached, current);
        limit(grantMax);
    }

    private void limit(long grantMax) {
        max = grantMax > 0 ? grantMax : DEFAULT_WINDOW;
        coming = Math.min(Math.max(2 * current + random(2 * current + 1), reached), max);
    }

    /** Records that an extension was not granted. */
    void failed() {
        apart = false;
    }

    long coming() {
        return coming;
    }

    long current() {
        return current;
    }

    /** Returns the time until the window is extended, a random part of the time left. */
    long extendAfter(long timeLeft) {
        long left = Math.max(0, Math.min(timeLeft, current)); // a clock that moved backwards makes it look longer
        long after = left / 2 + random(left / 20 + 1);
        if (current < max) {
            after = left / 4 + random(left / 4 + 1);
        } else if (!apart) {
            after = random(left / 2 + 1);
            apart = true;
        }
        return Math.max(after, MIN_BACKOFF);
    }

    /** Returns the pause after that many failures in a row: 50 ms, doubled for each failure up to {@code most}, less a random part. */
    static long backoff(int failures, long most) {
        long d = Math.min(MIN_BACKOFF << Math.min(Math.max(0, failures - 1), 16), most);
        return Math.max(MIN_BACKOFF, d - random(d / 2));
    }

    /** Returns a random number of 0 to n, exclusive. */
    static long random(long n) {
        return n <= 0 ? 0 : ThreadLocalRandom.current().nextLong(n);
    }
}
