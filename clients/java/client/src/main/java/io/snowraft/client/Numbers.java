package io.snowraft.client;

import java.util.List;
import java.util.stream.LongStream;

/**
 * A run of numbers of a sequence: first, first + increment, and so on.
 *
 * @param first     the first number
 * @param count     how many numbers, at least 1
 * @param increment the difference between a number and the one before it, not 0
 * @param period    the first day of the period that the numbers belong to, such as 2026-11-22; empty for a sequence without a reset
 * @param texts     the numbers in the format of the sequence; empty if the members wrote none
 */
public record Numbers(long first, int count, long increment, String period, List<String> texts) {
    /** Keeps a copy of the texts. */
    public Numbers {
        texts = List.copyOf(texts);
    }

    /** Returns the number at an index, 0 to count - 1. */
    public long get(int index) {
        if (index < 0 || index >= count) {
            throw new IndexOutOfBoundsException(index);
        }
        return at(index);
    }

    private long at(long index) {
        return first + index * increment; // intermediate results may wrap around, the sum does not
    }

    /** Returns the numbers in their order. */
    public LongStream stream() {
        return LongStream.range(0, count).map(this::at);
    }

    /** Returns the number at an index as text: in the format of the sequence, or in decimal without a format. */
    public String text(int index) {
        return texts.isEmpty() ? Long.toString(get(index)) : texts.get(index);
    }

    Numbers part(int from, int size) {
        return new Numbers(get(from), size, increment, period, texts.isEmpty() ? texts : texts.subList(from, from + size));
    }

    /** Reports whether count numbers, at least 1, are all different and fit into 64 bits. */
    static boolean fits(long first, long increment, long count) {
        if (increment == 0 || count < 1) {
            return false;
        }
        long high = Math.multiplyHigh(count - 1, increment);
        long span = (count - 1) * increment;
        boolean exact = high == span >> 63; // the product fits into 64 bits
        long last = first + span;
        return exact && (increment > 0 ? last >= first : last <= first);
    }
}
