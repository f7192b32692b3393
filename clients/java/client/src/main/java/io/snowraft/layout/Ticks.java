package io.snowraft.layout;

import java.math.BigInteger;

/** Converts between ticks and instants without an overflow. */
final class Ticks {
    private static final BigInteger LEAST = BigInteger.valueOf(Long.MIN_VALUE);
    private static final BigInteger GREATEST = BigInteger.valueOf(Long.MAX_VALUE);

    private Ticks() {
    }

    static long tickAt(Layout layout, long unixMillis) {
        long since = unixMillis - layout.epochMillis();
        boolean overflow = ((unixMillis ^ layout.epochMillis()) & (unixMillis ^ since)) < 0; // Hacker's Delight, 2-13
        if (!overflow && layout.ticksPerMilli() == 0) {
            return Math.floorDiv(since, layout.unitMillis());
        }
        BigInteger exact = BigInteger.valueOf(unixMillis).subtract(BigInteger.valueOf(layout.epochMillis()));
        if (layout.ticksPerMilli() != 0) {
            return saturated(exact.multiply(BigInteger.valueOf(layout.ticksPerMilli())));
        }
        return saturated(floorDivide(exact, layout.unitMillis()));
    }

    static long millisAt(Layout layout, long tick) {
        return millisAt(layout, BigInteger.valueOf(tick));
    }

    static long exhaustsAt(Layout layout) {
        return millisAt(layout, BigInteger.ONE.shiftLeft(layout.bits(Field.TIME)));
    }

    private static long millisAt(Layout layout, BigInteger tick) {
        BigInteger since = layout.ticksPerMilli() == 0
                ? tick.multiply(BigInteger.valueOf(layout.unitMillis()))
                : floorDivide(tick, layout.ticksPerMilli());
        return saturated(since.add(BigInteger.valueOf(layout.epochMillis())));
    }

    private static BigInteger floorDivide(BigInteger n, long by) {
        BigInteger[] parts = n.divideAndRemainder(BigInteger.valueOf(by));
        return parts[1].signum() < 0 ? parts[0].subtract(BigInteger.ONE) : parts[0];
    }

    private static long saturated(BigInteger n) {
        return n.max(LEAST).min(GREATEST).longValue();
    }
}
