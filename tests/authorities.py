"""Certificate authorities and server certificates for tests, made on the spot."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


class Authority:
    """A certificate authority whose certificate lies in ``file``."""

    def __init__(self, folder: Path, name: str) -> None:
        self._key, self._name, self._folder = ec.generate_private_key(ec.SECP256R1()), _named(name), folder
        self.file = folder / f"{name}.pem"
        made = _builder(self._name, self._name, self._key).add_extension(x509.BasicConstraints(True, None), critical=True)
        self.file.write_bytes(made.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))

    def certificate(self, host: str, *, days: int = 2) -> tuple[Path, Path]:
        """Files of a certificate for a host, and of its key; with days below 0 it has expired."""
        key = ec.generate_private_key(ec.SECP256R1())
        names = x509.SubjectAlternativeName([x509.DNSName(host)])
        made = _builder(_named(host), self._name, key, days).add_extension(names, critical=False).sign(self._key, hashes.SHA256())
        certificate, private = self._folder / f"{host}{days}.crt", self._folder / f"{host}{days}.key"
        certificate.write_bytes(made.public_bytes(serialization.Encoding.PEM))
        form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        private.write_bytes(key.private_bytes(*form))
        return certificate, private


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _builder(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, days: int = 2) -> x509.CertificateBuilder:
    now = dt.datetime.now(dt.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=9))
        .not_valid_after(now + dt.timedelta(days=days))
    )
