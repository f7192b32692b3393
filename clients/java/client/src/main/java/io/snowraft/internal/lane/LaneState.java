package io.snowraft.internal.lane;

import io.snowraft.client.SnowraftException;

/**
 * The state of a lane. {@code token} is 0 if the lane holds no worker, {@code lastTick} -1 if it issued no ID under this grant, and
 * {@code problem} null without one.
 */
public record LaneState(int lane, long worker, long token, long fromTick, long untilTick, long lastTick, long untilMillis,
        SnowraftException problem) {
}
