"""The classes of a table as codes in the order of their values, as a fitted population needs them."""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.api.arguments import Names, Source, names, opened
from shoal.engines.table import Table
from shoal.errors import UsageError
from shoal.model.counts.classes import ClassCounts, IntArray


def counted(table: Source, columns: Names | None, unit: str | None) -> tuple[Table, ClassCounts]:
    """The opened table and the classes of its quasi-identifiers; people where a unit is named."""
    source = opened(table)
    asked = names(columns) or source.schema.quasi
    if not asked:
        raise UsageError("no column of the table is named.", hint="Name them: --quasi a,b.")
    for name in asked:
        source.schema.require(name, what="quasi-identifier")
    if len(set(asked)) != len(asked):
        raise UsageError("a column is named twice.", hint="Name each column once.")
    person = unit or source.schema.unit
    if person is not None:
        source.schema.require(person, what="unit")
    counts = source.count(asked, unit=person)
    if not counts.adds_up:
        raise UsageError("people have rows in several classes.", hint="Give one row per person.")
    return source, counts


def ordered_codes(counts: ClassCounts) -> list[IntArray]:
    """For each column a code per class: numbers and dates by their order, texts from common to rare; a missing value is -1."""
    return [_ordered(counts, j) for j in range(len(counts.columns))]


def _ordered(counts: ClassCounts, j: int) -> IntArray:
    codes = np.asarray(counts.codes[j], dtype=np.int64)
    rank = _rank(counts.categories[j], np.bincount(codes[codes >= 0], weights=counts.sizes[codes >= 0]))
    out: IntArray = np.where(codes >= 0, rank[np.maximum(codes, 0)], -1)
    return out


def _rank(values: Any, people: np.ndarray[Any, Any]) -> IntArray:
    import pyarrow as pa
    import pyarrow.compute as pc

    size = max(len(values), 1)
    out = np.zeros(size, dtype=np.int64)
    kind = values.type
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind) or pa.types.is_temporal(kind):
        order = np.asarray(pc.sort_indices(values))
    else:
        weight = np.zeros(len(values))
        weight[: len(people)] = people
        texts = np.array(
            pc.cast(values, pa.string()).to_pylist() if pa.types.is_string(kind) else list(map(str, values.to_pylist()))
        )
        order = np.lexsort((texts, -weight)) if len(texts) else np.zeros(0, dtype=np.int64)
    out[order] = np.arange(len(order))
    return out
