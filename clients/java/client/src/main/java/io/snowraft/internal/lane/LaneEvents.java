package io.snowraft.internal.lane;

import io.snowraft.client.SnowraftException;

/** Receives the events of lanes, in their threads. */
public interface LaneEvents {
    /** A worker was acquired. */
    void acquired(int lane, long worker);

    /** The window of a worker was refused, or the worker was left. */
    void lost(int lane, long worker);

    /** The window of a worker was extended. */
    void extended(int lane, long worker, long untilMillis);

    /** The first of several requests in a row failed. */
    void notGranted(int lane, SnowraftException failure);

    /** A worker was not released; it becomes free when its window ends. */
    void notReleased(int lane, long worker, SnowraftException failure);
}
