"""Columns of any table that are published as they are although quasi-identifiers of this or another table tell them.

Takes    the tables, and the levels and people that were chosen
Returns  nothing; the release is refused if what such columns add leaves somebody who stays among fewer than k people
Keeps    as for one table (:mod:`shoal.release.make.dependent_columns`); rows of different tables are compared by their key
Cost     some rows of each table are compared, each with the first row of the same person in every other table
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from shoal.attacks.joint import MOST_VALUES
from shoal.errors import VerificationError
from shoal.kernels.text import canonical_text
from shoal.model.counts.classes import CodeArray
from shoal.release.linked.gather import Family, Part
from shoal.release.linked.search import Chosen, fewest
from shoal.release.make.dependent_columns import NAME, READ, Dependence, dependences, words
from shoal.release.plan.column_steps import other_steps
from shoal.steps import Keep

HINT = "Name these columns under roles.quasi, so that they are made as coarse, or under roles.direct. If nobody can work the one "
HINT += "out from the other, name them under 'identifying' of their table."


def check_dependent(family: Family, chosen: Chosen) -> None:
    """Refuse tables of which published columns tell more of people than the levels do."""
    kept = [_kept(part) for part in family.parts]
    told: dict[Dependence, dict[str, int] | None] = {}
    for i in range(len(family.parts)) if any(kept) else ():
        table, kinds = _joined(family, kept, i)
        quasi, others = ([n for n in table.column_names if (n in kinds[which])] for which in (0, 1))
        for f in dependences(table, quasi, others, kinds[0] | kinds[1]):
            told.setdefault(f, _values_told(table, f))
    if not told:
        return
    parts = tuple(
        replace(p, further=tuple(_codes(p, f, values) for f, values in told.items() if _is_of(p, f))) for p in family.parts
    )
    policy = family.policy
    sizes = fewest(replace(family, parts=parts), chosen.levels, chosen.staying, policy.known)[chosen.staying]
    few = int((sizes < policy.k).sum())
    if few:
        raise VerificationError(
            f"an attack does better than the release would claim ({NAME}): {'; '.join(dict.fromkeys(words(*f) for f in told))}. "
            f"With what they tell, {few:,} of {len(sizes):,} people are among fewer than {policy.k:,}; the smallest group has "
            f"{int(sizes.min()):,}. Nothing was released.",
            hint=HINT,
        )


def _kept(part: Part) -> list[str]:
    """The columns of a table that are published as they are, besides sensitive ones with few values."""
    policy, reader = part.prepared.policy, part.prepared.reader
    changed = {s.column for s in other_steps(part.prepared) if not isinstance(s, Keep)}
    learnt = {n for n in policy.sensitive if reader[n].distinct <= MOST_VALUES}
    return [n for n in (*policy.sensitive, *policy.insensitive) if n not in {*changed, *learnt, *policy.identifying}]


def _joined(family: Family, kept: Sequence[list[str]], i: int) -> tuple[Any, tuple[dict[str, str], dict[str, str]]]:
    """Some rows of a table, each with the first row of its person in the others; and the kinds of both sorts of columns."""
    columns: dict[str, Any] = {}
    kinds: tuple[dict[str, str], dict[str, str]] = ({}, {})
    keys: list[str | None] = []
    for j in (i, *(j for j in range(len(family.parts)) if j != i)):
        part = family.parts[j]
        names = [part.linked.key, *part.prepared.quasi, *kept[j]]
        key, *values = part.table.first_rows(names, READ)
        texts = canonical_text(key).to_pylist()
        if j == i:
            keys = texts
        else:
            first = {text: row for row, text in reversed(list(enumerate(texts)))}
            places = pa.array([first.get(text) for text in keys], pa.int64())
            values = [v.take(places) for v in values]
        for name, cells in zip(names[1:], values, strict=True):
            columns[_name(part, name)] = cells
            kinds[name in kept[j]][_name(part, name)] = part.prepared.schema[name].kind
    return pa.table(columns), kinds


def _name(part: Part, column: str) -> str:
    return f"{part.linked.name}.{column}"


def _is_of(part: Part, dependence: Dependence) -> bool:
    return dependence[0] in {_name(part, q) for q in part.prepared.quasi}


def _values_told(table: Any, dependence: Dependence) -> dict[str, int] | None:
    """For each value of a quasi-identifier, as text, the number of the value that follows from it; None if the value is known."""
    x, names, forward = dependence
    if not forward:
        return None
    numbers: dict[str | None, int] = {}
    seen: dict[str, Counter[int]] = {}
    for known, text in zip(canonical_text(table[x]).to_pylist(), canonical_text(table[names[0]]).to_pylist(), strict=True):
        if known is not None and text is not None:
            seen.setdefault(known, Counter())[numbers.setdefault(text, len(numbers))] += 1
    return {known: counts.most_common(1)[0][0] for known, counts in seen.items()}


def _codes(part: Part, dependence: Dependence, told: dict[str, int] | None) -> CodeArray:
    """For each pair of a table, what is known of its quasi-identifier; a value that was not seen is known itself."""
    at = part.pairs.columns.index(dependence[0].removeprefix(f"{part.linked.name}."))
    own, codes = np.arange(len(part.pairs.categories[at]) + 1), part.pairs.codes[at]
    if told is not None:
        texts = canonical_text(part.pairs.categories[at]).to_pylist()
        own[:-1] = [len(own) + told[t] if t in told else i for i, t in enumerate(texts)]
    own[-1] = -1
    return own[codes].astype(np.int32)
