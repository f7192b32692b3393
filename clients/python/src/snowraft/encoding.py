"""IDs as text: a number in some base, the most significant digit first.

The digits of every encoding are in ASCII order. Texts of equal length therefore sort as their IDs do.
"""

from __future__ import annotations

_DIGITS = {
    "dec": "0123456789",
    "hex": "0123456789abcdef",
    "base32": "0123456789ABCDEFGHJKMNPQRSTVWXYZ",
    "base36": "0123456789abcdefghijklmnopqrstuvwxyz",
    "base58": "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz",
    "base62": "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
}
_ALIASES = {"base32": dict(zip("OoIiLl", (0, 0, 1, 1, 1, 1)))}
_EITHER_CASE = ("hex", "base32", "base36")
_MOST_CHARACTERS = 64

ENCODINGS = tuple(_DIGITS)
"""The names of all encodings."""


def _values(name: str) -> dict[str, int]:
    values = {digit: value for value, digit in enumerate(_DIGITS[name])}
    if name in _EITHER_CASE:
        values |= {d.lower(): v for d, v in values.items()} | {d.upper(): v for d, v in values.items()}
    return values | _ALIASES.get(name, {})


_VALUES = {name: _values(name) for name in ENCODINGS}


def encode_text(id: int, encoding: str = "dec") -> str:
    """Returns an ID, 0 to 2^64-1, as text in an encoding: dec, hex, base32 (Crockford), base36, base58 or base62.

    Raises ValueError for another number or encoding.
    """
    digits = _DIGITS[_known(encoding)]
    if not 0 <= id < 1 << 64:
        raise ValueError(f"ID {id}: expected 0 to 2^64-1")
    base, text = len(digits), ""
    while True:
        id, digit = divmod(id, base)
        text = digits[digit] + text
        if id == 0:
            return text


def decode_text(text: str, encoding: str = "dec") -> int:
    """Returns the ID of a text of 1 to 64 digits. Raises ValueError for any other text.

    Hex, base32 and base36 are read in either case, and hex with a prefix 0x. Leading zeros are accepted.
    """
    values = _VALUES[_known(encoding)]
    if len(text.encode("utf-8", "surrogatepass")) > _MOST_CHARACTERS:
        raise ValueError(f"ID of {len(text)} characters: expected at most {_MOST_CHARACTERS}")
    digits = text[2:] if encoding == "hex" and text[:2] in ("0x", "0X") else text
    if not digits:
        raise ValueError(f"ID {text!r} has no digits: expected at least one {encoding} digit")
    base, id = len(_DIGITS[encoding]), 0
    for digit in digits:
        if digit not in values:
            raise ValueError(f"{digit!r} in ID {text!r} is not a {encoding} digit: expected {_DIGITS[encoding]}")
        id = id * base + values[digit]
    if id >= 1 << 64:
        raise OverflowError(f"ID {text!r} in {encoding} exceeds 64 bits")
    return id


def _known(encoding: str) -> str:
    if encoding not in _DIGITS:
        raise ValueError(f"unknown encoding {encoding!r}: expected one of {', '.join(ENCODINGS)}")
    return encoding
