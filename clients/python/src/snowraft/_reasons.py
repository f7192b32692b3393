"""The reasons of errors, and whether a request may be repeated after each of them (docs/errors.md)."""

from __future__ import annotations

# Own reasons of this client.
CLOSED = "CLOSED"
TIMEOUT = "TIMEOUT"
UNAVAILABLE = "UNAVAILABLE"
PIN_MISMATCH = "PIN_MISMATCH"

# Reasons of members that this client treats specially.
INVALID_ARGUMENT = "INVALID_ARGUMENT"
INTERNAL = "INTERNAL"
COMMIT_UNKNOWN = "COMMIT_UNKNOWN"
WINDOW_ENDED = "WINDOW_ENDED"
NO_LEADER = "NO_LEADER"
WINDOW_MISMATCH = "WINDOW_MISMATCH"
CLOCK_BEHIND = "CLOCK_BEHIND"
CLOCK_SKEW = "CLOCK_SKEW"
WORKERS_EXHAUSTED = "WORKERS_EXHAUSTED"
FENCED = "FENCED"
TIME_EXHAUSTED = "TIME_EXHAUSTED"
OLD_CLUSTER_ALIVE = "OLD_CLUSTER_ALIVE"
CONTRADICTED = "CONTRADICTED"
SET_BACK = "SET_BACK"
UNKNOWN_LAYOUT = "UNKNOWN_LAYOUT"
UNKNOWN_SEQUENCE = "UNKNOWN_SEQUENCE"
UNAUTHENTICATED = "UNAUTHENTICATED"
PERMISSION_DENIED = "PERMISSION_DENIED"
SEQUENCE_CHANGED = "SEQUENCE_CHANGED"
SEQUENCE_EXHAUSTED = "SEQUENCE_EXHAUSTED"
NOT_LAST_BLOCK = "NOT_LAST_BLOCK"

# The same request may succeed soon, or at another member, and had no effect.
REPEAT_YES = frozenset(
    {
        NO_LEADER,
        "NOT_LEADER",
        "SHUTTING_DOWN",
        "OVERLOADED",
        WINDOW_ENDED,
        CLOCK_BEHIND,
        CLOCK_SKEW,
        WORKERS_EXHAUSTED,
        FENCED,
        OLD_CLUSTER_ALIVE,
        CONTRADICTED,
        "NAMES_INCOMPLETE",
    }
)

# It may succeed later. Callers decide; the client does not repeat it.
REPEAT_LATER = frozenset({"RATE_LIMITED", "RESERVATIONS_OPEN", "MEMBER_UNREACHABLE", "MEMBER_NOT_ALIVE"})

# It may be repeated if the rule of its method says that a repetition does no harm.
REPEAT_BY_METHOD = frozenset({COMMIT_UNKNOWN, SEQUENCE_CHANGED, TIMEOUT, UNAVAILABLE})

# A request without an answer, which perhaps was not sent.
UNSENT = frozenset({TIMEOUT, UNAVAILABLE})

# The request may have had an effect. After all other reasons of members, it had none.
MAYBE_DONE = frozenset({COMMIT_UNKNOWN, INTERNAL})

# The cluster refuses this client's token.
DENIED = frozenset({UNAUTHENTICATED, PERMISSION_DENIED})

# Waiting does not resolve these.
LASTING = DENIED | {CLOSED, UNKNOWN_LAYOUT, TIME_EXHAUSTED, INVALID_ARGUMENT, PIN_MISMATCH}
