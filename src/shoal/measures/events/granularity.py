"""Granularity: times in buckets of a width, places at a level. Each maps the distinct values of a column to whole numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.errors import DataError, UsageError
from shoal.kernels.text import canonical_text
from shoal.measures.events.habits import WEEKDAYS
from shoal.model.counts.classes import CodeArray, IntArray
from shoal.model.hierarchy import Hierarchy

EXACT, NONE = "exact", "none"
"""As in the table; left out."""

SECOND = 1_000_000
UNITS = {"s": SECOND, "min": 60 * SECOND, "h": 3600 * SECOND, "d": 86_400 * SECOND, "w": 7 * 86_400 * SECOND}
WORDS = {"minute": "1min", "hour": "1h", "day": "1d", "week": "1w"}
CALENDAR = {"month": 1, "quarter": 3, "year": 12}
MONDAY = 4 * UNITS["d"]
"""The first Monday of the epoch, 5 January 1970."""


def time_buckets(name: str, kind: str, values: Any, width: str) -> CodeArray | None:
    """The bucket of each distinct time; None where time is left out.

    Parameters
    ----------
    name, kind : str
        The column; dates, timestamps, times of day or numbers.
    values : pyarrow array
        Its distinct values.
    width : str
        ``exact``, ``none``, a word (minute, hour, day, week from Monday, month, quarter, year), a length such as ``15min``,
        ``6h``, ``3d``, ``2w``; a cycle without its date (``part of day``, ``weekday``: :data:`.cycles.CYCLES`); for numbers a
        number.

    Examples
    --------
    >>> import pyarrow as pa, datetime as dt
    >>> days = pa.array([dt.date(2024, 1, 7), dt.date(2024, 1, 8), dt.date(2024, 1, 14)])  # Sunday, Monday, Sunday
    >>> time_buckets("t", "date", days, "week").tolist()
    [0, 1, 1]
    >>> time_buckets("t", "date", days, "weekend").tolist()
    [1, 0, 1]
    """
    if width == NONE:
        return None
    if width == EXACT:
        return _dense(_instants(values)) if kind == "timestamp" else np.arange(len(values), dtype=np.int32)
    if kind in ("integer", "decimal", "float"):
        return _dense(_floor(_numbers(values), _positive(width, name)))
    if width in CALENDAR and kind in ("date", "timestamp"):
        return _dense(months(values) // CALENDAR[width])
    if width in CYCLES and kind in CYCLES[width].kinds:
        return _dense(CYCLES[width].season(microseconds(values, kind)))
    length = time_length(width)
    if length is None:
        cycles = ", ".join(name for name, c in CYCLES.items() if kind in c.kinds)
        raise UsageError(
            f"'{width}' is not a width of time for column '{name}', which holds values of kind {kind}.",
            hint="Widths: exact, minute, hour, day, week, month, quarter, year, none, a length such as 15min, 6h, 3d"
            + (f", or without the date: {cycles}." if cycles else "."),
        )
    since = MONDAY if length % UNITS["w"] == 0 else 0
    return _dense((microseconds(values, kind) - since) // length)


def microseconds(values: Any, kind: str) -> IntArray:
    """Times as microseconds since 1970, or since midnight; by the clock of their zone, where they have one."""
    if kind == "time":
        import pyarrow as pa

        return np.asarray(values.cast(pa.int64()).to_numpy(zero_copy_only=False), dtype=np.int64)
    return _instants(_by_the_clock(values))


def months(values: Any) -> IntArray:
    """Dates and timestamps as months since January 1970, by the clock of their zone."""
    return np.asarray(_by_the_clock(values).to_numpy(zero_copy_only=False).astype("datetime64[M]").astype(np.int64))


def _by_the_clock(values: Any) -> Any:
    """Timestamps with a zone as its clock shows them; others as they are."""
    import pyarrow.compute as pc

    return pc.local_timestamp(values) if getattr(values.type, "tz", None) else values


def _instants(values: Any) -> IntArray:
    return np.asarray(values.to_numpy(zero_copy_only=False).astype("datetime64[us]").astype(np.int64), dtype=np.int64)


def place_codes(
    name: str, kind: str, values: Any, level: str, hierarchies: Mapping[str, Hierarchy] | None = None
) -> CodeArray | None:
    """The place of each distinct value at a level; None where places are left out.

    ``exact``, ``none``, ``grid:W`` (numbers, squares of width W), ``prefix:N`` (text, the first N characters), ``level:N`` (of a
    hierarchy); a bare number is the width of a grid for decimal numbers and the length of a prefix for text.

    >>> import pyarrow as pa
    >>> place_codes("lat", "float", pa.array([0.02, 0.08, 0.13]), "0.1").tolist()
    [0, 0, 1]
    >>> place_codes("zip", "text", pa.array(["1011", "1017", "2011"]), "2").tolist()
    [0, 0, 1]
    """
    if level == NONE:
        return None
    if level == EXACT:
        return np.arange(len(values), dtype=np.int32)
    how, colon, number = level.partition(":")
    if not colon:
        how, number = ("grid" if kind in ("float", "decimal") else "prefix" if kind == "text" else ""), level
    if how == "grid" and kind in ("integer", "decimal", "float"):
        return _dense(_floor(_numbers(values), _positive(number, name)))
    if how == "prefix" and kind not in ("float", "decimal"):
        length = _whole(number, name)
        return _dense(np.array([t[:length] for t in canonical_text(values).to_pylist()], dtype=object).astype(str))
    if how == "level":
        return _hierarchy_level(name, values, _whole(number, name), hierarchies or {})
    raise UsageError(
        f"'{level}' is not a level for column '{name}', which holds values of kind {kind}.",
        hint="Levels: exact, none, grid:0.1 (numbers), prefix:3 (codes), level:1 (with a hierarchy).",
    )


def _hierarchy_level(name: str, values: Any, level: int, hierarchies: Mapping[str, Hierarchy]) -> CodeArray:
    if name not in hierarchies:
        raise UsageError(f"column '{name}' has no hierarchy.", hint=f"Give one: --hierarchy {name}=FILE.csv.")
    tree = hierarchies[name]
    if level > tree.height:
        raise UsageError(f"the hierarchy of '{name}' has the levels 0 to {tree.height}; level {level} is asked for.")
    position = tree.position
    texts = canonical_text(values).to_pylist()
    lacking = sum(t not in position for t in texts)
    if lacking:
        raise DataError(
            f"the hierarchy of '{name}' lacks {lacking:,} of its {len(texts):,} values.", hint="Add them to the file."
        )
    return np.asarray(tree.levels[level].groups[[position[t] for t in texts]], dtype=np.int32)


def time_length(width: str) -> int | None:
    """A length of time in microseconds.

    >>> time_length("6h") == 6 * 3600 * SECOND, time_length("0h"), time_length("often")
    (True, None, None)
    """
    found = re.fullmatch(r"(\d{1,6})(s|min|h|d|w)", WORDS.get(width, width))
    return (int(found[1]) * UNITS[found[2]] or None) if found else None


def _positive(text: str, name: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not (number > 0 and np.isfinite(number)):
        raise UsageError(f"'{text}' is not a width for column '{name}', which holds numbers.", hint="Give a number above 0.")
    return number


def _whole(text: str, name: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 6):
        raise UsageError(f"'{text}' is not a level for column '{name}'.", hint="Give a whole number.")
    return int(text)


def _numbers(values: Any) -> Any:
    import pyarrow as pa

    return values.cast(pa.float64()).to_numpy(zero_copy_only=False)


def _floor(numbers: Any, width: float) -> Any:
    return np.floor(numbers / width + 1e-9)  # 0.3 lies in [0.3, 0.4), although 0.3 / 0.1 is below 3 in binary


def _dense(buckets: Any) -> CodeArray:
    return np.unique(buckets, return_inverse=True)[1].astype(np.int32)


HOUR, DAY = 3_600_000_000, 86_400_000_000
PARTS_OF_DAY = ("night", "morning", "afternoon", "evening")
"""From midnight, from six, from noon, from six in the evening: six hours each."""
MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
HOURS_OF_DAY = tuple(f"{h:02d}:00" for h in range(24))


@dataclass(frozen=True)
class Cycle:
    """Which season a moment (µs since 1970, or since midnight) falls in, their names, and the kinds of time that tell it.

    ``hours`` and ``days``: whether the hour of the day and the weekday can be derived from it.
    """

    season: Callable[[IntArray], IntArray]
    names: tuple[str, ...]
    kinds: tuple[str, ...]
    hours: bool = False
    days: bool = False


def _hour(moment: IntArray) -> IntArray:
    return moment // HOUR % 24


def _part(moment: IntArray) -> IntArray:
    return moment // (6 * HOUR) % 4


def _weekday(moment: IntArray) -> IntArray:
    return (moment // DAY + 3) % 7


def _weekend(moment: IntArray) -> IntArray:
    return (_weekday(moment) >= 5).astype("int64")


def _month(moment: IntArray) -> IntArray:
    return moment.astype("datetime64[us]").astype("datetime64[M]").astype("int64") % 12


def _both(days: tuple[str, ...], times: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"{day} {time}" for day in days for time in times)


CYCLES = {
    "hour of day": Cycle(_hour, HOURS_OF_DAY, ("timestamp", "time"), hours=True),
    "part of day": Cycle(_part, PARTS_OF_DAY, ("timestamp", "time")),
    "weekday": Cycle(_weekday, WEEKDAYS, ("timestamp", "date"), days=True),
    "weekend": Cycle(_weekend, ("workday", "weekend"), ("timestamp", "date")),
    "weekday and hour": Cycle(
        lambda m: 24 * _weekday(m) + _hour(m), _both(WEEKDAYS, HOURS_OF_DAY), ("timestamp",), hours=True, days=True
    ),
    "weekday and part of day": Cycle(
        lambda m: 4 * _weekday(m) + _part(m), _both(WEEKDAYS, PARTS_OF_DAY), ("timestamp",), days=True
    ),
    "month of year": Cycle(_month, MONTHS, ("timestamp", "date")),
}
