"""The kinds of columns that all engines share, and the one Arrow type for each.

Values come back from every engine in these types, so that counts from a file and from a database can be compared: ``text``
is string, ``integer`` int64 (decimal where it does not fit), ``float`` double, ``date`` date32, ``timestamp``
microseconds without zone (zoned ones in UTC), ``time`` microseconds. Lists, structures and other types of an engine's own are
text: JSON where they are nested, else as the engine spells them.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from shoal.errors import DataError, InternalError
from shoal.kernels.arrow import ArrowValues, from_numpy, is_missing, kind_of, to_numpy
from shoal.kernels.text import canonical_text
from shoal.model.roles import Column

MOST_DIGITS = 38


def no_rows(schema: pa.Schema) -> pa.RecordBatch:
    """An empty batch, so that the schema is known."""
    return pa.RecordBatch.from_pylist([], schema=schema)


def columns_of(schema: pa.Schema) -> tuple[Column, ...]:
    """The columns of an Arrow schema."""
    return tuple(Column(f.name, kind_of(f.type), f.nullable) for f in schema)


def is_nested(arrow_type: pa.DataType) -> bool:
    """Whether a value holds others: lists, structures, maps."""
    return bool(pa.types.is_nested(arrow_type)) and not pa.types.is_run_end_encoded(arrow_type)


def check_digits(schema: pa.Schema, source: str) -> None:
    """Refuse decimals that would be rounded: different values would fall together."""
    for field in schema:
        kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        if pa.types.is_decimal(kind) and kind.precision > MOST_DIGITS:
            what = f"column '{field.name}' of '{source}' has decimals of {kind.precision} digits; at most {MOST_DIGITS} are kept."
            raise DataError(what, hint="Store it as text or as a smaller decimal, or leave it out.", column=field.name)


def normalize(values: ArrowValues, kind: str) -> ArrowValues:
    """An Arrow array in the one type of its kind; NaN becomes missing and −0.0 becomes 0.0.

    >>> import pyarrow as pa
        >>> normalize(pa.array([1.5, -0.0, float("nan")]), "float").to_pylist()
        [1.5, 0.0, None]
        >>> normalize(pa.array([b"Zo\\xc3\\xab"]), "text").to_pylist()
        ['Zoë']
    """
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks() if values.num_chunks != 1 else values.chunk(0)
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if pa.types.is_null(values.type) and kind in ("integer", "timestamp"):  # no row came, so no type
        return values.cast(pa.int64() if kind == "integer" else pa.timestamp("us"))
    if kind == "float":
        doubles = values.cast(pa.float64())
        x = to_numpy(doubles) + 0.0  # −0.0 + 0.0 is 0.0
        return from_numpy(x, is_missing(doubles) | np.isnan(x))
    if kind == "integer":
        return _whole(values)
    if kind == "timestamp":
        return _utc(values)
    wanted = _TYPES.get(kind)
    if wanted is None:
        return values
    if kind == "text" and (is_nested(values.type) or pa.types.is_duration(values.type)):
        return canonical_text(values)
    return values if values.type == wanted else values.cast(wanted, safe=kind != "time")  # as moments: to the microsecond


_TYPES = {"text": pa.string(), "boolean": pa.bool_(), "date": pa.date32(), "time": pa.time64("us"), "binary": pa.binary()}


def _whole(values: ArrowValues) -> ArrowValues:
    """int64; decimals of scale 0 where a number does not fit."""
    if values.type == pa.int64():
        return values
    if not pa.types.is_integer(values.type) and not pa.types.is_decimal(values.type):
        raise InternalError("a column announced as whole numbers holds something else.")
    try:
        return values.cast(pa.int64())
    except pa.ArrowInvalid:
        return values.cast(pa.decimal128(38, 0))


def _utc(values: ArrowValues) -> ArrowValues:
    if values.type.tz is not None:
        unit = values.type.unit
        values = values.cast(pa.timestamp(unit, tz="UTC")).view(pa.int64()).view(pa.timestamp(unit))
    return values if values.type == pa.timestamp("us") else values.cast(pa.timestamp("us"), safe=False)
