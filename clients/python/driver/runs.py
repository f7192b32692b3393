"""Runs: many IDs or numbers by several threads or tasks, into a file."""

from __future__ import annotations

import asyncio
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from snowraft import SnowraftError

_FLUSH = 4096  # IDs that a thread holds before it writes them
_LONGEST_PAUSE = 0.1  # seconds after an error that says retry
_SLICE = 256  # IDs that a task takes before it lets others run


class Run:
    """One run. It continues after errors that say retry, until its count or its time is reached or it is stopped."""

    def __init__(
        self, args: dict[str, Any], take: Callable[[], Any], loop: asyncio.AbstractEventLoop | None
    ) -> None:
        self._take, self._loop = take, loop
        self._threads = args.get("threads", 1)
        self._left = args.get("count")  # None: no limit
        ms = args.get("ms")
        self._until = time.monotonic() + ms / 1000 if ms is not None else None
        self._file = open(args["file"], "ab")
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._issued = 0
        self._errors: Counter[str] = Counter()
        self._last = ""

    def stop(self) -> None:
        """Ends the run."""
        self._stopped.set()

    def perform(self) -> dict[str, Any]:
        """Runs until the end and returns the result."""
        with self._file:
            if self._loop:
                asyncio.run_coroutine_threadsafe(self._tasks(), self._loop).result()
            else:
                threads = [threading.Thread(target=self._work) for _ in range(self._threads)]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
        result: dict[str, Any] = {"issued": self._issued, "errors": dict(self._errors)}
        return result | {"last_error": self._last} if self._last else result

    def _ended(self) -> bool:
        """Reports whether the run is stopped or its time is over."""
        return self._stopped.is_set() or self._until is not None and time.monotonic() >= self._until

    def _share(self) -> int:
        """Returns how many IDs a thread may take next; 0 at the end."""
        if self._ended():
            return 0
        with self._lock:
            if self._left is None:
                return _SLICE
            share: int = min(self._left, _SLICE)
            self._left -= share
            return share

    def _unused(self, count: int) -> None:
        with self._lock:
            if self._left is not None:
                self._left += count

    def _write(self, ids: list[int]) -> None:
        with self._lock:
            self._file.write(struct.pack(f">{len(ids)}q", *ids))
            self._file.flush()
            self._issued += len(ids)
        ids.clear()

    def _note(self, error: SnowraftError) -> float:
        """Counts an error and returns the pause after it; negative if the run ends."""
        with self._lock:
            self._errors[error.reason] += 1
            self._last = str(error)
        return min(max(error.retry_after, 0.001), _LONGEST_PAUSE) if error.retry else -1.0

    def _work(self) -> None:
        ids: list[int] = []
        while share := self._share():
            for taken in range(share):
                if self._ended():
                    self._unused(share - taken)
                    break
                try:
                    ids.append(self._take())
                except SnowraftError as e:
                    self._unused(share - taken)
                    pause = self._note(e)
                    if pause < 0:
                        self._write(ids)
                        return
                    self._stopped.wait(pause)
                    break
            if len(ids) >= _FLUSH:
                self._write(ids)
        self._write(ids)

    async def _tasks(self) -> None:
        await asyncio.gather(*(self._task() for _ in range(self._threads)))

    async def _task(self) -> None:
        ids: list[int] = []
        while share := self._share():
            for taken in range(share):
                if self._ended():
                    self._unused(share - taken)
                    break
                try:
                    result = self._take()
                    ids.append(await result if asyncio.iscoroutine(result) else result)
                except SnowraftError as e:
                    self._unused(share - taken)
                    pause = self._note(e)
                    if pause < 0:
                        self._write(ids)
                        return
                    await asyncio.sleep(pause)
                    break
            if len(ids) >= _FLUSH:
                self._write(ids)
            await asyncio.sleep(0)
        self._write(ids)
