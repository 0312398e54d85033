"""Groups of sorted numbers of weight at least k whose widest is as narrow as possible."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shoal.kernels.jit import njit
from shoal.techniques.kernels.least_cuts import windows

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


@njit
def least_width(x: FloatArray, w: IntArray, k: int) -> IntArray:
    """Cuts whose widest group is as narrow as possible: bisection over widths, each tried in one pass."""
    n = len(x)
    _, high = windows(w, k)
    before = np.full(n + 1, -1, np.int64)
    lower, upper = 0.0, x[n - 1] - x[0]
    if not _reachable(x, high, lower, before):
        while True:
            middle = lower + (upper - lower) / 2
            if middle <= lower or middle >= upper:
                break
            if _reachable(x, high, middle, before):
                upper = _widest(x, before)  # the width that was really used: bisection ends after few steps
            else:
                lower = middle
        _reachable(x, high, upper, before)
    return before


@njit
def _reachable(x: FloatArray, high: IntArray, width: float, before: IntArray) -> bool:
    """Whether groups of weight ≥ k and width ≤ ``width`` cover everything; fills ``before``."""
    n = len(x)
    for e in range(n + 1):
        before[e] = -1
    latest, seen = 0, 0  # the last cut ≤ high[e] that can be reached
    for e in range(1, n + 1):
        if high[e] < 0:
            continue
        while seen < high[e]:
            seen += 1
            if before[seen] >= 0:
                latest = seen
        if x[e - 1] - x[latest] <= width:
            before[e] = latest
    return bool(before[n] >= 0)


@njit
def _widest(x: FloatArray, before: IntArray) -> float:
    e = len(x)
    out = 0.0
    while e > 0:
        j = before[e]
        out = max(out, x[e - 1] - x[j])
        e = j
    return out
