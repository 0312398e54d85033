"""What a certificate says, gathered in one place: counts, names and sentences of a release.

Nothing here may hold a data value. Names of published groups appear only where enough people are behind them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from shoal.measures.classes.missing import under_all_policies
from shoal.model.attack import AttackResult
from shoal.model.certificate import form
from shoal.model.certificate.certificate import PLAN, Certificate
from shoal.model.certificate.numbers import Attacker, ClassNumbers, Judged, Missing, MissingK, Population, PublishedNumbers
from shoal.model.certificate.parts import (
    Analysis,
    Controls,
    Data,
    FileEntry,
    Input,
    PlanEntry,
    PresetRule,
    Purpose,
    Question,
    Threshold,
    TradeOff,
    Unit,
    Utility,
)
from shoal.model.requirement import Verdict
from shoal.release.certificate.columns import columns_of
from shoal.release.certificate.consistency import chances
from shoal.release.certificate.lost_groups import lost_groups
from shoal.release.certificate.sentences import LIMITS, TRIGGERS, proof, today, verdict
from shoal.release.certificate.signing import file_entry
from shoal.release.gate.check import facts_of_counts
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
    files: Sequence[Path]
    commitment: str | None
    input_hash: str | None
    attacks: Sequence[AttackResult]
    frontier: Sequence[TradeOff] = ()
    analyses: Sequence[Analysis] = ()


def certificate_of(prepared: Prepared, decision: Decision, made: Written) -> Certificate:
    """Everything that is claimed of a release, not signed yet."""
    policy = prepared.policy
    entries = tuple(file_entry(f) for f in made.files)
    before = class_numbers(facts_of_counts(prepared.base))
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
        release=_purpose(policy.about),
        proof=proof(policy.unit, made.data.unit),
        data=made.data,
        files=entries,
        plan=_plan(decision, entries, made.commitment),
        input=_input(prepared, made),
        columns=columns_of(prepared, decision, made.changed),
        unit=Unit(policy.unit, policy.publish_unit if policy.unit else None),
        weight=policy.weight,
        missing=_missing(decision),
        population=_population(policy.population, made.facts),
        before=before,
        after=after,
        attackers=_attackers(prepared.quasi, before, people or after),
        wp216=_questions(made.facts, made.attacks),
        attacks=tuple(made.attacks),
        utility=_utility(prepared, decision, made),
        limits=_limits(prepared, decision),
        triggers=TRIGGERS,
        verify="shoal verify FOLDER",
        after_people=people,
        requirements_people=_judged(made.people[1]) if made.people else None,
    )
    return replace(whole, verdict=verdict(whole))


def published_numbers(facts: Facts) -> PublishedNumbers:
    """What was counted in the written file, as a certificate says it."""
    return form.typed(PublishedNumbers, facts.to_json())


def class_numbers(facts: Facts) -> ClassNumbers:
    """The table as it came: class sizes, k, uniques, risk.

    Nothing about its sensitive values: beside the published ones it would tell those of the few who were left out.
    """
    found = facts.to_json()
    return form.typed(ClassNumbers, {n: found[n] for n in ("records", "classes", "k", "unique", "sizes", "risk")})


def _judged(findings: Sequence[Verdict]) -> tuple[Judged, ...]:
    return tuple(form.typed(Judged, f.to_json()) for f in findings)


def _threshold(policy: Policy) -> Threshold:
    rule = form.typed(PresetRule, policy.preset.to_json()) if policy.preset else None
    return Threshold(rule, policy.smallest_class)


def _purpose(about: Mapping[str, Any]) -> Purpose:
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
    note = "keyed with the signing key, so that it cannot be used to test guesses"
    return Input(made.records_in + made.unsampled, drawn, len(prepared.schema.names), made.input_hash, note)


def _missing(decision: Decision) -> Missing:
    """k of the published classes under the three rules for missing values, side by side."""
    found = under_all_policies(decision.released)
    k = MissingK(**{name: numbers.get("k") for name, numbers in found.items()})
    return Missing("own", "a missing value is a value of its own (the strict rule)", k)


def _population(size: int | None, facts: Facts) -> Population:
    if size is None:
        sentence = "none given: the published records are taken as the whole population, the most cautious reading"
        return Population(None, sentence)
    return Population(size, f"{size:,} people, as stated; {facts.records / size:.3g} records per person of it")


def _attackers(quasi: Sequence[str], before: ClassNumbers, after: ClassNumbers) -> tuple[Attacker, ...]:
    """Three attackers, what each would do, and the chance before and after."""
    known = ", ".join(quasi)
    words = [
        (
            "prosecutor (largest)",
            f"knows that a person is in the table and knows {known}: the best chance to point at the right record",
        ),
        (
            "journalist (largest)",
            "does not know who is in the table; without a population table the same bound as the prosecutor",
        ),
        ("marketer (average)", "tries to match everybody: the share of records expected to be matched rightly"),
        ("anyone, one of a kind", f"people who are alone in their class on {known}"),
    ]
    both = zip(words, chances(before), chances(after), strict=True)
    return tuple(Attacker(name, sentence, first, last) for (name, sentence), first, last in both)


def _questions(facts: Facts, attacks: Sequence[AttackResult]) -> tuple[Question, ...]:
    """The three questions of opinion 05/2014 (WP216): how each was tested, what was found."""
    linked = [a for a in attacks if a.name in ("linkage", "intersection") and a.verdict != "not run"]
    inside = [f"{c}: at least {i.distinct} values in each class" for c, i in sorted(facts.sensitive.items())]
    return (
        Question(
            "Can a person be singled out?",
            "class sizes counted in the written file",
            f"no class on the quasi-identifiers is smaller than {facts.k:,} records",
        ),
        Question(
            "Can records of a person be linked?",
            ", ".join(a.name for a in linked) or "not tested: no other table was given",
            " ".join(a.sentence for a in linked) or "k-anonymity alone does not rule it out",
        ),
        Question(
            "Can something be inferred about a person?",
            "diversity and closeness of the sensitive columns, counted in the written file",
            "; ".join(inside) or "no column is named as sensitive",
        ),
    )


def _utility(prepared: Prepared, decision: Decision, made: Written) -> Utility:
    """What was lost, and by whom."""
    policy, suppressed, records_in = prepared.policy, made.suppressed, made.records_in
    what = "left out" if policy.scope == "rows" else "published with blanked quasi-identifiers"
    sentence = f"{suppressed:,} of {records_in:,} records were {what}; the policy allows {100 * policy.suppress:.3g} %."
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
        who_note=f"Groups with fewer than {policy.cells.minimum} records published or left out are not named.",
        frontier=tuple(made.frontier),
        analyses=tuple(made.analyses),
    )


def _limits(prepared: Prepared, decision: Decision) -> tuple[str, ...]:
    """What a reader must know before relying on the numbers."""
    policy, out = prepared.policy, list(LIMITS)
    if policy.unit is None:
        out.append("Each record is taken as one person. If people have several records, name the person column (unit).")
    if not policy.sensitive:
        out.append("No column is named as sensitive, so nothing is said about what a class reveals.")
    if policy.identifying:
        out.append(
            f"Published as they are although they look like identifiers, as the policy allows: {', '.join(policy.identifying)}."
        )
    if prepared.inferred:
        out.append(f"Hierarchies were guessed from the data for: {', '.join(prepared.inferred)}.")
    if decision.given:
        out.append("The k-map was counted against a population table that is not in the folder: signed, not counted again.")
    if decision.proven:
        out.append("No plan that meets the requirements loses less; that it was chosen tells a little (minimality, downcoding).")
    else:
        out.append("The plan meets the requirements but is not proven to lose least.")
    return (*out, *decision.notes)
