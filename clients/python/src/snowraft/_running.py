"""Whether a call may block its thread, and how long."""

from __future__ import annotations

import sys

from .errors import invalid

LONGEST = 1_000_000.0  # seconds; sockets and locks refuse limits of 2^31 ms and more on some systems


def may_wait(timeout: float | None) -> bool:
    """Reports whether a call may wait: never in a thread that runs an event loop of asyncio, nor with a timeout of 0."""
    if timeout == 0:
        return False
    asyncio = sys.modules.get("asyncio")
    return asyncio is None or asyncio._get_running_loop() is None


def time_limit(timeout: float, *, zero: bool = False) -> float:
    """Returns a time limit in seconds, at most LONGEST. Raises an error unless it is greater than 0, or 0 if zero is."""
    if not isinstance(timeout, (int, float)) or not (timeout > 0 or zero and timeout == 0):
        least = "0 or more" if zero else "greater than 0"
        raise invalid(f"timeout {timeout!r}: must be a number of seconds, {least}")
    return min(timeout, LONGEST)
