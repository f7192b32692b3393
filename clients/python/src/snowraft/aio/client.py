"""The client of a cluster, for asyncio."""

from __future__ import annotations

import asyncio
import random
import uuid
from collections.abc import Iterable
from types import TracebackType
from typing import Any, TypeVar

from .. import _image
from .. import _requests as requests
from .._answers import IDs
from .._coalescer import MOST_SHARED, Batch
from .._core import Flow
from .._requests import SequenceInfo
from .._tls import CA
from ..client import LOOK_EVERY, LOOK_PAUSE, LOOK_RARELY, LOOK_TIMEOUT
from ..client import Client as SyncClient
from ..clock import Clock
from ..errors import SnowraftError, check_count, closed, invalid
from ..hooks import Batch as BatchInfo
from ..hooks import Hooks, report
from ..layout import Layout
from ._coalescer import AsyncCoalescer
from ._memory import Blocks, Buffer, Generator
from ._transport import AsyncTransport
from .sequence import Sequence

T = TypeVar("T")


class Client:
    """A client of a Snowraft cluster for one event loop. ``snowraft.Client`` describes the parameters and methods.

    Objects that issue from memory use connections and daemon threads of their own.
    """

    def __init__(
        self,
        addresses: str | Iterable[str],
        *,
        token: str | None = None,
        ca: CA | None = None,
        pin: str | None = None,
        tls: Any = None,
        timeout: float = 10.0,
        hooks: Hooks | None = None,
    ) -> None:
        self._memory = SyncClient(addresses, token=token, ca=ca, pin=pin, tls=tls, timeout=timeout, hooks=hooks)
        self._core = self._memory._core  # what is known of members is known to both
        self.timeout = self._memory.timeout
        self._transport = AsyncTransport()
        self._page = _image.mark()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ids: dict[str, AsyncCoalescer[IDs]] = {}
        self._sequences: dict[str, Sequence] = {}
        self._following: asyncio.Task[None] | None = None
        self._closed = False
        self._news = False  # a connection broke
        self._core.changed = self._notice

    def _notice(self) -> None:
        self._news = True
        self._memory._notice()

    async def _run(self, flow: Flow[T]) -> T:
        if self._closed:
            flow.close()
            raise closed()
        self._own()
        if self._following is None:
            self._following = asyncio.get_running_loop().create_task(self._follow())
        try:
            return await self._transport.run(flow)
        except SnowraftError as error:
            if self._closed:
                raise closed(unknown=error.unknown) from None
            raise

    def _own(self) -> None:
        """Forgets the tasks of another event loop, such as that of the parent before a fork."""
        loop = asyncio.get_running_loop()
        if self._loop is loop and self._page[0]:
            return
        self._loop, self._page, self._following = loop, _image.mark(), None
        for ids in self._ids.values():
            ids.renew()
        for sequence in self._sequences.values():
            sequence._calls.renew()

    async def _follow(self) -> None:
        """Follows the membership until the client is closed."""
        every, broken = LOOK_EVERY, True
        while True:
            changed = await self._transport.run(requests.look(self._core, LOOK_TIMEOUT))
            every = LOOK_EVERY if changed or broken else min(2 * every, LOOK_RARELY)
            self._news = False
            rest = every * random.uniform(0.75, 1.0)
            while rest > 0 and not self._news:
                await asyncio.sleep(LOOK_PAUSE)
                rest -= LOOK_PAUSE
            broken = self._news

    def _report(self, batch: Batch[Any]) -> None:
        report(self._core.hooks.on_batch, BatchInfo(batch.callers, batch.count, batch.error))

    async def next_id(self, layout: str = "default", *, after: int = 0, timeout: float | None = None) -> int:
        """Returns one ID."""
        return (await self.ids(1, layout, after=after, timeout=timeout))[0]

    async def ids(
        self, count: int, layout: str = "default", *, after: int = 0, timeout: float | None = None
    ) -> list[int]:
        """Returns count IDs, 1 to 1,000,000, in no order, each greater than ``after``."""
        check_count(count, "IDs")
        if after < 0:
            raise invalid(f"after {after}: expected an ID or 0")
        if after or timeout is not None or count > MOST_SHARED:
            return (await self._run(requests.ids(self._core, layout, count, after, timeout))).part(0, count)
        self._own()
        calls = self._ids.get(layout)
        if calls is None:
            calls = self._ids.setdefault(layout, self._ids_of(layout))
        answer, offset = await calls.do(count)
        return answer.part(offset, count)

    def _ids_of(self, layout: str) -> AsyncCoalescer[IDs]:
        return AsyncCoalescer(lambda count: self._run(requests.ids(self._core, layout, count, 0, None)), self._report)

    async def uuids(self, count: int, layout: str = "default", *, timeout: float | None = None) -> list[uuid.UUID]:
        """Returns count IDs, 1 to 100,000, as UUIDs of version 7."""
        return await self._run(requests.uuids(self._core, layout, count, timeout))

    def generator(
        self,
        layout: str = "default",
        *,
        holder: str | None = None,
        lanes: int = 1,
        clock: Clock | None = None,
        no_wait: bool = False,
    ) -> Generator:
        """Returns a generator, which leases workers of a layout and issues IDs in this process."""
        return Generator(
            self._memory.generator(layout, holder=holder, lanes=lanes, clock=clock, no_wait=no_wait)
        )

    def blocks(self, sequence: str, *, first: int = 100, refresh: float = 3.0) -> Blocks:
        """Returns the numbers of a relaxed sequence from blocks in memory."""
        return Blocks(self._memory.blocks(sequence, first=first, refresh=refresh))

    def buffer(
        self,
        size: int = 1000,
        layout: str = "default",
        *,
        max_size: int = 1_000_000,
        span: float = 5.0,
        age: float = 10.0,
    ) -> Buffer:
        """Returns a buffer, which holds IDs of a layout that it fetched in advance."""
        return Buffer(self._memory.buffer(size, layout, max_size=max_size, span=span, age=age))

    def sequence(self, name: str) -> Sequence:
        """Returns the sequence of that name, which need not exist yet."""
        found = self._sequences.get(name)
        return found or self._sequences.setdefault(name, Sequence(self, name))

    async def create_sequence(
        self, name: str, *, force: bool = False, timeout: float | None = None, **settings: Any
    ) -> SequenceInfo:
        """Creates a sequence, or returns an equal one that exists."""
        return await self._run(requests.create_sequence(self._core, name, settings, force, timeout))

    async def update_sequence(
        self,
        name: str,
        *,
        force: bool = False,
        generation: int | None = None,
        timeout: float | None = None,
        **settings: Any,
    ) -> SequenceInfo:
        """Changes settings of a sequence; None resets one to its default."""
        return await self._run(
            requests.update_sequence(self._core, name, settings, force, generation, timeout)
        )

    async def get_sequence(self, name: str, *, timeout: float | None = None) -> SequenceInfo:
        """Returns the settings and the state of a sequence."""
        return await self._run(requests.get_sequence(self._core, name, timeout))

    async def list_sequences(self, prefix: str = "", *, timeout: float | None = None) -> list[SequenceInfo]:
        """Returns the sequences whose names begin with prefix, in the order of their names."""
        return await self._run(requests.list_sequences(self._core, prefix, timeout))

    async def delete_sequence(
        self, name: str, *, generation: int | None = None, timeout: float | None = None
    ) -> None:
        """Deletes a sequence."""
        await self._run(requests.delete_sequence(self._core, name, generation, timeout))

    async def layout(self, name: str = "default", *, timeout: float | None = None) -> Layout:
        """Returns a layout of the cluster."""
        return await self._run(requests.get_layout(self._core, name, timeout))

    async def list_layouts(self, *, timeout: float | None = None) -> list[Layout]:
        """Returns the layouts of the cluster, in the order of their names."""
        return await self._run(requests.list_layouts(self._core, timeout))

    async def create_layout(self, layout: Layout, *, timeout: float | None = None) -> Layout:
        """Creates a layout, or returns an equal one that exists."""
        return await self._run(requests.create_layout(self._core, layout, timeout))

    async def close(self) -> None:
        """Closes all that was made from the client, and the connections."""
        self._closed = True
        if self._following and self._loop is asyncio.get_running_loop():
            self._following.cancel()
        self._transport.close()
        await asyncio.to_thread(self._memory.close)

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await self.close()
        except SnowraftError:
            if error is None:
                raise
