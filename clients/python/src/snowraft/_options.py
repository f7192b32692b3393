"""The options of a client, checked."""

from __future__ import annotations

import ssl
from collections.abc import Iterable

from ._core import Core
from ._standing import Standing, parse_address
from ._tls import trust
from .hooks import Hooks


class Options:
    """What a caller gave. Raises ValueError for what cannot be. Errors do not contain the token."""

    def __init__(
        self,
        addresses: str | Iterable[str],
        token: str | None,
        ca: str | bytes | None,
        pin: str | None,
        tls: ssl.SSLContext | bool | None,
        timeout: float,
        hooks: Hooks | None,
    ) -> None:
        given = addresses.split(",") if isinstance(addresses, str) else list(addresses)
        self.addresses = list(dict.fromkeys(a.strip() for a in given))
        if not self.addresses:
            raise ValueError("no address of a member: expected host:port")
        for address in self.addresses:
            parse_address(address)
        if not timeout > 0:
            raise ValueError(f"timeout {timeout}: must be greater than 0")
        self.timeout = timeout
        self.trust = trust(token, ca, pin, tls)
        self.hooks = hooks or Hooks()

    def core(self) -> Core:
        """Returns the core of a new client."""
        return Core(Standing(self.addresses), self.trust, self.timeout, self.hooks)
