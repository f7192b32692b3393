"""Layouts: how the bits of an ID are split. Works offline."""

from __future__ import annotations

import re
import uuid as uuids
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

from . import _uuid7

KINDS = ("time", "datacenter", "worker", "sequence")
_FIELD = re.compile(r"([a-z]+):([1-9][0-9]?)", re.ASCII)
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_MASK64 = (1 << 64) - 1
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


@dataclass(frozen=True)
class Parts:
    """The fields of an ID, all at least 0. A field that the layout does not have is 0."""

    tick: int
    """Ticks since the epoch of the layout."""
    datacenter: int = 0
    worker: int = 0
    sequence: int = 0
    at_ms: int = 0
    """Start of the tick, in Unix milliseconds. Ignored by ``encode``."""

    @property
    def time(self) -> datetime:
        """The start of the tick, in UTC. Raises OverflowError outside of the years 1 to 9999."""
        return _EPOCH + timedelta(milliseconds=self.at_ms)


def parse_fields(text: str) -> tuple[tuple[str, int], ...]:
    """Returns the fields of a text such as ``time:41,worker:10,sequence:12``, from the highest bits to the lowest.

    Raises ValueError unless each field appears at most once, time is present, each has 1 to 63 bits, and all together
    have at most 64.
    """
    fields = []
    for part in text.split(","):
        match = _FIELD.fullmatch(part)
        if not match:
            raise ValueError(f"{part[:64]!r}: expected a field and its width, such as 'worker:10'")
        fields.append((match[1], int(match[2])))
    return _check_fields(fields)


def _check_fields(fields: Sequence[tuple[str, int]]) -> tuple[tuple[str, int], ...]:
    for kind, bits in fields:
        if kind not in KINDS:
            raise ValueError(f"unknown field {kind[:64]!r}: expected time, datacenter, worker or sequence")
        if not 1 <= bits <= 63:
            raise ValueError(f"field {kind} has {bits} bits: expected 1 to 63")
    names = [kind for kind, _ in fields]
    if len(set(names)) != len(names):
        raise ValueError(f"a field appears more than once in {names}; remove one")
    if "time" not in names:
        raise ValueError("no time field; add one, such as time:41")
    if (total := sum(bits for _, bits in fields)) > 64:
        raise ValueError(f"{total} bits in all: expected at most 64")
    return tuple(fields)


class Layout:
    """An immutable layout.

    :param fields: such as ``"time:41,worker:10,sequence:12"``, from the highest bits to the lowest.
    :param name: 1 to 64 characters of a-z, 0-9, ``.``, ``_`` and ``-``.
    :param unit_ms: length of a tick in milliseconds, 1 to 3,600,000.
    :param epoch_ms: Unix time of tick 0, in milliseconds.
    :param datacenter: value of the datacenter field in every ID.
    :param spread: number of sequences at which a fresh tick can start; by default a quarter of the sequence field, at
        least 64, or all of it.
    :param lease_only: the workers are for programs that make IDs of their own.

    Raises ValueError if the values do not fit each other.
    """

    def __init__(
        self,
        fields: str | Sequence[tuple[str, int]],
        *,
        name: str = "custom",
        unit_ms: int = 1,
        epoch_ms: int = 0,
        datacenter: int = 0,
        spread: int | None = None,
        lease_only: bool = False,
    ) -> None:
        if not _NAME.fullmatch(name):
            raise ValueError(f"layout name {name[:80]!r}: expected 1 to 64 characters of a-z, 0-9, '.', '_' and '-'")
        if not 1 <= unit_ms <= 3_600_000:
            raise ValueError(f"tick of {unit_ms} ms: expected 1 to 3600000 ms")
        if not -(1 << 63) <= epoch_ms < 1 << 63:
            raise ValueError(f"epoch {epoch_ms}: expected a number of 64 bits")
        self.name, self.unit_ms, self.epoch_ms, self.lease_only = name, unit_ms, epoch_ms, lease_only
        self.fields = parse_fields(fields) if isinstance(fields, str) else _check_fields(fields)
        self.bits = sum(bits for _, bits in self.fields)
        self._at: dict[str, tuple[int, int]] = {}  # kind: (shift, width)
        shift = self.bits
        for kind, bits in self.fields:
            shift -= bits
            self._at[kind] = (shift, bits)
        if not 0 <= datacenter < 1 << self.width("datacenter"):
            raise ValueError(f"datacenter {datacenter} does not fit its {self.width('datacenter')} bits")
        self.datacenter = datacenter
        self.spread = self._default_spread() if spread is None else spread
        if not 0 <= self.spread <= max(1, self.sequences):
            raise ValueError(f"spread {spread} exceeds the sequence field: expected 0 to {max(1, self.sequences)}")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Layout) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash((self.name, self.fields, self.epoch_ms))

    def __repr__(self) -> str:
        fields = ",".join(f"{kind}:{bits}" for kind, bits in self.fields)
        return f"Layout({fields!r}, name={self.name!r}, unit_ms={self.unit_ms}, epoch_ms={self.epoch_ms})"

    def _default_spread(self) -> int:
        return 0 if self.lease_only else min(self.sequences, max(64, self.sequences // 4))

    def width(self, kind: str) -> int:
        """Returns the number of bits of a field; 0 if the layout does not have it."""
        return self._at.get(kind, (0, 0))[1]

    def shift(self, kind: str) -> int:
        """Returns the position of the lowest bit of a field; 0 if the layout does not have it."""
        return self._at.get(kind, (0, 0))[0]

    @property
    def workers(self) -> int:
        """Number of workers; 0 without a worker field."""
        return 1 << self.width("worker") if "worker" in self._at else 0

    @property
    def sequences(self) -> int:
        """Number of IDs for each tick and worker; 0 without a sequence field."""
        return 1 << self.width("sequence") if "sequence" in self._at else 0

    @property
    def ticks(self) -> int:
        """Number of ticks that the time field holds."""
        return 1 << self.width("time")

    def tick_at(self, at_ms: int) -> int:
        """Returns the tick that contains an instant, in Unix milliseconds; negative before the epoch."""
        return (at_ms - self.epoch_ms) // self.unit_ms

    def ms_at(self, tick: int) -> int:
        """Returns the start of a tick in Unix milliseconds."""
        return self.epoch_ms + tick * self.unit_ms

    def decode(self, id: int) -> Parts:
        """Returns the fields of an ID. Raises ValueError if the ID has bits above those of the layout."""
        if not 0 <= id < 1 << self.bits:
            raise ValueError(f"ID {id} has bits above the {self.bits} of layout {self.name!r}")
        tick, datacenter, worker, sequence = (
            id >> self.shift(kind) & (1 << self.width(kind)) - 1 for kind in KINDS
        )
        return Parts(tick, datacenter, worker, sequence, self.ms_at(tick))

    def encode(self, parts: Parts) -> int:
        """Returns the ID of these fields. Raises ValueError if one of them does not fit."""
        id = 0
        for kind, value in zip(KINDS, (parts.tick, parts.datacenter, parts.worker, parts.sequence)):
            if not 0 <= value < 1 << self.width(kind):
                raise ValueError(f"{kind} {value} does not fit its {self.width(kind)} bits in layout {self.name!r}")
            id |= value << self.shift(kind)
        return id

    def start_sequence(self, tick: int) -> int:
        """Returns the sequence at which a fresh tick starts: a hash of the tick, below the spread."""
        h = tick * 0x9E3779B97F4A7C15 & _MASK64
        h = (h ^ h >> 32) * 0xD6E8FEB86659FD93 & _MASK64
        return h * max(1, self.spread) >> 64

    def uuid(self, id: int, cluster_id: str) -> uuids.UUID:
        """Returns an ID as the UUID of version 7 that members of a cluster make of it.

        The UUID keeps all of the ID. ``cluster_id`` is the ID of the cluster, of ``GET /v1/status``. Raises ValueError
        if the ID does not belong to the layout, or is from before 1970.
        """
        parts = self.decode(id)
        shift, bits = self._at["time"]
        rest = id >> shift + bits << shift | id & (1 << shift) - 1
        return _uuid7.make(parts.at_ms, rest, self.bits - bits, cluster_id, self.name)

    def from_uuid(self, value: uuids.UUID) -> int:
        """Returns the ID of which ``uuid`` made a UUID. Raises ValueError if it belongs to no ID of the layout."""
        shift, bits = self._at["time"]
        at_ms, rest = _uuid7.split(value, self.bits - bits)
        tick, remainder = divmod(at_ms - self.epoch_ms, self.unit_ms)
        if not 0 <= tick < self.ticks or remainder:
            raise ValueError(f"UUID {value} is not from a tick of layout {self.name!r}")
        return rest >> shift << shift + bits | tick << shift | rest & (1 << shift) - 1

    def check_issues(self, now_ms: int) -> None:
        """Raises ValueError if the layout cannot issue IDs at a time in Unix milliseconds."""
        problem = ""
        if self.lease_only:
            problem = "only leases workers; issue IDs from another layout"
        elif self.bits > 63:
            problem = f"has {self.bits} bits; a layout that issues IDs has at most 63"
        elif not self.sequences or not self.workers:
            problem = "has no worker or no sequence field; add one to issue IDs"
        elif self.fields[0][0] != "time":
            problem = f"has {self.fields[0][0]} as its highest field; put time first, so that IDs sort by time"
        elif now_ms < self.epoch_ms:
            problem = "has its epoch in the future; choose an epoch before now"
        if problem:
            raise ValueError(f"layout {self.name!r} {problem}")


def _preset(name: str, fields: str, epoch_ms: int, unit_ms: int = 1, lease_only: bool = False) -> Layout:
    return Layout(fields, name=name, epoch_ms=epoch_ms, unit_ms=unit_ms, lease_only=lease_only)


_TWITTER = 1_288_834_974_657
_41_10_12 = "time:41,worker:10,sequence:12"

PRESETS: dict[str, Layout] = {
    layout.name: layout
    for layout in (
        _preset("baidu", "time:28,worker:22,sequence:13", 1_463_673_600_000, unit_ms=1000),
        _preset("cap", "worker:10,time:41,sequence:12", _TWITTER, lease_only=True),
        _preset("cosid", _41_10_12, 1_577_203_200_000),
        _preset("default", _41_10_12, 1_735_689_600_000),
        _preset("discord", "time:42,datacenter:5,worker:5,sequence:12", 1_420_070_400_000),
        _preset("hutool", _41_10_12, _TWITTER),
        _preset("instagram", "time:41,worker:13,sequence:10", 1_314_220_021_721),
        _preset("jssafe", "time:41,worker:6,sequence:6", 1_735_689_600_000),
        _preset("leaf", _41_10_12, _TWITTER),
        _preset("mastodon", "time:48,sequence:16", 0),
        _preset("mybatis", _41_10_12, _TWITTER),
        _preset("netease", _41_10_12, 1_609_344_000_000),
        _preset("sonyflake", "time:39,sequence:8,worker:16", 1_409_529_600_000, unit_ms=10),
        _preset("tsid", "time:42,worker:10,sequence:12", 1_577_836_800_000, lease_only=True),
        _preset("twitter", "time:41,datacenter:5,worker:5,sequence:12", _TWITTER),
        _preset("yitter", "time:51,worker:6,sequence:6", 1_582_136_402_000),
    )
}
"""Layouts of well-known systems and libraries, by name."""
