"""The steps of the page, at a real cluster."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from devcluster import running
from page import blocks, check_installation

PAGE = "clients/sqlalchemy/README.md"


def test_program_stores_a_row_with_an_id(tmp_path: Path) -> None:
    [installation] = blocks(PAGE, "sh")
    check_installation(installation)
    [program] = blocks(PAGE, "python")
    assert "127.0.0.1:7701" in program
    with running() as cluster:
        file = tmp_path / "first.py"
        file.write_text(program.replace("127.0.0.1:7701", cluster.address))
        printed = subprocess.run([sys.executable, file], cwd=tmp_path, stdout=subprocess.PIPE, text=True, check=True).stdout
    assert int(printed) > 1 << 53
