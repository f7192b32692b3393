package io.snowraft.client;

import java.io.Serializable;
import java.time.Duration;
import java.util.Objects;

/**
 * Reports that a call failed. Its class says what a caller may do, for {@code catch} clauses and for libraries that repeat calls by the
 * class of an exception:
 *
 * <ul>
 * <li>{@link Repeatable}: make the same call again.</li>
 * <li>{@link OutcomeUnknown}: first find out whether the call had an effect.</li>
 * <li>{@link Refused}: first change something. The call had no effect.</li>
 * </ul>
 *
 * <p>{@link #reason()} says why the call failed. The message is for people and may change.
 */
public abstract sealed class SnowraftException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final Facts facts;

    private SnowraftException(Facts facts, Throwable cause) {
        super("snowraft: " + facts.text + (facts.reasonName.isEmpty() ? "" : " [" + facts.reasonName + "]"), cause);
        this.facts = facts;
    }

    /** The call failed for now. The same call may succeed after {@link #retryAfter()}, and does no harm, also if this one had an effect. */
    public static final class Repeatable extends SnowraftException {
        private static final long serialVersionUID = 1L;

        private Repeatable(Facts facts, Throwable cause) {
            super(facts, cause);
        }
    }

    /** The call may have had an effect, and a repetition may have another one. */
    public static final class OutcomeUnknown extends SnowraftException {
        private static final long serialVersionUID = 1L;

        private OutcomeUnknown(Facts facts, Throwable cause) {
            super(facts, cause);
        }
    }

    /** The call had no effect. The same call fails again until something is changed. */
    public static final class Refused extends SnowraftException {
        private static final long serialVersionUID = 1L;

        private Refused(Facts facts, Throwable cause) {
            super(facts, cause);
        }
    }

    private record Facts(Reason reason, String reasonName, String text, String member, Duration retryAfter, boolean unknown)
            implements Serializable {
        Facts {
            Objects.requireNonNull(reason);
            Objects.requireNonNull(reasonName);
            Objects.requireNonNull(member);
            Objects.requireNonNull(retryAfter);
        }
    }

    /**
     * Returns an exception. Applications need this method in tests only.
     *
     * @param reason     the reason
     * @param reasonName the member's name of the reason; the same as that of {@code reason} except for {@link Reason#OTHER}
     * @param message    the text, to which the exception adds the name of the product and the reason
     * @param member     the address of the member that was called last; empty if none was
     * @param retryAfter the time after which a repetition may succeed; zero if unknown
     * @param retry      whether a repetition may succeed and does no harm
     * @param unknown    whether the call may have had an effect
     * @param cause      the cause; may be null
     */
    public static SnowraftException of(Reason reason, String reasonName, String message, String member, Duration retryAfter, boolean retry,
            boolean unknown, Throwable cause) {
        return of(new Facts(reason, reasonName, message, member, retryAfter, unknown), retry, cause);
    }

    private static SnowraftException of(Facts facts, boolean retry, Throwable cause) {
        if (retry) {
            return new Repeatable(facts, cause);
        }
        return facts.unknown ? new OutcomeUnknown(facts, cause) : new Refused(facts, cause);
    }

    /** Returns an exception of this client about a call that had no effect. */
    public static SnowraftException unsent(Reason reason, String message) {
        return unsent(reason, message, Duration.ZERO);
    }

    /** Returns an exception of this client about a call that had no effect, and may succeed after a time. */
    public static SnowraftException unsent(Reason reason, String message, Duration retryAfter) {
        return of(reason, reason.name(), message, "", retryAfter, reason.undone() || reason.byMethod(), false, null);
    }

    /** Returns an exception of this client about an answer that makes no sense. The call may have had an effect. */
    public static SnowraftException malformed(String what) {
        return of(Reason.MALFORMED_ANSWER, Reason.MALFORMED_ANSWER.name(), "invalid answer of a member: " + what
                + "; discarded, please report it with the versions of client and member", "", Duration.ZERO, false, true, null);
    }

    /** Returns the message without the name of the product and the reason. */
    public String text() {
        return facts.text;
    }

    /** Returns the reason. */
    public Reason reason() {
        return facts.reason;
    }

    /** Returns the name of the reason as the member sent it, also if this version of the client does not know the reason. */
    public String reasonName() {
        return facts.reasonName;
    }

    /** Returns the address of the member that was called last; empty if none was. */
    public String member() {
        return facts.member;
    }

    /** Returns the time after which a repetition may succeed; zero if unknown. */
    public Duration retryAfter() {
        return facts.retryAfter;
    }

    /** Reports whether this is a {@link Repeatable}. */
    public boolean retry() {
        return this instanceof Repeatable;
    }

    /** Reports whether the call may have had an effect: always of an {@link OutcomeUnknown}, never of a {@link Refused}. */
    public boolean unknown() {
        return facts.unknown;
    }

    /** Reports whether waiting does not resolve it. A member that cannot be reached may come up; a port of something else stays one. */
    boolean isLasting() {
        return switch (facts.reason) {
            case CLOSED, UNKNOWN_LAYOUT, TIME_EXHAUSTED, INVALID_ARGUMENT, UNAUTHENTICATED, PERMISSION_DENIED, PIN_MISMATCH, SET_BACK -> true;
            case UNAVAILABLE -> !retry();
            default -> false;
        };
    }

    /** Returns a copy with the stack of the present thread, for a caller that shared the call of another thread. */
    SnowraftException copy() {
        return of(facts, retry(), getCause());
    }
}
