"""The steps of the page, at a real cluster."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from devcluster import Running
from page import blocks, check_installation

PAGE = "clients/django/README.md"


def test_steps_store_a_row_with_an_id(cluster: Running, tmp_path: Path) -> None:
    installation, start, use = blocks(PAGE, "sh")
    check_installation(installation)
    settings, models = blocks(PAGE, "python")
    assert "127.0.0.1:7701" in settings
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    del environment["DJANGO_SETTINGS_MODULE"]

    def run(steps: str, folder: Path) -> str:
        return subprocess.run(["sh", "-ec", steps], cwd=folder, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout

    run(start, tmp_path)
    site = tmp_path / "shop"
    with (site / "shop/settings.py").open("a") as file:
        file.write(settings.replace("127.0.0.1:7701", cluster.address))
    with (site / "orders/models.py").open("a") as file:
        file.write(models)
    printed = run(use, site)
    assert int(printed.splitlines()[-1]) > 1 << 53
    assert "snowraft.W001" not in run("python manage.py check 2>&1", site)
