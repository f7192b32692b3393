"""The methods of the API over HTTP, with their rules (proto/snowraft/v1/rule.proto)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from . import _reasons as reasons
from .errors import SnowraftError


class Repeat(Enum):
    """When a request may be sent again."""

    HARMLESS = 1  # after any error that another try may avoid
    UNDONE = 2  # only if nothing was done
    NEVER = 3  # the caller decides whether to send another request


MEMORY_TIMEOUT = 0.5  # members answer from memory
LEADER_TIMEOUT = 4.0  # members wait up to 2 s for a leader
PER_ID = 0.000_25  # in layouts with few IDs per tick
QUICK_COUNT = 4096  # IDs that a member issues in half of a call's time


@dataclass(frozen=True)
class Method:
    """A method and its rule."""

    verb: str
    path: str
    repeat: Repeat = Repeat.HARMLESS
    leader: bool = False  # the leader serves it; other members forward it
    try_timeout: float = MEMORY_TIMEOUT  # seconds until another member is tried; 0: until the deadline
    receipt: bool = False  # the answer has a receipt if the request brings one, which may be empty

    @property
    def harmless(self) -> bool:
        """Whether a repetition does no harm."""
        return self.repeat is Repeat.HARMLESS

    def again(self, error: SnowraftError, sent: bool) -> bool:
        """Reports whether to try again after an error. sent is false if the request cannot have reached a member."""
        if self.repeat is Repeat.NEVER:
            return False
        if error.reason in reasons.REPEAT_YES:
            return True
        if error.reason in reasons.REPEAT_BY_METHOD:
            return self.harmless or not sent and error.reason in reasons.UNSENT
        return False


def _leader(
    verb: str,
    path: str,
    repeat: Repeat = Repeat.HARMLESS,
    try_timeout: float = LEADER_TIMEOUT,
    receipt: bool = False,
) -> Method:
    return Method(verb, path, repeat, True, try_timeout, receipt)


GENERATE_IDS = Method("POST", "/v1/ids:generate")
GENERATE_UUIDS = Method("POST", "/v1/uuids:generate")
GET_LAYOUT = Method("GET", "/v1/layouts/")
LIST_LAYOUTS = Method("GET", "/v1/layouts")
CREATE_LAYOUT = _leader("POST", "/v1/layouts", try_timeout=0)  # waits for other members
ACQUIRE_WORKER = _leader("POST", "/v1/workers:acquire", Repeat.NEVER, receipt=True)
EXTEND_WINDOW = _leader("POST", "/v1/workers:extend", Repeat.NEVER, receipt=True)
RELEASE_WORKER = _leader("POST", "/v1/workers:release", Repeat.UNDONE, try_timeout=0)
NEXT_NUMBERS = Method("POST", "/v1/sequences:next", try_timeout=LEADER_TIMEOUT)
GET_LAST = Method("GET", "/v1/sequences:last", try_timeout=LEADER_TIMEOUT)
DECODE_TEXT = _leader("POST", "/v1/sequences:decode")
GET_SEQUENCE = Method("GET", "/v1/sequences/")
LIST_SEQUENCES = Method("GET", "/v1/sequences", try_timeout=LEADER_TIMEOUT)
CREATE_SEQUENCE = _leader("POST", "/v1/sequences", try_timeout=0)
FORCE_SEQUENCE = _leader("POST", "/v1/sequences", Repeat.UNDONE, try_timeout=0)  # with force
UPDATE_SEQUENCE = _leader("PATCH", "/v1/sequences/", Repeat.UNDONE, try_timeout=0)
DELETE_SEQUENCE = _leader("DELETE", "/v1/sequences/", Repeat.UNDONE, try_timeout=0)
SET_NEXT = _leader("POST", "/v1/sequences:setNext", Repeat.UNDONE, try_timeout=0)
RESERVE_NUMBERS = _leader("POST", "/v1/reservations:reserve")
CONFIRM_NUMBERS = _leader("POST", "/v1/reservations:confirm")
VOID_NUMBERS = _leader("POST", "/v1/reservations:void")
LIST_RESERVATIONS = _leader("GET", "/v1/reservations")
ALLOCATE_BLOCK = _leader("POST", "/v1/blocks:allocate", receipt=True)
RETURN_BLOCK = _leader("POST", "/v1/blocks:return", Repeat.UNDONE, try_timeout=0)
LIST_MEMBERS = Method("GET", "/v1/members", receipt=True)
GET_STATUS = Method("GET", "/v1/status", receipt=True)
GET_CA = Method("GET", "/v1/ca")
