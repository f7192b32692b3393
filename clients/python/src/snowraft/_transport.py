"""Performs exchanges with blocking sockets, over connections that are kept for later exchanges."""

from __future__ import annotations

import select
import socket
import ssl
import threading
import time
from typing import TypeVar

from ._core import NO_ANSWER, NO_CONNECTION, Broken, Exchange, Flow, Pause
from ._http11 import GRPC_PORT, ClosedError, OtherProtocolError, ProtocolError, Reader, Response
from ._standing import is_loopback, parse_address
from .errors import closed

T = TypeVar("T")

IDLE_LIMIT = 60.0  # seconds; members close a connection that is idle for longer
MOST_IDLE = 16  # connections kept per member
READ_SIZE = 64 << 10
CLEAR_TEXT = (
    "a token without a pin is not sent to another host in clear text; use a token with a pin, or give a CA"
)

_Key = tuple[str, int]  # address, identity of the TLS context


class Transport:
    """A pool of connections. Its methods may be called from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: dict[_Key, list[tuple[float, socket.socket]]] = {}
        self._closed = threading.Event()

    def renew(self) -> None:
        """Drops the connections that a fork has inherited, unwritten: the parent uses them."""
        inherited, self._idle = self._idle, {}
        self._lock, self._closed = threading.Lock(), threading.Event()
        for connections in inherited.values():
            for _, connection in connections:
                connection.close()  # sends nothing, not even the end of TLS

    def close(self) -> None:
        """Closes the idle connections. Exchanges in progress end on their own."""
        self._closed.set()
        with self._lock:
            idle, self._idle = self._idle, {}
        for connections in idle.values():
            for _, connection in connections:
                connection.close()

    def run(self, flow: Flow[T]) -> T:
        """Performs a flow and returns its result."""
        try:
            command = next(flow)
            while True:
                if isinstance(command, Pause):
                    ended = self._closed.wait(command.seconds)
                    command = flow.throw(closed()) if ended else flow.send(None)
                    continue
                try:
                    response = self._exchange(command)
                except Broken as broken:
                    command = flow.throw(broken)
                else:
                    command = flow.send(response)
        except StopIteration as stop:
            result: T = stop.value
            return result
        finally:
            flow.close()

    def _exchange(self, x: Exchange) -> Response:
        host, port = parse_address(x.address)
        key = (x.address, id(x.secured.context) if x.secured else 0)
        kept = None if x.request.close else self._take(key)
        connection = kept or _connect(x, host, port)
        keep = False
        try:
            response = _converse(connection, x, kept is not None)
            keep = response.reusable and response.from_member() and not x.request.close
            return response
        finally:
            if keep:
                self._put(key, connection)
            else:
                connection.close()

    def _take(self, key: _Key) -> socket.socket | None:
        while True:
            with self._lock:
                idle = self._idle.get(key)
                if not idle:
                    return None
                since, connection = idle.pop()
            if time.monotonic() - since < IDLE_LIMIT and not readable(connection):
                return connection
            connection.close()

    def _put(self, key: _Key, connection: socket.socket) -> None:
        with self._lock:
            idle = self._idle.setdefault(key, [])
            if not self._closed.is_set() and len(idle) < MOST_IDLE:
                idle.append((time.monotonic(), connection))
                return
        connection.close()


def readable(connection: socket.socket) -> bool:
    """Reports whether an idle connection has bytes or its end to read, so that it carries no further request."""
    if isinstance(connection, ssl.SSLSocket) and connection.pending():
        return True
    try:
        if hasattr(select, "poll"):
            poll = select.poll()
            poll.register(connection, select.POLLIN)
            return bool(poll.poll(0))
        return bool(select.select([connection], [], [], 0)[0])
    except (OSError, ValueError):
        return True


def _connect(x: Exchange, host: str, port: int) -> socket.socket:
    try:
        connection = socket.create_connection((host, port), _left(x.connect_until))
    except TimeoutError:
        raise Broken(NO_CONNECTION, sent=False, late=True) from None
    except OSError as e:
        raise Broken(plain(e), sent=False) from None
    try:
        if x.loopback_only and not is_loopback(connection.getpeername()[0]):
            raise Broken(CLEAR_TEXT, sent=False)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if not x.secured:
            return connection
        connection.settimeout(_left(x.connect_until))
        return x.secured.context.wrap_socket(connection, server_hostname=x.secured.server_name or host)
    except TimeoutError:
        connection.close()
        raise Broken(NO_CONNECTION, sent=False, late=True) from None
    except OSError as e:
        connection.close()
        stranger = isinstance(e, ssl.SSLCertVerificationError)
        raise Broken(plain(e), sent=False, stranger=stranger, foreign=is_clear(e)) from None
    except BaseException:
        connection.close()
        raise


def _converse(connection: socket.socket, x: Exchange, kept: bool) -> Response:
    """Sends the request and reads the response."""
    try:
        connection.settimeout(_left(x.until))
        connection.sendall(x.request.encode(x.address))
        reader = Reader(kept)
        while True:
            connection.settimeout(_left(x.until))
            response = reader.feed(connection.recv(READ_SIZE))
            if response is not None:
                return response
    except TimeoutError:
        raise Broken(NO_ANSWER, sent=True, late=True) from None
    except OtherProtocolError as e:
        raise Broken(str(e), sent=True, foreign=True) from None
    except (ClosedError, OSError) as e:
        tls = connection if isinstance(connection, ssl.SSLSocket) else None
        raise cut(x, tls, e, kept) from None
    except ProtocolError as e:
        raise Broken(f"not a Snowraft member (possibly a proxy): {e}", sent=True) from None


def _left(until: float) -> float:
    left = until - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


def cut(x: Exchange, tls: ssl.SSLSocket | ssl.SSLObject | None, error: Exception, kept: bool) -> Broken:
    """Returns the error of a connection that ended before a response.

    A member's port for HTTP selects the protocol http/1.1, and its port for gRPC none that this client offers.
    """
    if not kept and x.secured and x.secured.server_name and tls and tls.selected_alpn_protocol() is None:
        return Broken(GRPC_PORT, sent=True, foreign=True)
    return Broken(plain(error) if isinstance(error, OSError) else str(error), sent=True)


def is_clear(error: OSError) -> bool:
    """Reports whether the answer to the start of TLS was no TLS."""
    return isinstance(error, ssl.SSLError) and error.reason in ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE")


def plain(error: OSError) -> str:
    """Returns the text of an error of the network, without numbers and source lines."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the certificate is not trusted: {error.verify_message}"
    if isinstance(error, ssl.SSLError):
        if is_clear(error):
            return "the port does not speak TLS; remove the pin and the CA, or check the address"
        return f"TLS: {(error.reason or 'handshake failed').replace('_', ' ').lower()}"
    if isinstance(error, socket.gaierror):
        return "no such host" if error.errno == socket.EAI_NONAME else "the host name cannot be resolved"
    return (error.strerror or str(error) or type(error).__name__).lower()
