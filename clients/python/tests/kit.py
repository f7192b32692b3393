"""What several tests need."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from snowraft import _core


class FakeClock:
    """A clock that stands still until it is set."""

    def __init__(self, wall_ms: int = 1_796_083_200_000, monotonic_ms: int = 50_000) -> None:
        self.wall, self.mono = wall_ms, monotonic_ms

    def set(self, wall_ms: int, monotonic_ms: int) -> None:
        self.wall, self.mono = wall_ms, monotonic_ms

    def pass_ms(self, ms: int) -> None:
        self.wall, self.mono = self.wall + ms, self.mono + ms

    def wall_ns(self) -> int:
        return self.wall * 1_000_000

    def monotonic_ns(self) -> int:
        return self.mono * 1_000_000


@contextmanager
def one_round() -> Iterator[None]:
    """Lets a call try each member once: it ends where it would pause otherwise, and so not by the time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_core, "_FIRST_PAUSE", math.inf)
        yield


def eventually(happened: Callable[[], bool], limit: float = 300.0) -> None:
    """Waits until something has happened, which other threads do."""
    deadline = time.monotonic() + limit
    while not happened():
        if time.monotonic() > deadline:
            raise AssertionError("it did not happen in time")
        time.sleep(0.005)
