"""Prove a release of several tables again, offline, from its folder alone: signature, files, every number, report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

from shoal.errors import TamperError, VerificationError
from shoal.kernels import signatures as sign
from shoal.model.attack import AttackResult
from shoal.model.certificate.certificate import NAME, REPORT
from shoal.model.certificate.form import plain
from shoal.model.compare import most_of
from shoal.release.certificate.consistency import objections_fit
from shoal.release.certificate.outcome import Check, Verification, tried
from shoal.release.linked.attacks import attacks
from shoal.release.linked.certificate import LIMITS, LinkedCertificate, LinkedEntry, LinkedNumbers, verdict
from shoal.release.make.objections import check_list, private_of
from shoal.release.proof import bounds
from shoal.release.proof.read import header
from shoal.release.proof.recount_linked import Everybody, File, everybody
from shoal.release.proof.written import logical
from shoal.report.linked_report import render
from shoal.version import __version__


def files_of(place: Path, tables: Sequence[LinkedEntry]) -> list[File]:
    """The published files as they are counted."""
    return [File(place / t.file, t.key, t.quasi, t.sensitive) for t in tables]


def linked_attacks(place: Path, certificate: LinkedCertificate) -> tuple[AttackResult, ...]:
    """Every attack on the folder, from its files alone."""
    files = files_of(place, certificate.tables)
    return attacks(everybody(files), files, [t.name for t in certificate.tables], certificate.asked, certificate.known)


def numbers(sharing: Mapping[Any, int]) -> LinkedNumbers:
    """People by the number of people they share what is known with."""
    sizes = Counter(sharing.values())
    return LinkedNumbers(len(sharing), min(sizes, default=0), sizes.get(1, 0), {str(s): sizes[s] for s in sorted(sizes)})


def verify_linked(
    place: Path,
    certificate: LinkedCertificate,
    *,
    key: str | None = None,
    private: str | Path | None = None,
    exclude: str | Path | Iterable[Any] | None = None,
) -> Verification:
    """Every check of the folder of a linked release."""
    checks = [Check("certificate", True, "the certificate is as Shoal wrote it, and of a known version")]
    checks.append(tried("signature", lambda: _signature(certificate, key)))
    checks.append(tried("files", lambda: _files(place, certificate)))
    if checks[-1].ok:
        checks.append(tried("re-count", lambda: _count(place, certificate)))
    else:
        checks.append(Check("re-count", False, "the data were not counted: the files are not those that were signed"))
    checks.append(tried("claims", lambda: _claims(certificate)))
    checks.append(tried("report", lambda: _report(place, certificate)))
    if exclude is not None:
        salted = private_of(place, private)
        checks.append(tried("objections", lambda: _objections(certificate, exclude, salted)))
    return Verification(str(place), tuple(checks), None, _told(certificate))


def _told(certificate: LinkedCertificate) -> dict[str, Any]:
    key = certificate.key
    out: dict[str, Any] = {"k": certificate.k, "known": certificate.known, "people": certificate.after.people}
    out["tables"] = {t.name: t.records for t in certificate.tables}
    return out | ({"key": {"fingerprint": key.fingerprint, "origin": key.origin}} if key else {})


def _signature(certificate: LinkedCertificate, expected: str | None) -> str:
    key = certificate.check_signature()
    if expected is not None and expected not in (key.public, key.fingerprint):
        raise TamperError("the release is signed with another key than the one expected.")
    who = "the one expected" if expected is not None else key.origin
    return f"the signature fits (key {key.fingerprint}, {who})"


def _files(place: Path, certificate: LinkedCertificate) -> str:
    listed = {f.name: f for f in certificate.files}
    data = [t.file for t in certificate.tables]
    if set(listed) != {*data, REPORT} or len(set(data)) != len(data) or any(Path(n).name != n for n in listed):
        raise TamperError("the certificate lists other files than a release has.")
    there = {str(p.relative_to(place)) for p in place.rglob("*")}
    if there != {*listed, NAME}:
        raise TamperError("the folder has other files than the certificate lists.")
    for name, entry in listed.items():
        path = place / name
        if path.is_symlink():
            raise TamperError(f"'{name}' is a link, not a file.")
        bounds.check_regular(path)
        if path.stat().st_size != entry.bytes or sign.sha256_file(path) != entry.sha256:
            raise TamperError(f"'{name}' was changed after the certificate was signed.")
    return f"all {len(listed)} files have the bytes that were signed"


def _count(place: Path, certificate: LinkedCertificate) -> str:
    for table in certificate.tables:
        if logical(header(place / table.file), table.published) != table.published:
            raise TamperError(f"table '{table.name}' has other columns than the certificate names.")
    files = files_of(place, certificate.tables)
    found: Everybody = everybody(files)
    if [t.records for t in certificate.tables] != list(found.records):
        raise VerificationError("counting the data again gives other numbers of rows.")
    after = numbers(found.sharing(certificate.known))
    if plain(after) != plain(certificate.after):
        raise VerificationError("counting the data again gives other numbers of people.")
    again = attacks(found, files, [t.name for t in certificate.tables], certificate.asked, certificate.known)
    if plain(again) != plain(certificate.attacks):
        raise VerificationError("the attacks, tried again, come out differently.")
    if any(a.verdict == "broken" for a in again):
        raise VerificationError("an attack does better than the release claims.")
    return f"counted again: {after.people:,} people in {len(files)} tables, k = {after.k:,}"


def _claims(certificate: LinkedCertificate) -> str:
    """The sentence and the thresholds follow from the numbers."""
    after, left = certificate.after, certificate.left_out
    if certificate.verdict != verdict(certificate) or certificate.limits != LIMITS:
        raise TamperError("the verdict or the limits do not follow from the numbers.")
    if not 2 <= certificate.asked <= certificate.k or certificate.k != after.k:
        raise TamperError("the certificate claims another k than its numbers give.")
    if left < 0 or after.people + left != certificate.people_in or left > most_of(certificate.allowed, certificate.people_in):
        raise TamperError("the numbers of people do not fit each other.")
    if certificate.before.people != certificate.people_in or not 0 <= certificate.loss <= 1:
        raise TamperError("the numbers about the original tables do not fit.")
    for table in certificate.tables:
        if (
            min(table.records, table.orphans, table.unnamed) < 0
            or table.records + table.orphans + table.unnamed > table.records_in
        ):
            raise TamperError("a table has more rows than came in.")
        roles = {role: [c.name for c in table.columns if c.role == role] for role in ("quasi", "sensitive", "key")}
        if roles["key"] != [table.key] or sorted(roles["quasi"]) != sorted(table.quasi):
            raise TamperError("the certificate names columns in other roles than were counted.")
        if sorted(roles["sensitive"]) != sorted(table.sensitive):
            raise TamperError("the certificate names columns in other roles than were counted.")
    if certificate.objections is not None:
        objections_fit(certificate.objections)
    return "the claims follow from the numbers; signed only: numbers about the original tables, loss and levels"


def _report(place: Path, certificate: LinkedCertificate) -> str:
    page = (place / REPORT).read_text(encoding="utf-8")
    files = tuple(f for f in certificate.files if f.name != REPORT)
    body = replace(certificate, files=files, key=None, signature=None)
    same = render(body) == page if certificate.tool == f"shoal {__version__}" else certificate.verdict in unescape(page)
    if not same:
        raise TamperError("the report does not say what the certificate says.")
    return "the report says what the certificate says"


def _objections(certificate: LinkedCertificate, listed: str | Path | Iterable[Any], private: str | Path) -> str:
    if certificate.objections is None:
        raise TamperError("the release was made without a list of people to leave out.")
    return check_list(certificate.objections, listed, private)
