"""Whether a call may block its thread."""

from __future__ import annotations

import sys


def may_wait(timeout: float | None) -> bool:
    """Reports whether a call may wait: never in a thread that runs an event loop of asyncio, nor with a timeout of 0."""
    if timeout == 0:
        return False
    asyncio = sys.modules.get("asyncio")
    return asyncio is None or asyncio._get_running_loop() is None
