package io.snowraft.client;

import java.time.Duration;

/**
 * The options of a {@link Buffer}.
 *
 * @param layout   layout of the IDs; {@code default} by default
 * @param size     number of IDs in a full buffer, 1 to 1,000,000; 1,000 by default. Choose what is used within some seconds
 * @param maxAge   age at which IDs are dropped, 100 ms to 365 days; 10 s by default. A greater age bridges longer outages
 * @param failFast whether calls fail at once when the buffer is empty, instead of waiting
 */
public record BufferOptions(String layout, int size, Duration maxAge, boolean failFast) {
    private static final Duration LEAST_AGE = Duration.ofMillis(100);
    private static final Duration GREATEST_AGE = Duration.ofDays(365);

    /** Checks the options. */
    public BufferOptions {
        if (layout.isEmpty()) {
            throw Answers.invalid("layout name must not be empty");
        }
        Answers.checkCount(size, Answers.MAX_COUNT, "buffered IDs");
        if (maxAge.compareTo(LEAST_AGE) < 0 || maxAge.compareTo(GREATEST_AGE) > 0) {
            throw Answers.invalid("greatest age " + maxAge + ": expected 100 ms to 365 days");
        }
    }

    /** Returns the default options. */
    public static BufferOptions defaults() {
        return new BufferOptions("default", 1_000, Duration.ofSeconds(10), false);
    }

    /** Returns options with another layout. */
    public BufferOptions withLayout(String name) {
        return new BufferOptions(name, size, maxAge, failFast);
    }

    /** Returns options with another size. */
    public BufferOptions withSize(int ids) {
        return new BufferOptions(layout, ids, maxAge, failFast);
    }

    /** Returns options with another age. */
    public BufferOptions withMaxAge(Duration age) {
        return new BufferOptions(layout, size, age, failFast);
    }

    /** Returns options with which an empty buffer fails at once. */
    public BufferOptions withFailFast() {
        return new BufferOptions(layout, size, maxAge, true);
    }
}
