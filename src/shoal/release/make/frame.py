"""The released table in memory: the rows that were counted, in the types that the frame had before where its values were kept.

Categories are rebuilt from the released values: those of the original frame would show values that were hidden.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from shoal.model.plan import Plan
from shoal.model.roles import Schema
from shoal.steps.texts import Keep
from shoal.steps.value_map import MapValues


@dataclass(frozen=True)
class FrameTypes:
    """The types of a frame's columns: Arrow's, and pandas' own (Int16, boolean, string …). Never a value, so no categories."""

    arrow: Mapping[str, Any] = field(default_factory=dict)
    pandas: Mapping[str, Any] = field(default_factory=dict)


def types_of(source: Any, arrow: Any) -> FrameTypes:
    """The types of ``source``, which is ``arrow`` as an Arrow table.

    >>> types_of(None, pa.table({"a": pa.array([1], pa.int8())})).arrow
    {'a': DataType(int8)}
    """
    own = {}
    if type(source).__module__.partition(".")[0] == "pandas" and hasattr(source, "columns"):
        for position, label in enumerate(source.columns):
            dtype = source.dtypes.iloc[position]
            if not hasattr(dtype, "categories") and not hasattr(dtype, "char"):  # numpy's types come back by themselves
                own[str(label)] = dtype
    return FrameTypes(dict(zip(arrow.schema.names, arrow.schema.types, strict=True)), own)


def read_frame(data: Path, plan: Plan, schema: Schema, types: FrameTypes) -> Any:
    """The written Parquet file as an Arrow table, each column in its type before where that holds every value."""
    import pyarrow.parquet as pq  # brings file systems and TLS: text files need neither

    table = pq.read_table(data)
    for position, name in enumerate(table.column_names):
        values = table.column(position)
        if name in kept_columns(plan):
            values = _as_before(values, types.arrow.get(name))
        order = _order(plan, schema, name)
        if order:
            values = _ordered(values, order)
        table = table.set_column(position, name, values)
    return table.replace_schema_metadata(None)


def kept_columns(plan: Plan) -> frozenset[str]:
    """Columns whose values are published as they were."""
    changed = {s.column for s in plan.steps if not isinstance(s, Keep)}
    return frozenset(s.column for s in plan.steps if s.column not in changed)


def as_pandas(table: Any, plan: Plan, types: FrameTypes) -> Any:
    """A pandas frame: whole numbers and truth values with gaps stay what they are instead of becoming floats and objects."""
    import pandas as pd

    nullable = {
        **{getattr(pa, n.lower())(): getattr(pd, f"{n}Dtype")() for n in ("Int8", "Int16", "Int32", "Int64")},
        **{getattr(pa, n.lower())(): getattr(pd, f"{n}Dtype")() for n in ("UInt8", "UInt16", "UInt32", "UInt64")},
        pa.bool_(): pd.BooleanDtype(),
    }
    gaps = {f.name for f, values in zip(table.schema, table.columns, strict=True) if values.null_count and f.type in nullable}
    frame = table.drop_columns(list(gaps)).to_pandas()
    for name in (n for n in table.column_names if n in gaps):
        column = table.select([name]).to_pandas(types_mapper=nullable.get)
        frame[name] = column[name]
    frame = frame[table.column_names]
    for name in kept_columns(plan) & set(types.pandas) & set(table.column_names):
        frame[name] = frame[name].astype(types.pandas[name])
    return frame


def _as_before(values: Any, wanted: Any) -> Any:
    """The column in the type wanted; as it is where that type would change a value."""
    if wanted is None or values.type == wanted:
        return values
    try:
        if pa.types.is_dictionary(wanted):
            return _categories(values.cast(wanted.value_type))
        return values.cast(wanted)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return values


def _categories(values: Any) -> Any:
    """A dictionary of the values that occur, in their own order."""
    held = values.unique().drop_null()
    categories = held.take(pc.sort_indices(held))
    return pa.DictionaryArray.from_arrays(_positions(values, categories), categories)


def _positions(values: Any, categories: Any) -> Any:
    places = pc.index_in(values, categories)
    return places.combine_chunks() if isinstance(places, pa.ChunkedArray) else places


def _order(plan: Plan, schema: Schema, name: str) -> Sequence[str]:
    """The released values of an ordered column from low to high; empty where groups overlap or the column has no order."""
    before = schema[name].order if name in schema.names else ()
    steps = [s for s in plan.steps if s.column == name]
    if not before or len(steps) != 1:
        return ()
    if isinstance(steps[0], Keep):
        return before
    if not isinstance(steps[0], MapValues) or not set(before) <= set(steps[0].keys):
        return ()
    group = dict(zip(steps[0].keys, steps[0].targets, strict=True))
    runs = [group[v] for i, v in enumerate(before) if i == 0 or group[v] != group[before[i - 1]]]
    return tuple(steps[0].labels[t] for t in runs) if len(set(runs)) == len(runs) else ()


def _ordered(values: Any, order: Sequence[str]) -> Any:
    """An ordered dictionary of the values that occur; unordered values are left as they are where one has no place."""
    texts = values.cast(pa.string())
    held = set(texts.unique().drop_null().to_pylist())
    if not held <= set(order):
        return values
    categories = pa.array([v for v in order if v in held], pa.string())
    return pa.DictionaryArray.from_arrays(_positions(texts, categories), categories, ordered=True)
