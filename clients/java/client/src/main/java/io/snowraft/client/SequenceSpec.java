package io.snowraft.client;

import io.snowraft.internal.json.Json;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The settings of a sequence to create or to change. A setting that is not made keeps its value in a change, and has its default in a new
 * sequence. Each method returns a new specification.
 */
public final class SequenceSpec {
    private final Map<String, Object> fields;

    private SequenceSpec(Map<String, Object> fields) {
        this.fields = fields;
    }

    /** Returns a specification without settings: a strict sequence 1, 2, 3, ... */
    public static SequenceSpec of() {
        return new SequenceSpec(Map.of());
    }

    private SequenceSpec with(String field, Object value) {
        Map<String, Object> copy = new LinkedHashMap<>(fields);
        copy.put(field, value);
        return new SequenceSpec(copy);
    }

    /** Sets the mode; strict by default. */
    public SequenceSpec mode(SequenceMode mode) {
        return with("mode", mode.toString());
    }

    /** Sets the first number of each period; 1 by default, or -1 with a negative increment. */
    public SequenceSpec start(long start) {
        return with("start", start);
    }

    /** Sets the difference between a number and the one before it, not 0; 1 by default. */
    public SequenceSpec increment(long increment) {
        return with("increment", increment);
    }

    /** Sets the least number; by default the start, or the least 64-bit number with a negative increment. */
    public SequenceSpec min(long min) {
        return with("min", min);
    }

    /** Sets the greatest number; by default the greatest 64-bit number, or the start with a negative increment. */
    public SequenceSpec max(long max) {
        return with("max", max);
    }

    /** Sets the interval at which the sequence starts over. */
    public SequenceSpec reset(SequenceReset reset) {
        return with("reset", reset.toString());
    }

    /** Sets the day on which years and their quarters start, such as {@code 04-01} with a day of 01 to 28; {@code 01-01} by default. */
    public SequenceSpec yearStarts(String day) {
        return with("yearStarts", day);
    }

    /** Sets the time after the end of a period in which its numbers can still be requested, 1 second to 366 days; none by default. */
    public SequenceSpec late(Duration time) {
        return with("lateMs", time.toMillis());
    }

    /** Sets the IANA time zone in which periods begin and dates are written; UTC by default. */
    public SequenceSpec timeZone(String zone) {
        return with("timeZone", zone);
    }

    /** Sets the format of texts, such as {@code ORD{date:yyyyMMdd}{seq:06}}; none by default. */
    public SequenceSpec format(String format) {
        return with("format", format);
    }

    /** Sets the description, at most 256 bytes. */
    public SequenceSpec description(String description) {
        return with("description", description);
    }

    /** Sets the time that a block of a relaxed sequence should last, 100 to 3,600,000 ms; 10,000 by default. */
    public SequenceSpec blockDurationMillis(long millis) {
        return with("blockDurationMs", millis);
    }

    /** Sets the least and the greatest count of a block's numbers, 1 to 100,000,000 each. */
    public SequenceSpec blockSize(long least, long greatest) {
        return with("minBlock", least).with("maxBlock", greatest);
    }

    /** Lets a gapless sequence reserve void numbers again that were never committed; it does not by default. */
    public SequenceSpec reuse(boolean reuse) {
        return with("reuse", reuse);
    }

    /** Returns the settings as JSON, with a name. */
    Json json(String name) {
        Json json = new Json().put("name", name);
        fields.forEach((field, value) -> {
            if (value instanceof Long number) {
                json.put(field, number.longValue());
            } else if (value instanceof Boolean flag) {
                json.put(field, flag.booleanValue());
            } else {
                json.put(field, (String) value);
            }
        });
        return json;
    }
}
