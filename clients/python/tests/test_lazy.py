"""Lazy generators, which modules make when they are imported."""

from __future__ import annotations

import asyncio
import gc
import multiprocessing
import os
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from kit import eventually
from test_fork import in_child, quiet_fork, refusal
from test_generator import Cluster, open_generator

from snowraft import Client

SOURCES = Path(__file__).parents[1] / "src"


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    c = Cluster()
    with c.member:
        yield c


def test_starts_at_the_first_id(cluster: Cluster) -> None:
    before = threading.active_count()
    client, generator = open_generator(cluster, lazy=True)
    with client:
        problem = generator.problem()
        assert problem and problem.reason == "UNAVAILABLE" and "no ID was needed" in str(problem)
        assert threading.active_count() == before and not cluster.member.calls
        assert generator.next() < generator.next()
        assert len(cluster.requests("acquire")) == 1
    assert [r["token"] for r in cluster.released] == ["1"]


def test_closed_before_its_start(cluster: Cluster) -> None:
    client, generator = open_generator(cluster, lazy=True)
    generator.close()
    assert refusal(generator.next) == refusal(generator.ready) == "CLOSED"
    assert not cluster.member.calls and not client._open
    client.close()


@pytest.mark.parametrize("fork", [os.fork, quiet_fork], ids=["os.fork", "without hook"])
@pytest.mark.parametrize("used", [True, False], ids=["used", "unused"])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_child_leases_a_worker_when_it_needs_an_id(cluster: Cluster, fork: Callable[[], int], used: bool) -> None:
    client, generator = open_generator(cluster, lazy=True)
    with client:
        mine = [generator.next()] if used else []
        assert in_child(lambda: 0, fork) == 0
        assert len(cluster.requests("acquire")) == len(mine)  # a child without IDs leases none
        theirs = in_child(lambda: [generator.next() for _ in range(100)], fork)
        mine += [generator.next() for _ in range(100)]
        assert len({id >> 12 & 1023 for id in theirs}) == len({id >> 12 & 1023 for id in mine}) == 1
        assert len({*mine, *theirs}) == len(mine) + len(theirs)
        assert len({r["nonce"] for r in cluster.requests("acquire")}) == 2


def test_event_loop_never_waits_for_the_start(cluster: Cluster) -> None:
    cluster.replies.append("late")
    client, generator = open_generator(cluster, lazy=True)

    async def main() -> None:
        assert refusal(generator.next) == "WINDOW_ENDED"
        cluster.gate.set()
        await asyncio.to_thread(generator.ready)
        generator.next()

    with client:
        asyncio.run(main())


def run(program: str, *arguments: str) -> None:
    """Runs a program to its end."""
    command = [sys.executable, *arguments, program]
    subprocess.run(command, env={"PYTHONPATH": str(SOURCES)}, timeout=300, check=True)


def test_exit_of_the_process_releases_the_worker(cluster: Cluster) -> None:
    program = f"""
from snowraft import Client
generator = Client({cluster.member.address!r}, timeout=60).generator(lazy=True)
generator.next()
"""
    run(program, "-c")
    eventually(lambda: [r["token"] for r in cluster.released] == ["1"])


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_exit_of_a_child_of_multiprocessing_releases_its_worker(cluster: Cluster, method: str, tmp_path: Path) -> None:
    program = f"""
import multiprocessing
from snowraft import Client
generator = Client({cluster.member.address!r}, timeout=60).generator(lazy=True)
def work():
    generator.next()
if __name__ == "__main__":
    child = multiprocessing.get_context({method!r}).Process(target=work)
    child.start()
    child.join()
    assert child.exitcode == 0
"""
    (tmp_path / "program.py").write_text(program)
    run(str(tmp_path / "program.py"))
    eventually(lambda: [r["token"] for r in cluster.released] == ["1"])


def test_exit_of_a_pool_of_processes_releases_all_workers(cluster: Cluster, tmp_path: Path) -> None:
    program = f"""
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from snowraft import Client
generator = Client({cluster.member.address!r}, timeout=60).generator(lazy=True)
def work(_):
    return generator.next()
if __name__ == "__main__":
    generator.next()
    for method in multiprocessing.get_all_start_methods():
        with ProcessPoolExecutor(2, multiprocessing.get_context(method)) as pool:
            list(pool.map(work, range(10)))
"""
    (tmp_path / "program.py").write_text(program)
    run(str(tmp_path / "program.py"))
    eventually(lambda: len(cluster.released) == len(cluster.requests("acquire")) > 1)


def test_first_id_at_the_exit_leaves_no_worker_behind(cluster: Cluster) -> None:
    """From Python 3.12 on, no thread starts at the exit, and so no worker is acquired."""
    program = f"""
import atexit
from snowraft import Client, SnowraftError
generator = Client({cluster.member.address!r}, timeout=60).generator(lazy=True)
def last():
    try:
        generator.next()
    except SnowraftError as e:
        assert "before the process exits" in str(e), e
atexit.register(last)
"""
    run(program, "-c")
    eventually(lambda: len(cluster.released) == len(cluster.requests("acquire")))


def test_generator_that_nobody_uses_is_collected() -> None:
    client = Client("127.0.0.1:1")
    generator = weakref.ref(client.generator(lazy=True))
    del client
    gc.collect()
    assert generator() is None
