"""What a certificate says, gathered in one place: counts, names and sentences of a release.

Nothing here may hold a data value. Names of published groups appear only where enough people are behind them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from shoal.measures.classes.missing import k_under_all_policies
from shoal.model.attack import AttackResult
from shoal.model.certificate import form
from shoal.model.certificate.certificate import PLAN, Certificate
from shoal.model.certificate.numbers import ClassNumbers, Judged, Missing, MissingK, PublishedNumbers
from shoal.model.certificate.parts import (
    Analysis,
    Classing,
    Controls,
    Data,
    FileEntry,
    Input,
    Objections,
    PlanEntry,
    PresetRule,
    Purpose,
    Threshold,
    TradeOff,
    Unit,
    Utility,
)
from shoal.model.counts.classes import ClassCounts
from shoal.model.display import written
from shoal.model.requirement import Verdict
from shoal.release.certificate import derived
from shoal.release.certificate.columns import columns_of
from shoal.release.certificate.lost_groups import lost_groups
from shoal.release.certificate.sentences import TRIGGERS, proof, today, verdict
from shoal.release.certificate.signing import file_entry
from shoal.release.gate.count_facts import facts_of_counts
from shoal.release.plan.prepare import Prepared
from shoal.release.plan.published_classes import Decision
from shoal.release.policy.policy import Policy
from shoal.release.proof.facts import Facts
from shoal.version import __version__

NOT_STATED = "not stated"


@dataclass(frozen=True, eq=False)
class Written:
    """What is known of a release once its data are written, counted again and attacked.

    ``records_in`` are the records that the release is about; ``unsampled`` those that a sample left behind.
    """

    facts: Facts
    findings: Sequence[Verdict]
    people: tuple[Facts, Sequence[Verdict]] | None
    suppressed: int
    records_in: int
    unsampled: int
    changed: Mapping[str, float]
    data: Data
    place: Path
    files: Sequence[Path]
    commitment: str | None
    input_hash: str | None
    snapshot: str | None
    attacks: Sequence[AttackResult]
    frontier: Sequence[TradeOff] = ()
    analyses: Sequence[Analysis] = ()
    objections: Objections | None = None
    identifiers: tuple[Classing, ...] | None = None


def certificate_of(prepared: Prepared, decision: Decision, made: Written) -> Certificate:
    """Everything that is claimed of a release, not signed yet."""
    policy = prepared.policy
    entries = tuple(file_entry(f, made.place) for f in made.files)
    before = class_numbers(_of_base(prepared.base) if prepared.coarser is None else prepared.coarser.before)
    after, people = published_numbers(made.facts), published_numbers(made.people[0]) if made.people else None
    whole = Certificate(
        title=policy.about.get("title", "Release"),
        date=today(policy.about.get("date")),
        tool=f"shoal {__version__}",
        verdict="",
        k=(people or after).k,
        require=policy.require_json(),
        requirements=_judged(made.findings),
        threshold=_threshold(policy),
        release=purpose_of(policy.about),
        proof=proof(policy.unit, made.data.unit),
        data=made.data,
        files=entries,
        plan=_plan(decision, entries, made.commitment),
        input=_input(prepared, made),
        columns=columns_of(prepared, decision, made.changed),
        unit=Unit(policy.unit, policy.publish_unit if policy.unit else None),
        weight=policy.weight,
        missing=_missing(decision, (people or after).k),
        population=derived.population(policy.population, made.facts.records),
        before=before,
        after=after,
        attackers=derived.attackers(prepared.quasi, before, people or after),
        wp216=derived.questions(after, made.attacks),
        attacks=tuple(made.attacks),
        utility=_utility(prepared, decision, made),
        limits=(),
        triggers=TRIGGERS,
        verify=derived.VERIFY,
        after_people=people,
        requirements_people=_judged(made.people[1]) if made.people else None,
        identifiers=made.identifiers,
    )
    return replace(whole, verdict=verdict(whole), limits=(*derived.limits(whole), *_further_limits(prepared, decision)))


def published_numbers(facts: Facts) -> PublishedNumbers:
    """What was counted in the written file, as a certificate says it."""
    return form.typed(PublishedNumbers, facts.to_json())


def class_numbers(facts: Facts) -> ClassNumbers:
    """The table as it came: class sizes, k, uniques, risk.

    Nothing about its sensitive values: beside the published ones it would tell those of the few who were left out.
    """
    found = facts.to_json()
    names = ("records", "classes", "k", "unique", "sizes", "risk", "smallest")
    return form.typed(ClassNumbers, {n: found[n] for n in names if n in found})


def _of_base(base: ClassCounts) -> Facts:
    """The numbers of the base classes; their sensitive values, about which nothing is claimed, are not used."""
    return facts_of_counts(replace(base, sensitive={}))


def _judged(findings: Sequence[Verdict]) -> tuple[Judged, ...]:
    return tuple(form.typed(Judged, f.to_json()) for f in findings)


def _threshold(policy: Policy) -> Threshold:
    rule = form.typed(PresetRule, policy.preset.to_json()) if policy.preset else None
    return Threshold(rule, policy.smallest_class)


def purpose_of(about: Mapping[str, Any]) -> Purpose:
    controls = about.get("controls", {})
    names = ("purpose", "recipient", "run_by", "approved_by", "contact", "review")
    return Purpose(
        **{n: about.get(n, NOT_STATED) for n in names},
        kind=about.get("release", NOT_STATED),
        controls=Controls(**{n: controls.get(n, NOT_STATED) for n in ("people", "projects", "settings")}),
    )


def _plan(decision: Decision, files: Sequence[FileEntry], commitment: str | None) -> PlanEntry:
    sha256 = next(f.sha256 for f in files if f.name == PLAN)
    return PlanEntry(sha256, len(decision.plan.steps), "not published", commitment, decision.plan.truthful)


def _input(prepared: Prepared, made: Written) -> Input:
    drawn = None if prepared.sampled is None else made.records_in
    records, columns = made.records_in + made.unsampled, len(prepared.schema.names)
    return Input(records, drawn, columns, made.input_hash, derived.INPUT_NOTE, made.objections, made.snapshot)


def _missing(decision: Decision, counted: int) -> Missing:
    """k of the published classes under the three rules for missing values, side by side; ``own`` as counted in the file."""
    found = k_under_all_policies(decision.released)
    return Missing(*derived.MISSING_RULE, MissingK(own=counted, wildcard=found["wildcard"], drop=found["drop"]))


def _utility(prepared: Prepared, decision: Decision, made: Written) -> Utility:
    """What was lost, and by whom."""
    policy, suppressed, records_in = prepared.policy, made.suppressed, made.records_in
    sentence = derived.suppressed_sentence(suppressed, records_in, policy.scope)
    sentence += f" the policy allows {written(100 * policy.suppress, 3)} %."
    came, left = prepared.base.n_people, made.people[0].people if made.people else None
    if policy.scope == "rows" and came is not None and left is not None:
        sentence += f" {came - left:,} of {came:,} people have no record in it."
        some = people_with_less(prepared, decision)
        sentence += f" {some:,} more have lost some of their records." if some else ""
    return Utility(
        optimize=decision.loss_name,
        loss=float(decision.loss),
        method=decision.method,
        levels=dict(decision.levels),
        proven=decision.proven,
        gap=None if decision.gap is None else float(decision.gap),
        suppressed=suppressed,
        suppressed_share=suppressed / records_in,
        suppressed_sentence=sentence,
        scope=policy.scope,
        who=lost_groups(prepared, decision),
        who_note=derived.who_note(policy.cells.minimum),
        frontier=tuple(made.frontier),
        analyses=tuple(made.analyses),
    )


def people_with_less(prepared: Prepared, decision: Decision) -> int:
    """People who have records in classes that stay and in classes that are left out."""
    if prepared.people is None:  # everybody is in one class only: all of their records stay or go
        return 0
    classes, person = prepared.people
    stays = decision.stays[classes]
    return len(np.intersect1d(person[stays], person[~stays]))


def _further_limits(prepared: Prepared, decision: Decision) -> tuple[str, ...]:
    """What a reader must know beyond what follows from the rest: it rests on the signature."""
    allowed = "; ".join(f"{c} ({why})" if why else f"{c} (no reason given)" for c, why in prepared.policy.identifying.items())
    said = f"Published as they are although they look like identifiers, as the policy allows: {allowed}."
    gone = "; ".join(f"{c.name} ({', '.join(c.missing_values)})" for c in prepared.schema.columns if c.missing_values)
    read = f"Read as missing, as specified: {gone}."
    return (*((said,) if allowed else ()), *((read,) if gone else ()), *decision.notes)
