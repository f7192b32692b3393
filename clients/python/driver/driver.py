"""The driver of the conformance suite: one JSON object per line on stdin, one per line on stdout.

It uses the installed package, as a user would. With --aio, it drives snowraft.aio.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import platform
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from objects import Failure, failure
from operations import Operations

import snowraft
from snowraft import SnowraftError

FEATURES = "direct generator buffer strict relaxed offline clock fork uuid".split()


def hello(client: str) -> dict[str, Any]:
    """Returns what this driver can do."""
    runtime = f"{platform.python_implementation()} {platform.python_version()}"
    return {"client": client, "version": snowraft.__version__, "runtime": runtime, "features": FEATURES}


class Answers:
    """Writes answers, each on a line, from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def write(self, answer: dict[str, Any]) -> None:
        """Writes one answer."""
        with self._lock:
            sys.stdout.write(json.dumps(answer) + "\n")
            sys.stdout.flush()


def serve(request: dict[str, Any], operations: Operations, answers: Answers) -> None:
    """Performs one request in this thread, and answers it."""
    answer: dict[str, Any] = {"id": request["id"]}
    try:
        answer["ok"] = operations.perform(request["op"], request.get("args") or {}, request["id"])
    except Failure as e:
        answer |= e.answer
    except SnowraftError as e:
        answer["error"] = failure(e)
    except (ValueError, TypeError, KeyError, OverflowError) as e:
        text = f"missing argument {e}" if isinstance(e, KeyError) else str(e)
        answer["error"] = {"reason": "INVALID_ARGUMENT", "message": text, "retry": False, "unknown": False}
    except Exception as e:  # a bug of the driver or the client is an answer, not a hang of the suite
        answer["error"] = {"reason": "", "message": repr(e), "retry": False, "unknown": True}
    answers.write(answer)


def main() -> None:
    """Reads requests until the end of stdin, then closes all clients."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--aio", action="store_true", help="drive snowraft.aio")
    aio = parser.parse_args().aio
    loop: asyncio.AbstractEventLoop | None = None
    if aio:
        loop = asyncio.new_event_loop()
        threading.Thread(target=loop.run_forever, daemon=True).start()
    operations = Operations(hello("python-aio" if aio else "python"), loop)
    answers = Answers()
    with ThreadPoolExecutor(256) as threads:
        for line in sys.stdin:
            if line.strip():
                threads.submit(serve, json.loads(line), operations, answers)
        operations.stop_runs()
    operations.close_all()


if __name__ == "__main__":
    main()
