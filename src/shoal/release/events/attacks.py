"""Attacks on an event release before it exists for others: with true records of the people in the table."""

from __future__ import annotations

import numpy as np

from shoal.attacks import ATTACKING, tell
from shoal.attacks.traces import MOST_TARGETS, Published, draw, known_records, relinking, sparse_matching, targets
from shoal.measures.events.traces import Traces
from shoal.model.attack import AttackResult, Verdict, worst_first
from shoal.model.counts.classes import IntArray
from shoal.model.display import Progress, silent, written
from shoal.model.requirement import KnownRecords, Requirement, Unicity
from shoal.release.events.read import EventTable, times_at
from shoal.release.events.uses import published_places
from shoal.search.events.event_search import Found
from shoal.search.events.problem import EVERY, NEVER

BEYOND = 2
"""Known records beyond those claimed for, with which it is tried too."""


def run_attacks(events: EventTable, found: Found, progress: Progress = silent) -> list[AttackResult]:
    """Known records as claimed for and a few more, sparse matching, and joining of renewed pseudonyms."""
    point = _points(events, found)
    person = events.problem.person
    rng = np.random.default_rng([events.policy.seed, 4])
    published = _published(person, found, point)
    shown = np.zeros(int(point.max()) + 1, dtype=np.bool_)
    shown[point[found.stays]] = True
    codes = np.where(shown, np.cumsum(shown) - 1, -1)
    people = targets(events.n_people, rng)
    trails = [codes[points] for points in _trails(person, point, people)]
    out = []
    asked = events.problem.asked
    most = max(r.records for r in asked)
    for i, s in enumerate((most, most + BEYOND)):
        taken = draw(trails, s, rng)
        claim = claim_of(asked, s, renewed=found.shape.renew != NEVER)
        progress(0.3 * i, f"{ATTACKING}: known records")
        out.append(known_records(published, people, taken, s, claimed=claim))
        tell(progress, 0.3 * i + 0.15, out[-1:])
        if s > 1:
            progress(0.3 * i + 0.15, f"{ATTACKING}: sparse matching")
            out.append(sparse_matching(published, people, taken, s, claimed=claim))
            tell(progress, 0.3 * i + 0.3, out[-1:])
    if events.policy.insensitive:
        progress(0.6, f"{ATTACKING}: further knowledge")
    for name in events.policy.insensitive:
        out.append(_further(events, found, point, name))
        tell(progress, 0.7, out[-1:])
    if found.shape.renew not in (NEVER, EVERY) and events.places:
        progress(0.8, f"{ATTACKING}: relinking")
        again = _relinking(events, found, rng)
        if again is not None:
            out.append(again)
            tell(progress, 1.0, [again])
    return worst_first(out)


def claim_of(asked: tuple[Requirement, ...], s: int, *, renewed: bool) -> float | None:
    """The chance of naming a person by s known records that the requirements leave at most; None where they say nothing of it."""
    bounds = [1.0 / r.k for r in asked if isinstance(r, KnownRecords) and r.records >= s]
    bounds += [r.share + (1 - r.share) / 2 for r in asked if isinstance(r, Unicity) and r.records == s and not renewed]
    return min(bounds, default=None)


def _points(events: EventTable, found: Found) -> IntArray:
    """The point of every record as the plan shows it."""
    times, places = times_at(events.time, found.shape.time), published_places(events, found)
    out = np.zeros(events.problem.n, dtype=np.int64)
    for codes in (times, places):
        if codes is not None:
            dense = np.asarray(codes, dtype=np.int64)
            out = np.unique(out * (int(dense.max()) + 1) + dense, return_inverse=True)[1].astype(np.int64)
    return out


def _published(person: IntArray, found: Found, point: IntArray) -> Published:
    index = np.flatnonzero(found.stays)
    used, trace = np.unique(found.trace[index], return_inverse=True)
    owner = np.full(int(found.trace.max()) + 1, -1, dtype=np.int64)
    owner[found.trace[index]] = person[index]
    return Published(Traces.of(trace, np.unique(point[index], return_inverse=True)[1]), owner[used])


def _trails(person: IntArray, point: IntArray, people: IntArray) -> list[IntArray]:
    """The distinct points of all true records of each of these people."""
    width = int(point.max()) + 1
    both = np.unique(person * width + point)
    bounds = np.searchsorted(both, np.stack((people, people + 1)) * width)
    return [both[a:b] % width for a, b in bounds.T.tolist()]


def _further(events: EventTable, found: Found, point: IntArray, name: str) -> AttackResult:
    """Whom one known record singles out once the value of a further column, published as it is, is known of it too."""
    import pyarrow.compute as pc

    values = pc.fill_null(events.records[name].combine_chunks().dictionary_encode().indices, -1)
    told = np.unique(np.asarray(values.to_numpy(zero_copy_only=False), dtype=np.int64), return_inverse=True)[1]
    shown = _published(events.problem.person, found, point * (int(told.max()) + 1) + told)
    t = shown.traces
    owners, width = shown.owner[t.visitor], events.n_people
    point_of = np.repeat(np.arange(t.n_points), t.popularity)
    people = np.bincount(np.unique(point_of * width + owners) // width)
    rate = float((people[t.point] == 1).mean())
    verdict: Verdict = "warning" if rate > 0 else "holds"
    said = (
        f"With '{name}' of one record known besides its point, {written(rate, 3)} of the published records are one person's only."
    )
    return AttackResult(
        f"further column: {name}", "Does a further column tell more?", rate, rate, rate, None, name, verdict, said
    )


def _relinking(events: EventTable, found: Found, rng: np.random.Generator) -> AttackResult | None:
    """Pseudonyms by their exact published places; None where nobody has two."""
    place = published_places(events, found)
    if place is None:
        return None
    whole = _published(events.problem.person, found, np.asarray(place, dtype=np.int64))
    several = np.flatnonzero(np.bincount(whole.owner)[whole.owner] > 1)
    if not len(several):
        return None
    sample = several[targets(len(several), rng, MOST_TARGETS)]
    return relinking(whole, sample)
