"""Entropy and κ of class sizes, κ of whole numbers in bands, and uniqueness by group size: figures 4.3 and 4.4 of source 000."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.kernels.group import group_codes, sum_by
from shoal.model.counts.classes import ClassCounts, IntArray
from shoal.prediction import Distribution, uniqueness
from shoal.prediction.group.uniqueness import recursion

WIDTHS = (1, 2, 5, 10, 20)
MOST_BANDS = 10_000_000
POINTS = 12
"""Group sizes at which uniqueness is computed, from 2 to twice the size asked for; that one itself besides."""

FEW_CELLS, FEW_PEOPLE = 60_000, 200
"""Up to so many, all group sizes at once take less time than one after the other."""


def bits(sizes: IntArray) -> float:
    n = int(sizes.sum())
    return max(0.0, math.log2(n) - float((sizes * np.log2(sizes)).sum()) / n)


def kappa_of(entropy: float, cells: int) -> float:
    """KL distance from the uniform distribution over ``cells``, in nats."""
    return max(0.0, math.log(cells) - entropy * math.log(2))


def bands_of(counts: ClassCounts) -> dict[int, float]:
    """κ of the only column at each width of a band, over all bands from the lowest to the highest number; whole numbers only."""
    everybody = np.zeros(counts.n_classes, np.int64)
    return {width: found[0] for width, found in _banded(counts.categories[0], counts.codes[0], everybody, counts.sizes).items()}


def bands_by_group(counts: ClassCounts, column: str, by: str, most: int) -> dict[int, tuple[float, ...]]:
    """κ of a column at each width within each subpopulation (of the first ``most``), by the lowest κ of the narrowest band first.

    The bands are those of the whole table, so that subpopulations can be compared; a subpopulation without a number is left out.
    """
    place, of = counts.column(column), counts.codes[counts.column(by)]
    grouping = group_codes([counts.codes[place], of])
    sizes = sum_by(grouping.ids, counts.sizes, grouping.n)
    codes, group = counts.codes[place][grouping.first], np.unique(of[grouping.first], return_inverse=True)[1]
    here = group < most
    found = _banded(counts.categories[place], codes[here], group[here], sizes[here])
    if not found:
        return {}
    order = np.argsort(next(iter(found.values())), kind="stable")
    return {width: tuple(kappas[i] for i in order) for width, kappas in found.items()}


def _banded(values: Any, codes: npt.NDArray[Any], group: npt.NDArray[Any], sizes: IntArray) -> dict[int, list[float]]:
    """For each width κ of each group, in their order; rows without a value are left out."""
    import pyarrow as pa

    if not pa.types.is_integer(values.type) or len(values) < 2:
        return {}
    here, numbers = codes >= 0, values.to_numpy(zero_copy_only=False).astype(np.int64)
    lowest, highest = int(numbers.min()), int(numbers.max())
    out = {}
    for width in WIDTHS:
        first = lowest // width
        cells = highest // width - first + 1
        if cells < 2 or cells > MOST_BANDS:
            continue
        keys, at = np.unique(group[here] * cells + (numbers // width - first)[codes[here]], return_inverse=True)
        people = np.bincount(at, weights=sizes[here]).astype(np.int64)
        parts = np.split(people, np.flatnonzero(np.diff(keys // cells)) + 1)
        out[width] = [kappa_of(bits(part), cells) for part in parts]
    return out


def by_group_size(known: Distribution, group_size: int) -> dict[int, float]:
    """The chance that all people of a group are different, by the size of the group, up to twice the size asked for.

    >>> {n: round(chance, 3) for n, chance in by_group_size(Distribution.uniform(4), 3).items()}
    {2: 0.75, 3: 0.375, 4: 0.094, 5: 0.0, 6: 0.0}
    """
    asked = {group_size, *np.rint(np.linspace(2, 2 * group_size, POINTS)).astype(int).tolist()}
    if known.occupied <= FEW_CELLS and group_size <= FEW_PEOPLE:
        chances = recursion(known, 2 * group_size)  # all sizes in one pass
        return {n: float(chances[n]) for n in sorted(asked)}
    return {n: float(uniqueness(known, n).value) for n in sorted(asked)}
