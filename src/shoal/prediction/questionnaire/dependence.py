r"""The least and the greatest unique share that what is known of the questions allows, however the answers depend on each other.

Low: one more question never makes anyone less unique, so every question alone is a lower bound. High: within an answer of share s
the other questions, with D' combinations, can leave at most :math:`s(1-s/D')^{n-1}` of the people unique, or
:math:`\tfrac{D'}n(1-\tfrac1n)^{n-1}` when :math:`s>D'/n` (:math:`q(1-q)^{n-1}` is concave up to 2/n and falls beyond 1/n).
Summed over the answers of one question this is an upper bound, and the best question counts. Of a question whose shares are not
known both are taken over every distribution with its number of answers and, where it is published, its kappa
(:mod:`~shoal.prediction.summaries.kappa_bounds`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from shoal.prediction.distribution import Distribution, Floats
from shoal.prediction.group import moments as _moments
from shoal.prediction.summaries.kappa_bounds import Shapes, singletons_range

Range = tuple[float, float]


@dataclass(frozen=True, eq=False)
class Piece:
    """One question, or several with a known joint table: its ``cells``, and what else is known of their shares.

    ``law`` are the shares themselves; ``kappa`` the range in which the published kappa lies; neither: only the number is known.
    """

    cells: int
    law: Distribution | None = None
    kappa: Range | None = None

    def least(self, people: int) -> float:
        """The smallest unique share by this piece alone."""
        if self.law is not None:
            return _moments.mean(self.law, people) / people
        return 0.0 if self.kappa is None else _least_published(self.kappa, self.cells, people)

    def most(self, people: int, room: float) -> float:
        """The largest unique share when each answer may be split into ``room`` combinations."""
        if self.law is not None:
            return self.law.total(_split(self.law.p, people, room))
        if self.kappa is None:
            return float(self.cells * _split(np.array([1.0 / self.cells]), people, room)[0])
        return _most_published(self.kappa, self.cells, people, room)


def share_range(pieces: Sequence[Piece], people: int) -> Range:
    """Least and greatest expected share of unique people.

    >>> known = Piece(2, Distribution.of([0.5, 0.5]))
    >>> [round(x, 4) for x in share_range([known, Piece(10)], 8)]
    [0.0078, 0.6983]
    """
    if people <= 1:
        return float(people), float(people)
    low = max(p.least(people) for p in pieces)
    total = sum(math.log(p.cells) for p in pieces)
    high = min(p.most(people, math.exp(min(700.0, total - math.log(p.cells)))) for p in pieces)
    return low, min(1.0, max(low, high))


def _split(shares: Floats, people: int, room: float) -> Floats:
    """The largest unique share inside an answer of each share."""
    s = np.minimum(shares, room / people)
    with np.errstate(divide="ignore"):
        out: Floats = s * np.exp((people - 1) * np.log1p(-np.minimum(s / room, 1.0)))
    return out


@lru_cache(maxsize=1024)
def _least_published(kappa: Range, cells: int, people: int) -> float:
    """Over the range of kappa: the least value is a convex function of it."""
    found = [singletons_range(k, cells, people)[0] / people for k in _within(kappa, cells)]
    return max(0.0, min(*found, 2 * found[1] - max(found)) if len(found) > 1 else found[0])


@lru_cache(maxsize=1024)
def _most_published(kappa: Range, cells: int, people: int, room: float) -> float:
    """Over the range of kappa: the largest value is a concave function of it."""

    def most(k: float) -> float:
        def h(x: Floats) -> Floats:
            return cells * _split(x / cells, people, room)

        one, step = np.array([1.0]), 1e-6
        slope = (h(one + step) - h(one - step)) / (2 * step)
        return Shapes(k, cells, people).most(h, float(h(one)[0]), float(slope[0]))

    found = [most(k) for k in _within(kappa, cells)]
    return min(1.0, max(*found, 2 * found[1] - min(found)) if len(found) > 1 else found[0])


def _within(kappa: Range, cells: int) -> list[float]:
    """The ends and the middle of the range, or the one value there is."""
    low, high = max(0.0, kappa[0]), min(math.log(cells), kappa[1])
    return [low, 0.5 * (low + high), high] if high > low else [low]
