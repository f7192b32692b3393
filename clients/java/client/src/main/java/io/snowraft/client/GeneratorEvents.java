package io.snowraft.client;

import io.snowraft.internal.lane.LaneEvents;
import java.lang.System.Logger.Level;
import java.util.function.Supplier;

/** Passes the events of a generator on to the listener and the logger. */
final class GeneratorEvents implements LaneEvents {
    private final String layout;
    private final ClientListener listener;
    private final System.Logger logger; // null: silent

    GeneratorEvents(String layout, ClientListener listener, System.Logger logger) {
        this.layout = layout;
        this.listener = listener;
        this.logger = logger;
    }

    @Override
    public void acquired(int lane, long worker) {
        log(Level.INFO, () -> "worker acquired" + where(lane, worker));
        tell(() -> listener.workerAcquired(layout, lane, worker));
    }

    @Override
    public void lost(int lane, long worker) {
        log(Level.WARNING, () -> "worker lost; acquiring another" + where(lane, worker));
        tell(() -> listener.workerLost(layout, lane, worker));
    }

    @Override
    public void extended(int lane, long worker, long untilMillis) {
        tell(() -> listener.windowExtended(layout, lane, worker, untilMillis));
    }

    @Override
    public void notGranted(int lane, SnowraftException failure) {
        log(Level.WARNING, () -> "window not granted; retrying: layout=" + layout + " lane=" + lane + " error=" + failure.getMessage());
        tell(() -> listener.windowNotGranted(layout, lane, failure));
    }

    @Override
    public void notReleased(int lane, long worker, SnowraftException failure) {
        log(Level.WARNING, () -> "worker not released; it becomes free when its window ends" + where(lane, worker) + " error=" + failure.getMessage());
    }

    private String where(int lane, long worker) {
        return ": layout=" + layout + " lane=" + lane + " worker=" + Long.toUnsignedString(worker);
    }

    private void log(Level level, Supplier<String> text) {
        if (logger != null) {
            logger.log(level, text);
        }
    }

    /** Calls the listener, which has no effect on the client if it fails. */
    private static void tell(Runnable call) {
        try {
            call.run();
        } catch (RuntimeException e) {
            // the listener's own problem
        }
    }
}
