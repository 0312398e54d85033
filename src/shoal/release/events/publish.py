"""The published columns of an event table: pseudonyms, and times and places as the plan shows them."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.engines.open import open as opened
from shoal.errors import InternalError, OutputError, PolicyError
from shoal.kernels.text import canonical_text
from shoal.measures.events.knowledge import Shown
from shoal.measures.events.traces import CALENDAR, CYCLES, EXACT, MONDAY, NONE, UNITS, microseconds, months, time_length
from shoal.model.counts.classes import IntArray
from shoal.model.hierarchy import Hierarchy
from shoal.model.plan import Plan
from shoal.model.requirement import InferredPlace, NearRecords
from shoal.release.events.records import Column, EventTable
from shoal.release.policy.events import ONLY
from shoal.search.events.event_search import Solution, label_texts
from shoal.search.events.problem import CUT, EVERY, LOCAL, NEVER

DAY = UNITS["d"]
TRIPS = "trips"
"""The column of flows that counts."""


def published(events: EventTable, solution: Solution) -> Any:
    """The records as they are published, in an order that tells nothing (pyarrow)."""
    index = np.flatnonzero(solution.stays)
    columns = _points(events, solution, index, shifted=True)
    if solution.shape.renew != EVERY:
        columns[events.rules.unit] = pseudonyms(events, solution)
    for name in (*events.policy.insensitive, *events.policy.sensitive):
        columns[name] = events.records[name].take(pa.array(index)).combine_chunks()
    if events.rules.flows == ONLY:
        counted = pa.table(columns).group_by(list(columns)).aggregate([([], "count_all")])
        return counted.rename_columns([*columns, TRIPS]).sort_by([(n, "ascending") for n in columns])
    names = [n for n in events.table.schema.names if n in columns]
    first = [events.rules.unit] if events.rules.unit in columns else []
    out = pa.table({n: columns[n] for n in names})
    return out.sort_by([(n, "ascending") for n in (*first, *(n for n in names if n not in first))])


def private(events: EventTable, solution: Solution) -> tuple[Any, list[str]]:
    """Who is behind each published record, at the dates before a shift: trace, person, and what tells the point, with the names
    of the latter. Never published: people are counted in it."""
    index = np.flatnonzero(solution.stays)
    points = _points(events, solution, index, shifted=False)
    columns = {"trace": pa.array(solution.trace[index]), "person": pa.array(events.problem.person[index])}
    columns |= {f"value {name}": events.records[name].take(pa.array(index)).combine_chunks() for name in events.policy.sensitive}
    named = {f"point {i}": values for i, values in enumerate(points.values())}
    return pa.table(columns | named), list(named)


def points_shown(events: EventTable, solution: Solution, index: IntArray) -> dict[str, Any]:
    """Time and places of some records as the plan shows them, at the dates before a shift."""
    return _points(events, solution, index, shifted=False)


def _points(events: EventTable, solution: Solution, index: IntArray, *, shifted: bool) -> dict[str, Any]:
    """Time and places of some records as the plan shows them."""
    columns: dict[str, Any] = {}
    if events.time is not None and solution.shape.time != NONE:
        move = shifted and events.rules.shift
        days = shifts(events, solution.shape.time)[events.problem.person[index]] if move else None
        columns[events.time.name] = _times(events.time, solution.shape.time, index, days)
    for i, place in enumerate(events.places if solution.shape.place != NONE else ()):
        labels = place_labels(place, solution.shape.place, events.trees, solution.levels)
        columns[place.name] = labels.take(pa.array(place.codes[index]))
        if solution.shape.place == LOCAL and solution.blank is not None:
            hidden = pa.array(solution.blank[index] >= len(events.places) - i)
            columns[place.name] = pc.if_else(hidden, BLANK, columns[place.name])
    return columns


BLANK = "*"
"""The place of a record that cannot show it."""


def shown_by(events: EventTable) -> Callable[[str, str], Shown]:
    """What is published of the records beside their points: times as numbers, places as text or coordinates, sensitive values."""
    values = {}
    for name in events.policy.sensitive:
        codes = events.records[name].combine_chunks().dictionary_encode().indices
        values[name] = np.asarray(codes.fill_null(-1).to_numpy(zero_copy_only=False), dtype=np.int64)

    def shown(width: str, level: str) -> Shown:
        moment, dated = None, None
        if events.time is not None and width != NONE:
            times = time_labels(events.time, width)
            numbers = times.to_numpy(zero_copy_only=False)
            if pa.types.is_timestamp(times.type) or pa.types.is_date(times.type):
                numbers, dated = numbers.astype("datetime64[us]").astype(np.int64), True
            elif pa.types.is_integer(times.type) or pa.types.is_floating(times.type):
                dated = False
            else:
                numbers = np.unique(numbers.astype(str), return_inverse=True)[1]
            moment = numbers.astype(np.float64)[events.time.codes]
        places = []
        for p in events.places if level != NONE else ():
            labels = place_labels(p, level, events.trees)
            plain = labels if pa.types.is_floating(labels.type) else canonical_text(labels)
            places.append(plain.to_numpy(zero_copy_only=False)[p.codes])
        return Shown(moment, dated, tuple(places), values)

    return shown


def with_shown(events: EventTable) -> EventTable:
    """The table with what the search must know of the published records, if a requirement is about it."""
    if not any(r.sensitive is not None or isinstance(r, NearRecords | InferredPlace) for r in events.problem.asked):
        return events
    return replace(events, problem=replace(events.problem, shown=shown_by(events)))


def shown_of(events: EventTable, solution: Solution) -> Shown:
    """What is published of the records by a plan beside their points."""
    shown = shown_by(events)(solution.shape.time, EXACT if solution.shape.place in (CUT, LOCAL) else solution.shape.place)
    places: list[Any] = list(shown.places)
    if solution.shape.place == CUT:
        labels = place_labels(events.places[0], CUT, events.trees, solution.levels)
        places = [labels.to_numpy(zero_copy_only=False)[events.places[0].codes]]
    elif solution.blank is not None:
        places = [np.where(solution.blank >= len(places) - i, BLANK, p.astype(str)) for i, p in enumerate(places)]
    return replace(shown, places=tuple(places))


def shifts(events: EventTable, width: str) -> IntArray:
    """Days by which each person's dates are moved, up to the policy's number both ways; whole weeks where weeks are published."""
    step = shift_step(width)
    most = events.rules.shift // step
    rng = np.random.default_rng([events.policy.seed, 3])
    return rng.integers(-most, most + 1, events.n_people) * step


def shift_step(width: str) -> int:
    """The days of which every shift is a multiple."""
    return max(1, (time_length(width) or DAY) // DAY)


def _times(time: Column, width: str, index: IntArray, days: IntArray | None) -> Any:
    """The time of each record as it is published."""
    labels = time_labels(time, width)
    taken = labels.take(pa.array(time.codes[index]))
    if days is None:
        return taken
    unit = "D" if pa.types.is_date(taken.type) else "us"
    moved = taken.to_numpy(zero_copy_only=False).astype(f"datetime64[{unit}]") + days.astype("timedelta64[D]")
    return pa.array(moved).cast(taken.type)


def time_labels(time: Column, width: str) -> Any:
    """What is published of each distinct time: itself, the beginning of its bucket, or the name of its season in a cycle."""
    if width == EXACT:
        return time.values
    if time.kind in ("integer", "decimal", "float"):
        return _floor(time.values, float(width), whole=time.kind == "integer")
    if width in CALENDAR:
        first = (months(time.values) // CALENDAR[width] * CALENDAR[width]).astype("datetime64[M]").astype("datetime64[D]")
        return pa.array(first)
    if width in CYCLES:
        names = CYCLES[width].names
        return pa.array([names[i] for i in CYCLES[width].season(microseconds(time.values, time.kind)).tolist()], pa.string())
    length = time_length(width)
    if length is None:
        raise InternalError("a width of time that was searched with is not known.")
    since = MONDAY if length % UNITS["w"] == 0 else 0
    start = (microseconds(time.values, time.kind) - since) // length * length + since
    if time.kind == "time":
        midnight = datetime.datetime(2000, 1, 1)
        return pa.array([(midnight + datetime.timedelta(microseconds=int(us))).time().isoformat() for us in start])
    times = pa.array(start.astype("datetime64[us]"))
    return times.cast(pa.date32()) if length % DAY == 0 or time.kind == "date" else times


def place_labels(place: Column, level: str, trees: Mapping[str, Hierarchy], levels: Any = None) -> Any:
    """What is published of each distinct place at a level; ``levels`` of the leaves for a cut."""
    if level == EXACT:
        return place.values
    if level == LOCAL:
        return canonical_text(place.values)
    if level == CUT or level.startswith("level:"):
        tree = trees[place.name]
        at = levels if level == CUT else np.full(tree.n_leaves, int(level.removeprefix("level:")), dtype=np.int64)
        texts = label_texts(tree, at)
        return pa.array([texts[tree.position[t]] for t in canonical_text(place.values).to_pylist()], pa.string())
    how, colon, number = level.partition(":")
    if not colon:
        how, number = ("grid" if place.kind in ("float", "decimal") else "prefix"), level
    if how == "grid":
        return _floor(place.values, float(number), whole=False)
    return pa.array([t[: int(number)] for t in canonical_text(place.values).to_pylist()], pa.string())


def _floor(values: Any, width: float, *, whole: bool) -> Any:
    """The lower end of the interval of this width that a number lies in, by the rule of the granularities."""
    numbers = values.cast(pa.float64()).to_numpy(zero_copy_only=False)
    low = np.round(np.floor(numbers / width + 1e-9) * width, 10) + 0.0
    return pa.array(low.astype(np.int64)) if whole and width == int(width) else pa.array(low)


def write_table(made: Any, file: Path) -> None:
    """The records (pyarrow, or a file) as they are, through the writers of the engine: cells that a spreadsheet would run are
    made inert."""
    try:
        source = opened(made) if isinstance(made, Path) else opened(made, name="events")
        source.recode(Plan(shuffle=False), file)
    except OutputError:
        raise
    except OSError as error:  # whose message would name a file of a temporary place
        hint = "Check rights and free space."
        raise OutputError(f"the data could not be written: {type(error).__name__}.", hint=hint) from None


def pseudonyms(events: EventTable, solution: Solution) -> Any:
    """The pseudonym of every published record (pyarrow), in the order of the records that stay."""
    index = np.flatnonzero(solution.stays)
    used, which = np.unique(solution.trace[index], return_inverse=True)
    rng = np.random.default_rng([events.policy.seed, 2])
    dealt = rng.permutation(len(used))
    if not events.rules.vault:
        return pa.array(dealt[which] + 1)
    owner = np.empty(len(used), dtype=np.int64)
    owner[dealt[which]] = events.problem.person[index]
    return _of_vault(events, owner, renewed=solution.shape.renew != NEVER).take(pa.array(dealt[which]))


def _of_vault(events: EventTable, owner: IntArray, *, renewed: bool) -> Any:
    """A pseudonym of the domain for each trace; the traces come in a random order, so that it reveals nothing."""
    from shoal.protector.pseudonyms.plan_step import Pseudonymize, in_session

    domain, column = events.rules.vault, events.rules.unit
    people = pa.table({column: canonical_text(events.ids).take(pa.array(owner))})
    with in_session():
        named = Pseudonymize(column, domain=domain).start(0)(people, 0)[column]
    pseudonyms = pa.concat_arrays(named.chunks) if isinstance(named, pa.ChunkedArray) else named
    if pseudonyms.null_count or len(pseudonyms.unique()) < len(pseudonyms):
        if renewed:
            what = f"domain '{domain}' of the vault gives a person one pseudonym, and the plan renews it."
            hint = "Use a domain of scope transaction: shoal vault domain add NAME --scope transaction."
            raise PolicyError(what, hint=hint, path="events.vault")
        raise PolicyError(
            f"domain '{domain}' of the vault gives two people the same pseudonym: their ids differ only in how they are written.",
            hint="Write the ids in one way, or use a domain with --clean none.",
            path="events.vault",
        )
    return pseudonyms
