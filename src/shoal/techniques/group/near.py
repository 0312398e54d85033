"""Groups of near records, by MDAV or V-MDAV, what is published of them, and the blocks that very many records are cut into.

Takes    numbers, one row per column; k
Returns  a group number per record; each record's group mean or median
Keeps    groups of at least k; the same to the last tie whether records are compared one by one or searched in a tree

MDAV of one column sorts: the farthest records are at the two ends, and the k nearest of an end are the k next to it. There are
groups of k from both ends in turn, as long as 3k records are left; then one of k at the end that is farther from the mean of the
rest, if 2k are left; the rest is one group. Of equal numbers, the first are nearer to the low end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal.kernels.jit import HAVE_NUMBA

MANY_PAIRS = 2e8
"""Distances, n²/k, beyond which near records are searched in a tree, where numba compiles it: the same groups."""

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


def near_groups(values: FloatArray, k: int, *, method: str = "mdav", gamma: float = 0.2) -> IntArray:
    """Group number of each record; ``values`` has one row per column. Columns are standardised.

    >>> near_groups(np.array([[1.0, 2.0, 10.0, 11.0]]), 2).tolist()
    [0, 0, 1, 1]
    """
    sorts = method == "mdav" and len(values) == 1
    return groups_of(values if sorts else standardised(values), k, method, gamma)


def groups_of(points: FloatArray, k: int, method: str, gamma: float) -> IntArray:
    """Group number of each record, of columns that are standardised; MDAV overwrites ``points``."""
    if method == "mdav" and len(points) == 1:
        return _sorted_groups(points[0], k)
    if method == "mdav":
        return _mdav(points, k)
    from shoal.techniques.kernels.mdav import v_mdav

    plain = _mdav(points.copy(), k)
    groups = np.asarray(v_mdav(points.copy(), k, gamma))
    for large in np.flatnonzero(np.bincount(groups) >= 2 * k):  # the last few records joined it: in two it loses less
        members = np.flatnonzero(groups == large)
        parts = _mdav(np.ascontiguousarray(points[:, members]), k)
        groups[members] = np.where(parts == 0, large, groups.max() + parts)
    groups = np.unique(groups, return_inverse=True)[1]
    return plain if _loss(points, plain) < _loss(points, groups) else groups


def _mdav(points: FloatArray, k: int) -> IntArray:
    """MDAV's groups; ``points`` is overwritten."""
    from shoal.techniques.kernels import mdav, mdav_tree

    n = points.shape[1]
    return np.asarray((mdav if not HAVE_NUMBA or n * n / k <= MANY_PAIRS else mdav_tree).mdav(points, k))


def _sorted_groups(x: FloatArray, k: int) -> IntArray:
    """MDAV's groups of one column; number 0 is the one that it forms first."""
    order = np.argsort(x, kind="stable")
    cuts = end_groups(x[order], k)
    names = np.arange(len(cuts) - 1)
    out = np.empty(len(x), dtype=np.int64)
    out[order] = np.repeat(names[::-1] if ends_high(x[order]) else names, np.diff(cuts))
    return out


def standardised(values: FloatArray) -> FloatArray:
    """Mean 0 and deviation 1 in each row; a constant row becomes 0. Scaled first by a power of two: squares stay finite."""
    values, _ = scaled(values)
    centred = values - values.mean(axis=1, keepdims=True)
    deviation = centred.std(axis=1, keepdims=True)
    return np.asarray(np.divide(centred, deviation, out=np.zeros_like(centred), where=deviation > 0))


def scaled(values: FloatArray) -> tuple[FloatArray, IntArray]:
    """Each row divided by the power of two 2^e that brings its largest number below 1, and e: exact but for denormals."""
    exponent = np.frexp(np.abs(values).max(axis=1, keepdims=True, initial=0.0))[1].astype(np.int64)
    return np.ldexp(values, -exponent), exponent


def lost_share(values: FloatArray, groups: IntArray) -> float:
    """Information loss SSE/SST of standardised columns, between 0 and 1."""
    return _loss(standardised(values), groups)


def _loss(points: FloatArray, groups: IntArray) -> float:
    total = float((points**2).sum())
    return float(((points - published(points, groups, "mean")) ** 2).sum()) / total if total else 0.0


def published(values: FloatArray, groups: IntArray, publish: str) -> FloatArray:
    """Each value's group mean or (lower) median."""
    count = np.bincount(groups)
    values, exponent = scaled(values)
    out = np.empty_like(values)
    for i, row in enumerate(values):
        if publish == "mean":
            order = np.argsort(groups, kind="stable")
            start = row[order][np.concatenate([[0], np.cumsum(count)[:-1]])]  # a member: keeps digits of far-away numbers
            centre = start + np.bincount(groups, row - start[groups]) / count
        else:
            order = np.lexsort((row, groups))
            centre = row[order][np.concatenate([[0], np.cumsum(count)[:-1]]) + (count - 1) // 2]
        out[i] = centre[groups]
    return np.ldexp(out, exponent)


def end_groups(x: FloatArray, k: int) -> IntArray:
    """Cuts of MDAV's groups of numbers in increasing order: group i is ``x[cuts[i]:cuts[i + 1]]``.

    >>> end_groups(np.array([1.0, 2.0, 3.0, 10.0, 11.0]), 2).tolist()
    [0, 3, 5]
    """
    n = len(x)
    pairs = max(0, (n - k) // (2 * k))
    low, high = pairs * k, n - pairs * k
    middle = [low, high]
    if high - low >= 2 * k:
        middle.insert(1, high - k if ends_high(x[low:high]) else low + k)
    return np.concatenate([np.arange(0, low, k), middle, np.arange(high + k, n + 1, k)])


def ends_high(x: FloatArray) -> bool:
    """Whether the last of numbers in increasing order is farther from their mean than the first."""
    values = np.ldexp(x, -int(np.frexp(max(abs(x[0]), abs(x[-1])))[1]))  # sums of large numbers stay finite
    mean = values[0] + float((values - values[0]).sum()) / len(x)
    return bool(values[-1] - mean > mean - values[0])


def centred(x: FloatArray, k: int, publish: str) -> FloatArray:
    """Of each number, in any order, the mean or the (lower) median of its group."""
    order = np.argsort(x, kind="stable")
    ranked = x[order]
    cuts = end_groups(ranked, k)
    starts, sizes = cuts[:-1], np.diff(cuts)
    if publish == "median":
        centres = ranked[starts + (sizes - 1) // 2]
    else:
        exponent = int(np.frexp(np.abs(ranked).max())[1])
        values = np.ldexp(ranked, -exponent)
        shift = values[starts]  # a member: keeps digits of far-away numbers
        centres = np.ldexp(shift + np.add.reduceat(values - np.repeat(shift, sizes), starts) / sizes, exponent)
    out = np.empty(len(x))
    out[order] = np.repeat(centres, sizes)
    return out


BLOCK = 1_000_000
"""Numbers of a block at most; after the last cut there are more than half as many."""
AT_ONCE = 1 << 16
"""Records whose sums are made together: sums depend on it, so it is the same in memory and on disk."""


@dataclass(frozen=True)
class Scale:
    """Of each column the power of two that brings its numbers below 1, and then their mean and deviation."""

    exponent: IntArray
    mean: FloatArray
    deviation: FloatArray

    @staticmethod
    def of(parts: Iterable[FloatArray], exponent: IntArray) -> Scale:
        """From records, :data:`AT_ONCE` at a time (Chan, Golub and LeVeque 1979).

        >>> Scale.of([np.array([[0.1, 0.3]]), np.array([[0.5]])], np.array([0])).mean.round(9).tolist()
        [0.3]
        """
        n, mean, squares = 0, np.zeros(len(exponent)), np.zeros(len(exponent))
        for part in parts:
            values = np.ldexp(part, -exponent[:, None])
            more = values.shape[1]
            centre = values.mean(axis=1)
            apart = centre - mean
            squares += ((values - centre[:, None]) ** 2).sum(axis=1) + apart**2 * (n * more / (n + more))
            mean += apart * (more / (n + more))
            n += more
        return Scale(exponent, mean, np.sqrt(squares / n))

    def points(self, values: FloatArray) -> FloatArray:
        """Mean 0 and deviation 1 in all records; a constant column becomes 0."""
        centred = np.ldexp(values, -self.exponent[:, None]) - self.mean[:, None]
        deviation = self.deviation[:, None]
        return np.asarray(np.divide(centred, deviation, out=np.zeros_like(centred), where=deviation > 0))

    def distances(self, values: FloatArray) -> FloatArray:
        """Squared distances from the mean."""
        return np.asarray((self.points(values) ** 2).sum(axis=0))

    def widest(self, parts: Iterable[FloatArray]) -> int:
        """The column of which some of the records differ most; of equal ones the first."""
        here = Scale.of(parts, self.exponent).deviation
        return int(np.argmax(np.divide(here, self.deviation, out=np.zeros_like(here), where=self.deviation > 0)))


def exponents(values: FloatArray) -> IntArray:
    """The power of two, per column, that brings its numbers below 1."""
    return np.asarray(np.frexp(np.abs(values).max(axis=1, initial=0.0))[1], dtype=np.int64)


def is_block(records: int, columns: int, k: int) -> bool:
    """Whether so many records are not cut: they are few, or one half would be fewer than ``k``."""
    return records * columns <= BLOCK or records // 2 < k


def far_records(records: int, columns: int, k: int) -> int:
    """How many of the farthest records are one block: as many as fit, at least ``k``, and at least ``k`` are left."""
    return min(max(BLOCK // columns, k), records - k)


def in_parts(values: FloatArray) -> Iterator[FloatArray]:
    return (values[:, i : i + AT_ONCE] for i in range(0, values.shape[1], AT_ONCE))


def blocks(values: FloatArray, places: IntArray, k: int, scale: Scale) -> Iterator[tuple[FloatArray, IntArray]]:
    """Numbers and places of each block, of records that are not one block."""
    order = np.argsort(scale.distances(values), kind="stable")
    near = len(order) - far_records(len(order), len(values), k)
    yield _in_place(values, places, order[near:])
    yield from cut(values[:, order[:near]], places[order[:near]], k, scale)


def cut(values: FloatArray, places: IntArray, k: int, scale: Scale) -> Iterator[tuple[FloatArray, IntArray]]:
    """Blocks by cuts at the median alone."""
    n = len(places)
    if is_block(n, len(values), k):
        yield _in_place(values, places, np.arange(n))
        return
    order = np.argsort(values[scale.widest(in_parts(values))], kind="stable")
    for half in (order[: n // 2], order[n // 2 :]):
        yield from cut(values[:, half], places[half], k, scale)


def _in_place(values: FloatArray, places: IntArray, some: IntArray) -> tuple[FloatArray, IntArray]:
    some = some[np.argsort(places[some])]
    return values[:, some], places[some]


Block = tuple[FloatArray, IntArray, Scale | None]
"""Numbers of some records, one row per column, their places, and the scale of all records; without one the block has its own."""


@dataclass
class Smallest:
    """The places of the smallest group so far; of equal ones the first."""

    places: IntArray | None = None

    def see(self, at: IntArray, groups: IntArray) -> None:
        sizes = np.bincount(groups)
        if self.places is None or sizes.min() < len(self.places):
            self.places = at[groups == np.argmin(sizes)]
