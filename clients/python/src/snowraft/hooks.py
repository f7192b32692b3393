"""Functions that report what a client does, for metrics."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from .errors import SnowraftError

log = logging.getLogger("snowraft")

E = TypeVar("E")


@dataclass(frozen=True)
class Try:
    """One try of a call."""

    path: str
    """Path of the method, such as ``/v1/ids:generate``."""
    member: str
    """Address of the member."""
    seconds: float
    """Time until the answer."""
    error: SnowraftError | None
    """Failure of the try."""


@dataclass(frozen=True)
class Batch:
    """One call for IDs or numbers that callers shared."""

    callers: int
    count: int
    error: SnowraftError | None


@dataclass(frozen=True)
class Hooks:
    """Functions that a client calls. They must be fast, and may run in several threads at once.

    What they raise is logged, and has no effect on the call that they hear of.
    """

    on_try: Callable[[Try], None] | None = None
    on_batch: Callable[[Batch], None] | None = None


def report(hook: Callable[[E], None] | None, event: E) -> None:
    """Calls a hook, if there is one."""
    if hook:
        try:
            hook(event)
        except Exception:
            log.exception("hook failed")
