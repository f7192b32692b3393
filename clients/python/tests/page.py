"""The blocks of code in a page."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def blocks(page: str, language: str) -> list[str]:
    """Returns the text of each block of a language in a page of the repository."""
    return re.findall(rf"^```{language}\n(.*?)^```$", (ROOT / page).read_text(), re.DOTALL | re.MULTILINE)


def check_installation(command: str) -> None:
    """Runs a command of pip in the root of the repository, up to the installation."""
    words = command.split()
    assert words[:2] == ["pip", "install"]
    subprocess.run([sys.executable, "-m", *words, "--dry-run", "--no-deps", "--quiet"], cwd=ROOT, check=True)
