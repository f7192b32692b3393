"""A time limit that never takes a cancellation for a result."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def within(work: Coroutine[Any, Any, T], seconds: float | None, discard: Callable[[T], object] | None = None) -> T:
    """Returns the result of work, or cancels it and raises TimeoutError after a time; None waits without a limit.

    Before Python 3.12, ``asyncio.wait_for`` drops a cancellation that arrives together with the result, so that a task
    that repeats its work never ends. discard gets a result that nobody waits for any more.
    """
    task = asyncio.ensure_future(work)
    try:
        await asyncio.wait({task}, timeout=None if seconds is None else max(0.0, seconds))
        if task.done():
            return task.result()
        task.cancel()
        await asyncio.wait({task})
        if not task.cancelled() and task.exception() is None and discard:
            discard(task.result())
        raise TimeoutError
    except asyncio.CancelledError:
        task.cancel()
        task.add_done_callback(lambda ended: ended.cancelled() or ended.exception() or discard and discard(ended.result()))
        raise
