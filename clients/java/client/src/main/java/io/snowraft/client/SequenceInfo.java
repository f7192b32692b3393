package io.snowraft.client;

import io.snowraft.internal.json.JsonException;
import io.snowraft.internal.json.JsonObject;
import java.util.List;
import java.util.Locale;
import java.util.OptionalLong;

/**
 * A sequence of the cluster, with defaults filled in.
 *
 * @param name             its name
 * @param mode             its mode
 * @param start            the first number of each period
 * @param increment        the difference between a number and the one before it
 * @param min              the least number
 * @param max              the greatest number
 * @param reset            the interval at which it starts over
 * @param yearStarts       the day on which its years and quarters start, such as {@code 04-01}; empty means January 1
 * @param timeZone         the time zone of its periods and dates; empty means UTC
 * @param format           the format of texts; empty without one
 * @param description      the description
 * @param generation       a number that increases with each change
 * @param period           the first day of the current period; empty without a reset
 * @param next             the next number of this period; empty if none is left
 * @param last             the last number of this period; empty before the first one, and for relaxed sequences
 * @param unreachedMembers members that did not acknowledge a change in time; they may issue numbers from before the change
 */
public record SequenceInfo(String name, SequenceMode mode, long start, long increment, long min, long max, SequenceReset reset,
        String yearStarts, String timeZone, String format, String description, long generation, String period, OptionalLong next, OptionalLong last,
        List<String> unreachedMembers) {

    static SequenceInfo changed(JsonObject answer) {
        return Answers.read(answer, a -> of(a.object("sequence"), a.strings("unreachedMembers")));
    }

    static SequenceInfo of(JsonObject s, List<String> unreached) throws JsonException {
        return new SequenceInfo(s.string("name"), SequenceMode.valueOf(s.string("mode").toUpperCase(Locale.ROOT)), s.int64("start"),
                s.int64("increment"), s.int64("min"), s.int64("max"), SequenceReset.valueOf(s.string("reset").toUpperCase(Locale.ROOT)),
                s.string("yearStarts"), s.string("timeZone"), s.string("format"), s.string("description"), s.uint64("generation"), s.string("period"),
                optional(s, "next"), optional(s, "last"), List.copyOf(unreached));
    }

    private static OptionalLong optional(JsonObject s, String name) throws JsonException {
        return s.has(name) ? OptionalLong.of(s.int64(name)) : OptionalLong.empty();
    }
}
