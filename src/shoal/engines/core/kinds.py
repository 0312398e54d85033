"""The kinds of columns that all engines share, and the one Arrow type for each.

Values come back from every engine in these types, so that counts from a file and from a database can be compared: ``text``
is string, ``integer`` int64 (decimal where it does not fit), ``float`` double, ``date`` date32, ``timestamp``
microseconds without zone (zoned ones in UTC), ``time`` microseconds. Lists, structures and other types of an engine's own are
text: JSON where they are nested, else as the engine spells them.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pyarrow as pa

from shoal.errors import DataError, InternalError
from shoal.kernels.arrow import from_numpy, is_missing, to_numpy
from shoal.kernels.text import canonical_text
from shoal.model.roles import Column

MOST_DIGITS = 38


@functools.lru_cache(maxsize=256)
def kind_of(arrow_type: Any) -> str:
    """The kind of an Arrow type.

    >>> import pyarrow as pa
    >>> [kind_of(t) for t in (pa.int8(), pa.large_string(), pa.decimal128(9, 2), pa.timestamp("ns", tz="UTC"))]
    ['integer', 'text', 'decimal', 'timestamp']
    """
    test = pa.types
    if test.is_dictionary(arrow_type):
        return kind_of(arrow_type.value_type)
    checks = (
        ("integer", (test.is_integer,)),
        ("float", (test.is_floating,)),
        ("decimal", (test.is_decimal,)),
        ("boolean", (test.is_boolean,)),
        ("date", (test.is_date,)),
        ("timestamp", (test.is_timestamp,)),
        ("time", (test.is_time,)),
        ("text", (test.is_string, test.is_large_string, test.is_string_view, test.is_null)),
        ("binary", (test.is_binary, test.is_large_binary, test.is_fixed_size_binary, test.is_binary_view)),
    )
    for kind, tests in checks:
        if any(check(arrow_type) for check in tests):
            return kind
    return "other"


def columns_of(schema: Any) -> tuple[Column, ...]:
    """The columns of an Arrow schema."""
    return tuple(Column(f.name, kind_of(f.type), f.nullable) for f in schema)


def is_nested(arrow_type: Any) -> bool:
    """Whether a value holds others: lists, structures, maps."""
    return bool(pa.types.is_nested(arrow_type)) and not pa.types.is_run_end_encoded(arrow_type)


def check_digits(schema: Any, source: str) -> None:
    """Refuse decimals that would be rounded: different values would fall together."""
    for field in schema:
        kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        if pa.types.is_decimal(kind) and kind.precision > MOST_DIGITS:
            raise DataError(
                f"column '{field.name}' of '{source}' has decimals of {kind.precision} digits; at most {MOST_DIGITS} are kept.",
                hint="Store it as text or as a smaller decimal, or leave it out.",
                column=field.name,
            )


def normalize(values: Any, kind: str) -> Any:
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
    target = _TYPES.get(kind)
    if target is None:
        return values
    wanted = getattr(pa, target[0])(*target[1:])
    if kind == "text" and (is_nested(values.type) or pa.types.is_duration(values.type)):
        return canonical_text(values)
    return values if values.type == wanted else values.cast(wanted, safe=kind != "time")  # as moments: to the microsecond


_TYPES: dict[str, tuple[str, ...]] = {
    "text": ("string",),
    "boolean": ("bool_",),
    "date": ("date32",),
    "time": ("time64", "us"),
    "binary": ("binary",),
}


def _whole(values: Any) -> Any:
    """int64; decimals of scale 0 where a number does not fit."""
    if values.type == pa.int64():
        return values
    if not pa.types.is_integer(values.type) and not pa.types.is_decimal(values.type):
        raise InternalError("a column announced as whole numbers holds something else.")
    try:
        return values.cast(pa.int64())
    except pa.ArrowInvalid:
        return values.cast(pa.decimal128(38, 0))


def _utc(values: Any) -> Any:
    if values.type.tz is not None:
        unit = values.type.unit
        values = values.cast(pa.timestamp(unit, tz="UTC")).view(pa.int64()).view(pa.timestamp(unit))
    return values if values.type == pa.timestamp("us") else values.cast(pa.timestamp("us"), safe=False)
