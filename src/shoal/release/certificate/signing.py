"""Signatures of certificates, and the hashes of the files that they cover."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TypeVar

from shoal.errors import TamperError
from shoal.kernels import signatures as sign
from shoal.model.certificate.certificate import NAME, PLAN, REPORT, SignedCertificate
from shoal.model.certificate.halves import document
from shoal.model.certificate.parts import FileEntry, Key
from shoal.release.certificate import codebook
from shoal.release.proof import bounds, trees
from shoal.release.proof import read as recount_read
from shoal.release.proof.read import LOG, check_log

C = TypeVar("C", bound=SignedCertificate)


def file_entry(path: Path, place: Path | None = None, sha256: str | None = None) -> FileEntry:
    """Name, size and hash of a file of the release, read unless it is known; the name is that in ``place``, where the file may
    lie deeper."""
    name = path.name if place is None else path.relative_to(place).as_posix()
    return FileEntry(name, path.stat().st_size, sha256 or sign.sha256_file(path))


def signed(certificate: C, signer: sign.Signer) -> C:
    """The certificate with the public key, and with the signature over everything else."""
    whole = replace(certificate, key=Key("Ed25519", signer.public, signer.fingerprint, signer.origin), signature=None)
    return replace(whole, signature=signer.sign(document(whole)))


def check_signature(certificate: SignedCertificate) -> Key:
    """The key of the signature; :class:`~shoal.errors.TamperError` unless the signature covers the certificate.

    Its fingerprint is the whole one: certificates of earlier versions state the first half of it, which is safe only because the
    key itself stands beside it.
    """
    key, signature = certificate.key, certificate.signature
    if key is None or signature is None:
        raise TamperError("the certificate carries no signature.")
    sign.check_signature(document(replace(certificate, signature=None)), signature, key.public)
    whole = sign.fingerprint(key.public)
    if key.fingerprint not in (whole, sign.fingerprint(key.public, sign.SHORT_DIGITS)):
        raise TamperError("the fingerprint of the key in the certificate is not its own.")
    if key.origin not in sign.ORIGINS or key.algorithm != "Ed25519":
        raise TamperError("the certificate says of its key what Shoal never writes.")
    return replace(key, fingerprint=whole)


MOST_FILES = 1_000
"""Entries of a folder that are looked at beyond those that are listed; a release has six at most, and the parts of its data."""
_PART = re.compile(r"part-([0-9]{5})\.parquet")


def check_ordinary(place: Path, listed: int) -> str:
    """Nothing in the folder that would be read for ever: pipes, devices, texts of absurd length."""
    for path in islice(place.rglob("*"), MOST_FILES + listed):
        if not path.is_symlink() and not path.is_dir():
            bounds.check_regular(path)
    for path in (place / PLAN, place / REPORT, place / trees.NAME, place / codebook.NAME):
        if path.exists() and not path.is_symlink():
            bounds.check_text(path)
    return f"{listed:,} files are listed"


def check_files(place: Path, files: tuple[FileEntry, ...], file: str | None, *, also: str = "") -> str:
    """The files of the folder are those that were signed, byte for byte; ``file`` holds the data, where they are a file, and
    ``also`` is one more that a release may have."""
    listed = {entry.name: entry for entry in files}
    if len(listed) != len(files):
        raise TamperError("the certificate lists a file twice.")
    for name in listed:
        if Path(name).is_absolute() or ".." in Path(name).parts or name == NAME:
            raise TamperError("the certificate lists a file outside the folder.")
    data = [] if file is None else [file]
    if data and (Path(data[0]).stem != "data" or Path(data[0]).name != data[0] or not Path(data[0]).suffix):
        raise TamperError("the certificate names data outside the folder.")
    parts = [] if file is None else listed_parts(listed, file)
    log = {f"{file}/{LOG}"} & set(listed) if parts else set()
    if set(listed) - {trees.NAME, codebook.NAME, also} - log != {*(parts or data), PLAN, REPORT}:
        raise TamperError("the certificate lists other files than a release has.")
    there = {p.relative_to(place).as_posix() for p in islice(place.rglob("*"), MOST_FILES + len(listed))}
    folders = {*(data if parts else []), *(Path(name).parent.as_posix() for name in log)}
    extra, lacking = there - set(listed) - {NAME} - folders, set(listed) - there
    if extra or lacking:
        what = f"the folder has {len(extra)} files that the certificate does not list and lacks {len(lacking)} that it lists."
        raise TamperError(what)
    for name in folders:
        if (place / name).is_symlink() or not (place / name).is_dir():
            raise TamperError(f"'{name}' is a link, not a folder.")
    sentence = check_bytes(place, files)
    for name in log:
        sizes = {Path(part).name: listed[part].bytes for part in parts}
        check_log(place / name, sizes, recount_read.header(place / data[0]))
    return sentence


def check_bytes(place: Path, files: tuple[FileEntry, ...]) -> str:
    """Each listed file is an ordinary one and has the bytes that were signed."""
    for entry in files:
        path = place / entry.name
        if path.is_symlink():
            raise TamperError(f"'{entry.name}' is a link, not a file.")
        bounds.check_regular(path)
        if path.stat().st_size != entry.bytes or sign.sha256_file(path) != entry.sha256:
            raise TamperError(f"'{entry.name}' was changed after the certificate was signed.")
    return f"all {len(files)} files have the bytes that were signed"


def listed_parts(listed: Iterable[str], file: str) -> list[str]:
    """The parts of the data among the listed names, numbered from 0 without a gap; none where the data are one file.

    The log of a Delta table is none of them.

    >>> listed_parts(["plan.json", "data.parquet/part-00000.parquet"], "data.parquet")
    ['data.parquet/part-00000.parquet']
    >>> listed_parts(["plan.json", "data.parquet"], "data.parquet")
    []
    """
    inside = sorted(name for name in listed if name.startswith(f"{file}/") and name != f"{file}/{LOG}")
    numbers = [_PART.fullmatch(name.removeprefix(f"{file}/")) for name in inside]
    if not file.endswith(".parquet") and inside:
        raise TamperError("the certificate lists parts of data that are one file.")
    if [number and int(number[1]) for number in numbers] != list(range(len(inside))):
        raise TamperError("the parts of the data are not those that Shoal writes.")
    return inside


def digest_of_data(data: Path) -> str:
    """One SHA-256 for the data as they are: of the file, or of the names and hashes of all parts."""
    if data.is_file():
        return sign.sha256_file(data)
    return _together((f"{data.name}/{part.name}", sign.sha256_file(part)) for part in recount_read.parts(data))


def signed_digest(files: Iterable[FileEntry], file: str) -> str | None:
    """The same from what was signed; None where the data are not listed."""
    known = {entry.name: entry.sha256 for entry in files}
    parts = listed_parts(known, file)
    return _together((name, known[name]) for name in parts) if parts else known.get(file)


def _together(parts: Iterable[tuple[str, str]]) -> str:
    return hashlib.sha256("".join(f"{name} {sha256}\n" for name, sha256 in parts).encode()).hexdigest()
