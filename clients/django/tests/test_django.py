"""Django against a real cluster."""

from __future__ import annotations

import asyncio
import io
import os
import signal
import time
from typing import Any

import pytest
from devcluster import Running
from django.apps import apps
from django.core.checks import run_checks
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from django.db import connection, connections
from django.db.migrations.writer import MigrationWriter
from django.db.models import BigAutoField
from django.test.utils import CaptureQueriesContext, override_settings
from kit import eventually
from postgres import postgres
from snowraft import SnowraftError


def records() -> Any:
    return CaptureQueriesContext(connection)


def statements(queries: Any) -> list[str]:
    return [query["sql"] for query in queries if not query["sql"].startswith(("BEGIN", "COMMIT", "SAVEPOINT", "RELEASE"))]


@pytest.fixture(autouse=True)
def models(site: object) -> Any:
    from shop import models

    models.Order.objects.all().delete()
    return models


def test_save_inserts_in_one_statement(models: Any) -> None:
    order = models.Order(item="tea")
    assert order.pk is None and order.number
    with records() as queries:
        order.save()
    [insert] = statements(queries)
    assert insert.startswith("INSERT") and "RETURNING" not in insert and order.pk != order.number
    with records() as queries:
        order.save()
    [update] = statements(queries)
    assert update.startswith("UPDATE")
    line = models.Line.objects.create(order=order, text="black")
    assert models.Line.objects.get(order__item="tea") == line and line.pk > order.pk


def test_bulk_create(models: Any) -> None:
    with records() as queries:
        orders = models.Order.objects.bulk_create(models.Order(item=f"item {i}") for i in range(5000))
    assert not any("RETURNING" in s or s.startswith("SELECT") for s in statements(queries))
    ids = [order.pk for order in orders]
    assert len(set(ids)) == 5000 and ids == sorted(ids)
    assert set(models.Order.objects.values_list("pk", flat=True)) == set(ids)
    assert not set(ids) & {order.number for order in orders}


def test_explicit_id_is_kept(models: Any) -> None:
    models.Order.objects.create(pk=7, item="old")
    assert models.Order.objects.get().pk == 7


def test_inserts_continue_while_all_members_are_stopped(cluster: Running, models: Any) -> None:
    from snowraft_django import generator

    models.Order.objects.create(item="first")
    eventually(lambda: generator().lanes()[0].until_ms - time.time() * 1000 > 10_000, 60)
    with cluster.stopped():
        models.Order.objects.bulk_create(models.Order(item=f"item {i}") for i in range(100))
    assert models.Order.objects.count() == 101


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_forked_child_leases_a_worker_of_its_own(models: Any) -> None:
    from snowraft_django import generator

    def insert(item: str) -> int:
        models.Order.objects.bulk_create(models.Order(item=item) for _ in range(1000))
        return generator().lanes()[0].token

    mine = {insert("before")}
    connections.close_all()
    receive, send = os.pipe()
    pid = os.fork()
    if pid == 0:
        signal.alarm(120)
        os.write(send, str(insert("child")).encode())
        os._exit(0)
    mine.add(insert("after"))
    os.close(send)
    with os.fdopen(receive, "rb") as stream:
        theirs = int(stream.read())
    assert os.waitpid(pid, 0)[1] == 0
    assert theirs not in mine
    assert len(set(models.Order.objects.values_list("pk", flat=True))) == 3000


def test_first_insert_of_an_event_loop(cluster: Running, site: object, models: Any) -> None:
    async def main() -> None:
        with cluster.stopped():
            task = asyncio.create_task(models.Line.objects.acreate(order_id=order.pk, text="first"))
            from snowraft_django import generator

            while not task.done() and "needed yet" in str(generator().problem()):
                await asyncio.sleep(0.01)
            assert not task.done()  # it waits for a member, and this coroutine runs
        await task

    order = models.Order.objects.create(item="parent")
    with override_settings(SNOWRAFT={"ADDRESSES": cluster.address, "TIMEOUT": 60}):
        asyncio.run(main())
    assert models.Line.objects.count() == 1


def test_error_without_a_cluster(models: Any) -> None:
    with override_settings(SNOWRAFT={"ADDRESSES": "127.0.0.1:1", "TIMEOUT": 0.2}):
        with pytest.raises(SnowraftError) as raised:
            models.Order.objects.create(item="never", number=1)
    assert "127.0.0.1:1" in str(raised.value) and "refused" in str(raised.value)


@pytest.mark.parametrize(
    ("setting", "text"),
    [
        (None, "the setting SNOWRAFT is missing"),
        ({"TOKEN": "x"}, "the setting SNOWRAFT has no ADDRESSES"),
        ({"ADDRESSES": "a:1", "LANE": 1}, "unknown keys of the setting SNOWRAFT: 'LANE'"),
        ({"ADDRESSES": "a:b"}, "the setting SNOWRAFT is invalid: member address 'a:b': expected host:port"),
        ({"ADDRESSES": "a:1", "LANES": 65}, "the setting SNOWRAFT is invalid: 65 lanes: expected 1 to 64"),
    ],
)
def test_check_of_the_setting(models: Any, setting: object, text: str) -> None:
    with override_settings(SNOWRAFT=setting):
        [message] = run_checks()
        assert (message.id, message.msg) == ("snowraft.E001", text)
        assert message.hint and "ADDRESSES" in message.hint
        with pytest.raises(ImproperlyConfigured):
            models.Order.objects.create(item="never", number=1)
    assert run_checks() == []


def test_check_of_apps_with_another_field(models: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apps.get_app_config("shop"), "default_auto_field", "django.db.models.BigAutoField")
    [message] = run_checks()
    assert message.id == "snowraft.W001" and "'shop'" in message.msg and message.hint and "shop/apps.py" in message.hint
    with override_settings(DEFAULT_AUTO_FIELD="django.db.models.BigAutoField"):
        assert run_checks() == []


def test_migrations_name_the_field_and_the_default(models: Any) -> None:
    call_command("makemigrations", check=True, dry_run=True, verbosity=0)
    written = [MigrationWriter.serialize(models.Order._meta.get_field(name))[0] for name in ("id", "number")]
    assert "snowraft_django.fields.SnowraftAutoField" in written[0]
    assert "default=snowraft_django.ids.next_id" in written[1]


def test_fixture_replaces_objects(models: Any) -> None:
    order = models.Order.objects.create(item="old")
    content = io.StringIO()
    call_command("dumpdata", "shop.order", stdout=content)
    order.item = "new"
    order.save()
    path = f"{os.environ['DATABASE']}.json"
    with open(path, "w") as file:
        file.write(content.getvalue())
    call_command("loaddata", path, verbosity=0)
    assert models.Order.objects.get(pk=order.pk).item == "old"


def key_column() -> tuple[str, str]:
    """Returns the type of the key in PostgreSQL, and whether it has a counter."""
    with connections["postgres"].cursor() as cursor:
        cursor.execute("SELECT data_type, is_identity FROM information_schema.columns"
                       " WHERE table_name = 'shop_order' AND column_name = 'id'")
        [(kind, identity)] = cursor.fetchall()
    return kind, identity


def test_postgresql(models: Any) -> None:
    with postgres() as folder:
        options = {"ENGINE": "django.db.backends.postgresql", "HOST": folder, "USER": "postgres", "NAME": "postgres"}
        connections.databases["postgres"] = {**connections.databases["default"], **options, "OPTIONS": {}}
        try:
            call_command("migrate", database="postgres", verbosity=0)
            orders = models.Order.objects.using("postgres")
            with CaptureQueriesContext(connections["postgres"]) as queries:
                orders.bulk_create(models.Order(item=f"item {i}") for i in range(2000))
                models.Order(item="one").save(using="postgres")
            assert not any("RETURNING" in s or not s.startswith("INSERT") for s in statements(queries))
            assert len(set(orders.values_list("pk", flat=True))) == 2001
            assert key_column() == ("bigint", "NO")
            new, old = models.Order._meta.pk, BigAutoField(primary_key=True)
            old.set_attributes_from_name("id")
            for was, becomes, identity in (new, old, "YES"), (old, new, "NO"):
                with connections["postgres"].schema_editor() as editor:
                    editor.alter_field(models.Order, was, becomes)
                assert key_column() == ("bigint", identity) and orders.count() == 2001
            call_command("sqlflush", database="postgres", stdout=io.StringIO())
        finally:
            connections["postgres"].close()
            del connections["postgres"], connections.databases["postgres"]
