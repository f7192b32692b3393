"""What a client learns of members."""

from __future__ import annotations

import json

import pytest
from fake import refuse

from snowraft import Client, SnowraftError
from snowraft import _methods as methods
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
