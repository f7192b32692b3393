"""IDs that were fetched in advance."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections import deque
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING

from . import _image
from . import _reasons as reasons
from . import _requests as requests
from ._answers import IDs
from ._running import may_wait, time_limit
from ._threads import start
from .errors import SnowraftError, closed, invalid

if TYPE_CHECKING:
    from .client import Client

log = logging.getLogger("snowraft")

_FILL_TIMEOUT = 3.0  # longer than the time after which another member is tried
_USUAL_FETCH, _LEAST_FETCH, _MOST_FETCH = 100_000, 1_000, 1_000_000  # IDs in one request
_PAUSE, _LONGEST_PAUSE = 0.01, 1.0  # after a failed request
_RATE_WINDOW = 0.25  # shortest seconds over which the rate is measured
_THRESHOLD = 0.3  # part of a full buffer at which it is refilled
_TOP_UP = 1.0  # seconds after which it is refilled in any case


@dataclass(frozen=True)
class BufferStats:
    """State and counters of a buffer since its creation, or since a fork."""

    level: int
    """IDs that it holds."""
    capacity: int
    """IDs in a full buffer, at the present rate of use."""
    taken: int
    dropped: int
    """IDs that became too old."""
    waited: int
    """Calls that found the buffer empty."""
    refills: int
    failures: int


class _Chunk:
    """IDs of one answer."""

    def __init__(self, ids: range, born: float) -> None:
        self.ids, self.position, self.born = ids, 0, born


class Buffer:
    """Holds IDs of a layout that it fetched in advance. ``Client.buffer`` makes it.

    IDs are from several members and in no order. Each is returned to one caller, or dropped when it is too old. A daemon
    thread refills the buffer when 30 % is left, and once per second. Its size follows the rate of use.

    All methods may be called from any thread, but not from a signal handler. A child after a fork has no ID of its parent,
    and fills its buffer anew.
    """

    def __init__(
        self, client: Client, layout: str, least: int, most: int, span: float, age: float, no_wait: bool
    ) -> None:
        if not 1 <= least <= most <= 100_000_000:
            raise invalid(f"buffer of {least} to {most} IDs: expected 1 to 100000000, in this order")
        if not 0 < span <= age / 2 < math.inf:
            raise invalid(f"span of {span} s: expected more than 0, and at most half of the age of {age} s")
        self._client, self._layout = client, layout
        self._least, self._most, self._span, self._age, self._no_wait = least, most, span, age, no_wait
        self._closed = False
        self._begin()
        _image.inherit(self)

    def _begin(self) -> None:
        page = _image.mark()
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._chunks: deque[_Chunk] = deque()
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None
        self._problem: SnowraftError | None = None  # of the last request for IDs
        self._level = self._taken = self._dropped = self._waited = self._refills = self._failures = 0
        self._seals = 0
        self._low = 0  # level at which a call wakes the thread
        self._starved = False
        self._capacity = self._least
        self._rate = 0.0  # IDs per second
        self._since, self._base = time.monotonic(), 0
        self._batch = _USUAL_FETCH
        self._page = page

    def _forked(self) -> None:
        self._begin()

    def _start(self) -> None:
        """Starts the thread."""
        with self._changed:
            self._start_once()

    def _start_once(self) -> None:
        """Starts the thread if there is none. Requires the lock."""
        if self._thread is None and not self._closed:
            self._thread = start("buffer", self._run)

    def next(self, timeout: float | None = None) -> int:
        """Returns an ID from memory.

        When the buffer is empty, it waits for at most timeout seconds, by default the timeout of the client; in a thread
        that runs an event loop of asyncio, it raises at once. The reason is that of the last request to the cluster, or
        UNAVAILABLE.
        """
        page = self._page
        if page[0]:
            with self._lock:
                if self._chunks:
                    id = self._pop()
                    if page[0]:
                        return id
        while True:
            page = _image.own(self)
            id = self._await(timeout)
            if page[0]:  # otherwise a fork in a signal handler: the parent returns this one
                return id

    def _pop(self) -> int:
        chunk = self._chunks[0]
        id = chunk.ids[chunk.position]
        chunk.position += 1
        if chunk.position == len(chunk.ids):
            self._chunks.popleft()
        self._level -= 1
        self._taken += 1
        if self._level == self._low:
            self._wake.set()
        return id

    def _await(self, timeout: float | None) -> int:
        deadline = time.monotonic() + (self._client.timeout if timeout is None else time_limit(timeout, zero=True))
        waits = may_wait(timeout) and not self._no_wait
        with self._changed:
            self._start_once()
            first = True
            while True:
                if self._closed:
                    raise closed("buffer")
                if self._chunks:
                    return self._pop()
                self._waited += first
                first, self._starved = False, True
                self._wake.set()
                left = deadline - time.monotonic()
                lasting = self._problem is not None and self._problem._lasts()
                if lasting or not waits or left <= 0:
                    raise self._gap()
                self._changed.wait(left)

    def _gap(self) -> SnowraftError:
        if self._problem is None:
            return SnowraftError("the buffer is empty", reason=reasons.UNAVAILABLE, retry=True)
        return self._problem.copy(f"the buffer is empty, and the cluster returned no IDs: {self._problem.message}")

    def ready(self, timeout: float | None = None) -> None:
        """Waits until the buffer has an ID, and takes none. Raises as ``next`` does."""
        _image.own(self)
        deadline = time.monotonic() + (self._client.timeout if timeout is None else time_limit(timeout, zero=True))
        with self._changed:
            self._start_once()
            while not self._chunks:
                if self._closed:
                    raise closed("buffer")
                left = deadline - time.monotonic()
                if left <= 0 or self._problem and self._problem._lasts():
                    raise self._gap()
                self._changed.wait(left)

    def _run(self) -> None:
        """Fills the buffer, and drops IDs that are too old, until it is closed."""
        pause, top_up, retry_at = _PAUSE, 0.0, 0.0
        while True:
            with self._changed:
                if self._closed:
                    return
                now = time.monotonic()
                self._expire(now)
                self._measure(now)
                self._low = int(self._capacity * _THRESHOLD)
                due = now >= retry_at and (self._level <= self._low or now >= top_up)
                missing, seals = self._capacity - self._level, self._seals
            if due and missing > 0:
                top_up = now + _TOP_UP
                failed = self._fill(min(missing, self._batch), now, seals)
                retry_at, pause = (time.monotonic() + pause, min(2 * pause, _LONGEST_PAUSE)) if failed else (0.0, _PAUSE)
                continue
            self._wake.clear()
            if now < retry_at:
                time.sleep(min(retry_at - now, _LONGEST_PAUSE))
                continue
            with self._lock:
                low = self._level <= self._low and self._capacity > self._level
            if not low and not self._starved:
                self._wake.wait(_TOP_UP / 2)

    def _fill(self, count: int, now: float, seals: int) -> bool:
        """Requests IDs. Returns whether that failed."""
        try:
            flow = requests.ids(self._client._core, self._layout, count, 0, _FILL_TIMEOUT)
            answer: IDs = self._client._run(flow)
        except SnowraftError as error:
            with self._changed:
                self._problem = error
                self._failures += 1
                if error.reason == reasons.TIMEOUT:
                    self._batch = max(_LEAST_FETCH, self._batch // 2)  # one of this size may take too long
                self._changed.notify_all()
            return True
        with self._changed:
            self._problem = None
            self._refills += 1
            most = max(_USUAL_FETCH, min(_MOST_FETCH, int(self._rate * _RATE_WINDOW)))
            self._batch = min(2 * self._batch, most)
            if seals == self._seals and not self._closed:
                for first, size, step in answer.ranges:
                    self._chunks.append(_Chunk(range(first, first + size * step, step), now))
                self._level += count
            self._changed.notify_all()
        return False

    def _expire(self, now: float) -> None:
        while self._chunks and self._chunks[0].born + self._age <= now:
            chunk = self._chunks.popleft()
            left = len(chunk.ids) - chunk.position
            self._level -= left
            self._dropped += left

    def _measure(self, now: float) -> None:
        """Updates the rate of use and the capacity."""
        elapsed = now - self._since
        recent = (self._taken - self._base) / max(elapsed, _RATE_WINDOW)
        if recent > self._rate:
            self._rate = recent  # a sudden load takes effect at once
        elif elapsed >= _RATE_WINDOW:
            self._rate += (recent - self._rate) * min(1.0, elapsed / self._span)
        if elapsed >= _RATE_WINDOW:
            self._since, self._base = now, self._taken
        if self._starved and self._taken:
            self._rate = max(self._rate, 2 * self._capacity / self._span)  # callers used all before more could arrive
        self._starved = False
        self._capacity = max(self._least, min(math.ceil(self._rate * self._span), self._most))

    def _sealed(self, error: SnowraftError) -> None:
        """Drops all IDs at once: the cluster was set back in time."""
        _image.own(self)
        with self._changed:
            self._seals += 1
            self._chunks.clear()
            self._level, self._problem = 0, error
            self._changed.notify_all()

    def stats(self) -> BufferStats:
        """Returns the state and the counters."""
        _image.own(self)
        with self._lock:
            return BufferStats(
                self._level,
                self._capacity,
                self._taken,
                self._dropped,
                self._waited,
                self._refills,
                self._failures,
            )

    def close(self) -> None:
        """Stops the thread and drops the IDs."""
        _image.own(self)
        with self._changed:
            self._closed = True
            self._chunks.clear()
            self._level = 0
            self._changed.notify_all()
        self._wake.set()
        self._client._forget(self)

    def __enter__(self) -> Buffer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
