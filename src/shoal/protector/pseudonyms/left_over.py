"""Columns of a pseudonymised table that still tell who people are: names, mail addresses, birth dates.

Pseudonyms replace the columns that were named; whoever forgets one publishes it. The first rows are looked at as ``shoal
inspect`` looks at a table, and what is found is told with the output.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from shoal.find.columns import find_columns
from shoal.find.finding import ColumnFacts
from shoal.model.roles import Role

ROWS = 10_000
MOST_VALUES = 2_000


def left_over(table: Any, replaced: Sequence[str], kinds: dict[str, str]) -> dict[str, list[str]]:
    """Names of columns that name people by themselves (``direct``) or together with others (``quasi``).

    ``table`` holds the first rows as an Arrow table, ``kinds`` the kind of each column.
    """
    first = table.slice(0, ROWS)
    facts = [_facts(first.column(name), name, kinds.get(name, "text")) for name in first.column_names if name not in replaced]
    found = find_columns([f for f in facts if f.distinct])
    direct = [f.name for f in found if f.role is Role.DIRECT]
    quasi = [f.name for f in found if f.role is Role.QUASI]
    return {"direct": direct, "quasi": quasi}


def _facts(column: Any, name: str, kind: str) -> ColumnFacts:
    from shoal.kernels.text import canonical_text

    text = canonical_text(column)
    counted = text.drop_null().value_counts()
    values, counts = counted.field("values").to_pylist(), np.asarray(counted.field("counts"))
    order = sorted(range(len(values)), key=values.__getitem__)
    picked = [order[i] for i in np.linspace(0, len(order) - 1, min(len(order), MOST_VALUES)).astype(int)] if order else []
    return ColumnFacts(
        name, kind, [values[i] for i in picked], counts[picked].astype(np.int64), len(text), text.null_count, len(values)
    )


def sentence(found: dict[str, list[str]]) -> str:
    """A warning in words, or nothing.

    >>> sentence({"direct": ["name"], "quasi": ["born", "zip"]})
    'Columns that still name people: name (leave them out with --drop). Columns that may point to them together: born, zip.'
    >>> sentence({"direct": [], "quasi": []})
    ''
    """
    words = []
    if found["direct"]:
        words.append(f"Columns that still name people: {', '.join(found['direct'])} (leave them out with --drop).")
    if found["quasi"]:
        words.append(f"Columns that may point to them together: {', '.join(found['quasi'])}.")
    return " ".join(words)
