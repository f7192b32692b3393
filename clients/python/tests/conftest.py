"""The limits of calls in tests."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from snowraft import Client, _core, _standing, aio
from snowraft import _methods as methods
from snowraft._methods import Method

_PATIENCE = 300.0  # seconds


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stretches all limits that a test does not set: a machine that stands still for seconds must change no verdict."""
    for name, method in list(vars(methods).items()):
        if isinstance(method, Method) and method.try_timeout:
            monkeypatch.setattr(methods, name, replace(method, try_timeout=_PATIENCE))
    monkeypatch.setattr(_core, "_CONNECT_LIMIT", _PATIENCE)
    monkeypatch.setattr(_standing, "_SUSPICION", _PATIENCE)
    clients: tuple[Any, ...] = (Client, aio.Client)
    for client in clients:
        monkeypatch.setitem(client.__init__.__kwdefaults__, "timeout", _PATIENCE)
