"""The cuts on the best way, from the last end back to 0: from the cut before each end, or from jumps in parts."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shoal.kernels.jit import njit

IntArray = npt.NDArray[np.int64]


@njit
def _count_back(before: IntArray) -> int:
    m, e = 0, len(before) - 1
    while e > 0:
        e = before[e]
        m += 1
    return m


@njit
def _walk_back(before: IntArray, cuts: IntArray) -> None:
    e, i = len(before) - 1, len(cuts) - 1
    while i >= 0:
        cuts[i] = e
        e = before[e]
        i -= 1


def bounds(before: IntArray) -> IntArray:
    """Cuts 0 = c_0 < c_1 < … < c_m = n on the best way.

    >>> bounds(np.array([-1, -1, 0, 0, 2])).tolist()
    [0, 2, 4]
    """
    cuts = np.zeros(_count_back(before) + 1, dtype=np.int64)
    _walk_back(before, cuts)
    return cuts


@njit
def _walk_jumps(jumps: IntArray, first: int, end: int, cuts: IntArray) -> tuple[int, int]:
    m = 0
    while end >= first and end > 0:
        end -= jumps[end - first]
        cuts[m] = end
        m += 1
    return m, end


def walk_jumps(jumps: IntArray, first: int, end: int) -> tuple[IntArray, int]:
    """The cuts on the way back from ``end`` as long as it lies in a part that begins at ``first``, and where it goes on.

    >>> walk_jumps(np.array([2, 3, 2]), 2, 4)
    (array([2, 0]), 0)
    """
    cuts = np.zeros(len(jumps), dtype=np.int64)
    m, end = _walk_jumps(jumps, first, end, cuts)
    return cuts[:m].copy(), int(end)
