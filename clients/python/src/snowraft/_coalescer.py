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
    def __init__(self) -> None:
        super().__init__()
        self.done = threading.Event()


class Coalescer(Generic[R]):
    """Shares calls among threads. The first caller of a call makes it; the others wait for its answer."""

    def __init__(self, fetch: Callable[[int], R], report: Callable[[Batch[R]], None]) -> None:
        self._fetch = fetch  # makes a call for count IDs or numbers, with the timeout of the client
        self._report = report
        self._open: _Shared[R] | None = None
        self._in_flight = 0
        self._turn = threading.Condition(threading.Lock())

    def renew(self) -> None:
        """Forgets the calls of the parent, after a fork."""
        self._open, self._in_flight = None, 0
        self._turn = threading.Condition(threading.Lock())

    def do(self, count: int) -> tuple[R, int]:
        """Returns the answer of a call that began after do was called, and the offset of the caller in it."""
        with self._turn:
            leads = self._open is None or not self._open.fits(count)
            if leads:
                self._open = _Shared()
            batch = self._open
            assert batch is not None
            offset = batch.join(count)
        if leads:
            self._lead(batch)
        else:
            batch.done.wait()
        if batch.error:
            if batch.callers > 1 and divides(batch.error):
                return self._fetch(count), 0
            raise batch.error.copy() if batch.callers > 1 else batch.error
        assert batch.answer is not None
        return batch.answer, offset

    def _lead(self, batch: _Shared[R]) -> None:
        flying = False
        try:
            with self._turn:
                if self._in_flight >= WINDOW:
                    self._turn.wait_for(lambda: self._in_flight < WINDOW, OVERDUE)
                self._turn.wait_for(lambda: self._in_flight < MOST_IN_FLIGHT)
                if self._open is batch:
                    self._open = None
                self._in_flight += 1
                flying = True
            batch.answer = self._fetch(batch.count)
        except SnowraftError as error:
            batch.error = error
        except BaseException as e:  # such as KeyboardInterrupt in this thread
            batch.error = SnowraftError(f"interrupted: {e!r}", reason=reasons.UNAVAILABLE, unknown=True)
            raise
        finally:
            with self._turn:
                self._open = None if self._open is batch else self._open
                self._in_flight -= flying
                self._turn.notify_all()
            batch.done.set()
            self._report(batch)
