"""Tables of counts: each row stands for as many people as its count says. The same classes as of the rows written out.

Takes    columns, sensitive columns, and the column of whole numbers that says how many people a row stands for
Returns  ClassCounts in people; a row of nobody is not there
Refuses  counts that are missing, negative or not whole
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.engines.count.by_codes import in_order
from shoal.engines.table import Table
from shoal.errors import DataError, EmptyTableError, RoleError
from shoal.kernels.arrow import ArrowValues, from_numpy
from shoal.kernels.group import group_codes, sum_by
from shoal.model.counts.classes import ClassCounts, SensitiveCounts
from shoal.model.display import Progress

MOST_PEOPLE = 2**53
"""Sums of counts beyond this are not exact."""


def check_counts(table: Table, count: str, besides: Sequence[str] = ()) -> str:
    """The column of counts, if every row has a whole number of at least 0 in it and it has no other role."""
    kind = table.schema[table.schema.require(count, what="count")].kind
    if kind not in ("integer", "decimal", "float"):
        raise RoleError(f"column '{count}' must hold counts of people; it holds {kind}.", hint="Name a column of whole numbers.")
    if count in besides:
        raise RoleError(f"column '{count}' says how many people a row stands for.", hint="Leave it out of the other columns.")
    if table.schema.unit is not None:
        raise RoleError("counts are of tables without a column that names people.", hint="Leave the unit or the counts out.")
    values, rows = table.values(count)
    numbers = np.array([np.nan if v is None else float(v) for v in values.to_pylist()])
    wrong = ~np.isfinite(numbers) | (numbers < 0) | (numbers != np.floor(numbers))
    if wrong.any():
        bad = int(np.asarray(rows)[wrong].sum())
        hint = "A count is a whole number of people of at least 0. Use --weight for sampling weights."
        raise DataError(f"column '{count}' is missing, negative or not whole in {bad:,} row{'s' if bad != 1 else ''}.", hint=hint)
    if float(numbers @ np.asarray(rows, dtype=np.float64)) >= MOST_PEOPLE:
        raise DataError(f"the counts in column '{count}' are too large to be added up exactly.", hint="Check the column.")
    return count


def count_people(
    table: Table,
    columns: Sequence[str],
    count: str,
    *,
    sensitive: Sequence[str] = (),
    memory_budget: int | None = None,
    progress: Progress | None = None,
) -> ClassCounts:
    """Classes of people over some columns, with the sensitive values inside each."""
    wide = table.count((*columns, *sensitive), weight=count, memory_budget=memory_budget, progress=progress)
    people = np.zeros(0, np.int64) if wide.weights is None else np.rint(wide.weights).astype(np.int64)
    here = people > 0
    if not here.any():
        raise EmptyTableError("the table counts nobody.", hint="Check the column of counts.")
    packed = [_drop_unused(codes[here], values) for codes, values in zip(wide.codes, wide.categories, strict=True)]
    own = packed[: len(columns)]
    grouping = group_codes([codes for codes, _ in own], n_rows=int(here.sum()))  # in the order of the classes
    inside = {}
    for name, (codes, values) in zip(sensitive, packed[len(columns) :], strict=True):
        pairs = group_codes([grouping.ids.astype(np.int32), codes])
        each, classes, value = sum_by(pairs.ids, people[here], pairs.n), grouping.ids[pairs.first], codes[pairs.first]
        places = np.lexsort((value, classes))
        inside[name] = SensitiveCounts(name, classes[places], value[places], each[places], values)
    counts = ClassCounts(
        sum_by(grouping.ids, people[here], grouping.n),
        columns=tuple(columns),
        codes=[codes[grouping.first] for codes, _ in own],
        categories=tuple(values for _, values in own),
        sensitive=inside,
    )
    return in_order(counts, {c: order for c in sensitive if (order := table.schema[c].order)})


def _drop_unused(codes: npt.NDArray[Any], values: ArrowValues) -> tuple[npt.NDArray[np.int32], Any]:
    """Codes and values without the values that nobody has."""
    used = np.unique(codes[codes >= 0])
    place = np.full(len(values) + 1, -1, np.int32)
    place[used] = np.arange(len(used), dtype=np.int32)
    return place[codes], values.take(from_numpy(used.astype(np.int64)))
