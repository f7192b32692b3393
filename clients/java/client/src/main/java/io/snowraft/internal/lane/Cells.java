package io.snowraft.internal.lane;

import io.snowraft.layout.Field;
import io.snowraft.layout.Layout;

/**
 * The arithmetic of a worker's cells. A cell is a tick and a sequence in one number, tick * 2^bits + sequence, and stands for one ID.
 * Time and sequence of a layout that issues have at most 62 bits, so a cell is never negative, and sums of a cell and a count do not
 * overflow.
 */
class Cells {
    final Layout layout;
    final long worker;
    /** Width of a cell's sequence. */
    final int bits;
    /** Capacity of the time field. */
    final long ticks;
    /** Most ticks that a cell may be ahead of the clock. */
    final long ahead;
    final long epoch;
    final long unit;

    private final long spread;
    private final long fixed; // bits of datacenter and worker, equal in every ID
    private final int timeShift;
    private final int sequenceShift;

    Cells(Layout layout, long worker, long maxAheadMillis) {
        this.layout = layout;
        this.worker = worker;
        bits = layout.bits(Field.SEQUENCE);
        ticks = layout.ticks();
        ahead = maxAheadMillis / layout.unitMillis();
        epoch = layout.epochMillis();
        unit = layout.unitMillis();
        spread = Math.max(1, layout.spread());
        fixed = layout.encode(0, layout.datacenter(), worker, 0);
        timeShift = layout.shift(Field.TIME);
        sequenceShift = layout.shift(Field.SEQUENCE);
    }

    /** Returns the tick of a wall clock. */
    final long tickAt(long wall) {
        long since = wall - epoch;
        return unit == 1 ? since : Math.floorDiv(since, unit);
    }

    final long cell(long tick) {
        return tick << bits;
    }

    final long tick(long cell) {
        return cell >>> bits;
    }

    /** Returns the first cell that is too far ahead of the clock at a tick. */
    final long bound(long tick) {
        return Math.min(tick + ahead + 1, ticks) << bits;
    }

    /** Returns the ID of a cell. */
    final long id(long cell) {
        return fixed | cell >>> bits << timeShift | (cell & (1L << bits) - 1) << sequenceShift;
    }

    /** Returns the sequence at which a fresh tick starts, by a hash of the tick. */
    final long startSequence(long tick) {
        long h = tick * 0x9e3779b97f4a7c15L;
        h = (h ^ h >>> 32) * 0xd6e8feb86659fd93L;
        return Math.multiplyHigh(h, spread) + (h >> 63 & spread); // the high half of an unsigned product
    }

    /** Returns the first cell of this worker whose ID is greater than {@code id}, any unsigned number; it is beyond the time field if there is none. */
    final long above(long id) {
        if (layout.bits() < Long.SIZE && id >>> layout.bits() != 0) {
            return cell(ticks);
        }
        long tick = layout.decode(id).tick();
        long base = id(cell(tick));
        if (base > id) {
            return cell(tick);
        }
        return cell(tick) + Math.min((id - base >>> sequenceShift) + 1, 1L << bits);
    }

    /** Returns the time by which the start of a cell's tick is ahead of a clock, in milliseconds. */
    final long lead(long cell, long wall) {
        return layout.millisAt(tick(cell)) - wall;
    }

    /** Returns the time until a cell is no longer too far ahead of a clock, in milliseconds. */
    final long due(long cell, long wall) {
        return layout.millisAt(tick(cell) - ahead) - wall;
    }

    /** Reports whether a cell is so far ahead of a clock that the clock must have moved backwards. */
    final boolean isBehind(long cell, long wall, long threshold) {
        return tick(cell) - tickAt(wall) > ahead + 1 && lead(cell, wall) > threshold;
    }
}
