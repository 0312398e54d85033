"""Attack a release before it exists for others: what the plan's choice, the classes and earlier releases give away."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from shoal.errors import VerificationError
from shoal.model.attack import AttackResult, worst_first
from shoal.model.certificate.certificate import NAME, Certificate
from shoal.model.certificate.file import read_certificate
from shoal.model.display import Progress, silent, written
from shoal.release.certificate.derive import MOST_ROWS, published_table
from shoal.release.claim import broken_claim
from shoal.release.earlier.composition import composition
from shoal.release.make.value_links import Links
from shoal.release.plan.methods import structure, tells
from shoal.release.plan.prepare import Prepared
from shoal.release.plan.published_classes import Decision
from shoal.release.proof.recount import FileColumns

STOPPING = ("intersection", "linkage", "differencing", "leftovers")
"""Attacks that stop a release when they do better than claimed; k, l and t are proven by counting the written file."""

HINTS = {
    "intersection": "Publish the same plan as before (--plan), coarser levels, or only people who are new.",
    "linkage: intervals between dates": "Group the dates (cut into months or years), drop the column of persons, or release one "
    "date per person; each hides the distances and loses them for analysis.",
    "linkage: dependent columns": "Name these columns under roles.quasi, so that they are made as coarse, or under roles.direct. "
    "If nobody can work the one out from the other: allow: {identifying: {column: why}}",
    "linkage": "Change the columns together (microaggregate several), round them more coarsely, take more noise, shift dates "
    "without a common domain, name them under roles.quasi, or state another limit (require: {linkage: 0.3}). If a person has "
    "looked at one: allow: {identifying: {column: why}}",
    "differencing": "Let every class change by at least k records or not at all: wait for more people, or use coarser levels.",
}


@dataclass(frozen=True)
class Early:
    """Attacks that need no source: by further known columns, and downcoding."""

    further: AttackResult | None
    downcoded: AttackResult | None


def early_attacks(prepared: Prepared, decision: Decision, links: Links) -> Early:
    """What can be tried from the written file and the classes alone, while the file is counted again."""
    from shoal.attacks.downcoding import downcoding

    cells = downcoding(structure(prepared, decision), decision.released.columns) if decision.codes and decision.finer else None
    return Early(links.further(), cells)


def run_attacks(
    prepared: Prepared,
    decision: Decision,
    data: FileColumns,
    earlier: tuple[Path, ...],
    linked: Sequence[AttackResult],
    early: Early,
    progress: Progress = silent,
    *,
    in_database: bool = False,
) -> list[AttackResult]:
    """The attacks that need the release, its making and earlier releases, worst first; a broken claim stops the release. Those
    on a file alone are part of the derived half of its certificate."""
    from shoal.attacks import ATTACKING, Scene, claimed, run_all, tell
    from shoal.attacks.composition import joined_records

    choice = structure(prepared, decision) if decision.codes else None
    needed = in_database or earlier
    table = published_table(data, int(decision.released.n_records), prepared.schema.names) if needed else None
    distinct, t = claimed(prepared.policy.requirements)
    scene = Scene(
        released=decision.released,
        k=prepared.policy.smallest_class,
        distinct=distinct,
        t=t,
        recoded=choice if decision.finer else None,
        table=table if in_database else None,
        files=(data.source,),
        seed=prepared.policy.seed,
        downcoded=early.downcoded,
    )
    results = [r for r in run_all(scene, progress) if not (earlier and r.name == "intersection")]
    if earlier:
        progress(1.0, f"{ATTACKING}: intersection")
    further = composition(prepared, decision, earlier)
    further += [*linked, *([early.further] if early.further else [])]
    if decision.narrowed is not None:
        further.append(decision.narrowed)
    for place in earlier:
        before = read_certificate(place / NAME)
        there = before.data.file is None
        source = prepared.table.neighbour(str(before.data.table)) if there else place / str(before.data.file)
        old = published_table(FileColumns(source), before.after.records, before.data.columns)
        if table is not None and old is not None:
            further.append(joined_records(table, old, _unchanged_columns(prepared, before)))
        else:
            further.append(AttackResult.not_run("intersection: joined records", f"a file has more than {MOST_ROWS:,} records"))
    tell(progress, 1.0, further)
    results += further
    _refuse_broken(prepared, results)
    return worst_first(results)


def _refuse_broken(prepared: Prepared, results: list[AttackResult]) -> None:
    """Stop a release that an attack gets more out of than it would claim."""
    broken = worst_first(r for r in results if r.verdict == "broken" and r.name.split(":")[0] in STOPPING)
    if broken:
        raise broken_claim(broken, HINTS.get(broken[0].name, HINTS.get(broken[0].name.split(":")[0], "Use coarser levels.")))
    telling = tells(results) if prepared.policy.hardened else None
    if telling is not None:
        what = f"the policy asks for a hardened release, but {telling.name} succeeds at {written(telling.rate or 0.0, 3)}. "
        what += "Nothing was released."
        hint = "Let a plan be searched (method: lattice, without --plan), or leave 'hardened' out."
        raise VerificationError(what, hint=hint, attacks=(telling,))


def _unchanged_columns(prepared: Prepared, before: Certificate) -> list[str]:
    """Columns that both releases publish as they were."""
    old = before.with_treatment("retained", "sensitive", "insensitive")
    return [c for c in (*prepared.policy.sensitive, *prepared.policy.insensitive) if c in old]
