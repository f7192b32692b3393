"""Combines the requests of concurrent callers into shared calls.

A call begins after all callers that it serves have begun. Each caller gets the part of the answer from its offset on, and
no other caller gets it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from . import _reasons as reasons
from .errors import SnowraftError

R = TypeVar("R")

WINDOW = 2  # calls in flight: one that a member works on, and one on its way
OVERDUE = 0.005  # seconds after which a slow call no longer keeps the next one from beginning
MOST_IN_FLIGHT = 64
MOST_SHARED = 1000  # IDs or numbers in a shared call: so many have texts


def divides(error: SnowraftError) -> bool:
    """Reports whether an error of a shared call need not apply to each of its callers."""
    return error.reason in (reasons.SEQUENCE_EXHAUSTED, reasons.INVALID_ARGUMENT)


class Batch(Generic[R]):
    """Callers that one call serves."""

    def __init__(self) -> None:
        self.callers = 0
        self.count = 0
        self.answer: R | None = None
        self.error: SnowraftError | None = None

    def join(self, count: int) -> int:
        """Adds a caller and returns its offset."""
        offset = self.count
        self.callers += 1
        self.count += count
        return offset

    def fits(self, count: int) -> bool:
        """Reports whether a further caller can join."""
        return self.count + count <= MOST_SHARED


class _Shared(Batch[R]):
    """A batch of threads."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = threading.Lock()  # the leader holds it from before others can join to its end, even if interrupted
        self.landed = False  # its call is no longer in flight


class Coalescer(Generic[R]):
    """Shares calls among threads. The first caller of a call makes it; the others wait for its answer."""

    def __init__(self, fetch: Callable[[int], R], report: Callable[[Batch[R]], None]) -> None:
        self._fetch = fetch  # makes a call for count IDs or numbers, with the timeout of the client
        self._report = report
        self.renew()

    def renew(self) -> None:
        """Forgets the calls of the parent, after a fork."""
        self._open: _Shared[R] | None = None
        self._flying: set[_Shared[R]] = set()
        self._turn = threading.Condition(threading.Lock())

    def do(self, count: int) -> tuple[R, int]:
        """Returns the answer of a call that began after do was called, and the offset of the caller in it."""
        own: _Shared[R] = _Shared()
        try:
            with own.gate:
                with self._turn:
                    batch = self._open
                    if batch is None or not batch.gate.locked() or not batch.fits(count):
                        batch = self._open = own
                    offset = batch.join(count)
                if batch is own:
                    self._lead(batch)
        finally:
            if own.callers:
                self._report(own)
        with batch.gate:  # waits for the leader
            pass
        if batch.error:
            if batch.callers > 1 and divides(batch.error):
                return self._fetch(count), 0
            raise batch.error.copy() if batch.callers > 1 else batch.error
        if batch.answer is None:
            raise SnowraftError("interrupted in another thread", reason=reasons.UNAVAILABLE, unknown=True)
        return batch.answer, offset

    def _lead(self, batch: _Shared[R]) -> None:
        try:
            with self._turn:
                if self._in_flight() >= WINDOW:
                    self._turn.wait_for(lambda: self._in_flight() < WINDOW, OVERDUE)
                self._turn.wait_for(lambda: self._in_flight() < MOST_IN_FLIGHT)
                if self._open is batch:
                    self._open = None
                self._flying.add(batch)
            batch.answer = self._fetch(batch.count)
        except SnowraftError as error:
            batch.error = error
        except BaseException as e:  # such as KeyboardInterrupt in this thread
            batch.error = SnowraftError(f"interrupted: {e!r}", reason=reasons.UNAVAILABLE, unknown=True)
            raise
        finally:
            batch.landed = True
            with self._turn:
                self._turn.notify_all()

    def _in_flight(self) -> int:
        """Returns the number of calls in flight. Requires the lock."""
        self._flying = {batch for batch in self._flying if not batch.landed}
        return len(self._flying)
