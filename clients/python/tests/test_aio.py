"""The client for asyncio."""

from __future__ import annotations

import asyncio
import inspect
import threading
from typing import Any

import pytest
from fake import Call, Member, one_id, refuse
from kit import one_round
from test_blocks import Counter
from test_buffer import Source
from test_calls import HOSTILE, UNREQUESTED, numbers
from test_generator import Cluster

import snowraft
from snowraft import Batch, Hooks, SnowraftError, aio
from snowraft.aio import Client
from snowraft.aio._transport import _unread


def run(coroutine: Any) -> Any:
    return asyncio.run(coroutine)


def parameters(function: Any) -> dict[str, tuple[Any, Any]]:
    return {p.name: (p.kind, p.default) for p in inspect.signature(function).parameters.values()}


OF_THREADS = {"generator": "lazy", "buffer": "no_wait"}  # options that asyncio does not need


@pytest.mark.parametrize("name", ["Client", "Sequence"])
def test_calls_of_both_clients_agree(name: str) -> None:
    theirs, ours = getattr(snowraft, name), getattr(aio, name)
    calls = [call for call in vars(theirs) if not call.startswith("_")]
    assert calls
    for call in [*calls, "__init__"]:
        expected = parameters(getattr(theirs, call))
        expected.pop(OF_THREADS.get(call, ""), None)
        assert parameters(getattr(ours, call)) == expected, call


def test_concurrent_tasks_share_calls() -> None:
    batches: list[Batch] = []
    first = iter(range(1, 1 << 40, 10_000))

    async def main(address: str) -> list[int]:
        async with Client(address, hooks=Hooks(on_batch=batches.append)) as client:
            sequence = client.sequence("orders")
            rounds = [sequence.next() for _ in range(100)]
            got: list[int] = await asyncio.gather(*rounds)
            return got + await asyncio.gather(*(sequence.next() for _ in range(100)))

    with Member(lambda call: numbers(next(first), call.body["count"])) as member:
        got = run(main(member.address))
        assert len(set(got)) == 200
        assert len(member.of("/v1/sequences:next")) < 20 and sum(b.callers for b in batches) == 200


def test_call_in_flight_takes_no_more_tasks() -> None:
    """The answer to a call may be older than a caller that comes while it is on its way."""
    gate, first = threading.Event(), iter([1, 100])

    def answer(call: Call) -> Any:
        value = next(first)
        gate.wait(300)
        return numbers(value, call.body["count"])

    async def main(member: Member) -> list[int]:
        async with Client(member.address) as client:
            sequence = client.sequence("orders")
            tasks = [asyncio.ensure_future(sequence.next())]
            while not member.of("/v1/sequences:next"):
                await asyncio.sleep(0.001)
            tasks.append(asyncio.ensure_future(sequence.next()))
            await asyncio.sleep(0)  # the second task has called
            gate.set()
            return await asyncio.gather(*tasks)

    with Member(answer) as member:
        assert run(main(member)) == [1, 100]
        assert [c.body["count"] for c in member.of("/v1/sequences:next")] == [1, 1]


def test_canceled_caller_does_not_end_the_call_of_others() -> None:
    gate = threading.Event()

    def answer(call: Call) -> Any:
        gate.wait(300)
        return numbers(5, call.body["count"])

    async def main(address: str) -> list[int]:
        async with Client(address) as client:
            sequence = client.sequence("orders")
            tasks = [asyncio.ensure_future(sequence.next()) for _ in range(3)]
            while not member.of("/v1/sequences:next"):
                await asyncio.sleep(0.001)
            tasks[0].cancel()
            gate.set()
            results = await asyncio.gather(*tasks, return_exceptions=True)
            assert isinstance(results[0], asyncio.CancelledError)
            return [r for r in results if isinstance(r, int)]

    with Member(answer) as member:
        assert run(main(member.address)) == [6, 7]


def test_change_in_flight_at_close() -> None:
    gate = threading.Event()

    async def main(member: Member) -> SnowraftError:
        client = Client(member.address)
        task = asyncio.ensure_future(client.sequence("orders").set_next(5))
        while not member.paths():
            await asyncio.sleep(0.001)
        await client.close()
        gate.set()
        with pytest.raises(SnowraftError) as raised:
            await task
        return raised.value

    with Member(lambda _: gate.wait(300) and None) as member:
        error = run(main(member))
    assert error.reason == "CLOSED" and error.unknown


def test_canceled_request_leaves_no_answer_on_the_connection() -> None:
    gate = threading.Event()
    answers = iter([1, 2, 3])

    def answer(call: Call) -> Any:
        value = next(answers)
        if value == 1:
            gate.wait(300)
        return {"last": str(value)}

    async def main(address: str) -> int | None:
        async with Client(address) as client:
            sequence = client.sequence("orders")
            task = asyncio.ensure_future(sequence.last())
            while not member.of("/v1/sequences:last?sequence=orders"):
                await asyncio.sleep(0.001)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            gate.set()
            return await sequence.last()

    with Member(answer) as member:
        assert run(main(member.address)) == 2


@pytest.mark.parametrize("read", [True, False], ids=["read by the event loop", "unread"])
def test_unrequested_answer_is_the_answer_of_nothing(read: bool) -> None:
    async def main(member: Member) -> None:
        async with Client(member.address) as client:
            for _ in range(3):
                assert await client.next_id(timeout=300) == 1
                streams = [s for idle in client._transport._idle.values() for _, s in idle]
                member.send(UNREQUESTED)
                while read and not all(_unread(reader) for reader, _ in streams):
                    await asyncio.sleep(0.001)

    with Member(one_id) as member:
        run(main(member))


def test_unread_streams_are_found() -> None:
    async def main() -> None:
        reader = asyncio.StreamReader()
        assert not _unread(reader) and not _unread(reader)
        reader.feed_data(b"ab")
        assert _unread(reader)
        for end in (asyncio.StreamReader.feed_eof, lambda r: r.set_exception(OSError())):
            reader = asyncio.StreamReader()
            end(reader)
            assert _unread(reader)

    run(main())


def test_several_loops_one_after_the_other() -> None:
    with Member(one_id) as member:
        client = Client(member.address)

        async def main() -> int:
            return await client.next_id()

        assert [run(main()) for _ in range(3)] == [1, 1, 1]
        run(client.close())
        with pytest.raises(SnowraftError) as raised:
            run(main())
        assert raised.value.reason == "CLOSED"


def test_retries_and_deadline() -> None:
    answers: list[Any] = [refuse("NO_LEADER"), None, numbers(7, 1)]

    async def main(address: str) -> int:
        async with Client(address) as client:
            number = await client.sequence("orders").next()
            answers.extend([refuse("NO_LEADER")] * 1000)
            with pytest.raises(SnowraftError) as raised:
                await client.sequence("orders").next(timeout=0.2)
            assert raised.value.reason == "NO_LEADER"
            return number

    with Member(lambda _: answers.pop(0)) as member:
        assert run(main(member.address)) == 7


@pytest.mark.parametrize("data", HOSTILE, ids=[str(n) for n in range(len(HOSTILE))])
def test_hostile_bytes(data: bytes) -> None:
    async def main(address: str) -> None:
        async with Client(address) as client:
            with pytest.raises(SnowraftError) as raised:
                await client.next_id()
            assert raised.value.reason in ("UNAVAILABLE", "INTERNAL")

    with Member(lambda _: data, last=True) as member, one_round():
        run(main(member.address))


def test_generator() -> None:
    cluster = Cluster()

    async def main() -> list[int]:
        async with Client(cluster.member.address) as client, client.generator() as generator:
            await generator.ready()
            assert generator.problem() is None and generator.lanes()[0].token == 1
            return [generator.next(), *await generator.take(3)]

    with cluster.member:
        ids = run(main())
        assert ids == sorted(set(ids)) and len(ids) == 4
        assert [r["token"] for r in cluster.released] == ["1"]


def test_full_tick_raises_in_the_event_loop() -> None:
    cluster = Cluster()
    from kit import FakeClock

    async def main() -> SnowraftError:
        async with Client(cluster.member.address) as client:
            generator = client.generator(clock=FakeClock())
            await generator.ready()
            with pytest.raises(SnowraftError) as raised:
                for _ in range(6 * 4096 + 1):
                    generator.next()
            return raised.value

    with cluster.member:
        error = run(main())
        assert error.reason == "UNAVAILABLE" and error.retry and 0 < error.retry_after < 0.01


def test_blocks_and_buffer() -> None:
    counter, source = Counter(), Source()

    async def main() -> tuple[list[int], list[int]]:
        async with Client(counter.member.address) as client, client.blocks("s") as blocks:
            drawn = [*await blocks.take(2), blocks.next()]
        async with Client(source.member.address) as client, client.buffer(10) as buffer:
            await buffer.ready()
            return drawn, [buffer.next(), await buffer.get()]

    with counter.member, source.member:
        drawn, ids = run(main())
        assert drawn == [1, 2, 3] and len(set(ids)) == 2
