"""The arguments and answers of operations about the numbers of gapless sequences."""

from __future__ import annotations

import dataclasses
from typing import Any

from snowraft import Claim, Reconciled, Reservation, Resolution


def claims(args: dict[str, Any]) -> list[Claim]:
    """Returns the claims of an operation."""
    return [Claim(c["key"], int(c["reservation"]), c["attempt"]) for c in args["claims"]]


def answer(reserved: list[Reservation]) -> dict[str, Any]:
    """Returns the answer with reservations."""
    return {
        "reservations": [
            {
                "key": r.key,
                "number": str(r.number),
                "text": r.text,
                "reservation": str(r.claim.reservation),
                "attempt": r.claim.attempt,
                "confirmed": r.confirmed,
            }
            for r in reserved
        ]
    }


def resolution(args: dict[str, Any], key: str) -> Resolution:
    """Returns what became of the number of a key."""
    if key in args["used"]:
        return Resolution("used")
    return Resolution("void", "not in the database") if key in args["void"] else Resolution("leave")


def counts(done: Reconciled) -> dict[str, Any]:
    """Returns the answer with the counts of a reconcile loop."""
    return dataclasses.asdict(done)
