"""How a generator ends: closes and seals, at any moment."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from fake import Call, refuse
from kit import FakeClock, eventually
from test_generator import Cluster, open_generator

from snowraft import Buffer, Client, Generator, Layout, SnowraftError
from snowraft._answers import Grant
from snowraft._lease import Lease


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    c = Cluster()
    with c.member:
        yield c
        c.gate.set()


def test_sealed_cluster_stops_at_once(cluster: Cluster) -> None:
    client, generator = open_generator(cluster)
    with client:
        generator.ready()
        generator.next()
        cluster.sealed = True
        with pytest.raises(SnowraftError):
            client.next_id()  # any call shows it
        with pytest.raises(SnowraftError) as raised:
            generator.next(timeout=0)
        assert raised.value.reason == "SET_BACK" and not raised.value.retry
        cluster.sealed = False  # restored
        eventually(lambda: generator.problem() is None)
        assert generator.lanes()[0].token > 1


def test_grant_on_its_way_when_the_seal_is_found(cluster: Cluster) -> None:
    cluster.replies = ["late"]
    client, generator = open_generator(cluster)
    with client:
        eventually(lambda: len(cluster.grants) == 1)
        client._core.sealed(SnowraftError("sealed", reason="SET_BACK"))
        cluster.gate.set()
        generator.ready()
        assert generator.lanes()[0].token == 2


def test_seal_while_a_grant_is_opened(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster.replies = ["late"]
    client, generator = open_generator(cluster)
    with client:
        eventually(lambda: len(cluster.grants) == 1)
        lane, open_lease = generator._life.lanes[0], generator._life.lanes[0]._open

        def sealed_first(*args: Any) -> Any:
            monkeypatch.undo()
            lane.sealed(SnowraftError("sealed", reason="SET_BACK"))
            return open_lease(*args)

        monkeypatch.setattr(lane, "_open", sealed_first)
        cluster.gate.set()
        generator.ready()
        assert generator.lanes()[0].token == 2


def test_seal_reaches_all_that_requests(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """A grant or IDs from before a seal must not arrive in an object that the client does not know yet."""
    client, order = Client(cluster.member.address), list[str]()

    class Opened(list[Any]):
        def append(self, opened: Any) -> None:
            order.append("known")
            super().append(opened)

    for kind in (Generator, Buffer):
        monkeypatch.setattr(kind, "_start", lambda _: order.append("started"))

    with client:
        client._open = Opened()
        client.generator()
        client.buffer()
        assert order == ["known", "started"] * 2


def test_close_waits_for_an_extension_and_releases_its_end(cluster: Cluster) -> None:
    clock = FakeClock()
    cluster.window_ms = 2000
    client, generator = open_generator(cluster, clock)
    with client:
        generator.ready()
        cluster.replies = ["late"]
        clock.pass_ms(2000)
        with pytest.raises(SnowraftError):
            generator.next(timeout=0)
        eventually(lambda: len(cluster.grants) == 2)
        closing = threading.Thread(target=generator.close)
        closing.start()
        eventually(lambda: generator._life._stop.is_set())
        cluster.gate.set()
        closing.join(300)
    assert [r["untilTick"] for r in cluster.released] == [cluster.grants[1]["untilTick"]]


def test_lanes_that_open_during_a_close_issue_nothing(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = threading.Event()

    def late(call: Call) -> Any:
        return gate.wait(300) and cluster.answer(call)

    cluster.member.answer = late
    client, generator = open_generator(cluster, lanes=2)
    with client:
        life, stop = generator._life, generator._life._stop.set

        def stop_late() -> None:
            gate.set()
            if not generator._lock.locked():  # the lanes can open now
                eventually(lambda: len(life.lanes) == 2 and all(lane.lease for lane in life.lanes))
            stop()

        monkeypatch.setattr(life._stop, "set", stop_late)
        generator.close()
        assert not life.lanes and not cluster.grants
        with pytest.raises(SnowraftError) as raised:
            generator.next()
        assert raised.value.reason == "CLOSED"


def test_lease_is_closed_before_its_release(cluster: Cluster) -> None:
    client, generator = open_generator(cluster)
    closed: list[bool] = []

    def release(call: Call) -> Any:
        if call.path == "/v1/workers:release":
            closed.extend(bool(lane.lease and lane.lease.closed) for lane in generator._life.lanes)
        return cluster.answer(call)

    cluster.member.answer = release
    with client:
        generator.ready()
        generator._life._stop.set()  # the thread ends, although nothing has stopped the lane
        generator._life.lanes[0].kick()
        eventually(lambda: len(cluster.released) == 1)
        assert closed == [True]


def test_closed_lease_issues_nothing_at_any_time() -> None:
    layout = Layout([("time", 41), ("worker", 10), ("sequence", 12)], epoch_ms=-10_000)
    ends: list[Callable[[Lease], object]] = [Lease.close, lambda lease: lease.take(10_001, 1)]
    for end in ends:
        lease = Lease(layout, Grant(1, 1, 0, 20_000, 0, 600_000))
        assert lease.take_at(-1) and lease.wall == -1 and lease.position < lease.stop
        end(lease)
        assert not lease.position < lease.stop


def test_worker_of_another_holder_needs_no_release(cluster: Cluster) -> None:
    def mismatch(call: Call) -> Any:
        answer = cluster.answer(call)
        return refuse("WINDOW_MISMATCH", 10, 409) if call.path == "/v1/workers:release" else answer

    cluster.member.answer = mismatch
    client, generator = open_generator(cluster)
    with client:
        generator.ready()
        generator.close()
        assert len(cluster.released) == 1
