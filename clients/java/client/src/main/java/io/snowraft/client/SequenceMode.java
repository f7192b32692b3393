package io.snowraft.client;

import java.util.Locale;

/** The guarantee of a sequence about the order of its numbers. */
public enum SequenceMode {
    /** Each number is greater than all that were returned before its request (smaller, if the increment is negative). */
    STRICT,
    /** Numbers ascend per member, which issues them from blocks in its memory: fast, and for a while also without quorum. */
    RELAXED,
    /** Each number is reserved for a key, and then confirmed or void: every number is accounted for. */
    GAPLESS;

    /** Returns the word of the API. */
    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT);
    }
}
