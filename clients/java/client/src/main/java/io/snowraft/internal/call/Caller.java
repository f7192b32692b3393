package io.snowraft.internal.call;

import io.snowraft.client.ClientListener;
import io.snowraft.client.Reason;
import io.snowraft.client.SnowraftException;
import io.snowraft.internal.http.Address;
import io.snowraft.internal.http.Deadline;
import io.snowraft.internal.http.Trust;
import io.snowraft.internal.json.JsonObject;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Consumer;

/**
 * Makes calls. If a member fails, it repeats the call at another member where that does no harm. It is safe for concurrent use, and
 * never holds a lock during input or output.
 */
public final class Caller {
    /** The pause after the first round in which all members failed; it doubles up to the longest one. */
    private static final Duration FIRST_PAUSE = Duration.ofMillis(10);
    private static final Duration LONGEST_PAUSE = Duration.ofMillis(500);
    /** The limit up to which the time of a try doubles with each round. */
    private static final Duration LONGEST_TRY = Duration.ofHours(1);

    private final Standing standing;
    private final Pool pool;
    private final Members members;
    private final Background background = new Background();
    private final Receipts receipts = new Receipts();
    private final Duration timeout;
    private final String token;
    private final ClientListener listener;
    private final List<Consumer<SnowraftException>> sealed = new CopyOnWriteArrayList<>();
    private volatile boolean closed;

    /**
     * Creates a caller, which does nothing before its first call.
     *
     * @param token the API token; empty for none
     */
    public Caller(List<Address> seeds, Trust trust, String token, Duration timeout, ClientListener listener) {
        this.standing = new Standing(seeds);
        this.pool = new Pool(trust, background);
        this.members = new Members(this, standing, pool, background::schedule, seeds);
        this.timeout = timeout;
        this.token = token;
        this.listener = listener;
    }

    /** Returns the threads of the client. */
    public Background background() {
        return background;
    }

    /** Returns the time limit of calls without another one. */
    public Duration timeout() {
        return timeout;
    }

    /** Returns the listener of the client. */
    public ClientListener listener() {
        return listener;
    }

    /** Makes a call within the client's timeout. */
    public JsonObject call(Request request) {
        return call(request, Deadline.after(timeout));
    }

    /** Makes a call with as many tries as needed until a deadline. */
    public JsonObject call(Request request, Deadline deadline) {
        return call(request, deadline, e -> { });
    }

    /** Makes a call as {@link #call(Request, Deadline)} does, and calls {@code failed} with the error of each try. */
    public JsonObject call(Request request, Deadline deadline, Consumer<SnowraftException> failed) {
        members.start();
        Tries tries = new Tries(request, deadline.left());
        Duration limit = request.method().tryTimeout();
        Duration pause = FIRST_PAUSE;
        for (;;) {
            checkOpen(tries);
            Standing.Choice choice = standing.take(tries.called(), request.method().prefersLeader());
            Try attempt = new Try(request, choice.member(), limit(request, limit, deadline));
            Failure failure;
            try {
                failure = attempt.run(pool, token, receipts);
            } finally {
                standing.done(choice.member());
            }
            tell(attempt, failure, failed);
            if (failure == null) {
                return attempt.answer();
            }
            boolean late = deadline.passed();
            tries.add(choice.member(), failure, late);
            checkOpen(tries);
            if (Thread.currentThread().isInterrupted()) {
                throw tries.failed(Reason.INTERRUPTED);
            } else if (late) {
                throw tries.failed(Reason.TIMEOUT);
            } else if (!tries.again(failure, choice.others())) {
                throw tries.failed(null);
            } else if (choice.others()) {
                continue;
            } else if (tries.hopeless()) {
                throw tries.failed(null);
            }
            backOff(tries, pause, deadline);
            tries.nextRound();
            limit = limit == null ? null : min(limit.multipliedBy(2), LONGEST_TRY);
            pause = min(pause.multipliedBy(2), LONGEST_PAUSE);
        }
    }

    /** Returns the deadline of a try, which leaves time for another member. */
    private static Deadline limit(Request request, Duration limit, Deadline deadline) {
        if (limit == null) {
            return deadline;
        }
        Duration mine = limit.plus(request.extra());
        return deadline.within(request.large() ? mine : min(mine, Duration.ofNanos(Math.max(1, deadline.left() / 2))));
    }

    private void tell(Try attempt, Failure failure, Consumer<SnowraftException> failed) {
        Address member = attempt.member();
        standing.tried(member, failure, attempt.took(), attempt.request().method().suspicious());
        if (failure != null && !failure.fromMember()) {
            members.changed();
        }
        SnowraftException exception = failure == null ? null
                : Tries.exception(List.of(failure), null, attempt.request().harmless(), failure.unknown());
        if (failure != null) {
            failed.accept(exception);
        }
        if (failure != null && failure.reason() == Reason.SET_BACK) {
            seal(exception);
        }
        try {
            listener.tried(attempt.request().method().text(), member.toString(), attempt.took(), exception);
        } catch (RuntimeException e) {
            // a listener has no effect on the client
        }
    }

    /** Waits before the next round. */
    private void backOff(Tries tries, Duration pause, Deadline deadline) {
        Failure failure = tries.mostSpecific();
        Duration wait = max(pause, min(failure.retryAfter(), LONGEST_PAUSE));
        wait = wait.plusNanos(ThreadLocalRandom.current().nextLong(1 + pause.toNanos() / 4)); // spreads concurrent callers
        long left = deadline.left();
        boolean lasts = failure.reason() == Reason.WORKERS_EXHAUSTED || failure.reason() == Reason.FENCED;
        if (left < FIRST_PAUSE.toNanos() || lasts && failure.retryAfter().toNanos() > left) {
            throw tries.failed(Reason.TIMEOUT);
        }
        try {
            Thread.sleep(Math.max(1, Math.min(wait.toNanos(), left / 2) / 1_000_000));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw tries.failed(Reason.INTERRUPTED);
        }
    }

    /** Stops all that issues from memory, because a member reported that the cluster was set back in time and is sealed. */
    public void seal(SnowraftException reason) {
        sealed.forEach(s -> s.accept(reason));
    }

    /** Calls {@code then} whenever a member reports that the cluster was set back in time and is sealed. */
    public void onSealed(Consumer<SnowraftException> then) {
        sealed.add(then);
    }

    /** Ends the effect of {@link #onSealed}. */
    public void offSealed(Consumer<SnowraftException> then) {
        sealed.remove(then);
    }

    /** Reports whether the client is closed. */
    public boolean isClosed() {
        return closed;
    }

    private void checkOpen(Tries tries) {
        if (closed) {
            throw tries.closed();
        }
    }

    /** Closes the idle connections and keeps none, until {@link #resume}. */
    public void suspend() {
        pool.keepIdle(false);
    }

    /** Keeps idle connections again. */
    public void resume() {
        pool.keepIdle(true);
    }

    /** Closes all connections. Calls in progress and later calls fail. */
    public void close() {
        closed = true;
        background.close();
        pool.close();
    }

    private static Duration min(Duration a, Duration b) {
        return a.compareTo(b) < 0 ? a : b;
    }

    private static Duration max(Duration a, Duration b) {
        return a.compareTo(b) > 0 ? a : b;
    }
}
