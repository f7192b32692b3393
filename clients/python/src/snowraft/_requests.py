"""The flows of all calls, for both kinds of clients: a request, its flow, and the checked answer."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from . import _answers as answers
from . import _methods as methods
from . import _pages as pages
from ._answers import Block, IDs
from ._core import Answer, Core, Flow
from ._standing import parse_address
from .errors import SnowraftError, check_count, invalid, malformed
from .layout import Layout
from .numbers import Numbers

MAX_REQUEST_ID = 64
MAX_UUIDS = 100_000


@dataclass(frozen=True)
class SequenceInfo:
    """A sequence of the cluster: its settings, with defaults filled in, and its state."""

    name: str
    mode: str
    start: int
    increment: int
    min: int
    max: int
    reset: str
    year_starts: str
    """Day on which years and their quarters start, such as ``04-01``; empty means January 1."""
    time_zone: str
    format: str
    description: str
    generation: int
    """Increases with each change of the sequence."""
    period: str
    """First day of the current period; empty without a reset."""
    last: int | None
    """Last number that was issued in this period. Only known of a strict sequence."""
    next: int | None
    """Next number of this period; None if none is left."""
    remaining: int
    open_reservations: int = 0
    """Open reservations of a gapless sequence, in all periods."""
    unknown_numbers: int = 0
    """Numbers of a gapless sequence that a restore left unknown."""
    unreached_members: tuple[str, ...] = ()
    """Members that did not acknowledge a change in time. Until then, they may issue by the earlier settings."""


GrantState: TypeAlias = Literal["granted", "not-granted", "unknown"]
_STATES: dict[str, GrantState] = {"granted": "granted", "not-granted": "not-granted", "unknown": "unknown"}


@dataclass(frozen=True)
class DecodedText:
    """The content of a text of a sequence."""

    number: int
    period: str
    """First day of the number's period; empty without a reset, and if the dates in the text do not name a period."""
    format: str
    """The format that writes the text; empty for the decimals of a sequence without a format."""
    state: GrantState
    """Whether the cluster granted the number, so that it may have been issued.

    Each code of the right form has a number, also if the number was never issued.
    """
    deleted: bool
    """The sequence was deleted."""


def ids(core: Core, layout: str, count: int, after: int, timeout: float | None) -> Flow[IDs]:
    """Requests count IDs above after."""
    body: dict[str, Any] = {"layout": layout, "count": count, "packed": False}
    if after:
        body["after"] = str(after)
    answer = yield from core.call(methods.GENERATE_IDS, body=body, timeout=timeout, count=count)
    return answers.ids(answer, count, after)


def uuids(core: Core, layout: str, count: int, timeout: float | None) -> Flow[list[uuid.UUID]]:
    """Requests count UUIDs."""
    check_count(count, "UUIDs", MAX_UUIDS)
    body = {"layout": layout, "count": count}
    answer = yield from core.call(methods.GENERATE_UUIDS, body=body, timeout=timeout, count=count)
    return answers.uuids(answer, count)


def numbers(
    core: Core,
    sequence: str,
    count: int,
    request_id: str | None,
    period: str | None,
    from_: int | None,
    strict: bool,
    timeout: float | None,
) -> Flow[Numbers]:
    """Requests the next count numbers of a sequence, those of a strict one from the leader."""
    body: dict[str, Any] = {"sequence": sequence, "count": count}
    if request_id is not None:
        size = len(request_id.encode("utf-8", "surrogatepass"))
        if not 1 <= size <= MAX_REQUEST_ID:
            raise invalid(f"request ID of {size} bytes: expected 1 to {MAX_REQUEST_ID} bytes")
        body["requestId"] = request_id
    if period == "" or (from_ is not None and period is None):
        raise invalid("period: missing name, such as 2026-10")
    if period is not None:
        body["period"] = period
    if from_ is not None:
        body["from"] = str(from_)
    answer = yield from core.call(methods.NEXT_NUMBERS, body=body, timeout=timeout, leader=strict)
    return answers.numbers(answer, count)


def last(core: Core, sequence: str, timeout: float | None) -> Flow[int | None]:
    """Requests the last number of a sequence."""
    answer = yield from core.call(methods.GET_LAST, query={"sequence": sequence}, timeout=timeout)
    return answers.integer(answer, "last", *answers.INT64) if "last" in answer else None


def decode(core: Core, sequence: str, text: str, timeout: float | None) -> Flow[DecodedText]:
    """Requests the number of a text."""
    answer = yield from core.call(methods.DECODE_TEXT, body={"sequence": sequence, "text": text}, timeout=timeout)
    number = answers.integer(answer, "number", *answers.INT64)
    word = answers.text(answer, "state")
    state = _STATES.get(word)
    if state is None:
        raise malformed(f"the state {word[:64]!r} of a number")
    period, format_ = answers.text(answer, "period"), answers.text(answer, "format")
    return DecodedText(number, period, format_, state, answer.get("deleted") is True)


def set_next(core: Core, sequence: str, number: int, force: bool, timeout: float | None) -> Flow[SequenceInfo]:
    """Sets the next number of a sequence."""
    body = {"sequence": sequence, "next": str(number), "force": force}
    return _info((yield from core.call(methods.SET_NEXT, body=body, timeout=timeout)))


def create_sequence(
    core: Core, name: str, settings: Mapping[str, Any], force: bool, timeout: float | None
) -> Flow[SequenceInfo]:
    """Creates a sequence, or returns an equal one that exists."""
    method = methods.FORCE_SEQUENCE if force else methods.CREATE_SEQUENCE
    query = {"force": "true"} if force else None
    body = {"name": name} | _settings(settings)
    return _info((yield from core.call(method, query=query, body=body, timeout=timeout)))


def update_sequence(
    core: Core, name: str, settings: Mapping[str, Any], force: bool, generation: int | None, timeout: float | None
) -> Flow[SequenceInfo]:
    """Changes settings of a sequence; None resets one to its default."""
    query = ({"force": "true"} if force else {}) | _expected(generation)
    body = _settings(settings, keep_none=True)
    call = core.call(methods.UPDATE_SEQUENCE, name=name, query=query, body=body, timeout=timeout)
    return _info((yield from call))


def get_sequence(core: Core, name: str, timeout: float | None) -> Flow[SequenceInfo]:
    """Requests a sequence."""
    return _info((yield from core.call(methods.GET_SEQUENCE, name=name, timeout=timeout)))


def delete_sequence(core: Core, name: str, generation: int | None, timeout: float | None) -> Flow[None]:
    """Deletes a sequence."""
    yield from core.call(methods.DELETE_SEQUENCE, name=name, query=_expected(generation), timeout=timeout)


def list_sequences(core: Core, prefix: str, timeout: float | None) -> Flow[list[SequenceInfo]]:
    """Requests all sequences whose names begin with prefix."""
    found = yield from pages.items(core, methods.LIST_SEQUENCES, "sequences", {"prefix": prefix}, timeout)
    return [_info({"sequence": s}) for s in found]


_WIRE_NAMES = {
    "start": "start",
    "increment": "increment",
    "min": "min",
    "max": "max",
    "mode": "mode",
    "reset": "reset",
    "year_starts": "yearStarts",
    "late_ms": "lateMs",
    "time_zone": "timeZone",
    "format": "format",
    "description": "description",
    "block_duration_ms": "blockDurationMs",
    "min_block": "minBlock",
    "max_block": "maxBlock",
    "reuse": "reuse",
}


def _settings(settings: Mapping[str, Any], keep_none: bool = False) -> dict[str, Any]:
    unknown = set(settings) - set(_WIRE_NAMES)
    if unknown:
        raise TypeError(f"unknown setting {min(unknown)!r} of a sequence; expected one of {', '.join(_WIRE_NAMES)}")
    numeric = {name: str(v) if isinstance(v, int) and not isinstance(v, bool) else v for name, v in settings.items()}
    return {_WIRE_NAMES[name]: v for name, v in numeric.items() if keep_none or v is not None}


def _expected(generation: int | None) -> dict[str, str]:
    return {} if generation is None else {"expectedGeneration": str(generation)}


def _info(answer: Answer) -> SequenceInfo:
    s = answers.part(answer, "sequence")

    def optional(name: str) -> int | None:
        return answers.integer(s, name, *answers.INT64) if s.get(name) is not None else None

    return SequenceInfo(
        name=answers.text(s, "name"),
        mode=answers.text(s, "mode"),
        start=answers.integer(s, "start", *answers.INT64),
        increment=answers.integer(s, "increment", *answers.INT64),
        min=answers.integer(s, "min", *answers.INT64),
        max=answers.integer(s, "max", *answers.INT64),
        reset=answers.text(s, "reset"),
        year_starts=answers.text(s, "yearStarts"),
        time_zone=answers.text(s, "timeZone"),
        format=answers.text(s, "format"),
        description=answers.text(s, "description"),
        generation=answers.integer(s, "generation", *answers.COUNT),
        period=answers.period(s),
        last=optional("last"),
        next=optional("next"),
        remaining=answers.integer(s, "remaining", *answers.COUNT),
        open_reservations=answers.integer(s, "openReservations", *answers.COUNT),
        unknown_numbers=answers.integer(s, "unknownNumbers", *answers.COUNT),
        unreached_members=tuple(str(m) for m in answers.items(answer, "unreachedMembers")),
    )


def get_layout(
    core: Core, name: str, timeout: float | None, failed: Callable[[SnowraftError], None] = lambda _: None
) -> Flow[Layout]:
    """Requests a layout of the cluster. failed gets the error of each try."""
    return layout_of((yield from core.call(methods.GET_LAYOUT, name=name, timeout=timeout, failed=failed)))


def list_layouts(core: Core, timeout: float | None) -> Flow[list[Layout]]:
    """Requests all layouts of the cluster."""
    found = yield from pages.items(core, methods.LIST_LAYOUTS, "layouts", {}, timeout)
    return [layout_of({"layout": item}) for item in found]


def create_layout(core: Core, layout: Layout, timeout: float | None) -> Flow[Layout]:
    """Creates a layout, or returns an equal one that exists."""
    body = {
        "name": layout.name,
        "fields": [{"kind": kind, "bits": bits} for kind, bits in layout.fields],
        "unitMs": str(layout.unit_ms),
        "epochAtMs": str(layout.epoch_ms),
        "datacenter": str(layout.datacenter),
        "spread": str(layout.spread),
        "leaseOnly": layout.lease_only,
    }
    return layout_of((yield from core.call(methods.CREATE_LAYOUT, body=body, timeout=timeout)))


def layout_of(answer: Answer) -> Layout:
    """Returns the layout of an answer."""
    m = answers.part(answer, "layout")
    fields = [(answers.text(f, "kind"), answers.integer(f, "bits", 0, 64)) for f in answers.items(m, "fields")]
    try:
        return Layout(
            fields,
            name=answers.text(m, "name"),
            unit_ms=answers.integer(m, "unitMs", *answers.INT64),
            epoch_ms=answers.integer(m, "epochAtMs", *answers.INT64),
            datacenter=answers.integer(m, "datacenter", *answers.COUNT),
            spread=answers.integer(m, "spread", *answers.COUNT),
            lease_only=bool(m.get("leaseOnly", False)),
        )
    except ValueError as e:
        raise malformed(f"a layout that cannot be: {e}") from None


def look(core: Core, timeout: float) -> Flow[bool]:
    """Learns the HTTP addresses of the members, and which one leads. Returns whether they changed or are unknown."""
    learned, leader = [], ""
    try:
        answer = yield from core.call(methods.LIST_MEMBERS, timeout=timeout)
        for member in answers.items(answer, "members"):
            if address := answers.text(member, "httpAddress"):
                parse_address(address)
                learned.append(address)
                leader = address if member.get("leader") is True else leader
    except (SnowraftError, ValueError):
        return True
    return core.standing.learn(learned, leader) or not learned


def allocate(core: Core, sequence: str, count: int, key: str, timeout: float) -> Flow[Block]:
    """Requests a block of a relaxed sequence. The block of a lost reply is lost."""
    body = {"sequence": sequence, "count": str(count), "returnKey": key}
    return answers.block((yield from core.call(methods.ALLOCATE_BLOCK, body=body, timeout=timeout)))


def return_block(core: Core, sequence: str, token: int, unused: int, key: str, timeout: float) -> Flow[None]:
    """Returns the unused end of the last block."""
    body = {"sequence": sequence, "token": str(token), "unused": str(unused), "returnKey": key}
    yield from core.call(methods.RETURN_BLOCK, body=body, timeout=timeout)


def state(core: Core, sequence: str, timeout: float) -> Flow[tuple[int, str]]:
    """Requests the generation and the period of a sequence, from the replica of a member."""
    answer = yield from core.call(methods.GET_SEQUENCE, name=sequence, query={"local": "true"}, timeout=timeout)
    s = answers.part(answer, "sequence")
    return answers.integer(s, "generation", *answers.COUNT), answers.period(s)
