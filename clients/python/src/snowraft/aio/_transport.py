"""Performs exchanges with streams of asyncio, over connections that are kept for later exchanges."""

from __future__ import annotations

import asyncio
import socket
import ssl
import time
from typing import TypeVar

from .. import _image
from .._core import NO_ANSWER, NO_CONNECTION, Broken, Exchange, Flow, Pause
from .._http11 import ClosedError, OtherProtocolError, ProtocolError, Reader, Response
from .._standing import is_loopback, parse_address
from .._transport import CLEAR_TEXT, IDLE_LIMIT, MOST_IDLE, READ_SIZE, cut, is_clear, plain, readable
from ._within import within

T = TypeVar("T")

_Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class AsyncTransport:
    """A pool of connections of one event loop."""

    def __init__(self) -> None:
        self._page = _image.mark()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._idle: dict[tuple[str, int], list[tuple[float, _Streams]]] = {}
        self._closed = False

    def close(self) -> None:
        """Closes the idle connections. Exchanges in progress end on their own."""
        self._closed = True
        self._own()
        for streams in self._idle.values():
            for _, (_, writer) in streams:
                writer.close()
        self._idle = {}

    def _own(self) -> None:
        """Forgets connections of another loop, and those that a fork has inherited. It does not touch them.

        The parent uses them, and its event loop shares the kernel's list of watched connections.
        """
        loop = asyncio.get_running_loop()
        if self._loop is not loop or not self._page[0]:
            self._loop, self._idle, self._page = loop, {}, _image.mark()

    async def run(self, flow: Flow[T]) -> T:
        """Performs a flow and returns its result."""
        try:
            command = next(flow)
            while True:
                if isinstance(command, Pause):
                    await asyncio.sleep(command.seconds)
                    command = flow.send(None)
                    continue
                try:
                    response = await self._exchange(command)
                except Broken as broken:
                    command = flow.throw(broken)
                else:
                    command = flow.send(response)
        except StopIteration as stop:
            result: T = stop.value
            return result
        finally:
            flow.close()

    async def _exchange(self, x: Exchange) -> Response:
        self._own()
        key = (x.address, id(x.secured.context) if x.secured else 0)
        kept = None if x.request.close else self._take(key)
        streams = kept or await _connect(x)
        keep = False
        try:
            response = await _converse(streams, x, kept is not None)
            keep = response.reusable and response.from_member() and not x.request.close
            return response
        finally:
            idle = self._idle.setdefault(key, [])
            if keep and not self._closed and len(idle) < MOST_IDLE:
                idle.append((time.monotonic(), streams))
            else:
                streams[1].close()

    def _take(self, key: tuple[str, int]) -> _Streams | None:
        idle = self._idle.get(key, [])
        while idle:
            since, (reader, writer) = idle.pop()
            fresh = time.monotonic() - since < IDLE_LIMIT and not writer.is_closing()
            if fresh and not _unread(reader) and not readable(writer.get_extra_info("socket")):
                return reader, writer
            writer.close()
        return None


def _unread(reader: asyncio.StreamReader) -> bool:
    """Reports whether an idle stream has bytes, its end or an error, so that it carries no further request."""
    reading = reader.read(1)
    try:
        reading.send(None)  # suspends only if there is nothing to read
    except Exception:  # StopIteration has what was read
        return True
    reading.close()
    return False


async def _connect(x: Exchange) -> _Streams:
    host, port = parse_address(x.address)
    context, name = (x.secured.context, x.secured.server_name or host) if x.secured else (None, None)
    try:
        opening = asyncio.open_connection(host, port, ssl=context, server_hostname=name)
        reader, writer = await within(opening, x.connect_until - time.monotonic(), lambda streams: streams[1].close())
    except TimeoutError:
        raise Broken(NO_CONNECTION, sent=False, late=True) from None
    except OSError as e:
        stranger = isinstance(e, ssl.SSLCertVerificationError)
        raise Broken(plain(e), sent=False, stranger=stranger, foreign=is_clear(e)) from None
    peer = writer.get_extra_info("peername")
    if x.loopback_only and not (peer and is_loopback(peer[0])):
        writer.close()
        raise Broken(CLEAR_TEXT, sent=False)
    raw = writer.get_extra_info("socket")
    if raw is not None:
        raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return reader, writer


async def _converse(streams: _Streams, x: Exchange, kept: bool) -> Response:
    """Sends the request and reads the response."""
    try:
        return await within(_send(streams, x, kept), x.until - time.monotonic())
    except TimeoutError:
        raise Broken(NO_ANSWER, sent=True, late=True) from None
    except OtherProtocolError as e:
        raise Broken(str(e), sent=True, foreign=True) from None
    except (ClosedError, OSError) as e:
        raise cut(x, streams[1].get_extra_info("ssl_object"), e, kept) from None
    except ProtocolError as e:
        raise Broken(f"not a Snowraft member (possibly a proxy): {e}", sent=True) from None


async def _send(streams: _Streams, x: Exchange, kept: bool) -> Response:
    stream, writer = streams
    writer.write(x.request.encode(x.address))
    await writer.drain()
    reader = Reader(kept)
    while True:
        response = reader.feed(await stream.read(READ_SIZE))
        if response is not None:
            return response
