"""Responses from bytes, in pieces of any size."""

from __future__ import annotations

import pytest

from snowraft._http11 import MAX_BODY, ProtocolError, Reader, Request, Response

WHOLE = [
    (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", b"{}", True),
    (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", b"", True),
    (b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}", b"{}", False),
    (b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n{}", b"{}", False),
    (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n1;x=y\r\n}\r\n0\r\n\r\n", b"{}", True),
    (b"HTTP/1.1 204 No Content\r\n\r\n", b"", True),
]


def read(pieces: list[bytes]) -> Response | None:
    reader, response = Reader(), None
    for piece in pieces:
        response = reader.feed(piece)
    return response


@pytest.mark.parametrize(("data", "body", "reusable"), WHOLE)
def test_any_pieces(data: bytes, body: bytes, reusable: bool) -> None:
    for size in (1, 2, 3, 7, len(data)):
        pieces = [data[i : i + size] for i in range(0, len(data), size)]
        response = read(pieces)
        assert response and (response.body, response.reusable) == (body, reusable)
        for end in range(1, len(data)):
            with pytest.raises(ProtocolError, match="closed"):
                read([data[:end], b""])


def test_body_until_the_end_of_the_connection() -> None:
    response = read([b"HTTP/1.1 200 OK\r\n\r\n{", b"}", b""])
    assert response and response.body == b"{}" and not response.reusable


def test_bytes_after_the_response_end_the_connection() -> None:
    response = read([b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}HTTP/1.1 200 OK\r\n"])
    assert response and response.body == b"{}" and not response.reusable


def test_endless_bodies_are_refused() -> None:
    reader = Reader()
    reader.feed(b"HTTP/1.1 200 OK\r\n\r\n")
    with pytest.raises(ProtocolError, match="longer"):
        for _ in range(MAX_BODY // (8 << 20) + 2):
            reader.feed(bytes(8 << 20))


def test_requests_have_no_line_breaks() -> None:
    with pytest.raises(ValueError):
        Request("GET", "/", headers=(("A", "b\r\nC: d"),)).encode("h:1")
    assert "secret" not in repr(Request("GET", "/", headers=(("Authorization", "secret"),)))
