"""The types that a source keeps its columns in, beyond the kinds that all engines share: published columns get them back."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.engines.core.kinds import is_nested, kind_of, normalize
from shoal.kernels.arrow import to_numpy
from shoal.model.roles import Column

RAW = "\x00raw"
"""Behind the name of a column that is read as text: the column in its own type."""

_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def with_stored(columns: Sequence[Column], schema: Any) -> tuple[Column, ...]:
    """The columns with the types of an Arrow schema; a dictionary's is that of its values."""
    return tuple(replace(c, stored=_plain(f.type)) for c, f in zip(columns, schema, strict=True))


def _plain(kind: Any) -> Any:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    known = kind_of(kind) not in ("text", "other") or is_nested(kind) or pa.types.is_duration(kind)
    return kind if known else None


def in_kind(values: Any, column: Column) -> Any:
    """Values as they were read, or in the one type of their kind where no own type is known."""
    return values if column.stored is not None else normalize(values, column.kind)


def restored(values: Any, column: Column) -> Any:
    """Values in the type that the source keeps them in; in that of their kind where it would change one of them."""
    wanted: Any = column.stored
    if wanted is None or values.type == wanted:
        return values
    if isinstance(values, pa.ChunkedArray):
        return pa.chunked_array([restored(c, column) for c in values.chunks], None if values.num_chunks else wanted)
    try:
        if pa.types.is_timestamp(wanted):
            return _moments(values, wanted)
        if pa.types.is_string(values.type) and returns_from_text(wanted):
            return _from_json(values, wanted)
        if pa.types.is_duration(wanted):
            return _durations(values, wanted)
        return values.cast(wanted)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OverflowError):
        return values if column.kind == "text" or kind_of(values.type) != column.kind else normalize(values, column.kind)


def _moments(values: Any, wanted: Any) -> Any:
    """Moments without a zone are those of UTC, as every engine gives them."""
    if wanted.tz is None or values.type.tz is not None:
        return values.cast(wanted)
    bare = values.cast(pa.timestamp(wanted.unit))
    return bare.view(pa.int64()).view(wanted)


def _durations(values: Any, wanted: Any) -> Any:
    """From whole numbers in the unit of the type (Parquet), or from intervals of months, days and nanoseconds (DuckDB)."""
    if pa.types.is_integer(values.type):
        return values.cast(pa.int64()).view(wanted)
    if not pa.types.is_interval(values.type):
        return values.cast(wanted)
    per = 10**9 // _PER_SECOND[wanted.unit]
    out = []
    for v in values.to_pylist():
        if v is not None and v.months:
            raise pa.ArrowInvalid("months have no length")
        out.append(None if v is None else (v.days * 86_400 * 10**9 + v.nanoseconds) // per)
    return pa.array(out, pa.int64()).view(wanted)


def returns_from_text(kind: Any) -> bool:
    """Whether nested values can be made again of their JSON text: lists and structures of texts, numbers and truth values.

    >>> returns_from_text(pa.list_(pa.int8())), returns_from_text(pa.list_(pa.date32())), returns_from_text(pa.int8())
    (True, False, False)
    """
    return isinstance(kind, pa.DataType) and is_nested(kind) and _plain_leaves(kind)


def _plain_leaves(kind: Any) -> bool:
    test = pa.types
    if test.is_list(kind) or test.is_large_list(kind) or test.is_fixed_size_list(kind):
        return _plain_leaves(kind.value_type)
    if test.is_struct(kind):
        fields = [kind.field(i) for i in range(kind.num_fields)]
        return len({f.name for f in fields}) == len(fields) and all(_plain_leaves(f.type) for f in fields)
    return any(
        check(kind) for check in (test.is_string, test.is_large_string, test.is_integer, test.is_boolean, test.is_floating)
    )


def _from_json(values: Any, wanted: Any) -> Any:
    """Nested values of their JSON text; each different text is read once."""
    encoded = values.dictionary_encode()
    try:
        made = pa.array([json.loads(t) for t in encoded.dictionary.to_pylist()], wanted)
    except (ValueError, TypeError, KeyError):
        raise pa.ArrowInvalid("no JSON of the type") from None
    return made.take(encoded.indices)


def one_type(values: Any, column: Column) -> Any:
    """Whole numbers that may lie beyond 2⁶³ as decimals in every batch: some batches alone would fit in int64."""
    wide = column.kind == "integer" and pa.uint64() in (column.stored, column.former)
    return values.cast(pa.decimal128(38, 0)) if wide and values.type != pa.uint64() else values


def stored_or_decoded(engine: Any, values: Any, column: Column) -> Any:
    """A column of a result in the type of its source where that is known, else as the engine decodes its kind."""
    return one_type(engine.decode(values, column), column) if column.stored is None else restored(values, column)


def former_fits(values: Any, column: Column) -> bool:
    """Whether new numbers or moments can be given the type that the source kept the column in: none of them changes by it,
    but that a float32 gets the nearest of its kind."""
    wanted: Any = column.former
    if isinstance(values, pa.ChunkedArray):
        return all(former_fits(chunk, column) for chunk in values.chunks)
    try:
        if returns_from_text(wanted):
            return len(_from_json(values, wanted)) == len(values)
        made = _moments(values, wanted) if pa.types.is_timestamp(wanted) else values.cast(wanted)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OverflowError):
        return False
    if pa.types.is_uint64(wanted) and pa.types.is_floating(values.type):  # a cast of 2⁶⁴ would give the number below it
        return not pc.any(pc.greater_equal(values, 2.0**64)).as_py()
    if pa.types.is_floating(wanted):
        return not pc.any(pc.and_(pc.is_finite(values), pc.invert(pc.is_finite(made)))).as_py()
    return not (pa.types.is_decimal(wanted) and pa.types.is_floating(values.type)) or _has_decimals(values, wanted.scale)


def _has_decimals(values: Any, decimals: int) -> bool:
    """Whether doubles are numbers of that many decimals, of at most fifteen digits."""
    steps = np.abs(to_numpy(values.drop_null())) * 10.0**decimals
    return bool(((steps < 1e15) & (np.abs(steps - np.rint(steps)) <= np.maximum(1e-6, 1e-15 * steps))).all())


def can_be_former(column: Column) -> bool:
    """Whether a step made new values of the sort that the former type holds: whole numbers only of whole numbers."""
    if column.former is None:
        return False
    if column.kind == "text" and returns_from_text(column.former):
        return True
    sort = kind_of(column.former)
    return column.kind == sort or (column.kind == "float" and (sort == "decimal" or pa.types.is_uint64(column.former)))


def with_former(column: Column) -> Column:
    """The column in its former type."""
    kind = column.kind if is_nested(column.former) else kind_of(column.former)
    return replace(column, stored=column.former, kind=kind)
