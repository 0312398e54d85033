"""Durations and nested values made again of the text, or the intervals, that engines give them as: whole, or not at all."""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa

from shoal.engines.core.kinds import is_nested

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
