"""Forks while threads issue IDs."""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import sys
import threading
from array import array
from typing import Any

from snowraft import SnowraftError


def fork(generator: Any, forks: int, threads: int, per_child: int, ready_every: int, file: str) -> dict[str, Any]:
    """Forks while threads call next, whose IDs go into a file.

    Each child calls next that many times and reports what it got: every so many children after ready, the others without it.
    """
    stop = threading.Event()
    issued: array[int] = array("q")
    errors: list[str] = []

    def work() -> None:
        mine = array("q")
        while not stop.is_set():
            try:
                mine.append(generator.next())
            except SnowraftError as e:
                if not e.retry:
                    errors.append(str(e))
                    break
        issued.extend(mine)

    workers = [threading.Thread(target=work) for _ in range(threads)]
    for worker in workers:
        worker.start()
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)  # otherwise each step of this thread waits for all others
    children = [_child(generator, per_child, n % ready_every == 0) for n in range(1, forks + 1)]
    sys.setswitchinterval(interval)
    stop.set()
    for worker in workers:
        worker.join()
    errors += [c["error"] for c in children if c["error"]]
    if sys.byteorder == "little":
        issued.byteswap()
    with open(file, "wb") as out:
        issued.tofile(out)
    return {
        "children": len(children),
        "issued_in_children": sum(len(c["ids"]) for c in children if not c["ready"]),
        "ids_in_ready_children": [id for c in children if c["ready"] for id in c["ids"]],
        "issued": len(issued),
        "errors": errors,
    }


def _child(generator: Any, count: int, ready: bool) -> dict[str, Any]:
    """Forks once and returns what the child reports."""
    receive, send = os.pipe()
    pid = os.fork()
    if pid == 0:
        ids, failed = list[str](), ""
        try:
            if ready:
                _wait(generator.ready(60))
            while len(ids) < count:
                try:
                    ids.append(str(generator.next()))
                except SnowraftError as e:
                    if not ready or not e.retry:
                        failed = str(e) if ready else ""
                        break
        except BaseException as e:
            failed = repr(e)
        os.write(send, json.dumps({"ready": ready, "ids": ids, "error": failed}).encode())
        os._exit(0)
    os.close(send)
    with os.fdopen(receive, "rb") as stream:
        content = stream.read()
    os.waitpid(pid, 0)
    if not content:
        return {"ready": ready, "ids": [], "error": "the child ended without a report"}
    report: dict[str, Any] = json.loads(content)
    return report


def _wait(result: Any) -> None:
    """Waits for a result, which with asyncio is that of a coroutine. The event loop of the parent has no thread in a child."""
    if inspect.iscoroutine(result):
        asyncio.run(result)
