"""The test vectors of the repository (proto/vectors)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from snowraft import Layout

_DIRECTORY = Path(__file__).resolve().parents[3] / "proto" / "vectors"


def load(name: str) -> dict[str, Any]:
    """Returns the content of a file of vectors."""
    found: dict[str, Any] = json.loads((_DIRECTORY / f"{name}.json").read_text())
    return found


def layout(m: dict[str, Any]) -> Layout:
    """Returns a layout in the form of the API."""
    return Layout(
        [(f["kind"], f["bits"]) for f in m["fields"]],
        name=m["name"],
        unit_ms=int(m["unitMs"]),
        epoch_ms=int(m["epochAtMs"]),
        datacenter=int(m.get("datacenter", 0)),
        spread=int(m.get("spread", 0)),
        lease_only=m.get("leaseOnly", False),
    )
