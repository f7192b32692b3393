package io.snowraft.layout;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/**
 * A field of a layout and its width.
 *
 * @param field the field
 * @param bits  its width, 1 to 63
 */
public record FieldBits(Field field, int bits) {
    private static final int MAX_BITS = 63;
    private static final int ID_BITS = 64;

    /** Checks the width. */
    public FieldBits {
        if (bits < 1 || bits > MAX_BITS) {
            throw new IllegalArgumentException("field " + field + " has " + bits + " bits, expected 1 to " + MAX_BITS);
        }
    }

    /** Parses fields from the highest bits to the lowest, such as {@code time:41,worker:10,sequence:12}. */
    public static List<FieldBits> parse(String text) {
        List<FieldBits> fields = new ArrayList<>();
        for (String part : text.split(",", -1)) {
            int colon = part.indexOf(':');
            if (colon < 0) {
                throw new IllegalArgumentException("\"" + part + "\": expected a field and its width, such as \"worker:10\"");
            }
            String width = part.substring(colon + 1);
            if (!width.matches("[1-9][0-9]?")) {
                throw new IllegalArgumentException("\"" + width + "\" is not a width, expected 1 to " + MAX_BITS + " bits in decimal");
            }
            fields.add(new FieldBits(Field.parse(part.substring(0, colon)), Integer.parseInt(width)));
        }
        check(fields);
        return List.copyOf(fields);
    }

    /** Writes fields in the form that {@link #parse} reads. */
    public static String format(List<FieldBits> fields) {
        return fields.stream().map(f -> f.field + ":" + f.bits).collect(Collectors.joining(","));
    }

    /** Throws an exception unless each field appears at most once, time is present, and all together have at most 64 bits. */
    static void check(List<FieldBits> fields) {
        long distinct = fields.stream().map(FieldBits::field).distinct().count();
        if (distinct != fields.size()) {
            throw new IllegalArgumentException("a field appears more than once in \"" + format(fields) + "\"; remove one");
        }
        if (fields.stream().noneMatch(f -> f.field == Field.TIME)) {
            throw new IllegalArgumentException("no time field in \"" + format(fields) + "\"; add one, such as time:41");
        }
        int total = fields.stream().mapToInt(FieldBits::bits).sum();
        if (total > ID_BITS) {
            throw new IllegalArgumentException(total + " bits in \"" + format(fields) + "\", expected at most " + ID_BITS);
        }
    }
}
