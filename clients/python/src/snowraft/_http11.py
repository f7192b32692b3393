"""HTTP/1.1 without input and output: requests as bytes, responses from bytes, with bounds on everything."""

from __future__ import annotations

from dataclasses import dataclass, field

MAX_HEAD = 16 << 10
MAX_BODY = 64 << 20
MAX_CHUNK_LINE = 256

GRPC_PORT = "the port speaks gRPC; use the port for HTTP, 7701 by default"
OTHER_PORT = "the port does not speak HTTP; use the port for HTTP, 7701 by default"
TLS_PORT = "the port expects TLS; give a token with a pin, or a CA"


class ProtocolError(Exception):
    """The peer does not speak HTTP/1.1, or exceeds a bound."""


class ClosedError(ProtocolError):
    """The connection was closed before the response."""


class OtherProtocolError(ProtocolError):
    """The first bytes of the peer are of another protocol, so it did not understand the request."""


@dataclass(frozen=True)
class Request:
    """A request to one member."""

    method: str
    path: str
    body: bytes | None = None
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)  # may have a token
    close: bool = False  # close the connection after the response

    def encode(self, host: str) -> bytes:
        """Returns the bytes of the request. host is the value of the header Host."""
        lines = [f"{self.method} {self.path} HTTP/1.1", f"Host: {host}", "User-Agent: snowraft-python"]
        lines += [f"{name}: {value}" for name, value in self.headers]
        if self.close:
            lines.append("Connection: close")
        if self.body is not None:
            lines += ["Content-Type: application/json", f"Content-Length: {len(self.body)}"]
        for line in lines:
            if "\r" in line or "\n" in line:
                raise ValueError("line break in a request")
        return "\r\n".join([*lines, "", ""]).encode("ascii") + (self.body or b"")


@dataclass(frozen=True)
class Response:
    """A complete response. Names of headers are in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes
    reusable: bool  # the connection may carry another request
    kept: bool = False  # the connection had answered an earlier request

    def from_member(self) -> bool:
        """Reports whether it looks like the answer of a member, which a proxy may have forwarded."""
        return self.body.startswith(b"{")


class Reader:
    """Reads one response. Feed it with bytes until feed returns the response.

    kept says that the connection has carried the answer of a member. Whatever comes then, the request may have been understood.
    """

    def __init__(self, kept: bool = False) -> None:
        self._kept = kept
        self._data = bytearray()
        self._status = 0
        self._headers: dict[str, str] = {}
        self._in_body = False
        self._body = bytearray()
        self._length: int | None = None  # None: chunks, or until the end of the connection
        self._chunked = False
        self._trailer = False
        self._reusable = True

    def feed(self, data: bytes) -> Response | None:
        """Takes bytes from the connection and returns the response once it is complete. No bytes mean its end."""
        self._data += data
        if not self._in_body and not self._head():
            if not data:
                raise ClosedError("the connection was closed before the response")
            return None
        if self._chunked:
            done = self._chunks()
        elif self._length is not None:
            done = len(self._data) >= self._length
            if done:
                self._body = self._data[: self._length]
                self._reusable &= len(self._data) == self._length
        else:
            done = not data
            self._body, self._reusable = self._data, False
        if done:
            return Response(self._status, self._headers, bytes(self._body), self._reusable, self._kept)
        if not data:
            raise ProtocolError("the connection was closed within the response")
        if len(self._data) + len(self._body) > MAX_BODY:
            raise ProtocolError(f"response longer than {MAX_BODY} bytes")
        return None

    def _head(self) -> bool:
        end = self._data.find(b"\r\n\r\n", 0, MAX_HEAD + 4)
        if end < 0:
            if len(self._data) > MAX_HEAD:
                raise ProtocolError("headers too long")
            if self._data and not b"HTTP/1.".startswith(self._data[:7]):
                if self._data[3:5] == b"\x04\x00":  # the settings of HTTP/2
                    raise self._other(GRPC_PORT)
                raise self._other(TLS_PORT if self._data[:2] == b"\x15\x03" else OTHER_PORT)
            return False
        lines = self._data[:end].decode("latin-1").split("\r\n")
        del self._data[: end + 4]
        version, _, rest = lines[0].partition(" ")
        code = rest[:3]
        if not version.startswith("HTTP/"):
            raise self._other(OTHER_PORT)
        if version not in ("HTTP/1.0", "HTTP/1.1") or not (len(code) == 3 and code.isascii() and code.isdigit()):
            raise ProtocolError("not HTTP")
        self._status = int(code)
        if self._status < 200:
            raise ProtocolError(f"unexpected status {self._status}")
        for line in lines[1:]:
            name, colon, value = line.partition(":")
            if not colon or not name or name != name.strip():
                raise ProtocolError("malformed header")
            key = name.lower()
            if key in self._headers and key in ("content-length", "transfer-encoding"):
                raise ProtocolError(f"header {key} twice")
            self._headers[key] = value.strip()
        self._frame(version)
        self._in_body = True
        return True

    def _other(self, text: str) -> ProtocolError:
        return ProtocolError("not HTTP") if self._kept else OtherProtocolError(text)

    def _frame(self, version: str) -> None:
        self._reusable = version == "HTTP/1.1" and self._headers.get("connection", "").lower() != "close"
        encoding, length = self._headers.get("transfer-encoding"), self._headers.get("content-length")
        if encoding is not None:
            if encoding.lower() != "chunked" or length is not None:
                raise ProtocolError("unknown framing of the response")
            self._chunked = True
        elif self._status in (204, 304):
            self._length = 0
        elif length is not None:
            if not (length.isascii() and length.isdigit() and len(length) < 12) or int(length) > MAX_BODY:
                raise ProtocolError("malformed or excessive Content-Length")
            self._length = int(length)

    def _chunks(self) -> bool:
        while True:
            end = self._data.find(b"\r\n", 0, MAX_CHUNK_LINE)
            if end < 0:
                if len(self._data) >= MAX_CHUNK_LINE:
                    raise ProtocolError("malformed chunk")
                return False
            if self._trailer:
                if end > 0:
                    raise ProtocolError("unexpected trailer")
                self._reusable &= len(self._data) == 2
                return True
            digits = bytes(self._data[:end]).partition(b";")[0].strip()
            if not 1 <= len(digits) <= 8 or not all(c in b"0123456789abcdefABCDEF" for c in digits):
                raise ProtocolError("malformed chunk")
            size = int(digits, 16)
            if len(self._body) + size > MAX_BODY:
                raise ProtocolError(f"response longer than {MAX_BODY} bytes")
            if size == 0:
                self._trailer = True
                del self._data[: end + 2]
                continue
            if len(self._data) < end + 2 + size + 2:
                return False
            if self._data[end + 2 + size : end + 4 + size] != b"\r\n":
                raise ProtocolError("malformed chunk")
            self._body += self._data[end + 2 : end + 2 + size]
            del self._data[: end + 4 + size]
