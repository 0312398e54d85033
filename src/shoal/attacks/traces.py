"""Attacks on an event release: somebody knows a few records of a person, has a list of trails, or looks for habits that go on.

Takes    what is published as traces (a pseudonym's points), and what the attacker knows as points of the same kind (−1: a point
         that is not published)
Returns  AttackResults: how often a person is found
Source   sparse matching and eccentricity: Narayanan & Shmatikov 2008; trails against a list: Malin & Sweeney 2004
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.attacks._common import wilson
from shoal.measures.events.traces import Traces
from shoal.model.attack import AttackResult, Verdict
from shoal.model.compare import TOLERANCE, at_most
from shoal.model.counts.classes import IntArray
from shoal.model.display import written

ECCENTRICITY = 1.5
"""The best score stands out when it is this many standard deviations above the second."""
MOST_TARGETS = 2_000


@dataclass(frozen=True, eq=False, repr=False)
class Published:
    """Published traces; ``owner`` of each where it is known who is behind it (else each trace is taken for a person)."""

    traces: Traces
    owner: IntArray

    def near(self, groups: Sequence[IntArray]) -> IntArray:
        """Traces that hold one point, at least, of every group."""
        t = self.traces
        each: list[IntArray] = []
        for points in groups:
            there = [t.visitor[t.first[p] : t.first[p + 1]] for p in points[points >= 0].tolist()]
            visitors = np.concatenate(there or [t.visitor[:0]]).astype(np.int64)
            each.append(visitors if len(there) < 2 else np.unique(visitors))  # the traces at one point stand in order, each once
        left, *others = sorted(each, key=len) or [np.empty(0, dtype=np.int64)]
        for other in others:
            left = other[_places_in(left, other)]
        return left

    def moved(self, points: IntArray) -> IntArray:
        """Traces that hold every point; with several columns of points, all those of one column."""
        return np.unique(np.concatenate([self.near([np.array([p]) for p in some]) for some in points.reshape(len(points), -1).T]))

    def scores(self, points: IntArray) -> tuple[Any, Any, Any]:
        """The traces with one of the points, at least: for each the sum over the points in common, 1 / ln(1 + n) for one that n
        traces hold, because a rare one tells more; and how many these are."""
        t = self.traces
        lists = [t.visitor[t.first[p] : t.first[p + 1]] for p in points[points >= 0].tolist()]
        there, which = np.unique(np.concatenate([t.visitor[:0], *lists]), return_inverse=True)
        sizes = np.array([len(x) for x in lists], dtype=np.int64)
        return there, np.bincount(which, weights=np.repeat(1.0 / np.log1p(sizes), sizes)), np.bincount(which)

    def alike(self, points: IntArray) -> tuple[Any, Any]:
        """The traces with one of the points, at least, and the score of each over all points of both."""
        there, scores, common = self.scores(points)
        return there, scores / (self.traces.lengths[there] + len(points) - common)

    def best(self, points: IntArray) -> tuple[int, float]:
        """The trace with the highest score and its eccentricity; −1 where no point fits."""
        there, some, _ = self.scores(points)
        if not len(there):
            return -1, 0.0
        n = self.traces.n_people
        spread = float(max(0.0, (some**2).sum() / n - (some.sum() / n) ** 2) ** 0.5)
        first, second = np.partition(np.append(some, 0.0), -2)[:-3:-1].tolist() if n > 1 else (float(some[0]), 0.0)
        return int(there[some.argmax()]), (first - second) / spread if spread > 0 else 0.0


def _places_in(few: Any, many: Any) -> Any:
    """Where those of the first that are in the second stand there; both in order, each value once."""
    at = np.searchsorted(many, few)
    at, few = at[at < len(many)], few[at < len(many)]
    return at[many[at] == few]


def draw(known: Sequence[IntArray], s: int, rng: np.random.Generator) -> list[IntArray]:
    """Up to s random ones of each person's points."""
    return [points if len(points) <= s else rng.choice(points, s, replace=False) for points in known]


def known_records(
    published: Published,
    people: IntArray,
    known: Sequence[IntArray],
    s: int,
    *,
    claimed: float | None,
    most: float = 1.0,
    allowed: float = 1.0,
) -> AttackResult:
    """Somebody knows s true records of a person and looks for the pseudonyms that have all of them, or as many as any has.

    ``people[i]`` is the person with the points ``known[i]``. The chance is the share of the pseudonyms found that are that
    person's. ``claimed`` is about the mean of the chances, ``most`` about each of them: one above it breaks the claim. Above
    ``allowed``, what the requirement allows for fewer records, it is a warning.
    """
    chances = _chances(published, people, [[np.array([p]) for p in points] for points in known])
    rate = float(chances.mean())
    alone = int((chances == 1.0).sum())
    what = "record" if s == 1 else "records"
    text = f"Of {len(people):,} people with up to {s} random known {what} each, {alone:,} are alone with them; a person is named "
    text += f"with a chance of {written(rate, 3)} on average, {written(float(chances.max()), 3)} at most."
    low, high = wilson(float(chances.sum()), len(people))
    question = f"Does somebody who knows {s} {what} of a person find that person's pseudonym?"
    verdict = _verdict(low, alone, claimed)
    if not at_most(float(chances.max()), most):
        verdict = "broken"
    elif verdict == "holds" and not at_most(float(chances.max()), allowed):
        verdict = "warning"
    return AttackResult(f"known records: {s}", question, rate, low, high, claimed, "", verdict, text)


def _chances(published: Published, people: IntArray, known: Sequence[Sequence[IntArray]]) -> npt.NDArray[np.float64]:
    """For each person the share of the pseudonyms that fit the known records that are that person's."""
    both = zip(people.tolist(), known, strict=True)
    return np.array([max(((published.owner[t] == p).mean() for t in _fitting(published, g)), default=0.0) for p, g in both])


def _fitting(published: Published, groups: Sequence[IntArray]) -> list[IntArray]:
    """The traces that fit the known records: all of these, or every subset of them that is as large as any trace has. Each record
    is the group of the points that it may be."""
    there = [g[g >= 0] for g in groups if (g >= 0).any()]
    for size in range(len(there), 0, -1):
        traces = [t for t in (published.near(c) for c in combinations(there, size)) if len(t)]
        if traces:
            return traces
    return []


def chosen_records(published: Published, people: IntArray, s: int, *, most: float) -> AttackResult:
    """Somebody who can choose which s records of a person to learn: of each pseudonym of that person the rarest point, then one
    after the other the point that leaves the greatest chance. ``most`` is claimed for any s records."""
    t, chances = published.traces, np.zeros(len(people))
    for i, person in enumerate(people.tolist()):
        for trace in np.flatnonzero(published.owner == person).tolist():
            own = [t.visitor[t.first[p] : t.first[p + 1]] for p in t.point[t.start[trace] : t.start[trace + 1]].tolist()]
            left, chance = own[0], float((published.owner[own[0]] == person).mean())
            for _ in range(min(s, len(own)) - 1):
                further = [np.intersect1d(left, there, assume_unique=True) for there in own]
                shares = [float((published.owner[f] == person).mean()) for f in further]
                left, chance = further[int(np.argmax(shares))], max(chance, *shares)
            chances[i] = max(chances[i], chance)
    what = f"{s} {'record' if s == 1 else 'records'}"
    question = f"Does somebody who chooses which {what} of a person to learn find that person's pseudonym?"
    return _beyond(
        f"chosen records: {s}", question, f"up to {what} chosen to tell most", chances, most, most if most < 1 else None
    )


Votes = Callable[[int, IntArray], IntArray]
"""What each of some traces tells of the i-th person: a place, below 0 if none."""


def inferred_place(
    what: str, published: Published, known: Sequence[IntArray], votes: Votes, truth: IntArray, without: npt.NDArray[np.bool_],
    where: IntArray, *, claimed: float | None,
) -> AttackResult:  # fmt: skip
    """Somebody knows records of a person and takes, of what the pseudonyms with them tell, the most common place for the
    person's: right if it is ``truth[i]``. ``without[i]``: whether the guess without the release is right. ``where`` has the place
    of each point.

    How much is learnt: it holds only if the upper end of the interval is not above the guess without the release. With a limit
    ``claimed``, broken if more of the pseudonyms that fit tell one place that is not known already.
    """
    right, surest = without.astype(np.float64), 0.0
    for i, points in enumerate(known):
        fitting = _fitting(published, [np.array([p]) for p in points])
        guesses = votes(i, np.concatenate(fitting)) if fitting else np.empty(0, np.int64)
        for traces in fitting if claimed is not None else ():
            new = (own := votes(i, traces))[(own >= 0) & ~np.isin(own, where[points[points >= 0]])]
            surest = max(surest, int(np.bincount(new).max(initial=0)) / len(traces))
        if (guesses >= 0).any():
            times = np.bincount(guesses[guesses >= 0])
            best = np.flatnonzero(times == times.max())
            right[i] = float((best == truth[i]).sum()) / len(best)
    rate, base = float(right.mean()), float(without.mean())
    low, high = wilson(float(right.sum()), len(right))
    sentence = (
        f"Of {len(right):,} people with known records, the {what} is guessed correctly for {rate:.1%}; without the release, "
        f"by the most common places and the known ones, for {base:.1%}."
    )
    question = f"Do known records and the release tell the {what} of a person?"
    verdict: Verdict = "holds" if high <= base else "warning"
    if claimed is not None:
        verdict = "holds" if at_most(surest, claimed) else "broken"
        sentence += f" At most {written(surest, 3)} of the pseudonyms that fit show one place that is not known already."
    return AttackResult(f"inference: {what}", question, rate, low, high, claimed, "", verdict, sentence)


def known_length(
    published: Published, people: IntArray, known: Sequence[IntArray], s: int, *, most: float, claimed: float | None = None
) -> AttackResult:
    """The same by somebody who knows besides how many records stand under the person's pseudonym."""
    lengths = published.traces.lengths
    chances = np.zeros(len(people))
    for i, (person, points) in enumerate(zip(people.tolist(), known, strict=True)):
        for fitting in _fitting(published, [np.array([p]) for p in points]):
            own = published.owner[fitting] == person
            for length in np.unique(lengths[fitting[own]]).tolist():
                chances[i] = max(chances[i], float(own[lengths[fitting] == length].mean()))
    what = f"{s} known {'record' if s == 1 else 'records'} and how many records the pseudonym has"
    question = f"Does somebody who knows {what} find that person's pseudonym?"
    return _beyond(f"length of the trace: {s}", question, f"up to {what}", chances, most, claimed)


def known_absence(
    published: Published, people: IntArray, known: Sequence[IntArray], trails: Sequence[IntArray], s: int, *, most: float,
    claimed: float | None = None,
) -> AttackResult:  # fmt: skip
    """The same by somebody who knows besides one point where the person was not: of those outside ``trails[i]``, all points of
    the person, the one that rules out most of the pseudonyms that fit."""
    t = published.traces
    chances = np.zeros(len(people))
    for i, (person, points, own_points) in enumerate(zip(people.tolist(), known, trails, strict=True)):
        for fitting in _fitting(published, [np.array([p]) for p in points]):
            lengths = t.lengths[fitting]
            ends = np.cumsum(lengths)
            within = np.arange(int(ends[-1])) - np.repeat(ends - lengths, lengths)
            held = np.bincount(t.point[np.repeat(t.start[fitting], lengths) + within], minlength=t.n_points)
            held[own_points[own_points >= 0]] = 0
            own = int((published.owner[fitting] == person).sum())
            chances[i] = max(chances[i], own / (len(fitting) - int(held.max())) if own else 0.0)
    what = f"{s} known {'record' if s == 1 else 'records'} and one point where the person was not"
    question = f"Does somebody who knows {what} find that person's pseudonym?"
    return _beyond(f"where somebody was not: {s}", question, f"up to {what}", chances, most, claimed)


def approximate_times(
    published: Published, people: IntArray, near: Sequence[Sequence[IntArray]], s: int, *, most: float
) -> AttackResult:
    """The same by somebody who knows the times within an hour: ``near[i]`` has, for each known record, the points that fit."""
    chances = _chances(published, people, near)
    question = f"Does somebody who knows {s} {'record' if s == 1 else 'records'} of a person within an hour find the pseudonym?"
    return _beyond(f"approximate times: {s}", question, f"up to {s} records known within an hour", chances, most)


def known_about(
    published: Published, people: IntArray, known: Sequence[IntArray], s: int, first: IntArray, visitor: Any, *, claimed: float
) -> AttackResult:
    """The same by somebody who knows records about, as a requirement says: ``visitor[first[p]:first[p + 1]]`` are the traces with
    a point near p."""
    near = Published(replace(published.traces, first=first, visitor=visitor), published.owner)
    chances = _chances(near, people, [[np.array([p]) for p in points] for points in known])
    question = f"Does somebody who knows {s} {'record' if s == 1 else 'records'} of a person about find the pseudonym?"
    return _beyond(f"records known about: {s}", question, f"up to {s} records known about", chances, claimed, claimed)


def sensitive_value(
    published: Published, known: Sequence[IntArray], s: int, column: str, first: IntArray, value: IntArray, *,
    claimed: float | None,
) -> AttackResult:  # fmt: skip
    """Somebody knows s records of a person and takes the value that most of the pseudonyms with them have; ``value[first[t]:
    first[t + 1]]`` are those of trace t."""
    sure = np.zeros(len(known))
    for i, points in enumerate(known):
        for fitting in _fitting(published, [np.array([p]) for p in points]):
            there = np.concatenate([value[first[t] : first[t + 1]] for t in fitting.tolist()])
            sure[i] = max(sure[i], int(np.bincount(there).max(initial=0)) / len(fitting))
    what = f"{s} known {'record' if s == 1 else 'records'}"
    question = f"Does somebody who knows {what} of a person learn a value of '{column}'?"
    rate, top = float(sure.mean()), float(sure.max())
    low, high = wilson(float(sure.sum()), len(sure))
    text = f"With up to {what} of {len(known):,} people each, the surest value of '{column}' has a chance of "
    text += f"{written(rate, 3)} on average, {written(top, 3)} at most."
    verdict: Verdict = "warning" if top == 1.0 else "holds"
    if claimed is not None and not at_most(top, claimed):
        verdict = "broken"
    return AttackResult(f"sensitive value: {column}", question, rate, low, high, claimed, column, verdict, text)


def _beyond(
    name: str, question: str, what: str, chances: npt.NDArray[np.float64], most: float, claimed: float | None = None
) -> AttackResult:
    """Knowledge beyond exact records: broken if a person is named with a greater chance than is ``claimed`` by a requirement on
    it; without one, a warning if the chance is greater than exact records leave."""
    rate, n = float(chances.mean()), len(chances)
    of_what = "" if claimed else " for exact records"
    over, alone = int((chances > most + TOLERANCE).sum()), int((chances == 1.0).sum())
    sentence = (
        f"Of {n:,} people with {what}, {alone:,} are alone with them; a person is named with a chance of {written(rate, 3)} on "
        f"average, {written(float(chances.max()), 3)} at most"
    )
    sentence += (
        f"; {over:,} of them with more than {written(most, 3)}, which the requirement allows{of_what}." if most < 1 else "."
    )
    low, high = wilson(float(chances.sum()), n)
    verdict: Verdict = "warning" if over or alone else "holds"
    if claimed is not None and not at_most(float(chances.max()), claimed):
        verdict = "broken"
    return AttackResult(name, question, rate, low, high, claimed, "", verdict, sentence)


def sparse_matching(
    published: Published, people: IntArray, known: Sequence[IntArray], s: int, *, claimed: float | None
) -> AttackResult:
    """The same with a score that forgives wrong and missing records; a match is claimed where the best score stands out."""
    right = wrong = 0
    for person, points in zip(people.tolist(), known, strict=True):
        best, stands_out = published.best(np.unique(points))
        if stands_out >= ECCENTRICITY:
            hit = int(published.owner[best]) == person
            right, wrong = right + hit, wrong + (not hit)
    rate = right / len(people)
    low, high = wilson(right, len(people))
    text = f"By the best score of {s} known records {right:,} of {len(people):,} people are found, {wrong:,} taken for another."
    question = "Do scores of rare records single out a pseudonym, although some records are missing?"
    return AttackResult(f"sparse matching: {s}", question, rate, low, high, claimed, "", _verdict(low, rate, claimed), text)


def whole_trail(published: Published, people: IntArray, known: Sequence[IntArray], *, most: float) -> AttackResult:
    """Somebody knows every record of a person and looks for the most alike pseudonym."""
    chances = np.zeros(len(people))
    for i, (person, points) in enumerate(zip(people.tolist(), known, strict=True)):
        chances[i] = _most_alike(published, person, *published.alike(points), 0.0)
    question = "Does somebody who knows all records of a person find a pseudonym of that person?"
    return _beyond("whole trail", question, "all their records known", chances, most)


def relinking(places: Published, sample: IntArray, times: Published | None = None) -> AttackResult:
    """Are two pseudonyms of one person joined again by the places that go on? ``places`` holds the places of each trace, without
    times; of the traces in ``sample`` the most alike other one is looked for, among all and among those with no time of
    ``times`` in common: nobody is at two places at once."""
    t, many = places.traces, np.bincount(places.owner)
    by_chance = (many[places.owner[sample]] - 1) / max(t.n_people - 1, 1)
    chances = np.zeros((2, len(sample)))
    for i, trace in enumerate(sample.tolist()):
        there, scores = places.alike(t.point[t.start[trace] : t.start[trace + 1]].astype(np.int64))
        scores[np.searchsorted(there, trace)] = 0.0
        chances[0, i] = _most_alike(places, int(places.owner[trace]), there, scores, by_chance[i])
        if times is not None:
            u = times.traces
            for p in u.point[u.start[trace] : u.start[trace + 1]].tolist():
                scores[_places_in(u.visitor[u.first[p] : u.first[p + 1]], there)] = 0.0
            chances[1, i] = _most_alike(places, int(places.owner[trace]), there, scores, by_chance[i])
    rate, chance = float(chances.mean(axis=1).max()), float(by_chance.mean())
    low, high = wilson(rate * len(sample), len(sample))
    sentence = (
        f"Of {len(sample):,} pseudonyms of people who have several, {rate:.1%} are joined with another of the same person by the "
        f"places that they share; {chance:.1%} by chance."
    )
    question = "Can pseudonyms of one person be joined again by places that go on?"
    verdict: Verdict = "warning" if low > chance else "holds"
    return AttackResult("relinking", question, rate, low, high, None, "", verdict, sentence)


def _most_alike(published: Published, person: int, there: IntArray, scores: Any, otherwise: float) -> float:
    """The share of the traces with the best score that are the person's; ``otherwise`` if none has a point in common."""
    top = scores.max(initial=0.0)
    return float((published.owner[there[scores >= top * (1 - 1e-9)]] == person).mean()) if top > 0 else otherwise


def joined_traces(published: Published, trails: Sequence[IntArray]) -> list[int]:
    """For the points of each trail the published trace whose score stands out; −1 where none does."""
    out = []
    for points in trails:
        best, stands_out = published.best(points)
        out.append(best if stands_out >= ECCENTRICITY else -1)
    return out


def trail_matching(published: Published, trails: Sequence[IntArray], *, covered: int, k: int) -> AttackResult:
    """A list of people with some records each: who is matched to exactly one pseudonym? Of those with at most ``covered`` records
    in the list nobody may be (``k`` or more share them)."""
    alone = broken = fits = 0
    for points in trails:
        moved = published.moved(np.unique(points, axis=0))
        fits += bool(len(moved))
        if len(moved) == 1:
            alone += 1
            broken += len(np.unique(points, axis=0)) <= covered
    rate = alone / len(trails)
    low, high = wilson(alone, len(trails))
    verdict: Verdict = "broken" if broken and k > 1 else "warning" if alone else "holds"
    text = f"Of {len(trails):,} people in the list {fits:,} fit a pseudonym with all their records, {alone:,} exactly one"
    text += f" ({broken:,} of these with at most {covered} known records)." if covered else "."
    question = "Does an outside list of people, times and places name the owners of pseudonyms?"
    return AttackResult("trail matching", question, rate, low, high, None, "", verdict, text)


def _verdict(low: float, rate: float, claimed: float | None) -> Verdict:
    """More than claimed, beyond chance, is broken; without a claim any success is a warning."""
    if claimed is None:
        return "warning" if rate > 0 else "holds"
    return "broken" if low > claimed else "holds"


def targets(n: int, rng: np.random.Generator, most: int = MOST_TARGETS) -> npt.NDArray[np.int64]:
    """The people who are looked for: all, or as many as can be tried, at random."""
    return np.arange(n) if n <= most else np.sort(rng.choice(n, most, replace=False))
