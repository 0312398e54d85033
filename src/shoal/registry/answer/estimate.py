r"""A calibrated estimate where a population has no record: from neighbours, its size, and what no population can exceed.

Takes    shares of unique people of m neighbouring populations, each with its interval and size; the size of the place, if known
Returns  a value and an interval that covers the truth at its level, if the place is one of its neighbours by chance
Keeps    the interval is never wider than what is certain: of a group of k at most N people can be alone in one of N cells

If the place and its neighbours were drawn alike, each of the m + 1 ranks of the place among them is equally likely: between the
a-th smallest and the a-th largest of them it lies with chance :math:`1-2a/(m+1)` (a distribution-free prediction interval). From
39 neighbours on a is the largest with a chance of 95 % or more. Fewer neighbours do not reach 95 % by ranks: then the interval is
that of the next observation of a normal distribution of log-odds, widened to hold every neighbour.

Where the size of the place is known, and lies among those of the neighbours, a straight line of log-odds on the logarithm of
the size is tried: towns have more postcodes than villages. It is used if it predicts each neighbour from the others better
than their mean does (squared errors, each left out in turn). Its interval is the line at the size of the place, plus and minus
the error that 95 % of the neighbours stay within when they are left out: the :math:`\lceil 0.95(m+1)\rceil`-th smallest
(jackknife; Barber et al. 2021); below :data:`BY_RANK` that of the next observation in linear regression.
"""

from __future__ import annotations

import math
import statistics as stats
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shoal.kernels.quantiles import t_quantile
from shoal.model.estimate import Estimate

LEVEL = 0.95
BY_RANK = 39
"""Neighbours from which ranks alone reach the level."""
FOR_A_LINE = 8
"""Neighbours from which the size is looked at: a line has two numbers to be found."""
_EDGE = 1e-4
"""Log-odds are taken of shares at least so far from 0 and 1."""


@dataclass(frozen=True)
class NeighbourEstimate:
    """A value with its interval; ``by_size`` where the size of the place made it narrower."""

    value: float
    low: float
    high: float
    by_size: bool = False


def estimate(shares: Sequence[Estimate], sizes: Sequence[int], size: int | None = None) -> NeighbourEstimate:
    """What is predicted of a place of a size, or of any place, like those whose shares and sizes are given (two at least).

    >>> near = [Estimate(s, s, s) for s in (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)]
    >>> sizes = [1000 * 3**i for i in range(9)]
    >>> estimate(near, sizes, sizes[2]).by_size, estimate(near, sizes).by_size
    (True, False)
    """
    low, high, _ = interval(shares)
    plain = NeighbourEstimate(stats.median(e.value for e in shares), low, high)
    if size is None or len(shares) < FOR_A_LINE or not min(sizes) <= size <= max(sizes) or min(sizes) == max(sizes):
        return plain
    x, y = np.log(np.asarray(sizes, dtype=float)), np.array([_odds(e.value) for e in shares])
    off = x - x.mean()
    slope = float((off * y).sum() / (off**2).sum())
    leverage = 1 / len(x) + off**2 / (off**2).sum()
    if leverage.max() > 1 - 1e-9:  # one place alone decides the line
        return plain
    errors = np.abs((y - y.mean() - slope * off) / (1 - leverage))
    without = np.abs((y - y.mean()) * len(y) / (len(y) - 1))
    if (errors**2).sum() >= (without**2).sum():
        return plain
    at = float(y.mean() + slope * (math.log(size) - x.mean()))
    reach = _reach(errors, leverage, float(1 / len(x) + (math.log(size) - x.mean()) ** 2 / (off**2).sum()))
    rounding = max(e.high - e.low for e in shares) / 2
    value, low, high = (1 / (1 + math.exp(-z)) for z in (at, at - reach, at + reach))
    return NeighbourEstimate(value, max(0.0, low - rounding), min(1.0, high + rounding), by_size=True)


def _reach(errors: np.ndarray, leverage: np.ndarray, at: float) -> float:
    """How far the next place may lie from the line, in log-odds: errors of places left out, and the leverage of the new one."""
    m = len(errors)
    if m >= BY_RANK:
        return float(np.sort(errors)[math.ceil(LEVEL * (m + 1)) - 1])
    residuals = errors * (1 - leverage)
    return t_quantile((1 + LEVEL) / 2, m - 2) * math.sqrt(float((residuals**2).sum()) / (m - 2) * (1 + at))


def interval(shares: Sequence[Estimate]) -> tuple[float, float, float]:
    """The lower end, the upper end and the level for a place like those whose shares are given (two at least).

    >>> low, high, level = interval([Estimate(s / 100, s / 100, s / 100) for s in range(1, 40)])
    >>> round(low, 3), round(high, 3), level
    (0.01, 0.39, 0.95)
    """
    lows, highs = sorted(e.low for e in shares), sorted(e.high for e in shares)
    m = len(shares)
    if m >= BY_RANK:
        a = math.floor((1 - LEVEL) / 2 * (m + 1) + 1e-9)
        return lows[a - 1], highs[m - a], LEVEL
    odds = [_odds(e.value) for e in shares]
    reach = t_quantile((1 + LEVEL) / 2, m - 1) * stats.stdev(odds) * math.sqrt(1 + 1 / m)
    middle, rounding = stats.fmean(odds), max(e.high - e.low for e in shares) / 2
    low, high = (1 / (1 + math.exp(-(middle + side * reach))) for side in (-1, 1))
    return max(0.0, min(lows[0], low - rounding)), min(1.0, max(highs[-1], high + rounding)), LEVEL


def most_alone(cells: float, group_size: int) -> float:
    """The largest share of a group that can be alone in its cells, anyone who is asked.

    >>> most_alone(20, 100), most_alone(100, 20)
    (0.2, 1.0)
    """
    return min(1.0, cells / group_size)


def _odds(share: float) -> float:
    inside = min(1 - _EDGE, max(_EDGE, share))
    return math.log(inside / (1 - inside))
