package io.snowraft.internal.lane;

import io.snowraft.client.Clock;
import io.snowraft.client.Reason;
import io.snowraft.client.SnowraftException;
import io.snowraft.internal.call.Caller;
import io.snowraft.internal.http.Deadline;
import io.snowraft.layout.Field;
import io.snowraft.layout.Layout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Consumer;

/** Issues IDs of one layout from the windows of its lanes. It is safe for concurrent use; issuing takes no lock. */
public final class Issuer {
    private static final long MAX_AHEAD = 5; // ms by which a lane issues ahead of the clock, when all earlier ticks are full
    private static final long MAX_NAP = 20; // ms between two readings of the clock by a waiting caller
    private static final long LONG_NAP = 200; // the same for a caller that has waited for a window for long

    private final Layout layout;
    private final String holder;
    private final LaneEvents events;
    private final Watch watch;
    private final ClockCheck clockCheck;
    private final Caller caller;
    private final Signal changed = new Signal();
    private final Lane[] lanes;
    private final Lane only; // null if there are several
    private final List<Thread> threads = new ArrayList<>();
    private final Consumer<SnowraftException> seal = this::seal;
    private volatile Deadline closeDeadline; // null: open

    /** Creates an issuer of a layout that must be able to issue. */
    public Issuer(Layout layout, String holder, int lanes, Clock clock, Caller caller, LaneEvents events) {
        this(layout, holder, lanes, clock, caller, new MemberGranter(caller, layout.name()), events);
    }

    Issuer(Layout layout, String holder, int lanes, Clock clock, Caller caller, Granter granter, LaneEvents events) {
        this.layout = layout;
        this.holder = holder;
        this.events = events;
        this.caller = caller;
        watch = new Watch(clock);
        clockCheck = new ClockCheck(caller, watch);
        this.lanes = new Lane[lanes];
        for (int i = 0; i < lanes; i++) {
            this.lanes[i] = new Lane(this, i, granter, watch);
        }
        only = lanes == 1 ? this.lanes[0] : null;
    }

    /** Starts a thread for each lane, which acquires a worker. */
    public void start() {
        caller.onSealed(seal);
        clockCheck.start();
        for (Lane lane : lanes) {
            Thread thread = new Thread(lane::run, "snowraft-lane");
            thread.setDaemon(true);
            threads.add(thread);
            thread.start();
        }
    }

    /** Returns an ID, or 0 if none can be issued at once. It takes no lock and allocates nothing. */
    public long tryNext() {
        if (only != null) {
            Lease held = only.lease(); // before the clock, whose reading delays all that follows it
            long wall = watch.wall();
            if (held == null || !watch.fine(wall)) {
                return 0;
            }
            long cell = held.take(wall);
            return cell < 0 ? 0 : held.id(cell);
        }
        long wall = watch.wall();
        if (!watch.fine(wall)) {
            return 0;
        }
        int k = ThreadLocalRandom.current().nextInt(lanes.length);
        for (int i = 0; i < lanes.length; i++) {
            Lease held = lanes[k].lease();
            if (held != null) {
                long cell = held.take(wall);
                if (cell >= 0) {
                    return held.id(cell);
                }
            }
            k = k + 1 == lanes.length ? 0 : k + 1;
        }
        return 0;
    }

    /**
     * Takes IDs greater than {@code after} into {@code ids}, all of them or an exception.
     *
     * @param patience time to wait for a window; the wait for the clock is bounded by the deadline only
     */
    public void take(long[] ids, long after, Duration patience, boolean failFast, Deadline deadline) {
        for (int at = tryTake(ids, 0, after); at < ids.length;) {
            at = await(ids, at, after, patience, failFast, deadline);
        }
    }

    /** Takes IDs at once, from an index on, and returns the index after the last one. */
    int tryTake(long[] ids, int from, long after) {
        int at = from;
        for (boolean some = true; some && at < ids.length;) {
            some = false;
            Reading now = watch.now();
            if (!watch.fine(now.wall()) && check(now) != null) {
                break;
            }
            int k = lanes.length == 1 ? 0 : ThreadLocalRandom.current().nextInt(lanes.length);
            for (int i = 0; i < lanes.length && !some; i++) {
                Lease held = lanes[(k + i) % lanes.length].lease();
                long n = held == null ? Lease.CLOSED : held.take(held.tickAt(now.wall()), after, ids, at);
                some = n > 0;
                at += some ? (int) n : 0;
            }
        }
        return at;
    }

    /** Waits until a lane has some IDs, and takes them. */
    private int await(long[] ids, int from, long after, Duration patience, boolean failFast, Deadline deadline) {
        Deadline patient = null; // end of the wait for a window
        long began = 0;
        for (;;) {
            long seen = changed.version();
            if (closeDeadline != null) {
                throw SnowraftException.unsent(Reason.CLOSED, "the generator is closed");
            }
            Reading now = watch.now();
            SnowraftException refusal = check(now);
            if (refusal != null) {
                throw refusal;
            }
            int at = tryTake(ids, from, after);
            if (at > from) {
                return at;
            }
            Limits limits = watch.limits();
            checkReachable(now, limits, after);
            Outlook best = survey(now, limits, after);
            long nap = Math.min(best.waitMillis(), MAX_NAP);
            if (nap == 0) {
                if (!best.grant()) {
                    throw best.error();
                }
                if (patient == null) {
                    patient = failFast && best.had() ? Deadline.after(Duration.ZERO) : deadline.within(patience);
                    began = System.nanoTime();
                }
                long waited = (System.nanoTime() - began) / 1_000_000;
                boolean ofClock = isOfClock(best.error()) && waited >= limits.waitThreshold();
                if (patient.passed() || ofClock || isLate(best.error(), patient)) {
                    throw best.error();
                }
                nap = Math.min(patient.leftMillis(), waited > limits.waitThreshold() ? LONG_NAP : MAX_NAP);
            }
            if (deadline.passed()) {
                throw best.error() != null ? best.error() : SnowraftException.unsent(Reason.TIMEOUT,
                        "no ID in time: all IDs up to the present tick are used, or the clock is behind");
            }
            try {
                changed.await(seen, Math.max(1, nap) * 1_000_000);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw SnowraftException.unsent(Reason.INTERRUPTED, "interrupted while waiting for an ID");
            }
        }
    }

    /** Reports whether a problem is known to last beyond a deadline. */
    private static boolean isLate(SnowraftException e, Deadline deadline) {
        boolean known = e.reason() == Reason.WORKERS_EXHAUSTED || e.reason() == Reason.FENCED || e.reason() == Reason.CLOCK_BEHIND;
        return known && e.retryAfter().compareTo(Duration.ofNanos(deadline.left())) > 0;
    }

    /**
     * Throws an exception if {@code after} is so far in the future that no process can have issued it. A clock that is not trusted may
     * itself be that far behind.
     */
    void checkReachable(Reading now, Limits limits, long after) {
        if (after == 0) {
            return;
        }
        if (layout.bits() < Long.SIZE && after >>> layout.bits() != 0) {
            throw SnowraftException.unsent(Reason.INVALID_ARGUMENT, "no ID of layout \"" + layout.name() + "\" is greater than " + after
                   );
        }
        long tick = layout.decode(after).tick();
        long ahead = layout.millisAt(tick) - now.wall();
        long behind = Math.max(0, watch.observed() - now.wall());
        if (ahead - behind <= limits.waitThreshold() + limits.maxOffset() + MAX_AHEAD
                || tick - layout.tickAt(now.wall()) <= 1 + MAX_AHEAD / layout.unitMillis()) {
            return;
        }
        if (!watch.trusted()) {
            throw watch.behind(ahead);
        }
        throw SnowraftException.unsent(Reason.INVALID_ARGUMENT, "after " + after + " is " + ahead
                + " ms ahead of this clock; send an ID that was issued, or omit it");
    }

    /** Returns the best outlook of all lanes: the shortest wait for the clock, otherwise one that a grant helps, otherwise an error. */
    private Outlook survey(Reading now, Limits limits, long after) {
        Outlook best = null;
        boolean had = false;
        for (Lane lane : lanes) {
            Outlook o = lane.outlook(now, limits, after);
            had |= o.had();
            boolean sooner = best != null && o.waitMillis() > 0 && (best.waitMillis() == 0 || o.waitMillis() < best.waitMillis());
            boolean helps = best != null && best.waitMillis() == 0 && o.grant() && !best.grant();
            best = best == null || sooner || helps ? o : best;
        }
        return new Outlook(best.waitMillis(), best.grant(), had, best.error());
    }

    /** Returns why, at this reading of the clock, no ID may be issued; null if IDs may be. */
    SnowraftException check(Reading now) {
        SnowraftException refusal = watch.check(now);
        if (refusal != null) {
            return refusal;
        }
        long tick = layout.tickAt(now.wall());
        if (tick < 0) {
            return watch.behind(layout.epochMillis() - now.wall());
        }
        return tick >= layout.ticks() ? full() : null;
    }

    SnowraftException full() {
        return Watch.error(Reason.TIME_EXHAUSTED, "the time field of layout \"" + layout.name()
                + "\" is full; use a layout with more time bits or a later epoch", 0);
    }

    /** Returns null if an ID could be issued within a tick, otherwise the reason. It issues none. */
    public SnowraftException readiness() {
        if (closeDeadline != null) {
            return SnowraftException.unsent(Reason.CLOSED, "the generator is closed");
        }
        Reading now = watch.now();
        SnowraftException reason = check(now);
        if (reason != null) {
            return reason;
        }
        Limits limits = watch.limits();
        for (Lane lane : lanes) {
            SnowraftException problem = lane.readiness(now, limits);
            if (problem == null) {
                return null;
            }
            reason = reason == null ? problem : reason;
        }
        return reason;
    }

    /** Returns the state of each lane. */
    public List<LaneState> states() {
        List<LaneState> states = new ArrayList<>();
        for (Lane lane : lanes) {
            states.add(lane.state());
        }
        return states;
    }

    /** Stops issuing permanently, because the cluster was set back and may have granted windows twice. */
    private void seal(SnowraftException reason) {
        watch.stop(reason);
        for (Lane lane : lanes) {
            lane.seal();
        }
        changed.fire();
    }

    /**
     * Stops issuing, then releases the workers with the last tick that was used, so that the next holder can begin right after it. It waits
     * at most for a time.
     */
    public void close(Duration limit) {
        closeDeadline = Deadline.after(limit);
        caller.offSealed(seal);
        clockCheck.close();
        for (Lane lane : lanes) {
            lane.stop();
        }
        changed.fire();
        for (Thread thread : threads) {
            try {
                thread.join(Math.max(1, closeDeadline.leftMillis()));
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                break;
            }
        }
    }

    Deadline closeDeadline() {
        return closeDeadline;
    }

    Watch watch() {
        return watch;
    }

    ClockCheck clockCheck() {
        return clockCheck;
    }

    Lane lane(int index) {
        return lanes[index];
    }

    Layout layout() {
        return layout;
    }

    boolean hasWorker(long worker) {
        return Long.compareUnsigned(worker, layout.capacity(Field.WORKER)) < 0;
    }

    String holder(int lane) {
        return holder + "/" + lane;
    }

    long maxAhead() {
        return MAX_AHEAD;
    }

    Signal changed() {
        return changed;
    }

    LaneEvents events() {
        return events;
    }

    private static boolean isOfClock(SnowraftException e) {
        return e.reason() == Reason.CLOCK_BEHIND || e.reason() == Reason.CLOCK_SKEW;
    }

    /** Reports whether a lane's problem explains more than the end of the window. */
    static boolean isSpecific(SnowraftException e) {
        return isOfClock(e) || isLasting(e) || switch (e.reason()) {
            case WORKERS_EXHAUSTED, FENCED, OLD_CLUSTER_ALIVE, CONTRADICTED -> true;
            default -> false;
        };
    }

    /** Reports whether a problem lasts until someone changes something. */
    static boolean isLasting(SnowraftException e) {
        return switch (e.reason()) {
            case TIME_EXHAUSTED, SET_BACK, UNAUTHENTICATED, PERMISSION_DENIED, UNKNOWN_LAYOUT, PIN_MISMATCH, CLOSED -> true;
            default -> false;
        };
    }
}
