package io.snowraft.internal.lane;

import io.snowraft.layout.Layout;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * A lane's hold on one worker, from the grant until it is closed.
 *
 * <p>Invariants: the position, the next cell to issue, only grows, and once closed it stays closed; no cell at or above the limit is
 * issued; the limit only grows, and is the end of a grant that this process received for this very lease; a cell is issued by the one
 * compare-and-swap that moved the position past it.
 *
 * <p>Any thread may take. Only the lane's thread extends. The holder of the lane's lock closes.
 */
final class Lease extends Cells {
    /** Results of a take that are not cells. */
    static final long CLOSED = -1;
    /** The next cell is too far ahead of the clock. */
    static final long EARLY = -2;
    /** The window is used up, or the clock has passed it. */
    static final long ENDED = -3;
    /** The layout has no tick left. */
    static final long EXHAUSTED = -4;
    /** No ID of the layout is above the floor. */
    static final long UNREACHABLE = -5;

    private static final long CLOSED_POSITION = Long.MIN_VALUE;
    private static final VarHandle POSITION;

    static {
        try {
            POSITION = MethodHandles.lookup().findVarHandle(Lease.class, "position", long.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    final long token;
    final long from; // the grant's first tick
    final long first; // the first cell to issue
    private final long quick; // the first cell that take may compare with the clock in ms: no clock within reach of it is before the epoch
    private final long mask; // of the sequence
    private volatile long limit;
    private long last; // position when closed; guarded by the lane's lock
    private volatile long position;

    /** Creates the lease of a grant. It issues no tick before {@code firstTick}. */
    Lease(Layout layout, Grant grant, long firstTick, long maxAheadMillis) {
        super(layout, grant.worker(), maxAheadMillis);
        token = grant.token();
        from = grant.from();
        long start = cell(Math.max(from, firstTick));
        first = id(start) == 0 ? start + 1 : start; // ID 0 is never issued, because as a floor it means none
        limit = cell(grant.until());
        quick = unit == 1 ? cell(ahead) : Long.MAX_VALUE;
        mask = cell(1) - 1;
        position = first;
    }

    /**
     * Issues one cell at a wall clock, or returns why there is none, a negative number. This is the cost of an ID except for the reading
     * of the clock, for which the swap waits. So it compares the clock as it is with bounds that follow from the position.
     */
    long take(long wall) {
        long p = position;
        long latest = epoch + (p >>> bits); // of the wall clocks that the cell is not behind, if a tick is 1 ms
        boolean begun = p >= quick && (p & mask) != 0; // a closed position is negative
        if (begun && p < limit && Long.compareUnsigned(latest - wall, ahead) <= 0 && POSITION.compareAndSet(this, p, p + 1)) {
            return p;
        }
        return takeAny(tickAt(wall));
    }

    /** Is {@link #take(long)} for the first cell of a tick, for ticks of another length, and for every refusal. */
    private long takeAny(long tick) {
        for (;;) {
            long p = position;
            long start = candidate(p, tick, 0);
            long refusal = refusal(start, tick);
            if (refusal != 0) {
                return refusal;
            }
            if (POSITION.compareAndSet(this, p, start + 1)) {
                return start;
            }
        }
    }

    /**
     * Issues IDs greater than {@code after} into {@code ids}, from an index on, and returns their number; or returns why there is none, a
     * negative number.
     */
    long take(long tick, long after, long[] ids, int at) {
        for (;;) {
            long p = position;
            long start = candidate(p, tick, after);
            long refusal = refusal(start, tick);
            if (refusal != 0) {
                return refusal;
            }
            long end = Math.min(Math.min(start + ids.length - at, bound(tick)), limit);
            if (POSITION.compareAndSet(this, p, end)) {
                for (long cell = start; cell < end; cell++) {
                    ids[at + (int) (cell - start)] = id(cell);
                }
                return end - start;
            }
        }
    }

    /** Returns the cell that a take would issue if its window and the clock allow it, or a negative refusal. */
    private long candidate(long p, long tick, long after) {
        if (p == CLOSED_POSITION) {
            return CLOSED;
        } else if (tick < 0) {
            return EARLY; // the clock is before the epoch
        } else if (tick >= ticks) {
            return EXHAUSTED;
        }
        long start = p;
        if (p < cell(tick) || p == first) {
            start = Math.max(p, cell(tick) + startSequence(tick));
        }
        if (after != 0 && start < bound(tick) && Long.compareUnsigned(id(start), after) <= 0) {
            start = above(after);
            return tick(start) < ticks ? start : UNREACHABLE;
        }
        return start;
    }

    /** Returns why a candidate is not issued, or 0 if it is. */
    private long refusal(long candidate, long tick) {
        if (candidate < 0) {
            return candidate;
        } else if (candidate >= bound(tick)) {
            return tick(candidate) >= ticks ? EXHAUSTED : EARLY;
        }
        return candidate >= limit ? ENDED : 0;
    }

    /** Returns what {@link #take} would return for a caller at a tick. It issues nothing. */
    long peek(long tick, long after) {
        long start = candidate(position, tick, after);
        long refusal = refusal(start, tick);
        return refusal != 0 ? refusal : start;
    }

    /** Returns the cell that a caller waits for after {@link #EARLY}. */
    long awaited(long tick, long after) {
        return Math.max(0, candidate(position, Math.max(0, tick), after));
    }

    /** Closes the lease: no cell is issued afterwards. Requires the lane's lock. */
    void close() {
        long p = (long) POSITION.getAndSet(this, CLOSED_POSITION);
        if (p != CLOSED_POSITION) {
            last = p;
        }
    }

    boolean isClosed() {
        return position == CLOSED_POSITION;
    }

    /** Returns the position; negative once closed. */
    long position() {
        return position;
    }

    /** Returns the first tick in which a closed lease issued nothing. Requires the lane's lock. */
    long next() {
        return issued() ? tick(last - 1) + 1 : from;
    }

    /** Reports whether a closed lease issued any cell. Requires the lane's lock. */
    boolean issued() {
        return last != first;
    }

    /** Moves the end of the window. Only the lane's thread calls it. */
    void extend(long until) {
        limit = cell(until);
    }

    /** Returns the tick at which the window ends. */
    long until() {
        return tick(limit);
    }

    /** Returns the end of the window in Unix milliseconds. */
    long untilMillis() {
        return layout.millisAt(until());
    }

    /** Returns the tick of the last ID; -1 if none was issued, and once the lease is closed. */
    long lastTick() {
        long p = position;
        return p > first ? tick(p - 1) : -1;
    }
}
