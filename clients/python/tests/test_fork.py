"""Process images: children of forks, by Python and in C."""

from __future__ import annotations

import ctypes
import gc
import json
import os
import signal
import sys
import threading
import time
from array import array
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from certificates import Authority
from fake import Call, Member, one_id, refuse
from kit import eventually
from test_blocks import Counter
from test_buffer import Source
from test_generator import Cluster, open_generator

from snowraft import Client, SnowraftError, _image

if not hasattr(os, "fork"):
    pytest.skip("no fork", allow_module_level=True)


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    c = Cluster()
    with c.member:
        yield c


def in_child(what: Callable[[], Any], fork: Callable[[], int] = os.fork) -> Any:
    """Returns the result of a function in a child. A child that hangs is a test that hangs: alarm ends it."""
    receive, send = os.pipe()
    pid = fork()
    if pid == 0:
        result: Any = "failed"
        try:
            signal.alarm(300)
            result = what()
        except BaseException as e:
            result = repr(e)
        finally:
            os.write(send, json.dumps(result).encode())
            os._exit(0)
    os.close(send)
    with os.fdopen(receive, "rb") as stream:
        content = stream.read()
    assert os.waitpid(pid, 0)[1] == 0, "the child did not end in time"
    return json.loads(content)


def quiet_fork() -> int:
    """Forks without the hook of the package, as libraries in C do. Only the mark shows the fork.

    A fork in C with the threads of Python waiting for its lock can leave the child without a thread that has it.
    """
    hooked = list(_image._inheritors)
    _image._inheritors.clear()
    pid = os.fork()
    for inheritor in hooked if pid else ():
        _image._inheritors.add(inheritor)
    return pid


def fork_in(holder: Any, name: str, call: Callable[[], Any], fork: Callable[[], int]) -> tuple[Any, Any]:
    """Forks once, after a function that call uses, as a signal handler does that returns in its child.

    Returns the results of call in this process and in the child, or the reasons why it failed.
    """
    receive, send = os.pipe()
    pids, function = list[int](), getattr(holder, name)

    def forking(*args: Any) -> Any:
        result = function(*args)
        if not pids:
            pids.append(fork())
            signal.alarm(0 if pids[0] else 300)
        return result

    setattr(holder, name, forking)
    try:
        result = call()
    except SnowraftError as e:
        result = e.reason
    if pids == [0]:
        os.write(send, json.dumps(result).encode())
        os._exit(0)
    setattr(holder, name, function)
    os.close(send)
    with os.fdopen(receive, "rb") as stream:
        content = stream.read()
    assert os.waitpid(pids[0], 0)[1] == 0, "the child did not end in time"
    return result, json.loads(content)


def refusal(call: Callable[[], Any]) -> str:
    try:
        call()
    except SnowraftError as e:
        return e.reason
    return "none"


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_200_forks_while_threads_issue(cluster: Cluster) -> None:
    client, generator = open_generator(cluster)
    with client:
        generator.ready()
        stop = threading.Event()
        issued: list[array[int]] = []

        def work() -> None:
            mine = array("q")
            while not stop.is_set():
                mine.extend(generator.next() for _ in range(100))
                time.sleep(0)  # lets the thread that forks run
            issued.append(mine)

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        interval = sys.getswitchinterval()
        sys.setswitchinterval(1e-6)  # otherwise each step of this thread waits for eight others
        refused = [in_child(lambda: [refusal(generator.next) for _ in range(3)]) for _ in range(200)]
        sys.setswitchinterval(interval)
        stop.set()
        for thread in threads:
            thread.join(300)
        assert refused == [["UNAVAILABLE"] * 3] * 200
        ids = [id for mine in issued for id in mine]
        assert len(issued) == 8 and ids and len(set(ids)) == len(ids)
        generator.next()
        assert not cluster.released


@pytest.mark.parametrize("fork", [os.fork, quiet_fork], ids=["os.fork", "without hook"])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_child_leases_its_own_worker(cluster: Cluster, fork: Callable[[], int]) -> None:
    client, generator = open_generator(cluster)
    with client:
        generator.ready()
        before = generator.next()

        def child() -> list[Any]:
            found: list[Any] = [refusal(generator.next), refusal(lambda: generator.next(5))]
            generator.ready()
            found += [generator.next(), generator.lanes()[0].token]
            generator.close()
            return found

        first, with_floor, id, token = in_child(child, fork)
        assert (first, with_floor) == ("UNAVAILABLE", "UNAVAILABLE")
        assert id >> 12 & 1023 != before >> 12 & 1023 and token == 2
        assert [r["token"] for r in cluster.released] == ["2"]
        nonces = {r["nonce"] for r in cluster.requests("acquire")}
        assert len(nonces) == 2
        assert generator.next() > before  # the parent goes on


def test_child_that_closes_releases_nothing(cluster: Cluster) -> None:
    client, generator = open_generator(cluster)
    with client:
        generator.ready()
        generator.next()

        def child() -> str:
            generator.close()
            client.close()
            return refusal(generator.next)

        assert in_child(child) == "CLOSED"
        assert in_child(child, quiet_fork) == "CLOSED"
        assert not cluster.released
        generator.next()
    assert [r["token"] for r in cluster.released] == ["1"]


@pytest.mark.parametrize("fork", [os.fork, quiet_fork], ids=["os.fork", "without hook"])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_fork_within_next(cluster: Cluster, fork: Callable[[], int]) -> None:
    client, generator = open_generator(cluster)
    with client:
        generator.ready()
        clock = generator._clock.wall_ns()
        generator._wall_ns = lambda: clock
        uses: list[tuple[str, Callable[[], Any]]] = [
            ("_wall_ns", generator.next),  # prepares the fast path
            ("_wall_ns", generator.next),
            ("_try", lambda: generator.next(1)),
            ("_try", lambda: generator.take(10)),
        ]
        for name, use in uses:
            mine, theirs = fork_in(generator, name, use, fork)
            assert mine != "UNAVAILABLE" and theirs == "UNAVAILABLE"
        generator.next()
    assert [r["token"] for r in cluster.released] == ["1"]


@pytest.mark.parametrize("fork", [os.fork, quiet_fork], ids=["os.fork", "without hook"])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_fork_within_next_of_blocks_and_buffers(fork: Callable[[], int]) -> None:
    counter, source = Counter(), Source()
    with counter.member, Client(counter.member.address) as client, client.blocks("s") as blocks:
        drawn = [*blocks.take(2)]
        assert (stock := blocks._store.current) is not None
        for holder, name, use in (
            (type(stock.block), "number", blocks.next),
            (blocks._store, "serve", lambda: blocks.take(1).first),
        ):
            drawn += fork_in(holder, name, use, fork)
        assert len(set(drawn)) == 6, drawn
    source.refusal = refuse("NO_LEADER")
    with source.member, Client(source.member.address) as client, client.buffer(10) as buffer:
        wait = buffer._await

        def wait_for_ids(timeout: float | None) -> int:
            source.refusal = None
            return wait(timeout)

        buffer._await = wait_for_ids  # type: ignore[method-assign]
        ids = [*fork_in(buffer, "_await", buffer.next, fork), *fork_in(buffer, "_pop", buffer.next, fork)]
        assert len(set(ids)) == 4, ids


def test_threads_of_a_child_notice_a_fork_once(cluster: Cluster) -> None:
    grants = cluster.member.answer
    cluster.member.answer = lambda call: one_id(call) if "ids" in call.path else grants(call)
    with Client(cluster.member.address) as client:
        generator, blocks, buffer = client.generator(), client.blocks("s"), client.buffer(1)
        generator.ready()
        uses: list[tuple[Any, Callable[[], Any]]] = [
            (generator, generator.problem),
            (blocks, blocks.stats),
            (buffer, buffer.stats),
            (client, lambda: client.next_id()),
        ]

        def times(inheritor: Any, use: Callable[[], Any]) -> int:
            both, calls, forked = threading.Barrier(2), list[int](), inheritor._forked

            def counted() -> None:
                calls.append(1)
                try:
                    both.wait(0.3)  # for the other thread, which must not come
                except threading.BrokenBarrierError:
                    pass
                forked()

            inheritor._forked = counted
            threads = [threading.Thread(target=use) for _ in range(2)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            return len(calls)

        assert in_child(lambda: [times(*use) for use in uses], quiet_fork) == [1, 1, 1, 1]


def test_mark_of_a_child_shows_that_the_lease_was_dropped(cluster: Cluster) -> None:
    client, generator = open_generator(cluster)
    with client:
        generator.ready()

        def child() -> list[int]:
            marks, life = list[int](), generator._life
            inherited = life.inherited

            def marked(changed: threading.Condition) -> Any:
                marks.append(generator._page[0])
                return inherited(changed)

            life.inherited = marked  # type: ignore[method-assign]
            refusal(generator.next)
            return marks

        assert in_child(child, quiet_fork) == [0]


@pytest.mark.parametrize("fork", [os.fork, quiet_fork], ids=["os.fork", "without hook"])
def test_connections_are_not_shared(cluster: Cluster, fork: Callable[[], int]) -> None:
    cluster.member.answer = one_id
    with Client(cluster.member.address) as client:
        client.next_id()

        def child() -> int:
            client.next_id()
            return client.next_id()

        assert in_child(child, fork) == 1
        client.next_id()
        calls = cluster.member.of("/v1/ids:generate")
        assert not {calls[1].connection, calls[2].connection} & {calls[0].connection, calls[3].connection}


@pytest.mark.parametrize("fork", [os.fork, quiet_fork], ids=["os.fork", "without hook"])
def test_child_writes_nothing_to_tls_connections_of_its_parent(fork: Callable[[], int]) -> None:
    ours = Authority()

    def answer(call: Call) -> Any:
        return {"ca": ours.pem} if call.path == "/v1/ca" else one_id(call)

    with Member(answer, ours.server()) as member, Client(member.address, pin=ours.pin) as client:
        client.next_id()
        eventually(lambda: len(member.of("/v1/members")) == 1)

        def child() -> int:
            client.next_id()
            client.close()
            gc.collect()
            return 1

        assert in_child(child, fork) == 1
        before = member.connections
        client.next_id()
        assert member.connections == before


def test_buffered_ids_are_not_shared(cluster: Cluster) -> None:
    count = iter(range(1, 1 << 30, 1000))
    cluster.member.answer = lambda call: {
        "ranges": [{"first": str(next(count)), "count": call.body["count"], "step": "1"}]
    }
    with Client(cluster.member.address) as client:
        buffer = client.buffer(100)
        buffer.ready()
        mine = [buffer.next() for _ in range(50)]
        for fork in (os.fork, quiet_fork):
            theirs = in_child(lambda: [buffer.next() for _ in range(50)], fork)
            assert len(theirs) == 50 and not set(mine) & set(theirs)
            mine += [*theirs, buffer.next()]
        assert len(set(mine)) == len(mine)


def test_mark_without_help_of_the_kernel() -> None:
    mark = _image._Pid()
    assert mark[0] == 1
    assert in_child(lambda: mark[0]) == 0
    page = _image.mark()
    assert page[0] == 1
    assert in_child(lambda: page[0]) == 0
    pid = ctypes.PyDLL(None).fork()
    if pid == 0:
        os._exit(page[0])
    assert os.waitpid(pid, 0)[1] == 0
