"""The best last cut before one end, by each cost of a group, and the sums that costs are made of.

Each ``best_…`` looks at the cuts a..b before the end ``row``, writes the least sum into ``best[row]`` and returns the cut that it
comes from, of equal ones the first. Sums are kept around a number near by (:func:`local_sums`).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shoal.kernels.jit import njit

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


@njit
def _two_sum(a: float, b: float) -> tuple[float, float]:
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


@njit
def _two_product(a: float, b: float) -> tuple[float, float]:
    p = a * b
    ta = 134217729.0 * a
    ah = ta - (ta - a)
    al = a - ah
    tb = 134217729.0 * b
    bh = tb - (tb - b)
    bl = b - bh
    return p, ((ah * bh - p) + ah * bl + al * bh) + al * bl


@njit
def _sse_exact(j: int, e: int, weight: float, s1: FloatArray, r1: FloatArray, s2: FloatArray, r2: FloatArray) -> float:
    """Σx² − (Σx)²/w from sums in twice the precision."""
    a, ar = _two_sum(s1[e], -s1[j])
    ar += r1[e] - r1[j]
    a, ar = _two_sum(a, ar)
    q, qr = _two_sum(s2[e], -s2[j])
    qr += r2[e] - r2[j]
    m = a / weight  # (Σx)²/w = a·m + a·(a − m·w)/w + 2·a·ar/w
    p, pr = _two_product(m, weight)
    rest = ((a - p) - pr + 2.0 * ar) / weight
    t, tr = _two_product(a, m)
    u, ur = _two_sum(q, -t)
    return float(max(u + (ur + qr - tr - a * rest), 0.0))


@njit
def _median_cost(j: int, e: int, x: FloatArray, w: IntArray, s1: FloatArray, centre: float, start: int) -> float:
    """Σ w|x − median| of x[j..e)."""
    half = w[j] + (w[e] - w[j] + 1) // 2
    if w[e] - w[j] == e - j:
        m = j + (e - j + 1) // 2
    else:
        a, b = j + 1, e
        while a < b:
            m = (a + b) // 2
            if w[m] >= half:
                b = m
            else:
                a = m + 1
        m = a
    median = x[m - 1] - centre
    left = median * (w[m] - w[j]) - (s1[m - start] - s1[j - start])
    right = (s1[e - start] - s1[m - start]) - median * (w[e] - w[m])
    return float(max(left + right, 0.0))


@njit
def best_sse(row: int, a: int, b: int, best: FloatArray, w: IntArray, s1: FloatArray, s2: FloatArray, start: int) -> int:
    """The cut j in a..b that ends in the least sum for ``row``, squares around the mean."""
    e1, e2, ew = s1[row - start], s2[row - start], float(w[row])
    found, where = np.inf, b
    for j in range(a, b + 1):
        s = e1 - s1[j - start]
        v = (e2 - s2[j - start]) - s * s / (ew - w[j])
        c = best[j] + (v if v > 0.0 else 0.0)
        if c < found:
            found, where = c, j
    best[row] = found
    return where


@njit
def best_sse_exact(
    row: int,
    a: int,
    b: int,
    best: FloatArray,
    w: IntArray,
    s1: FloatArray,
    r1: FloatArray,
    s2: FloatArray,
    r2: FloatArray,
    start: int,
) -> int:
    found, where = np.inf, b
    for j in range(a, b + 1):
        if best[j] < found:
            c = best[j] + _sse_exact(j - start, row - start, float(w[row] - w[j]), s1, r1, s2, r2)
            if c < found:
                found, where = c, j
    best[row] = found
    return where


@njit
def best_median(
    row: int, a: int, b: int, best: FloatArray, x: FloatArray, w: IntArray, s1: FloatArray, centre: float, start: int
) -> int:
    found, where = np.inf, b
    for j in range(a, b + 1):
        if best[j] < found:
            c = best[j] + _median_cost(j, row, x, w, s1, centre, start)
            if c < found:
                found, where = c, j
    best[row] = found
    return where


@njit
def best_cellular(row: int, a: int, b: int, best: FloatArray, x: FloatArray, w: IntArray) -> int:
    found, where = np.inf, b
    for j in range(a, b + 1):
        c = best[j] + 0.5 * (x[row - 1] - x[j]) * (w[row] - w[j])
        if c < found:
            found, where = c, j
    best[row] = found
    return where


@njit
def best_rank(row: int, a: int, b: int, best: FloatArray, w: IntArray) -> int:
    found, where = np.inf, b
    for j in range(a, b + 1):
        size = w[row] - w[j]
        c = best[j] + float((size * size) // 4)
        if c < found:
            found, where = c, j
    best[row] = found
    return where


@njit
def local_sums(
    x: FloatArray, w: IntArray, start: int, end: int, exact: bool, s1: FloatArray, r1: FloatArray, s2: FloatArray, r2: FloatArray
) -> float:
    """Sums of w(x−c) and w(x−c)² from ``start``, c in the middle; returns c."""
    centre = float(x[(start + end) // 2])
    s1[0] = r1[0] = s2[0] = r2[0] = 0.0
    for i in range(start, end):
        weight = float(w[i + 1] - w[i])
        d = x[i] - centre
        p = i - start
        if not exact:
            s1[p + 1] = s1[p] + weight * d
            s2[p + 1] = s2[p] + weight * d * d
            continue
        dd, dr = _two_sum(x[i], -centre)
        a, ar = _two_product(weight, dd)
        ar += weight * dr
        b, br = _two_product(a, dd)
        br += a * dr + ar * dd
        t, tr = _two_sum(s1[p], a)
        s1[p + 1], r1[p + 1] = _two_sum(t, tr + ar + r1[p])
        t, tr = _two_sum(s2[p], b)
        s2[p + 1], r2[p + 1] = _two_sum(t, tr + br + r2[p])
    return centre
