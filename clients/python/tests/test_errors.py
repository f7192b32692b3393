"""What the client does after an error, as the vectors of the repository fix it."""

from __future__ import annotations

from typing import Any

import pytest
import vectors
from fake import refuse

from snowraft import SnowraftError
from snowraft import _methods as methods
from snowraft._core import Broken, Core, _status
from snowraft._http11 import Response
from snowraft._methods import Method, Repeat
from snowraft._standing import Standing
from snowraft._tls import Trust
from snowraft.hooks import Hooks

_KINDS = {"harmless": Repeat.HARMLESS, "undone": Repeat.UNDONE, "never": Repeat.NEVER}


def core() -> Core:
    return Core(Standing(["127.0.0.1:1"]), Trust(), 1.0, Hooks())


def check(outcomes: dict[str, Any], failure: Any) -> None:
    for kind, repeat in _KINDS.items():
        method = Method("POST", "/v1/x", repeat)
        error: SnowraftError = failure(method)
        expected = outcomes[kind]
        outcome = {
            "again": method.again(error, error.unknown),
            "retry": error.retry,
            "unknown": error.unknown,
        }
        assert outcome == expected, f"{kind}: {error}"


@pytest.mark.parametrize("item", vectors.load("errors")["reasons"], ids=lambda i: i["reason"])
def test_reason(item: dict[str, Any]) -> None:
    _, answer = refuse(item["reason"], item["code"])
    check(item["outcomes"], lambda method: _status(method, answer))


@pytest.mark.parametrize("item", vectors.load("errors")["failures"], ids=lambda i: i["about"])
def test_failure(item: dict[str, Any]) -> None:
    about, c = item["about"], core()

    def failure(method: Method) -> SnowraftError:
        if about.startswith("no connection"):
            return c._broken(method, "a", Broken("connection refused", sent=False))
        if about.startswith("the connection broke"):
            return c._broken(method, "a", Broken("reset", sent=True))
        if about.startswith("code 4"):
            return _status(method, {"code": 4, "message": "late"})
        if about.startswith("code 12"):
            return _status(method, {"code": 12, "message": "no such method"})
        assert about.startswith("status 502")
        with pytest.raises(SnowraftError) as raised:
            c._answer(method, "a", Response(502, {}, b"<html>", True))
        return raised.value

    check(item["outcomes"], failure)


def test_methods() -> None:
    by_path = {(m["http"], m["path"].split("{")[0], m["path"].count("{")): m for m in vectors.load("errors")["methods"] if m.get("path")}
    own = [m for m in vars(methods).values() if isinstance(m, Method) and m not in (methods.GET_CA, methods.FORCE_SEQUENCE)]
    assert own
    for method in own:
        rule = by_path[method.verb, method.path, int(method.path.endswith("/"))]
        assert (method.repeat, method.leader) == (_KINDS[rule["repeat"]], rule.get("leader", False)), method
