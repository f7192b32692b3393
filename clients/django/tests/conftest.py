"""A real cluster, and Django with a database in SQLite. SNOWRAFT_PROGRAM names the program."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import django
import pytest
from devcluster import Running, running


@pytest.fixture(scope="session")
def cluster() -> Iterator[Running]:
    with running() as cluster:
        yield cluster


@pytest.fixture(scope="session", autouse=True)
def site(cluster: Running, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Prepares Django, and returns the file of its database."""
    database = tmp_path_factory.mktemp("site") / "db.sqlite3"
    os.environ.update(DATABASE=str(database), SNOWRAFT_ADDRESS=cluster.address, DJANGO_SETTINGS_MODULE="project")
    django.setup()

    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    return database
