"""A PostgreSQL server of Debian for a test."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def postgres() -> Iterator[str]:
    """Runs a server that listens on a socket only, and yields the directory of the socket. It refuses to run as root."""
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    assert installed, "this test needs Debian's postgresql"
    programs = installed[-1].parent
    user = "postgres" if os.geteuid() == 0 else None
    folder = tempfile.mkdtemp(prefix="snowraft-postgres-")
    if user:
        shutil.chown(folder, user)
    data = f"{folder}/data"

    def run(program: str, *arguments: str) -> None:
        command = [str(programs / program), "-D", data, *arguments]
        subprocess.run(command, user=user, cwd=folder, stdout=subprocess.DEVNULL, check=True)

    try:
        run("initdb", "-A", "trust", "-U", "postgres", "--no-sync")
        run("pg_ctl", "start", "-w", "-l", f"{folder}/log", "-o", f"-k {folder} -c listen_addresses=''")
        try:
            yield folder
        finally:
            run("pg_ctl", "stop", "-w", "-m", "immediate")
    finally:
        shutil.rmtree(folder)
