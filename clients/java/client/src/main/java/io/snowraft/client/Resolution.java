package io.snowraft.client;

/**
 * An application's answer to the question what became of a reserved number. The methods make the answers.
 *
 * @param fate           the fate of the number
 * @param reason         the reason of a void number, 1 to 256 bytes; empty otherwise
 * @param neverCommitted whether no transaction can commit a void number anymore, because its void row is committed
 */
public record Resolution(Fate fate, String reason, boolean neverCommitted) {
    /** What became of a number. */
    public enum Fate {
        /** A document with the number is committed. */
        USED,
        /** There is no document with the number, and there never will be. */
        VOID,
        /** The application does not know yet: the number stays open. */
        LEAVE
    }

    /** Answers that a document with the number is committed. */
    public static Resolution used() {
        return new Resolution(Fate.USED, "", false);
    }

    /** Answers that the application does not know yet. */
    public static Resolution leave() {
        return new Resolution(Fate.LEAVE, "", false);
    }

    /** Answers that there is no document with the number, and never will be. */
    public static Resolution voided(String reason) {
        return new Resolution(Fate.VOID, reason, false);
    }

    /**
     * Answers that no transaction can commit the number anymore, because the database of the application has a UNIQUE constraint and a
     * committed row for it. A sequence with reuse may reserve it again.
     */
    public static Resolution neverCommitted(String reason) {
        return new Resolution(Fate.VOID, reason, true);
    }
}
