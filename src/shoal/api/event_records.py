"""An event table, read: distinct (person, time, place) counted by the engine, or the records in pieces of a large one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shoal.engines.table import Table
from shoal.errors import InternalError
from shoal.kernels.group import group_codes, pack, sum_by
from shoal.kernels.text import canonical_text
from shoal.measures.events.knowledge import Asked, Linked, Sensitive, Shown, counted
from shoal.measures.events.traces import (
    CYCLES,
    EXACT,
    MONDAY,
    NONE,
    UNITS,
    WEEKDAYS,
    WORDS,
    Traces,
    microseconds,
    moments_of,
    no_complete_record,
    place_codes,
    time_buckets,
    time_length,
)
from shoal.measures.events.unicity import HOURS, Season, rare_places, seasons, top_places
from shoal.model.counts.classes import MISSING, ClassCounts, CodeArray, IntArray
from shoal.model.display import Progress
from shoal.model.hierarchy import Hierarchy
from shoal.model.requirement import MOST_SETS, InferredPlace, NearRecords

DAY, HOUR = 86_400_000_000, 3_600_000_000


class Granularity(NamedTuple):
    """How fine times and places are known; ``trees`` are the hierarchies of places, by column."""

    width: str
    level: str
    trees: Mapping[str, Hierarchy]


@dataclass(frozen=True, eq=False)
class CountedEvents:
    """Distinct (person, time, place) with the rows of each, without those that lack one of them; people renumbered.

    ``rows`` are those of the whole table, ``counts`` what the engine counted, and ``codes`` the part of it that is complete.
    """

    person: IntArray
    time: str | None
    places: tuple[str, ...]
    kinds: Mapping[str, str]
    codes: Mapping[str, CodeArray]
    of_each: IntArray
    counts: ClassCounts
    notes: tuple[str, ...]

    @property
    def values(self) -> dict[str, pa.Array]:
        """The distinct values of each column."""
        return dict(zip(self.counts.columns, self.counts.categories, strict=True))

    @property
    def rows(self) -> int:
        return self.counts.n_records

    def traces(self, grain: Granularity) -> Traces:
        return Traces.of(self.person, self._points(grain))

    def _points(self, grain: Granularity) -> IntArray:
        """The point of each event at a granularity, numbered from 0."""
        columns = [c for c in self._columns(grain) if c is not None]
        return group_codes(columns, n_rows=len(self.person)).ids

    def _columns(self, grain: Granularity) -> list[CodeArray | None]:
        """The time of each event at a granularity, and its places; None if one is left out."""
        out: list[CodeArray | None] = [None]
        if self.time is not None:
            buckets = time_buckets(self.time, self.kinds[self.time], self.values[self.time], grain.width)
            out = [None if buckets is None else buckets[self.codes[self.time]]]
        for name in self.places:
            places = place_codes(name, self.kinds[name], self.values[name], grain.level, grain.trees)
            out.append(None if places is None else places[self.codes[name]])
        return out

    def lowest(self, asked: Asked, records: int, grain: Granularity) -> float | None:
        """The number that a requirement on other knowledge, or on a sensitive column, is about; None if it cannot be counted."""
        point = self._points(grain)
        both, first = np.unique(self.person * (int(point.max()) + 1) + point, return_index=True)
        alive, people = np.ones(len(both), dtype=np.bool_), np.arange(int(self.person.max()) + 1)
        if isinstance(asked, Sensitive):
            value = self.codes[asked.column].astype(np.int64)
            value[value == MISSING] = -1
            fits = Linked.of(self.person[first], point[first], people, alive).with_values(asked, self.person, value)
        else:
            shown = self._shown_near(asked, grain) if isinstance(asked, NearRecords) else self._shown(asked, grain)
            if shown is None:
                return None
            fits = Linked.fitting(asked, self.person[first], point[first], people, alive, shown.take(first))
        return None if fits.sets(records) > MOST_SETS else counted(asked, fits.lowest(records))

    def _shown(self, asked: Asked, grain: Granularity) -> Shown:
        """Times and places as they are published, for what they let infer; nothing of them for other requirements."""
        when, *where = self._columns(grain) if isinstance(asked, InferredPlace) else [None]
        cyclic = self.time is None or grain.width in CYCLES or self.kinds[self.time] == "time"
        moment = None if when is None else when.astype(np.float64)
        return Shown(moment, None if cyclic else True, tuple(c for c in where if c is not None))

    def _shown_near(self, asked: NearRecords, grain: Granularity) -> Shown | None:
        """Times and places as numbers and texts, to be compared nearly; None if the granularity does not allow it."""
        if (asked.place_within and grain.level != EXACT) or (asked.time and grain.width not in (EXACT, *WORDS)):
            return None
        moment: npt.NDArray[Any] | None = None
        dated, spots = None, []
        if self.time is not None and grain.width != NONE:
            values, codes, kind = self.values[self.time], self.codes[self.time], self.kinds[self.time]
            dated = kind in ("date", "timestamp")
            length = time_length(grain.width) or 1
            since = MONDAY if length % UNITS["w"] == 0 else 0
            numbers = (microseconds(values, kind) - since) // length * length + since if dated else values.to_numpy()
            moment, dated = (codes, None) if kind == "time" else (numbers.astype(np.float64)[codes], dated)
        for name in self.places:
            values, codes = self.values[name], self.codes[name]
            texts = values if pa.types.is_floating(values.type) else canonical_text(values)
            spots.append(texts.to_numpy(zero_copy_only=False)[codes] if grain.level == EXACT else codes)
        return Shown(None if moment is None else np.asarray(moment, np.float64), dated, tuple(spots))

    def habits(self) -> dict[str, Any]:
        """Rare places, hours, weekdays and most frequent places, from the table as it is."""
        out: dict[str, Any] = {}
        if self.places:
            where = _in_order([self.codes[name] for name in self.places])
            traces = Traces.of(self.person, where)
            records = sum_by(where, self.of_each, traces.n_points)
            out["rare"], out["ranks"] = rare_places(traces, records), tuple(np.sort(records)[::-1].tolist())
            pairs = group_codes([self.person.astype(np.int32), where.astype(np.int32)])
            often = sum_by(pairs.ids, self.of_each, pairs.n)
            out["top"] = top_places(self.person[pairs.first], where[pairs.first], often)
        if self.time is not None and self.kinds[self.time] in ("date", "timestamp", "time"):
            moments = microseconds(self.values[self.time], self.kinds[self.time])
            if self.kinds[self.time] != "date":
                out["hours"] = self._season(moments // HOUR, moments // HOUR % 24, HOURS)
            if self.kinds[self.time] != "time":
                out["weekdays"] = self._season(moments // DAY, (moments // DAY + 3) % 7, WEEKDAYS)
        return out

    def _season(self, bucket: IntArray, season: IntArray, labels: Sequence[str]) -> tuple[Season, ...]:
        """By hour, each known with its day and place; by weekday, each day with its place."""
        when = self.codes[str(self.time)]
        dense = np.unique(bucket, return_inverse=True)[1].astype(np.int32)
        grouping = group_codes([dense[when], *(self.codes[name] for name in self.places)])
        return seasons(Traces.of(self.person, grouping.ids), season[when[grouping.first]], labels)


def read_counted(
    source: Table, person: str, time: str | None, places: tuple[str, ...], kinds: dict[str, str], memory: int | None,
    progress: Progress | None,
) -> CountedEvents:  # fmt: skip
    """Counted by the engine: each distinct person, time and place once, with its rows; incomplete ones are left out."""
    counts = source.count(tuple(kinds), memory_budget=memory, progress=progress)
    if time is not None and kinds[time] == "text":
        counts, kinds[time] = _read_times(counts, time), "timestamp"
    rows = counts.records_by_class
    who = counts.codes[counts.column(person)]
    nobody = who == MISSING
    lacking = np.zeros(len(who), dtype=np.bool_)
    gaps = {}
    for name in (*([time] if time else []), *places):
        gap = (counts.codes[counts.column(name)] == MISSING) & ~nobody
        gaps[name] = int(rows[gap].sum())
        lacking |= gap
    keep = ~(nobody | lacking)
    if not keep.any():
        raise no_complete_record()
    absent = len(np.unique(who[~nobody])) - len(np.unique(who[keep]))
    people = np.unique(who[keep], return_inverse=True)[1]
    notes = _gaps(gaps, int(rows[nobody].sum()), absent) + _alone(int(people.max()) + 1, int(rows[keep].sum()))
    codes = {name: counts.codes[counts.column(name)][keep] for name in counts.columns}
    return CountedEvents(people.astype(np.int64), time, places, kinds, codes, rows[keep], counts, tuple(notes))


def _gaps(lacking: Mapping[str, int], nobody: int, absent: int) -> list[str]:
    """The warning about incomplete records."""
    notes = [f"{n:,} records without a value in '{c}' are left out: nobody can know them." for c, n in lacking.items() if n]
    notes += [f"{nobody:,} records without a person are left out."] if nobody else []
    return notes + ([f"{absent:,} people have no complete record and are not among those measured."] if absent else [])


def _alone(people: int, records: int) -> list[str]:
    """The warning about tables that are hardly event tables."""
    notes = ["One person only: known records single out nobody from others."] if people == 1 else []
    one_each = "Every person has one record: this is not an event table. Measure it with --quasi instead."
    return notes + ([one_each] if people == records else [])


def _read_times(counts: ClassCounts, time: str) -> ClassCounts:
    """The counts with a text column of times read as times; equal moments keep their codes and fall together later."""
    at = counts.column(time)
    known = counts.codes[at] != MISSING
    rows = np.bincount(counts.codes[at][known], weights=counts.records_by_class[known], minlength=len(counts.categories[at]))
    read = moments_of(time, counts.categories[at], rows.astype(np.int64))
    categories = tuple(read if j == at else c for j, c in enumerate(counts.categories))
    return replace(counts, categories=categories)


def _in_order(columns: Sequence[CodeArray]) -> IntArray:
    """Places numbered in the order of their values, so that equally frequent ones are always told apart alike."""
    key, _ = pack(columns, [int(c.max()) + 1 for c in columns])
    return np.unique(key, return_inverse=True)[1].astype(np.int64)


PIECE = 2_000_000
"""Rows that are read and coded at a time."""
FOR_VALUES = 1 << 30
"""Bytes for listing the values of a column; beyond them the engine lists them on disk."""

Codes = npt.NDArray[Any]


@dataclass(frozen=True, eq=False, repr=False)
class LargeEvents:
    """Complete records: the person of each, numbered from 0 without a gap, and the code of each value in ``values``.

    ``rows`` are those of the whole table. Habits and what other requirements ask about are not measured.
    """

    person: npt.NDArray[np.int32]
    codes: Mapping[str, Codes]
    values: Mapping[str, pa.Array]
    rows: int
    time: str | None
    kinds: Mapping[str, str]
    notes: tuple[str, ...] = ()

    @property
    def n_people(self) -> int:
        return int(self.person.max()) + 1

    def habits(self) -> dict[str, Any]:
        return {}

    def lowest(self, asked: Asked, records: int, grain: Granularity) -> None:
        return None

    def traces(self, grain: Granularity) -> Traces:
        keys, points = np.zeros(len(self.person), dtype=np.int64), 1
        for name, codes in self.codes.items():
            of_value = (
                time_buckets(name, self.kinds[name], self.values[name], grain.width)
                if name == self.time
                else place_codes(name, self.kinds[name], self.values[name], grain.level, grain.trees)
            )
            if of_value is None:
                continue
            size = int(of_value.max()) + 1
            points = _fit_keys(keys, points, size)
            for part in _pieces(len(keys)):
                keys[part] = keys[part] * size + of_value[codes[part]]
        people = self.n_people
        _fit_keys(keys, points, people)
        for part in _pieces(len(keys)):
            keys[part] = keys[part] * people + self.person[part]
        return Traces.of_keys(keys, people)


def read_in_pieces(source: Table, person: str, time: str | None, kinds: dict[str, str], progress: Progress | None) -> LargeEvents:
    """Read in pieces: a record takes a few bytes, and the habits are left out."""
    others = tuple(n for n in kinds if n != person)
    names = (person, *others)
    listed = {n: _list_values(source, n) for n in names}
    values, counts = {n: v for n, (v, _) in listed.items()}, {n: c for n, (_, c) in listed.items()}
    rows = source.n_rows()
    codes = {n: np.empty(rows, dtype=np.min_scalar_type(len(values[n]))) for n in names}
    kept = nobody = seen = 0
    lacking = dict.fromkeys(others, 0)
    for piece in _gather(source.scan(names, batch_size=PIECE)):
        coded = {n: _codes_of(column, values[n]) for n, column in zip(names, piece, strict=True)}
        whose = coded[person] >= 0
        nobody += int((~whose).sum())
        good = whose.copy()
        for n in others:
            gap = coded[n] < 0
            lacking[n] += int((gap & whose).sum())
            good &= ~gap
        size = int(good.sum())
        for n in names:
            codes[n][kept : kept + size] = coded[n][good]
        kept, seen = kept + size, seen + len(good)
        if progress is not None:
            progress(0.5 * min(1.0, seen / max(1, rows)), "reading")
    if not kept:
        raise no_complete_record()
    who, absent = _without_gaps(codes.pop(person)[:kept], len(values[person]))
    if time is not None and kinds[time] == "text":
        values[time], kinds[time] = moments_of(time, values[time], counts[time]), "timestamp"
    notes = _gaps(lacking, nobody, absent) + _alone(int(who.max()) + 1, len(who))
    notes.append("Most frequent places, rare places and telling hours are not measured in a table of so many records.")
    return LargeEvents(who, {n: codes[n][:kept] for n in others}, values, seen, time, kinds, tuple(notes))


def _gather(batches: Iterator[pa.RecordBatch]) -> Iterator[list[pa.ChunkedArray]]:
    """Columns of about :data:`PIECE` rows each: small batches together, so that a list of values is looked up once for many."""
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(b.num_rows for b in waiting) >= PIECE:
            yield [pa.chunked_array(c) for c in zip(*(b.columns for b in waiting), strict=True)]
            waiting = []
    if waiting:
        yield [pa.chunked_array(c) for c in zip(*(b.columns for b in waiting), strict=True)]


def _list_values(source: Table, name: str) -> tuple[pa.Array, IntArray]:
    """The distinct values of a column, and the rows of each; a missing value is not among them."""
    values, rows = source.values(name, memory_budget=FOR_VALUES)
    gap = int(values.null_count)
    return values.slice(0, len(values) - gap), np.asarray(rows[: len(rows) - gap], dtype=np.int64)


def _codes_of(column: pa.ChunkedArray, values: pa.Array) -> IntArray:
    """The place of each value in the list; −1 where it is missing."""
    column = column.cast(values.type)
    if pa.types.is_floating(values.type):
        column = pc.add(column, pa.scalar(0.0, values.type))  # −0.0 is 0.0
    places = pc.index_in(column, value_set=values)
    if places.null_count != column.null_count:
        raise InternalError("a value of the table was not among those listed.")
    return np.asarray(pc.fill_null(places, -1).to_numpy(), dtype=np.int64)


def _without_gaps(person: Codes, people: int) -> tuple[npt.NDArray[np.int32], int]:
    """People numbered without a gap, and how many of them have no record here."""
    there = np.zeros(people, dtype=np.bool_)
    for part in _pieces(len(person)):
        there[person[part]] = True
    number = (np.cumsum(there) - 1).astype(np.int32)
    out = np.empty(len(person), dtype=np.int32)
    for part in _pieces(len(person)):
        out[part] = number[person[part]]
    return out, int((~there).sum())


def _fit_keys(keys: IntArray, points: int, size: int) -> int:
    """Numbers of points once another column of this many values is added; where they would not fit, the keys are made dense."""
    if points * size >= 2**62:
        distinct = np.unique(keys)
        for part in _pieces(len(keys)):
            keys[part] = np.searchsorted(distinct, keys[part])
        points = len(distinct)
    return points * size


def _pieces(n: int) -> list[slice]:
    return [slice(a, min(a + PIECE, n)) for a in range(0, n, PIECE)]
