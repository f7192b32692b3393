"""How connections are secured: pins, CAs, the system's trust, or clear text."""

from __future__ import annotations

import hashlib
import json
import os
import ssl
from dataclasses import dataclass, field
from pathlib import Path

from ._token import check_pin, encode, pin_of_token

CA = str | bytes | os.PathLike[str]
"""CAs in PEM, or the path of their file."""

_MAX_PINS = 4  # their names must fit into one server name
_AUTHORITY_SERIAL = "736E6F77"
_NO_CHECK_TIME = 0x200000  # X509_V_FLAG_NO_CHECK_TIME, which module ssl does not name
_MAX_CERTIFICATE = 64 << 10


@dataclass(frozen=True)
class Secured:
    """TLS of one connection."""

    context: ssl.SSLContext
    server_name: str | None  # SNI; None: the host of the address


@dataclass
class Trust:
    """What a client trusts, and the token that it sends to servers that it trusts.

    With pins, the server must have a certificate of a CA whose public key has one of the pins. Neither names nor dates
    count. The CA itself comes from ``GET /v1/ca`` of the server, or from the caller; the pin verifies it. A connection
    over which the CA was requested carries nothing else.
    """

    token: str = field(default="", repr=False)
    pins: list[str] = field(default_factory=list)
    context: ssl.SSLContext | None = None  # verifies servers; None: clear text, or no CA of a pin is known yet
    clear: bool = False  # the caller allows a token in clear text
    _authorities: dict[str, bytes] = field(default_factory=dict)  # by pin, DER

    @property
    def pinned(self) -> bool:
        """Whether pins verify the servers."""
        return bool(self.pins)

    @property
    def loopback_only(self) -> bool:
        """Whether connections must not leave this host, because they carry a token in clear text."""
        return bool(self.token) and not self.pins and self.context is None and not self.clear

    @property
    def server_name(self) -> str | None:
        """The pins as the server name of TLS, which chooses the certificate of the server."""
        return ".".join(self.pins) if self.pins else None

    def secured(self) -> Secured | None:
        """Returns the TLS of a connection; None for clear text. Requires a known CA if there are pins."""
        return Secured(self.context, self.server_name) if self.context else None

    def unverified(self) -> Secured:
        """Returns the TLS of a connection that requests the CA, and carries no token."""
        context = _base_context()
        context.verify_mode = ssl.CERT_NONE
        return Secured(context, self.server_name)

    def learn(self, answer: bytes) -> bool:
        """Takes the answer of GET /v1/ca. Returns whether it has a CA that a pin names and that was not known."""
        try:
            pem = json.loads(answer)["ca"]
            return self._trust(_certificates(pem.encode("ascii")))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError, ssl.SSLError):
            return False

    def _trust(self, found: list[bytes]) -> bool:
        new = {pin: der for der in found if (pin := pin_of(der)) in self.pins and pin not in self._authorities}
        if not new:
            return False
        context = _base_context()
        for der in (*self._authorities.values(), *new.values()):
            context.load_verify_locations(cadata=der)
        _check_holds(context, [*self._authorities.values(), *new.values()])
        context.verify_mode = ssl.CERT_REQUIRED
        context.verify_flags = ssl.VerifyFlags(int(context.verify_flags) | _NO_CHECK_TIME)
        self._authorities |= new
        self.context = context
        return True


def trust(token: str | None, ca: CA | None, pin: str | None, tls: ssl.SSLContext | bool | None) -> Trust:
    """Returns the trust of a client. Raises ValueError if its options are wrong or cannot be combined."""
    of_token = pin_of_token(token) if token else ""
    if tls is not None:
        if ca is not None or pin is not None:
            raise ValueError("ca and pin cannot be combined with tls")
        context = tls if isinstance(tls, ssl.SSLContext) else ssl.create_default_context() if tls else None
        return Trust(token or "", context=context, clear=True)
    if isinstance(ca, os.PathLike):
        ca = _read(ca)
    certificates = _certificates(ca.encode("ascii") if isinstance(ca, str) else ca) if ca is not None else []
    if certificates and not all(_is_authority(der) for der in certificates):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        for der in certificates:
            context.load_verify_locations(cadata=der)
        return Trust(token or "", context=context)
    pins = {pin_of(der) for der in certificates}
    pins |= {check_pin(p) for p in (pin, of_token) if p}
    t = Trust(token or "", pins=sorted(pins)[:_MAX_PINS])
    t._trust(certificates)
    return t


def _read(file: os.PathLike[str]) -> bytes:
    try:
        return Path(file).read_bytes()
    except OSError as e:
        raise ValueError(f"CA file cannot be read: {e}") from None


def _base_context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.set_alpn_protocols(["http/1.1"])  # which ports for HTTP select, and ports for gRPC do not
    return context


def _check_holds(context: ssl.SSLContext, pinned: list[bytes]) -> None:
    """Raises ValueError unless a context trusts the pinned certificates and no other one."""
    held = context.get_ca_certs(binary_form=True)  # without those that are no CA, which the count has
    if set(held) != set(pinned) or context.cert_store_stats()["x509"] != len(pinned):
        raise ValueError("CA: another certificate than the pinned one")


def _certificates(pem: bytes) -> list[bytes]:
    """Returns the certificates of a PEM text, in DER. Each block of the text must have exactly one."""
    if len(pem) > _MAX_CERTIFICATE:
        raise ValueError(f"CA of {len(pem)} bytes: expected at most {_MAX_CERTIFICATE} bytes")
    begin, end = "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"
    found = []
    for part in pem.decode("ascii").split(begin)[1:]:
        body, closed, _ = part.partition(end)
        if not closed:
            raise ValueError("CA: incomplete certificate in PEM")
        der = ssl.PEM_cert_to_DER_cert(begin + body + end)
        _sole(der)
        found.append(der)
    if not found:
        raise ValueError("CA: no certificate in PEM found")
    return found


def _is_authority(der: bytes) -> bool:
    """Reports whether a certificate is the CA of a cluster secret: all of these have one form."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(cadata=der)
    for cert in context.get_ca_certs():
        subject = dict(pair for part in cert.get("subject", ()) for pair in part)  # type: ignore[misc]
        if (
            cert.get("serialNumber") == _AUTHORITY_SERIAL
            and subject.get("organizationName") == "Snowraft"
            and subject.get("commonName", "").startswith("Snowraft cluster ")
        ):
            return True
    return False


def pin_of(der: bytes) -> str:
    """Returns the pin of a certificate: SHA-256 of its public key (SubjectPublicKeyInfo) in base32."""
    return encode(hashlib.sha256(_public_key(der)).digest())


def _public_key(der: bytes) -> bytes:
    """Returns the SubjectPublicKeyInfo of a certificate (RFC 5280, section 4.1)."""
    body, _ = _element(_sole(der), 0, 0x30)
    at = 0
    if body[:1] == b"\xa0":  # version
        at = _skip(body, at)
    for _ in range(5):  # serial number, signature, issuer, validity, subject
        at = _skip(body, at)
    _element(body, at, 0x30)
    return body[at : _skip(body, at)]


def _sole(der: bytes) -> bytes:
    """Returns the content of a certificate. OpenSSL also trusts the certificates that follow it, so nothing may."""
    content, end = _element(der, 0, 0x30)
    if end != len(der):
        raise ValueError("CA: bytes after the certificate")
    return content


def _element(data: bytes, at: int, tag: int) -> tuple[bytes, int]:
    """Returns the content of the element at an offset, and the offset after it."""
    if data[at : at + 1] != bytes([tag]):
        raise ValueError("CA: malformed certificate")
    start, end = _bounds(data, at)
    return data[start:end], end


def _skip(data: bytes, at: int) -> int:
    return _bounds(data, at)[1]


def _bounds(data: bytes, at: int) -> tuple[int, int]:
    if at + 2 > len(data):
        raise ValueError("CA: malformed certificate")
    length, start = data[at + 1], at + 2
    if length >= 0x80:
        width = length & 0x7F
        if not 1 <= width <= 4 or start + width > len(data):
            raise ValueError("CA: malformed certificate")
        length, start = int.from_bytes(data[start : start + width], "big"), start + width
    if start + length > len(data):
        raise ValueError("CA: malformed certificate")
    return start, start + length
