r"""How many values each column may keep so that cells hold k people with probability 1-beta.

Two steps: how many equally likely cells D' are allowed for n people (exact binomial tail, or the Chernoff form of the source),
and how to split them over the columns, :math:`\min\sum w_i/d_i` subject to :math:`\prod d_i\le D'`, :math:`1\le d_i\le cap_i`.

Takes    n, k, beta; weights and caps per column
Returns  numbers of cells and of values per column
Cost     O(log n) for the budget; the integer split enumerates when the caps are small and is greedy beyond
Source   Lodha & Thomas, corrected (METHODS §9–10)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from shoal.errors import UsageError
from shoal.prediction.distribution import Floats, fraction, whole

Bound = Literal["exact", "chernoff", "poisson"]


@dataclass(frozen=True)
class Budget:
    """Cells allowed: ``cells`` (D'), the mean people per cell, and what the promise covers.

    ``per`` is "cell" (each cell alone) or "table" (all cells at once, Bonferroni).
    """

    cells: int
    people_per_cell: float
    method: str
    per: str
    notes: tuple[str, ...]


def cell_budget(
    people: int, k: int, beta: float, *, bound: Bound = "exact", all_cells: bool = False, member: bool = False
) -> Budget:
    """The largest number of equally likely cells that each hold at least ``k`` of ``people`` with probability 1-beta.

    ``all_cells`` promises it for all cells at once; ``member`` counts a person already in the cell (k-1 others).

    >>> cell_budget(300_000_000, 100, 0.1).cells, cell_budget(300_000_000, 100, 0.1, bound="chernoff").cells
    (2654620, 2443425)
    """
    n, threshold = whole(people, what="people", least=1), whole(k, what="k", least=1)
    b = fraction(beta, what="beta", closed=False)
    if bound not in get_args(Bound):
        raise UsageError(f"bound '{bound}' is not known.", hint="Bounds: exact, chernoff, poisson.")
    if n < threshold:
        raise UsageError(f"k={threshold} is more than the {n} people there are.", hint="Lower k.")
    need = threshold - 1 if member else threshold
    others = n - 1 if member else n
    notes = ["cells are taken as equally likely: the smallest real cell decides (check it with cell_failure)"]
    if not all_cells:
        notes.append("the promise is per cell, not for all cells at once")
    if need == 0:
        cells = n  # a member alone is enough
    elif not all_cells:
        cells = _most_cells(others, need, b, bound)
    else:
        cells = _fixed_point(others, need, b, bound)
    return Budget(cells, n / cells, bound, "table" if all_cells else "cell", tuple(notes))


def cell_failure(people: int, k: int, probability: npt.ArrayLike) -> Floats:
    """P(a cell of this probability holds fewer than k of ``people``), exact binomial; one entry per cell.

    >>> round(float(cell_failure(300_000_000, 100, 125 / 300_000_000)), 6)
    0.009379
    """
    from shoal.kernels.scipy.special import betaincc

    n, threshold = whole(people, what="people"), whole(k, what="k", least=1)
    p = np.asarray(probability, dtype=np.float64)
    if not bool(np.all((p >= 0) & (p <= 1))):
        raise UsageError("cell probabilities lie between 0 and 1.")
    if threshold > n:
        return np.ones_like(p)
    out: Floats = np.asarray(betaincc(threshold, n - threshold + 1, p))
    return out


def chernoff_failure(mean: float, k: int) -> float:
    r"""Chernoff's bound :math:`e^{-\mu\delta^2/2}`, :math:`\delta=1-(k-1)/\mu`, on the same probability.

    >>> round(chernoff_failure(125, 100), 7)
    0.0669372
    """
    if mean <= k - 1:
        return 1.0
    delta = 1 - (k - 1) / mean
    return math.exp(-mean * delta * delta / 2)


def people_per_cell(k: int, beta: float, *, bound: Bound = "poisson", member: bool = False) -> float:
    """Mean people per cell needed in a large population.

    >>> round(people_per_cell(100, 0.1), 6), round(people_per_cell(100, 0.1, bound="chernoff"), 6)
    (113.010524, 122.778473)
    """
    need, b = whole(k, what="k", least=1) - (1 if member else 0), fraction(beta, what="beta", closed=False)
    if need == 0:
        return 0.0
    if bound == "chernoff":
        return _chernoff_mean(need, b)
    from shoal.kernels.scipy.special import gammaincinv

    return float(gammaincinv(need, 1 - b))


def split(weights: Sequence[float], caps: Sequence[float], cells: float) -> Floats:
    r"""Real numbers of values per column that minimise :math:`\sum w_i/d_i` with product ``cells`` and 1 ≤ d_i ≤ cap_i.

    The optimum is :math:`d_i=\mathrm{clamp}(w_it,1,cap_i)`; t is found by bisection.

    >>> split([1, 1, 1], [2, 21900, 100000], 2.4e6).round(6).tolist()
    [2.0, 1095.445115, 1095.445115]
    """
    w, top, budget = _columns(weights, caps, cells)
    if float(np.log(top).sum()) <= math.log(budget):
        return top
    low = -math.log(float(w.max())) - 1.0
    high = float(np.log(top / w).max()) + 1.0
    for _ in range(200):
        middle = 0.5 * (low + high)
        if float(np.log(np.clip(w * math.exp(middle), 1.0, top)).sum()) < math.log(budget):
            low = middle
        else:
            high = middle
    out: Floats = np.clip(w * math.exp(low), 1.0, top)
    free = (out > 1.0) & (out < top)
    if bool(free.any()):  # make the product exact
        out[free] *= math.exp((math.log(budget) - float(np.log(out).sum())) / int(free.sum()))
    return np.clip(out, 1.0, top)


def integer_split(weights: Sequence[float], caps: Sequence[int], cells: float, *, work: int = 2_000_000) -> list[int]:
    """Whole numbers of values per column with product at most ``cells``.

    Exact by enumeration of all but the last column while that is at most ``work`` combinations; greedy beyond.

    >>> integer_split([1, 2, 3], [10, 50, 100], 3000)
    [8, 15, 25]
    """
    w, top, budget = _columns(weights, caps, cells)
    limits = [int(c) for c in top]
    if math.prod(min(c, int(budget)) for c in limits[:-1]) <= work:
        return _enumerate(w, limits, budget)
    return greedy_split(weights, caps, cells)


def greedy_split(weights: Sequence[float], caps: Sequence[int], cells: float) -> list[int]:
    """Floor of the real optimum, then one more value where it gains most while the product allows.

    >>> greedy_split([1, 2, 3], [10, 50, 100], 3000)
    [8, 16, 23]
    """
    w, top, budget = _columns(weights, caps, cells)
    d = [max(1, int(x + 1e-9)) for x in split(weights, caps, cells)]
    while True:
        product = math.prod(d)
        gains = [
            (w[i] * (1 / d[i] - 1 / (d[i] + 1)), -i)
            for i in range(len(d))
            if d[i] < top[i] and product // d[i] * (d[i] + 1) <= budget * (1 + 1e-12)
        ]
        if not gains:
            return d
        d[-max(gains)[1]] += 1


def _most_cells(n: int, k: int, beta: float, bound: str) -> int:
    if bound == "chernoff":
        return max(1, int(n / _chernoff_mean(k, beta)))
    if bound == "poisson":
        return max(1, int(n / people_per_cell(k, beta)))
    low, high = 1, max(2, n)
    while float(cell_failure(n, k, 1.0 / high)) <= beta:  # k = 1 with a generous beta allows more cells than people
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if float(cell_failure(n, k, 1.0 / middle)) <= beta:
            low = middle
        else:
            high = middle
    return low


def _fixed_point(n: int, k: int, beta: float, bound: str) -> int:
    """Largest D with D · failure(1/D) ≤ beta, by bisection (the failure grows with D)."""
    low, high = 1, max(2, n)
    while high - low > 1:
        middle = (low + high) // 2
        if _allowed_at(n, k, beta / middle, middle, bound):
            low = middle
        else:
            high = middle
    return low


def _allowed_at(n: int, k: int, beta: float, cells: int, bound: str) -> bool:
    if bound == "chernoff":
        return chernoff_failure(n / cells, k) <= beta
    if bound == "poisson":
        return n / cells >= people_per_cell(k, beta)
    return float(cell_failure(n, k, 1.0 / cells)) <= beta


def _chernoff_mean(k: int, beta: float) -> float:
    if k <= 1:
        return -2 * math.log(beta)
    x = math.log(1 / beta) / (k - 1)
    return (k - 1) * (1 + x + math.sqrt(x * x + 2 * x))


def _columns(weights: Sequence[float], caps: Sequence[float], cells: float) -> tuple[Floats, Floats, float]:
    w, top = np.asarray(list(weights), dtype=np.float64), np.asarray(list(caps), dtype=np.float64)
    if w.size == 0 or w.size != top.size:
        raise UsageError(f"{w.size} weights were given for {top.size} caps.", hint="Give one of each per column.")
    if not bool(np.all(w > 0)) or not bool(np.all(top >= 1)) or not cells >= 1:
        raise UsageError("weights must be positive, caps and the number of cells at least 1.")
    return w, top, float(cells)


def _enumerate(w: Floats, limits: list[int], budget: float) -> list[int]:
    """All splits of all but the last column; the last takes what is left. Of equal costs the first in order wins."""
    best, best_cost = [1] * len(limits), math.inf

    def descend(i: int, left: float, chosen: list[int], cost: float) -> None:
        nonlocal best, best_cost
        if cost >= best_cost:
            return
        if i == len(limits) - 1:
            last = min(limits[i], int(left + 1e-9))
            total = cost + float(w[i]) / last
            if total < best_cost - 1e-15:
                best, best_cost = [*chosen, last], total
            return
        for d in range(min(limits[i], int(left + 1e-9)), 0, -1):
            if cost + float(w[i]) / d >= best_cost:
                break
            descend(i + 1, left / d, [*chosen, d], cost + float(w[i]) / d)

    descend(0, budget, [], 0.0)
    return best
