"""The options of a client, checked."""

from __future__ import annotations

import ssl
from collections.abc import Iterable

from ._core import Core
from ._running import time_limit
from ._standing import Standing, parse_address
from ._tls import CA, trust
from .hooks import Hooks


class Options:
    """What a caller gave. Raises ValueError for what cannot be. Errors do not contain the token."""

    def __init__(
        self,
        addresses: str | Iterable[str],
        token: str | None,
        ca: CA | None,
        pin: str | None,
        tls: ssl.SSLContext | bool | None,
        timeout: float,
        hooks: Hooks | None,
    ) -> None:
        if isinstance(addresses, str):
            addresses = addresses.split(",")
        if not isinstance(addresses, Iterable):
            raise ValueError(f"addresses {addresses!r}: expected a list of host:port")
        self.addresses = list(dict.fromkeys(map(_complete, addresses)))
        if not self.addresses:
            raise ValueError("no address of a member: expected host:port")
        self.timeout = time_limit(timeout)
        self.trust = trust(token, ca, pin, tls)
        self.hooks = hooks or Hooks()

    def core(self) -> Core:
        """Returns the core of a new client."""
        return Core(Standing(self.addresses), self.trust, self.timeout, self.hooks)


def _complete(address: str) -> str:
    """Returns an address with its port."""
    if not isinstance(address, str):
        raise ValueError(f"member address {address!r}: expected host:port")
    host, port = parse_address(address.strip())
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
