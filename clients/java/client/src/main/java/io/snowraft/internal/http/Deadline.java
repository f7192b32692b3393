package io.snowraft.internal.http;

import java.net.SocketTimeoutException;
import java.time.Duration;
import java.util.concurrent.TimeUnit;

/** A moment of {@link System#nanoTime()}. */
public record Deadline(long nanos) {
    /** The longest time that a deadline counts; it keeps sums within 64 bits. */
    public static final Duration LONGEST = Duration.ofDays(365);

    /** Returns the deadline after a time from now, which has passed if the time is not positive. */
    public static Deadline after(Duration time) {
        Duration counted = time.isNegative() ? Duration.ZERO : time.compareTo(LONGEST) > 0 ? LONGEST : time;
        return new Deadline(System.nanoTime() + counted.toNanos());
    }

    /** Returns the earlier of this deadline and the one after a time from now. */
    public Deadline within(Duration time) {
        Deadline other = after(time);
        return other.nanos - nanos < 0 ? other : this;
    }

    /** Returns the time left in nanoseconds; not positive once the deadline has passed. */
    public long left() {
        return nanos - System.nanoTime();
    }

    /** Returns the time left in milliseconds, rounded up; not positive once the deadline has passed. */
    public long leftMillis() {
        return TimeUnit.NANOSECONDS.toMillis(left() + 999_999);
    }

    /** Reports whether the deadline has passed. */
    public boolean passed() {
        return left() <= 0;
    }

    /** Returns the time left as a timeout of a socket, which is at least 1 ms. */
    int socketTimeout() throws SocketTimeoutException {
        if (passed()) {
            throw new SocketTimeoutException("no answer in time");
        }
        return (int) Math.min(Integer.MAX_VALUE, Math.max(1, leftMillis()));
    }
}
