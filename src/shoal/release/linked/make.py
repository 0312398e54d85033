"""Tables released together: recoded in their engines, counted again from the files, attacked, certified, in one folder."""

from __future__ import annotations

import secrets
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.disk import atomic as folder
from shoal.disk.atomic import write_private
from shoal.engines.core.state import changed
from shoal.engines.exclusion import LeftOut, without
from shoal.errors import OutputError, UsageError, VerificationError
from shoal.kernels import signatures as sign
from shoal.kernels.group import group_codes
from shoal.model.attack import AttackResult
from shoal.model.certificate.certificate import NAME
from shoal.model.certificate.form import plain
from shoal.model.certificate.parts import Objections
from shoal.model.counts.classes import ClassCounts
from shoal.model.display import Progress, as_percent, silent
from shoal.model.plan import Plan, Step, Suppression
from shoal.release.certificate.sentences import today
from shoal.release.certificate.signing import file_entry
from shoal.release.linked.certificate import (
    LIMITS,
    LinkedCertificate,
    LinkedColumn,
    LinkedEntry,
    LinkedNumbers,
    LinkedPurpose,
    verdict,
)
from shoal.release.linked.dependent import check_dependent
from shoal.release.linked.gather import Family, Part
from shoal.release.linked.known_columns import FURTHER
from shoal.release.linked.search import Chosen, alike, groups
from shoal.release.linked.verify import attacks, files_of, numbers
from shoal.release.make import private_file
from shoal.release.make.certify import input_hash
from shoal.release.make.count_again import require_same
from shoal.release.make.private_file import objections
from shoal.release.make.recode import ENDINGS
from shoal.release.plan.column_steps import other_steps
from shoal.release.proof.recount_linked import Everybody, everybody
from shoal.release.verification import seal
from shoal.report.linked_report import render
from shoal.search import missing_label
from shoal.steps import Drop, Keep
from shoal.techniques.identity.mask import KeyedHash
from shoal.version import __version__

if TYPE_CHECKING:
    from shoal.model.counts.classes import IntArray
    from shoal.release.earlier.ledger import Published

DOMAIN = "shoal linked release"


class LinkedRelease:
    """A decided release of several tables; :meth:`write` carries it out, :meth:`close` gives back what was opened for it."""

    def __init__(self, family: Family, chosen: Chosen, key_file: str | Path | None, form: str) -> None:
        if form not in ENDINGS:
            raise UsageError(f"format '{form}' is not known.", hint=f"Formats: {', '.join(ENDINGS)}.")
        self._family, self._chosen, self._key_file, self._ending = family, chosen, key_file, ENDINGS[form]
        self._started = time.perf_counter()
        self.certificate: LinkedCertificate | None = None
        self.private_file: Path | None = None
        self.ledger_file: Path | None = None
        self._folder: Path | None = None

    def __repr__(self) -> str:
        tables = ", ".join(p.linked.name for p in self._family.parts)
        return f"<LinkedRelease of {tables}: {'written' if self.certificate else 'decided, not written yet'}>"

    def close(self) -> None:
        """Give back connections to databases and files that were opened for it; it cannot be written after that."""
        self._family.close()

    @property
    def levels(self) -> dict[str, dict[str, int]]:
        """The level of each quasi-identifier, by table."""
        return {p.linked.name: dict(at) for p, at in zip(self._family.parts, self._chosen.levels, strict=True)}

    @property
    def loss(self) -> float:
        """The share of information lost in the quasi-identifiers, people who are left out included."""
        return self._chosen.loss

    def write(self, target: str | Path, *, progress: Progress = silent) -> Path:
        """Write the folder: a file per table, certificate.json, report.html; whole or not at all."""
        written: list[LinkedCertificate] = []

        def make(stage: Path) -> private_file.Kept | None:
            certificate, salt = _carry_out(self._family, self._chosen, self._key_file, self._ending, stage, progress)
            written.append(certificate)
            return private_file.Kept(None, "", list_salt=salt) if salt else None

        self._folder, kept = private_file.appear(target, make, keeps=self._family.objections is not None)
        self.certificate, self.private_file = written[0], kept or self.private_file
        return self._folder

    def remember(self) -> AttackResult:
        """Keep the written release in your private ledger and compare it with the earlier ones there, before :meth:`close`."""
        from shoal.release.earlier.ledger import remember

        self.ledger_file, entries = remember(self._published(), self._folder)
        return entries

    def _published(self) -> Published:
        from shoal.release.earlier.ledger import Published, joint_groups, nothing_compared

        policy, first, at = self._family.policy, self._family.parts[0], self._chosen.levels
        stays, judged = self._chosen.staying[first.person], joint_groups(policy.k)
        attributes = np.where(stays, first.classes(at[0]), -1)

        def known_rows(classes: Sequence[IntArray], people: ClassCounts) -> AttackResult:
            whole = judged(classes, people)  # all rows of a person: at least what a few known ones tell
            if whole.verdict != "broken":
                return whole
            own = judged([attributes, *classes[1:]], people)
            why = f"nobody is among fewer than {policy.k} by this release's attributes and the earlier releases; some are by all "
            why += f"rows, and this release counts people by {policy.known} known"
            return own if own.verdict == "broken" else nothing_compared(why)

        classes, pairs = np.where(stays, groups(self._family, at)[first.person], -1), first.pairs
        same = group_codes([*pairs.codes[1:], classes.astype(np.int32)], n_rows=len(classes))
        codes, sizes = [c[same.first] for c in pairs.codes[1:]], np.bincount(same.ids)
        alone = Published(ClassCounts(sizes, pairs.columns[1:], codes, pairs.categories[1:]), classes[same.first], judged)
        return Published(pairs, classes, judged if policy.known is None else known_rows, keyless=alone)

    def to_json(self) -> dict[str, Any]:
        """k, people, tables, levels, loss, attacks, and whether it was verified."""
        certificate = self.certificate
        if certificate is None:
            raise UsageError("the release is not written yet.", hint="Call write() first.")
        return {
            "k": certificate.k,
            "known": certificate.known,
            "people": certificate.after.people,
            "left_out": certificate.left_out,
            "loss": certificate.loss,
            "levels": self.levels,
            "tables": {t.name: {"file": t.file, "records": t.records, "records_in": t.records_in} for t in certificate.tables},
            "verdict": certificate.verdict,
            "attacks": plain(certificate.attacks),
            "files": [*(f.name for f in certificate.files), NAME],
            "verified": True,
            "seconds": round(time.perf_counter() - self._started, 3),
            **({"excluded": plain(certificate.objections)} if certificate.objections else {}),
        }


def _carry_out(
    family: Family, chosen: Chosen, key_file: str | Path | None, ending: str, stage: Path, progress: Progress
) -> tuple[LinkedCertificate, str]:
    """Everything in ``stage``, verified; and the salt of the commitment to the list of objections."""
    signer = sign.signer(key_file)
    check_dependent(family, chosen)
    entries = []
    with folder.scratch() as work:
        key = work / "pseudonyms.key"
        write_private(key, secrets.token_hex(32))
        for i, (part, levels) in enumerate(zip(family.parts, chosen.levels, strict=True)):
            progress(0.5 + 0.3 * i / len(family.parts), f"writing {part.linked.name}")
            entry = _write_table(family, part, levels, chosen, f"file:{key}", stage, ending)
            digest = input_hash(family.sources[i], signer)
            entries.append(replace(entry, snapshot=family.held[i].snapshot, keyed_hash=digest))
    progress(0.85, "counting the written files again")
    for part, held in zip(family.parts, family.held, strict=True):
        require_same(part.prepared, held)
    counted = everybody(files_of(stage, entries))
    _as_planned(family, chosen, counted)
    left = None if family.objections is None else LeftOut(family.parts[0].table, family.listed, family.objections)
    objected, list_salt = objections(left, signer)
    body = _body(family, chosen, tuple(entries), counted, objected, stage)
    return seal(body, render, None, stage, signer).certificate, list_salt


def _write_table(
    family: Family, part: Part, levels: Mapping[str, int], chosen: Chosen, key: str, stage: Path, ending: str
) -> LinkedEntry:
    """One table, recoded without the people who are left out."""
    linked, table = part.linked, part.table
    gone = [family.ids[i] for i in np.flatnonzero(~chosen.staying)]
    rest = without(table, gone, linked.key)[0] if gone else table
    steps = _steps(part, levels, key)
    out = stage / f"{linked.name}.{ending}"
    try:
        done = rest.recode(Plan(tuple(steps.values()), Suppression(scope="none"), part.prepared.policy.seed), out)
    except OSError as error:
        hint = "Check rights and free space."
        raise OutputError(f"the data could not be written: {type(error).__name__}.", hint=hint) from None
    expected = int(part.rows[chosen.staying[part.person]].sum())
    if done.records_out != expected:
        raise changed(expected, done.records_out)
    return LinkedEntry(
        name=linked.name,
        file=out.name,
        key=linked.key,
        quasi=part.prepared.quasi,
        sensitive=tuple(part.prepared.policy.sensitive),
        columns=tuple(_column(part, name, steps.get(name), levels) for name in part.prepared.schema.names),
        records_in=part.came,
        records=done.records_out,
        orphans=part.orphans,
        unnamed=part.unnamed,
    )


def _steps(part: Part, levels: Mapping[str, int], key: str) -> dict[str, Step]:
    """Quasi-identifiers at their level, the key as a fresh pseudonym, the other columns as the policy says."""
    prepared = part.prepared
    out: dict[str, Step] = {}
    for name in prepared.quasi:
        label = missing_label(prepared.hierarchies[name], levels[name])
        out[name] = prepared.rules[name].step(name, levels[name], missing_label=label)
    for step in other_steps(prepared):
        out[step.column] = step
    out[part.linked.key] = KeyedHash(part.linked.key, key=key, domain=DOMAIN)
    return out


def _column(part: Part, name: str, step: Step | None, levels: Mapping[str, int]) -> LinkedColumn:
    policy = part.prepared.policy
    if name == part.linked.key:
        return LinkedColumn(name, "key", "fresh pseudonym", None, None)
    if name in policy.quasi:
        height = part.prepared.hierarchies[name].height
        return LinkedColumn(name, "quasi", "generalized" if levels[name] else "retained", levels[name], height)
    role = "direct" if name in policy.direct else "sensitive" if name in policy.sensitive else "insensitive"
    kept = "retained" if isinstance(step, Keep) else "removed" if isinstance(step, Drop) else step.kind if step else "changed"
    return LinkedColumn(name, role, kept, None, None)


def _as_planned(family: Family, chosen: Chosen, everybody: Everybody) -> None:
    """The files hold the people and the numbers that were decided, counted by other code."""
    policy = family.policy
    sharing = everybody.sharing(policy.known)
    if everybody.people != int(chosen.staying.sum()) or min(sharing.values()) < policy.k:
        raise VerificationError("the written files do not hold what was decided; nothing was released.")
    if policy.known is None:
        planned = Counter(alike(family, chosen.levels)[chosen.staying].tolist())
        if planned != Counter(sharing.values()):
            raise VerificationError("the written files do not hold what was decided; nothing was released.")


def _body(
    family: Family,
    chosen: Chosen,
    entries: tuple[LinkedEntry, ...],
    everybody: Everybody,
    objected: Objections | None,
    stage: Path,
) -> LinkedCertificate:
    policy = family.policy
    after = numbers(everybody.sharing(policy.known))
    certificate = LinkedCertificate(
        title=policy.about.get("title", "Release of several tables"),
        date=today(policy.about.get("date")),
        tool=f"shoal {__version__}",
        verdict="",
        k=after.k,
        asked=policy.k,
        known=policy.known,
        tables=entries,
        people_in=family.n,
        left_out=int((~chosen.staying).sum()),
        allowed=policy.suppress,
        loss=float(chosen.loss),
        before=_before(family),
        after=after,
        attacks=(),
        known_columns=policy.known_columns,
        purpose=LinkedPurpose(**{n: v for n, v in policy.about.items() if n not in ("title", "date")}),
        limits=LIMITS,
        files=tuple(file_entry(stage / e.file) for e in entries),
        objections=objected,
    )
    certificate = replace(certificate, attacks=attacks(everybody, stage, certificate))
    _refuse_found(certificate)
    return replace(certificate, verdict=verdict(certificate))


def _refuse_found(certificate: LinkedCertificate) -> None:
    """Published columns find at most the share that the policy allows."""
    found = next((a for a in certificate.attacks if a.name == FURTHER and a.verdict == "broken"), None)
    if found is not None:
        limit, worst = as_percent(found.claimed or 0.0), f" (most is found by {found.worst})" if found.worst else ""
        what = f"any three published columns are not known to find at most {limit} of the people. {found.sentence}"
        hint = f"Name columns under roles.direct of their table{worst}, or raise 'require: {{known_columns: …}}'."
        raise VerificationError(what, hint=hint)


def _before(family: Family) -> LinkedNumbers:
    """The tables as they came, everything known."""
    level0 = [dict.fromkeys(p.prepared.quasi, 0) for p in family.parts]
    sizes = Counter(alike(family, level0).tolist())
    return LinkedNumbers(family.n, min(sizes), sizes.get(1, 0), {str(s): sizes[s] for s in sorted(sizes)})
