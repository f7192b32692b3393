package io.snowraft.client;

import io.snowraft.internal.call.Caller;
import io.snowraft.internal.call.Method;
import io.snowraft.internal.call.Request;
import io.snowraft.internal.http.Deadline;
import io.snowraft.internal.json.JsonObject;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/** Keeps the generation and period of a sequence up to date while its blocks are in use, because members tell a process of no change. */
final class BlockWatch {
    private static final Duration LIMIT = Duration.ofSeconds(2);

    // States of use.
    private static final int IDLE = 0; // not used since the look before the last: the next caller must look first
    private static final int QUIET = 1; // not used since the last look
    private static final int BUSY = 2;

    /** Is told of each look at the sequence. */
    interface Listener {
        /** Learns the present epoch. */
        void learned(BlockStock.Epoch epoch);

        /** Learns that the sequence does not exist any longer. */
        void deleted();
    }

    private final Caller caller;
    private final String sequence;
    private final Duration every;
    private final Listener listener;
    private final AtomicInteger use = new AtomicInteger(IDLE); // read by every call, written once between two looks
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition looked = lock.newCondition();
    private boolean looking; // the first look since IDLE is in progress
    private volatile boolean closed;

    BlockWatch(Caller caller, String sequence, Duration every, Listener listener) {
        this.caller = caller;
        this.sequence = sequence;
        this.every = every;
        this.listener = listener;
    }

    /** Notes that numbers are taken, and reports whether the epoch is recent. */
    boolean inUse() {
        return use.get() == BUSY || use.compareAndSet(QUIET, BUSY) || use.get() == BUSY;
    }

    /** Waits for a look if the epoch is not recent. */
    void begin(Deadline deadline) {
        lock.lock();
        try {
            while (!inUse() && !closed) {
                if (!looking) {
                    looking = true;
                    looking = caller.background().execute(this::first);
                }
                if (deadline.passed() || !looking) {
                    throw SnowraftException.unsent(looking ? Reason.TIMEOUT : Reason.CLOSED, "no answer about sequence \"" + sequence + "\" in time");
                }
                looked.awaitNanos(deadline.left());
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw SnowraftException.unsent(Reason.INTERRUPTED, "interrupted while waiting for a number");
        } finally {
            lock.unlock();
        }
    }

    private void first() {
        look();
        lock.lock();
        try {
            use.set(BUSY);
            looking = false;
            looked.signalAll();
        } finally {
            lock.unlock();
        }
        caller.background().schedule(this::again, every);
    }

    private void again() {
        if (closed || !use.compareAndSet(BUSY, QUIET) && use.compareAndSet(QUIET, IDLE)) {
            return;
        }
        look();
        caller.background().schedule(this::again, every);
    }

    /** Looks once. If no member answers, nothing changes. */
    private void look() {
        try {
            JsonObject answer = caller.call(Request.of(Method.GET_SEQUENCE, "/v1/sequences/" + Paths.query(sequence) + "?local=true"), Deadline.after(LIMIT));
            listener.learned(Answers.read(answer, a -> {
                JsonObject s = a.object("sequence");
                return new BlockStock.Epoch(s.uint64("generation"), BlockStock.Epoch.day(s.string("period")));
            }));
        } catch (SnowraftException e) {
            if (e.reason() == Reason.UNKNOWN_SEQUENCE) {
                listener.deleted();
            }
        }
    }

    void close() {
        lock.lock();
        try {
            closed = true;
            looked.signalAll();
        } finally {
            lock.unlock();
        }
    }
}
