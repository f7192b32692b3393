"""A system that starts no further thread, for a time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from fake import Member, one_id
from kit import eventually
from test_blocks import Counter
from test_buffer import Source
from test_calls import reason
from test_generator import Cluster, open_generator

from snowraft import Client, SnowraftError, _life, _requests, _watch


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    c = Cluster()
    with c.member:
        yield c
        c.gate.set()


@contextmanager
def no_thread(name: str) -> Iterator[list[str]]:
    """Refuses threads of a name. The list has the refusals."""
    start, refused = threading.Thread.start, list[str]()

    def refuse(thread: threading.Thread) -> None:
        if thread.name == f"snowraft-{name}":
            refused.append(name)
            raise RuntimeError("can't start new thread")
        start(thread)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        yield refused


def refused(call: Callable[[], object]) -> None:
    error = reason(call)
    assert error.reason == "UNAVAILABLE" and error.retry and "raise the limit of threads" in str(error)


def clocks() -> list[threading.Thread]:
    return [t for t in threading.enumerate() if t.name == "snowraft-clock"]


@pytest.mark.parametrize("name", ["clock", "open"])
def test_lazy_generator_begins_again(cluster: Cluster, name: str) -> None:
    client, generator = open_generator(cluster, lazy=True)
    with client:
        with no_thread(name):
            refused(generator.next)
            refused(generator.ready)
        eventually(lambda: not clocks())
        assert not cluster.grants
        generator.next()
        assert len(clocks()) == 1
    assert len(cluster.grants) == len(cluster.released) == 1


@pytest.mark.parametrize("name", ["clock", "open"])
def test_generator_that_did_not_start_is_forgotten(cluster: Cluster, name: str) -> None:
    with Client(cluster.member.address) as client:
        with no_thread(name):
            refused(client.generator)
        assert not client._open


def test_lanes_open_when_threads_start(cluster: Cluster) -> None:
    client, generator = open_generator(cluster, lazy=True, lanes=3)
    with client:
        with no_thread("lane-1") as refusals:
            generator.next()  # from the first lane
            eventually(lambda: len(refusals) == 3)
        eventually(lambda: [lane.token > 0 for lane in generator.lanes()] == [True] * 3)
        assert sorted(r["holder"][-2:] for r in cluster.requests("acquire")) == ["/0", "/1", "/2"]
    assert len(cluster.released) == 3


def test_lanes_open_after_an_unexpected_error(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        monkeypatch.undo()
        raise KeyError("bug")

    monkeypatch.setattr(_requests, "get_layout", fail)
    client, generator = open_generator(cluster)
    with client:
        generator.ready()


def test_clock_is_checked_after_an_unexpected_error(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    failed, ticked = list[int](), threading.Event()

    def fail(_: object) -> None:
        failed.append(1)
        raise KeyError("bug")

    monkeypatch.setattr(_life.Life, "_query", fail)
    monkeypatch.setattr(_watch.Watch, "tick", lambda _: ticked.set())
    client, generator = open_generator(cluster)
    with client:
        assert ticked.wait(300) and failed
        generator.ready()


def test_calls_need_no_list_of_members() -> None:
    with Member(one_id) as member, Client(member.address) as client:
        with no_thread("members") as refusals:
            assert client.next_id() == client.next_id() == 1
        assert len(refusals) == 2 and not member.of("/v1/members")
        client.next_id()
        eventually(lambda: len(member.of("/v1/members")) == 1)


def test_buffer_begins_again() -> None:
    source = Source()
    with source.member, Client(source.member.address) as client:
        with no_thread("buffer"):
            refused(client.buffer)
            assert not client._open
        buffer = client.buffer()
        buffer.ready()
        buffer._begin()  # as in a child
        with no_thread("buffer"):
            refused(lambda: buffer.next(timeout=1))
        buffer.next()


@pytest.mark.parametrize("name", ["sequence", "blocks"])
def test_blocks_begin_again(name: str) -> None:
    counter = Counter()
    with counter.member, Client(counter.member.address) as client, client.blocks("s") as blocks:
        with no_thread(name):
            refused(blocks.next)
        assert blocks.next() == 1


def test_blocks_issue_without_a_thread_for_the_next_block() -> None:
    counter = Counter()
    with counter.member, Client(counter.member.address) as client, client.blocks("s", first=10) as blocks:
        first = blocks.next()
        eventually(lambda: blocks._fetching is None)
        with no_thread("blocks") as refusals:
            size = blocks.stats().block_size
            rest = blocks.take(size - 1)
            assert rest.first == first + 1 and refusals
        blocks.next()


def test_error_names_the_cause() -> None:
    with no_thread("open"), Client("127.0.0.1:1") as client, pytest.raises(SnowraftError) as raised:
        client.generator()
    assert "can't start new thread" in str(raised.value)
