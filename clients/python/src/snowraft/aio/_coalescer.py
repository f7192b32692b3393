"""Combines the requests of concurrent tasks into shared calls."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from .._coalescer import MOST_IN_FLIGHT, OVERDUE, WINDOW, Batch, divides
from ..errors import SnowraftError
from ._within import within

R = TypeVar("R")


class AsyncCoalescer(Generic[R]):
    """Shares calls among tasks. A task of its own makes each call, so that no caller that is canceled ends it."""

    def __init__(self, fetch: Callable[[int], Awaitable[R]], report: Callable[[Batch[R]], None]) -> None:
        self._fetch = fetch
        self._report = report
        self._open: Batch[R] | None = None
        self._shipped: dict[Batch[R], asyncio.Task[None]] = {}
        self._turn: asyncio.Event | None = None
        self._in_flight = 0

    def renew(self) -> None:
        """Forgets the calls of another event loop."""
        self._open, self._shipped, self._turn, self._in_flight = None, {}, None, 0

    async def do(self, count: int) -> tuple[R, int]:
        """Returns the answer of a call that began after do was called, and the offset of the caller in it."""
        batch = self._open
        if batch is None or not batch.fits(count):
            batch = self._open = Batch()
            self._shipped[batch] = asyncio.get_running_loop().create_task(self._ship(batch))
        offset = batch.join(count)
        await asyncio.shield(self._shipped[batch])
        if batch.error:
            if batch.callers > 1 and divides(batch.error):
                return await self._fetch(count), 0
            raise batch.error.copy()
        assert batch.answer is not None
        return batch.answer, offset

    async def _ship(self, batch: Batch[R]) -> None:
        try:
            await asyncio.sleep(0)  # lets other tasks that are ready join
            if self._in_flight >= WINDOW:
                await self._wait(OVERDUE)
            while self._in_flight >= MOST_IN_FLIGHT:
                await self._wait(None)
            if self._open is batch:
                self._open = None
            self._in_flight += 1
            try:
                batch.answer = await self._fetch(batch.count)
            except SnowraftError as error:
                batch.error = error
            finally:
                self._in_flight -= 1
                if self._turn:
                    self._turn.set()
            self._report(batch)
        finally:
            if self._open is batch:
                self._open = None
            del self._shipped[batch]

    async def _wait(self, limit: float | None) -> None:
        if self._turn is None or self._turn.is_set():
            self._turn = asyncio.Event()
        try:
            await within(self._turn.wait(), limit)
        except TimeoutError:
            pass
