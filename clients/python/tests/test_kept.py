"""Answers that no member sends, on connections that have carried the answer of a member before."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from fake import Member
from test_calls import GRPC, reason

from snowraft import Client, SnowraftError, aio
from snowraft._core import Exchange
from snowraft._http11 import ClosedError, Request
from snowraft._tls import Secured
from snowraft._transport import cut

FOREIGN = [GRPC, b"garbage", b"HTTP/1.1 404 X\r\nContent-Length: 4\r\n\r\npage", b"SSH-2.0-OpenSSH\r\n\r\n"]


def member(answer: bytes) -> Member:
    return Member(lambda call: answer if "setNext" in call.path else {"layouts": []})


def check(error: SnowraftError, m: Member) -> None:
    assert (error.reason, error.retry, error.unknown) == ("UNAVAILABLE", False, True)
    assert "possibly a proxy" in str(error)
    (change,) = m.of("/v1/sequences:setNext")
    assert change.connection in {c.connection for c in m.calls if c is not change}


@pytest.mark.parametrize("answer", FOREIGN)
def test_change_may_have_been_understood(answer: bytes) -> None:
    with member(answer) as m, Client(m.address) as client:
        client.list_layouts()
        check(reason(lambda: client.sequence("orders").set_next(5)), m)


@pytest.mark.parametrize("answer", FOREIGN)
def test_change_may_have_been_understood_aio(answer: bytes) -> None:
    async def main() -> SnowraftError:
        async with aio.Client(m.address) as client:
            await client.list_layouts()
            with pytest.raises(SnowraftError) as raised:
                await client.sequence("orders").set_next(5)
            return raised.value

    with member(answer) as m:
        check(asyncio.run(main()), m)


def test_page_of_another_server_leaves_no_connection() -> None:
    """A second page on that connection would be taken for that of a proxy."""

    with Member(lambda _: (404, "no page")) as m, Client(m.address) as client:
        client._looking = True  # the scripted member would answer as a member
        for _ in range(3):
            error = reason(lambda: client.sequence("orders").set_next(5))
            assert not error.unknown and "use the port for HTTP" in str(error)
        changes = [c.connection for c in m.of("/v1/sequences:setNext")]
        assert len(set(changes)) == len(changes) == 3


def test_end_of_a_connection_without_a_protocol() -> None:
    """A port for gRPC selects no protocol, and ends the connection. It has answered no request before."""
    context: Any = None
    x = Exchange("a:1", Secured(context, "pin"), False, Request("GET", "/"), 0, 0)

    class TLS:
        def selected_alpn_protocol(self) -> None:
            return None

    tls: Any = TLS()
    assert [cut(x, tls, ClosedError("cut"), kept).foreign for kept in (False, True)] == [True, False]
