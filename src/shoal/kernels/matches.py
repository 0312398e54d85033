r"""(1 − β, k)-anonymity: how many people of a population match a published record, from the class sizes of a random sample.

Takes    members of the table and of its smallest class, people in the population, β, the plans that were compared
Returns  the class size that k matches need; the k that a class size gives
Keeps    for any population at all: a record of the table is published and matches fewer than k people with probability ≤ β
Cost     O(log k) tails of a hypergeometric distribution
Source   Lodha & Thomas, Definition 4; its universal table is the population here
Limits   the table is a random sample: everybody is equally likely to be in it. Groups fitted to the records (local recoding)
         are not covered

A record whose class has F < k people of the population brings itself; X ~ Hypergeometric(N − 1, F − 1, n − 1) of the F − 1 others
are in the table too. If only classes of f members are published, the record is published with P(X ≥ f − 1), which is largest for
F = k − 1. Three things follow.

* A class that is larger in the table is a class with more people: a search may prune as for k (law *merge*).
* A search looks at many plans. Of two plans, one coarser than the other, in both of which the class of a record is too small, the
  coarser one is the more likely to be published. So only plans of which none is coarser than another add up: at most as many as
  the largest set of such plans, the ``width``.
* Published records are at least a share 1 − s of all, where s may be suppressed. If each record of the table is published
  wrongly with probability β (1 − s), the expected share of such records among the published ones is at most β.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

STIRLING = 1000
"""Numbers from which Stirling's series replaces the logarithm of a factorial."""


def smallest_for(k: int, members: int, population: int, chance: float) -> int:
    """The smallest class of a table with so many members whose records match k people but with this probability.

    >>> smallest_for(100, 32_561, 300_000_000, 0.05), smallest_for(100, 1000, 1000, 0.05)
    (2, 100)
    """
    if members >= population:
        return k
    low, high = 1, k
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if _rare(middle, k, members, population, chance) else (middle + 1, high)
    return low


def matched(smallest: int, members: int, population: int, chance: float) -> int:
    """The largest k for which a class of this size is large enough; never less than the class itself.

    >>> matched(2, 32_561, 300_000_000, 0.05), matched(1, 32_561, 300_000_000, 0.05), matched(7, 1000, 1000, 0.05)
    (474, 1, 7)
    """
    if members >= population:
        return smallest
    low, high = smallest, population
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if _rare(smallest, middle, members, population, chance) else (low, middle - 1)
    return low


def _rare(smallest: int, k: int, members: int, population: int, chance: float) -> bool:
    return chance_of(smallest, k, members, population) <= chance * (1 + 1e-9)


def chance_of(smallest: int, k: int, members: int, population: int) -> float:
    """The probability that a record of the table, with k − 1 others in its class, is in a published one; 1 if it is over 1/2.

    >>> chance_of(1, 5, 10, 100), chance_of(5, 5, 10, 100), round(chance_of(2, 3, 10, 100), 6), round(9 / 99, 6)
    (1.0, 0.0, 0.090909, 0.090909)
    """
    others, drawn, j, total = k - 2, members - 1, smallest - 1, population - 1
    if j <= others * drawn // total:  # the median is not below the whole part of the mean
        return 1.0
    if j > min(others, drawn):
        return 0.0
    ways = _log_falling(others, j) - math.lgamma(j + 1)
    first = ways + _log_falling(drawn, j) + _log_falling(total - drawn, others - j) - _log_falling(total, others)
    sum_, term = 0.0, 1.0
    while term > sum_ * 1e-16:
        sum_ += term
        term *= (others - j) * (drawn - j) / ((j + 1) * (total - others - drawn + j + 1))
        j += 1
    return min(1.0, math.exp(first + math.log(sum_)))


def width(heights: Iterable[int]) -> float:
    """The most plans of which none is coarser than another, for columns with so many levels above the values.

    >>> width([3]), width([1, 1]), width([2, 2, 2])
    (1.0, 2.0, 7.0)
    """
    ranks = np.ones(1)
    for height in heights:
        ranks = np.convolve(ranks, np.ones(height + 1))
    return float(ranks.max())


def _log_falling(n: int, j: int) -> float:
    """The logarithm of n (n − 1) … (n − j + 1), without the loss of digits of two large logarithms."""
    left = n - j
    if left < STIRLING:
        return math.lgamma(n + 1) - math.lgamma(left + 1)
    rest = (1 / n - 1 / left) / 12 - (1 / n**3 - 1 / left**3) / 360
    return j * math.log(n) - (left + 0.5) * math.log1p(-j / n) - j + rest
