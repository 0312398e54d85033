"""Prove a release of several tables again, offline, from its folder alone: signature, files, every number, report."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

from shoal.errors import TamperError, VerificationError
from shoal.kernels import signatures as sign
from shoal.model.attack import AttackResult, worst_first
from shoal.model.certificate.certificate import NAME, REPORT
from shoal.model.certificate.form import plain
from shoal.model.compare import most_of
from shoal.release.certificate.consistency import objections_fit
from shoal.release.certificate.outcome import Check, Verification, tried
from shoal.release.linked.certificate import LIMITS, LinkedCertificate, LinkedEntry, LinkedNumbers, verdict
from shoal.release.make.private_file import check_list, private_of
from shoal.release.proof import bounds
from shoal.release.proof.read import header, logical
from shoal.release.proof.recount_linked import Everybody, File, everybody
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


MOST_KNOWN = 2
"""Known rows that are tried beyond what is claimed: more choices take long, and all rows are tried anyway."""

MANY_ROWS = 400
"""Choices of two rows are not tried where somebody has more rows than this."""


def attacks(found: Everybody, files: Sequence[File], names: Sequence[str], k: int, known: int | None) -> tuple[AttackResult, ...]:
    """Singling out by known rows, and what all people who look alike have in common; worst first."""
    out = [_singling(found, s, k, known) for s in _tried(found, known)]
    groups = _groups(found, known)
    for (table, column), values in sorted(found.sensitive.items()):
        out.append(_common(found, groups, values, f"{names[table]}.{column}"))
    return tuple(worst_first(out))


def _tried(found: Everybody, known: int | None) -> list[int | None]:
    longest = max((len(r) for r in found.rows.values()), default=0)
    most = 0 if known is None else known if longest > MANY_ROWS else max(known, MOST_KNOWN)
    return [*range(min(most, longest) + 1), None]  # where all rows are covered, every choice of them is


def _singling(found: Everybody, known: int | None, k: int, claimed: int | None) -> AttackResult:
    sharing = found.sharing(known)
    short = sum(n < k for n in sharing.values())
    covered = claimed is None or (known is not None and known <= claimed)
    rate = short / found.people
    verdict = "broken" if short and covered else "warning" if short else "holds"
    what = "all rows" if known is None else "no row" if known == 0 else f"{known} row{'s' if known > 1 else ''}"
    beyond = "" if covered else " The release claims nothing about an attacker who knows so much."
    return AttackResult(
        name=f"known records: {what}",
        question=f"Who is among fewer than {k} for someone who knows a person's attributes and {what} of the other tables?",
        rate=rate,
        low=rate,
        high=rate,
        claimed=0.0 if covered else None,
        worst=f"smallest group {min(sharing.values()):,}",
        verdict=verdict,  # type: ignore[arg-type]
        sentence=f"{short:,} of {found.people:,} people are among fewer than {k}; the smallest group holds "
        f"{min(sharing.values()):,}.{beyond}",
    )


def _groups(found: Everybody, known: int | None) -> dict[Any, list[Any]]:
    """People who look alike for the attacker of the claim: by all their rows, or by their own attributes."""
    groups: dict[Any, list[Any]] = defaultdict(list)
    for person, what in found.whole().items():
        groups[what if known is None else what[0]].append(person)
    return groups


def _common(found: Everybody, groups: dict[Any, list[Any]], values: dict[Any, set[Any]], name: str) -> AttackResult:
    """People of groups in which everybody has a value in common: it is known of each of them."""
    exposed = 0
    for members in groups.values():
        shared = set.intersection(*(values.get(p, set()) for p in members)) - {None}
        exposed += len(members) if shared else 0
    rate = exposed / found.people
    return AttackResult(
        name=f"homogeneity: {name}",
        question=f"Whose value of '{name}' is known as soon as the group is known?",
        rate=rate,
        low=rate,
        high=rate,
        claimed=None,
        worst="",
        verdict="warning" if exposed else "holds",
        sentence=f"{exposed:,} of {found.people:,} people are in groups where everybody has a value of '{name}' in common."
        if exposed
        else f"No group has a value of '{name}' that everybody in it has.",
    )
