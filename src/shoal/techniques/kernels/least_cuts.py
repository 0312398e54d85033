"""Best cut of sorted numbers into groups of weight at least k: one pass of least-weight subsequences.

``best(0) = 0``, ``best(e) = min_j best(j) + cost(j, e)`` over the cuts j before e that leave a group x[j..e) of weight ≥ k.
A group that could be cut into two of weight ≥ k never costs less than the two, so only j in a short window matter: with
unit weights e−2k+1 ≤ j ≤ e−k.

All costs here satisfy the quadrangle inequality cost(a,c) + cost(b,d) ≤ cost(a,d) + cost(b,c) for a ≤ b < c ≤ d, so the
best j does not fall when e rises. A block of ends whose windows lie wholly before the block is solved together: the middle
row first, then halves (monotone minima). That takes O(n log k) evaluations, O(n·k) only where k is small and the plain scan is
faster. Sums are kept per block around a value inside it, so that far-away numbers cannot drown small differences;
``exact`` keeps them in twice the precision.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shoal.kernels.jit import njit


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
def _sse(j: int, e: int, weight: float, s1: FloatArray, s2: FloatArray) -> float:
    """Σx² − (Σx)²/w from plain sums."""
    s = s1[e] - s1[j]
    return float(max((s2[e] - s2[j]) - s * s / weight, 0.0))


@njit
def best_cut(
    row: int, a: int, b: int, best: FloatArray, x: FloatArray, w: IntArray, kind: int, exact: bool, centre: float, start: int,
    s1: FloatArray, r1: FloatArray, s2: FloatArray, r2: FloatArray,
) -> int:  # fmt: skip
    """The cut j in a..b that ends in the least sum for ``row``; the sums of the block begin at ``start``."""
    best_cost, where = np.inf, b
    for j in range(a, b + 1):
        if best[j] >= best_cost:  # no cost is negative
            continue
        size = w[row] - w[j]
        if kind == 0 and exact:
            cost = _sse_exact(j - start, row - start, float(size), s1, r1, s2, r2)
        elif kind == 0:
            cost = _sse(j - start, row - start, float(size), s1, s2)
        elif kind == 1:
            cost = _median_cost(j, row, x, w, s1, centre, start)
        elif kind == 2:
            cost = 0.5 * (x[row - 1] - x[j]) * size
        else:
            cost = float((size * size) // 4)
        if best[j] + cost < best_cost:
            best_cost, where = best[j] + cost, j
    best[row] = best_cost
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


FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

SSE, MEDIAN, CELLULAR, RANK = 0, 1, 2, 3
SCAN_LIMIT = 8.0
"""Mean width of a window up to which it is scanned rather than searched by halves."""


@njit
def windows(w: IntArray, k: int) -> tuple[IntArray, IntArray]:
    """First and last useful cut before each end; last = −1 where no group of weight k fits. ``w``: cumulated weights."""
    n = len(w) - 1
    low = np.zeros(n + 1, np.int64)
    high = np.full(n + 1, -1, np.int64)
    j = -1
    for e in range(1, n + 1):
        while j + 1 < e and w[e] - w[j + 1] >= k:
            j += 1
        high[e] = j
        if j >= 0:
            low[e] = high[j] + 1  # high[j] is −1 where nothing fits before j
    return low, high


def least_sum(x: FloatArray, w: IntArray, k: int, kind: int, exact: bool, scan_limit: float) -> tuple[IntArray, float]:
    """The cut before each end on the best way there, and a bound on how much rounding can have cost.

    ``x`` rises; ``w`` are cumulated whole weights (w[0] = 0, w[n] ≥ k). Follow ``before[n]``, ``before[before[n]]``, … to 0.
    """
    low, high = windows(w, k)
    best = np.full(len(x) + 1, np.inf)
    best[0] = 0.0
    before = np.full(len(x) + 1, -1, np.int64)
    return before, float(solve_blocks(x, w, low, high, best, before, kind, exact, scan_limit))


@njit
def solve_blocks(
    x: FloatArray,
    w: IntArray,
    low: IntArray,
    high: IntArray,
    best: FloatArray,
    before: IntArray,
    kind: int,
    exact: bool,
    scan_limit: float,
) -> float:
    """Fill ``best`` and ``before``, block by block; a bound on what rounding can have cost."""
    n, rounding = len(x), 0.0
    first = 1
    while first <= n and high[first] < 0:  # the first end before which a group fits
        first += 1
    size = 64
    s1, r1, s2, r2 = np.zeros(size), np.zeros(size), np.zeros(size), np.zeros(size)
    while first <= n:
        last = first  # ends first..last have all their cuts before `first`
        while last < n and high[last + 1] < first:
            last += 1
        start = low[first]
        if last - start + 1 > size:
            size = 2 * (last - start + 1)
            s1, r1, s2, r2 = np.zeros(size), np.zeros(size), np.zeros(size), np.zeros(size)
        centre = 0.0
        if kind < 2:
            centre = local_sums(x, w, start, last, exact, s1, r1, s2, r2)
            rounding += 1e-15 * (s2[last - start] if kind == 0 else 0.0)
        rows = last - first + 1
        step = 1
        while 2 * step <= rows:
            step *= 2
        if high[last] - low[last] + 1 <= scan_limit:
            step = 0
        # halves: rows at odd multiples of `step`, between the answers of their neighbours; step 0: every row by itself
        while True:
            row = first + (step - 1 if step else 0)
            while row <= last:
                a, b = low[row], high[row]
                if step:
                    if row - step >= first and before[row - step] > a:
                        a = before[row - step]
                    if row + step <= last and before[row + step] < b and before[row + step] >= 0:
                        b = before[row + step]
                before[row] = best_cut(row, a, b, best, x, w, kind, exact, centre, start, s1, r1, s2, r2)
                row += 2 * step if step else 1
            if step <= 1:
                break
            step //= 2
        first = last + 1
    return rounding


def total_cost(x: FloatArray, w: IntArray, cuts: IntArray, kind: str) -> float:
    """The cost of given cuts by its definition, two passes per group."""
    weights = np.diff(w).astype(np.float64)
    starts, ends = cuts[:-1], cuts[1:]
    group = np.repeat(np.arange(len(starts)), np.diff(cuts))
    size = (w[ends] - w[starts]).astype(np.float64)
    if kind == "sse":
        centre = x[starts]  # shift first: means of numbers far from zero keep their digits
        shifted = x - centre[group]
        mean = np.bincount(group, weights * shifted) / size
        return float(np.sum(weights * (shifted - mean[group]) ** 2))
    if kind == "median":
        half = w[starts] + (w[ends] - w[starts] + 1) // 2
        median = x[np.searchsorted(w, half) - 1]
        return float(np.sum(weights * np.abs(x - median[group])))
    width = x[ends - 1] - x[starts]
    if kind == "center":
        return float(width.max() / 2)
    if kind == "cellular":
        return float(np.sum(width / 2 * size))
    return float(((w[ends] - w[starts]) ** 2 // 4).sum())


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


def bounds(before: IntArray) -> IntArray:
    """Cuts 0 = c_0 < c_1 < … < c_m = n on the best way.

    >>> bounds(np.array([-1, -1, 0, 0, 2])).tolist()
    [0, 2, 4]
    """
    way, steps = [len(before) - 1], before.tolist()
    while way[-1] > 0:
        way.append(steps[way[-1]])
    return np.array(way[::-1], dtype=np.int64)
