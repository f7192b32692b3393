package io.snowraft.client;

/** Holds something that two copies of this process must not both have. */
interface Suspendable extends AutoCloseable {
    /** Gives it up, and gets no more of it until {@link #resume}. */
    void suspend();

    /** Continues, also in a copy of the process. */
    void resume();

    @Override
    void close();
}
