package io.snowraft.client;

import java.time.Instant;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * The state of a lane of a {@link Generator}.
 *
 * @param lane       index, from 0
 * @param worker     the worker; meaningful if {@code token} is not 0
 * @param token      fencing token of the worker, unsigned; 0 if the lane holds no worker
 * @param fromTick   first tick of the window
 * @param untilTick  first tick after the window
 * @param lastTick   tick of the last ID that was issued under this token; empty if none was
 * @param serveUntil end of the window; empty without a worker
 * @param problem    why the lane cannot issue, or why its window is not extended; empty if neither
 */
public record LaneStatus(int lane, long worker, long token, long fromTick, long untilTick, OptionalLong lastTick,
        Optional<Instant> serveUntil, Optional<SnowraftException> problem) {
}
