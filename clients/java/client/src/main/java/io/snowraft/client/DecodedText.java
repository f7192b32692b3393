package io.snowraft.client;

import io.snowraft.internal.json.JsonException;
import io.snowraft.internal.json.JsonObject;

/**
 * The content of a text of a sequence.
 *
 * @param number  the number
 * @param period  the first day of the number's period; empty without a reset, and if the dates in the text do not name a period
 * @param format  the format that writes the text; empty for the decimals of a sequence without a format
 * @param state   whether the cluster granted the number. Each code of the right form has a number, also if the number was never issued
 * @param deleted whether the sequence was deleted
 */
public record DecodedText(long number, String period, String format, State state, boolean deleted) {
    /** What the cluster knows about the granting of a number. */
    public enum State {
        /** The number lies among those that were granted, so it may have been issued. */
        GRANTED,
        /** The number was not granted, and so not issued. */
        NOT_GRANTED,
        /** The end of the number's period is not known, its text does not name the period, or a restore left it open. */
        UNKNOWN
    }

    static DecodedText of(JsonObject answer) throws JsonException {
        String state = answer.string("state");
        State known = switch (state) {
            case "granted" -> State.GRANTED;
            case "not-granted" -> State.NOT_GRANTED;
            case "unknown" -> State.UNKNOWN;
            default -> throw new IllegalArgumentException("the state " + state + " of a number");
        };
        return new DecodedText(answer.int64("number"), answer.string("period"), answer.string("format"), known, answer.bool("deleted"));
    }
}
