package io.snowraft.client;

import io.snowraft.internal.call.Caller;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;

/**
 * Combines the requests of concurrent callers into shared calls. The first caller of a call makes it in its own thread; callers that
 * arrive while enough calls are in progress wait together for the next one.
 *
 * <p>Each part of an answer belongs to one caller, by its place in the call. A call begins after the requests of all callers that it
 * serves.
 */
final class Shared<R> {
    /** The calls in progress up to which another begins at once: one that a member works on, and one on its way. */
    private static final int WINDOW = 2;
    /** The time for which a call waits for the window, and the calls in progress from which it waits for longer. */
    private static final long OVERDUE_NANOS = TimeUnit.MILLISECONDS.toNanos(5);
    private static final int MAX_IN_PROGRESS = 64;
    /** The greatest count of a caller that shares a call. A caller that requests more would delay the others. */
    private static final int MAX_SHARED = 1000;

    /** The time without a further caller after which a call no longer waits for the callers of the call before it. */
    private static final long LULL_NANOS = TimeUnit.MICROSECONDS.toNanos(20);

    /** Makes a call for count IDs above a floor, or for count numbers. */
    interface Fetch<R> {
        R fetch(int count, long after);
    }

    /** The answer to a caller: its IDs or numbers begin at an index. */
    record Part<R>(R answer, int from) {
    }

    private static final class Batch<R> {
        private volatile int callers;
        private int count;
        private long after;
        private final CompletableFuture<R> answer = new CompletableFuture<>();
    }

    private final Caller caller;
    private final Fetch<R> fetch;
    private final int most; // greatest count of a call
    private final Reason divides; // an error that need not apply to each caller of a call; null: none
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition ended = lock.newCondition();
    private Batch<R> open; // the call that callers join; null: none waits
    private int inProgress;
    private volatile int woken; // callers of the last call that was answered, who may request again at once

    Shared(Caller caller, int most, Reason divides, Fetch<R> fetch) {
        this.caller = caller;
        this.most = most;
        this.divides = divides;
        this.fetch = fetch;
    }

    /** Returns the answer to a call that began after this method was called. */
    Part<R> take(int count, long after) {
        if (count > MAX_SHARED) {
            return single(count, after);
        }
        Joined<R> joined = join(count, after);
        Batch<R> batch = joined.batch();
        try {
            if (joined.leads()) {
                lead(batch);
            }
            // The call ends within the client's timeout, and the wait for the window before takes less.
            return new Part<>(batch.answer.get(2 * caller.timeout().toMillis() + 1000, TimeUnit.MILLISECONDS), joined.from());
        } catch (ExecutionException e) {
            return failed(batch, e.getCause(), count, after);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw unanswered(Reason.INTERRUPTED, "interrupted while waiting for a shared call");
        } catch (TimeoutException e) {
            throw unanswered(Reason.TIMEOUT, "no answer to a shared call in time");
        }
    }

    /** Returns the error of a caller that leaves a call. The calls that are shared may be repeated without harm. */
    private static SnowraftException unanswered(Reason reason, String message) {
        return SnowraftException.of(reason, reason.name(), message, "", Duration.ZERO, reason.byMethod(), true, null);
    }

    private Part<R> failed(Batch<R> batch, Throwable cause, int count, long after) {
        if (!(cause instanceof SnowraftException e)) {
            throw new CompletionException(cause);
        }
        if (batch.callers > 1 && e.reason() == divides) {
            return single(count, after); // enough may be left for one caller
        }
        throw e.copy();
    }

    /** Returns the answer as {@link #take} does, without waiting for it. */
    CompletableFuture<Part<R>> takeAsync(int count, long after) {
        if (count > MAX_SHARED) {
            return async(() -> single(count, after));
        }
        Joined<R> joined = join(count, after);
        Batch<R> batch = joined.batch();
        if (joined.leads() && !caller.background().execute(() -> leadQuietly(batch))) {
            batch.answer.completeExceptionally(Answers.closed("client"));
        }
        return batch.answer.handle((answer, error) -> error == null
                ? CompletableFuture.completedFuture(new Part<>(answer, joined.from()))
                : async(() -> failed(batch, error, count, after))).thenCompose(f -> f);
    }

    /** Runs a call in the background. */
    <T> CompletableFuture<T> async(Supplier<T> call) {
        CompletableFuture<T> future = new CompletableFuture<>();
        boolean running = caller.background().execute(() -> {
            try {
                future.complete(call.get());
            } catch (Throwable e) {
                future.completeExceptionally(e);
            }
        });
        if (!running) {
            future.completeExceptionally(Answers.closed("client"));
        }
        return future;
    }

    private Part<R> single(int count, long after) {
        Batch<R> batch = new Batch<>();
        batch.callers = 1;
        batch.count = count;
        batch.after = after;
        return new Part<>(call(batch), 0);
    }

    /** A caller's part of a call: its offset in the answer, and whether the caller makes the call. */
    private record Joined<R>(Batch<R> batch, int from, boolean leads) {}

    /** Adds a caller to the open call. */
    private Joined<R> join(int count, long after) {
        lock.lock();
        try {
            if (open == null || open.count + count > most) {
                open = new Batch<>(); // the leader of a full call still holds it
            }
            int from = open.count;
            open.callers++;
            open.count += count;
            open.after = Math.max(open.after, after);
            return new Joined<>(open, from, open.callers == 1);
        } finally {
            lock.unlock();
        }
    }

    private void leadQuietly(Batch<R> batch) {
        try {
            lead(batch);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Makes the call of a batch when it may begin. If the thread is interrupted, another one makes the call. */
    private void lead(Batch<R> batch) throws InterruptedException {
        gather(batch);
        lock.lock();
        try {
            for (long left = OVERDUE_NANOS; inProgress >= WINDOW && (left > 0 || inProgress >= MAX_IN_PROGRESS);) {
                left = ended.awaitNanos(Math.max(left, OVERDUE_NANOS / 5));
            }
            begin(batch);
        } catch (InterruptedException e) {
            handOver(batch);
            throw e;
        } finally {
            lock.unlock();
        }
        complete(batch);
    }

    /** Lets the callers that the last answer woke join, as long as one after the other does. */
    private void gather(Batch<R> batch) {
        int before = 0;
        long since = System.nanoTime();
        for (int callers = batch.callers; callers < woken; callers = batch.callers) {
            long now = System.nanoTime();
            if (callers > before) {
                before = callers;
                since = now;
            } else if (now - since > LULL_NANOS) {
                return;
            }
            Thread.yield();
        }
    }

    /** Closes a batch to further callers. Requires the lock. */
    private void begin(Batch<R> batch) {
        if (open == batch) {
            open = null;
        }
        inProgress++;
    }

    private void complete(Batch<R> batch) {
        R answer = null;
        Throwable failure = null;
        try {
            answer = call(batch);
        } catch (Throwable e) { // also errors such as OutOfMemoryError must not leave callers waiting
            failure = e;
        }
        lock.lock();
        try {
            inProgress--;
            woken = batch.callers;
            ended.signal();
        } finally {
            lock.unlock();
        }
        if (failure == null) {
            batch.answer.complete(answer);
        } else if (batch.callers > 1 && failure instanceof SnowraftException e && e.reason() == Reason.INTERRUPTED) {
            handOver(batch);
        } else {
            batch.answer.completeExceptionally(failure);
        }
    }

    /** Lets another thread make the call of a batch whose leader was interrupted. */
    private void handOver(Batch<R> batch) {
        if (batch.callers == 1 && open == batch) {
            open = null; // no caller waits for it
        } else if (!caller.background().execute(() -> leadQuietly(batch))) {
            batch.answer.completeExceptionally(unanswered(Reason.CLOSED, "the client was closed during a shared call"));
        }
    }

    private R call(Batch<R> batch) {
        SnowraftException failure = null;
        try {
            return fetch.fetch(batch.count, batch.after);
        } catch (SnowraftException e) {
            failure = e;
            throw e;
        } finally {
            try {
                caller.listener().shared(batch.callers, batch.count, failure);
            } catch (RuntimeException e) {
                // a listener has no effect on the client
            }
        }
    }
}
