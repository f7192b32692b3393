"""Certificates as clusters have them, and others."""

from __future__ import annotations

import datetime
import os
import ssl
import tempfile
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from snowraft._tls import pin_of

_BEGIN, _END = datetime.datetime(2020, 1, 1), datetime.datetime(2099, 12, 31)
_SERIAL = 0x736E6F77


class Authority:
    """A CA, of a cluster or of somebody else."""

    def __init__(self, organization: str = "Snowraft", name: str = "") -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        name = name or f"Snowraft cluster {os.urandom(8).hex()}"
        self._name = x509.Name(
            [x509.NameAttribute(NameOID.ORGANIZATION_NAME, organization), x509.NameAttribute(NameOID.COMMON_NAME, name)]
        )
        constraints = x509.BasicConstraints(ca=True, path_length=0)
        builder = self._builder(self._name, _SERIAL, self._key.public_key(), _BEGIN, _END)
        cert = builder.add_extension(constraints, critical=True).sign(self._key, hashes.SHA256())
        self.pem = cert.public_bytes(serialization.Encoding.PEM).decode()
        self.pin = pin_of(cert.public_bytes(serialization.Encoding.DER))

    def _builder(
        self, subject: x509.Name, serial: int, key: ec.EllipticCurvePublicKey, begin: datetime.datetime, end: datetime.datetime
    ) -> x509.CertificateBuilder:
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key)
            .serial_number(serial)
            .not_valid_before(begin)
            .not_valid_after(end)
        )

    def server(
        self,
        *,
        host: str = "",
        usage: x509.ObjectIdentifier = ExtendedKeyUsageOID.SERVER_AUTH,
        begin: datetime.datetime = _BEGIN,
        end: datetime.datetime = _END,
        chain: str | None = None,
    ) -> ssl.SSLContext:
        """Returns the context of a server with a certificate of this CA, followed by the CA or another chain."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.ORGANIZATION_NAME, "Snowraft")])
        builder = self._builder(subject, x509.random_serial_number(), key.public_key(), begin, end)
        builder = builder.add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
        if host:
            builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
        leaf = builder.sign(self._key, hashes.SHA256())
        secret = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        with tempfile.TemporaryDirectory() as directory:
            cert_file, key_file = Path(directory) / "cert", Path(directory) / "key"
            pem = leaf.public_bytes(serialization.Encoding.PEM).decode()
            cert_file.write_text(pem + (self.pem if chain is None else chain))
            key_file.write_bytes(secret)
            context.load_cert_chain(cert_file, key_file)
        return context
