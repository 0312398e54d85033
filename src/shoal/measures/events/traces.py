"""Traces: the distinct points of each person, and the people at each point."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import DataError, EmptyTableError, InternalError, UsageError
from shoal.kernels.text import canonical_text
from shoal.model.counts.classes import CodeArray, FloatArray, IntArray
from shoal.model.hierarchy import Hierarchy

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

EXACT, NONE = "exact", "none"
"""As in the table; left out."""

SECOND = 1_000_000
UNITS = {"s": SECOND, "min": 60 * SECOND, "h": 3600 * SECOND, "d": 86_400 * SECOND, "w": 7 * 86_400 * SECOND}
WORDS = {"minute": "1min", "hour": "1h", "day": "1d", "week": "1w"}
CALENDAR = {"month": 1, "quarter": 3, "year": 12}
MONDAY = 4 * UNITS["d"]
"""The first Monday of the epoch, 5 January 1970."""


KINDS_OF_TIME = ("date", "timestamp", "time", "integer", "decimal", "float", "text")
"""Kinds of columns that can hold times."""


def no_complete_record() -> EmptyTableError:
    """The error for a table in which every record lacks a person, a time or a place."""
    what = "no record has a person, a time and a place, as far as these are named."
    return EmptyTableError(what, hint="Check the columns named.")


def time_buckets(name: str, kind: str, values: pa.Array, width: str) -> CodeArray | None:
    """The bucket of each distinct time of a column (dates, timestamps, times of day or numbers); None where time is left out.

    ``width`` is ``exact``, ``none``, a word (minute, hour, day, week from Monday, month, quarter, year), a length such as
    ``15min``, ``6h``, ``3d``, ``2w``, a cycle without its date (``part of day``, ``weekday``: :data:`CYCLES`), or for numbers a
    number.

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
        return _dense(_floor(_as_numbers(values), _positive(width, name)))
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


def microseconds(values: pa.Array, kind: str) -> IntArray:
    """Times as microseconds since 1970, or since midnight; by the clock of their zone, where they have one."""
    if kind == "time":
        return np.asarray(values.cast(pa.int64()).to_numpy(zero_copy_only=False), dtype=np.int64)
    return _instants(_by_the_clock(values))


def months(values: pa.Array) -> IntArray:
    """Dates and timestamps as months since January 1970, by the clock of their zone."""
    return np.asarray(_by_the_clock(values).to_numpy(zero_copy_only=False).astype("datetime64[M]").astype(np.int64))


def _by_the_clock(values: pa.Array) -> pa.Array:
    """Timestamps with a zone as its clock shows them; others as they are."""
    return pc.local_timestamp(values) if getattr(values.type, "tz", None) else values


def _instants(values: pa.Array) -> IntArray:
    return np.asarray(values.to_numpy(zero_copy_only=False).astype("datetime64[us]").astype(np.int64), dtype=np.int64)


def place_codes(
    name: str, kind: str, values: pa.Array, level: str, hierarchies: Mapping[str, Hierarchy] | None = None
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
        return _dense(_floor(_as_numbers(values), _positive(number, name)))
    if how == "prefix" and kind not in ("float", "decimal"):
        length = _whole(number, name)
        return _dense(np.array([t[:length] for t in canonical_text(values).to_pylist()], dtype=object).astype(str))
    if how == "level":
        return _hierarchy_level(name, values, _whole(number, name), hierarchies or {})
    hint = "Levels: exact, none, grid:0.1 (numbers), prefix:3 (codes), level:1 (with a hierarchy)."
    raise UsageError(f"'{level}' is not a level for column '{name}', which holds values of kind {kind}.", hint=hint)


def _hierarchy_level(name: str, values: pa.Array, level: int, hierarchies: Mapping[str, Hierarchy]) -> CodeArray:
    if name not in hierarchies:
        raise UsageError(f"column '{name}' has no hierarchy.", hint=f"Give one: --hierarchy {name}=FILE.csv.")
    tree = hierarchies[name]
    if level > tree.height:
        raise UsageError(f"the hierarchy of '{name}' has the levels 0 to {tree.height}; level {level} is asked for.")
    position = tree.position
    texts = canonical_text(values).to_pylist()
    lacking = sum(t not in position for t in texts)
    if lacking:
        hint = "Add them to the file."
        raise DataError(f"the hierarchy of '{name}' lacks {lacking:,} of its {len(texts):,} values.", hint=hint)
    return np.asarray(tree.levels[level].groups[[position[t] for t in texts]], dtype=np.int32)


def time_length(width: str) -> int | None:
    """A length of time in microseconds.

    >>> time_length("6h") == 6 * 3600 * SECOND, time_length("0h"), time_length("often")
    (True, None, None)
    """
    match = re.fullmatch(r"(\d{1,6})(s|min|h|d|w)", WORDS.get(width, width))
    return (int(match[1]) * UNITS[match[2]] or None) if match else None


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


def _as_numbers(values: pa.Array) -> FloatArray:
    return np.asarray(values.cast(pa.float64()).to_numpy(zero_copy_only=False), dtype=np.float64)


def _floor(numbers: FloatArray, width: float) -> FloatArray:
    return np.floor(numbers / width + 1e-9)  # 0.3 lies in [0.3, 0.4), although 0.3 / 0.1 is below 3 in binary


def _dense(buckets: npt.ArrayLike) -> CodeArray:
    return np.unique(buckets, return_inverse=True)[1].astype(np.int32)


HOUR, DAY = 3_600_000_000, 86_400_000_000
PARTS_OF_DAY = ("night", "morning", "afternoon", "evening")
"""From midnight, from six, from noon, from six in the evening: six hours each."""
MONTHS = tuple("January February March April May June July August September October November December".split())
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


People = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False, repr=False)
class Traces:
    """Person u was at the points ``point[start[u]:start[u + 1]]``, each once, those that fewest people share first; at point p
    were the people ``visitor[first[p]:first[p + 1]]``, in order.

    >>> t = Traces.of([0, 0, 1, 1, 1], [0, 1, 1, 2, 2])
    >>> t.n_people, t.n_points, t.lengths.tolist(), t.popularity.tolist()
    (2, 3, [2, 2], [1, 2, 1])
    """

    start: IntArray
    point: npt.NDArray[np.int32]
    first: IntArray
    visitor: People

    @classmethod
    def of(cls, person: npt.ArrayLike, point: npt.ArrayLike) -> Traces:
        """From a person and a point per record, numbered from 0 without a gap; a pair that occurs twice counts once."""
        who, where = np.asarray(person), np.asarray(point)
        if not len(who):
            raise EmptyTableError("no record names a person and a point, so nothing can be measured.")
        people, points = int(who.max()) + 1, int(where.max()) + 1
        keys = where.astype(np.int64)
        keys *= people
        keys += who
        made = cls.of_keys(keys, people)
        if made.n_points != points:
            raise InternalError(f"of {points} points some have no record.")
        return made

    @classmethod
    def of_keys(cls, keys: IntArray, people: int) -> Traces:
        """From one number per record, point · people + person, in memory that is used up: besides ``keys`` about 12 bytes per
        record. Points that do not occur get no number."""
        keys.sort()
        keys = _distinct(keys)
        visitor, by_point = np.empty(len(keys), np.int32), np.empty(len(keys), np.int32)
        last, points = -1, 0
        for part in _blocks(len(keys)):
            where, who = np.divmod(keys[part], people)
            new = np.diff(where, prepend=last) > 0
            visitor[part] = who
            by_point[part] = points - 1 + np.cumsum(new)
            last, points = int(where[-1]), points + int(new.sum())
        popularity = _numbers(by_point, points)
        order = np.argsort(popularity, kind="stable")
        rank = np.empty(points, np.int64)
        rank[order] = np.arange(points)
        for part in _blocks(len(keys)):
            keys[part] = visitor[part].astype(np.int64) * points + rank[by_point[part]]
        del by_point
        keys.sort()
        point = np.empty(len(keys), np.int32)
        for part in _blocks(len(keys)):
            point[part] = order[keys[part] % points]
        lengths = _numbers(visitor, people)
        if not lengths.all():
            raise InternalError(f"of {people} people some have no record.")
        return cls(_starts(lengths), point, _starts(popularity), visitor)

    def __repr__(self) -> str:
        return f"<Traces of {self.n_people:,} people at {self.n_points:,} points>"

    @property
    def n_people(self) -> int:
        return len(self.start) - 1

    @property
    def n_points(self) -> int:
        return len(self.first) - 1

    @property
    def n_pairs(self) -> int:
        """Distinct pairs of a person and a point."""
        return len(self.point)

    def people_in_blocks(self) -> Iterator[tuple[int, int]]:
        """Ranges of people that together have about :data:`BLOCK` points."""
        low = 0
        while low < self.n_people:
            high = int(np.searchsorted(self.start, self.start[low] + BLOCK, side="right")) - 1
            high = max(high, low + 1)
            yield low, high
            low = high

    @cached_property
    def lengths(self) -> IntArray:
        """Distinct points of each person."""
        return np.diff(self.start)

    @cached_property
    def popularity(self) -> IntArray:
        """People at each point."""
        return np.diff(self.first)


BLOCK = 4_000_000
"""Records that are looked at together: what is kept beside the arrays stays small."""


def _blocks(n: int) -> Iterator[slice]:
    return (slice(a, min(a + BLOCK, n)) for a in range(0, n, BLOCK))


def _distinct(keys: IntArray) -> IntArray:
    """Sorted numbers, each once, written over the old ones."""
    kept, last = 0, -1
    for part in _blocks(len(keys)):
        block = keys[part]
        new = block[np.diff(block, prepend=last) > 0]
        last = int(block[-1])
        keys[kept : kept + len(new)] = new
        kept += len(new)
    return keys[:kept]


def _numbers(codes: npt.NDArray[np.int32], n: int) -> IntArray:
    """How often each of the codes 0 … n − 1 occurs."""
    out = np.zeros(n, dtype=np.int64)
    for part in _blocks(len(codes)):
        out += np.bincount(codes[part], minlength=n)
    return out


def _starts(lengths: npt.NDArray[np.int64]) -> IntArray:
    return np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)


def moments_of(name: str, texts: pa.Array, rows: IntArray) -> pa.Array:
    """Timestamps of the distinct texts of a column; ``rows`` are the records of each. With a zone: in UTC.

    >>> import pyarrow as pa
    >>> moments_of("t", pa.array(["2024-03-04T08:10:00.5+01:00"]), np.array([1])).to_pylist()
    [datetime.datetime(2024, 3, 4, 7, 10, 0, 500000)]
    >>> moments_of("t", pa.array(["2164-10-23 9:05"]), np.array([1])).to_pylist()
    [datetime.datetime(2164, 10, 23, 9, 5)]
    """
    read = [_moment(t) for t in texts.to_pylist()]
    wrong = np.array([r is None for r in read], dtype=np.bool_)
    if wrong.any():
        what = f"column '{name}' holds text, and {int(wrong.sum()):,} of its {len(read):,} distinct values "
        what += f"({int(rows[wrong].sum()):,} records) are not times."
        hint = f"Say how they are written (--read dates={name}:%d/%m/%Y) or which texts mean missing (--read null=…)."
        raise DataError(what, hint=hint, column=name)
    return pa.array(read, pa.timestamp("us"))


_SHORT_HOUR = re.compile(r"(\d{4}-\d{2}-\d{2}[ T])(\d:)")
"""An hour of one digit, as spreadsheets and hospitals write it: 2164-10-23 9:05."""


def _moment(text: str) -> datetime.datetime | None:
    try:
        moment = datetime.datetime.fromisoformat(_SHORT_HOUR.sub(r"\g<1>0\2", text.strip(), count=1))
    except ValueError:
        return None
    return moment if moment.tzinfo is None else moment.astimezone(datetime.UTC).replace(tzinfo=None)
