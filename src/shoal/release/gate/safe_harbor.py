"""Every column of a table held against the list of identifiers of the preset, before a plan is made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.errors import PolicyError
from shoal.find import ColumnFacts, find_column
from shoal.find.safe_harbor import coarse
from shoal.find.safe_harbor.classes import Classed, class_of, refusal
from shoal.kernels.text import Pattern, canonical_text
from shoal.model.roles import Role, Schema
from shoal.release.certificate.sentences import today
from shoal.release.gate.column_facts import ColumnReader
from shoal.release.policy.build import QuasiRule
from shoal.release.policy.policy import Policy
from shoal.release.policy.presets import Preset
from shoal.release.proof import read
from shoal.release.proof.formats import value_labels
from shoal.release.proof.recount import FileColumns

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


def with_groups(policy: Policy, on_list: Mapping[str, OnList], schema: Schema) -> tuple[Policy, dict[str, str]]:
    """The policy with the list's groups as levels of quasi-identifiers that have none, and which columns got them, with why."""
    quasi, why = dict(policy.quasi), dict[str, str]()
    if policy.method not in ("best", "lattice"):
        return policy, why
    for name, rule in policy.quasi.items():
        one = on_list.get(name)
        groups = _GROUPS.get(one.classed.kind) if one is not None and one.why else None
        number = schema[name].kind in ("integer", "float", "decimal")
        fits = one is not None and {"age": number, "date": schema[name].kind in ("date", "timestamp")}.get(one.classed.kind, True)
        if rule.hierarchy is None and rule.min_level is None and groups is not None and fits:
            quasi[name] = QuasiRule(groups, rule.weight, 1, rule.max_level)
            why[name] = "the groups of the safe-harbor list, from the finest that it allows"
    return replace(policy, quasi=quasi), why


SURE = 0.5
"""Confidence from which a suggestion counts as a finding."""
_WHOLE, _NUMBER = Pattern(r"-?(0|[1-9]\d*)"), Pattern(r"-?\d+(\.\d*)?([eE][-+]?\d+)?")
_YEARS = Pattern(r"(?<!\d)(1[89]\d\d|20\d\d)(?!\d)")


@dataclass(frozen=True)
class Published:
    """The columns of a release as anybody can read them; ``rows`` gives the records of some columns."""

    columns: Mapping[str, ColumnFacts]
    source: Any

    def rows(self, names: Sequence[str]) -> Iterable[Sequence[Any]]:
        if isinstance(self.source, Path):
            return read.rows(self.source, names)
        columns = range(len(names))
        texts = ([canonical_text(batch.column(i)).to_pylist() for i in columns] for batch in self.source.scan(list(names)))
        return (row for batch in texts for row in zip(*batch, strict=True))


def published(source: Any, names: Sequence[str], known: FileColumns | None = None) -> Published:
    """Facts about every column of a written file, or of a table of a database; columns that are ``known`` are not read again."""
    counted = {name: texts for name in names if known is not None and (texts := known.texts(name)) is not None}
    left = [name for name in names if name not in counted]
    batches = (read.batches(source, left) if isinstance(source, Path) else source.scan(left)) if left else ()
    counted.update({name: Counter() for name in left})
    for batch in batches:
        for i, name in enumerate(left):
            texts = canonical_text(batch.column(i)).value_counts()
            counted[name].update(dict(zip(texts.field(0).to_pylist(), texts.field(1).to_pylist(), strict=True)))
    labels = value_labels(source) if isinstance(source, Path) else {}
    return Published({name: _facts(name, _label_values(counted[name], labels.get(name, {}))) for name in names}, source)


def _label_values(counted: Counter[str | None], labels: Mapping[Any, str]) -> Counter[str | None]:
    """Values as a reader sees them: by their labels, where a statistics file has some."""
    if not labels:
        return counted
    out: Counter[str | None] = Counter()
    for text, n in counted.items():
        number = float(text) if text is not None and _NUMBER.fullmatch(text) else None
        out[labels.get(text if number is None else number, text)] += n
    return out


def _facts(name: str, counted: Counter[str | None]) -> ColumnFacts:
    missing = counted.pop(None, 0)
    values = sorted(v for v in counted if v is not None)
    sizes = np.array([counted[v] for v in values], dtype=np.int64)
    kind, values = _kind(values)
    return ColumnFacts(name, kind, values, sizes, int(sizes.sum()) + missing, missing)


def _kind(values: list[str]) -> tuple[str, list[str]]:
    """The kind that the texts of a column have, and the texts: whole numbers written ``2020.0`` without their zero."""
    if not values or not all(map(_NUMBER.fullmatch, values)):
        return "text", values
    plain = [v.removesuffix(".0") for v in values]
    if all(map(_WHOLE.fullmatch, plain)):
        return "integer", plain
    return ("text", values) if any(v[0] == "0" and v[1:2].isdigit() for v in values) else ("float", values)


def last_year(date: str, columns: Iterable[tuple[ColumnFacts, Classed]]) -> int:
    """The year in which ages count: that of the release, or the last that a column of dates tells."""
    years = [int(date[:4])]
    for facts, classed in columns:
        if classed.kind in ("date", "year", "birth"):
            years += [int(y) for v in facts.values for y in _YEARS.findall(v)]
    return max(years)


@dataclass(frozen=True)
class Refused:
    """A column that a preset does not let stay, and why."""

    column: str
    why: str
    unknown: bool = False


def refused_by_list(
    published: Published, date: str, stated: Mapping[str, str], former: Collection[str] = ()
) -> tuple[dict[str, Classed], tuple[Refused, ...]]:
    """The class of every published column under the eighteen, and the columns that may not stay as they are.

    A column that a person states to be none of them is not looked at. ``former`` columns were signed when the list took every
    column for harmless that nothing spoke against: of them only identifiers are refused.
    """
    classed = {name: class_of(facts) for name, facts in published.columns.items() if name not in stated}
    year = last_year(date, [(published.columns[name], one) for name, one in classed.items()])
    out = [
        Refused(name, f"{one.title}; {one.evidence}; {why}", one.kind == "unknown")
        for name, one in classed.items()
        if (why := refusal(published.columns[name], one, year)) and not (one.kind == "unknown" and name in former)
    ]
    for three in coarse.triples({c: one.kind for c, one in classed.items()}):
        if coarse.reveals_age(published.rows(three)):
            out.append(Refused(three[0], f"with '{three[1]}' and '{three[2]}' it reveals an age above 89 at death"))
    return classed, tuple(out)


def refused_as_sensitive(rule: Preset, columns: Iterable[ColumnFacts]) -> tuple[Refused, ...]:
    """Insensitive columns that look sensitive, where a preset asks something of each sensitive one."""
    if not rule.each_sensitive:
        return ()
    out = []
    for facts in columns:
        finding = find_column(facts)
        if finding.role is Role.SENSITIVE and finding.confidence >= SURE:
            out.append(Refused(facts.name, finding.reason))
    return tuple(out)


def undecided(names: Sequence[str]) -> PolicyError:
    """The error for columns that nothing shows to be harmless."""
    listed = ", ".join(f"'{name}'" for name in names)
    return PolicyError(
        f"nothing shows that these columns are harmless under the safe-harbor list: {listed}. Their values are neither words nor "
        "codes that Shoal knows, nor numbers in the range of what the name says.",
        hint="Look at the values of each. Move it under roles.direct, or state why it is none of the Safe Harbor identifiers: "
        f"allow: {{none_of_the_eighteen: {{{names[0]}: the reason}}}}",
        column=names[0],
    )


def finer(name: str, why: str) -> PolicyError:
    """The error for a column that would be published in more detail than the list allows."""
    what = f"column '{name}' would be published finer than the safe-harbor list allows: {why}."
    hint = f"Give '{name}' a hierarchy with the list's groups (dates: years; ZIP: three digits; ages: 90 and over in one) and "
    hint += "a min_level, or move it under roles.direct. If it is none of the eighteen: "
    hint += f"allow: {{none_of_the_eighteen: {{{name}: the reason}}}}"
    return PolicyError(what, hint=hint, column=name)
