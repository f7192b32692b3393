package io.snowraft.internal.lane;

import io.snowraft.client.Reason;
import io.snowraft.client.SnowraftException;
import io.snowraft.internal.http.Deadline;
import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Holds one lease and keeps its window ahead of the clock.
 *
 * <p>{@link #run} is its thread, which alone requests, opens and extends leases. It closes a lease strictly before the next one becomes
 * visible, so that two leases never issue cells at the same time.
 */
final class Lane {
    private static final long CLOCK_POLL = 100; // ms
    private static final long EXHAUSTED_POLL = 3_000;
    private static final long MAX_PAUSE = 1_000; // so that a clock of tests takes effect soon
    private static final long PATIENCE = 16; // the pause after a failure is at most the rest of the window divided by it
    private static final Duration CALL_LIMIT = Duration.ofSeconds(5);
    private static final Duration COURTESY = Duration.ofMillis(500);

    private final Issuer issuer;
    private final int index;
    private final Granter granter;
    private final Watch watch;
    private final Signal kicks = new Signal();
    private final Signal stops = new Signal();
    private volatile Lease lease; // read by every caller; null: none

    private final ReentrantLock lock = new ReentrantLock();
    private boolean stopped; // no call begins, no lease is opened
    private SnowraftException problem; // why the window is not ahead of the clock; null if it is
    private boolean waiting; // the problem is this process's clock
    private long untilMillis; // end of the last window; 0 if there was none
    private boolean sealed; // the cluster was set back: nothing is issued or released any more

    // Owned by the lane's thread.
    private final SlowStart window = new SlowStart();
    private boolean kickable; // a kick cuts the present pause short
    private long extendAt; // monotonic
    private int failures; // failed calls in a row
    private long floor; // the next lease starts at this tick or later
    private Lease swapped; // closed, but not released yet
    private Lease lost; // its extension was refused; it serves until the next lease opens, and is never released
    private long extension; // ID of the extension whose outcome is unknown; 0 if none

    Lane(Issuer issuer, int index, Granter granter, Watch watch) {
        this.issuer = issuer;
        this.index = index;
        this.granter = granter;
        this.watch = watch;
    }

    Lease lease() {
        return lease;
    }

    /** Makes the lane check at once whether its lease still serves. */
    void kick() {
        kicks.fire();
    }

    /** Is the lane's thread. It returns soon after {@link #stop}. */
    void run() {
        while (!isStopped()) {
            long kicked = kicks.version();
            long ended = stops.version();
            kickable = false;
            long pause = step();
            if (kickable) {
                kicks.awaitQuietly(kicked, pause);
            } else {
                stops.awaitQuietly(ended, pause);
            }
        }
        finish();
    }

    private boolean isSealed() {
        lock.lock();
        try {
            return sealed;
        } finally {
            lock.unlock();
        }
    }

    private boolean isStopped() {
        lock.lock();
        try {
            return stopped;
        } finally {
            lock.unlock();
        }
    }

    /** Does the one thing that is due, if any, and returns the time in ms until the next step. It keeps no plans. */
    long step() {
        Reading now = watch.now();
        SnowraftException refusal = issuer.check(now);
        if (refusal != null) {
            report(refusal, true);
            return CLOCK_POLL;
        }
        Lease held = lease;
        if (held == null || held == lost) {
            return acquire(now);
        }
        long position = held.position();
        Reading later = watch.advance(now);
        Limits limits = watch.limits();
        if (position >= 0 && held.isBehind(position, later.wall(), limits.waitThreshold())) {
            if (!limits.swap()) {
                report(watch.behind(held.lead(position, later.wall())), true);
                return CLOCK_POLL;
            }
            return swap(held);
        }
        if (held.until() >= held.ticks || later.mono() < extendAt && !hasEnded(held, later)) {
            report(null, false);
            kickable = true;
            return held.until() >= held.ticks ? MAX_PAUSE : Math.min(MAX_PAUSE, extendAt - later.mono());
        }
        return extend(held, later);
    }

    /** Reports whether the next cell at this time lies beyond the window. */
    private static boolean hasEnded(Lease held, Reading now) {
        long tick = held.tickAt(now.wall()) + (held.position() >= held.cell(held.until()) ? held.ahead : 0);
        return tick >= held.until();
    }

    private long acquire(Reading now) {
        Grant grant;
        try {
            grant = granter.acquire(issuer.holder(index), now.wall(), SlowStart.FIRST_WINDOW, begin());
            if (!plausible(grant)) {
                throw impossible(grant);
            }
        } catch (SnowraftException e) {
            return failed(delayed(e, now));
        }
        return open(grant);
    }

    private boolean plausible(Grant g) {
        return issuer.hasWorker(g.worker()) && g.token() != 0 && g.from() >= 0 && g.from() < g.until() && g.until() <= issuer.layout().ticks();
    }

    /** Returns the error of a grant that is impossible. Accepting it could issue IDs of another worker; ignoring it discards a window. */
    private static SnowraftException impossible(Grant g) {
        return SnowraftException.malformed("impossible grant of worker " + Long.toUnsignedString(g.worker()) + ": token "
                + Long.toUnsignedString(g.token()) + ", ticks [" + g.from() + ", " + g.until() + ")");
    }

    /** Makes the lease of a grant visible. */
    private long open(Grant g) {
        watch.observe(g.observedMillis());
        lock.lock();
        try {
            Reading now = watch.now();
            Limits limits = watch.limits();
            if (lost != null) {
                close(lost);
            }
            long first = floor;
            // The lane waits once until the clock has passed the observed clock at the grant: a process that has just started does
            // not know that clock yet.
            long observed = Math.max(watch.observed(), g.observedMillis());
            if (observed - now.wall() <= limits.waitThreshold()) {
                first = Math.max(first, issuer.layout().tickAt(observed) + 1);
            }
            Lease held = new Lease(issuer.layout(), g, first, issuer.maxAhead());
            if (limits.swap() && held.isBehind(held.first, now.wall(), limits.waitThreshold())) {
                held = new Lease(issuer.layout(), g, 0, issuer.maxAhead()); // the clock moved backwards in between
            }
            window.begin(g.maxWindow());
            schedule(held, now);
            extension = 0;
            lost = null;
            if (stopped) {
                held.close();
            }
            lease = held;
            untilMillis = held.untilMillis();
            problem = null;
        } finally {
            lock.unlock();
        }
        issuer.changed().fire();
        issuer.events().acquired(index, g.worker());
        releaseSoon(swapped);
        swapped = null;
        return 0;
    }

    /**
     * Moves the end of the window. An extension whose outcome is unknown is repeated under its ID: if it was granted, the repetition
     * returns its window.
     */
    private long extend(Lease held, Reading now) {
        long until = held.until();
        boolean repeated = extension != 0;
        if (!repeated) {
            extension = granter.drawExtension();
        }
        Grant grant;
        try {
            grant = granter.extend(held, until, extension, now.wall(), window.coming(), begin());
            if (!plausible(grant) || grant.worker() != held.worker || grant.token() != held.token || grant.until() < until) {
                throw impossible(grant);
            }
        } catch (SnowraftException e) {
            if (e.reason() == Reason.WINDOW_MISMATCH) {
                issuer.events().lost(index, held.worker);
                lost = held;
                return 0;
            }
            return failed(delayed(e, now));
        }
        extension = 0;
        held.extend(grant.until());
        watch.observe(grant.observedMillis());
        window.extended(grant.maxWindow());
        Reading after = watch.now();
        if (hasEnded(held, after)) {
            return repeated ? 0 : failed(Watch.error(Reason.WINDOW_ENDED,
                    "the granted window has already ended; compare the clock of this machine with the leader's", 500));
        }
        schedule(held, after);
        lock.lock();
        try {
            untilMillis = held.untilMillis();
            problem = null;
        } finally {
            lock.unlock();
        }
        issuer.changed().fire();
        issuer.events().extended(index, held.worker, held.untilMillis());
        return 0;
    }

    /** Makes the next extension due now. Only the lane's thread calls it. */
    void hurry() {
        extendAt = Long.MIN_VALUE;
    }

    /** Sets the time of the next extension by the monotonic clock; hasEnded notices a jump of the wall clock. */
    private void schedule(Lease held, Reading now) {
        failures = 0;
        extendAt = now.mono() + window.extendAfter(held.untilMillis() - now.wall());
    }

    /** Leaves a worker whose position is ahead of the clock. The lane continues on another worker, at the present clock. */
    private long swap(Lease held) {
        issuer.events().lost(index, held.worker);
        boolean issued;
        lock.lock();
        try {
            close(held);
            issued = held.issued();
            lease = null;
            problem = null;
        } finally {
            lock.unlock();
        }
        issuer.changed().fire();
        floor = 0;
        extension = 0;
        swapped = held;
        return issued ? 0 : SlowStart.backoff(++failures, SlowStart.MAX_BACKOFF);
    }

    /** Closes a lease. The next one begins after the last tick that it used. Requires the lock. */
    private void close(Lease held) {
        held.close();
        if (held.issued()) {
            floor = Math.max(floor, held.next());
        }
    }

    /** Reports a failed call and returns the pause after it. */
    private long failed(SnowraftException e) {
        if (++failures == 1 && e.reason() != Reason.CLOSED) {
            issuer.events().notGranted(index, e);
        }
        report(e, false);
        window.failed();
        long most = SlowStart.MAX_BACKOFF;
        Lease held = lease;
        if (held != null && held != lost) {
            long left = held.untilMillis() - watch.wall();
            most = Math.max(most, Math.min(left, window.current()) / PATIENCE);
        }
        kickable = most > SlowStart.MAX_BACKOFF; // the window may end before, if the clock jumps
        long pause = SlowStart.backoff(failures, most);
        if (e.reason() == Reason.WORKERS_EXHAUSTED || e.reason() == Reason.FENCED) {
            pause = Math.max(pause, Math.min(e.retryAfter().toMillis() + SlowStart.backoff(1, SlowStart.MAX_BACKOFF), EXHAUSTED_POLL));
        }
        return pause;
    }

    /**
     * Returns the error of a call that carried a reading of the clock. If the request took long to arrive, the cluster may refuse it
     * although the clock is not behind.
     */
    private SnowraftException delayed(SnowraftException e, Reading began) {
        if (e.reason() != Reason.CLOCK_BEHIND) {
            return e;
        }
        long took = watch.now().mono() - began.mono();
        return e.retryAfter().toMillis() > took ? e
                : Watch.error(Reason.UNAVAILABLE, "the answer took " + took + " ms and came too late: " + e.text(), 0);
    }

    private void report(SnowraftException to, boolean ofClock) {
        boolean differs;
        lock.lock();
        try {
            differs = problem != null || to != null;
            problem = to;
            waiting = ofClock;
        } finally {
            lock.unlock();
        }
        if (differs) {
            issuer.changed().fire();
        }
    }

    /** Returns the deadline of a call. It fails once the lane is stopped. */
    private Deadline begin() {
        if (isStopped()) {
            throw SnowraftException.unsent(Reason.CLOSED, "the generator is closed");
        }
        return Deadline.after(CALL_LIMIT);
    }

    /** Drops the lease permanently, because the cluster may have granted its window twice. Nothing is released. */
    void seal() {
        lock.lock();
        try {
            sealed = true;
        } finally {
            lock.unlock();
        }
        stop();
    }

    /** Closes the lease. A call in progress continues; {@link #finish} releases the worker that it is granted. */
    void stop() {
        lock.lock();
        try {
            stopped = true;
            if (lease != null) {
                lease.close();
            }
        } finally {
            lock.unlock();
        }
        kick();
        stops.fire();
    }

    void finish() {
        if (isSealed()) {
            return;
        }
        for (Lease held : new Lease[] {lease, swapped}) {
            if (held != null && held != lost) {
                try {
                    release(held, issuer.closeDeadline());
                } catch (SnowraftException e) {
                    issuer.events().notReleased(index, held.worker, e);
                }
            }
        }
    }

    private void releaseSoon(Lease held) {
        if (held == null) {
            return;
        }
        try {
            release(held, Deadline.after(COURTESY));
        } catch (SnowraftException e) {
            issuer.events().notReleased(index, held.worker, e);
        }
    }

    /** Releases a worker. One that the cluster no longer holds for this lane needs no release. */
    private void release(Lease held, Deadline deadline) {
        long next;
        lock.lock();
        try {
            next = held.next();
        } finally {
            lock.unlock();
        }
        try {
            granter.release(held, next, deadline);
        } catch (SnowraftException e) {
            if (e.reason() != Reason.WINDOW_MISMATCH) {
                throw e;
            }
        }
    }

    /** Returns when the lane can serve a caller, and makes it check a lease that no longer serves. */
    Outlook outlook(Reading now, Limits limits, long after) {
        lock.lock();
        try {
            Lease held = lease;
            if (held == null || held.isClosed()) {
                return missing(untilMillis != 0);
            }
            Reading later = watch.advance(now);
            long tick = held.tickAt(later.wall());
            long v = held.peek(tick, after);
            if (v >= 0) {
                return Outlook.soon(1); // the lease has just changed
            } else if (v == Lease.EARLY) {
                long cell = held.awaited(tick, after);
                if (!held.isBehind(cell, later.wall(), limits.waitThreshold())) {
                    return Outlook.soon(Math.max(1, held.due(cell, later.wall())));
                }
                kick();
                SnowraftException e = watch.behind(held.lead(cell, later.wall()));
                return new Outlook(0, limits.swap() && after == 0, true, e);
            } else if (v == Lease.EXHAUSTED) {
                return Outlook.never(issuer.full());
            } else if (v == Lease.UNREACHABLE) {
                return Outlook.never(SnowraftException.unsent(Reason.INVALID_ARGUMENT, "no ID of layout \""
                        + held.layout.name() + "\" is greater than " + after));
            }
            kick();
            return missing(true);
        } finally {
            lock.unlock();
        }
    }

    /** Returns the outlook of a lane without a window. Requires the lock. */
    private Outlook missing(boolean had) {
        if (problem != null && Issuer.isSpecific(problem)) {
            boolean lasts = !waiting && Issuer.isLasting(problem);
            return new Outlook(0, !lasts, had, problem);
        }
        String text = untilMillis == 0 ? "no window was granted yet" : "the window ended at " + Instant.ofEpochMilli(untilMillis);
        if (problem != null) {
            text += (untilMillis == 0 ? ": " : ", and no new one was granted: ") + problem.text();
        }
        return new Outlook(0, true, had, Watch.error(Reason.WINDOW_ENDED, text, 500));
    }

    /** Returns why the lane could not issue an ID within a tick; null if it could. */
    SnowraftException readiness(Reading now, Limits limits) {
        Outlook o = outlook(now, limits, 0);
        return o.waitMillis() > 0 ? null : o.error();
    }

    /** Returns the state of the lane. */
    LaneState state() {
        lock.lock();
        try {
            Lease held = lease;
            if (held == null || held.isClosed()) {
                return new LaneState(index, 0, 0, 0, 0, -1, 0, problem);
            }
            return new LaneState(index, held.worker, held.token, held.from, held.until(), held.lastTick(), held.untilMillis(), problem);
        } finally {
            lock.unlock();
        }
    }
}
