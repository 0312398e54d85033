"""``measure`` of an event table: people with many records, each at a time and a place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from shoal.api.arguments import Names, Source, names, opened
from shoal.engines.table import Table
from shoal.errors import DataError, EmptyTableError, RoleError, UsageError
from shoal.hierarchies import read_arx
from shoal.kernels.group import group_codes, pack, sum_by
from shoal.kernels.text import canonical_text
from shoal.measures.events.checking import check_events, event_requirements, most_known
from shoal.measures.events.granularity import EXACT, NONE, microseconds, place_codes, time_buckets
from shoal.measures.events.habits import HOURS, WEEKDAYS, rare_places, seasons, top_places
from shoal.measures.events.moments import moments_of
from shoal.measures.events.result import EventsMeasured, Grain
from shoal.measures.events.shared_sets import shared_sets
from shoal.measures.events.traces import Traces
from shoal.measures.events.unicity import known, unicity
from shoal.measures.result.checking import Verdicts
from shoal.model.counts.classes import MISSING, ClassCounts, IntArray
from shoal.model.hierarchy import Hierarchy
from shoal.model.progress import Progress
from shoal.report import events_report

MOST_GRAINS = 40
USUAL = (1, 2, 3, 4)
TIMES = ("date", "timestamp", "time", "integer", "decimal", "float", "text")
WIDTHS = {
    "timestamp": (EXACT, "hour", "day", "week", NONE),
    "date": (EXACT, "week", "month", NONE),
    "time": (EXACT, "hour", "part of day", NONE),
}
DAY, HOUR = 86_400_000_000, 3_600_000_000


class EventMeasurement(EventsMeasured):
    """What a few known records reveal; a card in Jupyter.

    ``m.curve, m.needed, m.grid, m.top, m.rare, m.shared, m.explain(), m.to_json(), m.report("out.html"), m.plot("out.svg")``.
    """

    def _repr_html_(self) -> str:
        return events_report.card(self)

    def report(self, path: str | Path) -> Path:
        """Write a self-contained HTML report: no data value, nothing loaded from elsewhere."""
        return events_report.write_report(self, Path(path))

    def plot(self, path: str | Path) -> Path:
        """Write the curves by granularity: .svg, .png or .html."""
        return events_report.plot(self, Path(path))

    def check(self, require: str) -> Verdicts:
        """Hold requirements against the table: ``m.check("known[2]>=5, unicity[4]<=0.05")``; true where all are met.

        The records asked about must have been measured (``known_records``).
        """
        asked = event_requirements(require)
        most, longest = most_known(asked), max(k.records for k in self.curve)
        if len(self.shared) < min(most, self.longest) or longest < min(most, self.longest):
            raise UsageError(
                f"{most} known records are asked about, but not all of 1 to {most} were measured.",
                hint=f"Measure with known_records=range(1, {most + 1}) (--known 1-{most}).",
            )
        return check_events(self, asked)


@dataclass(frozen=True, eq=False)
class _Events:
    """Distinct (person, time, place) with their rows, without those that lack one of them; people numbered anew."""

    person: IntArray
    time: Any
    places: tuple[Any, ...]
    rows: IntArray
    counts: ClassCounts
    notes: tuple[str, ...]


def measure_events(
    table: Source,
    *,
    unit: str | None = None,
    time: str | None = None,
    place: Names | None = None,
    time_widths: Sequence[str] | None = None,
    place_levels: Sequence[str] | None = None,
    known_records: Sequence[int] | None = None,
    hierarchies: Mapping[str, Any] | None = None,
    seed: int = 0,
    memory_budget: int | None = None,
    progress: Progress | None = None,
) -> EventMeasurement:
    """What a few known records of a person reveal.

    Parameters
    ----------
    table : Table, path, URL or frame
    unit : str
        The column that names a person (the table's by default).
    time, place : column, columns, at least one of both
        When and where (or what) a record is; its distinct values together are a *point*.
    time_widths, place_levels : sequence of str, optional
        Granularities to measure, the first for the headline: ``exact, hour, day, 6h, month, part of day, weekday, none``;
        ``exact, grid:0.1, prefix:3, level:1, none``.
    known_records : sequence of int, optional
        How many records are known: 1 to 4 by default.
    hierarchies : mapping of place column to Hierarchy, rule or file, optional
        For ``level:N``.
    seed : int
        For the random sets, where there are too many to count.

    Examples
    --------
    >>> t = {"who": [1, 1, 2, 2, 3], "where": ["a", "b", "b", "c", "b"]}
    >>> m = measure_events(t, unit="who", place="where", known_records=[1, 2])
    >>> [round(k.unique.value, 3) for k in m.curve], m.people
    ([0.333, 1.0], 3)
    """
    source = opened(table)
    person, places = _columns(source, unit, time, names(place))
    wanted = tuple(n for n in (person, time) if n is not None) + places
    counts = source.count(wanted, memory_budget=memory_budget, progress=progress)
    kinds = {n: source.schema[n].kind for n in wanted}
    if time is not None and kinds[time] == "text":
        counts, kinds[time] = _read_times(counts, time), "timestamp"
    events = _usable(counts, person, time, places)
    widths = _widths(kinds, time, time_widths)
    levels = tuple(place_levels or (EXACT,)) if places else (NONE,)
    trees = {n: _hierarchy(n, h, counts) for n, h in (hierarchies or {}).items()}
    grains = [(w, p) for p in levels for w in widths if (w, p) != (NONE, NONE)]
    if not 1 <= len(grains) <= MOST_GRAINS:
        raise UsageError(f"{len(grains)} granularities are asked for.", hint=f"At least 1 and at most {MOST_GRAINS}.")
    points = [_points(events, kinds, time, w, p, trees) for w, p in grains]
    traces = Traces.of(events.person, points[0])
    asked, note = _asked(known_records, traces)
    rng = np.random.default_rng(seed)
    found = unicity(traces, asked, seed=seed)
    grid = [Grain(*_said(grains[0], time, places), traces.n_points, found.curve)]
    for at, ids in enumerate(points[1:], start=1):
        if progress is not None:
            progress(at / len(points), "counting known records")
        one = Traces.of(events.person, ids)
        curve = tuple(known(one, s, rng) for s in asked if s <= int(one.lengths.max()))
        grid.append(Grain(*_said(grains[at], time, places), one.n_points, curve))
    return EventMeasurement(
        source.name,
        person,
        time,
        places,
        int(_rows(counts).sum()),
        traces.n_people,
        traces.n_points,
        found,
        tuple(grid),
        shared_sets(found.curve),
        longest=int(traces.lengths.max()),
        **_habits(events, kinds, time, places),
        notes=(*events.notes, *note),
    )


def _columns(source: Table, unit: str | None, time: str | None, place: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """The person and the places, each a column in one role; a time that can be told."""
    person = unit or source.schema.unit
    if person is None:
        raise UsageError("an event table needs a person per record.", hint="Name the column: unit=… or --unit.")
    if time is None and not place:
        raise UsageError("an event table needs a time or a place.", hint="Name them: --time, --place.")
    for what, name in (("unit", person), *((("time", time),) if time else ()), *(("place", n) for n in place)):
        source.schema.require(name, what=what)
    together = [person, *([time] if time else []), *place]
    if len(set(together)) != len(together):
        raise RoleError("a column is named twice among unit, time and place.", hint="Name each column once.")
    if time is not None and source.schema[time].kind not in TIMES:
        raise DataError(f"column '{time}' holds {source.schema[time].kind}, not times.", hint="Name the column of the times.")
    return person, place


def _usable(counts: ClassCounts, person: str, time: str | None, places: tuple[str, ...]) -> _Events:
    """Leave out records that lack person, time or place, and say how many."""
    rows = _rows(counts)
    who = counts.codes[counts.column(person)]
    nobody = who == MISSING
    lacking = np.zeros(len(who), dtype=np.bool_)
    notes = []
    for name in (*([time] if time else []), *places):
        gap = (counts.codes[counts.column(name)] == MISSING) & ~nobody
        if gap.any():
            notes.append(f"{int(rows[gap].sum()):,} records without a value in '{name}' are left out: nobody can know them.")
        lacking |= gap
    if nobody.any():
        notes.append(f"{int(rows[nobody].sum()):,} records without a person are left out.")
    keep = ~(nobody | lacking)
    if not keep.any():
        raise EmptyTableError(
            "no record has a person, a time and a place, as far as these are named.", hint="Check the columns named."
        )
    absent = len(np.unique(who[~nobody])) - len(np.unique(who[keep]))
    if absent:
        notes.append(f"{absent:,} people have no complete record and are not among those measured.")
    people = np.unique(who[keep], return_inverse=True)[1]
    if int(people.max()) == 0:
        notes.append("One person only: known records single out nobody from others.")
    if len(np.unique(who[keep])) == int(rows[keep].sum()):
        notes.append("Every person has one record: this is no event table. Measure it with --quasi instead.")
    codes = {name: counts.codes[counts.column(name)][keep] for name in counts.columns}
    told = None if time is None else codes[time]
    return _Events(people.astype(np.int64), told, tuple(codes[n] for n in places), rows[keep], counts, tuple(notes))


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


def _widths(kinds: Mapping[str, str], time: str | None, given: Sequence[str] | None) -> tuple[str, ...]:
    if time is None:
        if given:
            raise UsageError("widths of time are given without a time.", hint="Name the column: --time.")
        return (NONE,)
    return tuple(given) if given else WIDTHS.get(kinds[time], (EXACT, NONE))


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


def _said(grain: tuple[str, str], time: str | None, places: tuple[str, ...]) -> tuple[str | None, str | None]:
    return (None if time is None else grain[0], grain[1] if places else None)


def _asked(given: Sequence[int] | None, traces: Traces) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """The numbers of known records; by default as many of 1 to 4 as anybody has."""
    if given is not None:
        if not given or any(isinstance(s, bool) or not isinstance(s, int) or s < 1 for s in given):
            raise UsageError("numbers of known records are whole and at least 1.", hint="For example 1,2,3,4.")
        return tuple(given), ()
    longest = int(traces.lengths.max())
    asked = tuple(s for s in USUAL if s <= longest)
    note = f"Nobody has more than {longest} distinct {'record' if longest == 1 else 'records'}."
    return asked, (note,) if len(asked) < len(USUAL) else ()


def _habits(events: _Events, kinds: Mapping[str, str], time: str | None, places: tuple[str, ...]) -> dict[str, Any]:
    """Rare places, hours, weekdays and most frequent places, from the table as it is."""
    out: dict[str, Any] = {}
    if places:
        where = _in_order(events.places)
        traces = Traces.of(events.person, where)
        out["rare"] = rare_places(traces, sum_by(where, events.rows, traces.n_points))
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


def _hierarchy(name: str, given: Any, counts: ClassCounts) -> Hierarchy:
    if isinstance(given, Hierarchy):
        return given
    if name not in counts.columns:
        raise UsageError(f"a hierarchy is given for '{name}', which is not a place.", hint="Name it with --place.")
    rule = read_arx(given, name) if isinstance(given, str | Path) else given
    made: Hierarchy = rule.over(name, canonical_text(counts.categories[counts.column(name)]).to_pylist())
    return made
