"""API tokens as text: snowraft_ID_SECRET or snowraft_ID_SECRET_PIN."""

from __future__ import annotations

import base64
import re

_SECRET_CHARACTERS = 52  # 32 bytes in base32
_CHECKSUM_CHARACTERS = 7
_PIN = re.compile(r"[a-z2-7]{52}")


def pin_of_token(text: str) -> str:
    """Returns the pin at the end of a token; empty without one. Errors do not contain the text."""
    parts = text.split("_")
    if len(parts) not in (3, 4) or parts[0] != "snowraft":
        raise ValueError("not a Snowraft token: expected snowraft_ID_SECRET or snowraft_ID_SECRET_PIN")
    number = parts[1]
    if not re.fullmatch(r"[1-9][0-9]{0,19}", number) or int(number) >= 1 << 64:
        raise ValueError("token: expected a decimal ID of at least 1 after the first _")
    want = _SECRET_CHARACTERS + _CHECKSUM_CHARACTERS
    if len(parts[2]) != want:
        raise ValueError(
            f"token: secret of {len(parts[2])} characters: expected {want}; copy the whole token again"
        )
    secret = _decode(parts[2][:_SECRET_CHARACTERS])
    sum = _crc32c(int(number).to_bytes(8, "big") + secret).to_bytes(4, "big")
    if encode(sum) != parts[2][_SECRET_CHARACTERS:]:
        raise ValueError("token: the checksum does not match; copy the whole token again")
    return check_pin(parts[3]) if len(parts) == 4 else ""


def check_pin(pin: str) -> str:
    """Returns the pin, or raises an error if it cannot be one."""
    if not _PIN.fullmatch(pin) or encode(_decode(pin)) != pin:
        raise ValueError("pin: expected 52 characters of a to z and 2 to 7")
    return pin


def encode(data: bytes) -> str:
    """Returns data in base32, in lower case and without padding."""
    return base64.b32encode(data).decode("ascii").lower().rstrip("=")


def _decode(text: str) -> bytes:
    if not re.fullmatch(r"[a-z2-7]{52}", text):
        raise ValueError("token: secret: expected 52 characters of a to z and 2 to 7")
    return base64.b32decode(text.upper() + "====")


def _crc32c(data: bytes) -> int:
    """Returns the CRC-32C (Castagnoli) of data."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF
