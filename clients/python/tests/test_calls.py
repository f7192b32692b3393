"""Calls: retries, time limits, members, shared calls, and answers that no member sends."""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import Callable
from typing import Any

import pytest
import vectors
from fake import Call, Member, one_id, refuse
from kit import eventually, one_round

from snowraft import Batch, Client, Hooks, Numbers, SnowraftError, Try
from snowraft import _coalescer
from snowraft import _methods as methods
from snowraft._core import Broken
from snowraft._transport import readable
from snowraft.aio import Client as AsyncClient


def reason(call: Any) -> SnowraftError:
    with pytest.raises(SnowraftError) as raised:
        call()
    return raised.value


def numbers(first: int, count: int, **other: Any) -> dict[str, Any]:
    return {"first": str(first), "count": count, "increment": "1", "texts": [], "mode": "strict"} | other


UNREQUESTED = b'HTTP/1.1 200 OK\r\nContent-Length: 52\r\n\r\n{"ranges":[{"first":"777","count":1,"step":"1"}]}   '


def test_another_member_is_tried() -> None:
    with Member(lambda _: refuse("WINDOW_ENDED")) as a, Member(one_id) as b:
        with Client([a.address, b.address]) as client:
            assert [client.next_id() for _ in range(10)] == [1] * 10
        assert len(b.of("/v1/ids:generate")) == 10


def test_member_that_is_down_is_avoided() -> None:
    tries: list[Try] = []
    with Member(one_id) as down, Member(one_id) as b:
        down.close()
        with Client([down.address, b.address], hooks=Hooks(on_try=tries.append)) as client:
            for _ in range(20):
                client.next_id()
    failed = [t for t in tries if t.error and t.path == "/v1/ids:generate"]
    assert len(failed) <= 1 and all(t.error and not t.error.unknown for t in failed)


def test_reasons_decide_about_repetitions() -> None:
    answers: list[Any] = []
    with Member(lambda _: answers.pop(0)) as member, Client(member.address) as client:
        answers[:] = [refuse("NO_LEADER"), refuse("COMMIT_UNKNOWN", 2, 500), numbers(7, 1)]
        assert client.sequence("orders").next() == 7
        answers[:] = [refuse("UNKNOWN_SEQUENCE", 5, 404), numbers(8, 1)]
        error = reason(client.sequence("orders").next)
        assert error.reason == "UNKNOWN_SEQUENCE" and not error.retry and not error.unknown
        answers[:] = [refuse("NO_LEADER"), refuse("COMMIT_UNKNOWN", 2, 500), {}]
        error = reason(lambda: client.sequence("orders").set_next(5))  # not repeatable
        assert error.reason == "COMMIT_UNKNOWN" and not error.retry and error.unknown
        answers[:] = [refuse("RATE_LIMITED", 8, 429), numbers(9, 1)]
        error = reason(client.sequence("orders").next)
        assert error.reason == "RATE_LIMITED" and error.retry


def test_broken_connection_after_the_request() -> None:
    answers: list[Any] = []
    with Member(lambda _: answers.pop(0)) as member, Client(member.address) as client:
        answers[:] = [None, numbers(7, 1)]
        assert client.sequence("orders").next() == 7
        answers[:] = [None, {}]
        error = reason(lambda: client.sequence("orders").set_next(5))
        assert error.reason == "UNAVAILABLE" and error.unknown and not error.retry


def test_deadline_holds_and_names_the_last_reason() -> None:
    gate = threading.Event()
    with Member(lambda _: gate.wait(300) and None) as slow, Client(slow.address) as client:
        timeout = 0.2
        while not (error := reason(lambda: client.next_id(timeout=timeout))).unknown and timeout < 60:
            timeout *= 2  # the time passed before the request was sent
        assert error.reason == "TIMEOUT" and error.unknown and error.retry and slow.address in str(error)
        gate.set()
    with Member(lambda _: refuse("NO_LEADER")) as member, Client(member.address) as client:
        error = reason(lambda: client.next_id(timeout=0.2))
        assert error.reason == "NO_LEADER" and error.retry


def test_nobody_is_there() -> None:
    with Member(one_id) as member:
        pass
    with Client(member.address) as client, one_round():
        error = reason(client.next_id)
    assert error.reason == "UNAVAILABLE" and not error.unknown and error.retry
    assert str(error) == (
        f"snowraft: no member can be reached (tried: {member.address}): connection refused; "
        "check the addresses: they are host:port of the HTTP ports, 7701 by default [UNAVAILABLE]"
    )


def test_idle_connection_that_was_closed_is_not_used() -> None:
    with Member(lambda _: {"sequence": {"generation": "1"}}) as member, Client(member.address) as client:
        for _ in range(3):
            client.sequence("orders").set_next(5)  # a request that must not be repeated
            member.drop()
            eventually(lambda: _unread(client))


def _unread(client: Client) -> bool:
    idle = [c for connections in client._transport._idle.values() for _, c in connections]
    return all(readable(c) for c in idle)


def test_unrequested_answer_is_the_answer_of_nothing() -> None:
    with Member(one_id) as member, Client(member.address) as client:
        for _ in range(3):
            assert client.next_id(timeout=300) == 1
            member.send(UNREQUESTED)
            eventually(lambda: _unread(client))


def test_members_are_learned_and_the_leader_preferred() -> None:
    with Member(one_id) as a, Member(one_id) as b:
        members = [{"httpAddress": a.address, "leader": False}, {"httpAddress": b.address, "leader": True}]
        for m in (a, b):
            m.answer = lambda call: one_id(call) if "ids" in call.path else numbers(1, call.body["count"])
            m.members = members
        with Client(a.address) as client:
            client.next_id()
            eventually(lambda: len(client._core.standing.addresses()) == 2)
            sequence = client.sequence("orders")
            sequence.next()  # shows that the sequence is strict
            before = len(a.of("/v1/sequences:next"))
            for _ in range(5):
                sequence.next()
            assert len(a.of("/v1/sequences:next")) == before


def test_hooks_that_raise_have_no_effect() -> None:
    heard = list[Any]()

    def fail(event: Any) -> None:
        heard.append(event)
        raise KeyError("label")

    answer = lambda call: numbers(1, 1) if call.path == "/v1/sequences:next" else one_id(call)
    with Member(answer) as member, Client(member.address, hooks=Hooks(on_try=fail, on_batch=fail)) as client:
        assert (client.next_id(), client.sequence("orders").next()) == (1, 1)
    assert {type(event) for event in heard} == {Try, Batch}


def test_concurrent_callers_share_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_coalescer, "OVERDUE", 60)  # no call begins because another one is slow
    gate, batches = threading.Event(), list[Batch]()
    first = iter([1, 100, 1000])

    def answer(call: Call) -> Any:
        gate.wait(300)
        return numbers(next(first), call.body["count"])

    with Member(answer) as member, Client(member.address, hooks=Hooks(on_batch=batches.append)) as client:
        sequence, got = client.sequence("orders"), list[int]()
        take = lambda: got.append(sequence.next())
        leaders = [threading.Thread(target=take) for _ in range(40)]
        for thread in leaders:
            thread.start()

        def sent() -> int:
            return sum(int(c.body["count"]) for c in member.of("/v1/sequences:next"))

        def waiting() -> int:
            batch = sequence._calls._open
            return batch.callers if batch else 0

        eventually(lambda: sent() + waiting() == 40)
        gate.set()
        for thread in leaders:
            thread.join()
        assert len(got) == 40 and len(set(got)) == 40
        assert len(member.of("/v1/sequences:next")) <= 3 and sent() == 40
        assert sum(b.callers for b in batches) == 40


def test_call_in_flight_takes_no_more_callers() -> None:
    """The answer to a call may be older than a caller that comes while it is on its way."""
    gate, first = threading.Event(), iter([1, 100])

    def answer(call: Call) -> Any:
        value = next(first)
        gate.wait(300)
        return numbers(value, call.body["count"])

    with Member(answer) as member, Client(member.address) as client:
        sequence, got = client.sequence("orders"), list[int]()
        threads = [threading.Thread(target=lambda: got.append(sequence.next())) for _ in range(2)]

        def joined() -> bool:
            batch = sequence._calls._open
            return batch is not None and batch.callers == 2

        for sent, thread in enumerate(threads, 1):
            thread.start()
            eventually(lambda: len(member.of("/v1/sequences:next")) == sent or joined())
        gate.set()
        for thread in threads:
            thread.join()
        assert sorted(got) == [1, 100]


def test_exhausted_batch_is_divided() -> None:
    def answer(call: Call) -> Any:
        if call.body["count"] > 1:
            return refuse("SEQUENCE_EXHAUSTED", 11, 400)
        return numbers(5, 1)

    with Member(answer) as member, Client(member.address) as client:
        sequence = client.sequence("orders")
        assert sequence._calls.do(1)[0].first == 5
        from snowraft._coalescer import _Shared

        batch: _Shared[Numbers] = _Shared()
        sequence._calls._open = batch
        batch.join(1)
        got: list[int] = []
        with batch.gate:
            thread = threading.Thread(target=lambda: got.append(sequence.next()))
            thread.start()
            eventually(lambda: batch.callers == 2)
            sequence._calls._lead(batch)
        thread.join()
        assert got == [5]


@pytest.mark.parametrize("at", range(6))
def test_interrupted_leader_leaves_nobody_waiting(at: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The leader is interrupted where it takes or has released the lock, before or after its request."""
    monkeypatch.setattr(_coalescer, "MOST_IN_FLIGHT", 1)
    interrupted = itertools.count()

    class Turn(threading.Condition):
        def __enter__(self) -> bool:
            if threading.current_thread() is leader and next(interrupted) == at:
                raise KeyboardInterrupt
            return super().__enter__()

        def __exit__(self, *args: Any) -> None:
            super().__exit__(*args)
            if threading.current_thread() is leader and next(interrupted) == at:
                raise KeyboardInterrupt

    def lead() -> None:
        try:
            calls.do(1)
        except KeyboardInterrupt:
            pass

    calls: _coalescer.Coalescer[int] = _coalescer.Coalescer(lambda count: count, lambda _: None)
    calls._turn = Turn()
    leader = threading.Thread(target=lead)
    leader.start()
    leader.join()
    got: list[int] = []
    later = threading.Thread(target=lambda: got.append(calls.do(1)[0]), daemon=True)
    later.start()
    later.join(300)
    assert got == [1]


def test_callers_of_an_interrupted_leader_get_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: _coalescer.Coalescer[int] = _coalescer.Coalescer(lambda count: count, lambda _: None)
    joined, errors = threading.Event(), list[SnowraftError]()

    def interrupt(batch: Batch) -> None:
        joined.set()
        eventually(lambda: batch.callers == 2)
        raise KeyboardInterrupt

    def follow() -> None:
        joined.wait(300)
        errors.append(reason(lambda: calls.do(1)))

    monkeypatch.setattr(calls, "_lead", interrupt)
    follower = threading.Thread(target=follow, daemon=True)
    follower.start()
    with pytest.raises(KeyboardInterrupt):
        calls.do(1)
    follower.join(300)
    assert [(e.reason, e.unknown) for e in errors] == [("UNAVAILABLE", True)]


def test_request_id_goes_alone_and_unchanged() -> None:
    with Member(lambda call: numbers(5, call.body["count"])) as member, Client(member.address) as client:
        assert client.sequence("orders").take(2, request_id="cart-ß").first == 5
        assert member.of("/v1/sequences:next")[0].body == {"sequence": "orders", "count": 2, "requestId": "cart-ß"}
        assert reason(lambda: client.sequence("orders").next(request_id="")).reason == "INVALID_ARGUMENT"
        assert reason(lambda: client.sequence("orders").next(request_id="é" * 33)).reason == "INVALID_ARGUMENT"


def test_numbers_of_a_period_go_alone() -> None:
    with Member(lambda call: numbers(5, call.body["count"])) as member, Client(member.address) as client:
        client.sequence("orders").texts(2, period="2026-11")
        client.sequence("orders").next(period="2026-10", from_=813, request_id="r")
        assert [call.body for call in member.of("/v1/sequences:next")] == [
            {"sequence": "orders", "count": 2, "period": "2026-11"},
            {"sequence": "orders", "count": 1, "requestId": "r", "period": "2026-10", "from": "813"},
        ]
        assert reason(lambda: client.sequence("orders").next(period="")).reason == "INVALID_ARGUMENT"
        assert reason(lambda: client.sequence("orders").next(from_=1)).reason == "INVALID_ARGUMENT"

    async def asynchronous(address: str) -> list[str]:
        async with AsyncClient(address) as client:
            return await client.sequence("orders").texts(1, period="2026-10", from_=813)

    with Member(lambda call: numbers(5, call.body["count"])) as member:
        asyncio.run(asynchronous(member.address))
        assert member.of("/v1/sequences:next")[0].body == {"sequence": "orders", "count": 1, "period": "2026-10", "from": "813"}


ID_ANSWERS = [
    {"ranges": []},
    {"ranges": [{"first": "0", "count": 2, "step": "1"}]},
    {"ranges": [{"first": "-5", "count": 2, "step": "1"}]},
    {"ranges": [{"first": "1", "count": 1, "step": "1"}, {"first": "1", "count": 1, "step": "1"}]},
    {"ranges": [{"first": "1", "count": 1, "step": "2"}, {"first": "2", "count": 1, "step": "1"}]},
    {"ranges": [{"first": "1", "count": 2, "step": "0"}]},
    {"ranges": [{"first": str((1 << 63) - 1), "count": 2, "step": "1"}]},
    {"ranges": [{"first": "1", "count": 1e6, "step": "1"}]},
    {"ranges": [{"first": "1", "count": True, "step": "1"}]},
    {"ranges": "x"},
    {"ranges": [None]},
    [],
    "text",
    {"ranges": [{"first": "9" * 10_000, "count": 2, "step": "1"}]},
]


@pytest.mark.parametrize("answer", ID_ANSWERS, ids=[str(n) for n in range(len(ID_ANSWERS))])
def test_impossible_ids_are_refused(answer: Any) -> None:
    with Member(lambda _: (200, answer)) as member, Client(member.address) as client:
        error = reason(lambda: client.ids(2))
        assert error.reason == "INTERNAL" and "invalid response of a member" in str(error)


NUMBER_ANSWERS = [
    numbers(1, 3),
    numbers(1, 2, increment="0"),
    numbers((1 << 63) - 1, 2),
    numbers(1, 2, texts=["1"]),
    numbers(1, 2, texts=[1, 2]),
    numbers(1, 2, period="tomorrow"),
    numbers(1, 2) | {"first": "1e3"},
]


@pytest.mark.parametrize("answer", NUMBER_ANSWERS, ids=[str(n) for n in range(len(NUMBER_ANSWERS))])
def test_impossible_numbers_are_refused(answer: Any) -> None:
    with Member(lambda _: answer) as member, Client(member.address) as client:
        assert reason(lambda: client.sequence("orders").take(2)).reason == "INTERNAL"


HOSTILE = [
    b"",
    b"\x16\x03\x01",
    b"SSH-2.0-OpenSSH\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n{}",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffff\r\n",
    b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 5000,
    b"HTTP/1.1 200 OK\r\nContent-Length: 50000\r\n\r\n" + b"[" * 50_000,
    b"HTTP/1.1 100 Continue\r\n\r\n",
    b"HTTP/1.1 302 Found\r\nLocation: http://evil.example/\r\nContent-Length: 0\r\n\r\n",
    b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 6\r\n\r\n<html>",
]


@pytest.mark.parametrize("data", HOSTILE, ids=[str(n) for n in range(len(HOSTILE))])
def test_hostile_bytes(data: bytes) -> None:
    with Member(lambda _: data, last=True) as member, Client(member.address) as client, one_round():
        error = reason(client.next_id)
        assert error.reason in ("UNAVAILABLE", "INTERNAL")
        understood = data[:4] in (b"", b"HTTP")
        assert error.unknown is understood and error.retry <= understood


GRPC = b"\x00\x00\x12\x04\x00\x00\x00\x00\x00"


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (GRPC, "the port speaks gRPC; use the port for HTTP, 7701 by default"),
        (b"\x15\x03\x01\x00\x02\x02\x46", "the port expects TLS; give a token with a pin, or a CA"),
        (
            b"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n",
            "the port expects TLS; give a token with a pin, or a CA",
        ),
        ((404, "no page"), "not a Snowraft member: status 404; use the port for HTTP, 7701 by default"),
    ],
)
def test_port_of_something_else(answer: Any, text: str) -> None:
    calls: list[Callable[[Client], object]] = [lambda c: c.next_id(), lambda c: c.sequence("s").set_next(5)]
    waits: list[Callable[[Client], object]] = [lambda c: c.generator().ready(3600), lambda c: c.buffer().ready(3600)]
    with Member(lambda _: answer, last=True) as member:
        for call in calls:
            with Client(member.address) as client:  # with a connection that the member has not closed yet
                error = reason(lambda: call(client))
            assert (error.reason, error.retry, error.unknown) == ("UNAVAILABLE", False, False)
            assert str(error) == f"snowraft: {member.address}: {text} [UNAVAILABLE]"
        assert len(member.paths()) == 2
        for wait in waits:
            with Client(member.address) as client:
                error = reason(lambda: wait(client))
            assert error.reason == "UNAVAILABLE" and text in str(error)


def test_wrong_port_is_left_for_a_right_one() -> None:
    with Member(lambda _: GRPC, last=True) as wrong, Member(one_id) as right:
        with Client([wrong.address, right.address]) as client:
            for _ in range(10):
                assert client.next_id() == 1


def test_requests_that_can_never_succeed_are_not_sent() -> None:
    with Member(one_id) as member, Client(member.address) as client:
        for call in (
            lambda: client.ids(0),
            lambda: client.ids(1_000_001),
            lambda: client.ids(1, after=-1),
            lambda: client.uuids(0),
            lambda: client.sequence("s").take(0),
            lambda: client.sequence("s").texts(0),
            lambda: client.sequence("s").texts(1001),
        ):
            assert reason(call).reason == "INVALID_ARGUMENT"
        assert not member.paths()


@pytest.mark.parametrize("address", ["", "host:", ":7701", "host:0", "host:70000", "a b:1", "http://host:1", "::1"])
def test_invalid_addresses(address: str) -> None:
    error = reason(lambda: Client(address))
    assert error.reason == "INVALID_ARGUMENT" and repr(address) in str(error) and "host:port" in str(error)


def test_addresses() -> None:
    client = Client("127.0.0.1, [::1],host:1,127.0.0.1:7701")
    assert client._core.standing.addresses() == ["127.0.0.1:7701", "[::1]:7701", "host:1"]


@pytest.mark.parametrize("options", [{"lanes": 0}, {"lanes": 65}, {"holder": ""}, {"holder": "a b"}, {"holder": "$a"}])
def test_invalid_options_of_a_generator(options: dict[str, Any]) -> None:
    with Client("127.0.0.1:1") as client:
        error = reason(lambda: client.generator(**options))
    (value,) = options.values()
    assert error.reason == "INVALID_ARGUMENT" and repr(value) in str(error)


def test_closed() -> None:
    client = Client("127.0.0.1:1")
    client.close()
    assert str(reason(client.next_id)) == "snowraft: the client is closed [CLOSED]"
    assert reason(client.generator).reason == "CLOSED"


@pytest.mark.parametrize(("answer", "unknown"), [(None, True), (refuse("UNKNOWN_SEQUENCE", 5, 404), False)])
def test_change_in_flight_at_close(answer: Any, unknown: bool) -> None:
    gate, errors = threading.Event(), list[SnowraftError]()
    with Member(lambda _: gate.wait(300) and answer) as member:
        client = Client(member.address)
        change = lambda: errors.append(reason(lambda: client.sequence("orders").set_next(5)))
        thread = threading.Thread(target=change)
        thread.start()
        eventually(lambda: len(member.paths()) == 1)
        client.close()
        gate.set()
        thread.join()
    assert [(e.reason, e.unknown) for e in errors] == [("CLOSED", unknown)]


def test_pause_at_close_keeps_the_outcome_of_earlier_tries(monkeypatch: pytest.MonkeyPatch) -> None:
    client = Client("127.0.0.1:1")
    flow, transport = client._core.call(methods.NEXT_NUMBERS, body={}), client._transport
    transport.close()

    def broken(_: object) -> Any:
        raise Broken("cut", sent=True)

    monkeypatch.setattr(transport, "_exchange", broken)
    error = reason(lambda: transport.run(flow))
    assert (error.reason, error.unknown) == ("CLOSED", True)


def test_receipts_are_brought_back() -> None:
    steps = vectors.load("receipts")["steps"]
    receipts = [s["receipt"] for s in steps if s["keeps"]][:2]

    def answer(call: Call) -> Any:
        block = {"token": "1", "first": "1", "count": call.body["count"], "increment": "1"}
        return {"block": block, "receipt": receipts[len(member.of("/v1/blocks:allocate")) - 1]}

    with Member(answer) as member, Client(member.address) as client:
        for _ in range(2):
            allocate = {"sequence": "s", "count": "10"}
            client._call(methods.ALLOCATE_BLOCK, body=allocate, timeout=300)
        brought = [c.headers.get("snowraft-receipt") for c in member.of("/v1/blocks:allocate")]
        assert brought == ["", receipts[0]] and client._core.receipts.latest == receipts[1]
