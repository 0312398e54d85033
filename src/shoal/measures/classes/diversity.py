"""What does a class tell about the sensitive value? Distinct, entropy and recursive diversity, and the surest guess α.

Takes    ClassCounts with counts of a sensitive column (a missing sensitive value is an ordinary value)
Keeps    1 ≤ entropy l ≤ distinct l ≤ number of values; recursive (c,l) is strict
Source   METHODS §19, §22 (2a, 2b)
Differs  entropy uses shares inside the class; the integer form adds the tolerance before the floor, else 2 becomes 1

The sensitive values inside the classes, laid out once for every diversity and closeness metric.

The counts of a sensitive column are a sparse classes × values matrix. ``p`` is a value's share inside its class, ``q`` its
share in the whole table; both are kept per entry (class, value), so no metric ever builds the dense matrix.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from shoal.errors import InternalError, UsageError, missing_column
from shoal.kernels.arrow import to_numpy
from shoal.kernels.text import canonical_text
from shoal.measures.metrics import metric
from shoal.model.compare import slack
from shoal.model.counts.classes import ClassCounts, FloatArray, IntArray, SensitiveCounts


class SensitiveProfile:
    """Entries (class, value, count) of one sensitive column with shares inside class and table.

    >>> c = ClassCounts((4, 4), sensitive={"d": SensitiveCounts.from_dense("d", [[2, 1, 1], [4, 0, 0]])})
    >>> s = profile(c, "d")
    >>> s.distinct.tolist(), s.largest.tolist(), s.p.tolist()
    ([3, 1], [2, 4], [0.5, 0.25, 0.25, 1.0])
    """

    def __init__(self, n_classes: int, sensitive: SensitiveCounts) -> None:
        self.sensitive = sensitive
        self.classes = sensitive.classes
        self.counts = sensitive.counts
        self.n_classes = n_classes
        bounds = np.searchsorted(self.classes, np.arange(n_classes + 1))
        self.starts: IntArray = bounds[:-1].astype(np.int64)
        self.distinct: IntArray = np.diff(bounds).astype(np.int64)
        if not len(self.counts) or int(self.distinct.min()) == 0:
            raise InternalError(f"sensitive counts of '{sensitive.column}' lack a class.")

    @cached_property
    def totals(self) -> IntArray:
        """Sum of the counts in each class (its size, or more where a person has several values)."""
        return np.asarray(np.add.reduceat(self.counts, self.starts))

    @cached_property
    def largest(self) -> IntArray:
        """Count of the most frequent value in each class."""
        return np.asarray(np.maximum.reduceat(self.counts, self.starts))

    @cached_property
    def ranks(self) -> IntArray:
        """For each entry, the position of its value among the table's values in their natural order; missing first."""
        return self._order[self.sensitive.values.astype(np.int64) + 1]

    @cached_property
    def in_order(self) -> bool:
        """Whether the entries of each class stand in the natural order of their values already."""
        present = self._order[self._order >= 0]
        return bool((np.diff(present) > 0).all())

    @cached_property
    def _order(self) -> IntArray:
        values = self.sensitive.values
        width = int(values.max(initial=-1)) + 2
        present = np.zeros(width, dtype=np.bool_)
        present[values + 1] = True
        key = natural_order(self.sensitive, width)
        rank = np.full(width, -1, dtype=np.int64)
        occurring = np.flatnonzero(present)
        rank[occurring[np.argsort(key[occurring], kind="stable")]] = np.arange(len(occurring))
        return rank

    @cached_property
    def marginal(self) -> IntArray:
        """Table-wide count of each value, by rank."""
        return np.bincount(self.ranks, weights=self.counts).astype(np.int64)

    @property
    def n_values(self) -> int:
        """Distinct values in the table, a missing one included when it occurs."""
        return len(self.marginal)

    @cached_property
    def p(self) -> FloatArray:
        """Share of each entry's value in its class."""
        return np.asarray(self.counts / self.totals[self.classes])

    @cached_property
    def overall(self) -> FloatArray:
        """Share of each value in the table, by rank."""
        return np.asarray(self.marginal / self.marginal.sum())

    @cached_property
    def q(self) -> FloatArray:
        """Share of each entry's value in the table."""
        return self.overall[self.ranks]

    @cached_property
    def entropy(self) -> FloatArray:
        """Shannon entropy inside each class, in nats."""
        logs = self.counts * np.log(self.counts)
        out: FloatArray = np.log(self.totals) - np.add.reduceat(logs, self.starts) / self.totals
        return np.maximum(out, 0.0)

    @cached_property
    def descending(self) -> IntArray:
        """The counts of each class from largest to smallest."""
        return self.counts[np.lexsort((-self.counts, self.classes))]


def natural_order(sensitive: SensitiveCounts, width: int) -> IntArray:
    """A sort key per code + 1: the order given; else numbers and dates by value, text by code point, bare codes as they are."""
    key = np.arange(width, dtype=np.int64)
    if sensitive.categories is not None and sensitive.order and width > 1:
        places = {text: i + 1 for i, text in enumerate(sensitive.order)}
        texts = canonical_text(sensitive.categories).to_pylist()[: width - 1]
        key[1:] = [places.get(text, len(places) + 1) for text in texts]
        return key
    if sensitive.categories is not None and width > 1:
        import pyarrow.compute as pc

        order = to_numpy(pc.sort_indices(sensitive.categories))
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order))
        key[1:] = place[: width - 1] + 1
    return key


def is_ordered(sensitive: SensitiveCounts) -> bool:
    """Whether the values have an order that means something: numbers, dates and times, or an order that was given."""
    if sensitive.categories is None:
        return False
    if sensitive.order:
        return True
    import pyarrow.types as kinds

    kind: Any = sensitive.categories.type
    tests = (kinds.is_integer, kinds.is_floating, kinds.is_decimal, kinds.is_temporal)
    return any(bool(test(kind)) for test in tests)


_CACHE: WeakKeyDictionary[ClassCounts, dict[str, SensitiveProfile]] = WeakKeyDictionary()


def profile(counts: ClassCounts, column: str) -> SensitiveProfile:
    """The profile of a sensitive column, made once per :class:`ClassCounts`."""
    if column not in counts.sensitive:
        raise missing_column(column, tuple(counts.sensitive), table="counts", what="sensitive column")
    made = _CACHE.setdefault(counts, {})
    if column not in made:
        made[column] = SensitiveProfile(counts.n_classes, counts.sensitive[column])
    return made[column]


HELPERS = ("is_ordered", "is_recursive_diverse", "natural_order", "profile", "whole_diversity")


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
    values = profile(counts, column)
    ratio = _ratio(c)
    if int(values.distinct.min()) == 1:  # a class with one value is (c,1)-diverse at most
        return 1
    tail = _tails(values.descending, values.starts, values.totals, values.distinct)
    holds = _times(np.repeat(values.largest, values.distinct), ratio.denominator) < _times(tail, ratio.numerator)
    place = np.arange(len(tail)) - np.repeat(values.starts, values.distinct)
    holds |= place == 0
    reached: IntArray = np.add.reduceat(holds.astype(np.int64), values.starts)
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
    values = profile(counts, column)
    if int(values.distinct.min()) < l:
        return math.inf
    tail = _tails(values.descending, values.starts, values.totals, values.distinct)[values.starts + l - 1]
    return float((values.largest / tail).max())


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
    values = profile(counts, column)
    return float((values.largest / values.totals).max())


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
    return np.asarray(np.repeat(totals + before[starts], distinct) - before)
