"""Forks while threads issue IDs."""

from __future__ import annotations

import json
import os
import sys
import threading
from array import array
from typing import Any

from snowraft import SnowraftError


def fork(generator: Any, forks: int, threads: int, per_child: int) -> dict[str, Any]:
    """Forks while threads call next. Each child calls next that many times, without ready, and reports what it got."""
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
                    return
        issued.extend(mine)

    workers = [threading.Thread(target=work) for _ in range(threads)]
    for worker in workers:
        worker.start()
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)  # otherwise each step of this thread waits for all others
    children = [_child(generator, per_child) for _ in range(forks)]
    sys.setswitchinterval(interval)
    stop.set()
    for worker in workers:
        worker.join()
    if len(set(issued)) != len(issued):
        errors.append(f"{len(issued) - len(set(issued))} duplicates in the parent")
    errors += [c["error"] for c in children if c["error"]]
    return {
        "children": len(children),
        "issued_in_children": sum(c["issued"] for c in children),
        "issued": len(issued),
        "errors": errors,
    }


def _child(generator: Any, count: int) -> dict[str, Any]:
    """Forks once and returns what the child reports."""
    receive, send = os.pipe()
    pid = os.fork()
    if pid == 0:
        issued, failed = 0, ""
        try:
            for _ in range(count):
                try:
                    generator.next()
                    issued += 1
                except SnowraftError:
                    pass
        except BaseException as e:
            failed = repr(e)
        os.write(send, json.dumps({"issued": issued, "error": failed}).encode())
        os._exit(0)
    os.close(send)
    with os.fdopen(receive, "rb") as stream:
        content = stream.read()
    os.waitpid(pid, 0)
    if not content:
        return {"issued": 0, "error": "the child ended without a report"}
    report: dict[str, Any] = json.loads(content)
    return report
