"""The types that a source keeps its columns in, beyond the kinds that all engines share: published columns get them back."""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.engines.core.kinds import is_nested, kind_of, normalize
from shoal.kernels.arrow import to_numpy
from shoal.model.roles import Column

RAW = "\x00raw"
"""Behind the name of a column that is read as text: the column in its own type."""
WHOLE = "\x01whole"
"""Behind the name of a column of nanoseconds, in a frame for DuckDB: its whole numbers. (Names are cut at a zero byte.)"""


def with_stored(columns: Sequence[Column], schema: Any) -> tuple[Column, ...]:
    """The columns with the types of an Arrow schema; a dictionary's is that of its values."""
    return tuple(replace(c, stored=_plain(f.type)) for c, f in zip(columns, schema, strict=True))


def _plain(kind: Any) -> Any:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    known = kind_of(kind) not in ("text", "other") or is_nested(kind) or pa.types.is_duration(kind)
    return kind if known else None


def fine_durations(kind: Any) -> bool:
    """Whether a type is that of durations in nanoseconds: DuckDB's intervals have microseconds."""
    return isinstance(kind, pa.DataType) and pa.types.is_duration(kind) and kind.unit == "ns"


def whole_durations(table: Any) -> Any:
    """The table with durations of nanoseconds as whole numbers, which :func:`restored` makes durations again."""
    for i, field in enumerate(table.schema):
        if fine_durations(field.type):
            table = table.set_column(i, field.name, table.column(i).cast(pa.int64()))
    return table


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
        if returns_from_text(wanted):
            return _again(values, wanted)
        return (
            with_durations(values, wanted) if is_nested(wanted) and not pa.types.is_string(values.type) else values.cast(wanted)
        )
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OverflowError):
        return values if column.kind == "text" or kind_of(values.type) != column.kind else normalize(values, column.kind)


def _moments(values: Any, wanted: Any) -> Any:
    """Moments without a zone are those of UTC, as every engine gives them."""
    if wanted.tz is None or values.type.tz is not None:
        return values.cast(wanted)
    bare = values.cast(pa.timestamp(wanted.unit))
    return bare.view(pa.int64()).view(wanted)


def _again(values: Any, wanted: Any) -> Any:
    """Durations and nested values of their text, or of the form that an engine has them in."""
    if pa.types.is_string(values.type):
        return from_text(values, wanted)
    return _durations(values, wanted) if pa.types.is_duration(wanted) else values.cast(wanted)


def _durations(values: Any, wanted: Any) -> Any:
    """From whole numbers in the unit of the type (Parquet), or from intervals of months, days and nanoseconds (DuckDB)."""
    if pa.types.is_integer(values.type):
        return values.cast(pa.int64()).view(wanted)
    if not pa.types.is_interval(values.type):
        return values.cast(wanted)
    return pa.array([None if v is None else in_unit(v, wanted.unit) for v in values.to_pylist()], pa.int64()).view(wanted)


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
            return len(_again(values, wanted)) == len(values)
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
    if returns_from_text(column.former):
        return column.kind == "text" or (column.kind == "integer" and pa.types.is_duration(column.former))
    sort = kind_of(column.former)
    return column.kind == sort or (column.kind == "float" and (sort == "decimal" or pa.types.is_uint64(column.former)))


def with_former(column: Column) -> Column:
    """The column in its former type."""
    kind = column.kind if returns_from_text(column.former) else kind_of(column.former)
    return replace(column, stored=column.former, kind=kind)


_INTERVAL = re.compile(r"(?:(-?\d+) days?)? ?(?:(-?)(\d+):(\d\d):(\d\d)(?:\.(\d{1,6}))?)?")
_NANOSECONDS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}


def returns_from_text(kind: Any) -> bool:
    """Whether values of the type can be made again of their text: durations, and nested values of plain ones.

    >>> returns_from_text(pa.list_(pa.date32())), returns_from_text(pa.list_(pa.binary())), returns_from_text(pa.int8())
    (True, False, False)
    """
    return isinstance(kind, pa.DataType) and (pa.types.is_duration(kind) or (is_nested(kind) and _value_of(kind) is not None))


def from_text(values: Any, wanted: Any) -> Any:
    """Texts as values of a type for which :func:`returns_from_text` holds; each different text is read once."""
    encoded = values.dictionary_encode()
    texts = encoded.dictionary.to_pylist()
    try:
        if pa.types.is_duration(wanted):
            made = pa.array([_duration(t, wanted.unit) for t in texts], pa.int64()).view(wanted)
        else:
            value = _value_of(wanted)
            assert value is not None
            made = pa.array([value(json.loads(t, parse_float=_Number)) for t in texts], wanted)
    except (ValueError, TypeError, KeyError, AttributeError, ArithmeticError):
        raise pa.ArrowInvalid("no text of the type") from None
    return made.take(encoded.indices)


def _duration(text: str, unit: str) -> int:
    """DuckDB's text of an interval in a unit; months have no length.

    >>> _duration("40 days 01:00:00.5", "ms"), _duration("-00:00:01", "s")
    (3459600500, -1)
    """
    found = _INTERVAL.fullmatch(text)
    if found is None or not text:
        raise ValueError
    days, sign, hours, minutes, seconds, part = found.groups()
    clock = (int(hours or 0) * 60 + int(minutes or 0)) * 60 + int(seconds or 0)
    micro = clock * 10**6 + int((part or "").ljust(6, "0") or 0)
    whole = int(days or 0) * 86_400 * 10**6 + (-micro if sign else micro)
    count, rest = divmod(whole * 1000, _NANOSECONDS[unit])
    if rest:
        raise ValueError
    return count


def with_durations(values: Any, wanted: Any) -> Any:
    """Nested values in their own type, also where durations inside them came as intervals."""
    try:
        return values.cast(wanted)
    except pa.ArrowNotImplementedError:
        return pa.array([_counted(v, wanted) for v in values.to_pylist()], wanted)


def _counted(value: Any, kind: Any) -> Any:
    """A nested value with its intervals as whole numbers in the unit of the type."""
    test = pa.types
    if value is None or not (test.is_duration(kind) or is_nested(kind)):
        return value
    if test.is_duration(kind):
        return in_unit(value, kind.unit)
    if test.is_struct(kind):
        return {n: _counted(v, kind.field(n).type) for n, v in value.items()}
    if test.is_map(kind):
        return [(_counted(k, kind.key_type), _counted(v, kind.item_type)) for k, v in value]
    return [_counted(v, kind.value_type) for v in value]


def in_unit(interval: Any, unit: str) -> int:
    """An interval of days and nanoseconds, as whole units; months have no length."""
    if interval.months:
        raise pa.ArrowInvalid("months have no length")
    whole: int = (interval.days * 86_400 * 10**9 + interval.nanoseconds) // (_NANOSECONDS[unit])
    return whole


class _Number(str):
    """A number of JSON with its digits, until it is known whether it is a float or a decimal."""


Made = Callable[[Any], Any]


def _value_of(kind: Any) -> Made | None:
    """How a value of JSON becomes one of the type; None where it cannot."""
    test = pa.types
    if test.is_list(kind) or test.is_large_list(kind) or test.is_fixed_size_list(kind):
        return _list_of(_value_of(kind.value_type))
    if test.is_struct(kind):
        return _structure(kind)
    if test.is_map(kind):
        read = json.loads if test.is_integer(kind.key_type) else str
        return _map_of(_value_of(kind.key_type), _value_of(kind.item_type), read)
    if test.is_time(kind):
        return _or_missing(lambda v: _clock(v, kind.unit))
    for check, make in _LEAVES:
        if check(kind):
            return _or_missing(make)
    return None


def _list_of(item: Made | None) -> Made | None:
    return None if item is None else _or_missing(lambda v: [item(x) for x in v])


def _map_of(key: Made | None, item: Made | None, read: Made) -> Made | None:
    """JSON has texts for keys only: ``read`` gives the key back."""
    return None if key is None or item is None else _or_missing(lambda v: [(key(read(k)), item(x)) for k, x in v.items()])


def _structure(kind: Any) -> Made | None:
    fields = [kind.field(i) for i in range(kind.num_fields)]
    values = {f.name: _value_of(f.type) for f in fields}
    if len(values) < len(fields) or any(v is None for v in values.values()):
        return None
    return _or_missing(lambda v: {n: make(v[n]) for n, make in values.items() if make is not None})


def _or_missing(make: Made) -> Made:
    return lambda v: None if v is None else make(v)


def _as_is(value: Any) -> Any:
    return float(value) if isinstance(value, _Number) else value


def _coarse_moment(kind: Any) -> bool:
    return bool(pa.types.is_timestamp(kind) and kind.unit != "ns")


def _fine_moment(kind: Any) -> bool:
    return bool(pa.types.is_timestamp(kind) and kind.unit == "ns")


_FRACTION = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(?:\.(\d{1,9}))?([+-]\d\d(?::\d\d)*)?")


def _nanoseconds(text: str) -> int:
    """A moment as nanoseconds since 1970; without a zone it is taken as UTC.

    >>> _nanoseconds("1970-01-02 00:00:00.000000001"), _nanoseconds("1969-12-31 23:59:59.5+00")
    (86400000000001, -500000000)
    """
    found = _FRACTION.fullmatch(text)
    if found is None:
        raise ValueError
    moment = dt.datetime.fromisoformat(found[1] + (found[3] or "+00:00"))
    since = moment - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
    return (since.days * 86_400 + since.seconds) * 10**9 + int((found[2] or "").ljust(9, "0"))


def _clock(text: str, unit: str) -> int:
    """A time of day in a unit, where it is whole in it.

    >>> _clock("00:00:01.5", "ms"), _clock("23:59:59.000000001", "ns")
    (1500, 86399000000001)
    """
    count, rest = divmod(_nanoseconds(f"1970-01-01 {text}"), _NANOSECONDS[unit])
    if rest:
        raise ValueError
    return count


_LEAVES: tuple[tuple[Callable[[Any], bool], Made], ...] = (
    (pa.types.is_string, _as_is),
    (pa.types.is_large_string, _as_is),
    (pa.types.is_integer, _as_is),
    (pa.types.is_boolean, _as_is),
    (pa.types.is_floating, _as_is),
    (pa.types.is_decimal, lambda v: Decimal(str(v))),
    (pa.types.is_date32, dt.date.fromisoformat),
    (_coarse_moment, dt.datetime.fromisoformat),
    (_fine_moment, _nanoseconds),
)
"""Types of the values inside, and how each is made of what JSON says."""
