"""What did grouping cost? Losses that need only the classes: discernibility, average class size, classification metric, SSE.

Takes    ClassCounts of the published table (and a sensitive column, or numbers before and after)
Keeps    all are 0 or smallest for the finest table; merging classes never lowers discernibility
Source   METHODS §20, §22 (2d); Bayardo & Agrawal 2005; LeFevre et al. 2006; Iyengar 2002
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shoal.errors import DataError, UsageError
from shoal.measures.classes.diversity import profile
from shoal.measures.metrics import metric
from shoal.model.counts.classes import ClassCounts

HELPERS = ("sum_of_squares", "relative_sum_of_squares")


@metric("discernibility", reads="classes", low=1, safer="neither", merging="never lower", doubling="free")
def discernibility(counts: ClassCounts, *, suppressed: int = 0) -> int:
    """Sum of squared class sizes, and the whole table for each suppressed record.

    >>> discernibility(ClassCounts((2, 4))), discernibility(ClassCounts((2, 4)), suppressed=1)
    (20, 27)
    """
    squares = sum(int(s) * int(n) * int(s) for s, n in zip(*np.unique(counts.sizes, return_counts=True), strict=True))
    return squares + suppressed * (counts.n_members + suppressed)


@metric("average_class_size", reads="classes", low=0, safer="neither", merging="never lower", doubling="doubles")
def average_class_size(counts: ClassCounts, *, k: int = 1) -> float:
    """Members per class, over the k that was asked for.

    >>> average_class_size(ClassCounts((2, 4)), k=2)
    1.5
    """
    if k < 1:
        raise UsageError(f"k must be at least 1; found {k}.", hint="Pass the k that was asked for.")
    return counts.n_members / (counts.n_classes * k)


@metric("classification_metric", reads="sensitive", low=0, high=1, safer="neither", merging="never lower", doubling="same")
def classification_metric(counts: ClassCounts, column: str, *, suppressed: int = 0) -> float:
    """Share of records outside the majority of their class; a suppressed record counts as an error.

    >>> from shoal.model.counts.classes import SensitiveCounts
    >>> s = SensitiveCounts.from_dense("d", [[2, 1, 1], [3, 1, 0], [1, 1, 2]])
    >>> round(classification_metric(ClassCounts((4, 4, 4), sensitive={"d": s}), "d"), 7)
    0.4166667
    """
    values = profile(counts, column)
    total = int(values.totals.sum())
    return (total - int(values.largest.sum()) + suppressed) / (total + suppressed)


def sum_of_squares(before: npt.ArrayLike, after: npt.ArrayLike) -> float:
    """SSE: squared differences between original and published numbers.

    >>> sum_of_squares([1.0, 2.0], [1.5, 1.5])
    0.5
    """
    a, b = _numbers(before), _numbers(after)
    if a.shape != b.shape:
        raise UsageError("numbers before and after are not equally many.", hint="Pass the same records in the same order.")
    return float(((a - b) ** 2).sum())


def relative_sum_of_squares(before: npt.ArrayLike, after: npt.ArrayLike) -> float:
    """SSE over SST: share of the original spread that is lost; 0 where there was no spread and none was made.

    >>> relative_sum_of_squares([1.0, 3.0], [2.0, 2.0])
    1.0
    """
    a = _numbers(before)
    lost = sum_of_squares(before, after)
    spread = float(((a - a.mean(axis=0)) ** 2).sum())
    if spread == 0.0 and lost > 0.0:
        raise DataError("the original numbers are all alike, so a relative loss is not defined.", hint="Use sum_of_squares.")
    return lost / spread if spread else 0.0


def _numbers(values: npt.ArrayLike) -> npt.NDArray[np.float64]:
    array = np.asarray(values, dtype=np.float64)
    if array.size == 0 or not bool(np.isfinite(array).all()):
        raise DataError("the numbers are missing or not finite.", hint="Leave out missing records on both sides first.")
    return array
