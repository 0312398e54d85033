"""What does a class tell about the sensitive value? Distinct, entropy and recursive diversity, and the surest guess α.

Takes    ClassCounts with counts of a sensitive column (a missing sensitive value is an ordinary value)
Keeps    1 ≤ entropy l ≤ distinct l ≤ number of values; recursive (c,l) is strict
Source   METHODS §19, §22 (2a, 2b)
Differs  entropy uses shares inside the class; the integer form adds the tolerance before the floor, else 2 becomes 1
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from shoal.errors import UsageError
from shoal.measures.classes.profile import profile
from shoal.measures.metrics import metric
from shoal.model.compare import slack
from shoal.model.counts.classes import ClassCounts, IntArray

HELPERS = ("is_recursive_diverse", "whole_diversity")


@metric("distinct_diversity", reads="sensitive", low=1, safer="higher", merging="never lower", doubling="same")
def distinct_diversity(counts: ClassCounts, column: str) -> int:
    """Smallest number of distinct sensitive values in a class.

    >>> from shoal.model.counts.classes import SensitiveCounts
    >>> c = ClassCounts((4, 4), sensitive={"d": SensitiveCounts.from_dense("d", [[2, 1, 1], [3, 1, 0]])})
    >>> distinct_diversity(c, "d")
    2
    """
    return int(profile(counts, column).distinct.min())


@metric("entropy_diversity", reads="sensitive", low=1, safer="higher", merging="never lower", doubling="same")
def entropy_diversity(counts: ClassCounts, column: str) -> float:
    r"""Entropy l, as a real number: :math:`\min_b \exp(-\sum_s p(s|b) \ln p(s|b))`.

    >>> from shoal.model.counts.classes import SensitiveCounts
    >>> c = ClassCounts((4, 4), sensitive={"d": SensitiveCounts.from_dense("d", [[2, 1, 1], [3, 1, 0]])})
    >>> round(entropy_diversity(c, "d"), 7)
    1.7547654
    """
    return math.exp(float(profile(counts, column).entropy.min()))


def whole_diversity(value: float) -> int:
    """The largest whole l that an entropy l reaches, without the rounding trap of a bare floor.

    >>> whole_diversity(math.exp(math.log(3))), whole_diversity(2.999)
    (3, 2)
    """
    return math.floor(value + slack(value))


@metric("recursive_diversity", reads="sensitive", low=1, safer="higher", merging="never lower", doubling="same")
def recursive_diversity(counts: ClassCounts, column: str, *, c: float = 3.0) -> int:
    """Largest l such that every class is recursively (c,l)-diverse; 1 where none above 1 is: l = 1 asks for nothing.

    >>> from shoal.model.counts.classes import SensitiveCounts
    >>> t = ClassCounts((12,), sensitive={"d": SensitiveCounts.from_dense("d", [[7, 3, 2]])})
    >>> recursive_diversity(t, "d", c=2), recursive_diversity(t, "d", c=4)
    (2, 3)
    """
    found = profile(counts, column)
    ratio = _ratio(c)
    if int(found.distinct.min()) == 1:  # a class with one value is (c,1)-diverse at most
        return 1
    tail = _tails(found.descending, found.starts, found.totals, found.distinct)
    holds = _times(np.repeat(found.largest, found.distinct), ratio.denominator) < _times(tail, ratio.numerator)
    place = np.arange(len(tail)) - np.repeat(found.starts, found.distinct)
    holds |= place == 0
    reached: IntArray = np.add.reduceat(holds.astype(np.int64), found.starts)
    return int(reached.min())


@metric("least_c", reads="sensitive", low=0, safer="lower", merging="never higher", doubling="same")
def least_c(counts: ClassCounts, column: str, *, l: int = 2) -> float:  # noqa: E741 - the field's letter
    """The bound on c for recursive (c,l)-diversity: it holds exactly for all larger c (l = 1 asks for nothing: 0).

    >>> from shoal.model.counts.classes import SensitiveCounts
    >>> t = ClassCounts((10,), sensitive={"d": SensitiveCounts.from_dense("d", [[8, 1, 1]])})
    >>> least_c(t, "d"), least_c(t, "d", l=3), least_c(t, "d", l=4)
    (4.0, 8.0, inf)
    """
    if l < 1:
        raise UsageError(f"l must be at least 1; found {l}.", hint="Use l=2 or more for recursive diversity.")
    if l == 1:
        return 0.0
    found = profile(counts, column)
    if int(found.distinct.min()) < l:
        return math.inf
    tail = _tails(found.descending, found.starts, found.totals, found.distinct)[found.starts + l - 1]
    return float((found.largest / tail).max())


def is_recursive_diverse(counts: ClassCounts, column: str, *, c: float, l: int) -> bool:  # noqa: E741
    """Whether every class is recursively (c,l)-diverse; the inequality is strict and decided without rounding.

    >>> from shoal.model.counts.classes import SensitiveCounts
    >>> t = ClassCounts((10,), sensitive={"d": SensitiveCounts.from_dense("d", [[5, 5]])})
    >>> is_recursive_diverse(t, "d", c=1, l=2), is_recursive_diverse(t, "d", c=1.1, l=2)
    (False, True)
    """
    return l <= recursive_diversity(counts, column, c=c)


@metric("alpha", reads="sensitive", low=0, high=1, safer="lower", merging="never higher", doubling="same")
def alpha(counts: ClassCounts, column: str) -> float:
    """Largest share of one sensitive value inside a class.

    >>> from shoal.model.counts.classes import SensitiveCounts
    >>> c = ClassCounts((4, 4), sensitive={"d": SensitiveCounts.from_dense("d", [[2, 1, 1], [3, 1, 0]])})
    >>> alpha(c, "d")
    0.75
    """
    found = profile(counts, column)
    return float((found.largest / found.totals).max())


def _ratio(value: float) -> Fraction:
    """The number as written: 0.3 is three tenths, not its nearest float."""
    if not math.isfinite(value) or value < 0:
        raise UsageError(f"the bound must be a number of at least 0; found {value}.", hint="Use for example 3 or 0.5.")
    return Fraction(str(value))


def _times(counts: IntArray, factor: int) -> IntArray:
    """Whole-number products without overflow: Python's integers where 64 bits are not enough."""
    small = factor * int(counts.max()) < 2**63
    return counts * factor if small else counts.astype(object) * factor


def _tails(descending: IntArray, starts: IntArray, totals: IntArray, distinct: IntArray) -> IntArray:
    """For each entry in descending order, the sum of it and all smaller counts of its class."""
    running = np.cumsum(descending)
    before = running - descending
    out: IntArray = np.repeat(totals + before[starts], distinct) - before
    return out
