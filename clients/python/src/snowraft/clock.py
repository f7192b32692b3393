"""Clocks of a generator."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """A clock that a generator can be given instead of the system's, for tests."""

    def wall_ns(self) -> int:
        """Returns the wall clock in Unix nanoseconds. It may jump, both ways."""
        ...

    def monotonic_ns(self) -> int:
        """Returns nanoseconds since some fixed moment of this process. It never jumps, and goes on in a suspension."""
        ...


# A machine that was suspended must not take its wall clock for one that jumped. CLOCK_BOOTTIME counts the suspension
# on Linux, and CLOCK_MONOTONIC on macOS.
_MONOTONIC = getattr(time, "CLOCK_BOOTTIME", getattr(time, "CLOCK_MONOTONIC", None))


class SystemClock:
    """The clocks of this machine."""

    wall_ns = staticmethod(time.time_ns)

    @staticmethod
    def monotonic_ns() -> int:
        """Returns the monotonic clock, suspensions included where the system counts them."""
        return time.monotonic_ns() if _MONOTONIC is None else time.clock_gettime_ns(_MONOTONIC)
