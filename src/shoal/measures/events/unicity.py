"""Unicity: the share of people that s known records single out, the sets they hide in, and how many records it takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from shoal.errors import UsageError
from shoal.kernels.quantiles import beta_quantile
from shoal.measures.events.sets import DRAWS, FEWEST_DRAWS, STEPS, Sets, affordable_draws, sets_of, walks, whole_sets
from shoal.measures.events.traces import Traces
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

    def to_json(self) -> dict[str, Any]:
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

    def to_json(self) -> dict[str, Any]:
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
        raise UsageError(
            f"{beyond[0]} known records are asked for, but nobody has more than {longest:,} distinct ones.",
            hint=f"Ask for at most {longest}, or for finer times or places.",
        )
    curve = tuple(known(traces, s, rng, steps=steps, draws=draws) for s in sorted(set(records)))
    everyone = np.arange(traces.n_people)
    whole = _estimate(whole_sets(traces, everyone, rng, steps=steps, draws=draws), "all records of each person")
    return Unicity(curve, whole, needed(traces, rng, curve, 1.0 - whole.value))


def known(traces: Traces, s: int, rng: np.random.Generator, *, steps: int = STEPS, draws: int = DRAWS) -> Known:
    """What s known records reveal."""
    found = sets_of(traces, s, rng, steps=steps, draws=draws)
    unique = _estimate(found, "single records" if s == 1 else f"sets of {s} records")
    short: IntArray = np.flatnonzero(traces.lengths < s)
    shorter = None
    everybody = unique
    if len(short):
        rest = whole_sets(traces, short, rng, steps=steps, draws=draws)
        shorter = _estimate(rest, "all records of a shorter trace")
        everybody = _together(((found.people, unique), (len(short), shorter)))
    return Known(s, found.people, unique, SetSizes.of(found.hist), found.exact, len(short), shorter, everybody)


QUARTILES = {"q1": 0.25, "median": 0.5, "q3": 0.75}


def needed(traces: Traces, rng: np.random.Generator, curve: Sequence[Known] = (), never: float | None = None) -> Needed:
    """Records needed until a person is alone.

    Whoever is alone after s records in random order is alone by a random set of s, so the share alone within s is the one that
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
            walked, drawn = _walked(traces, longest, rng)
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


def _walked(traces: Traces, longest: int, rng: np.random.Generator) -> tuple[int, dict[int, tuple[float, float, float]]]:
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
    told = f"{what}: {sets.draws:,} drawn at random" + (f", those of {sets.counted:,} people all counted" if sets.counted else "")
    return Estimate(value, low, high, level=LEVEL, method=f"{told}; Clopper–Pearson", grade="B")


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

    def to_json(self) -> dict[str, Any]:
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


def largest_m(found: Sequence[SharedSets], k: int) -> int:
    """The largest m for which k^m-anonymity is certain; 0: for none.

    >>> largest_m([SharedSets(1, 7, True), SharedSets(2, 5, True), SharedSets(3, 5, False)], 5)
    2
    """
    held = [s.m for s in found if s.exact and s.k >= k]
    return max(held, default=0)
