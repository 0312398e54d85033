"""Rank swapping: pair each rank with another that is not too far away."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.kernels.jit import njit

IntArray = npt.NDArray[np.int64]


def swap_ranks(n: int, window: int, draws: npt.NDArray[np.float64]) -> IntArray:
    """Partner of each rank 0 … n − 1: within ``window`` ranks, each rank in at most one pair, itself where nobody is left."""
    partner, place = np.full(n, -1, np.int64), np.arange(n + 1, dtype=np.int64)
    pair_ranks(partner, place & -place, window, draws)
    return partner


@njit
def pair_ranks(partner: Any, free: Any, window: int, draws: npt.NDArray[np.float64]) -> None:
    """Ranks are taken in ascending order; the partner is drawn from the free ranks above, by ``draws``.

    ``free`` is a Fenwick tree (free ranks among the last (j & -j) up to j, counted from 1), so that the time grows with n·log n
    for any window.
    """
    n = len(partner)
    top = 1
    while 2 * top <= n:
        top *= 2
    for i in range(n):
        if partner[i] >= 0:
            continue
        partner[i] = i
        _take(free, i + 1)
        count, j = 0, min(i + window, n - 1) + 1
        while j > 0:  # all free ranks up to there lie above i
            count += free[j]
            j -= j & -j
        if count == 0:
            continue
        wanted = min(int(draws[i] * count), count - 1) + 1
        place, step = 0, top
        while step > 0:
            if place + step <= n and free[place + step] < wanted:
                place += step
                wanted -= free[place]
            step //= 2
        partner[i], partner[place] = place, i
        _take(free, place + 1)


@njit
def _take(free: Any, place: int) -> None:
    while place < len(free):
        free[place] -= 1
        place += place & -place
