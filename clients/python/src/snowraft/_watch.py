"""Judges whether this machine's clock can be trusted.

Nothing here keeps IDs unique: granted windows do that, whatever clocks show. A clock chooses among cells that were
granted already, so a wrong clock costs availability or the order of IDs.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from dataclasses import dataclass

from . import _reasons as reasons
from .clock import Clock
from .errors import SnowraftError

_PEER_MAX_AGE = 30_000  # ms for which the answer of a member counts
_MS = 1_000_000
_EXACT_NS = 5_000_000  # greatest time between readings of the clocks at one moment
_READINGS = 10  # most readings for an exact one


@dataclass(frozen=True)
class Reading:
    """The clocks at one moment, in ms: the wall clock in Unix time, and the monotonic clock."""

    wall: int
    mono: int


@dataclass(frozen=True)
class Limits:
    """The greatest errors of a clock that are tolerated, in ms."""

    threshold: int = 1000  # behind the observed clock
    offset: int = 500  # ahead of the majority's clock
    swap: bool = False  # acquire another worker if the clock moved backwards, instead of refusing


class ClockError(SnowraftError):
    """The clock of this machine is wrong."""

    def __init__(self, reason: str, error_ms: int, limit_ms: int, *, in_step: bool = False) -> None:
        behind = reason == reasons.CLOCK_BEHIND
        if not behind:
            text = (
                f"this clock is {seconds(error_ms)} ahead of the majority's, limit {seconds(limit_ms)}; correct the clock, "
                "or those of the members if this one is correct"
            )
        elif in_step:
            text = (
                f"the observed clock is {seconds(error_ms)} ahead of this clock and of the majority's, limit "
                f"{seconds(limit_ms)}; wait until they have caught up, or, if they are correct, set it back with "
                '"snowraft clock reset"'
            )
        else:
            text = (
                f"this clock is {seconds(error_ms)} behind, limit {seconds(limit_ms)}; correct the clock, or wait until it "
                "has caught up"
            )
        key = "behind_ms" if behind else "ahead_ms"
        after = max(1, error_ms - limit_ms) / 1000 if behind else 0.5
        metadata = {key: str(error_ms), "limit_ms": str(limit_ms)}
        super().__init__(text, reason=reason, retry=True, retry_after=after, metadata=metadata)
        self.error_ms, self.limit_ms = error_ms, limit_ms


def seconds(ms: int) -> str:
    """Returns a duration for people."""
    return f"{ms}ms" if abs(ms) < 1000 else f"{ms / 1000:g}s"


class Watch:
    """Compares this clock with those of members, with the observed clock and with its own past.

    Every clock is held as its base, wall - monotonic. A base stays the same while its clock runs correctly, so that the
    next check detects a jump without a new answer of a member.

    ``low`` and ``high`` are Unix ms: while the wall clock shows a time from low to high, check finds no error, whatever
    the monotonic clock shows, because it only grows. An ID therefore needs the monotonic clock only beyond them.
    """

    def __init__(self, clock: Clock, limits: Limits = Limits()) -> None:
        self.clock = clock
        self._wall_ns: Callable[[], int] = clock.wall_ns
        self._monotonic_ns: Callable[[], int] = clock.monotonic_ns
        now = self.now()
        self.limits = limits
        self.observed = 0  # observed clock, Unix ms; 0 if unknown
        self._observed_base = 0  # observed - monotonic
        self._reference = now.wall - now.mono  # base that the own clock should have
        self._own = self._reference  # own base at the last update
        self._peers: dict[str, tuple[int, int]] = {}  # by member: base, and monotonic time of the answer
        self._agreed = False  # the own clock agreed with a peer's once
        self._settled = False  # a member has answered
        self._disputed = False  # the only other clock contradicts the own one
        self._lock = threading.RLock()
        self.low, self.high = 0, -1
        self._bound(now)

    def renew(self) -> None:
        """Makes the lock anew, after a fork."""
        self._lock = threading.RLock()

    def now(self) -> Reading:
        """Reads the clocks at one moment: it reads them again if the thread had to wait between the readings."""
        best, reading = math.inf, Reading(0, 0)
        for _ in range(_READINGS):
            before, wall, mono = self._monotonic_ns(), self._wall_ns(), self._monotonic_ns()
            if mono - before < best:
                best, reading = mono - before, Reading(wall // _MS, mono // _MS)
            if best <= _EXACT_NS:
                break
        return reading

    def _bound(self, now: Reading) -> None:
        self.low = self.observed - self.limits.threshold
        self.high = self._reference + now.mono + self.limits.offset

    def check(self, now: Reading) -> ClockError | None:
        """Returns an error unless an ID may be issued at this reading."""
        with self._lock:
            self._bound(now)
            ahead = now.wall - now.mono - self._reference
            if ahead > self.limits.offset:
                return ClockError(reasons.CLOCK_SKEW, ahead, self.limits.offset)
            if now.wall < self.low and not self.limits.swap:
                behind = self.observed - self.advance(now).wall
                if behind > self.limits.threshold:
                    return ClockError(reasons.CLOCK_BEHIND, behind, self.limits.threshold, in_step=self.trusted())
        return None

    def trusted(self) -> bool:
        """Reports whether a member has answered, and the clocks of members do not contradict this one."""
        with self._lock:
            now = self.now()
            near = abs(now.wall - now.mono - self._reference) <= self.limits.offset
            return self._settled and not self._disputed and near

    def advance(self, then: Reading) -> Reading:
        """Adds the time since a reading to it: a thread that has waited in between is late, its clock is not wrong."""
        passed = self.now().mono - then.mono
        return Reading(then.wall + passed, then.mono + passed)

    def set_limits(self, limits: Limits) -> None:
        """Changes the limits."""
        with self._lock:
            self.limits = limits
            self._bound(self.now())

    def observe(self, observed_ms: int) -> None:
        """Sets the observed clock to what a member has just reported, which may be lower than before; 0: unknown."""
        if observed_ms <= 0:
            return
        with self._lock:
            now = self.now()
            self.observed, self._observed_base = observed_ms, observed_ms - now.mono
            self._bound(now)

    def observe_peer(self, member: str, wall_ms: int, took_ms: int) -> None:
        """Notes the clock of a member, which read it half of the round-trip time ago."""
        with self._lock:
            now = self.now()
            self._peers[member] = (wall_ms + took_ms // 2 - now.mono, now.mono)
            self.update()

    def tick(self) -> None:
        """Moves the observed clock on by the monotonic clock, and updates. Runs about once per second."""
        with self._lock:
            if self.observed:
                self.observed = self._observed_base + self.now().mono
            self.update()

    def update(self) -> None:
        """Recomputes the base that the own clock should have.

        Without an answer of a member, it follows slow corrections of the own clock, but no jump. With answers of at least
        two members, it is the median of all bases including the own one.
        """
        with self._lock:
            now = self.now()
            own = now.wall - now.mono
            self._peers = {k: p for k, p in self._peers.items() if now.mono - p[1] <= _PEER_MAX_AGE}
            bases = sorted([own, *(base for base, _ in self._peers.values())])
            moved, self._own = own - self._own, own
            disputed, n = False, len(bases)
            if n == 1:
                if abs(moved) <= self.limits.offset // 2:
                    self._reference += moved
            elif n == 2:
                disputed = self._settle(own, sum(bases) - own, now.mono)
            elif n % 2:
                self._reference = bases[n // 2]
            else:
                middle = bases[n // 2 - 1 : n // 2 + 1]
                self._reference = min(middle, key=lambda base: abs(base - self._reference))
            if n > 1:
                self._settled = True
                near = abs(own - self._reference) <= self.limits.offset
                self._agreed = self._agreed or (not disputed and near)
            self._disputed = disputed
            self._bound(now)

    def _settle(self, own: int, other: int, mono: int) -> bool:
        """Decides between the own clock and the only other one. Returns whether nothing shows which one is wrong."""
        if abs(own - other) <= self.limits.offset:
            self._reference = own
            return False
        oldest = self.observed - self.limits.threshold  # no correct clock shows less
        own_behind, other_behind = own + mono < oldest, other + mono < oldest
        if own_behind and not other_behind:
            self._reference = other
            return False
        if not own_behind and not other_behind and not self._agreed and own > other:
            self._reference = other
            return True
        if other_behind and not own_behind and abs(own - self._reference) <= self.limits.offset:
            self._reference = own
            return False
        return True
