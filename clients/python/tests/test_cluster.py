"""Against a real cluster. SNOWRAFT_PROGRAM names the program."""

from __future__ import annotations

import asyncio
import datetime
import os
import re
import time
import uuid
from collections.abc import Iterator

import pytest
from devcluster import Running, running
from kit import eventually

from snowraft import PRESETS, Client, SnowraftError
from snowraft import _methods as methods
from snowraft._token import encode
from snowraft.aio import Client as AsyncClient

pytestmark = pytest.mark.skipif("SNOWRAFT_PROGRAM" not in os.environ, reason="SNOWRAFT_PROGRAM names no program")


@pytest.fixture(scope="module")
def open_cluster() -> Iterator[Running]:
    with running() as cluster:
        yield cluster


@pytest.fixture(scope="module")
def secured() -> Iterator[Running]:
    with running("--secure") as cluster:
        yield cluster


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
        bills = client.create_sequence("bills", reset="quarterly", year_starts="04-01", format="{fy:yyyy-yy}Q{quarter}-{seq}")
        assert (bills.reset, bills.year_starts) == ("quarterly", "04-01")
        assert re.fullmatch(r"\d{4}-\d\dQ[1-4]-1", client.sequence("bills").next_text())
        client.create_sequence("receipts", reset="yearly", late_ms=366 * 86_400_000, format="{date:yyyy}/{seq}")
        year = datetime.datetime.now(datetime.timezone.utc).year - 1
        receipts = client.sequence("receipts")
        assert receipts.next_text(period=str(year), from_=813) == f"{year}/813"
        assert receipts.texts(2, period=f"{year}-01-01") == [f"{year}/814", f"{year}/815"]
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
        with open_cluster.stopped():
            until = generator.lanes()[0].until_tick
            ids = [generator.next() for _ in range(10_000)]
            assert len(set(ids)) == 10_000 and max(ids) >> 22 < until
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
