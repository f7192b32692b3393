"""UUIDs of version 7 (RFC 9562) that hold an ID: 48 bits of time, then the other fields of the ID, then a tag."""

from __future__ import annotations

import hashlib
import uuid

_PAYLOAD_BITS = 74  # version 7 leaves them to the maker of the UUID


def _tag(cluster_id: str, layout: str) -> int:
    """Returns 74 bits that distinguish the UUIDs of different clusters and layouts."""
    cluster = cluster_id.encode()
    text = b"snowraft uuid v7\x00" + len(cluster).to_bytes(8, "big") + cluster + layout.encode()
    sum = hashlib.sha256(text).digest()
    return int.from_bytes(sum[:2], "big") >> 6 << 64 | int.from_bytes(sum[2:10], "big")


def make(at_ms: int, rest: int, bits: int, cluster_id: str, layout: str) -> uuid.UUID:
    """Returns the UUID of a time and the other fields of an ID, which have that many bits."""
    if not 0 <= at_ms < 1 << 48:
        raise ValueError(f"time {at_ms} ms is not in a UUID of version 7: expected 0 to 2^48-1")
    room = _PAYLOAD_BITS - bits
    payload = rest << room | _tag(cluster_id, layout) & (1 << room) - 1
    high, low = payload >> 62, payload & (1 << 62) - 1
    return uuid.UUID(int=at_ms << 80 | 7 << 76 | high << 64 | 0b10 << 62 | low)


def split(value: uuid.UUID, bits: int) -> tuple[int, int]:
    """Returns the time of a UUID in Unix milliseconds, and the other fields of its ID, which have that many bits."""
    number = value.int
    if number >> 76 & 0xF != 7 or number >> 62 & 3 != 0b10:
        raise ValueError(f"UUID {value}: expected version 7 and the variant of RFC 9562")
    payload = (number >> 64 & 0xFFF) << 62 | number & (1 << 62) - 1
    return number >> 80, payload >> _PAYLOAD_BITS - bits
