"""An event table, read: counted by the engine, or, where it is large, in pieces."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shoal.api.readers.event_records import read_large
from shoal.engines.table import Table
from shoal.errors import EmptyTableError
from shoal.kernels.group import group_codes, pack, sum_by
from shoal.measures.events.granularity import microseconds, place_codes, time_buckets
from shoal.measures.events.habits import HOURS, WEEKDAYS, rare_places, seasons, top_places
from shoal.measures.events.traces import Traces, moments_of
from shoal.model.counts.classes import MISSING, ClassCounts, IntArray
from shoal.model.display import Progress
from shoal.model.hierarchy import Hierarchy

DAY, HOUR = 86_400_000_000, 3_600_000_000


@dataclass(frozen=True, eq=False)
class _Events:
    """Distinct (person, time, place) with their rows, without those that lack one of them; people numbered anew."""

    person: IntArray
    time: Any
    places: tuple[Any, ...]
    rows: IntArray
    counts: ClassCounts
    notes: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class ReadEvents:
    """An event table, read: its distinct values, traces at a granularity, and what its habits tell."""

    values: Mapping[str, Any]
    rows: int
    notes: tuple[str, ...]
    traces: Callable[[str, str, Mapping[str, Hierarchy]], Traces]
    habits: Callable[[], dict[str, Any]] = dict


def read_counted(
    source: Table, person: str, time: str | None, places: tuple[str, ...], kinds: dict[str, str], memory: int | None,
    progress: Progress | None,
) -> ReadEvents:  # fmt: skip
    """Counted by the engine: each distinct person, time and place once, with its rows."""
    counts = source.count(tuple(kinds), memory_budget=memory, progress=progress)
    if time is not None and kinds[time] == "text":
        counts, kinds[time] = _read_times(counts, time), "timestamp"
    events = _usable(counts, person, time, places)

    def traces(width: str, level: str, trees: Mapping[str, Hierarchy]) -> Traces:
        return Traces.of(events.person, _points(events, kinds, time, width, level, trees))

    values = dict(zip(counts.columns, counts.categories, strict=True))
    return ReadEvents(values, int(_rows(counts).sum()), events.notes, traces, lambda: _habits(events, kinds, time, places))


def read_in_pieces(
    source: Table, person: str, time: str | None, places: tuple[str, ...], kinds: dict[str, str], memory: int | None,
    progress: Progress | None,
) -> ReadEvents:  # fmt: skip
    """Read in pieces: a record takes a few bytes, and the habits are left out."""
    records = read_large(source, person, tuple(n for n in kinds if n != person), progress)
    values = dict(records.values)
    if time is not None and kinds[time] == "text":
        values[time], kinds[time] = moments_of(time, values[time], records.counts[time]), "timestamp"
        records = replace(records, values=values)
    notes = _gaps(records.lacking, records.nobody, records.absent)
    notes += _alone(records.n_people, len(records.person))
    notes.append("Most frequent places, rare places and telling hours are not measured in a table of so many records.")
    return ReadEvents(values, records.rows, tuple(notes), lambda w, p, trees: records.traces(time, kinds, w, p, trees))


def _usable(counts: ClassCounts, person: str, time: str | None, places: tuple[str, ...]) -> _Events:
    """Leave out records that lack person, time or place, and say how many."""
    rows = _rows(counts)
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
        raise EmptyTableError(
            "no record has a person, a time and a place, as far as these are named.", hint="Check the columns named."
        )
    absent = len(np.unique(who[~nobody])) - len(np.unique(who[keep]))
    people = np.unique(who[keep], return_inverse=True)[1]
    notes = _gaps(gaps, int(rows[nobody].sum()), absent) + _alone(int(people.max()) + 1, int(rows[keep].sum()))
    codes = {name: counts.codes[counts.column(name)][keep] for name in counts.columns}
    told = None if time is None else codes[time]
    return _Events(people.astype(np.int64), told, tuple(codes[n] for n in places), rows[keep], counts, tuple(notes))


def _gaps(lacking: Mapping[str, int], nobody: int, absent: int) -> list[str]:
    """What is said of records that are not complete."""
    notes = [f"{n:,} records without a value in '{c}' are left out: nobody can know them." for c, n in lacking.items() if n]
    notes += [f"{nobody:,} records without a person are left out."] if nobody else []
    return notes + ([f"{absent:,} people have no complete record and are not among those measured."] if absent else [])


def _alone(people: int, records: int) -> list[str]:
    """What is said of tables that are hardly event tables."""
    notes = ["One person only: known records single out nobody from others."] if people == 1 else []
    one_each = "Every person has one record: this is no event table. Measure it with --quasi instead."
    return notes + ([one_each] if people == records else [])


def _read_times(counts: ClassCounts, time: str) -> ClassCounts:
    """The counts with a text column of times read as times; equal moments keep their codes and fall together later."""
    at = counts.column(time)
    known = counts.codes[at] != MISSING
    rows = np.bincount(counts.codes[at][known], weights=_rows(counts)[known], minlength=len(counts.categories[at]))
    read = moments_of(time, counts.categories[at], rows.astype(np.int64))
    categories = tuple(read if j == at else c for j, c in enumerate(counts.categories))
    return replace(counts, categories=categories)


def _rows(counts: ClassCounts) -> IntArray:
    return counts.sizes if counts.records is None else counts.records


def _points(
    events: _Events, kinds: Mapping[str, str], time: str | None, width: str, level: str, trees: Mapping[str, Hierarchy]
) -> IntArray:
    """The point of each event at a granularity, numbered from 0."""
    columns = []
    counts = events.counts
    if time is not None:
        buckets = time_buckets(time, kinds[time], counts.categories[counts.column(time)], width)
        columns += [] if buckets is None else [buckets[events.time]]
    for name, codes in zip(counts.columns[len(counts.columns) - len(events.places) :], events.places, strict=True):
        places = place_codes(name, kinds[name], counts.categories[counts.column(name)], level, trees)
        columns += [] if places is None else [places[codes]]
    return group_codes(columns, n_rows=len(events.person)).ids


def _habits(events: _Events, kinds: Mapping[str, str], time: str | None, places: tuple[str, ...]) -> dict[str, Any]:
    """Rare places, hours, weekdays and most frequent places, from the table as it is."""
    out: dict[str, Any] = {}
    if places:
        where = _in_order(events.places)
        traces = Traces.of(events.person, where)
        records = sum_by(where, events.rows, traces.n_points)
        out["rare"], out["ranks"] = rare_places(traces, records), tuple(np.sort(records)[::-1].tolist())
        pairs = group_codes([events.person.astype(np.int32), where.astype(np.int32)])
        often = sum_by(pairs.ids, events.rows, pairs.n)
        out["top"] = top_places(events.person[pairs.first], where[pairs.first], often)
    if time is not None and kinds[time] in ("date", "timestamp", "time"):
        counts = events.counts
        moments = microseconds(counts.categories[counts.column(time)], kinds[time])
        if kinds[time] != "date":
            out["hours"] = _season(events, moments // HOUR, moments // HOUR % 24, HOURS)
        if kinds[time] != "time":
            out["weekdays"] = _season(events, moments // DAY, (moments // DAY + 3) % 7, WEEKDAYS)
    return out


def _in_order(columns: Sequence[Any]) -> IntArray:
    """Places numbered in the order of their values, whatever else is counted: equally frequent ones are then told apart alike."""
    key, _ = pack(columns, [int(c.max()) + 1 for c in columns])
    return np.unique(key, return_inverse=True)[1].astype(np.int64)


def _season(events: _Events, bucket: IntArray, season: IntArray, said: Sequence[str]) -> Any:
    """By hour, each known with its day and place; by weekday, each day with its place."""
    dense = np.unique(bucket, return_inverse=True)[1].astype(np.int32)
    grouping = group_codes([dense[events.time], *events.places])
    return seasons(Traces.of(events.person, grouping.ids), season[events.time[grouping.first]], said)
