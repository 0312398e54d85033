"""Moments as people read them: with their time zone, or as the clock there showed."""

from __future__ import annotations

from typing import Any


def wall_clock(values: Any) -> Any:
    """Moments with a zone as the clock there showed them, without it; others as they are.

    >>> import pyarrow as pa
    >>> summer = pa.array([1719835200], pa.timestamp("s", tz="Europe/Amsterdam"))
    >>> wall_clock(summer)[0].as_py().isoformat()
    '2024-07-01T14:00:00'
    """
    import pyarrow.compute as pc

    return values if values.type.tz is None else pc.local_timestamp(values)


def spelled(values: Any) -> Any:
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


def _distance(values: Any) -> Any:
    """``+02:00``: how far the zone is from UTC at each moment."""
    import pyarrow as pa
    import pyarrow.compute as pc

    seconds = values.cast(pa.timestamp("s", tz=values.type.tz), safe=False)
    minutes = pc.divide(pc.subtract(wall_clock(seconds).cast(pa.int64()), seconds.cast(pa.int64())), 60)
    size = pc.abs(minutes)
    hours = pc.divide(size, 60)
    digits = [pc.utf8_lpad(n.cast(pa.string()), width=2, padding="0") for n in (hours, pc.subtract(size, pc.multiply(hours, 60)))]
    return pc.binary_join_element_wise(pc.if_else(pc.less(minutes, 0), "-", "+"), digits[0], ":", digits[1], "")


def seconds(values: Any) -> Any:
    """Durations as numbers of seconds.

    >>> import pyarrow as pa
    >>> seconds(pa.array([1500, None], pa.duration("ms"))).to_pylist()
    [1.5, None]
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    per = {"s": 1, "ms": 1e3, "us": 1e6, "ns": 1e9}[values.type.unit]
    return pc.divide(values.cast(pa.int64()).cast(pa.float64(), safe=False), per)
