"""Starts the threads of this package."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from . import _reasons as reasons
from .errors import SnowraftError


def start(name: str, target: Callable[..., None], *args: Any) -> threading.Thread:
    """Starts a daemon thread. Raises SnowraftError if the system or an interpreter that exits refuses it."""
    thread = threading.Thread(target=target, args=args, name=f"snowraft-{name}", daemon=True)
    try:
        thread.start()
    except RuntimeError as e:
        text = f"{e}; raise the limit of threads of this user or container, or call it before the process exits"
        raise SnowraftError(text, reason=reasons.UNAVAILABLE, retry=True) from None
    return thread
