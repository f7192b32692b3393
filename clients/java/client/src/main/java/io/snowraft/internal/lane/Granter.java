package io.snowraft.internal.lane;

import io.snowraft.internal.http.Deadline;

/**
 * Requests workers and windows. A call that failed may still have been carried out: the window of a lost reply is lost, and never assumed
 * not to have been granted. The calls throw a {@link io.snowraft.client.SnowraftException}.
 */
interface Granter {
    /** Returns a random number for an extension, which is not 0. A copy of this process would draw another one. */
    long drawExtension();

    /** Requests a free worker and its first window of that many milliseconds, with the wall clock of this process. */
    Grant acquire(String holder, long wall, long window, Deadline deadline);

    /** Requests a later end of a window. {@code extension} is the number of the extension and its repetitions. */
    Grant extend(Lease held, long until, long extension, long wall, long window, Deadline deadline);

    /** Releases a worker. The next holder may begin at the tick {@code next}. */
    void release(Lease held, long next, Deadline deadline);
}
