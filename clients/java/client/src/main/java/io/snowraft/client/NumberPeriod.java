package io.snowraft.client;

import java.util.OptionalLong;

/**
 * A period of a sequence whose numbers are requested: the present one, or one that ended and is still open. Each method returns a new
 * object.
 *
 * @param name      its first day, such as {@code 2026-10-01}, or a shorter form that fits the reset, such as {@code 2026-10}
 * @param from      the next number of the period, by the caller's word; empty if the cluster knows how the period ended
 * @param requestId makes the request one that may be repeated, as with {@link Sequence#takeOnce}; empty: it may not
 */
public record NumberPeriod(String name, OptionalLong from, String requestId) {
    /** Checks that the period has a name. */
    public NumberPeriod {
        if (name.isEmpty()) {
            throw Answers.invalid("period: missing name, such as 2026-10");
        }
    }

    /** Returns the period with a name. */
    public static NumberPeriod of(String name) {
        return new NumberPeriod(name, OptionalLong.empty(), "");
    }

    /**
     * States the next number of the period, for a period whose end the cluster does not know. It needs the right {@code seq:admin}. If a
     * number from there on was issued in the period, numbers repeat.
     */
    public NumberPeriod from(long number) {
        return new NumberPeriod(name, OptionalLong.of(number), requestId);
    }

    /** Makes the request one that may be repeated, as with {@link Sequence#takeOnce}. */
    public NumberPeriod requestId(String id) {
        return new NumberPeriod(name, from, id);
    }
}
