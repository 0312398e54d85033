"""The sensitive values inside the classes, laid out once for every diversity and closeness metric.

The counts of a sensitive column are a sparse classes × values matrix. ``p`` is a value's share inside its class, ``q`` its
share in the whole table; both are kept per entry (class, value), so no metric ever builds the dense matrix.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from shoal.errors import InternalError, missing_column
from shoal.kernels.arrow import to_numpy
from shoal.kernels.text import canonical_text
from shoal.model.counts.classes import MISSING, ClassCounts, FloatArray, IntArray, SensitiveCounts


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
        out: IntArray = np.add.reduceat(self.counts, self.starts)
        return out

    @cached_property
    def largest(self) -> IntArray:
        """Count of the most frequent value in each class."""
        out: IntArray = np.maximum.reduceat(self.counts, self.starts)
        return out

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
        out: FloatArray = self.counts / self.totals[self.classes]
        return out

    @cached_property
    def overall(self) -> FloatArray:
        """Share of each value in the table, by rank."""
        out: FloatArray = self.marginal / self.marginal.sum()
        return out

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


__all__ = ["MISSING", "SensitiveProfile", "is_ordered", "natural_order", "profile"]
