r"""The probability that all are unique, from published power sums alone.

With cell probabilities p let :math:`\mu=\sum_i p_i\delta_{p_i}`: a probability on :math:`[0,p_{max}]` whose moments are the power
sums :math:`S_{r+1}=\int x^r d\mu`. Up to six people, Newton's identities give :math:`k!\,e_k(p)` itself. Beyond,

.. math:: k!\,e_k(p)=k!\,[z^k]\,e^{K(z)},\qquad K(z)=\int \frac{\ln(1+xz)}{x}\,d\mu(x),

and :math:`\ln(1+xz)/x` is completely monotone in x. So among all :math:`\mu` with the given moments K(z) is smallest and largest,
at every z > 0, at the two principal representations (Chebyshev, Markov, Krein): measures with a handful of points, found by
Gauss quadrature. The answer is evaluated at both, and they are the ends of the interval. Sums that were rounded are allowed to
vary within their rounding; the two extreme measures then come from a linear programme on a grid of points. Up to a group of m
Newton's identities, with the rounding carried through them, correct it.

Takes    S_2 … S_m, the group size; what else is known: the largest cell, the number of cells, the rounding of the sums
Returns  Estimate: exact up to a group of m; else B while the sums leave at most 10 % open and no cell is all but certain to
         be taken, C beyond
Source   METHODS §3.4, §33; Krein & Nudelman 1977, ch. III (principal representations)
Differs  METHODS' truncated saddlepoint is not used: its 3 % does not hold for many equal cells with k p_max above 0.3
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from shoal.errors import UsageError
from shoal.model.estimate import Estimate
from shoal.prediction.distribution import Floats, fraction, log_uniform, whole

_OPEN, _STRAINED, _NEAR = math.log(1.1), 2.0, 1e-3
_AS_EXACT = 1e-7
"""Sums known better than this are taken as exact: the programme could not tell them apart."""


def uniqueness_from_power_sums(
    sums: Sequence[float],
    group_size: int,
    *,
    p_max: float | None = None,
    cells: int | None = None,
    error: float | Sequence[float] = 0.0,
) -> Estimate:
    r"""P(all unique) from power sums :math:`S_2,\dots,S_m`, :math:`S_r=\sum p^r`.

    Parameters
    ----------
    sums : sequence of float
        S_2 first.
    p_max : float, optional
        An upper bound of the largest cell; else :math:`p_{max}\le S_m^{1/m}` is used.
    cells : int, optional
        The number of cells: nothing is likelier than with equal cells.
    error : float or one per sum
        The relative half-width within which each sum is known, when it was rounded.

    Examples
    --------
    >>> s = [95.0 ** (1 - r) for r in range(2, 7)]
    >>> print(uniqueness_from_power_sums(s, group_size=5))
    0.898557 (exact, k! e_k from the power sums)
    >>> e = uniqueness_from_power_sums(s, group_size=20)
    >>> round(e.value, 6), e.grade
    (0.116149, 'B')
    >>> e = uniqueness_from_power_sums(s, group_size=20, error=0.005)
    >>> e.grade, e.low < 0.116149 < e.high
    ('B', True)
    """
    s = np.concatenate(([1.0], np.asarray(list(sums), dtype=np.float64)))
    if s.size == 1 or not bool(np.all(np.isfinite(s))) or bool(np.any(s <= 0)) or bool(np.any(s > 1)):
        raise UsageError("power sums S_2, S_3, … lie above 0 and up to 1.", hint="Give S_2 first.")
    k = whole(group_size, what="group_size")
    loose = _errors(error, s.size - 1)
    _consistent(s, loose)
    largest = _largest(s, p_max, loose)
    top = 0.0 if cells is None else log_uniform(k, whole(cells, what="cells", least=1))
    if k <= 1:
        return Estimate.exact(1.0, method="a group of at most one", log_value=0.0)
    if k <= s.size and not loose.any():
        return newton(s, k)
    if k == 2:
        pair, half = float(s[1]), float(s[1] * loose[0])
        return Estimate(1 - pair, max(0.0, 1 - pair - half), 1 - max(0.0, pair - half), level=1.0, method="1 - S_2", grade="B")
    ends = rounded_extremes(s, loose, largest, k) if loose.max(initial=0.0) > _AS_EXACT else principal(s, largest)
    logs = [log_coefficient(points, k) for points in ends]
    low, high = sorted(min(top, log_value) for log_value, _ in logs)
    strain, name = max(strain for _, strain in logs), f"power sums up to S_{s.size}: both extreme distributions"
    if k > s.size:
        return _between(low, high, strain, name)
    least, most = (math.log(x) if x > 0 else -math.inf for x in newton_ends(s, loose, k))
    close = _NEAR if strain <= _STRAINED else math.inf  # the extreme measures say what Newton's identities leave open
    low, high = max(least, low - close), min(most, top, high + close)
    return _between(min(low, high), high, 0.0, name)


def newton(s: Floats, k: int) -> Estimate:
    r"""k! e_k exactly, :math:`j\,e_j=\sum_{r\le j}(-1)^{r-1}e_{j-r}S_r`, with what rounding may have cost.

    >>> print(newton(np.array([1.0, 0.38, 0.162]), 3))
    0.184 (exact, k! e_k from the power sums)
    """
    b, size = [1.0], [1.0]  # b_j = j! e_j, and the same sum without signs
    for j in range(1, k + 1):
        falling = [math.perm(j - 1, r - 1) for r in range(1, j + 1)]
        b.append(math.fsum((-1.0) ** (r - 1) * falling[r - 1] * b[j - r] * float(s[r - 1]) for r in range(1, j + 1)))
        size.append(math.fsum(falling[r - 1] * size[j - r] * float(s[r - 1]) for r in range(1, j + 1)))
    value, slack = min(1.0, max(0.0, b[k])), 1e-15 * size[k]
    name = "k! e_k from the power sums"
    if slack <= 1e-9 * value:
        return Estimate.exact(value, method=name, log_value=math.log(value))
    note = ("the terms nearly cancel: the sums would have to be known to more digits",)
    return Estimate(value, max(0.0, value - slack), min(1.0, value + slack), level=1.0, method=name, grade="C", notes=note)


def newton_ends(s: Floats, loose: Floats, k: int) -> tuple[float, float]:
    """The ends of k! e_k for sums that lie within their rounding: the sum without signs grows most.

    >>> [round(end, 6) for end in newton_ends(np.array([1.0, 0.38, 0.162]), np.array([0.01, 0.01]), 3)]
    [0.16936, 0.19864]
    """
    unsigned, size = [1.0], [1.0]
    for sums, out in ((s, unsigned), (s * np.concatenate(([1.0], 1.0 + loose)), size)):
        for j in range(1, k + 1):
            out.append(math.fsum(math.perm(j - 1, r - 1) * out[j - r] * float(sums[r - 1]) for r in range(1, j + 1)))
    value, slack = newton(s, k).value, size[k] - unsigned[k] + 1e-15 * size[k]
    return max(0.0, value - slack), min(1.0, value + slack)


def _between(log_low: float, log_high: float, strain: float, name: str) -> Estimate:
    slack = 1e-6 if strain <= _STRAINED else 0.2
    log_low, log_high = log_low - slack, min(0.0, log_high + slack)
    fine = log_high - log_low <= _OPEN and strain <= _STRAINED
    note = () if fine else ("the power sums leave much open for a group of this size",)
    log_value = 0.5 * (max(log_low, log_high - 2.0) + log_high)
    return Estimate(
        math.exp(log_value),
        math.exp(log_low),
        math.exp(log_high),
        level=1.0,
        method=name,
        grade="B" if fine else "C",
        log_value=log_value,
        notes=note,
    )


def _largest(s: Floats, p_max: float | None, loose: Floats) -> float:
    """The upper end of the cells: the given number, never more than the last sum allows."""
    m = s.size
    implied = math.pow(min(1.0, float(s[-1]) * (1.0 + float(loose[-1]))), 1.0 / m)
    if p_max is None:
        return implied
    stated = fraction(p_max, what="p_max")
    least = float(s[1]) * (1.0 - float(loose[0]))
    if stated < least * (1.0 - 1e-9):
        hint = "Check p_max and S_2."
        raise UsageError(f"the largest cell cannot hold {stated:.6g}: S_2 = {s[1]:.6g} is a mean of the cells.", hint=hint)
    return min(max(stated, least), implied)


def _errors(error: float | Sequence[float], number: int) -> Floats:
    given = np.asarray(error, dtype=np.float64)
    loose = np.broadcast_to(given, (number,)) if given.ndim == 0 else given
    if loose.shape != (number,) or not bool(np.all((loose >= 0) & np.isfinite(loose))):
        raise UsageError("error is the relative half-width of the power sums: one number of at least 0, or one per sum.")
    return loose


def _consistent(s: Floats, loose: Floats) -> None:
    """S_2² ≤ S_3 ≤ S_2 and so on, as far as the rounding leaves no doubt."""
    low, high = s[1:] * (1.0 - loose), s[1:] * (1.0 + loose)
    if bool(np.any(low[1:] > high[:-1] * (1 + 1e-12))) or (s.size > 2 and max(0.0, low[0]) ** 2 > high[1] * (1 + 1e-6)):
        raise UsageError("these power sums belong to no distribution.", hint="S_2² ≤ S_3 ≤ S_2, and so on down.")


Points = tuple[Floats, Floats]
"""A measure: where it sits, and how much sits there."""

_GRID = 120
_FINE = 8


def principal(s: Floats, largest: float) -> tuple[Points, Points]:
    """The two principal representations on [0, largest] of the moments 1, S_2, …, S_m; fewer moments where they are degenerate.

    >>> (x, w), _ = principal(np.array([1.0, 0.1, 0.01]), 0.5)
    >>> x.round(9).tolist(), w.round(9).tolist()
    ([0.0, 0.1], [0.0, 1.0])
    """
    c = s / largest ** np.arange(s.size)
    for n in range(s.size - 1, 0, -1):
        half = (n + 1) // 2
        zero, one = np.zeros(1), np.ones(1)
        if n % 2:
            inner = (gauss(c, half), gauss(c[1:n] - c[2 : n + 1], half - 1))
            nodes = (inner[0], None if inner[1] is None else np.concatenate((zero, inner[1], one)))
        else:
            inner = (gauss(c[1:], half), gauss(c[:-1] - c[1:], half))
            nodes = (
                None if inner[0] is None else np.concatenate((zero, inner[0])),
                None if inner[1] is None else np.concatenate((inner[1], one)),
            )
        first, second = (_weigh(x, c) for x in nodes)
        if first is not None and second is not None:
            return (first[0] * largest, first[1]), (second[0] * largest, second[1])
    raise UsageError("these power sums belong to no distribution.", hint="Check their order (S_2 first) and p_max.")


def gauss(moments: Floats, points: int) -> Floats | None:
    """Nodes of the Gauss rule with so many points from 2·points moments; None where the measure has fewer points.

    >>> gauss(np.array([1.0, 0.5, 1 / 3, 0.25]), 2).round(9).tolist()
    [0.211324865, 0.788675135]
    """
    if points == 0:
        return np.zeros(0)
    i = np.arange(points)
    lower, shifted = moments[i[:, None] + i], moments[i[:, None] + i + 1]
    if float(np.diag(lower).min()) <= 0.0:
        return None
    scale = 1.0 / np.sqrt(np.diag(lower))
    lower, shifted = lower * scale[:, None] * scale, shifted * scale[:, None] * scale
    try:
        root = np.linalg.cholesky(lower)
    except np.linalg.LinAlgError:
        return None
    if float(np.diag(root).min()) < 1e-5:
        return None
    jacobi = np.linalg.solve(root, np.linalg.solve(root, shifted).T)
    out: Floats = np.linalg.eigvalsh(0.5 * (jacobi + jacobi.T)).astype(np.float64)
    return out


def log_coefficient(points: Points, k: int) -> tuple[float, float]:
    r"""ln of :math:`k!\,[z^k]\,e^{K(z)}` for a measure on a few points, by tilted Fourier inversion; and the strain z·x.

    A point x with weight w stands for w/x cells of probability x, not always a whole number; x = 0 for cells without end. Where
    the largest cell is all but certain to be taken (strain above 2), the part of a cell that is not whole begins to count.

    >>> from shoal.prediction.group.uniqueness import log_uniform
    >>> round(log_coefficient((np.array([1 / 95]), np.array([1.0])), 20)[0], 9) == round(log_uniform(20, 95), 9)
    True
    """
    x, w = points
    z = _tilt(x, w, k)
    if z is None:
        return -math.inf, math.inf  # fewer than k cells
    light = x * z < 1e-9
    poisson = float(w[light].sum()) * z
    q = (x * z / (1.0 + x * z))[~light]
    copies = w[~light] / x[~light]
    spread = poisson + float((copies * q * (1.0 - q)).sum())
    m = 101 + math.ceil(14.0 * math.sqrt(spread))
    theta = 2.0 * math.pi * (np.arange(m) - m // 2) / m
    turn = np.exp(1j * theta) - 1.0
    log_phi = poisson * turn + (copies[:, None] * np.log1p(q[:, None] * turn)).sum(axis=0)
    value = float(np.exp(log_phi - 1j * k * theta).real.mean())
    if value <= 0.0:
        return -math.inf, math.inf
    cumulant = poisson + float((copies * np.log1p(x[~light] * z)).sum())
    return min(0.0, math.lgamma(k + 1) + cumulant - k * math.log(z) + math.log(value)), z * float(x.max())


def rounded_extremes(s: Floats, loose: Floats, largest: float, k: int) -> list[Points]:
    """The measures with smallest and largest K among those whose moments lie within their rounding.

    Sums known better than the points of the grid can meet are taken as less well known, which only widens the answer.
    """
    for factor in (1.0, 4.0, 16.0, 64.0, 256.0):
        wider = np.maximum(loose, np.minimum(factor * loose, 0.01))
        extremes = _extremes(s, wider, largest, k)
        if extremes is not None:
            return extremes
    raise UsageError("these power sums belong to no distribution.", hint="Check their order, their rounding and p_max.")


def _extremes(s: Floats, loose: Floats, largest: float, k: int) -> list[Points] | None:
    """On a coarse grid first; then, at the tilt of what was found, on a grid that is fine around it."""
    least = max(1e-9, float(s[1]) * (1.0 - float(loose[0])))
    ratios = np.geomspace(min(least / 100, largest) / largest, 1.0, _GRID)
    gap = math.log(float(ratios[1] / ratios[0]))
    coarse = np.concatenate(([0.0], largest * ratios))
    out = []
    for sign in (1.0, -1.0):
        x, z = coarse, k / max(0.05, 1.0 - k * least)
        for spacing in (gap, gap / _FINE):
            extreme = _extreme(x, s, loose, z, sign)
            if extreme is None:
                return None
            z = _tilt(*extreme, k) or z
            steps = np.exp(spacing * np.linspace(-1.0, 1.0, 2 * _FINE + 1))
            x = np.unique(np.minimum(np.concatenate((coarse, (extreme[0][:, None] * steps).ravel())), largest))
        last = _extreme(x, s, loose, z, sign)
        if last is None:
            return None
        out.append(last)
    return out


def _tilt(x: Floats, w: Floats, k: int) -> float | None:
    """z with z K'(z) = k; None where the measure stands for fewer than k cells."""

    def mean(t: float) -> float:
        z = math.exp(t)
        return float((w * z / (1.0 + x * z)).sum())

    low, high = math.log(k) - 1.0, math.log(k) + 1.0
    while mean(high) < k:
        high += 1.0
        if high > 60.0:
            return None
    for _ in range(80):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if mean(middle) < k else (low, middle)
    return math.exp(low)


def _weigh(x: Floats | None, moments: Floats) -> Points | None:
    """The nodes with weights that give the moments; None unless all lie in [0, 1] and all weights are positive."""
    if x is None or x.size > moments.size or float(x.min()) < -1e-9 or float(x.max()) > 1.0 + 1e-9:
        return None
    if x.size > 1 and float(np.diff(np.sort(x)).min()) < 1e-7:
        return None
    w = np.linalg.solve(np.vander(x, x.size, increasing=True).T, moments[: x.size])
    if float(w.min()) < -1e-7:
        return None
    return np.clip(x, 0.0, 1.0), np.maximum(w, 0.0)


def _extreme(x: Floats, s: Floats, loose: Floats, z: float, sign: float) -> Points | None:
    from shoal.kernels.scipy.optimize import linprog

    gain = np.concatenate(([1.0], np.log1p(x[1:] * z) / (x[1:] * z)))
    rows = np.array([x**r / s[r] for r in range(1, s.size)])
    solution = linprog(
        sign * gain,
        A_ub=np.concatenate((rows, -rows)),
        b_ub=np.concatenate((1.0 + loose, loose - 1.0)),
        A_eq=np.ones((1, x.size)),
        b_eq=[1.0],
        bounds=(0.0, None),
        method="highs",
    )
    if solution.status != 0:
        return None
    used = solution.x > 1e-12
    return x[used], solution.x[used] / solution.x[used].sum()
