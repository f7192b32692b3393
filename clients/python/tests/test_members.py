"""What a client learns of members, and when it requests their list."""

from __future__ import annotations

import asyncio
import json
import threading
from typing import Any

import pytest
from fake import refuse

from snowraft import Client, SnowraftError
from snowraft import _methods as methods
from snowraft import aio
from snowraft._core import Exchange
from snowraft._http11 import Response
from snowraft._standing import Standing

FORMER, OTHER = "127.0.0.1:1", "127.0.0.1:2"


def prefers(standing: Standing, address: str) -> bool:
    return all(standing.choose([], True)[0] == address for _ in range(100))


def test_member_that_knows_no_leader_is_not_taken_for_the_leader() -> None:
    standing = Standing([FORMER, OTHER])
    standing.learn([FORMER, OTHER], FORMER)
    assert prefers(standing, FORMER)
    standing.without_leader(FORMER)
    assert prefers(standing, OTHER)
    standing.learn([FORMER, OTHER], FORMER)
    standing.without_leader(OTHER)  # may be behind
    assert prefers(standing, FORMER)


def test_worker_is_requested_from_another_member_after_a_former_leader() -> None:
    with Client(f"{FORMER},{OTHER}") as client:
        client._core.standing.learn([FORMER, OTHER], FORMER)
        flow = client._core.call(methods.ACQUIRE_WORKER, body={})
        exchange = next(flow)
        assert isinstance(exchange, Exchange) and exchange.address == FORMER
        status, answer = refuse("NO_LEADER")
        with pytest.raises(SnowraftError, match="NO_LEADER"):
            flow.send(Response(status, {}, json.dumps(answer).encode(), True))
        assert prefers(client._core.standing, OTHER)


QUIET = [10, 20, 40, 80, 160, 160]  # seconds between requests for an unchanged list, less a quarter at most
AFTER = [10, 20]


def in_time(rests: list[float]) -> bool:
    """Reports whether the pauses are right, if the last one of QUIET ended with a broken connection."""
    return len(rests) == 8 and all(0.75 * want - 1 <= rest <= want for rest, want in zip(rests, QUIET + AFTER))


class News(threading.Event):
    """Waits for no time. A connection breaks in the last wait of QUIET."""

    def __init__(self, closed: threading.Event) -> None:
        super().__init__()
        self.rests: list[float] = []
        self._end = closed

    def wait(self, timeout: float | None = None) -> bool:
        assert timeout is not None
        self.rests.append(timeout)
        if len(self.rests) == len(QUIET + AFTER):
            self._end.set()
        return len(self.rests) == len(QUIET)


def unchanged(flow: Any) -> bool:
    flow.close()
    return False


def test_list_is_requested_soon_after_a_broken_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("snowraft.client.LOOK_PAUSE", 0.0)
    client = Client(FORMER)
    news = News(client._closed)
    client._news = news
    monkeypatch.setattr(client._transport, "run", unchanged)
    client._follow()
    assert in_time(news.rests), news.rests


def test_asynchronous_client_requests_the_list_soon_after_a_broken_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    client, rests = aio.Client(FORMER), list[float]()

    async def look(flow: Any) -> bool:
        if len(rests) == len(QUIET + AFTER):
            raise asyncio.CancelledError
        rests.append(0.0)
        return unchanged(flow)

    async def sleep(seconds: float) -> None:
        rests[-1] += seconds
        if len(rests) == len(QUIET) and rests[-1] > 110:
            client._notice()

    monkeypatch.setattr(client._transport, "run", look)
    monkeypatch.setattr("snowraft.aio.client.asyncio.sleep", sleep)
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(client._follow())
    assert all(0.65 * want - 1 <= rest <= want + 1 for rest, want in zip(rests, QUIET + AFTER, strict=True)), rests
