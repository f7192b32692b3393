"""IDs that were fetched in advance."""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from fake import Call, Member, refuse
from kit import eventually

from snowraft import Client, SnowraftError


class Source:
    """IDs of a scripted member."""

    def __init__(self) -> None:
        self.first = itertools.count(1, 1 << 32)
        self.refusal: Any = None
        self.member = Member(self.answer)

    def answer(self, call: Call) -> Any:
        if self.refusal:
            return self.refusal
        return {"ranges": [{"first": str(next(self.first)), "count": call.body["count"], "step": "1"}]}


@pytest.fixture
def source() -> Iterator[Source]:
    s = Source()
    with s.member:
        yield s


def test_each_id_goes_to_one_caller(source: Source) -> None:
    with Client(source.member.address) as client, client.buffer(100) as buffer:
        got: list[list[int]] = []
        threads = [threading.Thread(target=lambda: got.append([buffer.next() for _ in range(5000)])) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        ids = [id for mine in got for id in mine]
        assert len(set(ids)) == 40_000
        stats = buffer.stats()
        assert stats.taken == 40_000 and stats.capacity > 100


def test_outage_is_outlasted_and_then_told(source: Source) -> None:
    with Client(source.member.address, timeout=0.3) as client, client.buffer(50) as buffer:
        buffer.ready(300)
        eventually(lambda: buffer.stats().level >= 50)
        source.refusal = refuse("NO_LEADER")
        for _ in range(50):
            buffer.next(timeout=0)
        with pytest.raises(SnowraftError) as raised:
            for _ in range(1_000_000):
                buffer.next(timeout=0)
        assert raised.value.reason in ("NO_LEADER", "UNAVAILABLE") and raised.value.retry
        source.refusal = None
        assert buffer.next(timeout=300)


def test_old_ids_are_dropped(source: Source) -> None:
    with Client(source.member.address) as client, client.buffer(10, age=0.2, span=0.1) as buffer:
        buffer.ready()
        eventually(lambda: buffer.stats().dropped >= 10)


def test_refusals_that_last_fail_at_once(source: Source) -> None:
    source.refusal = refuse("UNKNOWN_LAYOUT", 5, 404)
    with Client(source.member.address) as client, client.buffer(10) as buffer:
        with pytest.raises(SnowraftError) as raised:
            buffer.next()
        assert raised.value.reason == "UNKNOWN_LAYOUT"
        with pytest.raises(SnowraftError):
            buffer.ready()


def test_seal_drops_ids_at_once(source: Source) -> None:
    with Client(source.member.address) as client, client.buffer(50) as buffer:
        buffer.ready()
        eventually(lambda: buffer.stats().level >= 50)
        source.refusal = refuse("SET_BACK", 9, 400)
        with pytest.raises(SnowraftError):
            client.next_id()
        with pytest.raises(SnowraftError) as raised:
            buffer.next(timeout=0)
        assert raised.value.reason == "SET_BACK"


def test_event_loop_is_not_blocked(source: Source) -> None:
    gate = threading.Event()
    answer = source.member.answer
    source.member.answer = lambda call: gate.wait(300) and answer(call)
    with Client(source.member.address) as client, client.buffer(10) as buffer:

        async def call() -> str:
            with pytest.raises(SnowraftError) as raised:
                buffer.next()
            return raised.value.reason

        assert asyncio.run(call()) == "UNAVAILABLE"
        gate.set()
        buffer.ready()
        buffer.close()
        with pytest.raises(SnowraftError) as raised:
            buffer.next()
        assert raised.value.reason == "CLOSED"
