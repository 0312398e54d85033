"""What an event release still tells: its uses before and after, and the trips by origin and destination beside the records.

Takes    the table and the plan that was found
Returns  EventUses; Flows: how many trips of each origin and destination are published, and the file of them
Keeps    what a flow adds to the trips that the records show is of at least k people, and nobody has more than one in k of it;
         a trip that would tell which pseudonym goes on where another one ends is not counted;
         otherwise it states no more than these. In every row, every column and the whole in which a flow adds something, what
         is not published is nothing, or several flows of at least k people. Sums of rows less sums of columns tell no flow
         that is not published: the graph of these flows, between origins and destinations, has no bridge (Gusfield 1988)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from shoal.errors import InfeasibleError
from shoal.measures.events.knowledge import Mask, distinct, numbered, people_asked
from shoal.measures.events.traces import CYCLES, EXACT, NONE, UNITS, microseconds, time_length
from shoal.measures.events.unicity import LARGE, Log, compare_counts, compare_logs, count_use, trips_of
from shoal.model.attack import AttackResult, Verdict
from shoal.model.certificate.events import EventData, EventSteps, EventUse
from shoal.model.compare import most_of
from shoal.model.counts.classes import IntArray
from shoal.model.display import written
from shoal.model.requirement import InferredNext, Requirement
from shoal.release.events.plan_file import check_earlier
from shoal.release.events.publish import place_labels, time_labels
from shoal.release.events.records import EventTable, fewest_of, places_at, several_places, times_at
from shoal.release.policy.events import EventRules
from shoal.release.proof.events import read_flows
from shoal.release.proof.read import rows
from shoal.search.events.event_search import Solution, plan_found
from shoal.search.events.problem import CUT, LOCAL, Shape
from shoal.search.events.suppress import most_each, most_shown

FLOWS = "flows"
"""The name of the file, without its ending."""


def uses_of(events: EventTable, solution: Solution, flows: Flows | None, read: Read | None = None) -> tuple[EventUse, ...]:
    """Every comparison that the published columns allow: before, in the true order and at the published level of the places;
    after, as anybody computes it from the published file."""
    problem, width = events.problem, solution.shape.time
    hours, days = _shows_hours_and_days(events, width)
    index = np.flatnonzero(solution.stays)
    place = after = None
    trips: list[IntArray | None] = [None, None]
    uses: list[EventUse] = []
    if events.places and solution.shape.place != NONE:
        read = read or Read.of(events, solution)
        place, after = read.place, read.shown[index]
        trips = [read.keys(*read.made), None if read.seen is None else read.keys(*read.seen)]
        uses += _along_traces(events, solution, read, hours=hours)
    if events.places:
        uses += _exact_places(events, solution)
    uses += [] if flows is None else flow_uses(flows.before, flows.trips)
    moment = None
    if events.time is not None and events.time.kind in ("timestamp", "date", "time"):
        moment = microseconds(events.time.values, events.time.kind)[events.time.codes]
    before = Log(problem.person, moment, place, trips[0] if trips[1] is not None else None)
    left = Log(solution.trace[index], None if moment is None else moment[index], after, trips[1])
    uses = [*compare_logs(before, left, hours=hours, days=days), *uses]
    return tuple(uses)


def flow_uses(before: IntArray, after: IntArray) -> list[EventUse]:
    """The file of flows: all flows, and large ones."""
    return compare_counts(before, after, "flows", f"flows above {LARGE}", " in the file of flows")


STAYS = np.array([1, 2, 4, 8, 24]) * UNITS["h"]
"""Ends of the classes of dwell times."""


def _along_traces(events: EventTable, solution: Solution, read: Read, *, hours: bool) -> list[EventUse]:
    """Trips by hour and by the time before them, and the people with three places in a row; before, and as the file tells."""
    if read.two or read.seen is None:
        return []
    out, both = [], (read.made, read.seen)
    moment = events.problem.moment
    if events.time is not None and moment is not None and solution.shape.time not in CYCLES:
        times = time_labels(events.time, solution.shape.time).cast("timestamp[us]").cast("int64").to_numpy()[events.time.codes]
        at = list(zip((moment, times), both, strict=True))
        if hours:
            begun = (np.bincount(m[a] // UNITS["h"] % 24, minlength=24) for m, (a, _) in at)
            out.append(count_use("trips per hour", "trips by the hour of the day in which they begin", *begun))
        stays = (np.bincount(np.searchsorted(STAYS, m[b] - m[a], "right"), minlength=len(STAYS) + 1) for m, (a, b) in at)
        title = "trips by the time from the record before them: under 1, 2, 4, 8, 24 hours, longer"
        out.append(count_use("dwell times", title, *stays))
    rows = [_in_a_row(trips, events.problem.n) for trips in both]
    size = len(rows[0][0])
    places = [read.place[np.concatenate((one, two))] for one, two in zip(*rows, strict=True)]
    codes = np.zeros(len(places[0]), dtype=np.int64)
    for place in places:
        codes = np.unique(codes * (int(read.place.max()) + 1) + place, return_inverse=True)[1]
    who = np.concatenate((events.problem.person[rows[0][0]], solution.trace[rows[1][0]]))
    width, n = int(who.max(initial=0)) + 1, int(codes.max(initial=-1)) + 1
    keys = codes * width + who
    before, after = (np.bincount(distinct(k) // width, minlength=n) for k in (keys[:size], keys[size:]))
    if (before > LARGE).any():
        title = f"people with three places in a row that more than {LARGE} people have (pseudonyms, after)"
        out.append(count_use("common sequences", title, before[before > LARGE], after[before > LARGE]))
    return out


def _in_a_row(trips: tuple[IntArray, IntArray], n: int) -> tuple[IntArray, IntArray, IntArray]:
    """The records of two trips of which one begins where the other ends."""
    then = np.full(n, -1, dtype=np.int64)
    then[trips[0]] = trips[1]
    both = then[trips[1]] >= 0
    return trips[0][both], trips[1][both], then[trips[1][both]]


def _shows_hours_and_days(events: EventTable, width: str) -> tuple[bool, bool]:
    """Whether the hour of the day and the weekday of a record are published."""
    kind = None if events.time is None else events.time.kind
    if width in CYCLES:
        return CYCLES[width].hours, CYCLES[width].days
    length = UNITS["s"] if width == EXACT else time_length(width)
    if kind is None or width == NONE or length is None:
        return False, False
    hours = kind in ("timestamp", "time") and length <= UNITS["h"]
    return hours, kind in ("timestamp", "date") and length <= UNITS["d"] and not events.rules.shift


def _exact_places(events: EventTable, solution: Solution) -> list[EventUse]:
    """Records published with their exact place, and the most that any plan could show.

    A record that shows its place is one of the pseudonyms there at its published time, and nobody has more than one in k of
    these. Added up over all times, nobody has more than one in k of the records that show the place.
    """
    problem = events.problem
    k = people_asked(problem.asked)
    most = most_shown(problem.places[EXACT], problem.person, k)
    clear = int(Read.clear(solution).sum()) if solution.shape.place in (EXACT, LOCAL) else 0
    title = "records with their exact place"
    if k > 1:
        title += f"; no plan that meets known[1]>={k} shows more than {100 * most / problem.n:.1f} % of them"
    return [EventUse("exact places", title, float(problem.n), float(clear), clear / problem.n)]


@dataclass(frozen=True, eq=False, repr=False)
class Read:
    """The place of each record at the level of the trips, and as the published file shows it (−1: not). ``made`` are the trips of
    the table, ``seen`` those that anybody reads in the file (None if it does not tell their order): the first and the last
    record of each."""

    place: IntArray
    shown: IntArray
    two: bool
    made: tuple[IntArray, IntArray]
    seen: tuple[IntArray, IntArray] | None

    @staticmethod
    def clear(solution: Solution) -> Mask:
        """The published records whose place is not blank."""
        return solution.stays if solution.blank is None else solution.stays & (solution.blank == 0)

    @classmethod
    def of(cls, events: EventTable, solution: Solution) -> Read:
        problem, level = events.problem, solution.shape.place
        exact = level in (EXACT, LOCAL, NONE)
        place: IntArray = problem.places[EXACT] if exact else published_places(events, solution)  # type: ignore[assignment]
        clear = cls.clear(solution) & (level != NONE)
        shown = np.where(clear, place, -1)
        if several_places(events.places):
            every, seen = np.arange(problem.n), np.flatnonzero(clear)
            return cls(place, shown, True, (every, every), (seen, seen))
        moment = problem.times.get(EXACT)
        if moment is None:
            none = (place[:0], place[:0])
        else:
            none = problem.trips if exact else trips_of(problem.person, moment, place)
        order = times_at(events.time, solution.shape.time) if problem.ordered(solution.shape) else None
        if order is None:
            return cls(place, shown, False, none, None)
        index = np.flatnonzero(solution.stays)
        first, last = trips_of(solution.trace[index], order[index], shown[index])
        return cls(place, shown, False, none, (index[first], index[last]))

    def keys(self, first: IntArray, last: IntArray) -> IntArray:
        """The number of origin and destination of each trip."""
        if self.two:
            return self.place[first]
        return np.asarray(self.place[first] * (int(self.place.max()) + 1) + self.place[last])


@dataclass(frozen=True, eq=False, repr=False)
class Flows:
    """The trips of each origin and destination: in the table, and as they are published (0: not published); the first and the
    last record of one such trip; which trips of the table are counted beside those that the records show, and their number."""

    before: IntArray
    trips: IntArray
    first: IntArray
    last: IntArray
    kept: Mask
    added: IntArray

    @property
    def lost(self) -> float:
        """The share of the trips that is not published."""
        total = int(self.before.sum())
        return 1 - int(np.minimum(self.trips, self.before).sum()) / total if total else 0.0


def flows_only(events: EventTable) -> Solution:
    """The plan that publishes trips by origin and destination and no records; InfeasibleError if too many trips are of small
    flows."""
    problem = events.problem
    nothing = np.zeros(problem.n, dtype=np.bool_)
    every = np.arange(problem.n)
    plan_of = partial(plan_found, problem, problem.shapes[0], ~nothing, every, every)
    flows = flows_of(events, plan_of(nothing, None, None, 0.0, 0))
    outcome = plan_of(flows.kept, None, None, 0.0, 0)
    if outcome.left_out > most_of(problem.allow, problem.n):
        share = outcome.left_out / problem.n
        what = f"{share:.2%} of the trips are of flows that cannot be published, and {problem.allow:.2%} may be left out."
        hint = f"Allow it: allow: {{suppress: {written(ceil(share * 1e4) / 1e4)}}}; or count between fewer, larger places."
        raise InfeasibleError(what, hint=hint)
    return replace(outcome, tried=1)


def flows_beside(events: EventTable, solution: Solution) -> Flows | None:
    """The flows that are published beside the records: if the policy wants them; or if it does not say, the records show one
    place each, no requirement limits what tells the next place, and there are any."""
    rules = events.rules
    if not wants_flows(rules, solution.shape) or any(
        isinstance(r, InferredNext) for r in events.problem.asked if rules.flows is None
    ):
        return None
    flows = flows_of(events, solution)
    return flows if flows.trips.any() or rules.flows is True else None


def wants_flows(rules: EventRules, shape: Shape) -> bool:
    return rules.flows is True or (rules.flows is None and len(rules.place) == 1 and shape.place != NONE)


@dataclass(frozen=True, eq=False, repr=False)
class Entries:
    """The trips of each flow by person, in the order of the flows: in the table, those that the records show, and those that must
    not be counted besides. ``lines`` of each flow are those in which it adds up: its origin, its destination, and all."""

    flow: IntArray
    who: IntArray
    before: IntArray
    shown: IntArray
    barred: IntArray
    lines: list[IntArray]


def flows_of(events: EventTable, solution: Solution, read: Read | None = None) -> Flows:
    """Trips by origin and destination, small ones protected."""
    read, k = read or Read.of(events, solution), fewest_of(events.problem.asked)
    entries, which, first, last = entries_of(events, solution, read)
    links = linking(events, solution, read)
    barred = which[links.trips[links.revealing(links.total, links.most, k)]]
    entries.barred[:] += np.bincount(barred, minlength=len(entries.flow))
    true, published, added, extra = protected(entries, k)
    order = np.argsort(which, kind="stable")
    own = which[order]
    kept = np.zeros(len(which), dtype=np.bool_)
    kept[order] = np.arange(len(own)) - np.searchsorted(own, own) < extra[own]
    return Flows(true, published, first, last, kept, added)


def entries_of(
    events: EventTable, solution: Solution, read: Read, *, seen_only: bool = False
) -> tuple[Entries, IntArray, IntArray, IntArray]:
    """The trips by flow and person, with flows that only the records show or without; the entry of each trip of the table; and
    the first and the last record of one trip of each flow. Barred are the trips of people who are left out whole."""
    people, person, keys = events.n_people, events.problem.person, read.keys(*read.made)
    seen = read.seen or (keys[:0], keys[:0])
    read_keys = read.keys(*seen)
    there = np.ones(len(read_keys), dtype=np.bool_) if seen_only else np.isin(read_keys, keys)
    seen, read_keys = (seen[0][there], seen[1][there]), read_keys[there]
    known, example = np.unique(np.concatenate((keys, read_keys)), return_index=True)
    slots = np.searchsorted(known, keys) * people + person[read.made[0]]
    read_too = np.searchsorted(known, read_keys) * people + person[seen[0]]
    both, which = np.unique(np.concatenate((slots, read_too)), return_inverse=True)
    before, shown = (np.bincount(w, minlength=len(both)) for w in (which[: len(slots)], which[len(slots) :]))
    flow, who = both // people, both % people
    first, last = (np.concatenate(x)[example] for x in zip(read.made, seen, strict=True))
    barred = np.zeros(len(both), dtype=np.int64)
    if solution.away is not None:
        barred[solution.away[who]] = before[solution.away[who]]
    entries = Entries(flow, who, before, shown, barred, _ends(events, solution, read, first, last))
    return entries, which[: len(slots)], first, last


def protected(entries: Entries, k: int) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """The trips of each flow: in the table, as they are published, and those that are counted besides what the records show; and
    the latter of each entry."""
    flow, who, lines, n = entries.flow, entries.who, entries.lines, len(entries.lines[0])
    extra = np.maximum(entries.before - entries.shown - entries.barred, 0)
    for part in _parts(flow):
        extra[part] = np.minimum(extra[part], most_each(flow[part], extra[part], k))
    true, added, seen = (_sums(flow, x, n) for x in (entries.before, extra, entries.shown))
    shared = _shared(flow, entries.shown, k, n)
    seen[~shared & (added == 0)] = 0
    while True:
        hidden = entries.before != np.where(seen[flow] > 0, entries.shown, 0) + extra
        more = _needed(flow, who, hidden, added, lines, k)
        if not more.any():
            more = _tight(true, added + seen, added, lines, k)
        if not more.any():
            return true, added + seen, added, extra
        extra[more[flow]] = added[more] = 0
        seen[more & ~shared] = 0


PART = 2_000_000
"""Entries of flows that are looked at together."""


def _parts(flow: IntArray) -> list[slice]:
    """The entries in parts; those of one flow are in one part."""
    ends = [0]
    while ends[-1] < len(flow):
        ends.append(int(np.searchsorted(flow, flow[min(ends[-1] + PART, len(flow)) - 1], "right")))
    return [slice(a, b) for a, b in pairwise(ends)]


@dataclass(frozen=True, eq=False, repr=False)
class Links:
    """Trips that may tell which pseudonym goes on where another one ends, if they are counted: both records are shown, under two
    pseudonyms. ``ends`` are the points of their first and last records, ``point`` is the point of each record. ``total`` are the
    pseudonyms that end, and those that begin, at each point, ``most`` those of one person."""

    trips: IntArray
    ends: list[IntArray]
    point: IntArray
    total: list[IntArray]
    most: list[IntArray]

    def revealing(self, total: Sequence[IntArray], most: Sequence[IntArray], k: int) -> Mask:
        """The trips of which, at both ends, one person has more than one in k of the pseudonyms. Else those at one of the points
        fit alike with any flows."""
        out = np.ones(len(self.trips), dtype=np.bool_)
        for at, all_of, one in zip(self.ends, total, most, strict=True):
            out &= all_of[at] < k * np.maximum(one[at], 1)
        return out


def linking(events: EventTable, solution: Solution, read: Read) -> Links:
    """The trips of the table between two pseudonyms, and the pseudonyms that end and begin at each point."""
    first, last = read.made
    shown = solution.alive if solution.blank is None else solution.alive & (solution.blank == 0)
    trips = np.flatnonzero(shown[first] & shown[last] & (solution.trace[first] != solution.trace[last]))
    if not len(trips):
        none = first[:0]
        return Links(trips, [none, none], none, [none, none], [none, none])
    times = times_at(events.time, solution.shape.time)
    at = read.place + 1 if times is None else (read.place + 1) * (int(times.max()) + 1) + times
    point, people, clear = numbered(at)[1], events.n_people, Read.clear(solution)
    totals, mosts = [], []
    for side in (0, 1):
        free = clear.copy()
        if read.seen is not None:
            free[read.seen[side]] = False
        own, many = np.unique(point[free] * people + events.problem.person[free], return_counts=True)
        total, most = (np.zeros(int(point.max()) + 1, dtype=np.int64) for _ in range(2))
        np.add.at(total, own // people, many)
        np.maximum.at(most, own // people, many)
        totals.append(total)
        mosts.append(most)
    return Links(trips, [point[first[trips]], point[last[trips]]], point, totals, mosts)


def _sums(flow: IntArray, times: IntArray, n: int) -> IntArray:
    return np.bincount(flow, weights=times, minlength=n).astype(np.int64)


def _shared(flow: IntArray, times: IntArray, k: int, n: int) -> Mask:
    """Whether at least k people have trips of a flow, and nobody more than one in k of them; entries are of one person each."""
    most = np.zeros(n, dtype=np.int64)
    np.maximum.at(most, flow, times)
    total = np.bincount(flow, weights=np.maximum(times, 0), minlength=n)
    return np.asarray((most > 0) & (total >= k * most))


def _ends(events: EventTable, solution: Solution, read: Read, first: IntArray, last: IntArray) -> list[IntArray]:
    """Flows that add up: those of one origin, those of one destination, and all; a number for each line."""
    origin, destination = read.place[first], read.place[last]
    if read.two:
        level = EXACT if solution.shape.place in (LOCAL, NONE) else solution.shape.place
        origin, destination = (places_at((p,), level, events.trees)[first] for p in events.places)
    return [origin, destination, np.zeros(len(first), dtype=np.int64)]


def _needed(flow: IntArray, who: IntArray, hidden: Mask, extra: IntArray, ends: list[IntArray], k: int) -> Mask:
    """Flows that must state no more than the records show, so that no line hides one flow only, or fewer than k people: in each
    such line the one that adds least to the records."""
    out = np.zeros(len(extra), dtype=np.bool_)
    width = int(who.max(initial=0)) + 1
    for line in ends:
        size = int(line.max(initial=0)) + 1
        flows = np.bincount(line[distinct(flow[hidden])], minlength=size)
        people = np.bincount(distinct(line[flow[hidden]] * width + who[hidden]) // width, minlength=size)
        weak = (flows > 0) & ((flows < 2) | (people < k))
        can = np.flatnonzero((extra > 0) & weak[line])
        can = can[np.argsort(extra[can], kind="stable")]
        out[can[np.unique(line[can], return_index=True)[1]]] = True
    if not out.any():
        unknown = distinct(flow[hidden])
        for inside in _behind_bridges(ends[0][unknown], ends[1][unknown]):
            across = np.isin(ends[0], inside[0]) != np.isin(ends[1], inside[1])
            can = np.setdiff1d(np.flatnonzero((extra > 0) & across), unknown)
            out[can[np.argsort(extra[can], kind="stable")][:1]] = True
    return out


def _tight(true: IntArray, stated: IntArray, extra: IntArray, ends: list[IntArray], k: int) -> Mask:
    """Flows that must state no more than the records show, so that somebody who knows the true sums of all rows and columns
    cannot tell a hidden flow to within fewer than k trips: in its row or column the one that adds least to the records.

    What is hidden can move along a path of hidden flows from the row to the column: one goes up, the next one down by what it
    has at most.
    """
    out = np.zeros(len(true), dtype=np.bool_)
    hidden = np.flatnonzero(true != stated)
    rows, columns = ends[0][hidden].tolist(), (~ends[1][hidden]).tolist()
    can_fall = np.where(stated < true, true - stated, true)[hidden].tolist()
    near: dict[int, dict[int, int]] = {}
    for row, column, n in zip(rows, columns, can_fall, strict=True):
        near.setdefault(row, {})[column], near.setdefault(column, {})[row] = n, k
    for row, column, n in zip(rows, columns, can_fall, strict=True):
        if _moved_directly(near, row, column, k) < k and _moved(near, row, column, k) + min(n, _moved(near, column, row, k)) < k:
            can = np.flatnonzero((extra > 0) & (true == stated) & ((ends[0] == row) | (ends[1] == ~column)))
            out[can[np.argsort(extra[can], kind="stable")][:1]] = True
    return out


def _moved_directly(near: dict[int, dict[int, int]], row: int, column: int, k: int) -> int:
    """What at least :func:`_moved` is, quickly: over paths of three flows that have no place between in common."""
    done, used, ways = 0, {column}, near[row]
    for other, n in near[column].items():  # n is k: the flow of the other row goes down by what it has
        if other == row:
            continue
        back = near[other]
        between = next((c for c in back if c not in used and c in ways), None)
        if between is not None:
            used.add(between)
            done += min(ways[between], n, back[column])
            if done >= k:
                break
    return done


def _moved(near: dict[int, dict[int, int]], source: int, target: int, k: int) -> int:
    """How much, k at most, flows from ``source`` to ``target`` beside the edge between them; ``near`` has the capacities."""
    edge = near[source][target], near[target][source]
    near[source][target] = near[target][source] = done = 0
    undo: list[tuple[int, int, int]] = []
    while done < k:
        before, queue = {source: source}, [source]
        for at in queue:
            more = [to for to, n in near[at].items() if n > 0 and to not in before]
            before |= dict.fromkeys(more, at)
            queue += more
            if target in before:
                break
        if target not in before:
            break
        path = [target]
        while path[-1] != source:
            path.append(before[path[-1]])
        steps = [(b, a) for a, b in pairwise(path)]
        least = min(near[a][b] for a, b in steps)
        for a, b in steps:
            near[a][b] -= least
            near[b][a] += least
            undo.append((a, b, least))
        done += least
    for a, b, n in undo:
        near[a][b] += n
        near[b][a] -= n
    near[source][target], near[target][source] = edge
    return min(done, k)


def _behind_bridges(origins: IntArray, destinations: IntArray) -> list[tuple[list[int], list[int]]]:
    """For each edge that alone connects two parts of a graph, the origins and the destinations of one of them. A part of one
    place is a line, and not among them."""
    near: dict[int, list[int]] = {}
    for a, b in zip(origins.tolist(), (~destinations).tolist(), strict=True):
        near.setdefault(a, []).append(b)
        near.setdefault(b, []).append(a)
    order, lowest, out = dict[int, int](), dict[int, int](), []
    for root in near:
        if root in order:
            continue
        seen, path = list[int](), [(root, root, iter(near[root]))]
        while path:
            at, before, more = path[-1]
            if at not in order:
                order[at] = lowest[at] = len(order)
                seen.append(at)
            step = next((n for n in more if n != before), None)
            if step is None:
                path.pop()
                lowest[before] = min(lowest[before], lowest[at])
                first = order[at] - order[root]
                if lowest[at] == order[at] and 0 < first < len(seen) - 1:
                    part = seen[first:]
                    out.append(([n for n in part if n >= 0], [~n for n in part if n < 0]))
            elif step in order:
                lowest[at] = min(lowest[at], order[step])
            else:
                path.append((step, at, iter(near[step])))
    return out


def flow_table(events: EventTable, solution: Solution, flows: Flows) -> Any:
    """The published flows as a table (pyarrow): origin, destination, trips; in the order of their names."""
    index = np.flatnonzero(flows.trips)
    flow_table = pa.table({**_named_ends(events, solution, flows.first[index], flows.last[index]), "trips": flows.trips[index]})
    return flow_table.sort_by([(n, "ascending") for n in flow_table.column_names])


def trips_level(place: str) -> str:
    """The level of the places of flows, if the records show places at this one."""
    return EXACT if place == NONE else place


def _named_ends(events: EventTable, solution: Solution, first: IntArray, last: IntArray) -> dict[str, Any]:
    """Origin and destination of some trips, as they are published."""
    level = trips_level(solution.shape.place)
    labels = [(p, place_labels(p, level, events.trees, solution.levels)) for p in events.places]
    if several_places(events.places):
        return {p.name: values.take(pa.array(p.codes[first])) for p, values in labels}
    ends = (("from", first), ("to", last))
    return {f"{p.name}_{end}": values.take(pa.array(p.codes[at])) for end, at in ends for p, values in labels}


def added_up(
    parts: Sequence[Sequence[EventUse]], records: Sequence[int], traces: Sequence[int], people: Sequence[int]
) -> list[EventUse]:
    """The uses of groups of people as those of the whole: numbers are added, shares are means over the records, and the error of
    the whole is at most the mean of the errors."""
    named: dict[str, list[tuple[EventUse, int]]] = {}
    for uses, n in zip(parts, records, strict=True):
        for use in uses:
            named.setdefault(use.name, []).append((use, n))
    total, out = sum(records), []
    for name, named_uses in named.items():
        first = named_uses[0][0]
        before: float | None
        after: float | None

        def mean(what: str, pairs: list[tuple[EventUse, int]] = named_uses, by_size: bool = False) -> float | None:
            values = [(getattr(u, what), u.before if by_size else n) for u, n in pairs if getattr(u, what) is not None]
            whole = sum(n for _, n in values)
            return sum(x * n for x, n in values) / whole if whole else None

        if name == "records per person":
            shown = sum(u.after for u in (p[0] for p in parts))
            before, after, kept, error = total / sum(people), shown / sum(traces), None, None
        elif name in ("hour of the day", "weekday"):
            before, after, kept, error = mean("before"), mean("after"), mean("kept"), mean("error")
        elif name == "people per place":
            before, after = (float(max(getattr(u, w) for u, _ in named_uses)) for w in ("before", "after"))
            kept, error = mean("kept"), mean("error")
        else:
            before, after = (float(sum(getattr(u, w) for u, _ in named_uses)) for w in ("before", "after"))
            kept, error = mean("kept", by_size=True), mean("error", by_size=True)
        start = first.sentence.split("; no plan")[0]
        out.append(EventUse(name, start, before or 0.0, after or 0.0, kept, error))
    return out


def with_flows(events: EventTable, solution: Solution) -> Solution:
    """The plan with the loss of trips that the published flows leave."""
    lost, share = flows_of(events, solution).lost, events.problem.weights.trips / sum(vars(events.problem.weights).values())
    return replace(solution, trips_loss=lost, loss=solution.loss + share * (lost - solution.trips_loss))


def earlier_flows(
    file: Path, data: EventData, steps: EventSteps, earlier: Sequence[Path], asked: Sequence[Requirement]
) -> list[AttackResult]:
    """The flows of two releases subtracted; ``file`` has the records of the new one. A flow that differs by fewer than k trips,
    or that only one of them publishes and may differ so little, tells of the people who are in one table and not in the other:
    broken, unless the two are of different days."""
    out, k = [], fewest_of(asked)
    mine = file if data.counts else file.with_name(f"{FLOWS}{file.suffix}")
    for place in earlier:
        before = check_earlier(place)
        theirs = place / (str(before.data.file) if before.data.counts else f"{FLOWS}{before.data.ending}")
        if not (mine.is_file() and theirs.is_file()):
            continue
        new, old = ({tuple(map(str, ends)): n for ends, n in read_flows(f).items()} for f in (mine, theirs))
        apart = [abs(new.get(e, k - 1) - old.get(e, k - 1)) for e in new.keys() | old.keys()]
        small, large = sum(0 < d < k for d in apart), sum(d >= k for d in apart)
        rate = small / max(1, len(apart))
        days = _days(file, data, steps), _days(place / str(before.data.file), before.data, before.steps)
        if days[0] and days[1] and (days[0][0] > days[1][1] or days[0][1] < days[1][0]):
            verdict: Verdict = "holds"
            sentence = (
                "By their published days the two releases have no day in common, so that their flows count different trips."
            )
        elif _level(steps) != _level(before.steps) or steps.place == CUT:
            verdict = "broken"
            sentence = (
                "The two releases publish places at different levels, or each cuts them: a flow between larger places, less the "
                "flows between smaller ones, may tell trips of a few people. Publish the same level, or no flows."
            )
        else:
            verdict = "broken" if small else "warning" if large else "holds"
            sentence = (
                f"Of {len(apart):,} flows of both releases, {small:,} differ by fewer than {k} trips or may do so, {large:,} by "
                "more. How many people a difference is due to is not known."
            )
        question = "Do the flows of two releases differ by a few people?"
        out.append(AttackResult.exact(f"flows of an earlier release: {place.name}", question, rate, 0.0, "", verdict, sentence))
    return out


def _level(steps: EventSteps) -> str:
    """The level of the places of flows: exact ones too where the records show no place, or only some of them."""
    return EXACT if steps.place in (None, NONE, LOCAL) else str(steps.place)


LONGEST = {"month": 31, "quarter": 92, "year": 366}


def _days(file: Path, data: EventData, steps: EventSteps) -> tuple[int, int] | None:
    """The first and the last day that the published times of a release may be of; None if they do not tell."""
    width = steps.time or NONE
    length = UNITS["d"] if width == EXACT else time_length(width)
    days = LONGEST.get(width) or (None if length is None else -(-length // UNITS["d"]))
    if days is None or data.time is None or steps.shift:
        return None
    try:
        read = [int(np.datetime64(str(t)[:10]).astype("datetime64[D]").astype(np.int64)) for (t,) in rows(file, [data.time])]
    except ValueError:  # numbers, or times of the day
        return None
    return min(read), max(read) + days - 1


def published_places(events: EventTable, solution: Solution) -> IntArray | None:
    """The place of each record as it is published."""
    level = solution.shape.place
    if level == LOCAL and solution.blank is not None:
        shown: IntArray = np.choose(solution.blank, events.problem.ladder)
        return shown
    if level != CUT:
        codes: IntArray | None = places_at(events.places, level, events.trees)
        return codes
    labels: list[Any] = place_labels(events.places[0], level, events.trees, solution.levels).to_pylist()
    numbers = np.unique(np.array(labels, dtype=object).astype(str), return_inverse=True)[1]
    return numbers[events.places[0].codes].astype(np.int64)
