package io.snowraft.client;

/**
 * Why a call failed. Most reasons are those of members; the page {@code docs/errors.md} of Snowraft lists the meaning of each and
 * the actions to take. The reasons below {@link #OTHER} are this client's own.
 */
public enum Reason {
    /** No leader is known. Nothing was done. */
    NO_LEADER(Repeat.YES),
    /** Leadership changed during the call. Nothing was done. */
    NOT_LEADER(Repeat.YES),
    /** The request may or may not take effect. */
    COMMIT_UNKNOWN(Repeat.BY_METHOD),
    /** The member is shutting down. */
    SHUTTING_DOWN(Repeat.YES),
    /** The member has too many calls or connections now. */
    OVERLOADED(Repeat.YES),
    /** The cluster has as many layouts, sequences or tokens as it can have. */
    LIMIT_REACHED(Repeat.NO),
    /** The upgrade that introduced this request is not finalized. */
    VERSION_TOO_LOW(Repeat.NO),
    /** The request can never succeed. */
    INVALID_ARGUMENT(Repeat.NO),
    /** The request failed in a way that is not a refusal. It may have taken effect. */
    INTERNAL(Repeat.NO),

    /** The window ended, and no other one was granted in time. */
    WINDOW_ENDED(Repeat.YES),
    /** A clock is behind by more than the wait threshold. */
    CLOCK_BEHIND(Repeat.YES),
    /** A clock is ahead of the majority's clock by more than the limit. */
    CLOCK_SKEW(Repeat.YES),
    /** All workers of the layout are held. */
    WORKERS_EXHAUSTED(Repeat.YES),
    /** The worker is no longer held under this token and window. */
    WINDOW_MISMATCH(Repeat.NO),
    /** No layout has this name. */
    UNKNOWN_LAYOUT(Repeat.NO),
    /** Another layout has this name. */
    LAYOUT_EXISTS(Repeat.NO),
    /** The time field of the layout is full. */
    TIME_EXHAUSTED(Repeat.NO),
    /** The history has no window with this ID. */
    NOT_GRANTED(Repeat.NO),
    /** The cluster was restored, and holders of the earlier cluster may still issue IDs. */
    FENCED(Repeat.YES),
    /** The layout was created without a past. */
    NO_PAST(Repeat.NO),
    /** A restore closed the past of the layout. */
    PAST_CLOSED(Repeat.NO),
    /** No backfill job of the layout has this number. */
    UNKNOWN_BACKFILL(Repeat.NO),
    /** The backfill job was ended, by a caller or by a restore. */
    BACKFILL_ENDED(Repeat.NO),
    /** The backfill job has another position. */
    BACKFILL_POSITION(Repeat.NO),

    /** No sequence has this name. */
    UNKNOWN_SEQUENCE(Repeat.NO),
    /** Another sequence has this name. */
    SEQUENCE_EXISTS(Repeat.NO),
    /** The period has fewer numbers left than requested. */
    SEQUENCE_EXHAUSTED(Repeat.NO),
    /** The sequence was changed during the call. Nothing was done. */
    SEQUENCE_CHANGED(Repeat.BY_METHOD),
    /** The object does not have the expected generation. Nothing was done. */
    GENERATION_MISMATCH(Repeat.NO),
    /** Numbers that were issued could be issued again. */
    WOULD_REPEAT(Repeat.NO),
    /** The request ID belongs to an earlier request with another count. */
    REQUEST_ID_REUSED(Repeat.NO),
    /** The configuration does not let requests create sequences. */
    REDIS_CREATE_OFF(Repeat.NO),
    /** A strict sequence has no blocks. */
    STRICT_SEQUENCE(Repeat.NO),
    /** Another block was granted since. */
    NOT_LAST_BLOCK(Repeat.NO),
    /** No template has this pattern. */
    UNKNOWN_TEMPLATE(Repeat.NO),
    /** A template with this pattern exists, with other settings. */
    TEMPLATE_EXISTS(Repeat.NO),
    /** The template whose pattern matches is suspended after a restore. */
    TEMPLATE_SUSPENDED(Repeat.NO),
    /** The late time of the period has passed. */
    PERIOD_CLOSED(Repeat.NO),
    /** The cluster does not know how the period ended. */
    PERIOD_UNKNOWN(Repeat.NO),
    /** The numbers of a gapless sequence are reserved, and neither issued nor set. */
    GAPLESS_SEQUENCE(Repeat.NO),
    /** The sequence is not gapless, so it has no reservations. */
    NOT_GAPLESS(Repeat.NO),
    /** The sequence has as many open reservations as it can have. The message names the oldest key. */
    RESERVATIONS_OPEN(Repeat.LATER),
    /** The key was reserved again since the claim. Nothing was done. */
    STALE_ATTEMPT(Repeat.NO),
    /** The cluster does not remember the reservation. */
    UNKNOWN_RESERVATION(Repeat.NO),
    /** The number has another fate already. */
    ALREADY_SETTLED(Repeat.NO),
    /** A restore left the fate of the number unknown, until an operator resolves it. */
    NUMBER_UNRESOLVED(Repeat.NO),
    /** The sequence is frozen after a restore. */
    SEQUENCE_FROZEN(Repeat.NO),
    /** The sequence moved to another system, which issues its numbers. */
    SEQUENCE_MOVED(Repeat.NO),
    /** The name may belong to something that the restored backup does not know. */
    RESTORE_UNACKNOWLEDGED(Repeat.NO),
    /** A member of the cluster before the restore still runs. */
    OLD_CLUSTER_ALIVE(Repeat.YES),
    /** The cluster was set back in time and is sealed. */
    SET_BACK(Repeat.NO),
    /** The member knows another history than the leader. */
    CONTRADICTED(Repeat.YES),
    /** A member does not know newer commands. */
    UPGRADE_BLOCKED(Repeat.NO),

    /** The request has no valid token. */
    UNAUTHENTICATED(Repeat.NO),
    /** The token lacks a scope, which the message names. */
    PERMISSION_DENIED(Repeat.NO),
    /** The token has used up its rate. */
    RATE_LIMITED(Repeat.LATER),
    /** No token has this ID or name. */
    UNKNOWN_TOKEN(Repeat.NO),
    /** Another token has this name. */
    TOKEN_EXISTS(Repeat.NO),
    /** The cluster has no secret. */
    CLUSTER_OPEN(Repeat.NO),

    /** No member has this ID or name. */
    UNKNOWN_MEMBER(Repeat.NO),
    /** The member has not learned the names of all members. */
    NAMES_INCOMPLETE(Repeat.YES),
    /** No member answers at that gossip address. */
    MEMBER_UNREACHABLE(Repeat.LATER),
    /** The voter is not alive. */
    MEMBER_NOT_ALIVE(Repeat.LATER),
    /** The member belongs to another cluster. */
    OTHER_CLUSTER(Repeat.NO),
    /** Another member has this name. */
    NAME_TAKEN(Repeat.NO),
    /** The new member runs a program that is too old. */
    PROGRAM_TOO_OLD(Repeat.NO),
    /** No other voter can become the leader. */
    NO_SUCCESSOR(Repeat.NO),
    /** Removing the member would leave too few live voters. */
    QUORUM_AT_RISK(Repeat.NO),
    /** The member is leaving already. */
    ALREADY_LEAVING(Repeat.NO),
    /** Only a member can do this. */
    NOT_A_MEMBER(Repeat.NO),
    /** The address serves no such path: it is not a member's HTTP port, or its version is too old. */
    UNKNOWN_ENDPOINT(Repeat.NO),
    /** The path does not take this method. */
    METHOD_NOT_ALLOWED(Repeat.NO),
    /** The member takes this program for a browser. */
    BROWSER_REQUEST(Repeat.NO),
    /** A reason that this version does not know; see {@link SnowraftException#reasonName()}. */
    OTHER(Repeat.NO),

    /** The client, or the object made from it, was closed. If a request was sent, it may have taken effect. */
    CLOSED(Repeat.NO),
    /** The time limit of the call passed. If a request was sent, it may have taken effect. */
    TIMEOUT(Repeat.BY_METHOD),
    /** No member could be reached, or the connection broke. If a request was sent, it may have taken effect. */
    UNAVAILABLE(Repeat.BY_METHOD),
    /** The server has none of the certificate authorities that the pin or the CA names. Nothing was sent. */
    PIN_MISMATCH(Repeat.NO),
    /** The thread was interrupted during the call. */
    INTERRUPTED(Repeat.BY_METHOD),
    /** The buffer has no ID now. */
    EMPTY(Repeat.YES),
    /** A member's answer makes no sense. The client discards it. */
    MALFORMED_ANSWER(Repeat.NO);

    /** Rule for repeating a failed request unchanged. */
    enum Repeat {
        /** The request fails again until something is changed. */
        NO,
        /** The request may succeed later; the caller decides. */
        LATER,
        /** The request did nothing and may succeed soon, or at another member. */
        YES,
        /** Only if the method calls a repetition harmless. */
        BY_METHOD
    }

    private final Repeat repeat;

    Reason(Repeat repeat) {
        this.repeat = repeat;
    }

    /** Reports whether a request that failed with this reason did nothing and may succeed soon, or at another member. */
    public boolean undone() {
        return repeat == Repeat.YES;
    }

    /** Reports whether the request may succeed later, when the cause has gone. */
    public boolean later() {
        return repeat == Repeat.LATER;
    }

    /** Reports whether the request may be repeated if its method calls a repetition harmless. */
    public boolean byMethod() {
        return repeat == Repeat.BY_METHOD;
    }

    /** Returns the reason of a name; {@link #OTHER} for names that this version does not know. */
    public static Reason of(String name) {
        try {
            Reason reason = valueOf(name);
            return reason.compareTo(OTHER) < 0 ? reason : OTHER;
        } catch (IllegalArgumentException e) {
            return OTHER;
        }
    }
}
