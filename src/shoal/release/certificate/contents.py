"""What a certificate says, gathered in one place: counts, names and sentences of a release.

Nothing here may hold a data value. Names of published groups appear only where enough people are behind them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.kernels.arrow import to_numpy
from shoal.kernels.group import sum_by
from shoal.model.attack import AttackResult
from shoal.model.certificate import form, parts
from shoal.model.certificate.certificate import Certificate
from shoal.model.certificate.numbers import ClassNumbers, Missing, MissingK, Population, PublishedNumbers
from shoal.model.counts.classes import ClassCounts
from shoal.model.display import written
from shoal.model.plan import Step
from shoal.release.certificate.sentences import GUESSED, today, treatment_of
from shoal.release.certificate.signing import file_entry
from shoal.release.gate.count_facts import facts_of_counts
from shoal.release.plan.loss_limits import shown_records
from shoal.release.plan.prepare import Prepared
from shoal.release.plan.published_classes import Decision, Shown
from shoal.release.proof.facts import Facts
from shoal.steps import Round
from shoal.version import __version__


@dataclass(frozen=True, eq=False)
class Written:
    """What is known of a release once its data are written, counted again and attacked.

    ``records_in`` are the records that the release is about; ``unsampled`` those that a sample left behind.
    """

    facts: Facts
    people: Facts | None
    suppressed: int
    records_in: int
    unsampled: int
    changed: Mapping[str, float]
    data: parts.Data
    place: Path
    files: Sequence[Path]
    commitment: str | None
    input_hash: str | None
    snapshot: str | None
    attacks: Sequence[AttackResult]
    frontier: Sequence[parts.TradeOff] = ()
    analyses: Sequence[parts.Analysis] = ()
    objections: parts.Objections | None = None
    identifiers: tuple[parts.Classing, ...] | None = None
    accepted: tuple[str, ...] = ()
    hashes: Mapping[Path, str] = field(default_factory=dict)
    """SHA-256 of files as they were counted: the signature is for these bytes."""


def certificate_of(prepared: Prepared, decision: Decision, made: Written) -> Certificate:
    """The signed half of a certificate, not signed yet; :func:`~shoal.release.certificate.derive.derive` fills in the other."""
    policy, preset = prepared.policy, prepared.policy.preset
    people = None if made.people is None else published_numbers(made.people)
    numbers = {r.name: decision.given.get(r.place) for r in policy.requirements if r.needs_population or r.needs_original}
    return Certificate(
        title=policy.about.get("title", "Release"),
        date=today(policy.about.get("date")),
        tool=f"shoal {__version__}",
        verdict="",
        k=0,
        require=policy.require_json(),
        requirements=(),
        threshold=parts.Threshold(form.typed(parts.PresetRule, preset.to_json()) if preset else None, 0),
        release=purpose_of(policy.about),
        proof=parts.Proof("", "", "", ""),
        data=made.data,
        files=tuple(file_entry(f, made.place, made.hashes.get(f)) for f in made.files),
        plan=parts.PlanEntry("", 0, "", made.commitment, False),
        input=_input(prepared, made),
        columns=columns_of(prepared, decision, made.changed),
        unit=parts.Unit(policy.unit, policy.publish_unit if policy.unit else None),
        weight=policy.weight,
        missing=Missing("", "", MissingK(None, None, None)),
        population=Population(policy.population, ""),
        before=class_numbers(_of_base(prepared.base) if prepared.coarser is None else prepared.coarser.before),
        after=published_numbers(made.facts),
        attackers=(),
        wp216=(),
        attacks=tuple(made.attacks),
        utility=_utility(prepared, decision, made),
        limits=(),
        triggers="",
        verify="",
        after_people=people,
        identifiers=made.identifiers,
        given=numbers,
        identifying=dict(policy.identifying),
        notes=(*_notes(prepared, decision), *made.accepted),
    )


def published_numbers(facts: Facts) -> PublishedNumbers:
    """What was counted in the written file, as a certificate says it."""
    return form.typed(PublishedNumbers, facts.to_json())


def class_numbers(facts: Facts) -> ClassNumbers:
    """The table as it came: class sizes, k, uniques, risk.

    Nothing about its sensitive values: beside the published ones it would tell those of the few who were left out.
    """
    figures = facts.to_json()
    names = ("records", "classes", "k", "unique", "sizes", "risk", "smallest")
    return form.typed(ClassNumbers, {n: figures[n] for n in names if n in figures})


def _of_base(base: ClassCounts) -> Facts:
    """The numbers of the base classes; their sensitive values, about which nothing is claimed, are not used."""
    return facts_of_counts(replace(base, sensitive={}))


def purpose_of(about: Mapping[str, Any]) -> parts.Purpose:
    controls = about.get("controls", {})
    names = ("purpose", "recipient", "run_by", "approved_by", "contact", "review")
    return parts.Purpose(
        **{n: about.get(n, parts.NOT_STATED) for n in names},
        kind=about.get("release", parts.NOT_STATED),
        controls=parts.Controls(**{n: controls.get(n, parts.NOT_STATED) for n in ("people", "projects", "settings")}),
    )


def _input(prepared: Prepared, made: Written) -> parts.Input:
    drawn = None if prepared.sampled is None else made.records_in
    records = made.records_in + made.unsampled
    return parts.Input(records, drawn, 0, made.input_hash, "", made.objections, made.snapshot)


def _utility(prepared: Prepared, decision: Decision, made: Written) -> parts.Utility:
    """What was lost, and by whom."""
    policy = prepared.policy
    rows = policy.scope == "rows" and made.people is not None
    return parts.Utility(
        optimize=decision.loss_name,
        loss=float(decision.loss),
        method=decision.method,
        levels=dict(decision.levels),
        proven=decision.proven,
        gap=None if decision.gap is None else float(decision.gap),
        suppressed=made.suppressed,
        suppressed_share=0.0,
        suppressed_sentence="",
        scope="",
        who=lost_groups(prepared, decision),
        who_note="",
        frontier=tuple(made.frontier),
        analyses=tuple(made.analyses),
        plans=decision.plans,
        others=decision.others,
        allowed=policy.suppress,
        people_before=prepared.base.n_people if rows else None,
        people_with_less=people_with_less(prepared, decision) if rows else None,
    )


def people_with_less(prepared: Prepared, decision: Decision) -> int:
    """People who have records in classes that stay and in classes that are left out."""
    if prepared.people is None:  # everybody is in one class only: all of their records stay or go
        return 0
    classes, person = prepared.people
    stays = decision.stays[classes]
    return len(np.intersect1d(person[stays], person[~stays]))


def _notes(prepared: Prepared, decision: Decision) -> tuple[str, ...]:
    """What a reader must know beyond what follows from the rest."""
    gone = "; ".join(f"{c.name} ({', '.join(c.missing_values)})" for c in prepared.schema.columns if c.missing_values)
    aside = (f"Not read as records: {rows}.",) if (rows := prepared.table.set_aside) else ()
    return (*((f"Read as missing, as specified: {gone}.",) if gone else ()), *aside, *decision.notes)


def columns_of(prepared: Prepared, decision: Decision, changed: Mapping[str, float]) -> tuple[parts.Column, ...]:
    """One line per column of the input: role, level, share of cells changed."""
    policy, out = prepared.policy, list[parts.Column]()
    for column in prepared.schema.columns:
        name = column.name
        steps = decision.plan.for_column(name)
        if name in policy.quasi:
            out.append(_describe_generalized(prepared, decision, name, changed.get(name)))
            continue
        role = prepared.schema.roles.get(name)
        word = role.value if role else ("unit" if name == policy.unit else "weight")
        treatment = treatment_of(steps)
        why = magnitude(prepared, steps[0]) if treatment not in ("removed", "retained") else ""
        kind, share = column.kind, changed.get(name)
        who = policy.who_decided(name) if role else None
        out.append(parts.Column(name=name, role=word, kind=kind, treatment=treatment, changed=share, why=why, decided=who))
    return tuple(out)


def _describe_generalized(prepared: Prepared, decision: Decision, name: str, changed: float | None) -> parts.Column:
    level, height = decision.levels.get(name), prepared.hierarchies[name].height
    return parts.Column(
        name=name,
        role="quasi",
        kind=prepared.schema[name].kind,
        treatment="",
        level=level,
        height=height,
        changed=changed,
        values_before=prepared.n_values(name),
        why=f"{GUESSED}{prepared.inferred[name]}" if name in prepared.inferred else "hierarchy as given",
        decided=prepared.policy.who_decided(name),
    )


MOST_LINES = 8
NOT_NAMED = "(groups that are not named)"


def lost_groups(prepared: Prepared, decision: Decision | Shown) -> tuple[parts.LostGroup, ...]:
    """The published groups that lost the largest share of their records, under the small-cell rule.

    A group is named only where enough of its records are published and enough were left out; its records are the published ones.
    What other groups of the column lost is added up in one line, and where that is a small number, more groups are taken into it:
    no small count follows by subtraction.
    """
    if decision.stays.all() or not decision.codes:
        return ()
    base, least = prepared.base, prepared.policy.cells.minimum
    out = np.flatnonzero(~decision.stays)
    gone = base.records_by_class[out]
    groups: list[tuple[float, parts.LostGroup]] = []
    for j, name in enumerate(base.columns):
        labels = decision.labels[j]
        shown = shown_records(prepared, decision, j)  # the first is the missing value, here too:
        lost = sum_by(decision.codes[j][out] + 1, gone, len(labels) + 1)
        large = np.flatnonzero((shown >= least) & (lost >= least))
        named = [(int(lost[i]), int(shown[i]), "missing" if i == 0 else str(labels[i - 1])) for i in large]
        rest = int(gone.sum()) - sum(left for left, _, _ in named)
        named.sort()
        while named and 0 < rest < least:
            rest += named.pop(0)[0]
        for left, there, label in named:
            share = f"{written(100 * left / (there + left), 3)} %"
            groups.append((left / (there + left), parts.LostGroup(name, label, there, left, share)))
        if rest >= least:
            groups.append((0.0, parts.LostGroup(name, NOT_NAMED, "", rest, "")))
    groups.sort(key=lambda f: (-f[0], f[1].column, f[1].group))
    return tuple(line for _, line in groups[:MOST_LINES])


SMALL = 0.1
"""Noise below this share of a column's own deviation leaves most values easy to guess."""


def magnitude(prepared: Prepared, step: Step) -> str:
    """One clause about a step; empty where its name says it all."""
    from shoal.techniques.group.microaggregate import Microaggregate
    from shoal.techniques.perturb.noise import CorrelatedNoise, Noise
    from shoal.techniques.perturb.permute import Permute, RankSwap

    if isinstance(step, Noise):
        return _noise(prepared, step)
    if isinstance(step, CorrelatedNoise):
        return f"noise with {written(100 * math.sqrt(step.share), 2)} % of each column's own deviation"
    if isinstance(step, RankSwap):
        return f"values exchanged within {written(step.percent)} % of the ranks"
    if isinstance(step, Permute):
        return "values exchanged " + (f"among records with the same {', '.join(step.within)}" if step.within else "at random")
    if isinstance(step, Microaggregate):
        return f"{step.publish} of groups of at least {step.k}"
    return f"rounded to multiples of {written(step.base)}" if isinstance(step, Round) else ""


def _noise(prepared: Prepared, step: Any) -> str:
    deviation = math.sqrt(step.variance)
    if step.mode == "multiplicative":
        return f"noise: each value changed by {written(100 * deviation, 2)} % of itself (standard deviation)"
    own = spread(prepared, step.column)
    sentence = f"noise with standard deviation {written(deviation, 3)}"
    if own == 0:
        return sentence
    hint = ", which hides little" if deviation < SMALL * own else ""
    return f"{sentence}, {written(100 * deviation / own, 2)} % of the column's own{hint}"


def spread(prepared: Prepared, column: str) -> float:
    """Standard deviation of a column of numbers, missing values left out; read in pieces (Chan, Golub & LeVeque 1979)."""
    n, mean, square = 0, 0.0, 0.0
    for batch in prepared.table.scan([column]):
        cells = to_numpy(pc.drop_null(batch.column(0).cast(pa.float64())))
        cells = cells[cells == cells]  # without NaN
        if len(cells):
            here, more = float(cells.mean()), len(cells)
            square += float(((cells - here) ** 2).sum()) + (here - mean) ** 2 * n * more / (n + more)
            mean, n = mean + (here - mean) * more / (n + more), n + more
    return math.sqrt(square / n) if n else 0.0
