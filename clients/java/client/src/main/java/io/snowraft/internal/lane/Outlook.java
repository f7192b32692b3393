package io.snowraft.internal.lane;

import io.snowraft.client.SnowraftException;

/**
 * When a lane that issues nothing now can serve a caller.
 *
 * @param waitMillis time until the clock reaches the next cell; 0 if the clock is not the obstacle
 * @param grant      whether a grant would help
 * @param had        whether the lane had a window before
 * @param error      the error for a caller that does not wait; null if {@code waitMillis} is not 0
 */
record Outlook(long waitMillis, boolean grant, boolean had, SnowraftException error) {
    static Outlook soon(long millis) {
        return new Outlook(millis, false, true, null);
    }

    static Outlook never(SnowraftException error) {
        return new Outlook(0, false, true, error);
    }
}
