"""Read an event table for a release: complete records as codes, and the shapes that the search may choose from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.engines.core.memory import bytes_to_release_events, left_for_data, refused
from shoal.engines.count.by_codes import half_of_memory
from shoal.errors import DataError, EmptyTableError, PolicyError, RoleError, UsageError, refuse
from shoal.hierarchies import from_policy
from shoal.kernels.text import canonical_text
from shoal.measures.events.traces import (
    EXACT,
    KINDS_OF_TIME,
    NONE,
    microseconds,
    moments_of,
    no_complete_record,
    place_codes,
    time_buckets,
)
from shoal.measures.events.unicity import trips_of
from shoal.model.counts.classes import IntArray
from shoal.model.display import written
from shoal.model.hierarchy import Hierarchy
from shoal.model.requirement import KnownRecords, NearRecords, Requirement, Unicity
from shoal.release.gate.identifying import check_identifying
from shoal.release.policy.events import ONLY, EventRules
from shoal.release.policy.policy import Policy
from shoal.search.events.problem import CUT, DAYS, EVERY, LOCAL, NEEDED, NEVER, RECORDS, EventProblem, Shape, Weights, renewal
from shoal.techniques.places import grid_widths, group_by_trips

if TYPE_CHECKING:
    from shoal.engines.table import Table


DATED = ("date", "timestamp")
MOST_SHAPES = 400
MOST_RECORDS = 20_000_000
"""Rows above which a release is refused before anything is read, if all records are searched together."""
MOST_IN_GROUPS = 200_000_000
"""The same, if groups of people are."""


@dataclass(frozen=True, eq=False, repr=False)
class EventTable:
    """An event table, read: the columns of the complete records, the records as they are (pyarrow), and the problem to solve.

    ``ids`` are the people, in the order of their numbers.
    """

    table: Table
    policy: Policy
    rules: EventRules
    records: Any
    ids: Any
    time: Column | None
    places: tuple[Column, ...]
    trees: Mapping[str, Hierarchy]
    problem: EventProblem
    incomplete: int
    renewals: Mapping[str, str]

    @property
    def n_people(self) -> int:
        return int(self.problem.person.max()) + 1


def read_events(table: Table, policy: Policy) -> EventTable:
    """The table as the search needs it; every column of it has a place in the policy."""
    rules = checked_rules(table, policy)
    check_size(table)
    records, incomplete = complete(table, columns_read(policy, rules), rules.columns)
    return events_of(table, policy, records, incomplete)


def checked_rules(table: Table, policy: Policy) -> EventRules:
    """What the policy says of events, if it fits the columns of the table."""
    rules = _rules(policy)
    _check_columns(table, policy, rules)
    check_identifying(table, policy)
    return rules


def columns_read(policy: Policy, rules: EventRules) -> tuple[str, ...]:
    """The columns that a release needs."""
    return (*rules.columns, *policy.insensitive, *policy.sensitive)


def events_of(table: Table, policy: Policy, records: Any, incomplete: int) -> EventTable:
    """These complete records of the table (pyarrow) as the search needs them."""
    rules = _rules(policy)
    kinds = {n: table.schema[n].kind for n in rules.columns}
    if rules.flows == ONLY:
        records, rules, kinds = _as_trips(records, policy, rules, kinds)
    unit = column_of(records, rules.unit, "text")
    person = unit.codes
    time = None if rules.time is None else time_of(records, rules.time, kinds[rules.time])
    places = tuple(column_of(records, n, kinds[n]) for n in rules.place)
    trees = {c.name: _tree(policy, rules, c, person, time) for c in places if c.name in rules.hierarchy}
    widths, levels = widths_of(rules, time), levels_of(rules, places, trees, person, fewest_of(policy.requirements))
    renewals = {r: renewal_of(r, places, int(person.max()) + 1) for r in renewals_of(policy, rules, time)}
    shapes = tuple(
        Shape(w, p, most, renewals[r])
        for most, r, p, w in product((0, *rules.most_records), renewals, levels, widths)
        if not (w == NONE and p == NONE)
    )
    if not 1 <= len(shapes) <= MOST_SHAPES:
        raise UsageError(f"{len(shapes)} plans would have to be tried.", hint=f"Name fewer choices: at most {MOST_SHAPES} plans.")
    problem = _problem(policy, rules, person, time, places, trees, widths, levels, shapes)
    return EventTable(table, policy, rules, records, unit.values, time, places, trees, problem, incomplete, renewals)


def check_size(table: Table, together: int | None = None) -> None:
    """Refuse a table whose records do not fit, before anything is read; at most so many are searched ``together``."""
    memory = min(2 * half_of_memory(), table.memory or 2 * half_of_memory())
    most = MOST_RECORDS if together is None else MOST_IN_GROUPS

    def needed(n: int) -> int:
        return bytes_to_release_events(n) if together is None else bytes_to_release_events(n, together)

    def fits(n: int) -> bool:
        return n <= most and needed(n) <= left_for_data(memory)

    if fits(table.most_rows()) or fits(n := table.n_rows()):
        return
    hint = "Release a part of the people or of the time. shoal measure counts known records in larger tables."
    if n <= most:
        raise refused(f"A release of the {n:,} events of '{table.name}'", needed(n), memory, hint)
    raise UsageError(f"'{table.name}' has {n:,} rows, and {most:,} at most are released at once.", hint=hint)


def _as_trips(records: Any, policy: Policy, rules: EventRules, kinds: dict[str, str]) -> tuple[Any, EventRules, dict[str, str]]:
    """The trips of the records, one each, not linked and without a time; and the rules for them."""
    if policy.insensitive or policy.sensitive:
        raise PolicyError("'flows: only' publishes no records.", hint="Name further columns under roles.direct.")
    ends, trips = rules.place, records
    if len(ends) == 1 and rules.time is not None:
        where, who = column_of(records, ends[0], kinds[ends[0]]), column_of(records, rules.unit, "text")
        first, last = trips_of(who.codes, time_of(records, rules.time, kinds[rules.time]).codes, where.codes)
        ends, taken = (f"{ends[0]}_from", f"{ends[0]}_to"), (records.take(pa.array(x)) for x in (first, last))
        start, stop = (t[where.name] for t in taken)
        trips = pa.table({rules.unit: records[rules.unit].take(pa.array(first)), ends[0]: start, ends[1]: stop}).combine_chunks()
        kinds = dict.fromkeys(ends, where.kind)
    if len(ends) != 2 or {kinds[n] for n in ends} <= {"float", "decimal"}:
        hint = "Name time: and one place:, or an origin and a destination."
        raise PolicyError("'flows: only' requires a time and one place, or an origin and a destination.", hint=hint)
    if not trips.num_rows:
        raise EmptyTableError("nobody has a trip.", hint="A trip is two consecutive records of a person at different places.")
    return trips, EventRules(rules.unit, place=ends, place_levels=(EXACT,), renew=(EVERY,), flows=ONLY), kinds


def _rules(policy: Policy) -> EventRules:
    if policy.events is None:
        raise PolicyError("the policy names no events.", hint="Add events: {unit: …, time: …, place: …}.")
    return policy.events


def _check_columns(table: Table, policy: Policy, rules: EventRules) -> None:
    """Every column named is there, and every column there is named, once."""
    schema = table.schema
    for what, names in (("unit", (rules.unit,)), ("time", (rules.time,) if rules.time else ()), ("place", rules.place)):
        for name in names:
            schema.require(name, what=what)
    for what, others in (("insensitive column", policy.insensitive), ("sensitive column", policy.sensitive)):
        for name in others:
            schema.require(name, what=what)
    check_named(table, policy, rules.columns)
    if rules.time is not None and schema[rules.time].kind not in KINDS_OF_TIME:
        hint = "Name the column of the times."
        raise DataError(f"column '{rules.time}' holds {schema[rules.time].kind}, not times.", hint=hint)


def check_named(table: Table, policy: Policy, columns: Sequence[str]) -> None:
    """Every column of the table has one place in the policy: among these of events, or a role."""
    roles = {*policy.direct, *policy.insensitive, *policy.sensitive}
    twice = [n for n in columns if n in roles]
    if twice:
        raise RoleError(f"column '{twice[0]}' stands under events and under roles.", hint="Name each column once.")
    if policy.rest == "quasi":
        raise RoleError("the columns of an event table are named one by one.", hint="Write rest: drop, or name those that stay.")
    left = [n for n in table.schema.names if n not in roles.union(columns)]
    if left and policy.rest != "drop":
        what = f"{len(left)} of {len(table.schema.names)} columns of '{table.name}' have no role: {', '.join(left[:20])}."
        hint = "Name each under events (unit, time, place), roles.direct (left out), roles.sensitive (with a requirement) or "
        hint += "roles.insensitive (published as it is); or write roles: {rest: drop}."
        raise RoleError(what, hint=hint, columns=tuple(left))


def complete(table: Table, names: tuple[str, ...], needed: tuple[str, ...]) -> tuple[Any, int]:
    """The records that have person, time and place; and how many have not."""
    batches = list(table.scan(names))
    if not batches or not sum(b.num_rows for b in batches):
        raise EmptyTableError("the table has no rows.", hint="Check the file or the filter.")
    whole = pa.Table.from_batches(batches)
    records = with_all(whole, needed)
    if records.num_rows == 0:
        raise no_complete_record()
    return records, whole.num_rows - records.num_rows


def with_all(records: Any, needed: Sequence[str]) -> Any:
    """The records that have a value in each of these columns (pyarrow)."""
    good = None
    for name in needed:
        there = pc.is_valid(records[name])
        good = there if good is None else pc.and_(good, there)
    return records.filter(good).combine_chunks()


def column_of(records: Any, name: str, kind: str) -> Column:
    """Distinct values in order, and the code of each record."""
    column = records[name].combine_chunks()
    if isinstance(column, pa.ChunkedArray):
        column = pa.concat_arrays(column.chunks)
    coded = column.dictionary_encode()
    order = pc.sort_indices(coded.dictionary)
    place = np.empty(len(order), dtype=np.int64)
    place[order.to_numpy()] = np.arange(len(order))
    codes = place[coded.indices.to_numpy(zero_copy_only=False).astype(np.int64)]
    return Column(name, kind, coded.dictionary.take(order), codes)


def time_of(records: Any, name: str, kind: str) -> Column:
    """Times; those in text are read by the ISO rule."""
    column = column_of(records, name, kind)
    if kind != "text":
        return column
    moments = moments_of(name, column.values, column.rows)
    return column_of(pa.table({name: moments.take(pa.array(column.codes))}), name, "timestamp")


def _tree(policy: Policy, rules: EventRules, column: Column, person: IntArray, time: Column | None) -> Hierarchy:
    if rules.hierarchy[column.name] == {FLOWS: True}:
        return _by_flows(policy, column, person, time)
    rule = from_policy(rules.hierarchy[column.name], policy.folder or ".").fit(column.name, column.values, column.rows)
    tree: Hierarchy = rule.over(column.name, column.values, column.rows)
    return tree


def _by_flows(policy: Policy, column: Column, person: IntArray, time: Column | None) -> Hierarchy:
    """Places grouped by the trips between them; a group has the name of its largest place, if enough people were there."""
    if time is None:
        raise PolicyError("levels by flows need a time.", hint="Name time: there.", path=f"events.hierarchy.{column.name}")
    k, texts = fewest_of(policy.requirements), canonical_text(column.values).to_pylist()
    first, last = trips_of(person, time.codes, column.codes)
    levels = group_by_trips(column.codes, person, column.codes[first], column.codes[last], k)
    people = np.bincount(np.unique(column.codes * (int(person.max()) + 1) + person) // (int(person.max()) + 1))
    rows = [[t] for t in texts]
    for group in levels:
        for g in range(int(group.max()) + 1):
            inside = np.flatnonzero(group == g)
            lead = int(inside[np.argmax(people[inside])])
            name = texts[lead] if len(inside) == 1 else f"{texts[lead]} and {len(inside) - 1} more"
            for i in inside.tolist():
                rows[i].append(name if people[lead] >= k else f"{len(inside)} places ({g + 1})")
    return Hierarchy.from_rows(column.name, [[*row, "*"] for row in rows])


def fewest_of(asked: Sequence[Requirement]) -> int:
    """The people who must share a value or a count that is published for all of them."""
    return max([FEWEST, *(r.k for r in asked if isinstance(r, KnownRecords | NearRecords))])


def _problem(
    policy: Policy, rules: EventRules, person: IntArray, time: Column | None, places: tuple[Column, ...],
    trees: Mapping[str, Hierarchy], widths: tuple[str, ...], levels: tuple[str, ...], shapes: tuple[Shape, ...],
) -> EventProblem:  # fmt: skip
    n = len(person)
    moment = np.zeros(n, dtype=np.int64) if time is None else time.codes
    where = places[0].codes if places else np.zeros(n, dtype=np.int64)
    rng = np.random.default_rng([policy.seed, 1])
    tree = trees[places[0].name] if CUT in levels else None
    leaves = [] if tree is None else [tree.position[t] for t in canonical_text(places[0].values).to_pylist()]
    hour = ("hour",) if time is not None and time.kind == "timestamp" else ()
    given = {**vars(Weights()), **rules.weights}
    two = several_places(places)
    trips = bool(places) and time is not None and not two
    if rules.flows and not trips and not (two and len(places) == 2):
        what = "'events.flows' requires a time and one place, or an origin and a destination."
        raise PolicyError(what, hint="Name time: and place: there, or leave flows out.", path="events.flows")
    weights = Weights(given["time"] * (time is not None), given["place"] * bool(places), given["trips"] * trips, given["links"])
    if not any(vars(weights).values()):
        hint = "At least one of time, place, trips and links must count."
        raise PolicyError("All weights are 0 for this table.", hint=hint, path="events.weights")
    return EventProblem(
        person=person,
        rank=_within(person, (where, moment)),
        draw=_within(person, (rng.random(n),)),
        moment=None if time is None or time.kind not in DATED else microseconds(time.values, time.kind)[time.codes],
        times={w: times_at(time, w) for w in (EXACT, NONE, *hour, *widths) if time is not None or w == NONE},
        places={p: places_at(places, p, trees) for p in {EXACT, NONE, *levels} - {CUT, LOCAL} if places or p == NONE},
        asked=tuple(policy.requirements),  # type: ignore[arg-type]
        allow=policy.suppress,
        shapes=shapes,
        weights=weights,
        tree=tree,
        leaf=None if tree is None else np.array(leaves, dtype=np.int64)[places[0].codes],
        ladder=_ladder(places) if LOCAL in levels else (),
        flows=rules.flows is True,
        allow_people=policy.suppress_people,
    )


def several_places(places: tuple[Column, ...]) -> bool:
    """Whether a record has an origin and a destination: then it is a trip by itself."""
    return len(places) > 1 and not _coordinates(places)


def _coordinates(places: tuple[Column, ...]) -> bool:
    return all(p.kind in ("float", "decimal") for p in places)


def _within(person: IntArray, keys: tuple[Any, ...]) -> Any:
    """The rank of each record among those of its person, by these keys (the last counts most), in 32 bits."""
    order = np.lexsort((*keys, person))
    rank = np.empty(len(person), dtype=np.int32)
    own = person[order]
    rank[order] = np.arange(len(person)) - np.searchsorted(own, own)
    return rank


def times_at(time: Column | None, width: str) -> Any:
    """The bucket of each record; None where time is left out."""
    if time is None or width == NONE:
        return None
    buckets = time_buckets(time.name, time.kind, time.values, width)
    return None if buckets is None else buckets[time.codes]


def places_at(places: tuple[Column, ...], level: str, trees: Mapping[str, Hierarchy]) -> Any:
    """The place of each record, over all columns together; None where places are left out."""
    if not places or level == NONE:
        return None
    out = np.zeros(len(places[0].codes), dtype=np.int64)
    for p in places:
        coded = place_codes(p.name, p.kind, p.values, level, trees)
        if coded is not None:
            dense = coded.astype(np.int64)[p.codes]
            out = np.unique(out * (int(dense.max()) + 1) + dense, return_inverse=True)[1].astype(np.int64)
    return out


def _ladder(places: tuple[Column, ...]) -> tuple[IntArray, ...]:
    """The places of the records with 0, 1, … of their columns blank, the last one first; every number stands for one of these."""
    out: list[IntArray] = []
    for n in range(len(places), -1, -1):
        codes = places_at(places[:n], EXACT, {}) if n else np.zeros(len(places[0].codes), dtype=np.int64)
        out.append(codes + (int(out[-1].max()) + 1 if out else 0))
    return tuple(out)


WIDTHS = {
    "timestamp": (EXACT, "hour", "6h", "day", "week", "month", "hour of day", "part of day", NONE),
    "date": (EXACT, "week", "month", "quarter", NONE),
    "time": (EXACT, "hour", "part of day", NONE),
}
SHIFTABLE = (EXACT, "minute", "hour", "day", "week")
FLOWS = "flows"
"""The builder of levels of a place from the trips: ``hierarchy: {station: {flows: true}}``."""
FEWEST = 5
"""A value that fewer people have is not named in a plan, for any k."""
MODEL = "model "


@dataclass(frozen=True, eq=False, repr=False)
class Column:
    """A column of the complete records: its distinct values, and the value of each record."""

    name: str
    kind: str
    values: Any
    codes: IntArray

    @property
    def rows(self) -> IntArray:
        return np.bincount(self.codes, minlength=len(self.values)).astype(np.int64)


def widths_of(rules: EventRules, time: Column | None) -> tuple[str, ...]:
    if time is None:
        if rules.time_widths:
            raise PolicyError("'events.time_widths' requires 'events.time'.", hint="Add time: there.", path="events.time_widths")
        return (NONE,)
    widths = rules.time_widths or WIDTHS.get(time.kind, (EXACT, NONE))
    if not rules.shift:
        return widths
    if time.kind not in DATED:
        raise PolicyError("'events.shift' moves dates, and the time holds none.", hint="Leave it out.", path="events.shift")
    fixed = tuple(w for w in widths if w in (*SHIFTABLE, NONE) or (w[:-1].isdigit() and w[-1:] in ("d", "w")))
    if not fixed:
        hint = f"Widths: {', '.join(SHIFTABLE)}."
        raise PolicyError("dates in months or years, and weekdays or parts of the day, cannot be shifted.", hint=hint)
    return fixed


def levels_of(
    rules: EventRules, places: tuple[Column, ...], trees: Mapping[str, Hierarchy], person: IntArray, fewest: int
) -> tuple[str, ...]:
    """The levels to choose from: those of the policy, or what suits the places."""
    if not places:
        if rules.place_levels:
            raise PolicyError("'events.place_levels' requires 'events.place'.", hint="Add place: there.")
        return (NONE,)
    if rules.place_levels:
        if CUT in rules.place_levels and not (len(places) == 1 and trees):
            raise PolicyError("a cut needs one place with a hierarchy.", hint="Add events: {hierarchy: {place: FILE}}.")
        if LOCAL in rules.place_levels and _coordinates(places):
            hint = "Use grid:0.1."
            raise PolicyError("'local' blanks names of places, not coordinates.", hint=hint, path="events.place_levels")
        return rules.place_levels
    first = places[0]
    if len(trees) == len(places) == 1:
        height = trees[first.name].height
        return (LOCAL, CUT, *(f"level:{i}" for i in range(1, height)), NONE)
    if _coordinates(places):
        numbers = [np.asarray(p.values.cast("float64").to_numpy(zero_copy_only=False))[p.codes] for p in places]
        widths = grid_widths(numbers, person, fewest)
        return (EXACT, *(f"grid:{np.format_float_positional(w, trim='-')}" for w in widths), NONE)
    if len(places) == 1 and first.kind == "text":
        texts = canonical_text(first.values).to_pylist()
        lengths = {len(t) for t in texts}
        if len(lengths) == 1 and not any(" " in t for t in texts) and (length := lengths.pop()) > 2:
            return _prefixes(length)
    return (LOCAL, NONE)


def _prefixes(length: int) -> tuple[str, ...]:
    """Codes of one length, ever shorter."""
    return (LOCAL, *(f"prefix:{n}" for n in range(length - 1, max(0, length - 5), -1)), NONE)


RENEWALS = (NEVER, NEEDED, f"7 {DAYS} or {NEEDED}", f"1 {DAYS} or {NEEDED}", f"2 {RECORDS} or {NEEDED}", EVERY)
"""What is tried if a policy names no renewal; two records are a trip."""


def renewals_of(policy: Policy, rules: EventRules, time: Column | None) -> tuple[str, ...]:
    """The renewals to choose from. Pseudonyms of a vault stay, because its domain may give a person one only; without dates
    nothing is renewed by days, without times nothing by records."""
    if rules.renew:
        return rules.renew
    if rules.vault:
        return (NEVER,)
    dated = time is not None and time.kind in DATED
    split = any(not isinstance(r, Unicity) for r in policy.requirements)
    out = [r for r in RENEWALS if (dated or DAYS not in r) and (time is not None or RECORDS not in r)]
    return tuple(r for r in out if split or not r.endswith(NEEDED))


def renewal_of(text: str, places: tuple[Column, ...], people: int) -> str:
    """A renewal with its number: ``model 0.05`` becomes the records that the popularity of the places allows."""
    if text in (NEVER, EVERY, NEEDED):
        return text
    if not text.startswith(MODEL):
        renewal(text.removesuffix(f" or {NEEDED}"))
        return text
    from shoal.prediction.distribution import Distribution
    from shoal.prediction.zipf.records import pseudonym_life

    if len(places) != 1:
        raise PolicyError("a renewal by the model needs one place.", hint="Renew by records or days.", path="events.renew")
    with refuse(PolicyError(f"'{text}' is not a renewal.", hint="For example model 0.05.", path="events.renew"), ValueError):
        limit = float(text.removeprefix(MODEL))
    counts = places[0].rows
    life = pseudonym_life(Distribution.counts(counts), people, limit)
    if life == 0:
        what = f"by the popularity of the places already one record singles out more than {written(limit)} of the people."
        raise PolicyError(what, hint="Allow more, or coarser places.", path="events.renew")
    return f"{life} {RECORDS}"
