"""The latest receipt: how far the history of the cluster is committed, as far as this client was shown.

A client brings it back, so that a cluster that was set back in time learns what it has forgotten.
"""

from __future__ import annotations

import base64
import binascii

_SIZE = 1 + 4 + 16 + 4 + 8 + 16 + 8 + 16 + 8 + 16
_CLUSTER = slice(5, 21)
_LIFE, _INDEX = slice(21, 25), slice(25, 33)


class Receipts:
    """Holds the latest receipt, in base64."""

    def __init__(self) -> None:
        self.latest = ""  # empty: none
        self._position: tuple[int, int, bytes] = (-1, -1, b"")

    def keep(self, receipt: object) -> None:
        """Takes the receipt of an answer if it is later than the present one. Ignores a malformed receipt."""
        if not isinstance(receipt, str) or len(receipt) > 2 * _SIZE:
            return
        try:
            data = base64.b64decode(receipt, validate=True)
        except (binascii.Error, ValueError):
            return
        if len(data) != _SIZE or data[0] != 1:
            return
        life, index = int.from_bytes(data[_LIFE], "big"), int.from_bytes(data[_INDEX], "big")
        position = (life, index, data[_CLUSTER])
        other_cluster = life == self._position[0] and position[2] != self._position[2]
        if other_cluster or position[:2] > self._position[:2]:
            self._position, self.latest = position, base64.b64encode(data).decode("ascii")
