package io.snowraft.client;

import io.snowraft.internal.call.Caller;
import io.snowraft.internal.call.Method;
import io.snowraft.internal.call.Request;
import io.snowraft.internal.http.Deadline;
import io.snowraft.internal.lane.Issuer;
import io.snowraft.internal.lane.LaneState;
import io.snowraft.layout.Layout;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;

/**
 * Issues IDs in this process, from memory. The cluster leases it workers and grants it windows of time, which it extends in the background,
 * long before they end. It continues without the cluster until its window ends. Windows last seconds at first and grow to 10 minutes.
 *
 * <p>IDs are unique even if clocks are wrong. While this machine's clock cannot be trusted, because it is ahead of the members' clocks or
 * moved backwards, the generator issues nothing; it resumes once the clock is correct.
 *
 * <p>The methods are safe for concurrent use. {@link #next()} takes no lock and allocates nothing, unless it has to wait. With one lane, IDs
 * strictly increase in the order in which calls return.
 */
public final class Generator implements Suspendable {
    private static final Duration LAYOUT_LIMIT = Duration.ofSeconds(5);
    private static final Duration FIRST_PAUSE = Duration.ofMillis(10);
    private static final Duration LONGEST_PAUSE = Duration.ofMillis(500);
    private static final Duration READY_PAUSE = Duration.ofMillis(10);
    private static final Duration CLOSE_LIMIT = Duration.ofSeconds(5);

    private final Caller caller;
    private final GeneratorOptions options;
    private final String holder;
    private final Clock clock;
    private final GeneratorEvents events;
    private final Runnable whenClosed;

    private volatile Issuer issuer; // null until the layout is known
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition news = lock.newCondition(); // issuer, problem or closed has changed
    private SnowraftException problem; // of the last attempt to open the lanes; null without one
    private boolean closed;
    private int life; // counts suspensions, so that an attempt to open from before one has no effect

    Generator(Caller caller, GeneratorOptions options, Clock clock, GeneratorEvents events, Consumer<Generator> whenClosed) {
        this.caller = caller;
        this.options = options;
        this.holder = options.holder().isEmpty() ? hostName() : options.holder();
        this.clock = options.clock() == null ? clock : options.clock();
        this.events = events;
        this.whenClosed = () -> whenClosed.accept(this);
    }

    private static String hostName() {
        try {
            String name = InetAddress.getLocalHost().getHostName();
            return GeneratorOptions.defaults().withHolder(name).holder();
        } catch (UnknownHostException e) {
            throw Answers.invalid("missing holder name, and this host has no name; set GeneratorOptions.withHolder");
        }
    }

    /** Requests the layout and opens the lanes in the background. */
    void start() {
        int mine;
        lock.lock();
        try {
            mine = life;
        } finally {
            lock.unlock();
        }
        open(mine, FIRST_PAUSE);
    }

    private void open(int mine, Duration pause) {
        caller.background().execute(() -> {
            Issuer opened = null;
            SnowraftException failure = null;
            try {
                Layout layout = layout(mine);
                layout.requireIssuing(Math.max(clock.wallMillis(), layout.epochMillis())); // a wrong clock may be corrected later
                opened = new Issuer(layout, holder, options.lanes(), clock, caller, events);
            } catch (SnowraftException e) {
                failure = e;
            } catch (IllegalArgumentException e) {
                failure = Answers.invalid(e.getMessage());
            }
            boolean first;
            lock.lock();
            try {
                if (closed || life != mine) {
                    return;
                }
                first = problem == null;
                problem = failure;
                if (opened != null) {
                    opened.start();
                    issuer = opened;
                }
                news.signalAll();
            } finally {
                lock.unlock();
            }
            if (failure != null) {
                if (first) {
                    events.notGranted(0, failure);
                }
                Duration longer = pause.multipliedBy(2);
                caller.background().schedule(() -> open(mine, longer.compareTo(LONGEST_PAUSE) < 0 ? longer : LONGEST_PAUSE), pause);
            }
        });
    }

    /** Notes the error of a try, after which others may follow. */
    private void note(int mine, SnowraftException e) {
        boolean first;
        lock.lock();
        try {
            if (closed || life != mine || e.isLasting()) { // another member may not have a lasting problem
                return;
            }
            first = problem == null;
            problem = e;
        } finally {
            lock.unlock();
        }
        if (first) {
            events.notGranted(0, e);
        }
    }

    private Layout layout(int mine) {
        return Answers.read(caller.call(Request.of(Method.GET_LAYOUT, "/v1/layouts/" + Paths.query(options.layout())), Deadline.after(LAYOUT_LIMIT), e -> note(mine, e)),
                a -> Answers.layout(a.object("layout")));
    }

    /**
     * Returns one ID. When all IDs of the present tick are used, it waits for the next tick. When there is no window, it waits for at most
     * the client's timeout, and with {@link GeneratorOptions#failFast} only for the first one.
     *
     * <p>It throws a {@link SnowraftException}, such as {@link Reason#WINDOW_ENDED}, {@link Reason#CLOCK_BEHIND},
     * {@link Reason#CLOCK_SKEW}, {@link Reason#WORKERS_EXHAUSTED} and {@link Reason#CLOSED}.
     */
    public long next() {
        Issuer i = issuer;
        if (i != null) {
            long id = i.tryNext();
            if (id != 0) {
                return id;
            }
        }
        return take(1, 0, caller.timeout())[0];
    }

    /** Returns one ID as {@link #next()} does, and waits for at most the given time. */
    public long next(Duration limit) {
        return take(1, 0, limit)[0];
    }

    /** Returns IDs, 1 to 1,000,000. IDs of one lane ascend. */
    public long[] next(int count) {
        return take(Answers.checkCount(count, Answers.MAX_COUNT, "IDs"), 0, caller.timeout());
    }

    /** Returns one ID that is greater than {@code after}, an ID that any process may have issued. */
    public long nextAfter(long after) {
        if (after < 0) {
            throw Answers.invalid("after " + after + ": expected an ID or 0");
        }
        return take(1, after, caller.timeout())[0];
    }

    private long[] take(int count, long after, Duration limit) {
        Deadline deadline = Deadline.after(limit);
        Issuer i = await(deadline);
        long[] ids = new long[count];
        try {
            i.take(ids, after, limit, options.failFast(), deadline);
        } catch (SnowraftException e) {
            throw e.copy(); // several callers may get the problem of a lane
        }
        return ids;
    }

    /** Waits for the lanes to be open. */
    private Issuer await(Deadline deadline) {
        lock.lock();
        try {
            for (;;) {
                SnowraftException missing = missing();
                if (missing == null) {
                    return issuer;
                }
                if (missing.reason() != Reason.WINDOW_ENDED || deadline.passed()) {
                    throw missing;
                }
                news.awaitNanos(deadline.left());
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw SnowraftException.unsent(Reason.INTERRUPTED, "interrupted while waiting for an ID");
        } finally {
            lock.unlock();
        }
    }

    /** Returns why there are no lanes, WINDOW_ENDED if there may be some soon; null if there are. Requires the lock. */
    private SnowraftException missing() {
        if (closed || caller.isClosed()) {
            return Answers.closed("generator");
        } else if (issuer != null) {
            return null;
        } else if (problem != null && problem.isLasting()) {
            return problem;
        }
        String text = "no window was granted yet" + (problem == null ? "" : ": " + problem.text());
        return SnowraftException.unsent(Reason.WINDOW_ENDED, text, Duration.ofMillis(500));
    }

    /** Returns why no ID could be issued within a tick; empty if one could. It issues none, and does not wait. */
    public Optional<SnowraftException> problem() {
        lock.lock();
        try {
            SnowraftException missing = missing();
            return Optional.ofNullable(missing == null ? issuer.readiness() : missing);
        } finally {
            lock.unlock();
        }
    }

    /**
     * Waits until an ID could be issued, for at most the given time. It fails at once if waiting does not help, such as with
     * {@link Reason#UNKNOWN_LAYOUT} and {@link Reason#PERMISSION_DENIED}, or if no address is that of a member. It issues no ID.
     */
    public void ready(Duration limit) {
        Deadline deadline = Deadline.after(limit);
        for (;;) {
            Optional<SnowraftException> missing = problem();
            if (missing.isEmpty()) {
                return;
            }
            if (missing.get().isLasting() || deadline.passed()) {
                throw missing.get().copy();
            }
            try {
                TimeUnit.NANOSECONDS.sleep(Math.max(1, Math.min(READY_PAUSE.toNanos(), deadline.left())));
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw SnowraftException.unsent(Reason.INTERRUPTED, "interrupted while waiting for a window");
            }
        }
    }

    /** Returns the state of each lane; an empty list until the cluster has returned the layout. */
    public List<LaneStatus> lanes() {
        Issuer i = issuer;
        return i == null ? List.of() : i.states().stream().map(Generator::status).toList();
    }

    private static LaneStatus status(LaneState s) {
        return new LaneStatus(s.lane(), s.worker(), s.token(), s.fromTick(), s.untilTick(),
                s.lastTick() < 0 ? OptionalLong.empty() : OptionalLong.of(s.lastTick()),
                s.token() == 0 ? Optional.empty() : Optional.of(Instant.ofEpochMilli(s.untilMillis())), Optional.ofNullable(s.problem()));
    }

    /** Releases the workers and issues nothing until {@link #resume}. */
    @Override
    public void suspend() {
        Issuer i;
        lock.lock();
        try {
            i = issuer;
            issuer = null;
            life++;
        } finally {
            lock.unlock();
        }
        if (i != null) {
            i.close(CLOSE_LIMIT);
        }
    }

    /** Acquires workers again, under a new nonce. */
    @Override
    public void resume() {
        start();
    }

    /**
     * Stops issuing and releases the workers, so that other holders can acquire them at once. It waits for at most 5 s. Workers that were not
     * released become free when their windows have passed.
     */
    @Override
    public void close() {
        Issuer i;
        lock.lock();
        try {
            closed = true;
            i = issuer;
            news.signalAll();
        } finally {
            lock.unlock();
        }
        if (i != null) {
            i.close(CLOSE_LIMIT);
        }
        whenClosed.run();
    }
}
