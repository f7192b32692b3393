"""A scripted member: an HTTP server on loopback that answers by path."""

from __future__ import annotations

import json
import socket
import ssl
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Call:
    """A request that the member got."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any
    server_name: str | None = None
    connection: int = 0


Answer = "dict[str, Any] | tuple[int, Any] | bytes | None"


def refuse(reason: str, code: int = 14, status: int = 503, **metadata: str) -> tuple[int, Any]:
    """Returns the answer of a member that refuses, as a google.rpc.Status."""
    info = {
        "@type": "type.googleapis.com/google.rpc.ErrorInfo",
        "reason": reason,
        "domain": "snowraft",
        "metadata": metadata,
    }
    return status, {"code": code, "message": f"refused: {reason}", "details": [info]}


@dataclass
class Member:
    """Answers each request with what answer returns: a JSON object, (status, JSON), raw bytes, or None to close.

    An answer can block on a threading.Event of the test to be late.
    """

    answer: Callable[[Call], Any]
    context: ssl.SSLContext | None = None
    calls: list[Call] = field(default_factory=list)
    members: list[dict[str, Any]] = field(default_factory=list)
    last: bool = False  # the connection ends after each answer

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self._listener.getsockname()[1]
        self._accepted: list[socket.socket] = []
        self.connections = 0
        self.failed_handshakes = 0
        self.names: list[str | None] = []
        if self.context:
            self.context.sni_callback = lambda _s, name, _c: self.names.append(name)
        threading.Thread(target=self._serve, daemon=True).start()

    def __enter__(self) -> Member:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes all connections, at once."""
        try:
            self._listener.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self._listener.close()
        self.drop()

    def drop(self) -> None:
        """Closes the connections, and goes on to listen."""
        with self._lock:
            accepted, self._accepted = self._accepted, []
        for connection in accepted:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def send(self, data: bytes) -> None:
        """Sends bytes that nobody requested on all connections in clear text."""
        with self._lock:
            for connection in self._accepted:
                try:
                    connection.sendall(data)
                except OSError:  # the client has closed it
                    pass

    def paths(self) -> list[str]:
        """Returns the paths of the requests so far, without those for the list of members."""
        return [c.path for c in self.calls if c.path != "/v1/members"]

    def of(self, path: str) -> list[Call]:
        """Returns the requests with a path."""
        return [c for c in self.calls if c.path == path]

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._converse, args=(connection, self.connections), daemon=True).start()

    def _converse(self, connection: socket.socket, number: int) -> None:
        with self._lock:
            self._accepted.append(connection)
        try:
            if self.context:
                connection = self.context.wrap_socket(connection, server_side=True)
        except OSError:
            self.failed_handshakes += 1
            connection.close()
            return
        try:
            with connection, connection.makefile("rwb") as stream:
                while self._one(stream, number):
                    pass
        except (OSError, ValueError):  # the client has gone away
            pass

    def _one(self, stream: Any, number: int) -> bool:
        first = stream.readline().split()
        if len(first) != 3 or not first[2].startswith(b"HTTP/"):  # such as TLS
            return False
        headers: dict[str, str] = {}
        while line := stream.readline().strip():
            name, _, value = line.decode("latin-1").partition(":")
            headers[name.lower()] = value.strip()
        content = stream.read(int(headers.get("content-length", "0")))
        body = json.loads(content) if content else None
        call = Call(first[0].decode(), first[1].decode(), headers, body, connection=number)
        self.calls.append(call)
        answer = {"members": self.members} if call.path == "/v1/members" else self.answer(call)
        if answer is None:
            return False
        if not isinstance(answer, bytes):
            status, content = answer if isinstance(answer, tuple) else (200, answer)
            data = json.dumps(content).encode()
            end = b"Connection: close\r\n" if self.last else b""  # unannounced, it could meet the next request
            answer = b"HTTP/1.1 %d X\r\n%bContent-Length: %d\r\n\r\n" % (status, end, len(data)) + data
        stream.write(answer)
        stream.flush()
        return not self.last


def one_id(call: Call) -> dict[str, Any]:
    """Answers requests for IDs."""
    count = call.body["count"]
    after = int(call.body.get("after", "0"))
    return {"ranges": [{"first": str(after + 1), "count": count, "step": "1"}], "ids": []}
