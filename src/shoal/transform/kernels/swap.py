"""Rank swapping: pair each rank with another that is not too far away."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shoal.kernels.jit import njit

IntArray = npt.NDArray[np.int64]


@njit
def swap_ranks(n: int, window: int, draws: npt.NDArray[np.float64]) -> IntArray:
    """Partner of each rank: within ``window`` ranks, each rank in at most one pair; itself where nobody is left.

    Ranks are taken in ascending order; the partner is drawn from the free ranks above, by ``draws`` (uniform, one per rank).
    """
    partner = np.full(n, -1, np.int64)
    free = np.empty(window, np.int64)
    for i in range(n):
        if partner[i] >= 0:
            continue
        count = 0
        for j in range(i + 1, min(i + window, n - 1) + 1):
            if partner[j] < 0:
                free[count] = j
                count += 1
        if count == 0:
            partner[i] = i
            continue
        j = free[min(int(draws[i] * count), count - 1)]
        partner[i] = j
        partner[j] = i
    return partner
