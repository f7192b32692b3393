"""Reservations of gapless sequences, for both kinds of clients."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from . import _answers as answers
from . import _methods as methods
from . import _pages as pages
from ._core import Core, Flow
from .errors import SnowraftError, invalid, malformed

MAX_AGE_MS = (1 << 63) - 1
ATTEMPT = (1, (1 << 32) - 1)


@dataclass(frozen=True)
class Claim:
    """An attempt of a reservation. A later attempt replaces it: what its holder says then changes nothing."""

    key: str
    reservation: int
    """Identifies the reservation among all of the key."""
    attempt: int


@dataclass(frozen=True)
class Reservation:
    """The number that a gapless sequence reserved for a key."""

    claim: Claim
    number: int
    text: str
    """The number in the format of the sequence; in decimal without one."""
    period: str
    """First day of the number's period; empty without a reset."""
    confirmed: bool
    """Whether the number is in use already. Otherwise, it is open."""
    reserved_at_ms: int
    """Time of the first attempt, in Unix milliseconds."""
    holder: str
    """Caller of the last attempt, such as "token 17 (billing)"."""

    @property
    def key(self) -> str:
        """The key."""
        return self.claim.key


@dataclass(frozen=True)
class Resolution:
    """An application's answer to the question what became of a reserved number.

    ``used``: a document with the number is committed. ``void``: there is none, and never will be. ``leave``: not known.
    """

    fate: Literal["used", "void", "leave"]
    reason: str = ""
    """Reason of a void number, 1 to 256 bytes."""
    never_committed: bool = False
    """Makes a void number reusable: no transaction can commit it anymore, because its void row is committed."""


@dataclass
class Reconciled:
    """The number of reservations of a ``reconcile`` by what became of them."""

    confirmed: int = 0
    void: int = 0
    left: int = 0
    overtaken: int = 0
    """Reserved again or settled by another caller meanwhile."""

    def count(self, outcome: str) -> None:
        """Counts a reservation by the outcome of ``settle``, the name of a field."""
        setattr(self, outcome, getattr(self, outcome) + 1)


_OVERTAKEN = frozenset({"STALE_ATTEMPT", "ALREADY_SETTLED", "UNKNOWN_RESERVATION"})


def reserve(
    core: Core, sequence: str, keys: Sequence[str], period: str, timeout: float | None
) -> Flow[list[Reservation]]:
    """Reserves a number for each key."""
    body = {"sequence": sequence, "keys": list(keys)} | ({"period": period} if period else {})
    answer = yield from core.call(methods.RESERVE_NUMBERS, body=body, timeout=timeout)
    found = [_reservation(item) for item in answers.items(answer, "reservations")]
    if [r.key for r in found] != list(keys):
        raise malformed(f"{len(found)} reservations for {len(keys)} keys, or of other keys")
    return found


def confirm(core: Core, sequence: str, claims: Sequence[Claim], timeout: float | None) -> Flow[None]:
    """Records that numbers are in use."""
    body = {"sequence": sequence, "claims": [_claim(c) for c in claims]}
    yield from core.call(methods.CONFIRM_NUMBERS, body=body, timeout=timeout)


def void(
    core: Core, sequence: str, claims: Sequence[Claim], reason: str, never_committed: bool, timeout: float | None
) -> Flow[None]:
    """Records that numbers are void."""
    body = {
        "sequence": sequence,
        "claims": [_claim(c) for c in claims],
        "reason": reason,
        "neverCommitted": never_committed,
    }
    yield from core.call(methods.VOID_NUMBERS, body=body, timeout=timeout)


def open_reservations(core: Core, sequence: str, min_age: float, timeout: float | None) -> Flow[list[Reservation]]:
    """Requests all open reservations of an age."""
    age = min_age * 1000
    if not 0 <= age <= MAX_AGE_MS:
        raise invalid(f"min_age {min_age!r}: expected seconds, at least 0")
    query = {"sequence": sequence, "minAgeMs": str(int(age))}
    found = yield from pages.items(core, methods.LIST_RESERVATIONS, "reservations", query, timeout)
    return [_reservation(item) for item in found]


def settle(core: Core, sequence: str, claim: Claim, resolution: Resolution, timeout: float | None) -> Flow[str]:
    """Does what a resolution says, and returns the field of Reconciled that counts it."""
    try:
        if resolution.fate == "used":
            yield from confirm(core, sequence, [claim], timeout)
            return "confirmed"
        if resolution.fate == "void":
            yield from void(core, sequence, [claim], resolution.reason, resolution.never_committed, timeout)
            return "void"
    except SnowraftError as e:
        if e.reason not in _OVERTAKEN:
            raise
        return "overtaken"
    if resolution.fate != "leave":
        raise invalid(f"fate {resolution.fate!r} of a resolution: expected used, void or leave")
    return "left"


def _claim(claim: Claim) -> dict[str, Any]:
    return {"key": claim.key, "reservation": str(claim.reservation), "attempt": claim.attempt}


def _reservation(item: Any) -> Reservation:
    fate = answers.text(item, "fate")
    if fate not in ("open", "confirmed"):
        raise malformed(f"the fate {fate[:64]!r} of a reservation")
    return Reservation(
        claim=Claim(
            key=answers.text(item, "key"),
            reservation=answers.integer(item, "reservation", 1, answers.COUNT[1]),
            attempt=answers.integer(item, "attempt", *ATTEMPT),
        ),
        number=answers.integer(item, "number", *answers.INT64),
        text=answers.text(item, "text"),
        period=answers.period(item),
        confirmed=fate == "confirmed",
        reserved_at_ms=answers.integer(item, "reservedAtMs", *answers.INT64),
        holder=answers.text(item, "holder"),
    )
