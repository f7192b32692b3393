"""Objects that issue from memory, for asyncio.

``next`` is an ordinary function: it takes from memory, never blocks the event loop, and raises at once if there is nothing to
take. The coroutines wait in another thread. Daemon threads renew windows and fetch blocks, so that a busy event loop delays
neither.
"""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Generic, TypeVar

from ..blocks import Blocks as SyncBlocks
from ..blocks import BlocksStats
from ..buffer import Buffer as SyncBuffer
from ..buffer import BufferStats
from ..errors import SnowraftError
from ..generator import Generator as SyncGenerator
from ..generator import LaneStatus
from ..numbers import Numbers

S = TypeVar("S", bound="SyncGenerator | SyncBlocks | SyncBuffer")


class _Closing(Generic[S]):
    def __init__(self, inner: S) -> None:
        self._inner: S = inner

    async def close(self) -> None:
        """Closes as the method of the same name for threads does."""
        await asyncio.to_thread(self._inner.close)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self._inner.__exit__, kind, error, trace)


class Generator(_Closing[SyncGenerator]):
    """Issues IDs of one layout in this process. ``snowraft.Generator`` describes it."""

    def next(self, after: int = 0) -> int:
        """Returns one ID at once, from memory."""
        return self._inner.next(after, 0)

    async def get(self, after: int = 0, timeout: float | None = None) -> int:
        """Returns one ID, and waits for ticks and windows. A floor may need the next tick."""
        return await asyncio.to_thread(self._inner.next, after, timeout)

    async def take(self, count: int, timeout: float | None = None) -> list[int]:
        """Returns count IDs, and waits for ticks and windows."""
        return await asyncio.to_thread(self._inner.take, count, timeout)

    async def ready(self, timeout: float | None = None) -> None:
        """Waits until an ID can be issued. In a child after a fork, it starts to lease workers."""
        await asyncio.to_thread(self._inner.ready, timeout)

    def problem(self) -> SnowraftError | None:
        """Returns why no ID can be issued now; None if one can be."""
        return self._inner.problem()

    def lanes(self) -> list[LaneStatus]:
        """Returns the state of each lane."""
        return self._inner.lanes()

    async def __aenter__(self) -> Generator:
        return self


class Blocks(_Closing[SyncBlocks]):
    """The numbers of one relaxed sequence from blocks in memory. ``snowraft.Blocks`` describes it."""

    def next(self) -> int:
        """Returns the next number at once, from memory."""
        return self._inner.next(0)

    async def take(self, count: int = 1, timeout: float | None = None) -> Numbers:
        """Returns the next count numbers in one run, and waits for blocks."""
        return await asyncio.to_thread(self._inner.take, count, timeout)

    def stats(self) -> BlocksStats:
        """Returns the size of the block, and the counters."""
        return self._inner.stats()

    async def __aenter__(self) -> Blocks:
        return self


class Buffer(_Closing[SyncBuffer]):
    """Holds IDs that it fetched in advance. ``snowraft.Buffer`` describes it."""

    def next(self) -> int:
        """Returns an ID at once, from memory."""
        return self._inner.next(0)

    async def get(self, timeout: float | None = None) -> int:
        """Returns an ID, and waits for one if the buffer is empty."""
        return await asyncio.to_thread(self._inner.next, timeout)

    async def ready(self, timeout: float | None = None) -> None:
        """Waits until the buffer has an ID."""
        await asyncio.to_thread(self._inner.ready, timeout)

    def stats(self) -> BufferStats:
        """Returns the state and the counters."""
        return self._inner.stats()

    async def __aenter__(self) -> Buffer:
        return self
