"""Unicity: the share of people that s known records single out, the sets they hide in, and how many records it takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np

from shoal.errors import UsageError
from shoal.kernels.group import group_codes
from shoal.kernels.quantiles import beta_quantile
from shoal.measures.events.knowledge import distinct
from shoal.measures.events.sets import DRAWS, FEWEST_DRAWS, STEPS, Sets, affordable_draws, sets_of, walks, whole_sets
from shoal.measures.events.traces import Traces
from shoal.model.certificate.events import EventUse
from shoal.model.counts.classes import FloatArray, IntArray
from shoal.model.estimate import Estimate

LEVEL = 0.95
LONGEST_WALK = 32
"""Known records after which a walk to uniqueness is given up."""
MOST_WALKS = 20_000


@dataclass(frozen=True)
class SetSizes:
    """How many people share the known records, over a random person and random known records of theirs."""

    min: int
    q1: int
    median: int
    q3: int
    mean: float
    below: dict[int, float]
    """Share of people in sets of fewer than 2, 5, 10."""

    @classmethod
    def of(cls, hist: FloatArray) -> SetSizes:
        total = float(hist.sum())
        share = np.cumsum(hist) / total
        quarter = [int(np.searchsorted(share, q * (1 - 1e-12))) for q in (0.25, 0.5, 0.75)]
        mean = float((hist * np.arange(len(hist))).sum()) / total
        below = {k: float(share[min(k, len(share)) - 1]) for k in (2, 5, 10)}
        return cls(int(np.flatnonzero(hist)[0]), quarter[0], quarter[1], quarter[2], mean, below)


@dataclass(frozen=True)
class Known:
    """What s known records reveal: the share of the people with at least s records that they single out, and the sets.

    ``people`` have at least s; the ``shorter`` ones do not: of them all records are known, and ``shorter_unique`` is the share
    that this singles out (None without such people). ``everybody`` takes both together.
    """

    records: int
    people: int
    unique: Estimate
    sets: SetSizes
    exact: bool
    shorter: int
    shorter_unique: Estimate | None
    everybody: Estimate

    def to_json(self) -> dict[str, object]:
        s = self.sets
        return {
            "records": self.records,
            "people": self.people,
            "unique": self.unique.to_json(),
            "sets": {"min": s.min, "q1": s.q1, "median": s.median, "mean": s.mean, "q3": s.q3, "exact": self.exact},
            "below": {str(k): v for k, v in s.below.items()},
            "shorter": self.shorter,
            "shorter_unique": None if self.shorter_unique is None else self.shorter_unique.to_json(),
            "everybody": self.everybody.to_json(),
        }


@dataclass(frozen=True)
class Needed:
    """Records that become known in random order until a person is alone.

    ``q1``, ``median`` and ``q3`` are quartiles over people, None if fewer people than that are alone within ``longest`` records;
    ``ranges`` has the 95 % interval of each, which is the value itself if every set was counted. ``within`` is the share alone
    within s records, ``never`` the share whose whole trace is not theirs alone.
    """

    q1: int | None
    median: int | None
    q3: int | None
    ranges: dict[str, tuple[int | None, int | None]]
    within: dict[int, float]
    never: float
    longest: int
    walks: int

    def to_json(self) -> dict[str, object]:
        shares = {str(s): v for s, v in self.within.items()}
        ranges = {name: list(ends) for name, ends in self.ranges.items()}
        quartiles = {"q1": self.q1, "median": self.median, "q3": self.q3, "ranges": ranges}
        return {**quartiles, "within": shares, "never": self.never, "walks": self.walks}


@dataclass(frozen=True)
class Unicity:
    """The curve over s, everything known, and the records needed."""

    curve: tuple[Known, ...]
    whole: Estimate
    needed: Needed


def unicity(
    traces: Traces, records: Sequence[int] = (1, 2, 3, 4), *, seed: int = 0, steps: int = STEPS, draws: int = DRAWS
) -> Unicity:
    """The unicity curve of traces.

    A person's known records are a random set of s of their distinct points; a set's size is the number of people who were at all
    of them. Sets are counted one by one where that takes at most ``steps``, else drawn (``draws`` at most); then the interval is
    Clopper and Pearson's over the draws, which is cautious here, because people differ.

    >>> u = unicity(Traces.of([0, 0, 1, 1, 2], [0, 1, 1, 2, 1]), (1, 2))
    >>> [round(k.unique.value, 4) for k in u.curve], u.curve[1].people, u.curve[1].shorter_unique.value
    ([0.3333, 1.0], 2, 0.0)
    """
    rng = np.random.default_rng(seed)
    longest = int(traces.lengths.max())
    beyond = [s for s in records if s > longest]
    if beyond:
        what = f"{beyond[0]} known records are asked for, but nobody has more than {longest:,} distinct ones."
        raise UsageError(what, hint=f"Ask for at most {longest}, or for finer times or places.")
    curve = tuple(known(traces, s, rng, steps=steps, draws=draws) for s in sorted(set(records)))
    everyone = np.arange(traces.n_people)
    whole = _estimate(whole_sets(traces, everyone, rng, steps=steps, draws=draws), "all records of each person")
    return Unicity(curve, whole, needed(traces, rng, curve, 1.0 - whole.value))


def known(traces: Traces, s: int, rng: np.random.Generator, *, steps: int = STEPS, draws: int = DRAWS) -> Known:
    """What s known records reveal."""
    sets = sets_of(traces, s, rng, steps=steps, draws=draws)
    unique = _estimate(sets, "single records" if s == 1 else f"sets of {s} records")
    short: IntArray = np.flatnonzero(traces.lengths < s)
    shorter = None
    everybody = unique
    if len(short):
        rest = whole_sets(traces, short, rng, steps=steps, draws=draws)
        shorter = _estimate(rest, "all records of a shorter trace")
        everybody = _together(((sets.people, unique), (len(short), shorter)))
    return Known(s, sets.people, unique, SetSizes.of(sets.hist), sets.exact, len(short), shorter, everybody)


QUARTILES = {"q1": 0.25, "median": 0.5, "q3": 0.75}


def needed(traces: Traces, rng: np.random.Generator, curve: Sequence[Known] = (), never: float | None = None) -> Needed:
    """Records needed until a person is alone.

    A person alone after s records in random order is alone by a random set of s, so the share alone within s is the one that
    :func:`known` counts. From the first s that is too dear to count, random orders of at most :data:`MOST_WALKS` people are
    followed. One order serves every s, so the share of orders never falls, and an end of a quartile is wrong only if Clopper
    and Pearson's interval is wrong at that one s.
    """
    longest = min(LONGEST_WALK, int(traces.lengths.max()))
    counted = {k.records: k.everybody for k in curve}
    within: dict[int, tuple[float, float, float]] = {}
    walked = 0
    for s in range(1, longest + 1):
        share = counted.get(s) or known(traces, s, rng, steps=STEPS // 10, draws=FEWEST_DRAWS).everybody
        if share.grade != "A":
            walked, drawn = _walk(traces, longest, rng)
            at_least = within[s - 1][0] if within else 0.0
            within |= {t: (max(v, at_least), max(low, at_least), high) for t, (v, low, high) in drawn.items() if t >= s}
            break
        within[s] = (share.value, share.value, share.value)
        if share.value >= QUARTILES["q3"]:
            break

    def first(q: float, end: int) -> int | None:
        return next((s for s, ends in within.items() if ends[end] >= q * (1 - 1e-12)), None)

    values = {name: first(q, 0) for name, q in QUARTILES.items()}
    ranges = {name: (first(q, 2), first(q, 1)) for name, q in QUARTILES.items()}
    if never is None:
        never = 1.0 - _estimate(whole_sets(traces, np.arange(traces.n_people), rng), "").value
    shares = {s: value for s, (value, _, _) in within.items()}
    return Needed(**values, ranges=ranges, within=shares, never=never, longest=longest, walks=walked)


def _walk(traces: Traces, longest: int, rng: np.random.Generator) -> tuple[int, dict[int, tuple[float, float, float]]]:
    """How many random orders were followed, and the share of them alone within s records, with its interval."""
    n, most = traces.n_people, affordable_draws(traces, MOST_WALKS)
    people = np.arange(n) if n <= most else np.sort(rng.choice(n, most, replace=False))
    alone = np.maximum.accumulate(walks(traces, people, longest, rng) == 1, axis=1).sum(axis=0).tolist()
    tries = len(people)
    return tries, {s: (x / tries, *clopper_pearson(x, tries)) for s, x in enumerate(alone, start=1)}


def clopper_pearson(successes: int, tries: int, level: float = LEVEL) -> tuple[float, float]:
    """An interval that holds the success rate with at least this chance.

    >>> [round(x, 4) for x in clopper_pearson(0, 10)], [round(x, 4) for x in clopper_pearson(4, 10)]
    ([0.0, 0.3085], [0.1216, 0.7376])
    """
    tail = (1 - level) / 2
    low = 0.0 if successes == 0 else beta_quantile(successes, tries - successes + 1, tail)
    high = 1.0 if successes == tries else beta_quantile(successes + 1, tries - successes, 1 - tail)
    return low, high


def _estimate(sets: Sets, what: str) -> Estimate:
    """The share of people alone; exact where every set was counted, with an interval over the draws where not."""
    people = sets.people
    if sets.exact:
        return Estimate.exact(float(sets.hist[1] / sets.hist.sum()), method=f"{what}, every one counted")
    low, high = clopper_pearson(sets.alone, sets.draws)
    share = [sets.counted_alone + sets.drawn_people * x for x in (sets.alone / sets.draws, low, high)]
    value, low, high = (min(1.0, max(0.0, x / people)) for x in share)
    method = f"{what}: {sets.draws:,} drawn at random" + (
        f", those of {sets.counted:,} people all counted" if sets.counted else ""
    )
    return Estimate(value, low, high, level=LEVEL, method=f"{method}; Clopper–Pearson", grade="B")


def _together(parts: Sequence[tuple[int, Estimate]]) -> Estimate:
    """The share over several groups of people."""
    total = sum(n for n, _ in parts)
    value, low, high = (sum(n * getattr(e, end) for n, e in parts) / total for end in ("value", "low", "high"))
    if all(e.grade == "A" for _, e in parts):
        return Estimate.exact(value, method="every set counted")
    return Estimate(value, low, high, level=LEVEL, method="sets partly drawn at random; intervals added", grade="B")


@dataclass(frozen=True)
class SharedSets:
    """``k`` people at least share every set of up to ``m`` points. Not ``exact``: a set with k people was found, but not
    every set was looked at, so k is at most this."""

    m: int
    k: int
    exact: bool

    def to_json(self) -> dict[str, object]:
        return asdict(self)


def shared_sets(curve: Sequence[Known]) -> tuple[SharedSets, ...]:
    """k for each m of a curve that begins at 1 without a gap. One person is the least possible, so k = 1 is always certain."""
    out: list[SharedSets] = []
    k, exact = 0, True
    for m, known in enumerate(curve, start=1):
        if known.records != m:
            break
        k = known.sets.min if not out else min(k, known.sets.min)
        exact = k == 1 or (exact and known.exact)
        out.append(SharedSets(m, k, exact))
    return tuple(out)


def largest_m(shared: Sequence[SharedSets], k: int) -> int:
    """The largest m for which k^m-anonymity is certain; 0: for none.

    >>> largest_m([SharedSets(1, 7, True), SharedSets(2, 5, True), SharedSets(3, 5, False)], 5)
    2
    """
    held = [s.m for s in shared if s.exact and s.k >= k]
    return max(held, default=0)


FEW = 5
"""Hours and weekdays with fewer people are not shown."""
HOURS = tuple(f"{h:02d}:00–{h:02d}:59" for h in range(24))


@dataclass(frozen=True)
class RarePlaces:
    """Of all places: how many fewer than ``below`` people visited, the share of people who were at one, and of records there."""

    below: int
    places: int
    of: int
    people: float
    records: float

    def to_json(self) -> dict[str, object]:
        return asdict(self)


def rare_places(traces: Traces, records: IntArray, thresholds: Sequence[int] = (2, 5, 10)) -> tuple[RarePlaces, ...]:
    """Places by the number of people who were there; ``records`` per place. No place is named.

    >>> found = rare_places(Traces.of([0, 1, 1], [0, 0, 1]), np.array([2, 1]), (2,))[0]
    >>> found.places, found.of, found.people, round(found.records, 3)
    (1, 2, 0.5, 0.333)
    """
    out = []
    person = np.repeat(np.arange(traces.n_people), traces.lengths)
    for k in thresholds:
        rare = traces.popularity < k
        people = len(np.unique(person[rare[traces.point]])) / traces.n_people
        share = float(records[rare].sum() / records.sum())
        out.append(RarePlaces(k, int(rare.sum()), traces.n_points, people, share))
    return tuple(out)


@dataclass(frozen=True)
class Season:
    """The points in an hour of the day or on a weekday: people, points, and the share of points that one person has."""

    name: str
    people: int
    points: int
    alone: float

    def to_json(self) -> dict[str, object]:
        return asdict(self)


def seasons(traces: Traces, of_point: IntArray, names: Sequence[str]) -> tuple[Season, ...]:
    """What a known record in each season tells, most telling first; seasons with fewer than :data:`FEW` people are left out."""
    person = np.repeat(np.arange(traces.n_people), traces.lengths)
    season = of_point[traces.point]
    out = []
    for i, name in enumerate(names):
        inside = season == i
        people = len(np.unique(person[inside]))
        if people >= FEW:
            points = of_point == i
            out.append(Season(name, people, int(points.sum()), float((traces.popularity[points] == 1).mean())))
    return tuple(sorted(out, key=lambda s: (-s.alone, s.name)))


@dataclass(frozen=True)
class TopPlaces:
    """People by the set of the ``places`` they are at most: the share alone with theirs, and the sizes of the sets.

    ``fewer`` people have fewer places, and count with those they have. Of ``tied`` people another place was as frequent.
    """

    places: int
    unique: float
    sets: SetSizes
    fewer: int
    tied: int

    def to_json(self) -> dict[str, object]:
        s = self.sets
        sizes = {"min": s.min, "q1": s.q1, "median": s.median, "mean": s.mean, "q3": s.q3}
        return {"places": self.places, "unique": self.unique, "sets": sizes, "fewer": self.fewer, "tied": self.tied}


def top_places(person: IntArray, place: IntArray, records: IntArray, most: int = 3) -> tuple[TopPlaces, ...]:
    """By the 1, 2, … ``most`` places where each person has most records; equally frequent ones in the order of the places.

    >>> both = top_places(np.array([0, 0, 1, 1, 2]), np.array([0, 1, 0, 1, 0]), np.array([5, 2, 1, 3, 9]), 2)
    >>> [round(t.unique, 3) for t in both], both[1].fewer
    ([0.333, 0.333], 1)
    """
    n_people = int(person.max()) + 1
    order = np.lexsort((place, -records, person))
    who, where, often = person[order], place[order], records[order]
    start = np.searchsorted(who, np.arange(n_people))
    rank = np.arange(len(who)) - start[who]
    lengths = np.bincount(who, minlength=n_people)
    columns = np.full((n_people, most), -1, dtype=np.int64)
    inside = rank < most
    columns[who[inside], rank[inside]] = where[inside]
    out = []
    for m in range(1, most + 1):
        sets = np.sort(columns[:, :m], axis=1)
        ids = group_codes([c.astype(np.int32) for c in sets.T]).ids
        sizes = np.bincount(ids)[ids]
        hist = np.bincount(sizes, minlength=n_people + 1).astype(np.float64)
        next_ = start + m
        more = lengths > m
        tied = int((often[next_[more]] == often[next_[more] - 1]).sum())
        out.append(TopPlaces(m, float(hist[1] / n_people), SetSizes.of(hist), int((lengths < m).sum()), tied))
    return tuple(out)


HOUR, DAY = 3_600_000_000, 86_400_000_000


@dataclass(frozen=True, eq=False, repr=False)
class Log:
    """Records of each person or pseudonym (``who``): their moment (µs, None without times) and place (None without); and the
    ``trips`` that they tell, each the number of its origin and destination (None if they tell none).

    Places and trips of two logs that are compared have the same codes; moments say no more than what is published of them. A
    place below 0 is blank.
    """

    who: IntArray
    moment: IntArray | None
    place: IntArray | None
    trips: IntArray | None = None

    @property
    def records(self) -> IntArray:
        """Records of each."""
        return np.unique(self.who, return_counts=True)[1]


def trips_of(who: IntArray, order: IntArray, place: IntArray) -> tuple[IntArray, IntArray]:
    """Consecutive records of one person or pseudonym at two different places: the earlier and the later record of each trip.
    Records at the same time have no order, so they tell no trip; blank places (below 0) do not either.

    >>> [r.tolist() for r in trips_of(np.array([0, 0, 0, 0, 1]), np.array([1, 2, 3, 3, 4]), np.array([0, 1, 2, 0, 0]))]
    [[0], [1]]
    """
    index = np.lexsort((order, who))
    who, order, place = who[index], order[index], place[index]
    one = who[:-1] == who[1:]
    tie = np.concatenate(([False], one & (order[:-1] == order[1:]), [False]))
    alone = ~(tie[:-1] | tie[1:])
    telling = one & alone[:-1] & alone[1:] & (place[:-1] != place[1:]) & (place[:-1] >= 0) & (place[1:] >= 0)
    return index[:-1][telling], index[1:][telling]


LARGE = 50
"""Flows with more trips are compared apart: small ones are left out on purpose."""


def compare_logs(before: Log, after: Log, *, hours: bool, days: bool) -> tuple[EventUse, ...]:
    """Every comparison that the published columns allow; ``hours`` and ``days``: whether the hour of a record and its weekday are
    published.

    >>> one = Log(np.array([0, 0, 1, 1]), None, np.array([0, 1, 0, 1]), np.array([1, 1]))
    >>> two = Log(np.array([0, 0, 1]), None, np.array([0, 1, 0]), np.array([1]))
    >>> for c in compare_logs(one, two, hours=False, days=False):
    ...     print(c.name, c.before, c.after, c.kept, c.error)
    records 4.0 3.0 0.75 0.25
    records per person 2.0 1.5 None None
    trips 2.0 1.0 0.5 0.5
    people per place 2.0 2.0 0.75 0.25
    """
    shares = (float(len(before.who)), float(len(after.who)))
    out = [
        EventUse("records", "records in all", *shares, shares[1] / shares[0], 1 - shares[1] / shares[0]),
        EventUse(
            "records per person",
            "records per person (before), per pseudonym (after), in the mean",
            float(before.records.mean()),
            float(after.records.mean()),
            None,
        ),
    ]
    if before.trips is not None and after.trips is not None:
        keys = np.union1d(before.trips, after.trips)
        one, two = (np.bincount(np.searchsorted(keys, t), minlength=len(keys)) for t in (before.trips, after.trips))
        out += compare_counts(one, two, "trips", f"trips of flows above {LARGE}")
    if before.place is not None and after.place is not None:
        out.append(_supports(before, after))
    if before.moment is not None and after.moment is not None:
        out += [_profile("hour of the day", before.moment // HOUR % 24, after.moment // HOUR % 24, 24)] if hours else []
        out += [_profile("weekday", (before.moment // DAY + 3) % 7, (after.moment // DAY + 3) % 7, 7)] if days else []
    return tuple(out)


def compare_counts(before: IntArray, after: IntArray, name: str, name_large: str, where: str = "") -> list[EventUse]:
    """Trips by origin and destination: all, and those of large flows."""
    large = before > LARGE
    words = f"trips by origin and destination{where}"
    out = [count_use(name, words, before, after)]
    if large.any():
        out.append(count_use(name_large, f"{words} that had more than {LARGE}", before[large], after[large]))
    return out


def count_use(name: str, words: str, a: IntArray, b: IntArray) -> EventUse:
    """Counts before and after, and their error."""
    total = float(a.sum())
    kept = None if total == 0 else float(np.minimum(a, b).sum() / total)
    error = None if total == 0 else float(np.abs(a - b).sum() / total)
    return EventUse(name, words, total, float(b.sum()), kept, error)


def _supports(before: Log, after: Log) -> EventUse:
    """People at each place (or with each item): how many there are, and how much of the counts is kept."""
    one, two = _visitors(before), _visitors(after)
    size = max(len(one), len(two))
    a, b = np.pad(one, (0, size - len(one))), np.pad(two, (0, size - len(two)))
    words = "places (or items) that occur; kept, error: of the people counted at each (pseudonyms, after)"
    counts = count_use("people per place", words, a, b)
    return replace(counts, before=float((a > 0).sum()), after=float((b > 0).sum()))


def _visitors(log: Log) -> IntArray:
    clear = np.empty(0, dtype=np.bool_) if log.place is None else log.place >= 0
    if log.place is None or not clear.any():
        return np.zeros(1, dtype=np.int64)
    who, place = log.who[clear], log.place[clear]
    both = distinct(place * (int(who.max()) + 1) + who)
    return np.bincount(both // (int(who.max()) + 1))


def _profile(name: str, before: IntArray, after: IntArray, size: int) -> EventUse:
    """Records by hour or weekday: the largest share, how much the two profiles overlap, and the error of the counts."""
    one, two = np.bincount(before, minlength=size), np.bincount(after, minlength=size)
    a, b = one / len(before), two / len(after)
    words = f"largest share of the records in one {name}; kept: how far the two profiles agree; error: of the counts"
    error = float(np.abs(one - two).sum() / one.sum())
    return EventUse(name, words, float(a.max()), float(b.max()), float(np.minimum(a, b).sum()), error)
