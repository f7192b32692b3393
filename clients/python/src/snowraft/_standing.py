"""What a client knows about members, by their HTTP addresses."""

from __future__ import annotations

import ipaddress
import random
import threading
import time
from collections.abc import Iterable, Sequence

_PORT = 7701  # of members for HTTP, by default
_SUSPICION = 5.0  # seconds for which a member that did not answer in time is called only if no other is left

# Objections to a member, in ascending order. The sum decides.
_UNLEARNED = 1
_NOT_LEADER = 2
_SUSPECTED = 4
_AVOIDED = 8


def parse_address(text: str) -> tuple[str, int]:
    """Returns the host and the port of an address, host:port or [IPv6]:port. The port is 7701 if the text has none."""
    host, colon, port = text.rpartition(":")
    if not colon or text.endswith("]"):
        host, port = text, str(_PORT)
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        host = ""
    digits = port.isascii() and port.isdigit() and len(port) <= 5
    if not host or not digits or not 1 <= int(port) <= 65535 or not host.isprintable() or any(c in host for c in " /@"):
        raise ValueError(f"member address {text!r}: expected host:port")
    return host, int(port)


def is_loopback(host: str) -> bool:
    """Reports whether an IP address is of this host."""
    try:
        return ipaddress.ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return False


class Standing:
    """The members that a client may call, and how they have answered.

    The addresses that the caller gave stay in use next to those that members advertise, because advertised addresses may
    not be reachable from here. Its methods may be called from any thread.
    """

    def __init__(self, seeds: Sequence[str]) -> None:
        self._seeds = list(seeds)
        self._learned: list[str] = []
        self._leader = ""
        self._leaderless = ""  # the last member that knew no leader, while the leader is unknown
        self._suspects: dict[str, float] = {}  # by address, time.monotonic
        self._calls: dict[str, int] = {}
        self._lock = threading.Lock()

    def renew(self) -> None:
        """Makes the lock anew and forgets calls in progress, after a fork."""
        self._lock = threading.Lock()
        self._calls = {}

    def addresses(self) -> list[str]:
        """Returns the addresses in use."""
        with self._lock:
            return list(dict.fromkeys([*self._learned, *self._seeds]))

    def learn(self, learned: Iterable[str], leader: str) -> bool:
        """Sets the advertised addresses and that of the leader; empty if unknown. Returns whether the list changed."""
        new = sorted(set(learned))
        with self._lock:
            changed = new != self._learned
            if new:
                self._learned = new
            self._leader, self._leaderless = leader, ""
            return changed

    def choose(self, avoid: Sequence[str], leader: bool) -> tuple[str, bool]:
        """Returns the member to call, and whether others are left that avoid does not have."""
        with self._lock:
            now = time.monotonic()
            ranked = [
                (self._objection(a, now, avoid, leader), self._calls.get(a, 0), random.random(), a)
                for a in dict.fromkeys([*self._learned, *self._seeds])
            ]
            fresh = sum(objection < _AVOIDED for objection, *_ in ranked)
            best = min(ranked)
            return best[3], best[0] < _AVOIDED and fresh > 1

    def _objection(self, address: str, now: float, avoid: Sequence[str], leader: bool) -> int:
        objection = _AVOIDED if address in avoid else 0
        if self._learned and address not in self._learned:
            objection += _UNLEARNED
        if leader and (address != self._leader if self._leader else address == self._leaderless):
            objection += _NOT_LEADER
        if self._suspects.get(address, 0.0) > now:
            objection += _SUSPECTED
        return objection

    def begin(self, address: str) -> None:
        """Counts a call. Only one call at a time has to wait for a member that is suspected."""
        with self._lock:
            self._calls[address] = self._calls.get(address, 0) + 1
            if address in self._suspects:
                self._suspects[address] = time.monotonic() + _SUSPICION

    def end(self, address: str) -> None:
        """Counts the end of a call."""
        with self._lock:
            left = self._calls.get(address, 0) - 1
            if left > 0:
                self._calls[address] = left
            else:
                self._calls.pop(address, None)

    def trust(self, address: str) -> None:
        """Notes that a member has answered."""
        if self._suspects:
            with self._lock:
                self._suspects.pop(address, None)

    def suspect(self, address: str) -> None:
        """Notes that a member did not answer in time, or cannot be reached."""
        with self._lock:
            self._suspects[address] = time.monotonic() + _SUSPICION
            if self._leader == address:
                self._leader = ""

    def without_leader(self, address: str) -> None:
        """Notes that a member knows no leader.

        It may have led before it lost the majority, and other members may know its successor.
        """
        with self._lock:
            if self._leader in ("", address):
                self._leader, self._leaderless = "", address
