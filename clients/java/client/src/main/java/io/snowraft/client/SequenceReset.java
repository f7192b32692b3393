package io.snowraft.client;

import java.util.Locale;

/** The interval at which a sequence starts over. */
public enum SequenceReset {
    /** Never. */
    NONE,
    /** Every day. */
    DAILY,
    /** Every Monday. */
    WEEKLY,
    /** Every month. */
    MONTHLY,
    /** Every quarter of the years that start on {@link SequenceSpec#yearStarts}. */
    QUARTERLY,
    /** Every year, on {@link SequenceSpec#yearStarts}. */
    YEARLY;

    /** Returns the word of the API. */
    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT);
    }
}
