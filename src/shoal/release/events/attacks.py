"""Attacks on an event release before it exists for others: with true records of the people in the table."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.attacks import ATTACKING, tell
from shoal.attacks._common import wilson
from shoal.attacks.joint import default_limit
from shoal.attacks.traces import (
    MOST_TARGETS,
    Published,
    Votes,
    approximate_times,
    chosen_records,
    draw,
    inferred_place,
    known_about,
    known_absence,
    known_length,
    known_records,
    relinking,
    sensitive_value,
    sparse_matching,
    targets,
    trail_matching,
    whole_trail,
)
from shoal.disk.atomic import scratch
from shoal.errors import UsageError, VerificationError, missing_column
from shoal.kernels.group import group_codes
from shoal.kernels.text import canonical_text
from shoal.measures.events.knowledge import Linked, Sensitive, most_known
from shoal.measures.events.traces import MONDAY, NONE, UNITS, Traces, microseconds
from shoal.measures.events.unicity import trips_of
from shoal.model.attack import AttackResult, Verdict, worst_first
from shoal.model.certificate.certificate import PLAN
from shoal.model.certificate.events import EventCertificate, EventData, EventSteps
from shoal.model.compare import at_most
from shoal.model.counts.classes import ClassCounts, IntArray
from shoal.model.display import Progress, silent, written
from shoal.model.requirement import InferredPlace, KnownRecords, NearRecords, Requirement, Unicity
from shoal.release.earlier import ledger
from shoal.release.events.plan_file import EventPlan, check_earlier, joined_with
from shoal.release.events.publish import DAY, place_labels, shift_step, shifts, shown_of, time_labels, write_table
from shoal.release.events.records import EventTable, column_of, complete, several_places, time_of, times_at
from shoal.release.events.uses import earlier_flows, published_places
from shoal.release.make.dependent_columns import READ, dependences
from shoal.release.proof.events import Column, event_columns, facts_of_rows, judge_events, points_of
from shoal.release.proof.read import rows
from shoal.search.events.event_search import Solution
from shoal.search.events.problem import EVERY, NEVER

if TYPE_CHECKING:
    from shoal.engines.table import Table


TOGETHER = "Somebody has this release and an earlier one, and knows which pseudonyms are one person's: who is found?"
HUNT = "Which are the fewest records by which somebody finds more people than the release claims?"
MOST_HUNTED = 8
"""Known records of the largest attacker that a hunt tries."""
MOST_CHOSEN = 500
"""People whose records are chosen one by one."""
MOST_COMPARED, FEWEST_RELINKED = 2_000_000_000, 200
"""Records that are compared while pseudonyms are joined, and pseudonyms that are joined even if these are more."""
BEYOND = 2
"""Known records beyond those claimed for, with which it is tried too."""


@dataclass(frozen=True, eq=False, repr=False)
class _Scene:
    """A plan under attack: ``codes`` number the published points among all (−1: not published), ``trails`` are the points of the
    ``people`` who are looked for, ``most`` is the number of known records that the requirements are about."""

    events: EventTable
    solution: Solution
    rng: np.random.Generator
    point: IntArray
    codes: IntArray
    published: Published
    people: IntArray
    trails: list[IntArray]
    most: int

    @classmethod
    def of(cls, events: EventTable, solution: Solution) -> _Scene:
        point, person = _points(events, solution), events.problem.person
        rng = np.random.default_rng([events.policy.seed, 4])
        shown = np.zeros(int(point.max()) + 1, dtype=np.bool_)
        shown[point[solution.stays]] = True
        codes = np.where(shown, np.cumsum(shown) - 1, -1)
        people = targets(events.n_people, rng)
        trails = [codes[points] for points in _trails(person, point, people)]
        published, most = _published(person, solution, point), most_known(events.problem.asked)
        return cls(events, solution, rng, point, codes, published, people, trails, most)

    @property
    def code(self) -> IntArray:
        """The published point of each true record."""
        return self.codes[self.point]

    @property
    def asked(self) -> tuple[Any, ...]:
        return self.events.problem.asked

    @property
    def renewed(self) -> bool:
        return self.solution.shape.renew != NEVER


def run_attacks(events: EventTable, solution: Solution, progress: Progress = silent) -> list[AttackResult]:
    """Known records as claimed for and a few more, sparse matching, and joining of renewed pseudonyms."""
    scene, out = _Scene.of(events, solution), list[AttackResult]()

    def add(share: float, *results: AttackResult) -> None:
        out.extend(results)
        tell(progress, share, results)

    for i, s in enumerate((scene.most, scene.most + BEYOND)):
        taken = draw(scene.trails, s, scene.rng)
        claim = claim_of(scene.asked, s, renewed=scene.renewed)
        progress(0.3 * i, f"{ATTACKING}: known records")
        bounds = {"most": most_chance(scene.asked, s), "allowed": most_chance(scene.asked, scene.most)}
        add(0.3 * i + 0.15, known_records(scene.published, scene.people, taken, s, claimed=claim, **bounds))
        if s == scene.most:
            add(0.15, *_with_more_knowledge(scene, taken))
        if s > 1:
            progress(0.3 * i + 0.15, f"{ATTACKING}: sparse matching")
            add(0.3 * i + 0.3, sparse_matching(scene.published, scene.people, taken, s, claimed=claim))
    out += _on_other_knowledge(scene)
    out += _infer(scene)
    out.append(whole_trail(scene.published, scene.people, scene.trails, most=most_chance(scene.asked, scene.most)))
    if events.rules.shift and events.time is not None and solution.shape.time != NONE:
        add(0.6, _fixed_shifts(events, solution))
    if events.policy.insensitive:
        progress(0.6, f"{ATTACKING}: further knowledge")
    for result in _by_further_columns(scene):
        add(0.7, result)
    if scene.renewed and scene.most > 1:
        out += _joined_by_columns(scene)
    if solution.shape.renew not in (NEVER, EVERY) and events.places:
        progress(0.8, f"{ATTACKING}: relinking")
        again = _relinking(scene)
        add(1.0, *([] if again is None else [again]))
    return worst_first(out)


def _with_more_knowledge(scene: _Scene, taken: list[IntArray]) -> list[AttackResult]:
    """As many known records as claimed for, and the length of the trace, a place where somebody was not, or a time within an
    hour; and records that are chosen."""
    out, s = [], scene.most
    for kind, attack in (("length", known_length), ("absent", partial(known_absence, trails=scene.trails))):
        own: list[KnownRecords | None] = [r for r in scene.asked if isinstance(r, KnownRecords) and r.kind == kind]
        for r in own or [None]:
            n, limit = (s, None) if r is None else (r.records, 1.0 / r.k)
            known, bound = (taken if n == s else draw(scene.trails, n, scene.rng)), limit or most_chance(scene.asked, n)
            out.append(attack(scene.published, scene.people, known, s=n, most=bound, claimed=limit))
    near, most = _near(scene), most_chance(scene.asked, s)
    out += [] if near is None else [approximate_times(scene.published, scene.people, near, s, most=most)]
    some = scene.people[:: -(-len(scene.people) // MOST_CHOSEN)]
    return [*out, chosen_records(scene.published, some, s, most=most)]


def _by_further_columns(scene: _Scene) -> Iterator[AttackResult]:
    """Each further column that is published: known with a point if it follows from it, else known of one record."""
    tell_points, columns = _tell_points(scene.events), scene.events.policy.insensitive
    for i, name in enumerate(columns):
        rng = np.random.default_rng([scene.events.policy.seed, 44, i])
        yield _dependent(scene, name, rng) if name in tell_points else _further(scene, name)


def _joined_by_columns(scene: _Scene) -> list[AttackResult]:
    """Pseudonyms joined by the columns that are about people: by those that no person has allowed, and by all."""
    policy = scene.events.policy
    same = [n for n in (*policy.insensitive, *policy.sensitive) if _same_for_people(scene.events, n)]
    free = [n for n in same if n not in policy.identifying]
    return [_joined(scene, names) for names in ((free, same) if free != same else (same,)) if names]


def _infer(scene: _Scene) -> list[AttackResult]:
    """Home and work (the two places with most records of a person), and the next place. Not for records with an origin and a
    destination, which are trips themselves."""
    events, solution, code, published = scene.events, scene.solution, scene.code, scene.published
    place = published_places(events, solution)
    if place is None or several_places(events.places):
        return []
    problem, index = events.problem, np.flatnonzero(solution.stays)
    clear = np.ones(problem.n, np.bool_) if solution.blank is None else solution.blank == 0
    true = place if solution.blank is None else problem.ladder[0]
    trace = np.full(problem.n, -1, dtype=np.int64)
    trace[index] = np.unique(solution.trace[index], return_inverse=True)[1]
    seen = index[clear[index]]
    mine = _most_frequent(problem.person, true, events.n_people)
    shown = _most_frequent(trace[seen], true[seen], len(published.owner))
    where = np.full(int(code.max()) + 2, -1, dtype=np.int64)
    where[code[seen]] = true[seen]
    out, claims = [], {r.kind: r for r in problem.asked if isinstance(r, InferredPlace)}
    for what, of_person, of_trace in (("home", mine[0], shown[0]), ("work", mine[1], shown[1])):
        common = np.bincount(of_person[of_person >= 0])
        some = [i for i, p in enumerate(scene.people.tolist()) if of_person[p] >= 0 and len(common)]
        if some:
            claim = claims.get(what)
            known = draw([scene.trails[i] for i in some], claim.records if claim else scene.most, scene.rng)
            truth = of_person[scene.people[some]]
            guess = [max(where[k[k >= 0]], key=lambda w: common[w] if 0 <= w < len(common) else -1, default=-1) for k in known]
            without = max((truth == common.argmax(), truth == np.array(guess)), key=lambda right: float(right.mean()))
            limit = claim.share if claim else None
            out.append(inferred_place(what, published, known, _votes(of_trace), truth, without, where, claimed=limit))
    return [*out, *_next_place(scene, true, np.where(clear, trace, -1), where)]


def _votes(place: IntArray) -> Votes:
    return lambda _, traces: place[traces]


def _most_frequent(who: IntArray, place: IntArray, n: int) -> tuple[IntArray, IntArray]:
    """The place with most records of each of n people or traces, and the second; −1 if there is none."""
    width = int(place.max(initial=0)) + 1
    both, times = np.unique(who * width + place, return_counts=True)
    order = np.lexsort((-times, both // width))
    own = (both // width)[order]
    turn = np.arange(len(own)) - np.searchsorted(own, own)
    out = np.full((2, n), -1, dtype=np.int64)
    for i in (0, 1):
        out[i, own[turn == i]] = (both % width)[order][turn == i]
    return out[0], out[1]


def _next_place(scene: _Scene, true: IntArray, trace: IntArray, where: IntArray) -> list[AttackResult]:
    """Where the person went after one of the known records; ``trace`` of the published records that show their place."""
    events, solution, code = scene.events, scene.solution, scene.code
    problem, times = events.problem, times_at(events.time, solution.shape.time)
    first, then = problem.trips
    if times is None or not problem.ordered(solution.shape) or not len(first):
        return []
    claim = next((r for r in problem.asked if isinstance(r, InferredPlace) and r.kind == "next"), None)
    shown = np.flatnonzero((trace >= 0) & solution.stays)
    a, b = (shown[x] for x in trips_of(trace[shown], np.asarray(times)[shown], true[shown]))
    width = int(code.max()) + 2
    keys = trace[a] * width + code[a]
    order = np.argsort(keys, kind="stable")
    keys, after = keys[order], true[b][order]
    start = scene.rng.permutation(np.flatnonzero((code[first] >= 0) & np.isin(problem.person[first], scene.people)))
    start = start[np.unique(problem.person[first[start]], return_index=True)[1]]  # one trip of each person
    if not len(start):
        return []
    begin, person = code[first[start]], problem.person[first[start]]
    both = zip(begin, _trails(problem.person, code + 1, person), strict=True)
    further = [np.setdiff1d(points, [p + 1]) for p, points in both]
    rest = draw(further, (claim.records if claim else scene.most) - 1, scene.rng)
    known = [np.concatenate(([p], more - 1)).astype(np.int64) for p, more in zip(begin.tolist(), rest, strict=True)]

    def votes(i: int, traces: IntArray) -> IntArray:
        wanted = traces * width + begin[i]
        at = np.minimum(np.searchsorted(keys, wanted), max(len(keys) - 1, 0))
        return np.where(keys[at] == wanted, after[at], -1) if len(keys) else np.full(len(traces), -1)

    usual = _most_frequent(true[first], true[then], int(true.max()) + 1)[0]
    truth = true[then[start]]
    limit, without = (claim.share if claim else None), usual[true[first[start]]] == truth
    return [inferred_place("next place", scene.published, known, votes, truth, without, where, claimed=limit)]


def _near(scene: _Scene) -> list[list[IntArray]] | None:
    """For some random records of each person, the published points at the same place within an hour; None without timestamps, or
    if they are shifted or not published."""
    events, solution, code, people = scene.events, scene.solution, scene.code, scene.people
    time = events.time
    if time is None or time.kind != "timestamp" or solution.shape.time == NONE or events.rules.shift:
        return None
    moment = microseconds(time.values, time.kind)[time.codes]
    place = published_places(events, solution)
    place = np.zeros(len(code), dtype=np.int64) if place is None else place
    shown = np.flatnonzero(solution.stays)
    shown = shown[np.lexsort((moment[shown], place[shown]))]
    there, at = place[shown], moment[shown]
    mine = np.argsort(events.problem.person, kind="stable")
    bounds = np.searchsorted(events.problem.person[mine], np.stack((people, people + 1)))
    out = []
    for low, high in bounds.T.tolist():
        groups = []
        for r in scene.rng.permutation(mine[low:high])[: scene.most].tolist():
            first, last = np.searchsorted(there, (place[r], place[r] + 1))
            a, b = first + np.searchsorted(at[first:last], (moment[r] - UNITS["h"], moment[r] + UNITS["h"] + 1))
            groups.append(np.unique(code[shown[a:b]]))
        out.append(groups)
    return out


def _fixed_shifts(events: EventTable, solution: Solution) -> AttackResult:
    """Pseudonyms whose shift is the only one that leaves all their dates within the time in which the records were collected."""
    step, moved = shift_step(solution.shape.time), shifts(events, solution.shape.time)
    index = np.flatnonzero(solution.stays)
    moment = microseconds(events.time.values, events.time.kind)[events.time.codes]  # type: ignore[union-attr]
    day = (moment - (MONDAY if step % 7 == 0 else 0)) // (DAY * step)
    who, trace = events.problem.person[index], np.unique(solution.trace[index], return_inverse=True)[1]
    at = day[index] + moved[who] // step
    first, last = np.full(int(trace.max()) + 1, at.max()), np.full(int(trace.max()) + 1, at.min())
    np.minimum.at(first, trace, at)
    np.maximum.at(last, trace, at)
    most = events.rules.shift // step
    possible = np.minimum(first - int(day.min()), most) - np.maximum(last - int(day.max()), -most) + 1
    fixed = int((possible <= 1).sum())
    rate = fixed / len(possible)
    sentence = (
        f"The time in which the records were collected leaves one shift possible for {rate:.1%} of {len(possible):,} pseudonyms, "
        f"and {int(np.median(possible)):,} of {2 * most + 1:,} for half of them; the shift is not counted as protection."
    )
    verdict: Verdict = "warning" if fixed else "holds"
    question = "Somebody knows when the records were collected: is the shift of a pseudonym undone?"
    return AttackResult.exact("shift: collection period", question, rate, None, "", verdict, sentence)


def claim_of(asked: tuple[Requirement, ...], s: int, *, renewed: bool) -> float | None:
    """The chance of naming a person by s known records that the requirements leave at most; None where they say nothing of it."""
    bounds = [most_chance(asked, s)] if any(isinstance(r, KnownRecords) and r.records >= s for r in asked) else []
    bounds += [r.share + (1 - r.share) / 2 for r in asked if isinstance(r, Unicity) and r.records == s and not renewed]
    return min(bounds, default=None)


def most_chance(asked: tuple[Requirement, ...], s: int) -> float:
    """The chance of naming a person that any s known records leave at most."""
    return min((1.0 / r.k for r in asked if isinstance(r, KnownRecords) and r.records >= s), default=1.0)


def _on_other_knowledge(scene: _Scene) -> list[AttackResult]:
    """What the requirements on records known about and on sensitive columns say, tried with random records."""
    out, events, solution, requirements = list[AttackResult](), scene.events, scene.solution, scene.asked
    sensitive = {r.column: r for r in sorted(requirements, key=lambda r: r.kind == "alpha") if isinstance(r, Sensitive)}
    for r in (*sensitive.values(), *(r for r in requirements if isinstance(r, NearRecords))):
        index = np.flatnonzero(solution.stays)
        shown = shown_of(events, solution).take(index)
        alive, person = np.ones(len(index), dtype=np.bool_), events.problem.person[index]
        trace = np.unique(solution.trace[index], return_inverse=True)[1]
        fits = Linked.fitting(r, trace, scene.point[index], person[np.unique(trace, return_index=True)[1]], alive, shown)
        s = getattr(r, "records", scene.most)
        taken = draw(scene.trails, s, scene.rng)
        if isinstance(r, NearRecords):
            out.append(known_about(scene.published, scene.people, taken, s, fits.first, fits.visitor, claimed=1.0 / r.k))
        else:
            sure = r.limit if r.kind == "alpha" else None
            out.append(sensitive_value(scene.published, taken, s, r.column, fits.value_first, fits.value, claimed=sure))
    return out


def _points(events: EventTable, solution: Solution) -> IntArray:
    """The point of every record as the plan shows it."""
    times, places = times_at(events.time, solution.shape.time), published_places(events, solution)
    out = np.zeros(events.problem.n, dtype=np.int64)
    for codes in (times, places):
        if codes is not None:
            dense = np.asarray(codes, dtype=np.int64)
            out = np.unique(out * (int(dense.max()) + 1) + dense, return_inverse=True)[1].astype(np.int64)
    return out


def _published(person: IntArray, solution: Solution, point: IntArray) -> Published:
    index = np.flatnonzero(solution.stays)
    used, trace = np.unique(solution.trace[index], return_inverse=True)
    owner = np.full(int(solution.trace.max()) + 1, -1, dtype=np.int64)
    owner[solution.trace[index]] = person[index]
    return Published(Traces.of(trace, np.unique(point[index], return_inverse=True)[1]), owner[used])


def _trails(person: IntArray, point: IntArray, people: IntArray) -> list[IntArray]:
    """The distinct points of all true records of each of these people."""
    width = int(point.max()) + 1
    both = np.unique(person * width + point)
    bounds = np.searchsorted(both, np.stack((people, people + 1)) * width)
    return [both[a:b] % width for a, b in bounds.T.tolist()]


def _beside(events: EventTable, point: IntArray, name: str) -> IntArray:
    """The points of the records with the values of a further column."""
    values = pc.fill_null(events.records[name].combine_chunks().dictionary_encode().indices, -1)
    codes = np.unique(np.asarray(values.to_numpy(zero_copy_only=False), dtype=np.int64), return_inverse=True)[1]
    both = np.unique(point * (int(codes.max()) + 1) + codes, return_inverse=True)[1]
    return np.asarray(both, dtype=np.int64)


def _tell_points(events: EventTable) -> set[str]:
    """The further columns that follow from the time or a place of a record, or tell it, and that no person has allowed."""
    kept = [n for n in events.policy.insensitive if n not in events.policy.identifying]
    rules = events.rules
    table = events.records.select([n for n in events.records.column_names if n in rules.columns or n in kept]).slice(0, READ)
    schema = events.table.schema  # of trips, origin and destination are columns of their own
    kinds = {n: schema[n].kind if n in schema else "text" for n in table.column_names}
    quasi = [n for n in rules.columns if n != rules.unit and n in table.column_names]
    if rules.time is not None and (pa.types.is_timestamp(table[rules.time].type) or pa.types.is_date(table[rules.time].type)):
        for part in (pc.day_of_year, pc.day_of_week, *([pc.hour] if pa.types.is_timestamp(table[rules.time].type) else [])):
            table = table.append_column(f"{part.__name__} of {rules.time}", part(table[rules.time]))
            quasi.append(table.column_names[-1])
            kinds[quasi[-1]] = "integer"
    return {name for _, names, _ in dependences(table, quasi, kept, kinds) for name in names} if kept else set()


def _dependent(scene: _Scene, name: str, rng: np.random.Generator) -> AttackResult:
    """Whom the known records single out with a further column that anyone who knows time and place knows too."""
    events, solution, requirements = scene.events, scene.solution, scene.asked
    both = _beside(events, scene.point, name)
    shown = np.zeros(int(both.max()) + 1, dtype=np.bool_)
    shown[both[solution.stays]] = True
    codes = np.where(shown, np.cumsum(shown) - 1, -1)
    people, most = targets(events.n_people, rng), max(1, scene.most)
    known = draw([codes[points] for points in _trails(events.problem.person, both, people)], most, rng)
    claim, bound = claim_of(requirements, most, renewed=scene.renewed), most_chance(requirements, most)
    tried = known_records(_published(events.problem.person, solution, both), people, known, most, claimed=claim, most=bound)
    sentence = f"'{name}' follows from the time or place of a record, or tells it, and is known with it. {tried.sentence}"
    return replace(tried, name=f"further column: {name}", question="Does a further column tell more?", sentence=sentence)


def _further(scene: _Scene, name: str) -> AttackResult:
    """Whom one known record singles out once the value of a further column, published as it is, is known of it too."""
    events = scene.events
    shown = _published(events.problem.person, scene.solution, _beside(events, scene.point, name))
    t = shown.traces
    owners, width = shown.owner[t.visitor], events.n_people
    point_of = np.repeat(np.arange(t.n_points), t.popularity)
    people = np.bincount(np.unique(point_of * width + owners) // width)
    rate = float((people[t.point] == 1).mean())
    verdict: Verdict = "warning" if rate > 0 else "holds"
    sentence = (
        f"With '{name}' of one record known besides its point, {written(rate, 3)} of the published records are one person's only."
    )
    return AttackResult.exact(f"further column: {name}", "Does a further column tell more?", rate, None, name, verdict, sentence)


SAME, MOST_POINTS = 0.95, 12
"""Share of people with several records who have one value in a column about people; points of each that are tried."""


def _span(events: EventTable, value: IntArray) -> tuple[IntArray, IntArray]:
    """The smallest and the largest code of each person."""
    low, high = np.full(events.n_people, value.max()), np.zeros(events.n_people, dtype=np.int64)
    np.minimum.at(low, events.problem.person, value)
    np.maximum.at(high, events.problem.person, value)
    return low, high


def _same_for_people(events: EventTable, name: str) -> bool:
    """Whether a further column is the same in all records of a person, and not of everybody."""
    low, high = _span(events, value := _beside(events, np.zeros(events.problem.n, dtype=np.int64), name))
    several = np.bincount(events.problem.person, minlength=events.n_people) > 1
    return bool(value.any() and several.any() and (low == high)[several].mean() >= SAME)


def _joined(scene: _Scene, names: Sequence[str]) -> AttackResult:
    """Who is named by known records under several pseudonyms if these are joined by columns that are the same in all records of
    a person. Every choice of a pseudonym for each known record, all with the same values, is as likely."""
    events, most = scene.events, scene.most
    person, value = events.problem.person, np.zeros(events.problem.n, dtype=np.int64)
    for name in names:
        value = _beside(events, value, name)
    low, high = _span(events, value)
    same = low == high
    published, rng = scene.published, np.random.default_rng([events.policy.seed, 45])
    people = targets(events.n_people, rng, MOST_CHOSEN)
    t, at = published.traces, dict[int, dict[int, int]]()
    chances = np.zeros(len(people))
    for i, (who, points) in enumerate(zip(people.tolist(), _trails(person, scene.point, people), strict=True)):
        here = [(p, t.visitor[t.first[p] : t.first[p + 1]]) for p in rng.permutation(scene.codes[points]).tolist() if p >= 0]
        here = [(p, traces) for p, traces in here[:MOST_POINTS] if same[who] and (published.owner[traces] == who).any()]
        for p, traces in here:
            if p not in at:
                at[p] = dict(zip(*(x.tolist() for x in np.unique(low[published.owner[traces]], return_counts=True)), strict=True))
        own = {p: int((published.owner[traces] == who).sum()) / at[p][int(low[who])] for p, traces in here}
        for some in itertools.combinations(own, min(most, len(own))):
            fits = {v: math.prod(at[p][v] for p in some) for v in at[some[0]] if all(v in at[p] for p in some)} if some else {}
            sure = fits[int(low[who])] / sum(fits.values()) if some else 0.0
            chances[i] = max(chances[i], sure * max((own[p] for p in some), default=0.0))
    bound, found = most_chance(events.problem.asked, most), float(chances.max())
    above = int((~np.array([at_most(float(c), bound) for c in chances])).sum())
    allowed, listed = set(names) & set(events.policy.identifying), ", ".join(names)
    verdict: Verdict = "holds" if not above else "warning" if allowed else "broken"
    sentence = (
        f"The same in all records of a person and able to join pseudonyms: {listed}. Of {len(people):,} people with {most} known "
        f"records under any of these, {above:,} are named with a chance above {written(bound, 3)}, at most {written(found, 3)}."
    )
    question = "Do columns that are the same in all records of a person join pseudonyms?"
    rate = float(chances.mean())
    ends = (rate, rate) if len(people) == events.n_people else wilson(float(chances.sum()), len(people))
    return AttackResult(f"further columns join: {listed}", question, rate, *ends, bound, listed, verdict, sentence)


def _relinking(scene: _Scene) -> AttackResult | None:
    """Pseudonyms by their exact published places; None where nobody has two."""
    events, solution, rng = scene.events, scene.solution, scene.rng
    place = published_places(events, solution)
    if place is None:
        return None
    whole = _published(events.problem.person, solution, np.asarray(place, dtype=np.int64))
    several = np.flatnonzero(np.bincount(whole.owner)[whole.owner] > 1)
    if not len(several):
        return None
    sample = several[targets(len(several), rng, min(MOST_TARGETS, max(FEWEST_RELINKED, MOST_COMPARED // whole.traces.n_pairs)))]
    times = times_at(events.time, solution.shape.time) if solution.shape.time != NONE else None
    when = None if times is None else _published(events.problem.person, solution, np.asarray(times, dtype=np.int64))
    return relinking(whole, sample, when)


def shown_records(events: EventTable, solution: Solution) -> ledger.Published:
    """The release for the ledger: for each original record the point that is published for it, at the dates before a shift."""
    named = [(events.rules.unit, events.problem.person, events.ids)]
    named += [(c.name, c.codes, c.values) for c in (events.time, *events.places) if c is not None]
    names, codes, values = zip(*named, strict=True)
    same = group_codes([c.astype(np.int32) for c in codes], n_rows=events.problem.n)
    point, trace = _points(events, solution), solution.trace
    key = np.where(trace >= 0, trace * (int(point.max()) + 1) + point, -1)
    there = np.isin(key, key[solution.stays])  # records at one point under one pseudonym are published once
    classes = np.full(same.n, -1, dtype=np.int64)
    traces = np.full(same.n, -1, dtype=np.int64)
    classes[same.ids[there]], traces[same.ids[there]] = point[there], trace[there]
    base = ClassCounts(np.bincount(same.ids), names, [c[same.first] for c in codes], values)
    person = events.problem.person[same.first]

    def together(releases: Sequence[IntArray], _: ClassCounts) -> AttackResult:
        both = (releases[0] >= 0) & np.logical_or.reduce([r >= 0 for r in releases[1:]])
        if not both.any():
            return ledger.nothing_compared()
        cells = group_codes([r[both].astype(np.int32) for r in releases], n_rows=int(both.sum())).ids
        known = zip(traces[both].tolist(), person[both].tolist(), cells.tolist(), strict=True)
        most = most_known(events.problem.asked)
        every = events.policy.requirements
        with_records = [r for r in every if isinstance(r, KnownRecords | Unicity)]
        near = [KnownRecords(r.records, r.k) for r in every if isinstance(r, NearRecords)]  # met exactly, met about
        try:
            facts = facts_of_rows(known, unit=True, person=True, known=most, asked=[*with_records, *near])
        except VerificationError:
            return ledger.nothing_compared("both releases together show too many sets of known records")
        unmet = [v for v in judge_events(with_records, facts) if not v.met]
        others = len(every) - len(with_records) - len(near) + sum(not v.met for v in judge_events(near, facts))
        if others and not unmet:
            return ledger.nothing_compared("your ledger cannot compare all requirements (near, sensitive columns)")
        few = f"{most} known {'record' if most == 1 else 'records'}"
        rate, worst = facts.alone[most], f"fewest people who share {few}: {facts.smallest[most]}"
        says = (
            f"Of {facts.people:,} people with records in both, {written(100 * rate, 3)} % are alone with {few} that both show; "
            f"{worst}."
        )
        verdict: Verdict = "broken" if unmet else "holds"
        return AttackResult.exact("", TOGETHER, rate, None, worst, verdict, says)

    return ledger.Published(base, classes, together, exact=True, counted="records of the smaller table that have")


def attack_folder(
    place: Path, outside: Table | None, seed: int, *, earlier: Sequence[Path] = (), hunt: bool = False
) -> list[AttackResult]:
    """Known records and scores on what is published; trails of the outside list, where there is one; earlier releases joined."""
    certificate = check_earlier(place)
    plan = EventPlan.from_json((place / PLAN).read_text(encoding="utf-8"))
    data = place / str(certificate.data.file)
    out = published_attacks(
        data, certificate.data, certificate.steps, certificate.asked, separate=certificate.people is not None, seed=seed
    )
    out += [joined_with(data, certificate.data, certificate.steps, e, certificate.asked, seed) for e in earlier]
    out += earlier_flows(data, certificate.data, certificate.steps, earlier, certificate.asked)
    if outside is None:
        return out
    columns = [n for n in certificate.data.points if n in outside.schema]
    if not columns:
        raise missing_column(certificate.data.points[0], outside.schema.names, table=outside.name, what="time or place")
    shown = _read_shown(data, certificate.data)

    def trails(names: Sequence[str]) -> tuple[Published, list[IntArray]]:
        return _list_trails(certificate, plan, outside, shown, names)

    known = [r for r in certificate.asked if isinstance(r, KnownRecords)]
    covered = max((r.records for r in known), default=0) if not plan.shift else 0
    out.append(trail_matching(*trails(columns), covered=covered, k=min((r.k for r in known), default=1)))
    return [*out, _hunt(certificate.asked, columns, trails, seed)] if hunt else out


def _read_shown(data: Path, source: EventData) -> list[Column]:
    return event_columns(data, [*([source.unit] if source.unit else []), *source.points], source.counts)


def published_attacks(
    data: Path, source: EventData, steps: EventSteps, asked: Sequence[Requirement], *, separate: bool, seed: int = 0
) -> list[AttackResult]:
    """Random published records of a pseudonym: whom do they single out? Claimed is what was counted by pseudonyms.

    ``separate``: pseudonyms are not people, or dates are shifted; then these are attacks of their own, on the published file.
    """
    traces = _released_traces(_read_shown(data, source), source.unit is not None, list(range(len(source.points))))[0]
    rng = np.random.default_rng(seed)
    most = most_known(asked)
    chosen, t = targets(traces.traces.n_people, rng), traces.traces
    trails = [t.point[t.start[i] : t.start[i + 1]].astype(np.int64) for i in chosen.tolist()]
    out = []
    for s in (most, most + BEYOND):
        taken = draw(trails, s, rng)
        claim = claim_of(tuple(asked), s, renewed=separate) if not steps.shift else None
        bound = 1.0 if steps.shift else most_chance(tuple(asked), s)
        allowed = most_chance(tuple(asked), most)
        out.append(known_records(traces, chosen, taken, s, claimed=claim, most=bound, allowed=allowed))
        if s > 1:
            out.append(sparse_matching(traces, chosen, taken, s, claimed=claim))
    if not separate:
        return out
    of = f"Published records of {len(chosen):,} pseudonyms, each taken for a person. "
    return [replace(r, name=f"{r.name}, as published", sentence=of + r.sentence) for r in out]


def _released_traces(shown: list[Column], unit: bool, which: list[int]) -> tuple[Published, Callable[[], list[tuple[Any, ...]]]]:
    """Published records as traces, by some of the columns of a point; and a function that lists the values of each point."""
    trace = np.unique(shown[0][0], return_inverse=True)[1] if unit else np.arange(len(shown[0][0]))
    point, values = points_of([shown[int(unit) + j] for j in which])
    traces = Traces.of(trace, point)
    return Published(traces, np.arange(traces.n_people)), values


def _list_trails(
    c: EventCertificate, plan: EventPlan, outside: Table, shown: list[Column], texts: Sequence[str]
) -> tuple[Published, list[IntArray]]:
    """Published traces by some columns of a point, and the points of each person of the list, carried through the plan: a row
    for each record, a column for each number of days by which the plan may shift all of them."""
    step = shift_step(plan.time_width)
    days = range(-(plan.shift // step) * step, plan.shift + 1, step) if plan.time in texts else (0,)
    person = _person(plan, outside, c.data.points)
    published, values = _released_traces(shown, c.data.unit is not None, [list(c.data.points).index(n) for n in texts])
    numbers = {value: i for i, value in enumerate(values())}
    trails: dict[Any, list[list[int]]] = {}
    for records in zip(*(_carry_out(plan, outside, person, list(texts), c.data.ending, d) for d in days), strict=True):
        trails.setdefault(records[0][0], []).append([numbers.get(tuple(point), -1) for _, *point in records])
    return published, [np.unique(np.array(p, dtype=np.int64), axis=0) for p in trails.values()]


def _hunt(
    asked: Sequence[Requirement],
    texts: Sequence[str],
    trails_by: Callable[[Sequence[str]], tuple[Published, list[IntArray]]],
    seed: int,
) -> AttackResult:
    """The fewest random records of the list, and then the fewest columns, that find more than the limit."""
    limit = default_limit(max((getattr(r, "k", 1) for r in asked), default=1))
    sets = [names for size in range(1, len(texts) + 1) for names in itertools.combinations(texts, size)]
    sides, tried, best = {names: trails_by(names) for names in sets}, 0, (0.0, 0, tuple(texts), 0)
    for s in range(1, MOST_HUNTED + 1):
        for names, (published, trails) in sides.items():
            rng = np.random.default_rng([seed, s])
            known = [trails[i][rng.permutation(len(trails[i]))[:s]] for i in targets(len(trails), rng, MOST_CHOSEN).tolist()]
            owners = np.array([len(published.moved(t)) for t in known])
            rate = float((1 / owners[owners > 0]).mean()) if owners.any() else 0.0
            best, tried = max(best, (rate, -s, names, int((owners > 0).sum())), key=lambda one: one[:2]), tried + 1
        if best[0] > limit:
            break
    rate, s, names, people = best[0], -best[1], best[2], best[3]
    low, high = wilson(rate * people, people)
    what = f"{s} random {'record' if s == 1 else 'records'} of a person by {' and '.join(repr(n) for n in names)}"
    sentence = f"Anyone who knows {what} finds {rate:.1%} of {people:,} people" if rate else "Nobody is found"
    end = f"; the limit is {limit:.1%}. Nobody does with fewer records." if rate > limit else "."
    verdict: Verdict = "broken" if rate > limit else "holds"
    return AttackResult("hunt", HUNT, rate, low, high, limit, f"{tried:,} attackers tried", verdict, sentence + end)


def _person(plan: EventPlan, outside: Table, texts: Sequence[str]) -> str:
    """The column of the list that names a person: as in the table that was released, or the only other one."""
    if plan.unit in outside.schema:
        return plan.unit
    others = [n for n in outside.schema.names if n not in (*texts, plan.time, *plan.place)]
    if len(others) != 1:
        hint = f"Keep one of them, or call it '{plan.unit}'."
        raise UsageError(f"the list has no column '{plan.unit}', and {len(others)} others could name a person.", hint=hint)
    return others[0]


def _carry_out(plan: EventPlan, outside: Table, person: str, texts: list[str], ending: str, days: int) -> list[tuple[Any, ...]]:
    """Person and point of each record of the list, so many days later, as the release writes points: through a file of the same
    form."""
    records, _ = complete(outside, (person, *texts), (person, *texts))
    columns: dict[str, Any] = {"person": pa.array(column_of(records, person, "text").codes)}
    for i, name in enumerate(texts):
        kind = outside.schema[name].kind
        if name == plan.time:
            time = time_of(records, name, kind)
            if days:
                moved = pc.add(time.values.cast(pa.timestamp("us")), pa.scalar(days * DAY, pa.duration("us")))
                time = replace(time, values=moved.cast(time.values.type))
            columns[f"point {i}"] = time_labels(time, plan.time_width).take(pa.array(time.codes))
            continue
        place = column_of(records, name, kind)
        if name in plan.labels:
            known = plan.labels[name]
            labels = pa.array([known.get(t) for t in canonical_text(place.values).to_pylist()], pa.string())
        else:
            labels = place_labels(place, plan.place_level, {})
        columns[f"point {i}"] = labels.take(pa.array(place.codes))
    with scratch() as work:
        file = work / f"list{ending}"
        write_table(pa.table(columns), file)
        return list(rows(file, list(columns)))
