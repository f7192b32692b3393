"""Requests as JSON, and answers of members from JSON. Answers are hostile until they are checked."""

from __future__ import annotations

import re
import uuid
from dataclasses import dataclass
from typing import Any

from .errors import malformed
from .numbers import Numbers

INT64 = (-(1 << 63), (1 << 63) - 1)
COUNT = (0, (1 << 64) - 1)
_DECIMAL = re.compile(r"-?[0-9]{1,20}")
_PERIOD = re.compile(r"(?:[0-9]{4}-[0-9]{2}-[0-9]{2})?")


def integer(answer: Any, name: str, low: int, high: int) -> int:
    """Returns an integer field of an answer; 0 if the field is absent. Integers of 64 bits are strings."""
    value = answer.get(name, 0) if isinstance(answer, dict) else None
    if isinstance(value, str) and _DECIMAL.fullmatch(value):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise malformed(f"the {name} {str(value)[:64]!r}")
    return value


def text(answer: Any, name: str) -> str:
    """Returns a text field of an answer; empty if the field is absent."""
    value = answer.get(name, "") if isinstance(answer, dict) else None
    if not isinstance(value, str):
        raise malformed(f"the {name} {str(value)[:64]!r}")
    return value


def items(answer: Any, name: str) -> list[Any]:
    """Returns a list of an answer; empty if the field is absent."""
    value = answer.get(name, []) if isinstance(answer, dict) else None
    if not isinstance(value, list):
        raise malformed(f"the {name}, which is no list")
    return value


def part(answer: Any, name: str) -> dict[str, Any]:
    """Returns a message within an answer."""
    value = answer.get(name) if isinstance(answer, dict) else None
    if not isinstance(value, dict):
        raise malformed(f"no {name}")
    return value


@dataclass(frozen=True)
class IDs:
    """IDs of one answer, as ranges (first, count, step)."""

    ranges: tuple[tuple[int, int, int], ...]

    def part(self, start: int, count: int) -> list[int]:
        """Returns count of the IDs, from an index on."""
        found: list[int] = []
        for first, size, step in self.ranges:
            if start >= size:
                start -= size
                continue
            take = min(size - start, count - len(found))
            found += range(first + start * step, first + (start + take) * step, step)
            start = 0
            if len(found) == count:
                break
        return found

    @property
    def last(self) -> int:
        """The greatest ID."""
        return max(first + (count - 1) * step for first, count, step in self.ranges)


def ids(answer: Any, count: int, after: int) -> IDs:
    """Returns the IDs of an answer, which must be count different IDs above after."""
    ranges: list[tuple[int, int, int]] = []
    for r in items(answer, "ranges"):
        first = integer(r, "first", 1, INT64[1])
        size, step = integer(r, "count", 1, (1 << 32) - 1), integer(r, "step", 1, INT64[1])
        if first <= after:
            raise malformed(f"ID {first}, expected one greater than {after}")
        if step != (ranges[0][2] if ranges else step) or first + (size - 1) * step > INT64[1]:
            raise malformed(f"{size} IDs from {first} on with a step of {step}")
        ranges.append((first, size, step))
    if sum(size for _, size, _ in ranges) != count:
        raise malformed(f"{sum(size for _, size, _ in ranges)} IDs instead of the {count} requested")
    by_rest = sorted(ranges, key=lambda r: (r[0] % r[2], r[0]))
    for a, b in zip(by_rest, by_rest[1:]):
        if a[0] % a[2] == b[0] % b[2] and b[0] <= a[0] + (a[1] - 1) * a[2]:
            raise malformed(f"ID {b[0]} twice")
    return IDs(tuple(ranges))


def uuids(answer: Any, count: int) -> list[uuid.UUID]:
    """Returns the UUIDs of an answer."""
    found = []
    for value in items(answer, "uuids"):
        try:
            found.append(uuid.UUID(value))
        except (ValueError, AttributeError, TypeError):
            raise malformed(f"the UUID {str(value)[:64]!r}") from None
    if len(found) != count or len(set(found)) != count:
        raise malformed(f"{len(set(found))} UUIDs instead of the {count} requested")
    return found


def period(answer: Any) -> str:
    """Returns the period of an answer; empty without a reset."""
    value = text(answer, "period")
    if not _PERIOD.fullmatch(value):
        raise malformed(f"the period {value[:64]!r}")
    return value


def numbers(answer: Any, count: int) -> Numbers:
    """Returns the numbers of an answer to a request for count numbers."""
    first, increment = integer(answer, "first", *INT64), integer(answer, "increment", *INT64)
    size, texts = integer(answer, "count", 0, (1 << 32) - 1), items(answer, "texts")
    last = first + (count - 1) * increment
    if size != count or increment == 0 or not INT64[0] <= last <= INT64[1] or len(texts) not in (0, count):
        raise malformed(
            f"{size} numbers from {first} by {increment} and {len(texts)} texts instead of the {count} numbers requested"
        )
    if not all(isinstance(t, str) for t in texts):
        raise malformed("a text that is none")
    return Numbers(first, count, increment, period(answer), tuple(texts), text(answer, "mode"))


@dataclass(frozen=True)
class Grant:
    """A window [from_tick, until_tick) on a worker."""

    worker: int
    token: int
    from_tick: int
    until_tick: int
    observed_ms: int
    max_window_ms: int


def grant(answer: Any) -> Grant:
    """Returns the grant of an answer."""
    g = part(answer, "grant")
    return Grant(
        integer(g, "worker", *COUNT),
        integer(g, "token", *COUNT),
        integer(g, "fromTick", *INT64),
        integer(g, "untilTick", *INT64),
        integer(g, "observedClockAtMs", *INT64),
        integer(g, "maxWindowMs", 0, INT64[1]),
    )


@dataclass(frozen=True)
class Block:
    """A granted run of numbers of a relaxed sequence."""

    token: int
    first: int
    count: int
    increment: int
    generation: int
    period: str
    period_ends_ms: int
    duration_ms: int
    least: int
    most: int

    @property
    def epoch(self) -> tuple[int, str]:
        """The numbering that the block belongs to: its generation and its period. Later ones are greater."""
        return self.generation, self.period

    def number(self, index: int) -> int:
        """Returns the number at an index."""
        return self.first + index * self.increment


MOST_NUMBERS = 1 << 62


def block(answer: Any) -> Block:
    """Returns the block of an answer. All of its numbers fit into 64 bits."""
    b = part(answer, "block")
    found = Block(
        integer(b, "token", 1, COUNT[1]),
        integer(b, "first", *INT64),
        integer(b, "count", 1, MOST_NUMBERS),
        integer(b, "increment", *INT64),
        integer(b, "generation", *COUNT),
        period(b),
        integer(b, "periodEndsAtMs", 0, INT64[1]),
        integer(b, "blockDurationMs", 0, INT64[1]),
        integer(b, "minBlock", *COUNT),
        integer(b, "maxBlock", *COUNT),
    )
    if found.increment == 0 or not INT64[0] <= found.number(found.count - 1) <= INT64[1]:
        raise malformed(f"{found.count} numbers from {found.first} by {found.increment}")
    return found
