"""A real cluster of three members in one process. SNOWRAFT_PROGRAM names the program."""

from __future__ import annotations

import contextlib
import os
import random
import re
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass

_OFFSETS = [10 * member + port for member in range(3) for port in range(6)]


@dataclass
class Running:
    """A running cluster."""

    address: str
    token: str | None
    process: subprocess.Popen[str]

    @contextlib.contextmanager
    def stopped(self) -> Iterator[None]:
        """Stops all members until the end of the block."""
        self.process.send_signal(signal.SIGSTOP)
        try:
            os.waitid(os.P_PID, self.process.pid, os.WSTOPPED)  # threads may run for a moment after the signal
            yield
        finally:
            self.process.send_signal(signal.SIGCONT)


@contextlib.contextmanager
def running(*flags: str) -> Iterator[Running]:
    """Runs "snowraft dev" with flags. Another process may take a port that was free a moment ago, hence the tries."""
    program = os.environ["SNOWRAFT_PROGRAM"]
    for _ in range(5):
        base = _free_ports()
        command = [program, "dev", "--port-base", str(base), *flags]
        with (
            tempfile.TemporaryFile("w+") as errors,
            subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True) as process,
        ):
            assert process.stdout
            said = ""
            while "Press Ctrl-C" not in said and (line := process.stdout.readline()):
                said += line
            if "Press Ctrl-C" in said:
                token = re.search(r"SNOWRAFT_TOKEN=(\S+)", said)
                try:
                    yield Running(f"127.0.0.1:{base + 1}", token[1] if token else None, process)
                finally:
                    process.terminate()
                return
            process.wait()
            errors.seek(0)
            failure = errors.read()
            assert "address already in use" in failure, f"the cluster did not start: {failure}"
    raise AssertionError(f"the cluster did not start: {failure}")


def _free_ports() -> int:
    """Returns the first port of a cluster whose ports are free now."""
    while True:
        base = random.randrange(12_000, 30_000, 30)
        with contextlib.ExitStack() as stack, contextlib.suppress(OSError):
            for offset in _OFFSETS:
                stack.enter_context(socket.create_server(("127.0.0.1", base + offset)))
            return base
