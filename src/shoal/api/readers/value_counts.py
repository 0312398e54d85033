"""How many values columns of a table have, for the test of source 001, and what the table itself shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shoal.api.arguments import names, opened
from shoal.errors import UsageError


def values_of(table: Any, columns: Sequence[str]) -> tuple[dict[str, int], int, dict[str, Any]]:
    """Values per column (a missing one is a value too), rows, and combinations and unique records that occur in the table.

    >>> values_of({"a": [1, 1, 2], "b": ["x", None, None]}, ["a", "b"])
    ({'a': 2, 'b': 2}, 3, {'observed': {'records': 3, 'combinations': 3, 'unique': 3, 'unique_share': 1.0}})
    """
    source = opened(table)
    asked = names(columns) or source.schema.quasi
    if not asked:
        raise UsageError("no column of the table is named.", hint="Name them: --quasi a,b.")
    for name in asked:
        source.schema.require(name, what="quasi-identifier")
    *alone, together = source.count_many([*((c,) for c in asked), asked])
    rows = together.n_records
    unique = int((together.sizes == 1).sum())
    seen = {"records": rows, "combinations": together.n_classes, "unique": unique, "unique_share": unique / rows}
    return {c: counts.n_classes for c, counts in zip(asked, alone, strict=True)}, rows, {"observed": seen}
