package io.snowraft.client;

import java.time.Duration;

/**
 * Receives events of a client, for metrics and health. The methods run in the client's threads and delay them, so they must be fast.
 * They may run concurrently. A method that throws has no effect on the client.
 */
public interface ClientListener {
    /**
     * Is called after each try of a call.
     *
     * @param method  name of the call, such as {@code GenerateIds}
     * @param member  address of the member; empty if none could be called
     * @param took    time until the answer
     * @param failure the error; null after a success
     */
    default void tried(String method, String member, Duration took, SnowraftException failure) {
    }

    /**
     * Is called after each call that served coalesced callers.
     *
     * @param callers callers that the call served
     * @param count   IDs or numbers that they requested
     * @param failure the error; null after a success
     */
    default void shared(int callers, int count, SnowraftException failure) {
    }

    /** Is called when a lane of a generator has acquired a worker. */
    default void workerAcquired(String layout, int lane, long worker) {
    }

    /** Is called when the cluster refused to extend the window of a worker. The lane acquires another worker. */
    default void workerLost(String layout, int lane, long worker) {
    }

    /** Is called after each extension of a window; {@code untilMillis} is its new end in Unix milliseconds. */
    default void windowExtended(String layout, int lane, long worker, long untilMillis) {
    }

    /** Is called when a request for a window failed, and the request before had succeeded. */
    default void windowNotGranted(String layout, int lane, SnowraftException failure) {
    }
}
