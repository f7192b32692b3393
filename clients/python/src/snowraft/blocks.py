"""Numbers of a relaxed sequence, from blocks in memory."""

from __future__ import annotations

import base64
import logging
import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING

from . import _image
from . import _reasons as reasons
from . import _requests as requests
from ._answers import Block
from ._running import may_wait, time_limit
from ._store import Store
from ._threads import start
from ._watch import Reading
from .clock import SystemClock
from .errors import SnowraftError, check_count, closed, invalid
from .numbers import Numbers

if TYPE_CHECKING:
    from .client import Client

log = logging.getLogger("snowraft")

_CALL_TIMEOUT, _REFRESH_TIMEOUT = 5.0, 2.0
_MOST_TRIES = 3  # blocks in a row that may be outdated, or too short for a caller, before the caller gets an error


@dataclass(frozen=True)
class BlocksStats:
    """Counters since the creation of a Blocks, or since a fork."""

    block_size: int
    """Numbers in the current block, used ones included; 0 if there is none."""
    taken: int
    skipped: int
    """Numbers of blocks that were neither issued nor returned."""
    waited: int
    """Calls that waited for a block."""
    blocks: int


class _Waiter:
    """A call that no block could serve."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.asked = False  # a request in progress is for this call too
        self.short = 0  # requests for this call that returned fewer numbers
        self.numbers: Numbers | None = None
        self.error: SnowraftError | None = None


class Blocks:
    """The numbers of one relaxed sequence, from blocks in this process's memory. ``Client.blocks`` makes it.

    Numbers are unique in the cluster and ascend in this process (descend, if the increment is negative). It requests the
    next block in the background, before the current one is used up. Numbers left at a crash stay unused.

    It looks every few seconds whether the sequence was changed. Until then, numbers may be from before the change; they are
    unique, unless the change was forced. A sequence with a reset begins its next period by this machine's clock.

    All methods may be called from any thread, but not from a signal handler. A child after a fork has no block of its
    parent, and requests its own.
    """

    def __init__(self, client: Client, name: str, first: int, refresh: float) -> None:
        check_count(first, "numbers in the first block")
        if not refresh >= 0.1:
            raise invalid(f"refresh interval of {refresh} s: expected at least 0.1 s")
        self.name = name
        self._client, self._first, self._refresh = client, first, time_limit(refresh)
        self._closed = False
        self._begin()
        _image.inherit(self)

    def _begin(self) -> None:
        """Starts without a block and with a new return key."""
        page = _image.mark()
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._key = base64.b64encode(os.urandom(16)).decode("ascii")
        self._store = Store(self.name, self._first)
        self._waiting: list[_Waiter] = []
        self._waited = self._seals = 0
        self._looking = self._recent = False  # the state of the sequence is looked up; was looked up recently
        self._used = False  # numbers were taken since the last look
        self._fetching: threading.Thread | None = None
        self._stop = threading.Event()
        self._page = page

    def _forked(self) -> None:
        self._begin()

    def next(self, timeout: float | None = None) -> int:
        """Returns the next number.

        If no block has one, it waits for at most timeout seconds, by default the timeout of the client. In a thread that
        runs an event loop of asyncio, it raises at once. Raises SnowraftError, such as UNKNOWN_SEQUENCE, STRICT_SEQUENCE,
        SEQUENCE_EXHAUSTED, SET_BACK and CLOSED.
        """
        page = self._page
        if page[0]:
            with self._lock:
                b = self._store.current
                if self._recent and b and b.position < b.mark and not b.block.period_ends_ms:
                    self._used = True
                    index = b.position
                    b.position = index + 1
                    number = b.block.number(index)
                    if page[0]:
                        return number
        return self.take(1, timeout).first

    def take(self, count: int, timeout: float | None = None) -> Numbers:
        """Returns the next count numbers, 1 to 1,000,000, in one run. It waits and raises as ``next`` does."""
        check_count(count, "numbers")
        while True:
            page = _image.own(self)
            numbers = self._take(count, timeout)
            if page[0]:  # otherwise a fork in a signal handler: the parent returns these
                return numbers

    def _take(self, count: int, timeout: float | None) -> Numbers:
        deadline = time.monotonic() + (self._client.timeout if timeout is None else time_limit(timeout, zero=True))
        waits = may_wait(timeout)
        with self._changed:
            self._check_open()
            self._used = True
            self._look(deadline if waits else 0.0)
            if self._recent and (numbers := self._store.serve(count, now := _now())):
                self._prefetch(now)
                return numbers
            self._request()
            waiter = _Waiter(count)
            self._waiting.append(waiter)
            self._waited += 1
            while waits and waiter in self._waiting and (left := deadline - time.monotonic()) > 0:
                self._changed.wait(left)
            if waiter in self._waiting:
                self._waiting.remove(waiter)
        if waiter.numbers:
            return waiter.numbers
        late = SnowraftError(
            f"sequence {self.name!r}: no block was granted {'in time' if waits else 'yet'}",
            reason=reasons.TIMEOUT if waits else reasons.UNAVAILABLE,
            retry=True,
        )
        raise waiter.error.copy() if waiter.error else late

    def _check_open(self) -> None:
        if self._closed:
            raise closed("blocks")

    def _look(self, deadline: float) -> None:
        """Waits for the first look after a pause, and starts the looks. Requires the lock."""
        if not self._recent and not self._looking:
            start("sequence", self._watch)
            self._looking = True
        while not self._recent and (left := deadline - time.monotonic()) > 0:
            self._changed.wait(left)
            self._check_open()

    def _watch(self) -> None:
        """Looks at the sequence while it is in use."""
        stop, idle = self._stop, 0
        while not stop.is_set():
            self._refresh_once()
            with self._changed:
                self._recent = True
                self._changed.notify_all()
            stop.wait(self._refresh)
            with self._changed:
                idle = 0 if self._used else idle + 1
                self._used = False
                if idle == 2:
                    self._recent = self._looking = False
                    return

    def _refresh_once(self) -> None:
        """Requests the state once. If no member answers, the state stays as it is."""
        try:
            flow = requests.state(self._client._core, self.name, _REFRESH_TIMEOUT)
            generation, period = self._client._run(flow)
        except SnowraftError as error:
            if error.reason == reasons.UNKNOWN_SEQUENCE:
                with self._changed:
                    self._store.drop_before(self._store.ledger.token + 1, _now())
            return
        with self._changed:
            self._store.know(generation, period)

    def _request(self) -> None:
        """Starts to request a block. Requires the lock."""
        if self._fetching is None and not self._closed:
            self._fetching = start("blocks", self._fetch)

    def _prefetch(self, now: Reading) -> None:
        """Starts to request the next block if it is due. Without a thread, the next call tries. Requires the lock."""
        if self._store.due(now, self._fetching is not None):
            with suppress(SnowraftError):
                self._request()

    def _fetch(self) -> None:
        """Requests blocks, one after another, until no caller waits."""
        tries = 1
        while True:
            with self._changed:
                asked, seals = _now(), self._seals
                sizes = [w.count for w in self._waiting]
                self._store.pacer.measure(asked.mono, self._store.taken)
                count = self._store.pacer.ask(asked.mono, sum(sizes), max(sizes, default=0))
                for w in self._waiting:
                    w.asked = True
            granted: Block | SnowraftError
            try:
                flow = requests.allocate(self._client._core, self.name, count, self._key, _CALL_TIMEOUT)
                granted = self._client._run(flow)
            except SnowraftError as error:
                granted = error
            with self._changed:
                now = _now()
                try:
                    if isinstance(granted, SnowraftError):
                        raise granted
                    if not self._store.grant(granted, asked, now, seals != self._seals):
                        tries += 1
                        if tries <= _MOST_TRIES and not self._closed:
                            continue
                        raise self._outdated()
                    self._accept(granted, now)
                except SnowraftError as error:
                    if self._store.pacer.failed(now.mono) and error.reason != reasons.CLOSED:
                        log.warning("block not granted: %s", error, extra={"sequence": self.name, "error": str(error)})
                    self._settle(error, lambda w: w.asked)
                tries = 1
                if self._waiting and not self._closed:
                    continue
                self._fetching = None
                self._prefetch(now)
                return

    def _outdated(self) -> SnowraftError:
        text = "the granted blocks are outdated, because the sequence is being changed; try again"
        return SnowraftError(f"sequence {self.name!r}: {text}", reason=reasons.SEQUENCE_CHANGED, retry=True)

    def _accept(self, block: Block, now: Reading) -> None:
        """Stores a block and serves the waiting callers. Requires the lock."""
        if self._store.next is not None:
            self._serve_waiting(now)
        self._store.put(block, now, self._waiting[0].count if self._waiting else 0)
        self._serve_waiting(now)
        for w in self._waiting:
            w.short += w.asked and block.count < w.count
        text = f"the cluster granted blocks of {block.count} numbers, fewer than one call requested"
        error = SnowraftError(f"sequence {self.name!r}: {text}; request fewer numbers, or raise the largest block size")
        self._settle(error, lambda w: w.short >= _MOST_TRIES)

    def _serve_waiting(self, now: Reading) -> None:
        for w in list(self._waiting):
            w.numbers = None if self._closed else self._store.serve(w.count, now)
            if w.numbers:
                self._waiting.remove(w)
        self._changed.notify_all()

    def _settle(self, error: SnowraftError, whom: Callable[[_Waiter], bool]) -> None:
        for w in list(self._waiting):
            if whom(w):
                w.error = error
                self._waiting.remove(w)
        self._changed.notify_all()

    def _sealed(self, error: SnowraftError) -> None:
        """Drops all numbers at once: the cluster was set back in time, and may grant them again."""
        _image.own(self)
        with self._changed:
            self._seals += 1
            self._store.drop(lambda _: True)
            self._settle(error, lambda _: True)

    def stats(self) -> BlocksStats:
        """Returns the size of the block, and the counters."""
        _image.own(self)
        with self._lock:
            s = self._store
            size = s.current.block.count if s.current else 0
            return BlocksStats(size, s.taken, s.skipped, self._waited, s.blocks)

    def close(self, timeout: float | None = None) -> None:
        """Stops issuing and returns the rest of the last block, so that the cluster can grant it again.

        Raises SnowraftError if the rest was not returned; it stays unused.
        """
        limit = self._client.timeout if timeout is None else time_limit(timeout)
        _image.own(self)
        with self._changed:
            if self._closed:
                return
            self._closed = True
            self._settle(closed("blocks"), lambda _: True)
            fetching = self._fetching
        self._stop.set()
        self._client._forget(self)
        if fetching:  # the block on its way would be lost otherwise
            fetching.join(limit)
        with self._changed:
            token, unused = self._store.tail()
        if unused:
            self._return(token, unused, min(limit, _CALL_TIMEOUT))

    def _return(self, token: int, unused: int, timeout: float) -> None:
        try:
            flow = requests.return_block(self._client._core, self.name, token, unused, self._key, timeout)
            self._client._run(flow)
        except SnowraftError as error:
            if error.reason == reasons.NOT_LAST_BLOCK:
                return
            text = f"the last {unused} numbers of sequence {self.name!r} were not returned and stay unused"
            raise error.copy(f"{text}: {error.message}") from None

    def __enter__(self) -> Blocks:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.close()
        except SnowraftError as e:
            log.warning("blocks not closed completely: %s", e, extra={"error": str(e)})


def _now() -> Reading:
    return Reading(SystemClock.wall_ns() // 1_000_000, SystemClock.monotonic_ns() // 1_000_000)
