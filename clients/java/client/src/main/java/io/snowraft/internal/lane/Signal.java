package io.snowraft.internal.lane;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/** Wakes all threads that wait for a change. A thread takes the version first and looks afterwards, so that it misses no change. */
final class Signal {
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private long version;

    long version() {
        lock.lock();
        try {
            return version;
        } finally {
            lock.unlock();
        }
    }

    void fire() {
        lock.lock();
        try {
            version++;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** Waits until the version differs from {@code seen}, at most for a time. */
    void await(long seen, long nanos) throws InterruptedException {
        lock.lockInterruptibly();
        try {
            for (long left = nanos; version == seen && left > 0;) {
                left = changed.awaitNanos(left);
            }
        } finally {
            lock.unlock();
        }
    }

    /** Waits as {@link #await} does, and returns early when the thread is interrupted. */
    void awaitQuietly(long seen, long millis) {
        try {
            await(seen, TimeUnit.MILLISECONDS.toNanos(millis));
        } catch (InterruptedException e) {
            // only this package's own threads wait here, and no thread interrupts them
        }
    }
}
