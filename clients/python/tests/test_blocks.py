"""Numbers of relaxed sequences from memory."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from fake import Call, Member, refuse
from kit import eventually

from snowraft import Client, SnowraftError
from snowraft._answers import Block
from snowraft._store import Store
from snowraft._watch import Reading

NOW = Reading(1_000_000, 1_000)


def block(token: int, first: int, count: int, **other: Any) -> Block:
    fields: dict[str, Any] = {"increment": 1, "generation": 1, "period": "", "period_ends_ms": 0, "duration_ms": 1000, "least": 1, "most": 1000}
    return Block(token, first, count, **(fields | other))


def granted(store: Store, b: Block, now: Reading = NOW, wanted: int = 1) -> bool:
    used = store.grant(b, now, now, False)
    if used:
        store.put(b, now, wanted)
    return used


def drawn(store: Store, now: Reading = NOW) -> list[int]:
    numbers = []
    while found := store.serve(1, now):
        numbers.append(found.first)
    return numbers


def test_contiguous_blocks_are_joined() -> None:
    store = Store("s", 10)
    assert granted(store, block(1, 1, 3)) and granted(store, block(2, 4, 3))
    assert store.serve(2, NOW).first == 1  # type: ignore[union-attr]
    run = store.serve(4, NOW)
    assert run and list(run) == [3, 4, 5, 6]
    assert store.taken == 6 and store.skipped == 0


def test_single_numbers_skip_nothing() -> None:
    store = Store("s", 10)
    granted(store, block(1, 1, 3))
    assert store.serve(1, NOW)
    granted(store, block(2, 10, 2))
    assert drawn(store) == [2, 3, 10, 11]
    assert store.skipped == 0


def test_impossible_blocks_are_ignored() -> None:
    store = Store("s", 10)
    granted(store, block(5, 100, 10))
    for wrong in (block(5, 200, 10), block(4, 200, 10), block(6, 50, 10), block(6, 109, 10), block(6, 200, 10, increment=2)):
        with pytest.raises(SnowraftError, match="impossible"):
            granted(store, wrong)
    assert granted(store, block(7, 1, 10, generation=2))  # a new numbering starts anywhere


def test_later_generation_drops_blocks() -> None:
    store = Store("s", 10)
    granted(store, block(1, 1, 10))
    assert store.serve(1, NOW)
    store.know(2, "")
    assert store.serve(1, NOW) is None and store.skipped == 9
    assert not granted(store, block(2, 11, 10))  # of the old generation
    assert granted(store, block(3, 1, 10, generation=2)) and drawn(store) == list(range(1, 11))


def test_period_ends() -> None:
    store = Store("s", 10)
    end = NOW.wall + 10
    granted(store, block(1, 5, 10, period="2026-11-29", period_ends_ms=end))
    assert store.serve(1, NOW)
    later = Reading(end, NOW.mono + 10)
    assert store.serve(1, later) is None
    granted(store, block(2, 1, 10, period="2026-11-30", period_ends_ms=end + 86_400_000), later)
    run = store.serve(1, later)
    assert run and (run.first, run.period) == (1, "2026-11-30")
    assert store.serve(1, Reading(NOW.wall, later.mono)).first == 2  # type: ignore[union-attr]


def test_descending_numbers() -> None:
    store = Store("s", 10)
    granted(store, block(1, -1, 3, increment=-1))
    granted(store, block(2, -4, 2, increment=-1))
    assert drawn(store) == [-1, -2, -3, -4, -5]


def test_tail_is_of_the_last_grant_only() -> None:
    store = Store("s", 10)
    granted(store, block(1, 1, 5))
    granted(store, block(2, 6, 5))
    assert store.serve(2, NOW)
    assert store.tail() == (2, 5)
    assert store.serve(1, NOW) is None and store.tail() == (0, 0)


class Counter:
    """A relaxed sequence of a scripted member."""

    def __init__(self) -> None:
        self.next, self.token, self.generation = 1, 0, 1
        self.returned: list[dict[str, Any]] = []
        self.refusals: list[Any] = []
        self.lock = threading.Lock()
        self.member = Member(self.answer)

    def answer(self, call: Call) -> Any:
        with self.lock:
            if call.path.startswith("/v1/sequences/"):
                return {"sequence": {"generation": str(self.generation), "period": ""}}
            if self.refusals:
                return self.refusals.pop(0)
            if call.path == "/v1/blocks:return":
                self.returned.append(call.body)
                return {}
            count, first = int(call.body["count"]), self.next
            self.next += count
            self.token += 1
            numbers = {"first": str(first), "count": str(count), "increment": "1", "generation": str(self.generation)}
            limits = {"blockDurationMs": "1000", "minBlock": "10", "maxBlock": "100000"}
            return {"block": {"token": str(self.token)} | numbers | limits}


@pytest.fixture
def counter() -> Iterator[Counter]:
    c = Counter()
    with c.member:
        yield c


def test_numbers_from_many_threads(counter: Counter) -> None:
    with Client(counter.member.address) as client, client.blocks("s") as blocks:
        got: list[list[int]] = []
        threads = [threading.Thread(target=lambda: got.append([blocks.next() for _ in range(2000)])) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert all(numbers == sorted(numbers) for numbers in got)
        assert sorted(n for numbers in got for n in numbers) == list(range(1, 16_001))
        run = blocks.take(500)
        assert len(run) == 500 and blocks.stats().taken == 16_500
    assert counter.returned[0]["returnKey"] == counter.member.of("/v1/blocks:allocate")[0].body["returnKey"]


def test_lost_block_is_lost(counter: Counter) -> None:
    counter.refusals = [refuse("COMMIT_UNKNOWN", 2, 500)]
    with Client(counter.member.address) as client, client.blocks("s") as blocks:
        assert blocks.next() == 1  # asked again: the block of the first request, if any, is another one
        assert counter.token == 1


def test_refusal_reaches_the_caller(counter: Counter) -> None:
    counter.refusals = [refuse("STRICT_SEQUENCE", 9, 400)]
    with Client(counter.member.address) as client, client.blocks("s") as blocks:
        with pytest.raises(SnowraftError) as raised:
            blocks.next()
        assert raised.value.reason == "STRICT_SEQUENCE"
        assert blocks.next() == 1


def test_seal_drops_numbers_at_once(counter: Counter) -> None:
    with Client(counter.member.address) as client, client.blocks("s") as blocks:
        first = blocks.next()
        counter.refusals = [refuse("SET_BACK", 9, 400)] * 3
        with pytest.raises(SnowraftError):
            client.sequence("other").set_next(1)  # any call shows it
        with pytest.raises(SnowraftError) as raised:
            blocks.next()
        assert raised.value.reason == "SET_BACK"
        counter.refusals = []
        assert blocks.next() > first + 50


def test_change_of_the_sequence_is_noticed(counter: Counter) -> None:
    with Client(counter.member.address) as client, client.blocks("s", refresh=0.1) as blocks:
        assert blocks.next() == 1
        counter.generation, counter.next = 2, 7001
        eventually(lambda: blocks.next() > 7000)


def test_event_loop_is_not_blocked(counter: Counter) -> None:
    with Client(counter.member.address) as client, client.blocks("s") as blocks:

        async def call() -> str:
            with pytest.raises(SnowraftError) as raised:
                blocks.next()
            return raised.value.reason

        assert asyncio.run(call()) == "UNAVAILABLE"
        assert blocks.next() == 1


def test_closed(counter: Counter) -> None:
    with Client(counter.member.address) as client:
        blocks = client.blocks("s", first=50)
        assert blocks.next() == 1
        blocks.close()
        assert [r["unused"] for r in counter.returned] == ["49"]
        with pytest.raises(SnowraftError) as raised:
            blocks.next()
        assert raised.value.reason == "CLOSED"
