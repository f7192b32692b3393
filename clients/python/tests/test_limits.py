"""Time limits that are no time, or longer than threads and sockets can wait for."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from fake import Call, Member, one_id
from test_blocks import Counter
from test_buffer import Source
from test_calls import reason
from test_generator import Cluster

from snowraft import Client, SnowraftError, aio

IMPOSSIBLE: list[Any] = [math.nan, -math.inf, -1, -0.1, "1"]
LONG = [math.inf, 1e10, 1e300, 10**400]


def sequence(call: Call) -> Any:
    return one_id(call) if "ids" in call.path else {"sequence": {"name": "s", "generation": "1"}}


@pytest.fixture
def client() -> Iterator[Client]:
    with Member(sequence) as member, Client(member.address) as client:
        yield client


@pytest.mark.parametrize("limit", [*IMPOSSIBLE, 0])
def test_calls_refuse(client: Client, limit: Any) -> None:
    calls: list[Callable[[], object]] = [
        lambda: Client("a:1", timeout=limit),
        lambda: aio.Client("a:1", timeout=limit),
        lambda: client.next_id(timeout=limit),
        lambda: client.sequence("s").set_next(5, timeout=limit),
        lambda: client.blocks("s").close(timeout=limit),
    ]
    for call in calls:
        error = reason(call)
        assert error.reason == "INVALID_ARGUMENT" and f"timeout {limit!r}: must be" in str(error) and not error.unknown


@pytest.mark.parametrize("limit", IMPOSSIBLE)
def test_memory_refuses(client: Client, limit: Any) -> None:
    generator = client.generator(lazy=True)
    blocks, buffer = client.blocks("s"), client.buffer()
    takes: list[Callable[..., object]] = [
        generator.next,
        lambda timeout: generator.take(1, timeout),
        generator.ready,
        generator.close,
        blocks.next,
        buffer.ready,
    ]
    for take in takes:
        assert reason(lambda: take(timeout=limit)).reason == "INVALID_ARGUMENT"
    assert not generator._closed


@pytest.mark.parametrize("limit", LONG)
def test_long_limits(limit: float) -> None:
    with Member(sequence) as member, Client(member.address, timeout=limit) as client:
        assert client.next_id() == client.next_id(timeout=limit) == 1
        client.sequence("s").set_next(5, timeout=limit)
    cluster, counter, source = Cluster(), Counter(), Source()
    with cluster.member, Client(cluster.member.address, timeout=limit) as client:
        client.generator(lazy=True).next()
        generator = client.generator()
        generator.ready(timeout=limit)
        generator.take(5000, timeout=limit)
        generator.close(timeout=limit)
    with counter.member, Client(counter.member.address) as client:
        blocks = client.blocks("s", refresh=limit)
        blocks.next(timeout=limit)
        blocks.close(timeout=limit)
    with source.member, Client(source.member.address) as client, client.buffer() as buffer:
        buffer.next(timeout=limit)


@pytest.mark.parametrize("limit", LONG)
def test_long_limits_aio(limit: float) -> None:
    async def main(address: str) -> None:
        async with aio.Client(address, timeout=limit) as client:
            assert await client.next_id() == await client.next_id(timeout=limit) == 1
            with pytest.raises(SnowraftError) as raised:
                await client.next_id(timeout=math.nan)
            assert raised.value.reason == "INVALID_ARGUMENT"

    with Member(sequence) as member:
        asyncio.run(main(member.address))


def test_times_of_memory_are_finite(client: Client) -> None:
    assert reason(lambda: client.blocks("s", refresh=math.nan)).reason == "INVALID_ARGUMENT"
    assert reason(lambda: client.buffer(span=math.inf, age=math.inf)).reason == "INVALID_ARGUMENT"
