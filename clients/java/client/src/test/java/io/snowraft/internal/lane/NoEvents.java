package io.snowraft.internal.lane;

import io.snowraft.client.SnowraftException;

/** Events of lanes that no test looks at. */
class NoEvents implements LaneEvents {
    @Override
    public void acquired(int lane, long worker) {
    }

    @Override
    public void lost(int lane, long worker) {
    }

    @Override
    public void extended(int lane, long worker, long untilMillis) {
    }

    @Override
    public void notGranted(int lane, SnowraftException failure) {
    }

    @Override
    public void notReleased(int lane, long worker, SnowraftException failure) {
    }
}
