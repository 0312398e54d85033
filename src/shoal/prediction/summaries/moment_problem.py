r"""The extreme distributions that published power sums leave possible, as measures of a few points.

With cell probabilities p let :math:`\mu=\sum_i p_i\delta_{p_i}`: a probability on :math:`[0,p_{max}]` whose moments are the power
sums. Among all with the given moments the integral of a completely monotone function is smallest and largest at the two principal
representations (Chebyshev, Markov, Krein), found by Gauss quadrature; where the sums were rounded, at the solutions of a linear
programme.

Takes    1, S_2, …, S_m, the largest cell, how far each sum may be off
Returns  pairs of points and weights; :func:`log_coefficient` evaluates them
Source   Krein & Nudelman 1977, ch. III
"""

from __future__ import annotations

import math

import numpy as np

from shoal.errors import UsageError
from shoal.prediction.distribution import Floats

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
        first, second = (_weighted(x, c) for x in nodes)
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

    >>> from shoal.prediction.group.uniform import log_uniform
    >>> round(log_coefficient((np.array([1 / 95]), np.array([1.0])), 20)[0], 9) == round(log_uniform(20, 95), 9)
    True
    """
    x, w = points
    z = _tilted(x, w, k)
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
        found = _extremes(s, wider, largest, k)
        if found is not None:
            return found
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
            found = _extreme(x, s, loose, z, sign)
            if found is None:
                return None
            z = _tilted(*found, k) or z
            steps = np.exp(spacing * np.linspace(-1.0, 1.0, 2 * _FINE + 1))
            x = np.unique(np.minimum(np.concatenate((coarse, (found[0][:, None] * steps).ravel())), largest))
        last = _extreme(x, s, loose, z, sign)
        if last is None:
            return None
        out.append(last)
    return out


def _tilted(x: Floats, w: Floats, k: int) -> float | None:
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


def _weighted(x: Floats | None, moments: Floats) -> Points | None:
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
    found = linprog(
        sign * gain,
        A_ub=np.concatenate((rows, -rows)),
        b_ub=np.concatenate((1.0 + loose, loose - 1.0)),
        A_eq=np.ones((1, x.size)),
        b_eq=[1.0],
        bounds=(0.0, None),
        method="highs",
    )
    if found.status != 0:
        return None
    used = found.x > 1e-12
    return x[used], found.x[used] / found.x[used].sum()
