"""Columns as they would be, or were, published: their distinct values as text, and what a preset's own rules say of them.

Takes    a written file or a published table
Returns  facts for the finder; :class:`Refused` columns under the rules of a preset
Keeps    the same file gives the same facts, whoever reads it: kinds follow from the texts alone
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from shoal.find import ColumnFacts, find_column
from shoal.find.safe_harbor import coarse as together
from shoal.find.safe_harbor.classes import Classed, class_of, refusal
from shoal.kernels.text import Pattern, canonical_text
from shoal.model.roles import Role
from shoal.release.policy.presets import Preset
from shoal.release.proof import read
from shoal.release.proof.read_statistical import value_labels

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
        return (row for batch in self.source.scan(list(names)) for row in zip(*_texts(batch, names), strict=True))


def published(source: Any, names: Sequence[str]) -> Published:
    """Facts about every column of a written file, or of a table of a database."""
    batches = read.batches(source, list(names)) if isinstance(source, Path) else source.scan(list(names))
    counted: list[Counter[str | None]] = [Counter() for _ in names]
    for batch in batches:
        for i, texts in enumerate(_texts(batch, names)):
            counted[i].update(texts)
    labels = value_labels(source) if isinstance(source, Path) else {}
    shown = [_labelled(found, labels.get(name, {})) for name, found in zip(names, counted, strict=True)]
    return Published({name: _facts(name, found) for name, found in zip(names, shown, strict=True)}, source)


def _labelled(counted: Counter[str | None], labels: Mapping[float, str]) -> Counter[str | None]:
    """Values as a reader sees them: by their labels, where a statistics file has some."""
    if not labels:
        return counted
    out: Counter[str | None] = Counter()
    for text, n in counted.items():
        number = float(text) if text is not None and _NUMBER.fullmatch(text) else None
        out[labels.get(number, text) if number is not None else text] += n
    return out


def _texts(batch: Any, names: Sequence[str]) -> list[list[str | None]]:
    return [canonical_text(batch.column(i)).to_pylist() for i in range(len(names))]


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
    return ("text", values) if any(re.match(r"0\d", v) for v in values) else ("float", values)


def last_year(date: str, columns: Iterable[tuple[ColumnFacts, Classed]]) -> int:
    """The year in which ages count: that of the release, or the last that a column of dates tells."""
    found = [int(date[:4])]
    for facts, classed in columns:
        if classed.kind in ("date", "year", "birth"):
            found += [int(y) for v in facts.values for y in _YEARS.findall(v)]
    return max(found)


@dataclass(frozen=True)
class Refused:
    """A column that a preset does not let stay, and why."""

    column: str
    why: str


def refused_by_list(found: Published, date: str, stated: Mapping[str, str]) -> tuple[dict[str, Classed], tuple[Refused, ...]]:
    """The class of every published column under the eighteen, and the columns that may not stay as they are.

    A column that a person states to be none of them is not looked at.
    """
    classed = {name: class_of(facts) for name, facts in found.columns.items() if name not in stated}
    year = last_year(date, [(found.columns[name], one) for name, one in classed.items()])
    out = [
        Refused(name, f"{one.title}; {one.evidence}; {why}")
        for name, one in classed.items()
        if (why := refusal(found.columns[name], one, year))
    ]
    for three in together.triples(classed):
        if together.told(found.rows(three)):
            out.append(Refused(three[0], f"with '{three[1]}' and '{three[2]}' it reveals an age above 89 at death"))
    return classed, tuple(out)


def refused_as_sensitive(rule: Preset, columns: Iterable[ColumnFacts]) -> tuple[Refused, ...]:
    """Insensitive columns that look sensitive, where a preset asks something of each sensitive one."""
    if not rule.each_sensitive:
        return ()
    out = []
    for facts in columns:
        found = find_column(facts)
        if found.role is Role.SENSITIVE and found.confidence >= SURE:
            out.append(Refused(facts.name, found.reason))
    return tuple(out)
