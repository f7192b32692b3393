"""Calls without input and output.

A flow is a generator that yields the exchanges and pauses of one call, with all its tries, and returns the answer. The
synchronous client performs them with sockets, the asynchronous one with streams.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import quote, urlencode

from . import _methods as methods
from . import _reasons as reasons
from ._http11 import TLS_PORT, Request, Response
from ._methods import Method
from ._receipt import Receipts
from ._running import time_limit
from ._standing import Standing
from ._tls import Secured, Trust
from .errors import SnowraftError, malformed
from .hooks import Hooks, Try, report

T = TypeVar("T")

_FIRST_PAUSE, _LONGEST_PAUSE = 0.01, 0.5
_CONNECT_LIMIT = 1.0  # seconds to accept a connection while other members are left
_SUSPICIOUS = 0.1  # a timeout shorter than this shows nothing about a member
_MOST_NAMED = 5
_TEMPORARY = (408, 425, 429)  # statuses of a proxy after which a repetition may succeed
_HTTP_PORTS = "they are host:port of the HTTP ports, 7701 by default"
NO_ANSWER, NO_CONNECTION = "no answer in time", "no connection in time"


@dataclass(frozen=True)
class Exchange:
    """One request to one member, over a kept-alive connection or a new one."""

    address: str
    secured: Secured | None
    loopback_only: bool
    request: Request
    until: float  # time.monotonic
    connect_until: float


@dataclass(frozen=True)
class Pause:
    """A pause of some seconds."""

    seconds: float


class Broken(Exception):
    """An exchange without a response."""

    def __init__(
        self, text: str, *, sent: bool, late: bool = False, stranger: bool = False, foreign: bool = False
    ) -> None:
        super().__init__(text)
        self.sent = sent  # the request may have reached the member
        self.late = late  # the time limit passed
        self.stranger = stranger  # the server is not what the client trusts
        self.foreign = foreign  # the port is not one for HTTP of a member, and did not understand the request


Flow = Generator["Exchange | Pause", "Response | None", T]
Answer = dict[str, Any]


class Core:
    """The part of a client that both kinds of clients share. Its methods may be called from any thread."""

    def __init__(self, standing: Standing, trust: Trust, timeout: float, hooks: Hooks) -> None:
        self.standing = standing
        self.trust = trust
        self.timeout = timeout
        self.hooks = hooks
        self.receipts = Receipts()
        self.changed: Callable[[], None] = lambda: None  # the list of members may have changed
        self.sealed: Callable[[SnowraftError], None] = lambda _: None  # stops all that issues from memory

    def call(
        self,
        method: Method,
        *,
        name: str = "",
        query: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None,
        timeout: float | None = None,
        count: int = 0,
        leader: bool = False,
        failed: Callable[[SnowraftError], None] = lambda _: None,
    ) -> Flow[Answer]:
        """Makes a call with as many tries as its rule and its time limit allow.

        leader prefers the leader anyway. failed gets the error of each try; an error that it raises ends the call.
        """
        path = method.path + quote(name, safe="")
        if query:
            path += "?" + urlencode(query)
        content = None if body is None else json.dumps(body).encode("utf-8")
        began = time.monotonic()
        deadline = began + (self.timeout if timeout is None else time_limit(timeout))
        limit = method.try_timeout + count * methods.PER_ID if method.try_timeout else 0.0
        large = count > methods.QUICK_COUNT
        pause, tries = _FIRST_PAUSE, _Tries(method)
        while True:
            address, others = self.standing.choose(tries.tried(), leader or method.leader)
            until = deadline
            if limit:
                left = deadline - time.monotonic()
                until = min(deadline, time.monotonic() + (limit if large else min(limit, left / 2)))
            try:
                return (yield from self._try(method, path, content, address, until, others))
            except SnowraftError as error:
                tries.add(error)
                failed(error)
                if error.reason == reasons.SET_BACK:
                    self.sealed(error)
                left = deadline - time.monotonic()
                again = others or not tries.hopeless() if _is_wrong(error) else method.again(error, error.unknown)
                if left <= 0 or not again:
                    raise tries.final(error, self.standing.addresses()) from None
                if others:
                    continue
                worst = tries.specific()
                rest = max(pause, min(worst.retry_after, _LONGEST_PAUSE)) * random.uniform(1.0, 1.25)
                waits = worst.reason in (reasons.WORKERS_EXHAUSTED, reasons.FENCED) and worst.retry_after > left
                if left < _FIRST_PAUSE or waits:
                    raise tries.final(worst, self.standing.addresses()) from None
                tries.next_round()
                limit, pause = 2 * limit, min(2 * pause, _LONGEST_PAUSE)
            try:
                yield Pause(min(rest, left / 2))
            except SnowraftError as error:  # the client was closed
                error.unknown = tries.unknown
                raise

    def _try(
        self, method: Method, path: str, content: bytes | None, address: str, until: float, others: bool
    ) -> Flow[Answer]:
        began = time.monotonic()
        error: SnowraftError | None = None
        self.standing.begin(address)
        try:
            return (yield from self._exchange(method, path, content, address, until, others))
        except SnowraftError as e:
            error = e
            raise
        finally:
            self.standing.end(address)
            report(self.hooks.on_try, Try(method.path, address, time.monotonic() - began, error))

    def _exchange(
        self, method: Method, path: str, content: bytes | None, address: str, until: float, others: bool
    ) -> Flow[Answer]:
        connect_until = min(until, time.monotonic() + _CONNECT_LIMIT) if others else until
        asked = False
        while True:
            if self.trust.pinned and self.trust.context is None:
                asked = True
                yield from self._request_ca(address, until, connect_until)
            used = self.trust.context
            left = max(1, int((until - time.monotonic()) * 1000))
            headers = [("Grpc-Timeout", f"{min(left, 25_000)}m")]
            if self.trust.token:
                headers.append(("Authorization", f"Bearer {self.trust.token}"))
            if method.receipt:
                headers.append(("Snowraft-Receipt", self.receipts.latest))
            request = Request(method.verb, path, content, tuple(headers))
            try:
                response = yield Exchange(
                    address, self.trust.secured(), self.trust.loopback_only, request, until, connect_until
                )
                break
            except Broken as broken:
                if broken.stranger and self.trust.pinned and not asked:
                    asked = True
                    yield from self._request_ca(address, until, connect_until)
                    if self.trust.context is not used:  # this call has learned the CA, or another one
                        continue
                raise self._broken(method, address, broken) from None
        assert response is not None
        answer = self._answer(method, address, response)
        self.standing.trust(address)
        self.receipts.keep(answer.get("receipt"))
        return answer

    def _request_ca(self, address: str, until: float, connect_until: float) -> Flow[None]:
        """Requests the CA of a server over a connection that is not verified and carries no token."""
        request = Request("GET", methods.GET_CA.path, close=True)
        try:
            response = yield Exchange(address, self.trust.unverified(), False, request, until, connect_until)
        except Broken as broken:
            text = str(broken)
            unsent = Broken(text, sent=False, late=broken.late, foreign=broken.foreign)
            raise self._broken(methods.GET_CA, address, unsent) from None
        assert response is not None
        if response.status == 200 and self.trust.learn(response.body):
            return
        if response.status in (429, 503):
            self._answer(methods.GET_CA, address, response)  # raises why the member does not answer now
        if self.trust.context is None:
            raise self._broken(methods.GET_CA, address, _stranger())

    def _broken(self, method: Method, address: str, broken: Broken) -> SnowraftError:
        if broken.stranger and self.trust.pinned:
            text = "the server does not belong to the cluster that the pin names; use the token or pin of that cluster"
            return SnowraftError(text, reason=reasons.PIN_MISMATCH, member=address)
        self.standing.suspect(address)
        self.changed()
        late = broken.late and broken.sent
        return SnowraftError(
            NO_ANSWER if late else str(broken),
            reason=reasons.TIMEOUT if late else reasons.UNAVAILABLE,
            retry=not broken.foreign and (method.harmless or not broken.sent),
            unknown=broken.sent and not broken.foreign,
            member=address,
        )

    def _answer(self, method: Method, address: str, response: Response) -> Answer:
        try:
            answer = json.loads(response.body)
        except (ValueError, RecursionError):
            answer = None
        if isinstance(answer, dict) and response.status == 200:
            return answer
        if isinstance(answer, dict) and isinstance(answer.get("code"), int):
            error = _status(method, answer)
            error.member = address
            if error.reason == reasons.NO_LEADER:
                self.standing.without_leader(address)
            return _raise(error)
        if response.status == 200:
            error = malformed("no JSON object")
        elif not response.kept and 400 <= response.status < 500 and response.status not in _TEMPORARY:
            text = f"not a Snowraft member: status {response.status}; use the port for HTTP, 7701 by default"
            clear = b"HTTP request to an HTTPS server" in response.body
            error = SnowraftError(TLS_PORT if clear else text, reason=reasons.UNAVAILABLE)
        else:  # a proxy may have forwarded the request
            text = f"not a Snowraft member (possibly a proxy): status {response.status}"
            error = SnowraftError(text, reason=reasons.UNAVAILABLE, retry=method.harmless, unknown=True)
        error.member = address
        return _raise(error)


def _is_wrong(error: SnowraftError) -> bool:
    """Reports whether the address is not that of a member of the cluster: nothing was done, and waiting does not help."""
    foreign = error.reason == reasons.UNAVAILABLE and not error.retry and not error.unknown
    return foreign or error.reason == reasons.PIN_MISMATCH


def _raise(error: SnowraftError) -> Answer:
    raise error


def _stranger() -> Broken:
    return Broken("certificate not issued by the CA of the pin", sent=False, stranger=True)


def _status(method: Method, answer: Answer) -> SnowraftError:
    """Returns the error of a google.rpc.Status."""
    reason, retry_after, metadata = "", 0.0, {}
    details = answer.get("details")
    for detail in details if isinstance(details, list) else ():
        if not isinstance(detail, dict):
            continue
        if detail.get("domain") == "snowraft" and isinstance(detail.get("reason"), str):
            reason = detail["reason"][:64]
            if isinstance(detail.get("metadata"), dict):
                metadata = {str(k): str(v) for k, v in detail["metadata"].items()}
        delay = detail.get("retryDelay")
        if isinstance(delay, str) and delay.endswith("s"):
            try:
                retry_after = min(max(0.0, float(delay[:-1])), 1e9)
            except ValueError:
                pass
    unknown = reason in reasons.MAYBE_DONE
    if not reason and answer["code"] == 4:  # DEADLINE_EXCEEDED
        reason, unknown = reasons.TIMEOUT, True
    by_method = reason in reasons.REPEAT_BY_METHOD and method.harmless
    return SnowraftError(
        str(answer.get("message", ""))[:2048],
        reason=reason,
        retry=reason in reasons.REPEAT_YES or reason in reasons.REPEAT_LATER or by_method,
        unknown=unknown,
        retry_after=retry_after,
        metadata=metadata,
    )


class _Tries:
    """The failed tries of one call."""

    def __init__(self, method: Method) -> None:
        self._round: list[SnowraftError] = []  # each member is called once in a round
        self._former: list[SnowraftError] = []
        self.unknown = False  # a try may have had an effect
        self._before: SnowraftError | None = None  # most specific error of all former rounds
        self._method = method

    def add(self, error: SnowraftError) -> None:
        self._round.append(error)
        self.unknown = self.unknown or error.unknown

    def tried(self) -> list[str]:
        return [e.member for e in self._round]

    def hopeless(self) -> bool:
        """Reports whether waiting helps none of the members of this round."""
        return all(map(_is_wrong, self._round))

    def next_round(self) -> None:
        self._before, self._former, self._round = self.specific(), self._round, []

    def specific(self) -> SnowraftError:
        """Returns the latest error with a reason of a member or, without one, the latest that shows more than the time."""
        best = self._before
        own = (reasons.TIMEOUT, reasons.UNAVAILABLE)
        for error in self._round:
            late = error.message in (NO_ANSWER, NO_CONNECTION)
            if best is None or error.reason not in own or best.reason in own and not late:
                best = error
        assert best is not None
        return best

    def final(self, last: SnowraftError, addresses: list[str]) -> SnowraftError:
        """Returns the error of the call. Only an unknown outcome of the last try is more important than a reason."""
        best = (last if last.unknown and not self._method.harmless else self.specific()).copy()
        best.unknown = self.unknown
        if best.reason == reasons.UNAVAILABLE and not best.unknown and not _is_wrong(best):
            named = ", ".join(addresses[:_MOST_NAMED])
            more = f" and {len(addresses) - _MOST_NAMED} more" if len(addresses) > _MOST_NAMED else ""
            text = f"no member can be reached (tried: {named}{more}): {best.message}; check the addresses: {_HTTP_PORTS}"
            return best.copy(text, others=())
        named_once = {best.member: best}
        for error in [*self._round, *self._former]:
            named_once.setdefault(error.member, error)
        return best.copy(others=list(named_once.values())[1:])
