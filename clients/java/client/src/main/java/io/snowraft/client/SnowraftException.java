package io.snowraft.client;

import java.time.Duration;
import java.util.Objects;

/**
 * Reports that a call failed. Decide by {@link #reason()}, {@link #retry()} and {@link #unknown()}; the message is for people and may
 * change.
 */
public final class SnowraftException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final String text;
    private final Reason reason;
    private final String reasonName;
    private final String member;
    private final Duration retryAfter;
    private final boolean retry;
    private final boolean unknown;

    /**
     * Creates an exception. Applications need this constructor in tests only.
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
    public SnowraftException(Reason reason, String reasonName, String message, String member, Duration retryAfter, boolean retry,
            boolean unknown, Throwable cause) {
        super("snowraft: " + message + (reasonName.isEmpty() ? "" : " [" + reasonName + "]"), cause);
        this.text = message;
        this.reason = Objects.requireNonNull(reason);
        this.reasonName = Objects.requireNonNull(reasonName);
        this.member = Objects.requireNonNull(member);
        this.retryAfter = Objects.requireNonNull(retryAfter);
        this.retry = retry;
        this.unknown = unknown;
    }

    /** Returns an exception of this client about a request that was not sent. */
    public static SnowraftException unsent(Reason reason, String message) {
        return new SnowraftException(reason, reason.name(), message, "", Duration.ZERO, reason.undone() || reason.byMethod(), false, null);
    }

    /** Returns the message without the name of the product and the reason. */
    public String text() {
        return text;
    }

    /** Returns the reason. */
    public Reason reason() {
        return reason;
    }

    /** Returns the name of the reason as the member sent it, also if this version of the client does not know the reason. */
    public String reasonName() {
        return reasonName;
    }

    /** Returns the address of the member that was called last; empty if none was. */
    public String member() {
        return member;
    }

    /** Returns the time after which a repetition may succeed; zero if unknown. */
    public Duration retryAfter() {
        return retryAfter;
    }

    /** Reports whether the same call may be repeated: it may succeed, and does no harm if a member did this one. */
    public boolean retry() {
        return retry;
    }

    /** Reports whether the call may have had an effect. */
    public boolean unknown() {
        return unknown;
    }

    /** Reports whether waiting does not resolve it. A member that cannot be reached may come up; a port of something else stays one. */
    boolean isLasting() {
        return switch (reason) {
            case CLOSED, UNKNOWN_LAYOUT, TIME_EXHAUSTED, INVALID_ARGUMENT, UNAUTHENTICATED, PERMISSION_DENIED, PIN_MISMATCH, SET_BACK -> true;
            case UNAVAILABLE -> !retry;
            default -> false;
        };
    }

    /** Returns a copy with the stack of the present thread, for a caller that shared the call of another thread. */
    SnowraftException copy() {
        return new SnowraftException(reason, reasonName, text, member, retryAfter, retry, unknown, getCause());
    }
}
