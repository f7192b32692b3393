"""Lazy generators, which modules make when they are imported."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from kit import eventually
from test_fork import in_child, quiet_fork, refusal
from test_generator import Cluster, open_generator

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
    assert not cluster.member.calls
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


def test_exit_of_the_process_releases_the_worker(cluster: Cluster) -> None:
    program = f"""
from snowraft import Client
generator = Client({cluster.member.address!r}, timeout=60).generator(lazy=True)
generator.next()
"""
    subprocess.run([sys.executable, "-c", program], env={"PYTHONPATH": str(SOURCES)}, timeout=300, check=True)
    eventually(lambda: [r["token"] for r in cluster.released] == ["1"])
