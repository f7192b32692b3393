package io.snowraft.client;

import java.util.Locale;

/** The interval at which a sequence starts over. */
public enum SequenceReset {
    /** Never. */
    NONE,
    /** Every day. */
    DAILY,
    /** Every month. */
    MONTHLY,
    /** Every year. */
    YEARLY;

    /** Returns the word of the API. */
    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT);
    }
}
