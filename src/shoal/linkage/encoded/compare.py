"""Which filters of two files are of one person: every pair is compared, so that nothing has to be told for finding pairs.

Takes    filters (record, salt, bit) of one or two holders
Returns  :class:`Encountered`: pairs whose Dice similarity, under the salt that fits best, reaches a limit
Cost     records x records x bits for each salt, as products of matrices; 16 MB at a time
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.errors import DataError, UsageError
from shoal.linkage.pairs import Pairs, one_to_one

if TYPE_CHECKING:
    from numpy.typing import NDArray

MATCH, POSSIBLE = 0.75, 0.6
"""Dice similarities from which two filters are of one person, or may be."""

_CELLS = 1 << 22


@dataclass(frozen=True, eq=False)
class Encountered(Pairs):
    """The pairs of encoded records that match or may match; ``dice`` is their similarity."""

    size_: int
    split: int | None
    left: NDArray[np.int64] = field(repr=False)
    right: NDArray[np.int64] = field(repr=False)
    dice: NDArray[np.float64] = field(repr=False)
    decision: NDArray[np.str_] = field(repr=False)

    @property
    def size(self) -> int:
        return self.size_

    def to_json(self) -> dict[str, Any]:
        return {"records": self.size, "matches": self.matches, "possible": self.possible}


def compare(
    left: NDArray[np.bool_],
    right: NDArray[np.bool_] | None = None,
    *,
    match: float = MATCH,
    possible: float = POSSIBLE,
    only_once: bool = False,
) -> Encountered:
    """The pairs of two files of filters, or within one; ``only_once`` where nobody is twice in the same file."""
    if not 0 < possible <= match <= 1:
        raise UsageError("the limits are similarities up to 1, the possible one not above the other.", hint="Say 0.6 and 0.75.")
    if only_once and right is None:
        raise UsageError("one to one is for two files.", hint="Name a second one.")
    other = left if right is None else right
    if not len(left) or not len(other) or (right is None and len(left) < 2):
        raise DataError("there are no two records to compare.")
    places, found = _similar(left, other, possible, within=right is None)
    order = np.lexsort((places[1], places[0]))
    one, two, dice = places[0][order], places[1][order], found[order]
    split = None if right is None else len(left)
    two = two if split is None else two + split
    decision = np.where(dice >= float(np.float32(match)), "match", "possible")
    if only_once:
        decision = one_to_one(one, two, dice, decision)
    return Encountered(len(left) + (0 if split is None else len(other)), split, one, two, dice, decision)


def _similar(left: Any, right: Any, least: float, *, within: bool) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Places and similarity of the pairs that reach ``least`` under some salt."""
    ways = left.shape[1]
    sums = [[side[:, way].sum(axis=1, dtype=np.float32) for side in (left, right)] for way in range(ways)]
    theirs = [np.ascontiguousarray(right[:, way].T, dtype=np.float32) for way in range(ways)]
    step = max(1, _CELLS // len(right))
    places, values = [np.empty((2, 0), dtype=np.int64)], [np.empty(0)]
    for start in range(0, len(left), step):
        best = np.zeros((min(step, len(left) - start), len(right)), dtype=np.float32)
        for way in range(ways):
            common = left[start : start + step, way].astype(np.float32) @ theirs[way]
            both = sums[way][0][start : start + step, None] + sums[way][1][None, :]
            np.maximum(best, 2 * common / np.maximum(both, 1), out=best)
        near = best >= np.float32(least)
        if within:
            near &= np.arange(len(right))[None, :] > np.arange(start, start + len(best))[:, None]
        one, two = np.nonzero(near)
        places.append(np.stack([one + start, two]))
        values.append(best[near].astype(np.float64))
    return np.concatenate(places, axis=1), np.concatenate(values)
