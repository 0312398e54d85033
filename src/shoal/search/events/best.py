"""The plan that loses least: every shape of a small lattice, cheapest first, each with the suppression that it needs.

Takes    an EventProblem
Returns  the best plan; InfeasibleError with the nearest plans where none stays within what may be left out
Keeps    a shape is passed over only where its loss without any suppression is no better than the best plan found
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.errors import InfeasibleError, InternalError
from shoal.model.compare import most_of
from shoal.model.counts.classes import IntArray
from shoal.search.events.cut import Levels, cut, label_texts
from shoal.search.events.linked import Mask
from shoal.search.events.offers import Offer, nearest_offers
from shoal.search.events.problem import (
    CUT,
    EventProblem,
    Shape,
    bits_lost,
    kept_records,
    links_lost,
    pairs_of,
    traces_of,
)
from shoal.search.events.suppress import suppressed

Told = Callable[[float, str], None]


@dataclass(frozen=True, eq=False, repr=False)
class Found:
    """A plan and what it costs. ``stays`` marks the published records (of those at the same point under one pseudonym the
    first), ``trace`` is the pseudonym of every record (−1: none); ``levels`` of the leaves, for a cut.

    ``truncated``, ``suppressed`` and ``merged`` count records: beyond the most per person, left out, shown once with others.
    """

    shape: Shape
    stays: Mask
    trace: IntArray
    levels: Levels | None
    loss: float
    time_loss: float
    place_loss: float
    links_loss: float
    truncated: int
    suppressed: int
    merged: int
    tried: int = 0

    @property
    def left_out(self) -> int:
        return self.truncated + self.suppressed


def best_plan(problem: EventProblem, told: Told = lambda done, what: None) -> Found:
    """The plan of least loss among the shapes.

    Raises
    ------
    InfeasibleError
        Where no shape meets what is asked; ``offers`` lists plans that would, with what would have to change.
    """
    order = sorted(problem.shapes, key=lambda s: base_loss(problem, s))
    best: Found | None = None
    tried = 0
    for i, shape in enumerate(order):
        told(i / len(order), f"trying {shape.words}")
        if best is not None and base_loss(problem, shape) >= best.loss:
            break
        found = tried_plan(problem, shape, problem.allow)
        tried += 1
        if found is not None and (best is None or found.loss < best.loss):
            best = found
    if best is None:
        raise infeasible(problem)
    return Found(**{**best.__dict__, "tried": tried})


def base_loss(problem: EventProblem, shape: Shape) -> float:
    """The loss of a shape before anything is suppressed: no plan of this shape loses less."""
    keep = kept_records(problem, shape)
    place = 0.0 if shape.place == CUT else problem.column_loss("place", shape.place)
    links = 0.0
    if problem.weights.links:
        trace, _ = traces_of(problem, shape, keep)
        links = links_lost(problem.person[keep], trace)
    return total_loss(problem, problem.column_loss("time", shape.time), place, links, int((~keep).sum()))


def total_loss(problem: EventProblem, time: float, place: float, links: float, gone: int) -> float:
    """Records left out lose everything; of the others, the weighted mean of what time, place and links lost.

    >>> from types import SimpleNamespace as P
    >>> from shoal.search.events.problem import Weights
    >>> total_loss(P(weights=Weights(1, 1, 0), n=10), 0.5, 0.0, 0.0, 2)
    0.4
    """
    w = problem.weights
    share = gone / problem.n
    mean = (w.time * time + w.place * place + w.links * links) / (w.time + w.place + w.links)
    return share + (1 - share) * mean


def tried_plan(problem: EventProblem, shape: Shape, allow: float) -> Found | None:
    """The plan of this shape that leaves out at most this share of the records; None where there is none."""
    keep = kept_records(problem, shape)
    truncated = int((~keep).sum())
    allowed = most_of(allow, problem.n) - truncated
    if allowed < 0 or not keep.any():
        return None
    trace, owner = traces_of(problem, shape, keep)
    times = problem.times[shape.time]
    others: list[Any] = [] if times is None else [times[keep]]
    levels: Levels | None = None
    if shape.place == CUT:
        if problem.tree is None or problem.leaf is None:
            raise InternalError("a cut is tried without a hierarchy.")
        made = cut(problem.tree, problem.leaf[keep], trace, owner, others, problem.asked, allowed)
        if made is None:
            return None
        levels, pairs, which, stays = made
        texts = np.array(label_texts(problem.tree, levels), dtype=object).astype(str)
        place_loss = bits_lost(problem.places["exact"], np.unique(texts, return_inverse=True)[1][problem.leaf])
    else:
        places = problem.places[shape.place]
        pairs, which = pairs_of(trace, owner, others if places is None else [*others, places[keep]], len(trace))
        kept = suppressed(pairs, problem.asked, allowed)
        if kept is None:
            return None
        stays, place_loss = kept, problem.column_loss("place", shape.place)
    return _found(problem, shape, keep, trace, which, stays, levels, place_loss, truncated)


def _found(
    problem: EventProblem, shape: Shape, keep: Mask, trace: IntArray, which: IntArray, stays: Mask, levels: Levels | None,
    place_loss: float, truncated: int,
) -> Found:  # fmt: skip
    alive = stays[which]
    index = np.flatnonzero(keep)
    order = np.lexsort((problem.rank[index], which))
    firsts = order[np.concatenate(([True], np.diff(which[order]) != 0))]
    shown = np.zeros(problem.n, dtype=np.bool_)
    shown[index[firsts[alive[firsts]]]] = True
    traces = np.full(problem.n, -1, dtype=np.int64)
    traces[index] = trace
    gone = int((~alive).sum())
    time_loss = problem.column_loss("time", shape.time)
    links = links_lost(problem.person[index[alive]], trace[alive]) if problem.weights.links else 0.0
    return Found(
        shape=shape,
        stays=shown,
        trace=traces,
        levels=levels,
        loss=total_loss(problem, time_loss, place_loss, links, gone + truncated),
        time_loss=time_loss,
        place_loss=place_loss,
        links_loss=links,
        truncated=truncated,
        suppressed=gone,
        merged=problem.n - truncated - gone - int(shown.sum()),
    )


def infeasible(problem: EventProblem) -> InfeasibleError:
    """What would do instead, each tried on the records."""
    offers = nearest_offers(problem, _needed)
    shown = "; ".join(o.sentence for o in offers)
    return InfeasibleError(
        f"no plan keeps what is asked and leaves out at most {problem.allow:.2%} of the records.",
        hint=f"These would do: {shown}." if offers else "Allow coarser times and places, renewal, or ask for less.",
        offers=offers,
    )


def _needed(problem: EventProblem, shape: Shape) -> Offer | None:
    """The offer to leave out as many records as this shape needs; None where not even that does."""
    found = tried_plan(problem, shape, 1.0)
    return None if found is None else Offer(shape, found.left_out / problem.n, found.loss, problem.asked)
