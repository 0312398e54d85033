"""The types that a source keeps its columns in, beyond the kinds that all engines share: published columns get them back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.engines.core.kinds import is_nested, normalize
from shoal.kernels.arrow import ArrowValues, kind_of, to_numpy
from shoal.model.roles import Column

RAW = "\x00raw"
"""Behind the name of a column that is read as text: the column in its own type."""
WHOLE = "\x01whole"
"""Behind the name of a column of nanoseconds, in a frame for DuckDB: its whole numbers. (Names are cut at a zero byte.)"""


def with_stored(columns: Sequence[Column], schema: pa.Schema) -> tuple[Column, ...]:
    """The columns with the types of an Arrow schema; a dictionary's is that of its values."""
    kinds = [_plain(f.type) for f in schema]
    return tuple(c if c.stored is kind else replace(c, stored=kind) for c, kind in zip(columns, kinds, strict=True))


def _plain(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    known = kind_of(kind) not in ("text", "other") or is_nested(kind) or pa.types.is_duration(kind)
    return kind if known else None


def fine_durations(kind: pa.DataType) -> bool:
    """Whether a type is that of durations in nanoseconds: DuckDB's intervals have microseconds."""
    return isinstance(kind, pa.DataType) and pa.types.is_duration(kind) and kind.unit == "ns"


def whole_durations(table: pa.Table) -> pa.Table:
    """The table with durations of nanoseconds as whole numbers, which :func:`restored` makes durations again."""
    for i, field in enumerate(table.schema):
        if fine_durations(field.type):
            table = table.set_column(i, field.name, table.column(i).cast(pa.int64()))
    return table


def in_kind(values: ArrowValues, column: Column) -> ArrowValues:
    """Values as they were read, or in the one type of their kind where no own type is known."""
    return values if column.stored is not None else normalize(values, column.kind)


def restored(values: ArrowValues, column: Column) -> ArrowValues:
    """Values in the type that the source keeps them in; in that of their kind where it would change one of them."""
    wanted: Any = column.stored
    if wanted is None or values.type == wanted:
        return values
    if isinstance(values, pa.ChunkedArray):
        return pa.chunked_array([restored(c, column) for c in values.chunks], None if values.num_chunks else wanted)
    try:
        if pa.types.is_timestamp(wanted):
            return _moments(values, wanted)
        if pa.types.is_duration(wanted):
            return _durations(values, wanted)
        return with_durations(values, wanted) if is_nested(wanted) else values.cast(wanted)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OverflowError):
        return values if column.kind == "text" or kind_of(values.type) != column.kind else normalize(values, column.kind)


def _moments(values: ArrowValues, wanted: pa.DataType) -> ArrowValues:
    """Moments without a zone are those of UTC, as every engine gives them."""
    if wanted.tz is None or values.type.tz is not None:
        return values.cast(wanted)
    bare = values.cast(pa.timestamp(wanted.unit))
    return bare.view(pa.int64()).view(wanted)


def _durations(values: ArrowValues, wanted: pa.DataType) -> ArrowValues:
    """From whole numbers in the unit of the type (Parquet), or from intervals of months, days and nanoseconds (DuckDB)."""
    if pa.types.is_integer(values.type):
        return values.cast(pa.int64()).view(wanted)
    if not pa.types.is_interval(values.type):
        return values.cast(wanted)
    return pa.array([None if v is None else in_unit(v, wanted.unit) for v in values.to_pylist()], pa.int64()).view(wanted)


def one_type(values: ArrowValues, column: Column) -> ArrowValues:
    """Whole numbers that may lie beyond 2⁶³ as decimals in every batch: some batches alone would fit in int64."""
    wide = column.kind == "integer" and pa.uint64() in (column.stored, column.former)
    return values.cast(pa.decimal128(38, 0)) if wide and values.type != pa.uint64() else values


def stored_or_decoded(engine: Any, values: ArrowValues, column: Column) -> ArrowValues:
    """A column of a result in the type of its source where that is known, else as the engine decodes its kind."""
    return one_type(engine.decode(values, column), column) if column.stored is None else restored(values, column)


def former_fits(values: ArrowValues, column: Column) -> bool:
    """Whether new numbers or moments can be given the type that the source kept the column in: none of them changes by it,
    but that a float32 gets the nearest of its kind."""
    wanted: Any = column.former
    if isinstance(values, pa.ChunkedArray):
        return all(former_fits(chunk, column) for chunk in values.chunks)
    try:
        typed = _moments(values, wanted) if pa.types.is_timestamp(wanted) else values.cast(wanted)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OverflowError):
        return False
    if pa.types.is_uint64(wanted) and pa.types.is_floating(values.type):  # a cast of 2⁶⁴ would give the number below it
        return not pc.any(pc.greater_equal(values, 2.0**64)).as_py()
    if pa.types.is_floating(wanted):
        return not pc.any(pc.and_(pc.is_finite(values), pc.invert(pc.is_finite(typed)))).as_py()
    return not (pa.types.is_decimal(wanted) and pa.types.is_floating(values.type)) or _has_decimals(values, wanted.scale)


def _has_decimals(values: ArrowValues, decimals: int) -> bool:
    """Whether doubles are numbers of that many decimals, of at most fifteen digits."""
    steps = np.abs(to_numpy(values.drop_null())) * 10.0**decimals
    return bool(((steps < 1e15) & (np.abs(steps - np.rint(steps)) <= np.maximum(1e-6, 1e-15 * steps))).all())


def can_be_former(column: Column) -> bool:
    """Whether a step made new values of the sort that the former type holds: whole numbers only of whole numbers."""
    if column.former is None:
        return False
    if pa.types.is_duration(column.former):
        return column.kind == "integer"  # DuckDB takes those of a Parquet file for whole numbers
    sort = kind_of(column.former)
    return column.kind == sort or (column.kind == "float" and (sort == "decimal" or pa.types.is_uint64(column.former)))


def with_former(column: Column) -> Column:
    """The column in its former type."""
    kind = column.kind if pa.types.is_duration(column.former) else kind_of(column.former)
    return replace(column, stored=column.former, kind=kind)


_NANOSECONDS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}


def with_durations(values: ArrowValues, wanted: pa.DataType) -> ArrowValues:
    """Nested values in their own type, also where durations inside them came as intervals."""
    try:
        return values.cast(wanted)
    except pa.ArrowNotImplementedError:
        if pa.types.is_string(values.type):  # a step took them as text
            raise
        return pa.array([_count_intervals(v, wanted) for v in values.to_pylist()], wanted)


def _count_intervals(value: Any, kind: pa.DataType) -> Any:
    """A nested value with its intervals as whole numbers in the unit of the type."""
    test = pa.types
    if value is None or not (test.is_duration(kind) or is_nested(kind)):
        return value
    if test.is_duration(kind):
        return in_unit(value, kind.unit)
    if test.is_struct(kind):
        return {n: _count_intervals(v, kind.field(n).type) for n, v in value.items()}
    if test.is_map(kind):
        return [(_count_intervals(k, kind.key_type), _count_intervals(v, kind.item_type)) for k, v in value]
    return [_count_intervals(v, kind.value_type) for v in value]


def in_unit(interval: Any, unit: str) -> int:
    """An interval of days and nanoseconds, as whole units; months have no length."""
    if interval.months:
        raise pa.ArrowInvalid("months have no length")
    whole: int = (interval.days * 86_400 * 10**9 + interval.nanoseconds) // (_NANOSECONDS[unit])
    return whole
