"""The plan that loses least: every shape of a small lattice, cheapest first, each with the suppression that it needs.

Takes    an EventProblem
Returns  the best plan; InfeasibleError with the nearest plans where none stays within what may be left out
Keeps    a shape is passed over only where its loss without any suppression is not better than the best plan found
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from heapq import heapify, heappop, heappush
from math import ceil
from typing import Any

import numpy as np

from shoal.errors import InfeasibleError, InternalError
from shoal.measures.events.knowledge import Asked, Mask, most_known, safe_limit
from shoal.measures.events.traces import EXACT, NONE
from shoal.model.compare import most_of
from shoal.model.counts.classes import FloatArray, IntArray
from shoal.model.counts.classes import IntArray as Levels
from shoal.model.display import Progress, silent, written
from shoal.model.hierarchy import Hierarchy
from shoal.model.requirement import KnownRecords, NearRecords
from shoal.search.events.problem import (
    CUT,
    EVERY,
    LOCAL,
    NEEDED,
    NEVER,
    EventProblem,
    Losses,
    Shape,
    bits_lost,
    kept_records,
    links_lost,
    pairs_of,
    traces_of,
)
from shoal.search.events.suppress import Pairs, suppressed, too_many, too_rare


@dataclass(frozen=True, eq=False, repr=False)
class Solution:
    """A plan and what it costs. ``stays`` marks the published records (of those at the same point under one pseudonym the
    first; ``alive`` marks all of these), ``trace`` is the pseudonym of every record (−1: none); ``levels`` of the leaves, for a
    cut; ``blank`` columns of the place of each record, for a local plan.

    ``truncated``, ``suppressed`` and ``merged`` count records: beyond the most per person, left out, shown once with others.
    ``away`` are the people who are left out whole (None: nobody); their records count as suppressed.
    """

    shape: Shape
    stays: Mask
    trace: IntArray
    levels: Levels | None
    blank: IntArray | None
    loss: float
    time_loss: float
    place_loss: float
    trips_loss: float
    links_loss: float
    truncated: int
    suppressed: int
    merged: int
    alive: Mask
    tried: int = 0
    away: Mask | None = None

    @property
    def left_out(self) -> int:
        return self.truncated + self.suppressed


MANY = 200_000
"""Records above which a plan that often does is tried first, so that hopeless ones are given up early."""


def best_plan(problem: EventProblem, progress: Progress = silent) -> Solution:
    """The plan of least loss among the shapes.

    Raises
    ------
    InfeasibleError
        If no shape meets the requirements; ``offers`` lists plans that would, with what would have to change.
    """
    finest: dict[tuple[int, str], tuple[float, float]] = {}
    waiting = [(_least_loss(problem, s, finest), 0, i, s) for i, s in enumerate(problem.shapes)]
    heapify(waiting)
    first = next((s for s in problem.shapes if s == Shape("day", LOCAL, renew=NEEDED) and problem.n > MANY), None)
    best = None if first is None else tried_plan(problem, first, problem.allow)
    tried = int(first is not None)
    while waiting and (best is None or waiting[0][0] < best.loss):
        _, counted, i, shape = heappop(waiting)
        if shape == first:
            continue
        if not counted:
            heappush(waiting, (problem.weights.mean(base_losses(problem, shape)), 1, i, shape))
            continue
        progress(tried / len(problem.shapes), f"trying {shape.words}")
        outcome = tried_plan(problem, shape, problem.allow, None if best is None else best.loss)
        tried += 1
        if outcome is not None and (best is None or outcome.loss < best.loss):
            best = outcome
    if best is None:
        raise infeasible(problem)
    return replace(best, tried=tried)


def _least_loss(problem: EventProblem, shape: Shape, finest: dict[tuple[int, str], tuple[float, float]]) -> float:
    """A number that the mean of :func:`base_losses` is never below, and quicker: points are counted once for each renewal, at
    exact times and places, and kept in ``finest``."""
    key = (shape.most, shape.regular)
    if key not in finest:
        keep = kept_records(problem, shape)
        trace, owner = traces_of(problem, shape, keep)
        columns = [c[keep] for c in (problem.times.get(EXACT), problem.places.get(EXACT)) if c is not None]
        own = pairs_of(trace, owner, columns, len(trace))[0].trace
        finest[key] = len(own) / len(problem.points), links_lost(problem.points, own)
    kept, links = finest[key]
    place = 0.0 if shape.place in (CUT, LOCAL) else problem.column_loss("place", shape.place)
    trips = problem.flows_lost if problem.flows and problem.weights.trips else 0.0
    time, place = (1 - min(1.0, kept) * (1 - x) for x in (problem.column_loss("time", shape.time), place))
    return problem.weights.mean(Losses(time, place, trips, links)) - 1e-12


def base_losses(problem: EventProblem, shape: Shape) -> Losses:
    """What a shape loses before anything is suppressed or split: no plan of this shape loses less."""
    keep = kept_records(problem, shape)
    if not keep.any():
        return Losses(1.0, 1.0, 1.0, 1.0)
    trace, owner = traces_of(problem, shape, keep)
    times, places = problem.times.get(shape.time), problem.places["exact" if shape.place in (CUT, LOCAL) else shape.place]
    pairs, _ = pairs_of(trace, owner, [c[keep] for c in (times, places) if c is not None], len(trace))
    whole = np.full(problem.n, -1, dtype=np.int64)
    whole[keep] = trace
    place = 0.0 if shape.place in (CUT, LOCAL) else problem.column_loss("place", shape.place)
    return problem.lost(shape, whole, keep, pairs.trace, place, None)


def tried_plan(problem: EventProblem, shape: Shape, allow: float, limit: float | None = None) -> Solution | None:
    """The plan of this shape that leaves out at most this share of the records; None if there is none, or if it is seen early
    that none loses less than ``limit``. If more would have to go, people are left out whole, as far as that is allowed: those of
    whose records the largest share would go, about as many as it takes."""
    outcome = _try_plan(problem, shape, allow, limit, None)
    people = int(problem.person.max()) + 1
    away, most = np.zeros(people, dtype=np.bool_), most_of(problem.allow_people, people)
    for turn in range(TURNS if outcome is None and most and allow < 1 else 0):
        every = _try_plan(problem, shape, 1.0, limit, away)
        if every is None:
            return None
        gone = np.where(away, 0, np.bincount(problem.person[~every.alive], minlength=people))
        share = gone / np.bincount(problem.person)
        order = np.lexsort((-gone, -share))[: min(int((gone > 0).sum()), most - int(away.sum()))]
        over = int(gone.sum()) - most_of(allow, problem.n)
        if over <= 0 or not len(order):
            return None
        enough = int(np.searchsorted(np.cumsum(gone[order]), over)) + 1
        away[order if turn == TURNS - 1 else order[: enough + enough // 10]] = True
        outcome = _try_plan(problem, shape, allow, limit, away)
        if outcome is not None:
            return outcome
    return outcome


TURNS = 4
"""How often more people are left out whole, because those who are left lose more records without them."""


def _try_plan(problem: EventProblem, shape: Shape, allow: float, limit: float | None, away: Mask | None) -> Solution | None:
    """:func:`tried_plan` without these people, whose records do not count among those that may be left out."""
    keep = kept_records(problem, shape)
    there = keep | True if away is None else ~away[problem.person]
    truncated, keep = int((~keep & there).sum()), keep & there
    allowed = most_of(allow, problem.n) - truncated
    if allowed < 0 or not keep.any():
        return None
    trace, owner = traces_of(problem, shape, keep)
    times = problem.times[shape.time]
    others: list[Any] = [] if times is None else [times[keep]]
    levels: Levels | None = None
    blank: IntArray | None = None
    dress = _dress(problem, shape, keep)
    if shape.place == CUT:
        if problem.tree is None or problem.leaf is None:
            raise InternalError("a cut is tried without a hierarchy.")
        plan = cut(problem.tree, problem.leaf[keep], trace, owner, others, problem.asked, allowed, dress, split=shape.splits)
        if plan is None:
            return None
        levels, pairs, which, stays = plan
        texts = np.array(label_texts(problem.tree, levels), dtype=object).astype(str)
        place_loss = bits_lost(problem.places["exact"], np.unique(texts, return_inverse=True)[1][problem.leaf])
    elif shape.place == LOCAL:
        ladder = list(problem.ladder) if keep.all() else [c[keep] for c in problem.ladder]
        lost = np.array([bits_lost(problem.ladder[0], c) for c in problem.ladder[:-1]] + [1.0])
        dear = None if limit is None else _dear(problem, shape, lost, limit, trace)
        local = blanked(ladder, trace, owner, others, problem.asked, allowed, dress, dear, split=shape.splits)
        if local is None:
            return None
        blank, pairs, which, stays = local
        of_pair = np.empty(len(stays), dtype=np.int64)
        of_pair[which] = blank  # records at one point are published once
        place_loss = float(lost[of_pair[stays]].mean())
    else:
        places = problem.places[shape.place]
        pairs, which = pairs_of(trace, owner, others if places is None else [*others, places[keep]], len(trace))
        kept = suppressed(dress(pairs, which, None), problem.asked, allowed, split=shape.splits)
        if kept is None:
            return None
        (pairs, stays), place_loss = kept, problem.column_loss("place", shape.place)
    return plan_found(problem, shape, keep, pairs.trace[which], which, stays, levels, blank, place_loss, truncated, away)


def plan_found(
    problem: EventProblem, shape: Shape, keep: Mask, trace: IntArray, which: IntArray, stays: Mask, levels: Levels | None,
    blank: IntArray | None, place_loss: float, truncated: int, away: Mask | None = None,
) -> Solution:  # fmt: skip
    """The plan of a shape, of which these pairs stay."""
    index = np.flatnonzero(keep)
    if blank is not None:
        if not blank[stays[which]].any():
            shape = replace(shape, place=EXACT)
        whole = np.zeros(problem.n, dtype=np.int64)
        whole[index] = blank
        blank = whole
    alive = np.zeros(problem.n, dtype=np.bool_)
    alive[index] = stays[which]
    order = np.lexsort((problem.rank[index], which))
    firsts = index[order[np.concatenate(([True], np.diff(which[order]) != 0))]]
    shown = np.zeros(problem.n, dtype=np.bool_)
    shown[firsts] = alive[firsts]
    traces = np.full(problem.n, -1, dtype=np.int64)
    traces[index] = trace
    gone = problem.n - truncated - int(alive.sum())
    lost = problem.lost(shape, traces, alive, traces[shown], place_loss, blank)
    return Solution(
        shape=shape,
        stays=shown,
        trace=traces,
        levels=levels,
        blank=blank,
        loss=problem.weights.mean(lost),
        time_loss=problem.column_loss("time", shape.time),
        place_loss=place_loss,
        trips_loss=lost.trips,
        links_loss=lost.links,
        truncated=truncated,
        suppressed=gone,
        merged=int(alive.sum()) - int(shown.sum()),
        alive=alive,
        away=None if away is None or not away.any() else away,
    )


Dress = Callable[[Pairs, IntArray, Any], Pairs]
"""Adds what else is published of pairs, if a requirement is about it: the pairs, the pair of each record, and the place of each
record if that depends on the records (a list of columns)."""


def _dress(problem: EventProblem, shape: Shape, keep: Mask) -> Dress:
    if problem.shown is None:
        return lambda pairs, which, places: pairs
    visible = problem.shown(shape.time, EXACT if shape.place in (CUT, LOCAL) else shape.place).take(np.flatnonzero(keep))
    rank = problem.rank[keep]

    def dress(pairs: Pairs, which: IntArray, places: Any) -> Pairs:
        if shape.place == LOCAL:
            left = len(visible.places) - places
            places = [np.where(i >= left, "*", p.astype(str)) for i, p in enumerate(visible.places)]
        order = np.lexsort((rank, which))
        firsts = order[np.concatenate(([True], np.diff(which[order]) != 0))]
        return replace(pairs, shown=(visible if places is None else replace(visible, places=tuple(places))).take(firsts))

    return dress


def _dear(problem: EventProblem, shape: Shape, lost: FloatArray, limit: float, trace: IntArray) -> Callable[[IntArray], bool]:
    """Whether a plan loses ``limit`` or more, if so many columns of the place of each record are blank, or more; ``trace`` of
    each record before any is split."""
    base = base_losses(problem, shape)
    (a, b), times = problem.trips, problem.times.get(shape.time)
    counts = problem.weights.trips and not problem.flows and len(trace) == problem.n and len(a)
    ordered = times is not None and counts and problem.ordered(shape)
    read = (trace[a] == trace[b]) & (times[a] != times[b]) if ordered and times is not None else a < 0

    def dear(blank: IntArray) -> bool:
        place = 1 - float((1 - lost)[blank].sum()) / len(problem.points)
        trips = 1 - float((read & (blank[a] == 0) & (blank[b] == 0)).mean()) if counts else 0.0
        return problem.weights.mean(replace(base, place=max(base.place, place), trips=max(base.trips, trips))) >= limit

    return dear


def blanked(
    ladder: list[Any], trace: IntArray, owner: IntArray, others: list[Any], asked: tuple[Asked, ...], allowed: int, dress: Dress,
    dear: Callable[[IntArray], bool] | None = None, *, split: bool,
) -> tuple[IntArray, Pairs, IntArray, Mask] | None:  # fmt: skip
    """How many columns of the place of each record are blank, the pairs that makes, the pair of each record, and the pairs that
    stay: a column more in the records that would be left out, until these are none or have none; None if too many go then, or
    if so many blank columns are too ``dear``."""
    blank, most = np.zeros(len(trace), dtype=np.int64), len(ladder) - 1

    def hopeless(stays: Mask) -> bool:
        return dear is not None and dear(np.where(stays[which], blank, np.minimum(blank + 1, most)))

    while True:
        pairs, which = pairs_of(trace, owner, [*others, np.choose(blank, ladder)], len(trace))
        rare = too_rare(pairs, asked)[which] & (blank < most)
        blank[rare] += 1
        if dear is not None and dear(blank):
            return None
        if rare.any():
            continue
        plan = suppressed(dress(pairs, which, blank), asked, len(trace), split=split, hopeless=hopeless)
        gone = np.ones(len(trace), dtype=np.bool_) if plan is None else ~plan[1][which]
        rise = gone & (blank < most)
        if not rise.any():
            return None if plan is None or int(gone.sum()) > allowed else (blank, plan[0], which, plan[1])
        blank[rise] += 1


def infeasible(problem: EventProblem) -> InfeasibleError:
    """What would do instead, each tried on the records."""
    offers = nearest_offers(problem)
    shown = "; ".join(o.sentence for o in offers)
    what = f"no plan meets the requirements and leaves out at most {problem.allow:.2%} of the records."
    hint = f"These would do: {shown}." if offers else "Allow coarser times and places, renewal, or ask for less."
    return InfeasibleError(what, hint=hint, offers=offers)


def _needed(problem: EventProblem, shape: Shape) -> Offer | None:
    """The offer to leave out as many records as this shape needs; None where not even that does."""
    outcome = tried_plan(problem, shape, 1.0)
    return None if outcome is None else Offer(shape, outcome.left_out / problem.n, outcome.loss, problem.asked)


MOST_TRIED = 24
MOST_LEFT_OUT, FEW_LEFT_OUT = 0.9, 0.5
"""Plans that leave out more are not offered; fewer people are offered where at most half of the records go."""


@dataclass(frozen=True)
class Offer:
    """A shape that meets ``asked`` when this share of the records may be left out."""

    shape: Shape
    suppress: float
    loss: float
    asked: tuple[Asked, ...]

    @property
    def sentence(self) -> str:
        allow = ceil(self.suppress * 1e4) / 1e4
        wanted = ", ".join(str(r) for r in self.asked)
        return f"allow: {{suppress: {written(allow)}}} for {wanted} with {self.shape.words} (loss {written(self.loss, 2)})"

    def to_json(self) -> dict[str, Any]:
        return {
            "shape": self.shape.to_json(),
            "suppress": self.suppress,
            "loss": self.loss,
            "require": [str(r) for r in self.asked],
        }


def nearest_offers(problem: EventProblem) -> tuple[Offer, ...]:
    """Plans that would do, least loss first: more left out; no time or no place; records not linked; fewer people asked for."""
    shapes = problem.shapes
    out = [_fewest(problem, shapes), _fewest(problem, _without(problem))]
    if not any(s.renew == EVERY for s in shapes):
        out.append(_fewest(problem, [replace(s, renew=EVERY) for s in shapes if s.renew == NEVER]))
    out.append(_with_fewer_people(problem))
    good = {(o.shape, o.asked): o for o in out if o is not None and o.suppress <= MOST_LEFT_OUT}
    return tuple(sorted(good.values(), key=lambda o: (o.loss, o.suppress)))


def _without(problem: EventProblem) -> list[Shape]:
    """The shapes without a time, and without a place."""
    out = [replace(s, time=NONE) for s in problem.shapes if NONE in problem.times and s.place != NONE]
    out += [replace(s, place=NONE) for s in problem.shapes if NONE in problem.places and s.time != NONE]
    return [s for s in dict.fromkeys(out) if s not in problem.shapes]


def _with_fewer_people(problem: EventProblem) -> Offer | None:
    """Half as many people asked for, a quarter, and so on, until few enough records go."""
    requirements = problem.asked
    while True:
        less = tuple(replace(r, k=max(2, r.k // 2)) if isinstance(r, KnownRecords | NearRecords) else r for r in requirements)
        if less == requirements:
            return None
        outcome = _fewest(replace(problem, asked=less), problem.shapes)
        if outcome is not None and outcome.suppress <= max(problem.allow, FEW_LEFT_OUT):
            return outcome
        requirements = less


def _fewest(problem: EventProblem, shapes: Sequence[Shape]) -> Offer | None:
    """The offer that leaves out fewest records, among the coarsest shapes (a coarser one never needs more)."""
    outcomes = [o for o in (_needed(problem, s) for s in list(shapes)[-MOST_TRIED:]) if o is not None]
    return min(outcomes, key=lambda o: (o.suppress, o.loss), default=None)


def label_texts(tree: Hierarchy, levels: Levels) -> list[str]:
    """The published label of each leaf."""
    return [tree.levels[level].labels[tree.levels[level].groups[i]] for i, level in enumerate(levels.tolist())]


def cut(
    tree: Hierarchy, leaf: IntArray, trace: IntArray, owner: IntArray, others: list[Any], asked: tuple[Asked, ...], allowed: int,
    dress: Dress, *, split: bool,
) -> tuple[Levels, Pairs, IntArray, Mask] | None:  # fmt: skip
    """The levels, the pairs they make, the pair of each record, and the pairs that stay; None where even the top does not do."""
    levels: Levels = np.zeros(tree.n_leaves, dtype=np.int64)
    while True:
        texts = np.array(label_texts(tree, levels), dtype=object)
        place = np.unique(texts.astype(str), return_inverse=True)[1][leaf]  # equal labels are one place
        pairs, which = pairs_of(trace, owner, [*others, place], len(leaf))
        pairs = dress(pairs, which, [texts[leaf]])
        done = suppressed(pairs, asked, allowed, split=split)
        if done is not None:
            return levels, done[0], which, done[1]
        risen = _raise_places(tree, levels, leaf, pairs, which, asked)
        if risen is None:
            return None
        levels = risen


def _raise_places(
    tree: Hierarchy, levels: Levels, leaf: IntArray, pairs: Pairs, which: IntArray, asked: tuple[Asked, ...]
) -> Levels | None:
    """One level up for the places of weak sets, a tenth of them at a time, those with fewest records first; None at the top."""
    below = levels < tree.height
    if not below.any():
        return None
    weak = _weak_records(pairs, which, asked)
    hit = np.bincount(leaf[weak], minlength=tree.n_leaves) > 0
    candidates = np.flatnonzero(hit & below)
    if not len(candidates):
        candidates = np.flatnonzero(below)
    records = np.bincount(leaf, minlength=tree.n_leaves)
    order = candidates[np.argsort(records[candidates], kind="stable")]
    out = levels.copy()
    for i in order[: max(1, len(order) // 10)].tolist():
        to = int(levels[i]) + 1
        group = tree.levels[to].groups
        inside = group == group[i]
        out[inside] = np.maximum(out[inside], to)
    return out


def _weak_records(pairs: Pairs, which: IntArray, asked: tuple[Asked, ...]) -> Mask:
    """Records in sets that too few people share, of the smallest size that has any: apriori's order."""
    alive = np.ones(len(pairs.trace), dtype=np.bool_)
    weak = np.zeros(len(pairs.trace), dtype=np.bool_)
    for size in range(1, most_known(asked) + 1):
        if too_many(pairs, alive, size):
            break
        for r in asked:
            if size <= getattr(r, "records", size):
                linked = pairs.linked(r, alive)
                weak[linked.pair[linked.weak(size, 2 if r.kind == "unicity" else safe_limit(r))]] = True
        if weak.any():
            break
    return weak[which]
