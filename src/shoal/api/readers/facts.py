"""What is counted and known of the columns of a table before they are judged."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.engines.table import Table
from shoal.find.finding import ColumnFacts, measured_scale
from shoal.kernels.arrow import from_numpy, to_numpy
from shoal.kernels.text import canonical_text
from shoal.model.display import Progress
from shoal.model.roles import Column

SMALL = 5_000_000
"""Cells up to which a table is read whole and counted in memory: quick for thousands of columns."""

CELLS_AT_ONCE = 50_000_000
"""Cells whose values are counted in one reading of the table."""

MOST_VALUES = 10_000
"""Distinct values of a column that are looked at for patterns, evenly spread over all."""


def table_facts(table: Table, records: int, progress: Progress | None = None, whole: Any = None) -> list[ColumnFacts]:
    """What is counted and known of every column; the table is read once, or once for as many columns as fit.

    ``whole`` are its rows, where they are in memory already.
    """
    columns = table.schema.columns
    if records * len(columns) <= SMALL:
        whole = pa.Table.from_batches(list(table.scan())) if whole is None else whole
        return [facts_of(c, *_counted(whole.column(i)), records) for i, c in enumerate(columns)]
    at_once = max(1, CELLS_AT_ONCE // max(records, 1))
    facts: list[ColumnFacts] = []
    for start in range(0, len(columns), at_once):
        some = columns[start : start + at_once]
        if progress is not None:
            progress(start / (len(columns) + 1), f"looking at {some[0].name}")
        for column, counts in zip(some, table.count_many([[c.name] for c in some]), strict=True):
            values, sizes = counts.categories[0], np.asarray(counts.sizes)
            missing = int(sizes[0]) if len(sizes) and counts.codes[0][0] == -1 else 0
            facts.append(facts_of(column, values, sizes[1:] if missing else sizes, missing, records))
    return facts


def _counted(column: Any) -> tuple[Any, Any, int]:
    """The distinct values in order, how many rows hold each, and rows without one."""
    whole = column.combine_chunks()
    found = (whole.drop_null() if whole.null_count else whole).value_counts()
    values, sizes = found.field("values"), to_numpy(found.field("counts"))
    order = pc.sort_indices(values)
    return values.take(order), sizes[to_numpy(order)], int(column.null_count)


def facts_of(column: Column, values: Any, sizes: Any, missing: int, records: int) -> ColumnFacts:
    if (distinct := len(values)) > MOST_VALUES:
        picked = np.linspace(0, distinct - 1, MOST_VALUES).astype(np.int64)
        looked, sizes = values.take(from_numpy(picked)), sizes[picked]
    else:
        looked = values
    labels: dict[str, str] = {}
    if column.labels:
        labels = dict(zip(canonical_text(pa.array(list(column.labels))).to_pylist(), column.labels.values(), strict=True))
    return ColumnFacts(
        column.name,
        column.kind,
        canonical_text(looked).to_pylist(),
        sizes,
        records,
        missing,
        distinct,
        column.note,
        labels,
        _declared_missing(column, values),
        column.order,
        measured_scale(column),
        column.scale,
    )


def _declared_missing(column: Column, values: Any) -> tuple[str, ...]:
    """Values of the column that the file declares missing, single or in ranges, as text."""
    if not column.user_missing:
        return ()
    held = zip(values.to_pylist(), canonical_text(values).to_pylist(), strict=True)
    return tuple(text for value, text in held if any(_declared(value, said) for said in column.user_missing))


def _declared(value: Any, said: object) -> bool:
    if isinstance(said, tuple):
        low, high = said
        return bool(low <= value <= high)
    return bool(value == said)
