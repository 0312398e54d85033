"""The gate: does a table, as it is, meet a policy? Counts only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from shoal.measures.classes.closeness import need_order
from shoal.model.counts.classes import ClassCounts
from shoal.model.display import Progress
from shoal.model.requirement import PopulationK, Requirement, Verdict
from shoal.model.roles import DECIDED, Role, Schema
from shoal.release.gate.column_facts import ColumnReader, found_roles, known_as_it_is, linkage_as_it_is, role_evidence
from shoal.release.gate.count_facts import (
    check_sample,
    count_population,
    estimates,
    facts_of_counts,
    population_counts,
    sensitive_trees,
)
from shoal.release.gate.identifying import check_insensitive
from shoal.release.gate.result import CheckResult, file_of
from shoal.release.gate.safe_harbor import class_columns
from shoal.release.policy.policy import Policy
from shoal.release.policy.presets import floor_of
from shoal.release.proof.facts import Facts, Given, judge, recursive_levels


@dataclass(frozen=True, repr=False, kw_only=True)
class ClassCheckResult(CheckResult):
    """What the gate found; ``below`` is how many classes, and how many members of them, are smaller than asked."""

    facts: Facts
    below: tuple[int, int]

    def to_json(self) -> dict[str, Any]:
        return {
            "ok": self.met,
            "table": self.table,
            "k": self.facts.k,
            "records": self.facts.records,
            "classes": self.facts.classes,
            "classes_below": self.below[0],
            "members_below": self.below[1],
            "requirements": [f.to_json() for f in self.findings],
        }

    @property
    def counted(self) -> str:
        below = f"{self.below[0]:,} classes with {self.below[1]:,} members are smaller than asked."
        return f"{self.facts.records:,} records in {self.facts.classes:,} classes; {below}"

    @property
    def closing(self) -> str:
        return "The gate is open." if self.met else f"{self.below[0]:,} classes with {self.below[1]:,} members are too small."


def check(table: Any, policy: Policy, *, progress: Progress | None = None) -> ClassCheckResult:
    """Count a table where it is and judge it; nothing is written.

    Direct identifiers that the policy names must be gone: each one still there is a failed requirement; so is each column that
    no line names if the policy says ``rest: drop``. A column without a role fails too, unless its name or values show that it is
    insensitive or sensitive; with a preset, which is about the whole table, every column needs a role.
    """
    table = table.described(scale=policy.scale, order=policy.order, missing_values=policy.missing_values)
    named = {c for c in (*policy.direct, *table.schema.direct) if c in table.schema}
    policy, _source = count_population(policy.completed(table.schema))
    schema = _apply(policy, table.schema)
    if table.only_aggregates:  # values may be read of the columns that the policy names
        table = table.with_roles(**{r.value: [n for n, role in schema.roles.items() if role is r] for r in DECIDED})
    check_insensitive(ColumnReader(table), policy)
    counts = table.count(
        schema.quasi, sensitive=tuple(policy.sensitive), unit=policy.unit, weight=policy.weight, progress=progress
    )
    for r in policy.requirements:
        if r.needs_order and r.sensitive is not None:
            need_order(counts, r.sensitive)
    levels, labels = recursive_levels(policy.requirements), {c: table.schema[c].labels for c in policy.sensitive}
    facts = facts_of_counts(counts, levels, sensitive_trees(policy, counts), labels=labels)
    extra: list[Verdict] = [NoDirect().judged(len(named))] if set(policy.direct) - (set(schema.direct) - named) else []
    if policy.rest == "drop":
        extra.append(NoneDropped().judged(len(schema.direct) - len(named)))
    extra += _find_undecided(table, schema)
    small = counts.sizes[counts.sizes < policy.smallest_class]
    for r in policy.requirements:
        if isinstance(r, PopulationK):
            check_sample(policy, r, facts.people or facts.records)
    given = {**estimates(policy.requirements, facts), **_against_population(policy, counts)}
    given |= {**linkage_as_it_is(table, policy), **known_as_it_is(table, policy)}
    judged = judge(policy.requirements, facts, given)
    columns = _columns(table, policy)
    findings = (*judged, *extra, *columns, *_preset(policy, (*judged, *columns)))
    below = (len(small), int(small.sum()))
    return ClassCheckResult(table=table.name, facts=facts, findings=findings, below=below, file=file_of(table))


def _find_undecided(table: Any, schema: Schema) -> list[Verdict]:
    """Columns that neither the policy nor the evidence decides about, each with what is known of it."""
    left = [c for c in schema.unclassified if c not in (schema.unit, schema.weight)]
    if table.only_aggregates or not left:
        return [Decided(c, "not looked at: only aggregates are read").judged(1) for c in left]
    undecided = found_roles(ColumnReader(table), left)
    open_ = {n: f for n, f in undecided.items() if f.role not in (Role.INSENSITIVE, Role.SENSITIVE)}
    return [Decided(n, why).judged(1) for n, why in role_evidence(open_).items()]


def _against_population(policy: Policy, counts: ClassCounts) -> Given:
    from shoal.measures.classes.risk import matched_sizes

    everybody = population_counts(policy, counts.columns)
    if everybody is None:
        return {}
    own, people, _ = matched_sizes(replace(counts, unit=None), everybody)
    return {("k_map",): int(people[own > 0].min())}


def _preset(policy: Policy, judged: Sequence[Verdict]) -> list[Verdict]:
    """Whether the table may be called by the name of the preset: every part of it asked for and met."""
    rule = policy.preset
    if rule is None:
        return []
    floor = {r.place for r in floor_of(rule, policy.sensitive)}
    parts = [v for v in judged if v.requirement.place in floor or isinstance(v.requirement, StaysOffTheList)]
    return [PresetHolds(rule.name).judged(sum(1 for v in parts if not v.met))]


def _columns(table: Any, policy: Policy) -> list[Verdict]:
    """Columns of the table that the list of the preset does not let stay as they are; direct ones are named already."""
    classed = class_columns(table, policy)
    return [
        StaysOffTheList(name, f"{one.classed.title}; {one.classed.evidence}; {one.why}").judged(1)
        for name, one in classed.items()
        if one.why and name not in policy.direct
    ]


def _apply(policy: Policy, schema: Schema) -> Schema:
    there = {c: m for c, m in policy.direct.items() if c in schema.names}
    return replace(policy, direct=there).apply(schema, all_roles=policy.preset is not None)


@dataclass(frozen=True)
class NoFinding(Requirement):
    """Nothing is found that the gate looks for, ``about`` a column or a preset; a policy does not ask for it in words."""

    about: str = ""
    why: str = ""

    @property
    def place(self) -> tuple[str, ...]:
        return tuple(part for part in (self.kind, self.about) if part)

    @property
    def limit(self) -> int:
        return 0

    def holds(self, value: float) -> bool:
        return value == 0


class PresetHolds(NoFinding):
    """No part of the preset that the policy names is missed."""

    kind = "preset"

    def sentence(self) -> str:
        return f"no part of preset '{self.about}' is missed"


class Decided(NoFinding):
    """A column has a role."""

    kind = "undecided"

    def sentence(self) -> str:
        ways = "name it under roles, or write rest: quasi or rest: drop"
        return f"column '{self.about}' is undecided ({self.why}); {ways}"


class NoDirect(NoFinding):
    """No direct identifier is left."""

    kind = "direct"

    def sentence(self) -> str:
        return "no direct identifier is left in the table"


class NoneDropped(NoFinding):
    """No column is left that the policy drops with ``rest: drop``."""

    kind = "rest"

    def sentence(self) -> str:
        return "no column is left that 'rest: drop' leaves out"


class StaysOffTheList(NoFinding):
    """A column that the list of the preset does not let stay as it is."""

    kind = "identifiers"

    def sentence(self) -> str:
        return f"column '{self.about}' keeps to the list of the preset ({self.why})"
