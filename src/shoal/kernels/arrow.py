"""Numbers between Arrow and numpy by their buffers: no copy, and no pandas.

pyarrow's own ``to_numpy``, ``array`` and ``scalar`` load pandas, where it is installed, to look whether they were given a part of
it: a third of a second that counting a file does not need.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pyarrow as pa

ArrowValues: TypeAlias = "pa.Array | pa.ChunkedArray"
"""The values of a column, whole or in chunks."""

MANY = 1 << 17
"""From this many texts on pyarrow's own way is quicker, pandas and all."""

_SAME = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
_DTYPES = {**{name: name for name in _SAME}, "double": "float64", "float": "float32", "date32[day]": "int32"}
_ALIASES = {np.dtype(dtype): alias for alias, dtype in _DTYPES.items() if alias in (*_SAME, "double", "float")}


def to_numpy(values: ArrowValues) -> npt.NDArray[Any]:
    """The numbers (days of dates) of a pyarrow array, read-only; what stands in the place of a missing one means nothing.

    >>> import pyarrow as pa
    >>> to_numpy(pa.array([7, 8, 9], pa.int16())[1:]).tolist()
    [8, 9]
    """
    kind = np.dtype(_DTYPES[str(values.type)])
    buffer = values.buffers()[1]
    if buffer is None or not len(values):
        return np.zeros(len(values), kind)
    return np.frombuffer(buffer, kind, count=values.offset + len(values))[values.offset :]


def is_missing(values: ArrowValues) -> npt.NDArray[np.bool_]:
    """For each value of a pyarrow array, whether it is missing.

    >>> import pyarrow as pa
    >>> is_missing(pa.array([None, 1, None])[1:]).tolist()
    [False, True]
    """
    bits = values.buffers()[0]
    if bits is None or not values.null_count:
        return np.full(len(values), values.null_count > 0)  # a column of nothing but nulls has no bits
    flags = np.unpackbits(np.frombuffer(bits, np.uint8), count=values.offset + len(values), bitorder="little")
    return np.asarray(flags[values.offset :] == 0)


def positions(indices: ArrowValues) -> npt.NDArray[Any]:
    """Positions in a dictionary; −1 for missing.

    >>> import pyarrow as pa
    >>> positions(pa.array(["b", None, "a", "b"]).dictionary_encode().indices).tolist()
    [0, -1, 1, 0]
    """
    places = to_numpy(indices)
    places = places.astype(np.int64 if places.dtype in (np.uint32, np.int64, np.uint64) else np.int32, copy=False)
    return np.where(is_missing(indices), places.dtype.type(-1), places) if indices.null_count else places


def from_numpy(numbers: npt.NDArray[Any], missing: npt.NDArray[np.bool_] | None = None) -> pa.Array:
    """Whole numbers or doubles as a pyarrow array.

    >>> import numpy as np
    >>> from_numpy(np.array([1.5, 2.5]), np.array([False, True])).to_pylist()
    [1.5, None]
    """
    import pyarrow as pa

    bits = None if missing is None or not missing.any() else pa.py_buffer(np.packbits(~missing, bitorder="little"))
    data = pa.py_buffer(np.ascontiguousarray(numbers))
    return pa.Array.from_buffers(pa.type_for_alias(_ALIASES[numbers.dtype]), len(numbers), [bits, data])


def without_nan(values: ArrowValues) -> ArrowValues:
    """Doubles (or floats) of a pyarrow array, missing if they are not a number.

    >>> import pyarrow as pa
    >>> without_nan(pa.array([1.5, float("nan"), None])).to_pylist()
    [1.5, None, None]
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.if_else(pc.is_nan(values), pa.nulls(1, values.type)[0], values)


def from_texts(texts: Sequence[str | None]) -> pa.Array:
    """Texts as a pyarrow array; None is missing.

    >>> from_texts(["a", None, "é", ""]).to_pylist()
    ['a', None, 'é', '']
    """
    import pyarrow as pa

    if len(texts) > MANY:
        return pa.array(texts, pa.string())
    parts = [b"" if text is None else text.encode() for text in texts]
    ends = np.zeros(len(parts) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, parts), np.int64, len(parts)), out=ends[1:])
    if ends[-1] >= 2**31:  # more than the offsets of a string array can tell
        return pa.array(texts, pa.string())
    missing = np.fromiter((text is None for text in texts), np.bool_, len(parts))
    bits = pa.py_buffer(np.packbits(~missing, bitorder="little")) if missing.any() else None
    offsets = pa.py_buffer(ends.astype(np.int32))
    return pa.Array.from_buffers(pa.string(), len(parts), [bits, offsets, pa.py_buffer(b"".join(parts))])


def as_doubles(values: ArrowValues) -> ArrowValues:
    """Numbers of any type as the nearest doubles; Arrow's own cast of decimals may miss by one.

    >>> import decimal, pyarrow as pa
    >>> as_doubles(pa.array([decimal.Decimal("-4.85")])).to_pylist()
    [-4.85]
    """
    import pyarrow as pa

    if pa.types.is_decimal(values.type):
        values = values.cast(pa.string())
    return values.cast(pa.float64(), safe=False)  # whole numbers beyond 2⁵³ too


def wall_clock(values: ArrowValues) -> ArrowValues:
    """Moments with a zone as the clock there showed them, without it; others as they are.

    >>> import pyarrow as pa
    >>> summer = pa.array([1719835200], pa.timestamp("s", tz="Europe/Amsterdam"))
    >>> wall_clock(summer)[0].as_py().isoformat()
    '2024-07-01T14:00:00'
    """
    import pyarrow.compute as pc

    return values if values.type.tz is None else pc.local_timestamp(values)


def spelled(values: ArrowValues) -> ArrowValues:
    """Moments as text in their own precision: a fraction of 6 or 9 digits where there is one, a zone as distance from UTC.

    >>> import pyarrow as pa
    >>> spelled(pa.array([1719835200, None], pa.timestamp("s", tz="Europe/Amsterdam"))).to_pylist()
    ['2024-07-01 14:00:00+02:00', None]
    >>> spelled(pa.array([0, 1, 1000], pa.timestamp("ns"))).to_pylist()
    ['1970-01-01 00:00:00', '1970-01-01 00:00:00.000000001', '1970-01-01 00:00:00.000001']
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    here = wall_clock(values)
    if here.type.unit != "ns":
        here = here.cast(pa.timestamp("us"))
    clock = pc.replace_substring_regex(here.cast(pa.string()), pattern=r"\.0+$", replacement="")
    if here.type.unit == "ns":
        clock = pc.replace_substring_regex(clock, pattern=r"(\.[0-9]{6})000$", replacement=r"\1")
    return clock if values.type.tz is None else pc.binary_join_element_wise(clock, _distance(values), "")


def _distance(values: ArrowValues) -> ArrowValues:
    """``+02:00``: how far the zone is from UTC at each moment."""
    import pyarrow as pa
    import pyarrow.compute as pc

    seconds = values.cast(pa.timestamp("s", tz=values.type.tz), safe=False)
    minutes = pc.divide(pc.subtract(wall_clock(seconds).cast(pa.int64()), seconds.cast(pa.int64())), 60)
    size = pc.abs(minutes)
    hours = pc.divide(size, 60)
    digits = [pc.utf8_lpad(n.cast(pa.string()), width=2, padding="0") for n in (hours, pc.subtract(size, pc.multiply(hours, 60)))]
    return pc.binary_join_element_wise(pc.if_else(pc.less(minutes, 0), "-", "+"), digits[0], ":", digits[1], "")


def seconds(values: ArrowValues) -> ArrowValues:
    """Durations as numbers of seconds.

    >>> import pyarrow as pa
    >>> seconds(pa.array([1500, None], pa.duration("ms"))).to_pylist()
    [1.5, None]
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    per = {"s": 1, "ms": 1e3, "us": 1e6, "ns": 1e9}[values.type.unit]
    return pc.divide(values.cast(pa.int64()).cast(pa.float64(), safe=False), per)


@functools.lru_cache(maxsize=256)
def kind_of(arrow_type: pa.DataType) -> str:
    """The kind of an Arrow type.

    >>> import pyarrow as pa
    >>> [kind_of(t) for t in (pa.int8(), pa.large_string(), pa.decimal128(9, 2), pa.timestamp("ns", tz="UTC"))]
    ['integer', 'text', 'decimal', 'timestamp']
    """
    import pyarrow as pa

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
