"""A lane: holds one lease and keeps its window ahead of the clock.

Only the thread of the lane calls step and finish, and with them the granter. A lease is closed strictly before the next one
becomes visible. Both happen under the lock of the generator, as every change of a lease.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Protocol

from . import _reasons as reasons
from ._answers import Grant
from ._lease import MAX_AHEAD_MS, Lease, Verdict
from ._watch import ClockError, Limits, Reading, Watch
from ._window import FIRST_WINDOW, MAX_BACKOFF, PATIENCE, SlowStart, backoff
from .errors import SnowraftError, invalid, malformed
from .layout import Layout

log = logging.getLogger("snowraft")

_CLOCK_POLL = 100  # ms between checks whether the clock is right again
_EXHAUSTED_POLL = 3_000  # longest ms between requests for a worker while none is free: a holder may release one early
_FOREVER = 1 << 62  # ms

_SPECIFIC = reasons.DENIED | {  # these explain more than the end of the window
    reasons.CLOCK_BEHIND,
    reasons.CLOCK_SKEW,
    reasons.WORKERS_EXHAUSTED,
    reasons.FENCED,
    reasons.TIME_EXHAUSTED,
    reasons.OLD_CLUSTER_ALIVE,
    reasons.SET_BACK,
    reasons.CONTRADICTED,
    reasons.PIN_MISMATCH,
}
_ENDLESS = reasons.DENIED | {reasons.TIME_EXHAUSTED, reasons.SET_BACK, reasons.PIN_MISMATCH}


class Granter(Protocol):
    """Grants windows. A failed call may have been carried out: the window of a lost reply is lost."""

    def acquire(self, holder: str, clock_ms: int, window_ms: int) -> Grant:
        """Requests a worker and its first window."""
        ...

    def extend(self, lease: Lease, extension: int, clock_ms: int, window_ms: int) -> Grant:
        """Requests a later end of the window. The same extension and end get the same window."""
        ...

    def release(self, lease: Lease) -> None:
        """Releases the worker of a closed lease."""
        ...


@dataclass
class Outlook:
    """When a lane that issues nothing now can serve a caller. All times are in ms."""

    wait: int = 0  # time until the clock reaches the next cell; 0 if the clock is not the obstacle
    grant: bool = False  # a grant would help; none can be expected before within has passed
    within: int = 0
    had: bool = False  # the lane had a window before
    error: SnowraftError | None = None  # for a caller that does not wait; None if wait is not 0


@dataclass(frozen=True)
class Rest:
    """A pause of the lane's thread. A kick cuts it short if it is kickable."""

    ms: int
    kickable: bool = False


class Lane:
    """One worker of a generator."""

    def __init__(
        self, layout: Layout, holder: str, granter: Granter, watch: Watch, lock: threading.Condition, kick: Callable[[], None]
    ) -> None:
        self.layout, self._holder, self._granter, self._watch = layout, holder, granter, watch
        self._changed = lock  # the lock of the generator; wakes callers
        self.kick = kick
        self.lease: Lease | None = None
        self.problem: SnowraftError | None = None  # why the window is not ahead of the clock
        self.failure: SnowraftError | None = None  # why a worker was not released
        self._waiting = False  # the problem is this clock, and nothing is requested
        self._until_ms = 0  # end of the last window, for errors; 0 if there was none
        self._stopped = False
        self._window = SlowStart()
        self.extend_at = 0  # monotonic ms
        self._failures = 0  # failed calls in a row
        self._floor = 0  # the next lease starts at this tick or later
        self._swapped: Lease | None = None  # closed, not released yet
        self._lost: Lease | None = None  # the cluster refused its extension; its rest still belongs to this lane
        self._extension = 0  # ID of the extension whose outcome is unknown; 0 if none
        self._seals = 0  # how often the cluster was found sealed

    def step(self) -> Rest:
        """Checks clock and lease, and does the one thing that is due, if any."""
        now, limits, held = self._watch.now(), self._watch.limits, self.lease
        if error := self.check(now):
            return self._hold(error)
        if held is None or held is self._lost:
            return self._acquire(now, limits)
        now = self._watch.advance(now)
        if not held.closed and held.is_behind(held.position, now.wall, limits.threshold):
            if not limits.swap:
                lead = held.lead_ms(held.position, now.wall)
                return self._hold(ClockError(reasons.CLOCK_BEHIND, lead, limits.threshold))
            return self._swap(held)
        if held.until_tick >= held.ticks:
            self._report(None)  # the window reaches the end of the layout
            return Rest(MAX_BACKOFF, True)
        if now.mono < self.extend_at and not self._has_ended(held, now):
            self._report(None)
            return Rest(self.extend_at - now.mono, True)
        return self._extend(held, now)

    def check(self, now: Reading) -> SnowraftError | None:
        """Returns an error if no ID may be issued and no window requested at this reading of the clock."""
        if error := self._watch.check(now):
            return error
        tick = self.layout.tick_at(now.wall)
        if tick < 0:
            return ClockError(reasons.CLOCK_BEHIND, self.layout.epoch_ms - now.wall, self._watch.limits.threshold)
        return time_exhausted() if tick >= self.layout.ticks else None

    def check_floor(self, after: int, now: Reading) -> SnowraftError | None:
        """Returns an error if no process can have issued the ID after.

        A clock that is not trusted may itself be far behind the ID.
        """
        layout, limits = self.layout, self._watch.limits
        if after >= 1 << layout.bits:
            return _unreachable(layout, after)
        tick = layout.decode(after).tick
        limit = limits.threshold + limits.offset + MAX_AHEAD_MS
        ahead = layout.ms_at(tick) - now.wall
        behind = max(0, self._watch.observed - now.wall)
        if ahead - behind <= limit or tick - layout.tick_at(now.wall) <= 1 + MAX_AHEAD_MS // layout.unit_ms:
            return None
        if not self._watch.trusted():
            return ClockError(reasons.CLOCK_BEHIND, ahead, limits.threshold)
        return invalid(f"after {after} is {ahead} ms ahead of this clock, limit {limit} ms; send an ID that was issued")

    def _has_ended(self, held: Lease, now: Reading) -> bool:
        """Reports whether the next cell at this time lies beyond the window.

        A window whose cells are used up earlier is no reason to extend it: within a long tick that would grant nothing.
        """
        tick = self.layout.tick_at(now.wall)
        if held.position >= held.limit:
            tick += held.ahead
        return tick >= held.until_tick

    def _acquire(self, now: Reading, limits: Limits) -> Rest:
        seals = self._seals
        try:
            if self._stopped:
                return Rest(0)
            grant = self._granter.acquire(self._holder, now.wall, FIRST_WINDOW)
            if not self._plausible(grant):
                raise _impossible("grant", grant)
        except SnowraftError as error:
            return self._failed(self._delayed(error, now))
        return self._open(grant, limits, seals)

    def _plausible(self, g: Grant) -> bool:
        in_layout = g.worker < self.layout.workers and g.until_tick <= self.layout.ticks
        return in_layout and g.token > 0 and 0 <= g.from_tick < g.until_tick

    def _open(self, g: Grant, limits: Limits, seals: int) -> Rest:
        with self._changed:
            if seals != self._seals:
                return Rest(MAX_BACKOFF)  # the grant may be from before the cluster was set back
            self._watch.observe(g.observed_ms)
            if self._lost:
                self._close(self._lost)
            observed, now = max(self._watch.observed, g.observed_ms), self._watch.now()
            first = self._floor
            # The lane waits once until the clock has passed the observed clock at the grant: a process that has just
            # started does not know that clock yet.
            if observed - now.wall <= limits.threshold:
                first = max(first, self.layout.tick_at(observed) + 1)
            held = Lease(self.layout, g, first)
            if limits.swap and held.is_behind(held.first, now.wall, limits.threshold):
                held = Lease(self.layout, g)  # the clock moved backwards in between
            self._window.begin(g.max_window_ms)
            self._schedule(held, now)
            self._extension, self._lost = 0, None
            if self._stopped:
                held.close()
            self.lease, self._until_ms, self.problem = held, held.ends_ms(), None
            self._changed.notify_all()
        log.info("worker acquired", extra={"worker": g.worker, "fencing_token": g.token})
        self._release_soon()
        return Rest(0)

    def _extend(self, held: Lease, now: Reading) -> Rest:
        until, repeated = held.until_tick, self._extension != 0
        if not repeated:
            self._extension = _draw()
        try:
            if self._stopped:
                return Rest(0)
            g = self._granter.extend(held, self._extension, now.wall, self._window.coming)
            if not self._plausible(g) or (g.worker, g.token) != (held.worker, held.token) or g.until_tick < until:
                raise _impossible("extension", g)
        except SnowraftError as error:
            if error.reason == reasons.WINDOW_MISMATCH:
                log.warning("worker lost; acquiring another", extra={"worker": held.worker, "until": until})
                self._lost = held
                return Rest(0)
            return self._failed(self._delayed(error, now))
        with self._changed:
            self._extension = 0
            held.extend(g.until_tick)  # also of a closed lease, whose release names the end
            if held.closed:
                return Rest(0)
            self._watch.observe(g.observed_ms)
            self._window.extended(g.max_window_ms)
            now = self._watch.now()
            ended, again = self._has_ended(held, now), self._failures > 0
            if not ended:
                self._schedule(held, now)
                self._until_ms, self.problem = held.ends_ms(), None
                self._changed.notify_all()
        if ended and not repeated:
            return self._failed(_short())
        if again and not ended:
            log.info("window extended again", extra={"worker": held.worker, "until": g.until_tick})
        return Rest(0)  # after a repeated extension that ended long ago, the next request is a new one

    def _schedule(self, held: Lease, now: Reading) -> None:
        """Sets the time of the next extension, by the monotonic clock, because the wall clock may jump."""
        self._failures = 0
        self.extend_at = now.mono + self._window.extend_after(held.ends_ms() - now.wall)

    def _swap(self, held: Lease) -> Rest:
        """Leaves a worker whose position is ahead of the clock, which moved backwards."""
        log.warning("clock moved backwards; acquiring another worker", extra={"worker": held.worker})
        with self._changed:
            self._close(held)
            self.lease, self.problem = None, None
            self._changed.notify_all()
        self._floor, self._swapped = 0, held
        if held.issued:
            return Rest(0)
        self._failures += 1  # the clock is behind the start of a window that was granted just now
        return Rest(backoff(self._failures))

    def _close(self, held: Lease) -> None:
        """Closes a lease. The next one begins after the last tick that it used. Requires the lock."""
        held.close()
        if held.issued:
            self._floor = held.next_tick

    def sealed(self, error: SnowraftError) -> None:
        """Stops issuing at once: the cluster was set back in time, and may grant this window to another holder too."""
        with self._changed:
            self._seals += 1
            if self.lease and not self._stopped:
                self._close(self.lease)
                self.lease, self._lost, self._extension = None, None, 0
            self.problem = error
            self._changed.notify_all()
        self.kick()  # the cluster may be restored soon

    def _hold(self, error: SnowraftError) -> Rest:
        self._report(error, waiting=True)
        return Rest(_CLOCK_POLL)

    def _failed(self, error: SnowraftError) -> Rest:
        self._failures += 1
        now = self._watch.now()
        if error.reason == reasons.SET_BACK:
            self.sealed(error)
        if self._failures == 1 and error.reason != reasons.CLOSED:
            log.warning("window not granted; retrying: %s", error, extra={"error": str(error)})
        self._report(error)
        self._window.failed()
        most, held = MAX_BACKOFF, self.lease
        if held and held is not self._lost:
            most = max(most, min(held.ends_ms() - now.wall, self._window.current) // PATIENCE)
        pause = backoff(self._failures, most)
        if at := retry_at(error):
            pause = max(pause, min(at - now.wall + backoff(1), _EXHAUSTED_POLL))
        return Rest(pause, most > MAX_BACKOFF)

    def _report(self, problem: SnowraftError | None, *, waiting: bool = False) -> None:
        with self._changed:
            changed = self.problem is not None or problem is not None
            self.problem, self._waiting = problem, waiting
            if changed:
                self._changed.notify_all()

    def _delayed(self, error: SnowraftError, began: Reading) -> SnowraftError:
        """Returns the error of a call that carried a reading of the clock.

        If the request took long to arrive, the cluster may refuse it although the clock is not behind.
        """
        if error.reason != reasons.CLOCK_BEHIND:
            return error
        took = self._watch.now().mono - began.mono
        try:
            behind, limit = int(error.metadata["behind_ms"]), int(error.metadata["limit_ms"])
        except (KeyError, ValueError):
            return error
        if behind - took > limit:
            return error
        return SnowraftError(f"the response took {took} ms and came too late: {error.message}", retry=True)

    def outlook(self, now: Reading, after: int = 0) -> Outlook:
        """Returns when the lane can serve a caller, and makes it check a lease that no longer serves. Requires the lock."""
        held, limits = self.lease, self._watch.limits
        if held is None or held.closed:
            return self._missing(now, self._until_ms != 0)
        now = self._watch.advance(now)
        cell, _, verdict = held.place(self.layout.tick_at(now.wall), 1, after)
        if verdict is Verdict.TAKEN:
            return Outlook(wait=1)
        if verdict in (Verdict.EARLY, Verdict.FLOOR_EARLY):
            if not held.is_behind(cell, now.wall, limits.threshold):
                return Outlook(wait=max(1, held.due_ms(cell, now.wall)))
            behind = ClockError(reasons.CLOCK_BEHIND, held.lead_ms(cell, now.wall), limits.threshold)
            swaps = verdict is Verdict.EARLY and limits.swap
            if swaps:
                self.kick()
            return Outlook(error=behind, grant=swaps, had=swaps)
        if verdict is Verdict.EXHAUSTED:
            return Outlook(error=time_exhausted())
        if verdict is Verdict.UNREACHABLE:
            return Outlook(error=_unreachable(self.layout, after))
        self.kick()
        return self._missing(now, True)

    def readiness(self, now: Reading) -> SnowraftError | None:
        """Returns None if the lane could issue now or is just saturated; otherwise the reason. Requires the lock."""
        held = self.lease
        if held is None or held.closed:
            return self._missing(now, True).error
        now = self._watch.advance(now)
        tick = self.layout.tick_at(now.wall)
        cell, _, verdict = held.place(tick, 1)
        if verdict is Verdict.TAKEN or verdict is Verdict.EARLY and (cell >> held.bits) - tick <= held.ahead + 1:
            return None
        if verdict is Verdict.EARLY:
            return ClockError(reasons.CLOCK_BEHIND, held.lead_ms(cell, now.wall), self._watch.limits.threshold)
        return time_exhausted() if verdict is Verdict.EXHAUSTED else self._missing(now, True).error

    def _missing(self, now: Reading, had: bool) -> Outlook:
        problem = self.problem
        if problem is None or problem.reason not in _SPECIFIC:
            return Outlook(grant=True, had=had, error=window_ended(self._until_ms, problem))
        within = 0 if self._waiting else _lasts(problem, now.wall)
        return Outlook(grant=True, had=had, error=problem, within=within)

    def stop(self) -> None:
        """Closes the lease. A call that has begun continues; finish releases what it is granted. Requires the lock."""
        self._stopped = True
        if self.lease:
            self.lease.close()

    def holds(self) -> bool:
        """Reports whether the lane holds a worker that it has to release."""
        return any(held and held is not self._lost for held in (self.lease, self._swapped))

    def finish(self) -> None:
        """Stops the lane and releases its workers."""
        with self._changed:
            self.stop()
        for held in (self.lease, self._swapped):
            if held is None or held is self._lost:
                continue
            try:
                self._release(held)
            except SnowraftError as error:
                text = f"worker {held.worker} not released; it becomes free when its window ends: {error.message}"
                self.failure = error.copy(text)

    def _release_soon(self) -> None:
        held, self._swapped = self._swapped, None
        if held is None:
            return
        try:
            self._release(held)
        except SnowraftError as error:
            log.warning("worker not released; it becomes free when its window ends: %s", error, extra={"error": str(error)})

    def _release(self, held: Lease) -> None:
        """Releases a worker. One that the cluster no longer holds for this lane needs no release."""
        try:
            self._granter.release(held)
        except SnowraftError as error:
            if error.reason != reasons.WINDOW_MISMATCH:
                raise
            log.info("worker lost before its release", extra={"worker": held.worker})


def _draw() -> int:
    """Returns a random ID for an extension, not 0: a copy of this process would draw the same from its own memory."""
    return int.from_bytes(os.urandom(8), "big") or 1


def _impossible(what: str, g: Grant) -> SnowraftError:
    return malformed(f"impossible {what} of worker {g.worker}: token {g.token}, ticks [{g.from_tick}, {g.until_tick})")


def _short() -> SnowraftError:
    text = "the granted window has already ended; compare the clock of this machine with the leader's"
    return SnowraftError(text, retry=True)


def time_exhausted() -> SnowraftError:
    """Returns the error of a layout that is full."""
    text = "the time field of the layout is full; use a layout with more time bits or a later epoch"
    return SnowraftError(text, reason=reasons.TIME_EXHAUSTED)


def _unreachable(layout: Layout, after: int) -> SnowraftError:
    return invalid(f"no ID of layout {layout.name!r} is greater than {after}")


def window_ended(until_ms: int, cause: SnowraftError | None) -> SnowraftError:
    """Returns the error of a generator without a window."""
    text = "no window was granted yet" if cause else "no window was granted yet; call ready() first"
    if until_ms:
        text = f"the window ended at {_moment(until_ms)}" + (", and no new one was granted" if cause else "")
    if cause:
        text += f": {cause._where()}"
    metadata = {"until_at_ms": str(until_ms)} if until_ms else {}
    return SnowraftError(text, reason=reasons.WINDOW_ENDED, retry=True, retry_after=0.5, metadata=metadata)


def _moment(ms: int) -> str:
    """Returns a time for people."""
    try:
        return datetime.fromtimestamp(ms / 1000, timezone.utc).isoformat(timespec="milliseconds")
    except (OverflowError, ValueError):  # after the year 9999
        return f"{ms} ms of Unix time"


def retry_at(error: SnowraftError) -> int:
    """Returns the time at which a worker may be granted, in Unix ms; 0 if the error does not have it."""
    value = error.metadata.get("retry_at_ms", "")
    known = error.reason in (reasons.WORKERS_EXHAUSTED, reasons.FENCED)
    return int(value) if known and value.isascii() and value.isdigit() and len(value) < 16 else 0


def _lasts(error: SnowraftError, wall: int) -> int:
    """Returns the least ms for which a problem is known to last; 0 if it may end at any moment."""
    if error.reason in _ENDLESS:
        return _FOREVER
    if at := retry_at(error):
        return max(0, at - wall)
    return int(error.retry_after * 1000) if error.reason == reasons.CLOCK_BEHIND else 0
