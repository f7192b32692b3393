package io.snowraft.internal.call;

import java.lang.reflect.InvocationTargetException;
import java.time.Duration;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;

/** The threads of a client: a timer, and threads for calls in the background. All are daemons, and none starts before it is needed. */
public final class Background {
    /** The greatest number of calls in the background where the JVM has no virtual threads. */
    private static final int MAX_THREADS = 64;

    private final ReentrantLock lock = new ReentrantLock();
    private ScheduledThreadPoolExecutor timer;
    private ExecutorService workers;
    private boolean closed;

    /** Runs a task in a thread of its own. Once the client is closed, it drops the task and returns false. */
    public boolean execute(Runnable task) {
        lock.lock();
        try {
            if (closed) {
                return false;
            }
            if (workers == null) {
                workers = newWorkers();
            }
            workers.execute(task);
            return true;
        } finally {
            lock.unlock();
        }
    }

    /** Runs a task after a delay, in a thread of its own. Drops it once the client is closed. */
    public void schedule(Runnable task, Duration delay) {
        lock.lock();
        try {
            if (closed) {
                return;
            }
            if (timer == null) {
                timer = new ScheduledThreadPoolExecutor(1, daemon("snowraft-timer"));
                timer.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
            }
            timer.schedule(() -> execute(task), delay.toNanos(), TimeUnit.NANOSECONDS);
        } catch (RejectedExecutionException e) {
            throw new IllegalStateException(e); // the timer is shut down only when closed is set
        } finally {
            lock.unlock();
        }
    }

    /** Stops all threads once their present tasks have ended. */
    public void close() {
        lock.lock();
        try {
            closed = true;
            if (timer != null) {
                timer.shutdownNow();
            }
            if (workers != null) {
                workers.shutdown();
            }
        } finally {
            lock.unlock();
        }
    }

    private static ExecutorService newWorkers() {
        try { // Java 21 and later
            return (ExecutorService) Executors.class.getMethod("newVirtualThreadPerTaskExecutor").invoke(null);
        } catch (NoSuchMethodException | IllegalAccessException | InvocationTargetException e) {
            ThreadPoolExecutor pool = new ThreadPoolExecutor(MAX_THREADS, MAX_THREADS, 10, TimeUnit.SECONDS, new LinkedBlockingQueue<>(),
                    daemon("snowraft-worker"));
            pool.allowCoreThreadTimeOut(true);
            return pool;
        }
    }

    private static ThreadFactory daemon(String name) {
        return task -> {
            Thread thread = new Thread(task, name);
            thread.setDaemon(true);
            return thread;
        };
    }
}
