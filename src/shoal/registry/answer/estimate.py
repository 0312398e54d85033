r"""A calibrated estimate where a population has no record: from its neighbours, and from what no population can exceed.

Takes    shares of unique people of m neighbouring populations, each with its interval; the cells of the coding; the group size
Returns  a value and an interval that covers the truth at its level, if the place is one of its neighbours by chance
Keeps    the interval is never wider than what is certain: of a group of k at most N people can be alone in one of N cells

If the place and its neighbours were drawn alike, each of the m + 1 ranks of the place among them is equally likely: between the
a-th smallest and the a-th largest of them it lies with chance :math:`1-2a/(m+1)` (a distribution-free prediction interval). From
39 neighbours on a is the largest with a chance of 95 % or more. Fewer neighbours do not reach 95 % by ranks: then the interval is
that of the next observation of a normal distribution of log-odds, widened to hold every neighbour.
"""

from __future__ import annotations

import math
import statistics as stats
from collections.abc import Sequence

from shoal.model.estimate import Estimate

LEVEL = 0.95
BY_RANK = 39
"""Neighbours from which ranks alone reach the level."""
_EDGE = 1e-4
"""Log-odds are taken of shares at least so far from 0 and 1."""


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
    from scipy import stats as scipy_stats

    odds = [_odds(e.value) for e in shares]
    reach = float(scipy_stats.t.ppf((1 + LEVEL) / 2, m - 1)) * stats.stdev(odds) * math.sqrt(1 + 1 / m)
    middle, rounding = stats.fmean(odds), max(e.high - e.low for e in shares) / 2
    low, high = (1 / (1 + math.exp(-(middle + side * reach))) for side in (-1, 1))
    return max(0.0, min(lows[0], low - rounding)), min(1.0, max(highs[-1], high + rounding)), LEVEL


def most_alone(cells: float, group_size: int) -> float:
    """The largest share of a group that can be alone in its cells, whoever is asked.

    >>> most_alone(20, 100), most_alone(100, 20)
    (0.2, 1.0)
    """
    return min(1.0, cells / group_size)


def _odds(share: float) -> float:
    inside = min(1 - _EDGE, max(_EDGE, share))
    return math.log(inside / (1 - inside))
