"""Against a real cluster: SNOWRAFT_PROGRAM names the program, SNOWRAFT_PORTS the first of 60 free ports."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from kit import eventually

from snowraft import PRESETS, Client, SnowraftError
from snowraft import _methods as methods
from snowraft._token import encode
from snowraft.aio import Client as AsyncClient

PROGRAM = os.environ.get("SNOWRAFT_PROGRAM")
PORTS = int(os.environ.get("SNOWRAFT_PORTS", "23200"))

pytestmark = pytest.mark.skipif(not PROGRAM, reason="SNOWRAFT_PROGRAM names no program")


@dataclass
class Running:
    """A cluster of three members in one process."""

    address: str
    token: str | None
    process: subprocess.Popen[str]


def start(port: int, *flags: str) -> Iterator[Running]:
    assert PROGRAM
    command = [PROGRAM, "dev", "--port-base", str(port), *flags]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout
        said = ""
        while "Press Ctrl-C" not in said:
            line = process.stdout.readline()
            assert line, f"the cluster did not start: {said}"
            said += line
        token = re.search(r"SNOWRAFT_TOKEN=(\S+)", said)
        yield Running(f"127.0.0.1:{port + 1}", token[1] if token else None, process)
        process.send_signal(signal.SIGCONT)
        process.terminate()


@pytest.fixture(scope="module")
def open_cluster() -> Iterator[Running]:
    yield from start(PORTS)


@pytest.fixture(scope="module")
def secured() -> Iterator[Running]:
    yield from start(PORTS + 30, "--secure")


def test_direct(open_cluster: Running) -> None:
    with Client(open_cluster.address) as client:
        id = client.next_id()
        assert client.next_id(after=id) > id
        ids = client.ids(100_000)
        assert len(set(ids)) == 100_000
        assert abs(PRESETS["default"].decode(ids[0]).at_ms / 1000 - time.time()) < 60
        cluster = client._call(methods.GET_STATUS, timeout=5)["clusterId"]
        layout = client.layout()
        for value in client.uuids(3):
            assert isinstance(value, uuid.UUID) and layout.uuid(layout.from_uuid(value), cluster) == value
        assert layout == PRESETS["default"] and layout in client.list_layouts()
        assert client.create_layout(PRESETS["sonyflake"]) == PRESETS["sonyflake"]


def test_sequences(open_cluster: Running) -> None:
    with Client(open_cluster.address) as client:
        created = client.create_sequence("invoices", start=10, increment=5, reset="yearly", format="INV{date:yyyy}-{seq:04}")
        assert (created.mode, created.start, created.increment, created.reset) == ("strict", 10, 5, "yearly")
        invoices = client.sequence("invoices")
        first = invoices.take(2)
        assert list(first) == [10, 15] and re.fullmatch(r"INV\d{4}-0010", first.texts[0]) and first.period.endswith("-01-01")
        once = invoices.take(2, request_id="cart")
        assert invoices.take(2, request_id="cart") == once and invoices.last() == 25
        changed = client.update_sequence("invoices", max=1000, generation=client.get_sequence("invoices").generation)
        assert changed.max == 1000
        with pytest.raises(SnowraftError) as raised:
            client.update_sequence("invoices", max=900, generation=created.generation)
        assert raised.value.reason == "GENERATION_MISMATCH"
        with pytest.raises(SnowraftError) as raised:
            invoices.set_next(10)
        assert raised.value.reason == "WOULD_REPEAT"
        assert invoices.set_next(500).next == 500 and invoices.next_text().endswith("-0500")
        assert [s.name for s in client.list_sequences("inv")] == ["invoices"]
        client.delete_sequence("invoices")
        with pytest.raises(SnowraftError) as raised:
            invoices.next()
        assert raised.value.reason == "UNKNOWN_SEQUENCE" and not raised.value.retry


def test_generator_goes_on_while_all_members_stand_still(open_cluster: Running) -> None:
    with Client(open_cluster.address) as client, client.generator() as generator:
        generator.ready(20)
        eventually(lambda: generator.lanes()[0].until_ms - time.time() * 1000 > 4000)
        open_cluster.process.send_signal(signal.SIGSTOP)
        try:
            until = generator.lanes()[0].until_tick
            ids = [generator.next() for _ in range(10_000)]
            assert len(set(ids)) == 10_000 and max(ids) >> 22 < until
        finally:
            open_cluster.process.send_signal(signal.SIGCONT)
        eventually(lambda: generator.lanes()[0].until_tick > until, 60)


def test_released_worker_is_free_at_once(open_cluster: Running) -> None:
    with Client(open_cluster.address) as client:
        generator = client.generator()
        generator.ready(20)
        last, worker = generator.next(), generator.lanes()[0].worker
        generator.close()
        other = client.generator()
        other.ready(20)
        assert other.lanes()[0].worker == worker
        assert other.next() > last


def test_blocks_and_buffer(open_cluster: Running) -> None:
    with Client(open_cluster.address) as client:
        client.create_sequence("parcels", mode="relaxed")
        with client.blocks("parcels") as blocks, client.buffer() as buffer:
            assert [blocks.next() for _ in range(1000)] == list(range(1, 1001))
            assert len({buffer.next() for _ in range(10_000)}) == 10_000
        with client.blocks("parcels") as blocks:
            assert blocks.next() > 1000


def test_secured(secured: Running) -> None:
    with Client(secured.address, token=secured.token) as client, client.generator() as generator:
        generator.ready(20)
        assert client.next_id() != generator.next()
        assert client._core.receipts.latest
    assert secured.token
    without_pin = secured.token.rpartition("_")[0]
    with Client(secured.address, token=without_pin, pin=encode(bytes(32))) as client:
        with pytest.raises(SnowraftError) as raised:
            client.next_id()
        assert raised.value.reason == "PIN_MISMATCH"


def test_asyncio(secured: Running) -> None:
    async def main() -> None:
        async with AsyncClient(secured.address, token=secured.token) as client:
            await client.create_sequence("orders")
            orders = client.sequence("orders")
            numbers = await asyncio.gather(*(orders.next() for _ in range(500)))
            assert sorted(numbers) == list(range(1, 501))
            async with client.generator() as generator:
                await generator.ready(20)
                assert len({generator.next() for _ in range(1000)}) == 1000

    asyncio.run(main())
