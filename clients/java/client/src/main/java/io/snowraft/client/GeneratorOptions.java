package io.snowraft.client;

import java.nio.charset.StandardCharsets;
import java.text.Normalizer;

/**
 * The options of a {@link Generator}.
 *
 * @param layout   layout of the IDs; {@code default} by default
 * @param holder   stable name of this process, 1 to 125 bytes of printable UTF-8 in normalization form C without spaces, not beginning with
 *                 "$"; empty for the host's name. Operators see it. It need not be unique
 * @param lanes    number of workers to lease, 1 to 64; 1 by default. IDs of different lanes are in no order
 * @param failFast whether calls fail at once when the window has ended, instead of waiting for another one
 * @param clock    the clock, for tests; null for that of the client
 */
public record GeneratorOptions(String layout, String holder, int lanes, boolean failFast, Clock clock) {
    private static final int MAX_LANES = 64;
    private static final int MAX_HOLDER = 125;

    /** Checks the options. */
    public GeneratorOptions {
        if (layout.isEmpty()) {
            throw Answers.invalid("layout name must not be empty");
        }
        if (lanes < 1 || lanes > MAX_LANES) {
            throw Answers.invalid(lanes + " lanes: expected 1 to " + MAX_LANES);
        }
        int bytes = holder.getBytes(StandardCharsets.UTF_8).length;
        boolean printable = holder.codePoints().noneMatch(c -> Character.isWhitespace(c) || Character.isSpaceChar(c) || Character.isISOControl(c)
                || Character.getType(c) == Character.SURROGATE);
        if (bytes > MAX_HOLDER || !printable || holder.startsWith("$") || !Normalizer.isNormalized(holder, Normalizer.Form.NFC)) {
            throw Answers.invalid("holder name \"" + holder + "\": expected 1 to " + MAX_HOLDER
                    + " bytes of printable UTF-8 in form NFC without spaces, not beginning with \"$\"");
        }
    }

    /** Returns the default options. */
    public static GeneratorOptions defaults() {
        return new GeneratorOptions("default", "", 1, false, null);
    }

    /** Returns options with another layout. */
    public GeneratorOptions withLayout(String name) {
        return new GeneratorOptions(name, holder, lanes, failFast, clock);
    }

    /** Returns options with another holder. */
    public GeneratorOptions withHolder(String name) {
        return new GeneratorOptions(layout, name, lanes, failFast, clock);
    }

    /** Returns options with another number of lanes. */
    public GeneratorOptions withLanes(int number) {
        return new GeneratorOptions(layout, holder, number, failFast, clock);
    }

    /** Returns options with which calls fail at once when the window has ended. */
    public GeneratorOptions withFailFast() {
        return new GeneratorOptions(layout, holder, lanes, true, clock);
    }

    /** Returns options with a clock of tests. */
    public GeneratorOptions withClock(Clock source) {
        return new GeneratorOptions(layout, holder, lanes, failFast, source);
    }
}
