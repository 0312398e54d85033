"""Every column of a table held against the list of identifiers of the preset, before a plan is made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from shoal.find.safe_harbor.classes import Classed, class_of, refusal
from shoal.model.roles import Schema
from shoal.release.certificate.sentences import today
from shoal.release.gate.column_facts import ColumnReader
from shoal.release.gate.published_columns import last_year
from shoal.release.policy.build import QuasiRule
from shoal.release.policy.policy import Policy

if TYPE_CHECKING:
    from shoal.engines.table import Table

_GROUPS: dict[str, Any] = {
    "age": {"intervals": [1, 5, 10, 20], "top": 90, "bottom": 0},
    "zip": {"postcode": "US"},
    "date": {"dates": ["year"]},
}
"""Levels of a quasi-identifier of the list, where the policy gives none: the first is the finest that the list allows."""


@dataclass(frozen=True)
class OnList:
    """A column of the input: its class, why the list does not let it stay as it is, or the reason why it is none of the list."""

    classed: Classed
    why: str = ""
    reason: str = ""


def listed(policy: Policy) -> bool:
    """Whether the policy's preset is a list of identifiers."""
    return policy.preset is not None and policy.preset.checklist == "safe-harbor"


def class_columns(table: Table, policy: Policy, columns: ColumnReader | None = None) -> dict[str, OnList]:
    """Every column of a table held against the list; empty where the preset is none."""
    if not listed(policy):
        return {}
    for name in policy.none_of_the_eighteen:
        table.schema.require(name, what="column under allow.none_of_the_eighteen")
    facts = (columns or ColumnReader(table)).of(table.schema.names)
    classed = {name: class_of(one) for name, one in facts.items()}
    year = last_year(today(policy.about.get("date")), [(facts[name], one) for name, one in classed.items()])
    stated = policy.none_of_the_eighteen
    return {
        name: OnList(one, "" if name in stated else refusal(facts[name], one, year), stated.get(name, ""))
        for name, one in classed.items()
    }


def with_groups(policy: Policy, found: Mapping[str, OnList], schema: Schema) -> tuple[Policy, dict[str, str]]:
    """The policy with the list's groups as levels of quasi-identifiers that have none, and which columns got them, with why."""
    quasi, why = dict(policy.quasi), dict[str, str]()
    if policy.method != "lattice":
        return policy, why
    for name, rule in policy.quasi.items():
        one = found.get(name)
        groups = _GROUPS.get(one.classed.kind) if one is not None and one.why else None
        number = schema[name].kind in ("integer", "float", "decimal")
        fits = one is not None and {"age": number, "date": schema[name].kind in ("date", "timestamp")}.get(one.classed.kind, True)
        if rule.hierarchy is None and rule.min_level is None and groups is not None and fits:
            quasi[name] = QuasiRule(groups, rule.weight, 1, rule.max_level)
            why[name] = "the groups of the safe-harbor list, from the finest that it allows"
    return replace(policy, quasi=quasi), why
