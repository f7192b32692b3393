package io.snowraft.internal.call;

import java.time.Duration;

/** The methods of members that this client calls, with their rules in {@code proto/snowraft/v1}. */
public enum Method {
    GENERATE_IDS("GenerateIds", "POST", Where.ANY, Repeat.HARMLESS),
    GENERATE_UUIDS("GenerateUuids", "POST", Where.ANY, Repeat.HARMLESS),
    ACQUIRE_WORKER("AcquireWorker", "POST", Where.LEADER, Repeat.NEVER),
    EXTEND_WINDOW("ExtendWindow", "POST", Where.LEADER, Repeat.NEVER),
    RELEASE_WORKER("ReleaseWorker", "POST", Where.LEADER, Repeat.UNDONE),
    CREATE_SEQUENCE("CreateSequence", "POST", Where.LEADER, Repeat.HARMLESS),
    GET_SEQUENCE("GetSequence", "GET", Where.ANY, Repeat.HARMLESS),
    LIST_SEQUENCES("ListSequences", "GET", Where.ANY, Repeat.HARMLESS),
    UPDATE_SEQUENCE("UpdateSequence", "PATCH", Where.LEADER, Repeat.UNDONE),
    DELETE_SEQUENCE("DeleteSequence", "DELETE", Where.LEADER, Repeat.UNDONE),
    SET_NEXT("SetNext", "POST", Where.LEADER, Repeat.UNDONE),
    NEXT_NUMBERS("NextNumbers", "POST", Where.BY_MODE, Repeat.HARMLESS),
    GET_LAST("GetLast", "GET", Where.BY_MODE, Repeat.HARMLESS),
    DECODE_TEXT("DecodeText", "POST", Where.LEADER, Repeat.HARMLESS),
    RESERVE_NUMBERS("ReserveNumbers", "POST", Where.LEADER, Repeat.HARMLESS),
    CONFIRM_NUMBERS("ConfirmNumbers", "POST", Where.LEADER, Repeat.HARMLESS),
    VOID_NUMBERS("VoidNumbers", "POST", Where.LEADER, Repeat.HARMLESS),
    LIST_RESERVATIONS("ListReservations", "GET", Where.LEADER, Repeat.HARMLESS),
    ALLOCATE_BLOCK("AllocateBlock", "POST", Where.LEADER, Repeat.HARMLESS),
    RETURN_BLOCK("ReturnBlock", "POST", Where.LEADER, Repeat.UNDONE),
    CREATE_LAYOUT("CreateLayout", "POST", Where.LEADER, Repeat.HARMLESS),
    GET_LAYOUT("GetLayout", "GET", Where.ANY, Repeat.HARMLESS),
    LIST_LAYOUTS("ListLayouts", "GET", Where.ANY, Repeat.HARMLESS),
    LIST_MEMBERS("ListMembers", "GET", Where.ANY, Repeat.HARMLESS),
    GET_STATUS("GetStatus", "GET", Where.ANY, Repeat.HARMLESS);

    /** The member that serves the calls. */
    enum Where { ANY, LEADER, BY_MODE }

    /** When a request may be sent again. */
    enum Repeat { HARMLESS, UNDONE, NEVER }

    private static final Duration MEMORY_TIMEOUT = Duration.ofMillis(500); // members answer from memory
    private static final Duration LEADER_TIMEOUT = Duration.ofSeconds(4); // members wait up to 2 s for a leader
    private static final Duration MEMORY_SUSPICIOUS = Duration.ofMillis(100);

    private final String text;
    private final String verb;
    private final Where where;
    private final Repeat repeat;

    Method(String text, String verb, Where where, Repeat repeat) {
        this.text = text;
        this.verb = verb;
        this.where = where;
        this.repeat = repeat;
    }

    String text() {
        return text;
    }

    String verb() {
        return verb;
    }

    Repeat repeat() {
        return repeat;
    }

    /** Reports whether a call is fastest at the leader. */
    boolean prefersLeader() {
        return where != Where.ANY;
    }

    /** Reports whether answers have receipts. */
    boolean hasReceipt() {
        return switch (this) {
            case ACQUIRE_WORKER, EXTEND_WINDOW, ALLOCATE_BLOCK, GET_STATUS, LIST_MEMBERS -> true;
            default -> false;
        };
    }

    /** Returns the time until another member is tried; null for the deadline of the call. */
    Duration tryTimeout() {
        if (this == CREATE_SEQUENCE || this == CREATE_LAYOUT || repeat == Repeat.UNDONE) {
            return null;
        }
        return repeat == Repeat.HARMLESS && where == Where.ANY ? MEMORY_TIMEOUT : LEADER_TIMEOUT;
    }

    /** Returns the time without an answer after which a member is suspected. */
    Duration suspicious() {
        return repeat == Repeat.HARMLESS && where == Where.ANY ? MEMORY_SUSPICIOUS : LEADER_TIMEOUT;
    }
}
