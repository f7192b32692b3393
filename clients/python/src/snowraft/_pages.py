"""Lists that members return page by page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import _answers as answers
from ._core import Core, Flow
from ._methods import Method
from .errors import malformed

MOST_PAGES = 10_000
"""Bounds a list of a member that never ends it."""


def items(core: Core, method: Method, name: str, query: Mapping[str, str], timeout: float | None) -> Flow[list[Any]]:
    """Requests the items with a name of all pages."""
    found: list[Any] = []
    token = ""
    for _ in range(MOST_PAGES):
        page = {**query, "pageSize": "1000", "pageToken": token}
        answer = yield from core.call(method, query=page, timeout=timeout)
        found += answers.items(answer, name)
        before, token = token, answers.text(answer, "nextPageToken")
        if not token:
            return found
        if token == before:
            break
    raise malformed("a list that does not end")
