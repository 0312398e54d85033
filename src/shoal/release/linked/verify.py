"""The claim of tables that were released together: files, every number and attack again, and the sentences that follow."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from shoal.errors import TamperError, VerificationError
from shoal.kernels import signatures as sign
from shoal.model.attack import AttackResult, Verdict, worst_first
from shoal.model.certificate.certificate import NAME, REPORT
from shoal.model.certificate.form import plain
from shoal.model.certificate.parts import Objections
from shoal.model.compare import most_of
from shoal.release.certificate.consistency import objections_fit
from shoal.release.certificate.sentences import in_current_wording
from shoal.release.certificate.signing import check_bytes
from shoal.release.claim import Claim
from shoal.release.linked.certificate import (
    FORMAT,
    LIMITS,
    LinkedCertificate,
    LinkedColumn,
    LinkedEntry,
    LinkedNumbers,
    read_linked,
    verdict,
)
from shoal.release.linked.known_columns import find_by_columns
from shoal.release.proof.read import check_records, header, logical
from shoal.release.proof.recount_linked import Everybody, File, everybody
from shoal.report.linked_report import render


def files_of(place: Path, tables: Sequence[LinkedEntry]) -> list[File]:
    """The published files as they are counted."""
    return [File(place / t.file, t.key, t.quasi, t.sensitive) for t in tables]


def linked_attacks(place: Path, certificate: LinkedCertificate) -> tuple[AttackResult, ...]:
    """Every attack on the folder, from its files alone."""
    return attacks(everybody(files_of(place, certificate.tables)), place, certificate)


def numbers(sharing: Mapping[Any, int]) -> LinkedNumbers:
    """People by the number of people they share what is known with."""
    sizes = Counter(sharing.values())
    return LinkedNumbers(len(sharing), min(sizes, default=0), sizes.get(1, 0), {str(s): sizes[s] for s in sorted(sizes)})


class LinkedClaim(Claim[LinkedCertificate]):
    """A release of several tables together."""

    @staticmethod
    def read(path: Path) -> LinkedCertificate:
        certificate = read_linked(path)
        if certificate is None:
            raise TamperError("this is not a certificate of linked tables.")
        return certificate

    def files(self) -> str:
        names = [f.name for f in self.certificate.files]
        data = [t.file for t in self.certificate.tables]
        if names != [*data, REPORT] or len(set(names)) != len(names) or any("/" in n for n in names):
            raise TamperError("the certificate lists other files than a release has.")
        if {str(p.relative_to(self.place)) for p in self.place.rglob("*")} != {*names, NAME}:
            raise TamperError("the folder has other files than the certificate lists.")
        return check_bytes(self.place, self.certificate.files)

    def count(self) -> str:
        return _count(self.place, in_current_wording(self.certificate))

    def sentences(self) -> str:
        certificate = self.certificate
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
            if certificate.format == FORMAT and not all(_treated(c) for c in table.columns):
                raise TamperError("the certificate says of a column what its role and level do not allow.")
        if certificate.objections is not None:
            objections_fit(certificate.objections)
        return "the claims follow from the numbers; signed only: numbers about the original tables, loss and levels"

    def page(self) -> str:
        return render(self.certificate.without_report)

    def summary(self) -> Mapping[str, Any]:
        c = self.certificate
        out: dict[str, Any] = {"k": c.k, "known": c.known, "people": c.after.people}
        out["tables"] = {t.name: t.records for t in c.tables}
        return out | ({"key": c.key_shown} if c.key else {})

    @property
    def objections(self) -> Objections | None:
        return self.certificate.objections


def _count(place: Path, certificate: LinkedCertificate) -> str:
    """Rows, people and attacks again."""
    for table in certificate.tables:
        if logical(header(place / table.file), table.published) != table.published:
            raise TamperError(f"table '{table.name}' has other columns than the certificate names.")
        check_records(place / table.file, table.records)
    files = files_of(place, certificate.tables)
    counted: Everybody = everybody(files)
    if [t.records for t in certificate.tables] != list(counted.records):
        raise VerificationError("counting the data again gives other numbers of rows.")
    after = numbers(counted.sharing(certificate.known))
    if sign.canonical(plain(after)) != sign.canonical(plain(certificate.after)):
        raise VerificationError("counting the data again gives other numbers of people.")
    again = attacks(counted, place, certificate)
    if sign.canonical(plain(again)) != sign.canonical(plain(certificate.attacks)):
        raise VerificationError("the attacks, tried again, come out differently.")
    if any(a.verdict == "broken" for a in again):
        raise VerificationError("an attack does better than the release claims.")
    return f"counted again: {after.people:,} people in {len(files)} tables, k = {after.k:,}"


def _treated(column: LinkedColumn) -> bool:
    """Whether the treatment is that of the role and level, or the name of a step."""
    if column.role == "quasi":
        fits = column.level is not None and column.height is not None and 0 <= column.level <= column.height
        return fits and column.treatment == ("generalized" if column.level else "retained")
    if column.level is not None or column.height is not None:
        return False
    if column.role == "key":
        return column.treatment == "fresh pseudonym"
    return column.treatment.isidentifier()


MOST_KNOWN = 2
"""Known rows that are tried beyond what is claimed: more choices take long, and all rows are tried anyway."""

MANY_ROWS = 400
"""Choices of two rows are not tried where somebody has more rows than this."""


def attacks(everybody: Everybody, place: Path, certificate: LinkedCertificate) -> tuple[AttackResult, ...]:
    """Every attack on the files in ``place``, as the certificate names them; worst first."""
    tables = certificate.tables
    out = attack_people(everybody, [t.name for t in tables], certificate.asked, certificate.known)
    if certificate.format == FORMAT:
        out.append(find_by_columns(place, tables, certificate.known_columns))
    return tuple(worst_first(out))


def attack_people(everybody: Everybody, names: Sequence[str], k: int, known: int | None) -> list[AttackResult]:
    """Singling out by known rows, and what all people who look alike have in common."""
    out = [_singling(everybody, s, k, known) for s in _list_tried(everybody, known)]
    groups = _groups(everybody, known)
    for (table, column), values in sorted(everybody.sensitive.items()):
        out.append(_common(everybody, groups, values, f"{names[table]}.{column}"))
    return out


def _list_tried(everybody: Everybody, known: int | None) -> list[int | None]:
    longest = max((len(r) for r in everybody.rows.values()), default=0)
    most = 0 if known is None else known if longest > MANY_ROWS else max(known, MOST_KNOWN)
    return [*range(min(most, longest) + 1), None]  # where all rows are covered, every choice of them is


def _singling(everybody: Everybody, known: int | None, k: int, claimed: int | None) -> AttackResult:
    sharing = everybody.sharing(known)
    short = sum(n < k for n in sharing.values())
    covered = claimed is None or (known is not None and known <= claimed)
    rate, smallest = short / everybody.people, min(sharing.values())
    verdict: Verdict = "broken" if short and covered else "warning" if short else "holds"
    what = "all rows" if known is None else "no row" if known == 0 else f"{known} row{'s' if known > 1 else ''}"
    question = f"Who is among fewer than {k} for someone who knows a person's attributes and {what} of the other tables?"
    sentence = f"{short:,} of {everybody.people:,} people are among fewer than {k}; the smallest group holds {smallest:,}."
    sentence += "" if covered else " The release claims nothing about an attacker who knows so much."
    claim, worst = 0.0 if covered else None, f"smallest group {smallest:,}"
    return AttackResult.exact(f"known records: {what}", question, rate, claim, worst, verdict, sentence)


def _groups(everybody: Everybody, known: int | None) -> dict[Any, list[Any]]:
    """People who look alike for the attacker of the claim: by all their rows, or by their own attributes."""
    groups: dict[Any, list[Any]] = defaultdict(list)
    for person, what in everybody.whole().items():
        groups[what if known is None else what[0]].append(person)
    return groups


def _common(everybody: Everybody, groups: dict[Any, list[Any]], values: dict[Any, set[Any]], name: str) -> AttackResult:
    """People of groups in which everybody has a value in common: it is known of each of them."""
    exposed = 0
    for members in groups.values():
        shared = set.intersection(*(values.get(p, set()) for p in members)) - {None}
        exposed += len(members) if shared else 0
    rate = exposed / everybody.people
    sentence = f"{exposed:,} of {everybody.people:,} people are in groups where everybody has a value of '{name}' in common."
    sentence = sentence if exposed else f"No group has a value of '{name}' that everybody in it has."
    question = f"Whose value of '{name}' is known as soon as the group is known?"
    return AttackResult.exact(f"homogeneity: {name}", question, rate, None, "", "warning" if exposed else "holds", sentence)
