"""Signatures of certificates, and the hashes of the files that they cover."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from shoal.errors import TamperError
from shoal.kernels import signatures as sign
from shoal.model.certificate.certificate import Certificate
from shoal.model.certificate.parts import FileEntry, Key

if TYPE_CHECKING:
    from shoal.model.certificate.events import EventCertificate

C = TypeVar("C", Certificate, "EventCertificate")


def file_entry(path: Path, place: Path | None = None) -> FileEntry:
    """Name, size and hash of a file of the release; the name is that in ``place``, where the file may lie deeper."""
    name = path.name if place is None else path.relative_to(place).as_posix()
    return FileEntry(name, path.stat().st_size, sign.sha256_file(path))


def signed(certificate: C, signer: sign.Signer) -> C:
    """The certificate with the public key, and with the signature over everything else."""
    whole = replace(certificate, key=Key("Ed25519", signer.public, signer.fingerprint, signer.origin), signature=None)
    return replace(whole, signature=signer.sign(whole.to_json()))


def check_signature(certificate: Certificate | EventCertificate) -> Key:
    """The key of the signature; :class:`~shoal.errors.TamperError` unless the signature covers the certificate."""
    key, signature = certificate.key, certificate.signature
    if key is None or signature is None:
        raise TamperError("the certificate carries no signature.")
    sign.check_signature(replace(certificate, signature=None).to_json(), signature, key.public)
    if key.fingerprint != sign.fingerprint(key.public):
        raise TamperError("the fingerprint of the key in the certificate is not its own.")
    if key.origin not in sign.ORIGINS or key.algorithm != "Ed25519":
        raise TamperError("the certificate says of its key what Shoal never writes.")
    return key
