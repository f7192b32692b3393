"""SQLAlchemy with SQLite, against a real cluster. SNOWRAFT_PROGRAM names the program."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from devcluster import Running, running
from kit import eventually
from snowraft import Client, Generator
from snowraft_sqlalchemy import generator_default
from sqlalchemy import BigInteger, Column, Engine, Table, Text, create_engine, event, insert, select
from sqlalchemy.dialects import postgresql
from sqlalchemy.exc import StatementError
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column
from sqlalchemy.schema import CreateTable


class Models:
    """A model and a table whose keys are of one generator."""

    def __init__(self, generator: Generator) -> None:
        next_id = generator_default(generator)

        class Base(DeclarativeBase):
            pass

        class Order(Base):
            __tablename__ = "orders"
            id: Mapped[int] = mapped_column(BigInteger, primary_key=True, default=next_id)
            item: Mapped[str]

        self.Order, self.metadata = Order, Base.metadata
        self.lines = Table(
            "lines", Base.metadata, Column("id", BigInteger, primary_key=True, default=next_id), Column("text", Text)
        )


@pytest.fixture(scope="module")
def cluster() -> Iterator[Running]:
    with running() as cluster:
        yield cluster


@pytest.fixture
def generator(cluster: Running) -> Iterator[Generator]:
    with Client(cluster.address, timeout=60) as client:
        yield client.generator(lazy=True)


@pytest.fixture
def models(generator: Generator) -> Models:
    return Models(generator)


@pytest.fixture
def engine(models: Models, tmp_path: Path) -> Engine:
    engine = create_engine(f"sqlite:///{tmp_path}/shop.db")
    models.metadata.create_all(engine)
    return engine


def record(engine: Engine) -> list[str]:
    """Returns a list of all statements from now on."""
    statements = list[str]()

    def note(connection: object, cursor: object, statement: str, *rest: object) -> None:
        statements.append(statement)

    event.listen(engine, "before_cursor_execute", note)
    return statements


def test_objects_get_distinct_ids_without_a_roundtrip(models: Models, engine: Engine) -> None:
    statements = record(engine)
    with Session(engine) as session:
        orders = [models.Order(item=f"item {i}") for i in range(5000)]
        session.add_all(orders)
        session.flush()
        ids = [order.id for order in orders]
        assert len(set(ids)) == 5000 and ids == sorted(ids)
        assert {s.split()[0] for s in statements} == {"INSERT"} and not any("RETURNING" in s for s in statements)
        session.commit()
        assert set(session.scalars(select(models.Order.id))) == set(ids)


def test_bulk_inserts(models: Models, engine: Engine) -> None:
    rows = [{"text": f"line {i}"} for i in range(3000)]
    with Session(engine) as session:
        session.execute(insert(models.lines), rows)
        session.execute(insert(models.lines).values(rows[:500]))
        returned = session.scalars(insert(models.lines).returning(models.lines.c.id), rows[:1000]).all()
        session.execute(insert(models.Order), [{"item": row["text"]} for row in rows])
        ids = [*session.scalars(select(models.lines.c.id)), *session.scalars(select(models.Order.id))]
        assert len(ids) == len(set(ids)) == 7500 and set(returned) < set(ids)


def test_explicit_id_is_kept(models: Models, engine: Engine) -> None:
    with Session(engine) as session:
        session.add(models.Order(id=7, item="old"))
        session.flush()
        assert session.scalars(select(models.Order.id)).all() == [7]


def test_inserts_continue_while_all_members_are_stopped(
    cluster: Running, generator: Generator, models: Models, engine: Engine
) -> None:
    with Session(engine) as session:
        session.add(models.Order(item="first"))
        session.commit()
        eventually(lambda: generator.lanes()[0].until_ms - time.time() * 1000 > 10_000, 60)
        with cluster.stopped():
            session.add_all(models.Order(item=f"item {i}") for i in range(100))
            session.commit()
        assert len(session.scalars(select(models.Order.id)).all()) == 101


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_forked_child_leases_a_worker_of_its_own(generator: Generator, models: Models, engine: Engine) -> None:
    def insert_orders(item: str) -> int:
        """Returns the fencing token of the worker, which no other lease has."""
        with Session(engine) as session:
            session.add_all(models.Order(item=item) for _ in range(1000))
            session.commit()
        return generator.lanes()[0].token

    mine = {insert_orders("before")}
    engine.dispose()
    receive, send = os.pipe()
    pid = os.fork()
    if pid == 0:
        signal.alarm(120)
        os.write(send, str(insert_orders("child")).encode())
        os._exit(0)
    mine.add(insert_orders("after"))
    os.close(send)
    with os.fdopen(receive, "rb") as stream:
        theirs = int(stream.read())
    assert os.waitpid(pid, 0)[1] == 0
    assert theirs not in mine
    with Session(engine) as session:
        assert len(set(session.scalars(select(models.Order.id)))) == 3000


def test_event_loop_continues_while_the_first_insert_waits(cluster: Running, models: Models, tmp_path: Path) -> None:
    async def main() -> list[int]:
        engine = create_async_engine(f"sqlite+aiosqlite:///{tmp_path}/shop.db")
        async with engine.begin() as connection:
            await connection.run_sync(models.metadata.create_all)
        with cluster.stopped():

            async def insert_orders() -> list[int]:
                async with AsyncSession(engine) as session:
                    session.add_all(models.Order(item=f"item {i}") for i in range(1000))
                    await session.commit()
                    return [*await session.scalars(select(models.Order.id))]

            task = asyncio.create_task(insert_orders())
            while not any(thread.name == "snowraft-open" for thread in threading.enumerate()):
                await asyncio.sleep(0.01)
            assert not task.done()  # it waits for a member, and this coroutine runs
        ids = await task
        await engine.dispose()
        return ids

    ids = asyncio.run(main())
    assert len(ids) == len(set(ids)) == 1000


def test_error_without_a_cluster() -> None:
    with Client("127.0.0.1:1", timeout=0.2) as client:
        models = Models(client.generator(lazy=True))
        engine = create_engine("sqlite://")
        models.metadata.create_all(engine)
        with Session(engine) as session, pytest.raises(StatementError) as raised:
            session.add(models.Order(item="never"))
            session.flush()
    assert "127.0.0.1:1" in str(raised.value) and "refused" in str(raised.value)


def test_postgresql_gets_no_serial_column(models: Models) -> None:
    statement = str(CreateTable(models.lines).compile(dialect=postgresql.dialect()))  # type: ignore[no-untyped-call]
    assert "id BIGINT NOT NULL" in statement
