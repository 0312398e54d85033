"""``measure`` of an event table: people with many records, each at a time and a place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, overload

import numpy as np
import pyarrow as pa

from shoal.api.arguments import Names, Source, names, opened
from shoal.api.event_records import CountedEvents, Granularity, LargeEvents, read_counted, read_in_pieces
from shoal.disk.atomic import write_text
from shoal.engines.table import Table
from shoal.errors import DataError, RoleError, UsageError
from shoal.hierarchies import read_arx
from shoal.kernels.text import canonical_text
from shoal.measures.events.checking import check_events, event_requirements
from shoal.measures.events.knowledge import Sensitive, most_known
from shoal.measures.events.result import EventsMeasured, Grain
from shoal.measures.events.traces import EXACT, KINDS_OF_TIME, NONE, Traces
from shoal.measures.events.unicity import known, shared_sets, unicity
from shoal.measures.result.checking import Verdicts
from shoal.model.display import Progress
from shoal.model.hierarchy import Hierarchy
from shoal.model.requirement import KnownRecords, Unicity
from shoal.report import events_report
from shoal.report.charts import Chart, save

MOST_GRAINS = 40
LARGE = 20_000_000
"""Rows above which a table is read in pieces and held as narrow codes."""
USUAL = (1, 2, 3, 4)
WIDTHS = {
    "timestamp": (EXACT, "hour", "day", "week", NONE),
    "date": (EXACT, "week", "month", NONE),
    "time": (EXACT, "hour", "part of day", NONE),
}


class EventMeasurement(EventsMeasured):
    """What a few known records reveal; a card in Jupyter.

    ``m.curve, m.needed, m.grid, m.top, m.rare, m.shared, m.explain(), m.to_json(), m.report("out.html"), m.plot("out.svg")``.
    """

    def _repr_html_(self) -> str:
        return events_report.card(self)

    def report(self, path: str | Path) -> Path:
        """Write a self-contained HTML report: no data value, nothing loaded from elsewhere."""
        return write_text(path, events_report.report_html(self))

    @overload
    def plot(self) -> Chart: ...
    @overload
    def plot(self, path: str | Path) -> Path: ...
    def plot(self, path: str | Path | None = None) -> Chart | Path:
        """The curves by granularity, which a notebook shows; with a path they are written: .svg, .png or .html."""
        chart = events_report.curves(self)
        return chart if path is None else save(chart, path)

    def check(self, require: str) -> Verdicts:
        """Hold requirements against the table: ``m.check("known[2]>=5, unicity[4]<=0.05")``; true where all are met.

        The records asked about must have been measured (``known_records``).
        """
        requirements = event_requirements(require)
        most, longest = most_known(requirements), max(k.records for k in self.curve)
        if len(self.shared) < min(most, self.longest) or longest < min(most, self.longest):
            hint = f"Measure with known_records=range(1, {most + 1}) (--known 1-{most})."
            raise UsageError(f"{most} known records are asked about, but not all of 1 to {most} were measured.", hint=hint)
        return check_events(self, requirements)


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
    require: str | None = None,
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
    require : str, optional
        Requirements that :meth:`EventMeasurement.check` will be asked about: those on other knowledge than exact records
        (``absent[2]>=5, length[2]>=5, near[2, 1h]>=5``) and on sensitive columns (``alpha[purpose]<=0.5``) are counted only then.

    Examples
    --------
    >>> t = {"who": [1, 1, 2, 2, 3], "where": ["a", "b", "b", "c", "b"]}
    >>> m = measure_events(t, unit="who", place="where", known_records=[1, 2])
    >>> [round(k.unique.value, 3) for k in m.curve], m.people
    ([0.333, 1.0], 3)
    """
    source = opened(table)
    person, places = _columns(source, unit, time, names(place))
    stated = event_requirements(require) if require else ()
    wanted = [r for r in stated if not (type(r) is KnownRecords or isinstance(r, Unicity))]
    large = source.most_rows() > LARGE
    values = {r.column for r in wanted if isinstance(r, Sensitive)}
    for column in values:
        source.schema.require(column, what="sensitive column")
        if column in (person, time, *places):
            raise RoleError(f"column '{column}' is sensitive and known at the same time.", hint="Name each column once.")
    kinds = {n: source.schema[n].kind for n in (person, *(() if large else values), *((time,) if time else ()), *places)}
    read: LargeEvents | CountedEvents
    if large:
        read = read_in_pieces(source, person, time, kinds, progress)
    else:
        read = read_counted(source, person, time, places, kinds, memory_budget, progress)
    widths = _widths(kinds, time, time_widths)
    levels = tuple(place_levels or (EXACT,)) if places else (NONE,)
    trees = {n: _hierarchy(n, h, read.values) for n, h in (hierarchies or {}).items()}
    grains = [Granularity(w, p, trees) for p in levels for w in widths if (w, p) != (NONE, NONE)]
    if not 1 <= len(grains) <= MOST_GRAINS:
        raise UsageError(f"{len(grains)} granularities are asked for.", hint=f"At least 1 and at most {MOST_GRAINS}.")
    traces = read.traces(grains[0])
    sizes, note = _asked_records(known_records, traces)
    rng = np.random.default_rng(seed)
    unicity_curve = unicity(traces, sizes, seed=seed)
    people, points, longest = traces.n_people, traces.n_points, int(traces.lengths.max())
    grid = [Grain(*_grain_words(grains[0], time, places), points, unicity_curve.curve)]
    del traces
    for at, grain in enumerate(grains[1:], start=1):
        if progress is not None:
            progress(0.5 + 0.5 * at / len(grains), "counting known records")
        one = read.traces(grain)
        curve = tuple(known(one, s, rng) for s in sizes if s <= int(one.lengths.max()))
        grid.append(Grain(*_grain_words(grain, time, places), one.n_points, curve))
        del one
    shared = shared_sets(unicity_curve.curve)
    records = most_known(stated) or 1
    further = {str(r): read.lowest(r, getattr(r, "records", records), grains[0]) for r in wanted}
    return EventMeasurement(
        *(source.name, person, time, places, read.rows, people, points, unicity_curve, tuple(grid), shared),
        longest=longest,
        further=further,
        **read.habits(),
        notes=(*read.notes, *note),
    )


def _columns(source: Table, unit: str | None, time: str | None, place: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """The person and the places, each a column in one role; a time that can be read."""
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
    if time is not None and source.schema[time].kind not in KINDS_OF_TIME:
        raise DataError(f"column '{time}' holds {source.schema[time].kind}, not times.", hint="Name the column of the times.")
    return person, place


def _widths(kinds: Mapping[str, str], time: str | None, given: Sequence[str] | None) -> tuple[str, ...]:
    if time is None:
        if given:
            raise UsageError("widths of time are given without a time.", hint="Name the column: --time.")
        return (NONE,)
    return tuple(given) if given else WIDTHS.get(kinds[time], (EXACT, NONE))


def _grain_words(grain: Granularity, time: str | None, places: tuple[str, ...]) -> tuple[str | None, str | None]:
    return (None if time is None else grain.width, grain.level if places else None)


def _asked_records(given: Sequence[int] | None, traces: Traces) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """The numbers of known records; by default as many of 1 to 4 as anybody has."""
    if given is not None:
        if not given or any(isinstance(s, bool) or not isinstance(s, int) or s < 1 for s in given):
            raise UsageError("numbers of known records are whole and at least 1.", hint="For example 1,2,3,4.")
        return tuple(given), ()
    longest = int(traces.lengths.max())
    usual = tuple(s for s in USUAL if s <= longest)
    note = f"Nobody has more than {longest} distinct {'record' if longest == 1 else 'records'}."
    return usual, (note,) if len(usual) < len(USUAL) else ()


def _hierarchy(name: str, given: Any, values: Mapping[str, pa.Array]) -> Hierarchy:
    if isinstance(given, Hierarchy):
        return given
    if name not in values:
        raise UsageError(f"a hierarchy is given for '{name}', which is not a place.", hint="Name it with --place.")
    rule = read_arx(given, name) if isinstance(given, str | Path) else given
    tree: Hierarchy = rule.over(name, canonical_text(values[name]).to_pylist())
    return tree
