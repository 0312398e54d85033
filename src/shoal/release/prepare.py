"""From a table and a policy to what a search needs: roles, base classes, rules, hierarchies, requirements."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.errors import EmptyTableError, InternalError, PolicyError
from shoal.model.counts import ClassCounts
from shoal.model.requirement import (
    AverageRisk,
    DistinctDiversity,
    EntropyDiversity,
    K,
    RecursiveDiversity,
    Requirement,
    TCloseness,
)
from shoal.model.roles import Schema
from shoal.release.identifying import check_identifying
from shoal.release.policy import Policy, QuasiRule

if TYPE_CHECKING:
    from shoal.engines.table import Table
    from shoal.hierarchies.rule import Rule
    from shoal.model.hierarchy import Hierarchy

Progress = Callable[[float, str], None]


def silent(done: float, what: str) -> None:
    """Progress that nobody watches."""


@dataclass(frozen=True, eq=False)
class Prepared:
    """A table counted once, and everything that follows from policy and counts before a search.

    ``by_record`` holds the same base classes counted by records, where people are the unit and something is asked of the
    sensitive values: both counts must then hold.
    """

    table: Table
    schema: Schema
    policy: Policy
    base: ClassCounts
    rules: Mapping[str, Rule]
    hierarchies: Mapping[str, Hierarchy]
    by_record: ClassCounts | None = None
    inferred: Mapping[str, str] = field(default_factory=dict)

    @property
    def quasi(self) -> tuple[str, ...]:
        return self.base.columns


def completed(policy: Policy, schema: Schema) -> Policy:
    """The policy with the roles that the table was opened with, where the policy says nothing about a column."""
    said = {*policy.quasi, *policy.direct, *policy.sensitive, *policy.insensitive}
    new = [c for c in schema.roles if c not in said]
    if not new and (policy.unit or not schema.unit) and (policy.weight or not schema.weight):
        return policy
    return replace(
        policy,
        quasi={**policy.quasi, **{c: QuasiRule() for c in schema.quasi if c in new}},
        direct={**policy.direct, **{c: "drop" for c in schema.direct if c in new}},
        sensitive={**policy.sensitive, **{c: None for c in schema.sensitive if c in new}},
        insensitive=(*policy.insensitive, *(c for c in schema.insensitive if c in new)),
        unit=policy.unit or schema.unit,
        weight=policy.weight or schema.weight,
    )


def requirements(policy: Policy, tightened: Mapping[str, float] | None = None, k: int | None = None) -> list[Requirement]:
    """The policy's requirements in the words of the search; ``tightened`` holds stricter limits, by name of the requirement."""
    tight = tightened or {}
    out: list[Requirement] = []
    least = max(policy.smallest_class, k or 0)
    if least >= 2:
        out.append(K(least))
    if policy.average_risk is not None:
        out.append(AverageRisk(policy.average_risk))
    for column, asked in policy.diversity.items():
        if asked.distinct is not None and asked.distinct >= 2:
            out.append(DistinctDiversity(column, asked.distinct))
        if asked.entropy is not None and asked.entropy > 1:
            out.append(EntropyDiversity(column, tight.get(f"diversity.{column}.entropy", asked.entropy)))
        if asked.recursive is not None and asked.recursive[1] >= 2:
            c, level = asked.recursive
            out.append(RecursiveDiversity(column, tight.get(f"diversity.{column}.recursive", c), level))
    for column, close in policy.closeness.items():
        if close.distance == "hierarchical":
            raise PolicyError(
                f"closeness of '{column}' asks for the hierarchical distance, which cannot be re-counted from a file yet.",
                hint="Use distance: equal; it is never smaller, so it asks for at least as much.",
            )
        out.append(TCloseness(column, tight.get(f"closeness.{column}.t", close.t), close.distance))
    return out


def prepare(table: Table, policy: Policy, *, progress: Progress = silent) -> Prepared:
    """Count the base classes and build the hierarchies."""
    policy = completed(policy, table.schema)
    schema = policy.apply(table.schema)
    progress(0.02, "counting the classes")
    quasi = tuple(policy.quasi)
    base = table.count(quasi, sensitive=tuple(policy.sensitive), unit=policy.unit, weight=policy.weight)
    if base.n_records == 0:
        raise EmptyTableError("the table has no rows.", hint="Check the file or the filter.")
    progress(0.15, "looking at the columns that stay as they are")
    check_identifying(table, policy)
    progress(0.2, "building the hierarchies")
    rules, hierarchies, inferred = {}, {}, {}
    for j, name in enumerate(quasi):
        rule, found, why = _hierarchy(policy, base, schema, j)
        rules[name], hierarchies[name] = rule, found
        if why:
            inferred[name] = why
    return Prepared(table, schema, policy, base, rules, hierarchies, _by_record(table, policy, base), inferred)


def _by_record(table: Table, policy: Policy, base: ClassCounts) -> ClassCounts | None:
    """The base classes with records, not people, counted inside them."""
    if policy.unit is None or not (policy.diversity or policy.closeness):
        return None
    bare = type(table)(table._engine, table._relation, replace(table.schema, unit=None), name=table.name)
    counted = bare.count(base.columns, sensitive=tuple(policy.sensitive), weight=policy.weight)
    if any(not np.array_equal(a, b) for a, b in zip(counted.codes, base.codes, strict=True)):
        raise InternalError("the base classes counted by records differ from those counted by people.")
    return counted


def _hierarchy(policy: Policy, base: ClassCounts, schema: Schema, j: int) -> tuple[Rule, Hierarchy, str]:
    """The fitted rule of a column, its levels over the values at hand and, where it was guessed, why."""
    from shoal.hierarchies import from_policy, infer

    name = base.columns[j]
    values, records = base.categories[j], base.sizes if base.records is None else base.records
    present = base.codes[j] >= 0
    counts = np.bincount(base.codes[j][present], weights=records[present], minlength=len(values)).astype(np.int64)
    asked: Any = policy.quasi[name].hierarchy
    if asked is None:
        rule = infer(schema[name], values, counts, k=max(policy.smallest_class, policy.cells.minimum))
        return rule, rule.over(name, values, counts), rule.why
    rule = from_policy(asked, policy.folder or ".").fit(name, values, counts)
    return rule, rule.over(name, values, counts), ""
