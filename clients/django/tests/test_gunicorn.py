"""A site under gunicorn, which imports it before it forks."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from devcluster import Running
from kit import eventually


class OverSocket(http.client.HTTPConnection):
    """A connection to a Unix socket."""

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.host)


def get(path: str) -> Any:
    connection = OverSocket(path)
    with contextlib.closing(connection):
        connection.request("GET", "/", headers={"Host": "localhost"})
        response = connection.getresponse()
        assert response.status == 200
        return json.load(response)


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder whose path is short enough for a socket."""
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


def held_tokens(cluster: Running) -> set[int]:
    """Returns the fencing tokens of the workers that some process holds."""
    host, _, port = cluster.address.rpartition(":")
    command = [os.environ["SNOWRAFT_PROGRAM"], "worker", "list", "-o", "json", "--addr", f"{host}:{int(port) - 1}"]
    listed = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
    return {int(worker["token"]) for worker in listed["workers"] if worker["state"] == "held"}


def test_workers_of_a_preloaded_site(cluster: Running, folder: Path) -> None:
    from shop.models import Order

    Order.objects.all().delete()
    path = f"{folder}/socket"
    command = [sys.executable, "-m", "gunicorn", "--preload", "--workers", "2", "--timeout", "300", "--graceful-timeout", "300", "--bind", f"unix:{path}", "wsgi"]
    tokens = dict[int, int]()
    answers = 0

    def both_answer() -> bool:
        """Sends requests at the same time. A worker that serves one leaves the others to the second worker."""
        nonlocal answers
        with ThreadPoolExecutor(4) as threads:
            for answer in threads.map(get, [path] * 4):
                tokens[answer["pid"]] = answer["token"]
                answers += 1
        return len(tokens) == 2

    log = folder / "log"
    with log.open("w") as output:
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
        with subprocess.Popen(command, env=environment, stdout=output, stderr=output) as server:
            try:
                eventually(lambda: os.path.exists(path) or server.poll() is not None, 240)
                assert server.poll() is None, log.read_text()
                eventually(both_answer, 240)
            finally:
                server.terminate()
    assert len(set(tokens.values())) == 2
    assert not held_tokens(cluster) & set(tokens.values())
    assert len(set(Order.objects.values_list("pk", flat=True))) == 1 + 100 * answers
