package io.snowraft.client;

import io.snowraft.internal.json.JsonException;
import io.snowraft.internal.json.JsonObject;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * The numbers of a granted block that were not issued when the stock was made. The position, the count of issued numbers, only grows, and
 * once closed it stays closed. Any thread may take. The holder of the lock of {@link Blocks} closes.
 */
final class BlockStock {
    private static final long CLOSED = Long.MAX_VALUE;
    private static final long MOST = 1L << 62;
    private static final VarHandle POSITION;

    static {
        try {
            POSITION = MethodHandles.lookup().findVarHandle(BlockStock.class, "position", long.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    /** A numbering: within it, no number is granted twice, and later blocks have later numbers. {@code day} is yyyymmdd, 0 without a reset. */
    record Epoch(long generation, int day) {
        /** Reports whether this epoch is outdated once another one is known. */
        boolean before(Epoch other) {
            int order = Long.compareUnsigned(generation, other.generation);
            return order < 0 || order == 0 && day < other.day;
        }

        /** Returns the day of a period such as 2026-11-22; 0 without a reset. */
        static int day(String period) throws JsonException {
            if (period.isEmpty()) {
                return 0;
            }
            if (!period.matches("[0-9]{4}-[0-9]{2}-[0-9]{2}")) {
                throw SnowraftException.malformed("the period \"" + period + "\"");
            }
            return Integer.parseInt(period.replace("-", ""));
        }
    }

    final long token;
    final long first;
    final long count;
    final long increment;
    final Epoch epoch;
    final String period;
    final long periodEnd; // Unix ms; 0 without a reset
    final long granted; // numbers at the end that belong to the last grant
    volatile long mark; // position from which callers check the pace
    private volatile long position;

    private BlockStock(long token, long first, long count, long increment, Epoch epoch, String period, long periodEnd, long granted) {
        this.token = token;
        this.first = first;
        this.count = count;
        this.increment = increment;
        this.epoch = epoch;
        this.period = period;
        this.periodEnd = periodEnd;
        this.granted = granted;
    }

    /** Returns the stock of a grant. It throws an exception if the block is impossible. */
    static BlockStock of(JsonObject b) throws JsonException {
        String period = b.string("period");
        BlockStock stock = new BlockStock(b.uint64("token"), b.int64("first"), b.uint64("count"), b.int64("increment"),
                new Epoch(b.uint64("generation"), Epoch.day(period)), period, b.int64("periodEndsAtMs"), b.uint64("count"));
        if (stock.token == 0 || stock.count < 1 || stock.count > MOST || stock.periodEnd < 0 || !Numbers.fits(stock.first, stock.increment, stock.count)) {
            throw SnowraftException.malformed("a block of " + stock.count + " numbers from " + stock.first + " by " + stock.increment);
        }
        return stock;
    }

    /** Issues n numbers, from the index that it returns; -1 if the block has fewer. */
    long take(long n) {
        for (;;) {
            long p = position;
            if (p > count - n) {
                return -1;
            }
            if (POSITION.compareAndSet(this, p, p + n)) {
                return p;
            }
        }
    }

    /** Closes the block, so that no number is issued afterwards, and returns how many were issued. */
    long close() {
        return Math.min((long) POSITION.getAndSet(this, CLOSED), count);
    }

    long taken() {
        return Math.min(position, count);
    }

    long number(long index) {
        return first + index * increment; // intermediate results may wrap around, the sum does not
    }

    /** Reports whether the block begins right after the end of another one, so that they can be joined. */
    boolean continues(BlockStock other) {
        long last = other.number(other.count - 1);
        return epoch.equals(other.epoch) && increment == other.increment && periodEnd == other.periodEnd && count <= MOST - other.count
                && first > last == increment > 0 && first - last == increment;
    }

    /** Returns one stock of the numbers of this closed block from an index on, and of the block that continues it. */
    BlockStock joined(long index, BlockStock with) {
        return index == count ? with
                : new BlockStock(with.token, number(index), count - index + with.count, increment, epoch, period, periodEnd, with.granted);
    }
}
