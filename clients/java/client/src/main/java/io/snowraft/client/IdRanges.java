package io.snowraft.client;

import io.snowraft.internal.json.JsonException;
import io.snowraft.internal.json.JsonObject;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/** The IDs of a member's answer, in ranges. All of them are different. */
final class IdRanges {
    /** The IDs first, first + step, ..., count of them. */
    private record Range(long first, int count, long step) {
        long last() {
            return first + (count - 1) * step;
        }
    }

    private final List<Range> ranges;

    private IdRanges(List<Range> ranges) {
        this.ranges = ranges;
    }

    /**
     * Returns the ranges of an answer to a request for count IDs greater than {@code after}. It throws an exception if the answer does not
     * hold exactly that many different IDs: no member sends such an answer, but a proxy or a bug may.
     */
    static IdRanges of(JsonObject answer, int count, long after) {
        try {
            List<Range> ranges = new ArrayList<>();
            long sum = 0;
            for (JsonObject r : answer.objects("ranges")) {
                Range range = new Range(r.int64("first"), r.count("count"), r.int64("step"));
                check(range, ranges.isEmpty() ? range.step : ranges.get(0).step, after);
                ranges.add(range);
                sum += range.count;
            }
            if (sum != count) {
                throw SnowraftException.malformed(sum + " IDs instead of the " + count + " requested");
            }
            checkDistinct(ranges);
            return new IdRanges(ranges);
        } catch (JsonException e) {
            throw SnowraftException.malformed(e.getMessage());
        }
    }

    private static void check(Range r, long step, long after) {
        if (r.count < 1 || r.step < 1 || r.step != step) {
            throw SnowraftException.malformed("a range of " + r.count + " IDs with a step of " + r.step);
        }
        if (r.first <= after) { // refuses 0 too, which is not an ID
            throw SnowraftException.malformed("ID " + r.first + ", expected one greater than " + after);
        }
        if (Math.multiplyHigh(r.count - 1, r.step) != 0 || (r.count - 1) * r.step < 0 || (r.count - 1) * r.step > Long.MAX_VALUE - r.first) {
            throw SnowraftException.malformed(r.count + " IDs from " + r.first + " with a step of " + r.step + ", which exceed 63 bits");
        }
    }

    /** Ranges with the same step can share an ID only if their IDs have the same remainder modulo the step. */
    private static void checkDistinct(List<Range> ranges) {
        List<Range> sorted = new ArrayList<>(ranges);
        sorted.sort(Comparator.<Range>comparingLong(r -> r.first % r.step).thenComparingLong(Range::first));
        for (int i = 1; i < sorted.size(); i++) {
            Range a = sorted.get(i - 1);
            Range b = sorted.get(i);
            if (a.first % a.step == b.first % b.step && b.first <= a.last()) {
                throw SnowraftException.malformed("ID " + b.first + " twice");
            }
        }
    }

    /** Returns count IDs that start at an index. */
    long[] part(int from, int count) {
        long[] ids = new long[count];
        int skip = from;
        int at = 0;
        for (Range r : ranges) {
            int taken = Math.max(0, Math.min(r.count - skip, count - at));
            for (int i = 0; i < taken; i++) {
                ids[at++] = r.first + (skip + i) * r.step;
            }
            skip = Math.max(0, skip - r.count);
        }
        return ids;
    }

    /** Returns the greatest ID. */
    long last() {
        return ranges.stream().mapToLong(Range::last).max().orElse(0);
    }
}
