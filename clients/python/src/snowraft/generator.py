"""Issues IDs in this process, from memory."""

from __future__ import annotations

import logging
import socket
import threading
import time
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING

from . import _at_exit, _image
from . import _reasons as reasons
from ._lane import Lane, Outlook, window_ended
from ._lease import Lease
from ._life import Life
from ._running import may_wait, time_limit
from .clock import Clock
from .errors import SnowraftError, check_count, closed, invalid

if TYPE_CHECKING:
    from .client import Client

log = logging.getLogger("snowraft")

_MS = 1_000_000
_NAP, _LONG_NAP = 20, 200  # ms between two readings of the clock by a waiting caller


@dataclass(frozen=True)
class LaneStatus:
    """The state of a lane."""

    lane: int
    worker: int
    """Meaningful if ``token`` is not 0."""
    token: int
    """Fencing token of the worker; 0 if the lane holds no worker."""
    from_tick: int
    until_tick: int
    """The window: ``until_tick`` is the first tick after it."""
    last_tick: int | None
    """Tick of the last ID; None if none was issued under this grant."""
    until_ms: int
    """End of the window in Unix milliseconds; 0 without a worker."""
    problem: SnowraftError | None
    """Why the lane cannot issue, or why its window is not extended."""


class Generator:
    """Issues IDs of one layout in this process, from memory. ``Client.generator`` makes it.

    The cluster leases it workers and grants it windows of time, which a daemon thread extends long before they end. It
    issues without the cluster until its window ends, by default up to 10 minutes, and never past the end.

    IDs are unique even if clocks are wrong. While this machine's clock is ahead of the members' clocks, or moved backwards,
    the generator issues nothing. It resumes once the clock is right.

    All methods may be called from any thread, but not from a signal handler. With one lane, IDs strictly increase. In a
    child process after a fork, ``next`` raises until ``ready`` was called there: the child then leases workers of its own.
    A lazy generator leases its workers at the first ``next`` or ``ready`` of each process, and releases them at its exit.

    A signal handler that forks must end its child, by ``os._exit`` or ``exec``. A child that returns from the handler goes on
    where its parent was interrupted. ``next`` notices that up to its end. An ID that ``next`` has returned before is in both
    processes, and no check undoes that.
    """

    def __init__(
        self,
        client: Client,
        layout: str,
        holder: str | None,
        lanes: int,
        clock: Clock,
        no_wait: bool,
        lazy: bool,
    ) -> None:
        if isinstance(lanes, bool) or not isinstance(lanes, int) or not 1 <= lanes <= 64:
            raise invalid(f"{lanes!r} lanes: expected 1 to 64")
        name = socket.gethostname() if holder is None else holder
        if not _names_holder(name):
            form = "printable UTF-8 in form NFC without spaces, not beginning with \"$\""
            raise invalid(f"holder name {name!r}: expected 1 to 125 bytes of {form}")
        self._client, self._layout_name, self._holder, self._lanes = client, layout, name, lanes
        self._clock, self._no_wait, self._lazy = clock, no_wait, lazy
        self._wall_ns: Callable[[], int] = clock.wall_ns
        self._closed = False
        self._page = _image.mark()
        self._renew()
        self._begin()
        self._idle = lazy
        _image.inherit(self)
        if lazy:
            _at_exit.close_at_exit(self)

    def _renew(self) -> None:
        """Makes the locks. While threads use them, nothing replaces them."""
        self._reviving = threading.Lock()  # two threads of a child may call ready
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)

    def _begin(self) -> None:
        """Begins with a new nonce and without a lease."""
        life = Life(self._client, self._layout_name, self._holder, self._lanes, self._clock, self._changed)
        self._life, self._watch, self._idle = life, life.watch, False

    def _start(self) -> None:
        """Starts the threads, unless the generator is lazy."""
        if self._idle:
            return
        try:
            self._life.start()
        except BaseException:
            self._idle = True  # the next call begins again
            raise

    def _wake(self) -> None:
        """Starts an idle generator: a lazy one, or that of a child after a fork."""
        _image.own(self)
        with self._reviving:
            if self._closed:
                raise closed("generator")
            if self._idle:
                self._begin()
                if self._lazy:
                    _at_exit.in_this_process()
                self._start()

    def _exit(self) -> None:
        """Closes the generator, and logs an error."""
        try:
            self.close()
        except SnowraftError as e:
            log.warning("generator not closed completely: %s", e, extra={"error": str(e)})

    def _forked(self) -> None:
        """Drops the lease of the parent, which goes on to use it: it is never released here."""
        page = _image.mark()
        self._idle = True
        self._renew()
        self._life = self._life.inherited(self._changed)
        self._page = page

    def _sealed(self, error: SnowraftError) -> None:
        """Stops issuing at once, until a restored cluster grants a worker."""
        _image.own(self)
        for lane in self._life.lanes:
            lane.sealed(error)

    def next(self, after: int = 0, timeout: float | None = None) -> int:
        """Returns one ID.

        If ``after`` is not 0, the ID is greater than this one, which any process may have issued.

        When all IDs of the tick are used, it waits for the next tick. Without a window, it waits for one, for at most
        ``timeout`` seconds, by default the timeout of the client; 0 means not at all. In a thread that runs an event loop
        of asyncio, it never waits, and raises the reason at once.

        Raises SnowraftError with reasons such as WINDOW_ENDED, CLOCK_BEHIND, CLOCK_SKEW, WORKERS_EXHAUSTED,
        TIME_EXHAUSTED, PERMISSION_DENIED, UNKNOWN_LAYOUT, SET_BACK, CLOSED, and UNAVAILABLE after a fork.
        """
        page = self._page
        if not after and page[0]:
            with self._lock:
                for lane in self._life.lanes:
                    lease = lane.lease
                    if lease is None:
                        continue
                    wall, watch = self._wall_ns() // _MS, self._watch
                    if not watch.low <= wall <= watch.high:
                        break
                    if wall == lease.wall:
                        cell = lease.position
                        if cell < lease.stop:
                            lease.position, id = cell + 1, lease.next_id
                            lease.next_id = id + lease.id_step
                            if page[0]:
                                return id
                            break
                    id = lease.take_at(wall)
                    if id and page[0]:
                        return id
        while True:
            page = _image.own(self)
            lease, start, _ = self._await(1, after, timeout)
            id = lease.id(start)
            if page[0]:  # otherwise a fork in a signal handler: the parent returns this one
                return id

    def take(self, count: int, timeout: float | None = None) -> list[int]:
        """Returns count IDs, 1 to 1,000,000. Those of one lane ascend. It waits and raises as ``next`` does."""
        check_count(count, "IDs")
        deadline = None if timeout is None else time.monotonic() + time_limit(timeout, zero=True)
        found: list[int] = []
        page = _image.own(self)
        while len(found) < count or not page[0]:
            if not page[0]:  # a fork in a signal handler: the parent returns the IDs so far
                page, found = _image.own(self), []
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            lease, start, end = self._await(count - len(found), 0, left)
            found += map(lease.id, range(start, end))
        return found

    def _await(self, count: int, after: int, timeout: float | None) -> tuple[Lease, int, int]:
        """Takes cells from any lane, or waits until a lane has some."""
        if after < 0:
            raise invalid(f"after {after}: expected an ID or 0")
        if timeout is not None:
            timeout = time_limit(timeout, zero=True)
        patience: int | None = None  # monotonic ms until which it waits for a window
        began = 0
        while True:
            _image.own(self)
            if self._lazy and self._idle:
                self._wake()
            self._check_alive()
            with self._changed:
                now = self._watch.now()
                best = self._try(count, after)
                if not isinstance(best, Outlook):
                    return best
                waits = may_wait(timeout)
                if best.wait:
                    if not waits:
                        raise _saturated(best.wait)
                    nap, most = best.wait, _NAP
                    if timeout is not None and patience is None:
                        began, patience = now.mono, now.mono + int(timeout * 1000)
                    if patience is not None and now.mono >= patience:
                        raise _saturated(best.wait)
                else:
                    assert best.error is not None
                    if not best.grant or not waits or self._no_wait and best.had:
                        raise best.error.copy()
                    if patience is None:
                        limit = self._client.timeout if timeout is None else timeout
                        began, patience = now.mono, now.mono + int(limit * 1000)
                    threshold = self._watch.limits.threshold
                    of_clock = best.error.reason in (reasons.CLOCK_BEHIND, reasons.CLOCK_SKEW)
                    nap = (min(patience, began + threshold) if of_clock else patience) - now.mono
                    if nap <= 0 or best.within > nap:
                        raise best.error.copy()
                    most = _NAP if now.mono - began <= threshold else _LONG_NAP
                self._changed.wait(min(nap, most) / 1000)

    def _try(self, count: int, after: int) -> tuple[Lease, int, int] | Outlook:
        """Takes cells, or returns when there may be some. Raises if waiting does not help. Requires the lock."""
        life, now = self._life, self._watch.now()
        if not life.lanes:
            return life.missing()
        if error := life.lanes[0].check(now):
            raise error
        for lane in life.lanes:
            if lane.lease:
                start, end = lane.lease.take(lane.lease.layout.tick_at(now.wall), count, after)
                if start < end:
                    return lane.lease, start, end
        if after and (error := life.lanes[0].check_floor(after, now)):
            raise error
        outlooks = [lane.outlook(now, after) for lane in life.lanes]
        best = min(outlooks, key=lambda o: (o.wait == 0, o.wait, not o.grant, o.within))
        best.had = any(o.had for o in outlooks)
        return best

    def _check_alive(self) -> None:
        _image.own(self)
        if self._closed:
            raise closed("generator")
        if self._idle:
            text = "this process was forked and holds no worker; call ready() in it first"
            if self._lazy:
                text = "no ID was needed yet in this process, so it holds no worker"
            raise SnowraftError(text, reason=reasons.UNAVAILABLE)

    def ready(self, timeout: float | None = None) -> None:
        """Waits until an ID can be issued, for at most timeout seconds, by default the timeout of the client.

        It issues no ID. In a child after a fork, it starts to lease workers of its own. Raises SnowraftError: at once if
        waiting does not help, as for UNKNOWN_LAYOUT and PERMISSION_DENIED, or if no address is that of a member; otherwise
        with the last reason.
        """
        limit = self._client.timeout if timeout is None else time_limit(timeout, zero=True)
        self._wake()
        deadline = time.monotonic() + limit
        while (error := self.problem()) is not None:
            left = deadline - time.monotonic()
            if error._lasts() or left <= 0:
                raise error.copy()
            with self._changed:
                self._changed.wait(min(left, 0.01))

    def problem(self) -> SnowraftError | None:
        """Returns why no ID can be issued now; None if one can be, or if only the present tick is used up."""
        try:
            self._check_alive()
            with self._changed:
                life, now = self._life, self._watch.now()
                if not life.lanes:
                    return life.missing().error
                if error := life.lanes[0].check(now):
                    return error
                errors = [lane.readiness(now) for lane in life.lanes]
                return None if None in errors else errors[0]
        except SnowraftError as error:
            return error

    def lanes(self) -> list[LaneStatus]:
        """Returns the state of each lane; none until the layout is known."""
        _image.own(self)
        with self._changed:
            now = self._watch.now()
            return [_status(i, lane, lane.check(now)) for i, lane in enumerate(self._life.lanes)]

    def close(self, timeout: float | None = None) -> None:
        """Stops issuing and releases the workers, so that others can acquire them at once.

        Raises SnowraftError if a worker was not released within timeout seconds. It becomes free when its window ends.
        """
        limit = self._client.timeout if timeout is None else time_limit(timeout, zero=True)
        _image.own(self)
        with self._reviving, self._changed:
            first, self._closed = not self._closed, True
            self._changed.notify_all()
        self._client._forget(self)
        if not first or self._idle:
            return
        self._life.close(limit)

    def __enter__(self) -> Generator:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._exit()


def _names_holder(name: str) -> bool:
    """Reports whether the cluster accepts the name of a holder."""
    if not isinstance(name, str) or name.startswith("$") or not name.isprintable() or " " in name:
        return False
    return 1 <= len(name.encode()) <= 125 and unicodedata.is_normalized("NFC", name)


def _saturated(wait_ms: int) -> SnowraftError:
    text = f"all IDs of this tick are used; the next tick begins in {wait_ms} ms"
    return SnowraftError(text, reason=reasons.UNAVAILABLE, retry=True, retry_after=wait_ms / 1000)


def _status(index: int, lane: Lane, error: SnowraftError | None) -> LaneStatus:
    held = lane.lease
    if held is None or held.closed:
        return LaneStatus(index, 0, 0, 0, 0, None, 0, error or lane.problem or window_ended(0, None))
    last = held.next_tick - 1 if held.issued else None
    problem = error or lane.problem
    return LaneStatus(
        index, held.worker, held.token, held.from_tick, held.until_tick, last, held.ends_ms(), problem
    )
