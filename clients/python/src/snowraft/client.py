"""The client of a cluster."""

from __future__ import annotations

import random
import threading
import uuid
from collections.abc import Iterable
from types import TracebackType
from typing import Any, TypeVar

from . import _image
from . import _requests as requests
from ._answers import IDs
from ._coalescer import MOST_SHARED, Batch, Coalescer
from ._core import Answer, Core, Flow
from ._methods import Method
from ._options import Options
from ._requests import SequenceInfo
from ._threads import start
from ._tls import CA
from ._transport import Transport
from .blocks import Blocks
from .buffer import Buffer
from .clock import Clock, SystemClock
from .errors import SnowraftError, check_count, closed, invalid
from .generator import Generator
from .hooks import Batch as BatchInfo
from .hooks import Hooks, report
from .layout import Layout
from .sequence import Sequence

T = TypeVar("T")

LOOK_EVERY, LOOK_RARELY = 10.0, 160.0  # seconds between two requests for the list of members
LOOK_PAUSE = 1.0  # least seconds, if a connection broke
LOOK_TIMEOUT = 5.0


class Client:
    """A client of a Snowraft cluster. One client is enough for a process; any thread may call its methods.

    :param addresses: HTTP addresses of two or three members, ``host:port`` (port 7701 by default of members), as a list or
        separated by commas. The client learns the others.
    :param token: API token of a secured cluster. If it ends with a pin, the client needs nothing else.
    :param ca: CAs in PEM that verify the members, or a ``pathlib.Path`` of their file. For the CA of a Snowraft cluster, names and dates do not count.
    :param pin: pin of the cluster, instead of the one in the token.
    :param tls: True for TLS with the trust of the system, an ``ssl.SSLContext`` for TLS of your own, False for clear text
        even with a token, where something else encrypts.
    :param timeout: limit in seconds of calls that are given none, all tries included. All limits are greater than 0, except
        that nothing in memory waits with 0. Those above 1,000,000 count as 1,000,000.
    :param hooks: functions that report calls, for metrics.

    It starts nothing before its first call. Then a daemon thread learns of members. Close the client, or use it in a
    ``with`` statement.
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
        try:
            options = Options(addresses, token, ca, pin, tls, timeout, hooks)
        except ValueError as e:
            raise invalid(str(e)) from None
        self._core: Core = options.core()
        self.timeout = options.timeout
        self._transport = Transport()
        self._page = _image.mark()
        self._lock = threading.Lock()
        self._ids: dict[str, Coalescer[IDs]] = {}
        self._sequences: dict[str, Sequence] = {}
        self._open: list[Generator | Blocks | Buffer] = []
        self._core.sealed = self._sealed
        self._looking = False
        self._closed, self._news = threading.Event(), threading.Event()
        self._core.changed = self._notice
        _image.inherit(self)

    def _forked(self) -> None:
        """Drops the connections of the parent, unwritten."""
        page = _image.mark()
        self._lock, closed_before = threading.Lock(), self._closed.is_set()
        self._closed, self._news = threading.Event(), threading.Event()
        if closed_before:
            self._closed.set()
        self._looking = False
        self._core.standing.renew()
        self._transport.renew()
        for ids in self._ids.values():
            ids.renew()
        for sequence in self._sequences.values():
            sequence._calls.renew()
        self._page = page

    def _run(self, flow: Flow[T]) -> T:
        _image.own(self)
        if self._closed.is_set():
            flow.close()
            raise closed()
        if not self._looking:
            self._look()
        try:
            return self._transport.run(flow)
        except SnowraftError as error:
            if self._closed.is_set():
                raise closed(unknown=error.unknown) from None
            raise

    def _call(self, method: Method, *, body: dict[str, Any] | None = None, timeout: float) -> Answer:
        return self._run(self._core.call(method, body=body, timeout=timeout))

    def _look(self) -> None:
        with self._lock:
            first, self._looking = not self._looking, True
        if first:
            try:
                start("members", self._follow)
            except SnowraftError:
                self._looking = False  # the next call tries again

    def _follow(self) -> None:
        """Follows the membership until the client is closed."""
        closed, every, broken = self._closed, LOOK_EVERY, True
        while not closed.is_set():
            changed = self._transport.run(requests.look(self._core, LOOK_TIMEOUT))
            every = LOOK_EVERY if changed or broken else min(2 * every, LOOK_RARELY)
            self._news.clear()
            closed.wait(LOOK_PAUSE)
            broken = not closed.is_set() and self._news.wait(every * random.uniform(0.75, 1.0) - LOOK_PAUSE)

    def _notice(self) -> None:
        self._news.set()

    def _report(self, batch: Batch[Any]) -> None:
        report(self._core.hooks.on_batch, BatchInfo(batch.callers, batch.count, batch.error))

    def next_id(self, layout: str = "default", *, after: int = 0, timeout: float | None = None) -> int:
        """Returns one ID. IDs of different calls are in no order; with ``after``, it is greater than that ID."""
        return self.ids(1, layout, after=after, timeout=timeout)[0]

    def ids(
        self, count: int, layout: str = "default", *, after: int = 0, timeout: float | None = None
    ) -> list[int]:
        """Returns count IDs, 1 to 1,000,000, in no order, each greater than ``after``.

        Concurrent callers share calls, except those with an ``after`` or a timeout of their own. Raises SnowraftError.
        """
        check_count(count, "IDs")
        if after < 0:
            raise invalid(f"after {after}: expected an ID or 0")
        if after or timeout is not None or count > MOST_SHARED:
            return self._run(requests.ids(self._core, layout, count, after, timeout)).part(0, count)
        calls = self._ids.get(layout)
        if calls is None:
            calls = self._ids.setdefault(layout, self._ids_of(layout))
        answer, offset = calls.do(count)
        return answer.part(offset, count)

    def _ids_of(self, layout: str) -> Coalescer[IDs]:
        return Coalescer(lambda count: self._run(requests.ids(self._core, layout, count, 0, None)), self._report)

    def uuids(self, count: int, layout: str = "default", *, timeout: float | None = None) -> list[uuid.UUID]:
        """Returns count IDs, 1 to 100,000, as UUIDs of version 7."""
        return self._run(requests.uuids(self._core, layout, count, timeout))

    def generator(
        self,
        layout: str = "default",
        *,
        holder: str | None = None,
        lanes: int = 1,
        clock: Clock | None = None,
        no_wait: bool = False,
        lazy: bool = False,
    ) -> Generator:
        """Returns a generator, which leases workers of a layout and issues IDs in this process.

        :param holder: stable name of this process, by default the name of the host, at most 125 bytes. Uniqueness does not
            depend on it.
        :param lanes: number of workers to hold, 1 to 64. IDs of different lanes are in no order.
        :param clock: clock of a test, by default the system's.
        :param no_wait: whether ``next`` raises when the last window has ended, instead of waiting.
        :param lazy: whether the generator starts at the first ``next`` or ``ready`` of each process, also after a fork, and
            closes at the exit of the process, which waits for at most the timeout of the client. A module can make a lazy
            generator when it is imported.

        It returns at once, and requests the first window in the background; see ``Generator.ready``. Close it before the
        client.
        """
        if self._closed.is_set():
            raise closed()
        generator = Generator(self, layout, holder, lanes, clock or SystemClock(), no_wait, lazy)
        self._open.append(generator)  # from here on, a seal reaches it
        self._start(generator)
        return generator

    def blocks(self, sequence: str, *, first: int = 100, refresh: float = 3.0) -> Blocks:
        """Returns the numbers of a relaxed sequence from blocks in memory. Requests nothing before its first use.

        :param first: numbers in the first block, 1 to 1,000,000. Later ones follow the rate of use.
        :param refresh: seconds between two looks whether the sequence was changed, at least 0.1.
        """
        if self._closed.is_set():
            raise closed()
        blocks = Blocks(self, sequence, first, refresh)
        self._open.append(blocks)
        return blocks

    def buffer(
        self,
        size: int = 1000,
        layout: str = "default",
        *,
        max_size: int = 1_000_000,
        span: float = 5.0,
        age: float = 10.0,
        no_wait: bool = False,
    ) -> Buffer:
        """Returns a buffer, which holds IDs of a layout that it fetched in advance, and begins to fill it.

        :param size: least number of IDs in a full buffer, 1 to max_size.
        :param max_size: greatest number, to which the size grows with the rate of use, at most 100,000,000.
        :param span: seconds that a full buffer lasts at the present rate, at most half of age.
        :param age: seconds after which an ID is dropped.
        :param no_wait: whether ``next`` raises when the buffer is empty, instead of waiting.
        """
        if self._closed.is_set():
            raise closed()
        buffer = Buffer(self, layout, size, max_size, span, age, no_wait)
        self._open.append(buffer)  # from here on, a seal reaches it
        self._start(buffer)
        return buffer

    def _start(self, opened: Generator | Buffer) -> None:
        try:
            opened._start()
        except BaseException:
            self._forget(opened)
            raise

    def _forget(self, opened: Generator | Blocks | Buffer) -> None:
        if opened in self._open:
            self._open.remove(opened)

    def _sealed(self, error: SnowraftError) -> None:
        """Stops all that issues from memory: the cluster was set back in time, and may grant the same twice."""
        for opened in list(self._open):
            opened._sealed(error)

    def sequence(self, name: str) -> Sequence:
        """Returns the sequence of that name, which need not exist yet. Requests nothing."""
        found = self._sequences.get(name)
        return found or self._sequences.setdefault(name, Sequence(self, name))

    def create_sequence(
        self, name: str, *, force: bool = False, timeout: float | None = None, **settings: Any
    ) -> SequenceInfo:
        """Creates a sequence, or returns an equal one that exists.

        Settings: ``mode`` ("strict" or "relaxed"), ``start``, ``increment``, ``min``, ``max``, ``reset`` ("none", "daily",
        "weekly", "monthly", "quarterly", "yearly"), ``year_starts`` (day on which years and their quarters start, such as
        "04-01"), ``late_ms`` (time after the end of a period in which its numbers can still be requested), ``time_zone``,
        ``format``, ``description``, ``block_duration_ms``, ``min_block`` and ``max_block``. Raises SEQUENCE_EXISTS if another
        one has the name, and WOULD_REPEAT.
        """
        return self._run(requests.create_sequence(self._core, name, settings, force, timeout))

    def update_sequence(
        self,
        name: str,
        *,
        force: bool = False,
        generation: int | None = None,
        timeout: float | None = None,
        **settings: Any,
    ) -> SequenceInfo:
        """Changes settings of a sequence; None resets one to its default.

        Raises GENERATION_MISMATCH unless the sequence has the generation, if one is given, and WOULD_REPEAT.
        """
        return self._run(requests.update_sequence(self._core, name, settings, force, generation, timeout))

    def get_sequence(self, name: str, *, timeout: float | None = None) -> SequenceInfo:
        """Returns the settings and the state of a sequence."""
        return self._run(requests.get_sequence(self._core, name, timeout))

    def list_sequences(self, prefix: str = "", *, timeout: float | None = None) -> list[SequenceInfo]:
        """Returns the sequences whose names begin with prefix, in the order of their names."""
        return self._run(requests.list_sequences(self._core, prefix, timeout))

    def delete_sequence(self, name: str, *, generation: int | None = None, timeout: float | None = None) -> None:
        """Deletes a sequence. The cluster remembers its numbers, so that a later one does not repeat them."""
        self._run(requests.delete_sequence(self._core, name, generation, timeout))

    def layout(self, name: str = "default", *, timeout: float | None = None) -> Layout:
        """Returns a layout of the cluster."""
        return self._run(requests.get_layout(self._core, name, timeout))

    def list_layouts(self, *, timeout: float | None = None) -> list[Layout]:
        """Returns the layouts of the cluster, in the order of their names."""
        return self._run(requests.list_layouts(self._core, timeout))

    def create_layout(self, layout: Layout, *, timeout: float | None = None) -> Layout:
        """Creates a layout, or returns an equal one that exists. Layouts never change."""
        return self._run(requests.create_layout(self._core, layout, timeout))

    def close(self) -> None:
        """Closes all that was made from the client, and the connections. Later calls raise CLOSED.

        Raises the error of the first generator whose workers were not released in time.
        """
        failure: SnowraftError | None = None
        for opened in list(self._open):
            try:
                opened.close()
            except SnowraftError as e:
                failure = failure or e
        self._closed.set()
        self._news.set()
        self._transport.close()
        if failure:
            raise failure

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.close()
        except SnowraftError:
            if error is None:
                raise
