"""Requests workers and windows from members."""

from __future__ import annotations

import base64
import os
import socket
from collections.abc import Callable
from typing import Any

from . import _answers as answers
from . import _methods as methods
from ._answers import Grant
from ._lease import Lease
from ._methods import Method
from ._version import VERSION

CALL_TIMEOUT = 5.0  # seconds

Call = Callable[[Method, dict[str, Any], float], dict[str, Any]]


class MemberGranter:
    """The granter of one generator. The nonce is drawn at each start and never stored."""

    def __init__(self, call: Call, layout: str) -> None:
        self._call, self._layout = call, layout
        self._nonce = base64.b64encode(os.urandom(16)).decode("ascii")

    def acquire(self, holder: str, clock_ms: int, window_ms: int) -> Grant:
        """Requests a worker. The rule of the method forbids to repeat the request: a lost reply is a lost grant."""
        body = {
            "layout": self._layout,
            "holder": holder,
            "nonce": self._nonce,
            "clockAtMs": str(clock_ms),
            "windowMs": str(window_ms),
            "process": {
                "host": socket.gethostname()[:128],
                "processId": str(os.getpid()),
                "kind": "generator",
                "version": f"python {VERSION}",
            },
        }
        return answers.grant(self._call(methods.ACQUIRE_WORKER, body, CALL_TIMEOUT))

    def extend(self, lease: Lease, extension: int, clock_ms: int, window_ms: int) -> Grant:
        """Requests a later end of a window."""
        body = self._claim(lease) | {
            "extensionId": str(extension),
            "clockAtMs": str(clock_ms),
            "windowMs": str(window_ms),
        }
        return answers.grant(self._call(methods.EXTEND_WINDOW, body, CALL_TIMEOUT))

    def release(self, lease: Lease) -> None:
        """Releases the worker of a closed lease from its next tick on."""
        self._call(methods.RELEASE_WORKER, self._claim(lease) | {"nextTick": str(lease.next_tick)}, CALL_TIMEOUT)

    def _claim(self, lease: Lease) -> dict[str, Any]:
        return {
            "layout": self._layout,
            "worker": str(lease.worker),
            "token": str(lease.token),
            "nonce": self._nonce,
            "untilTick": str(lease.until_tick),
        }
