r"""Mean and variance of the number of singletons in one pass over the cells.

The pair sum :math:`\sum_{i\ne j}p_ip_j(1-p_i-p_j)^{m}`, m = k-2, looks quadratic in the number of cells. With
:math:`u=p/(1-p)`,

.. math:: (1-p_i-p_j)^m = (1-p_i)^m(1-p_j)^m(1-u_iu_j)^m = \sum_r (-1)^r\binom mr\,
          \big[(1-p_i)^mu_i^r\big]\big[(1-p_j)^mu_j^r\big],

so it is :math:`\sum_r(-1)^r\binom mr(T_r^2-D_r)` with :math:`T_r=\sum p(1-p)^mu^r` and :math:`D_r=\sum[p(1-p)^mu^r]^2`: O(N R).
The leading terms of :math:`k(k-1)T_0^2-(ES)^2` are subtracted by algebra, not by arithmetic. The few cells above 1/4 are paired
one by one. Terms are kept until the rest is below 1e-20/k of the mean's square, so the result is exact up to rounding.

Cost     O(N R), R about 3 for many small cells, at most about 130
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from shoal.prediction.distribution import Distribution, Floats

_CHUNK = 1 << 13  # fits the cache, and stays below the size at which BLAS starts threads
_HEAVY = 0.25
_NEGLIGIBLE = 60.0  # cells with m p above this are single with probability below 1e-26


@dataclass
class _Sums:
    """Power sums over the light cells, filled chunk by chunk; index r of ``t`` and ``d`` is scaled by m^(r/2)."""

    t: Floats
    d: Floats
    q: float = 0.0


def mean(d: Distribution, k: int) -> float:
    r""":math:`k\sum p(1-p)^{k-1}`."""
    if k <= 1 or d.occupied == 1:
        return float(k == 1)
    light, heavy = _split(d)
    total = 0.0
    for p, copies in _chunks(light):
        term = np.log1p(-p)
        term *= k - 1
        np.exp(term, out=term)
        term *= p
        total += float(term.sum()) if copies is None else float(term @ copies)
    return k * (total + sum(p * rest ** (k - 1) for p, rest in _with_rest(light, heavy)))


def mean_and_variance(d: Distribution, k: int) -> tuple[float, float]:
    """Exact mean and variance of the number of singletons among k people."""
    if k <= 1 or d.occupied == 1:
        return float(k == 1), 0.0
    if k == 2:
        different = 0.5 * mean(d, 2)
        return 2 * different, 4 * different * (1 - different)
    m = k - 2
    light, heavy = _split(d)
    es_light, excess = _light_part(light, k, m)
    if heavy.size == 0:
        return es_light, max(0.0, es_light + excess)
    es_heavy, pairs = 0.0, 0.0
    for i, (p_h, rest) in enumerate(_with_rest(light, heavy)):
        es_heavy += k * p_h * rest ** (k - 1)
        pairs += 2 * p_h * light.total(light.p * np.maximum(rest - light.p, 0.0) ** m)
        others = np.delete(heavy, i)
        pairs += p_h * float((others * np.maximum(rest - others, 0.0) ** m).sum())
    mu = es_light + es_heavy
    cross = k * (k - 1) * pairs - 2 * es_light * es_heavy - es_heavy**2
    return mu, max(0.0, mu + excess + cross)


def _light_part(d: Distribution, k: int, m: int) -> tuple[float, float]:
    """Mean over the light cells, and k(k-1) (their pair sum) minus its square."""
    if d.p.size == 0:
        return 0.0, 0.0
    sums = _collect(d, m, k)
    t0, q = float(sums.t[0]), sums.q
    es = k * (t0 - q)
    signed = np.zeros(sums.t.size)
    c = 1.0
    for r in range(sums.t.size):
        signed[r] = c if r % 2 == 0 else -c
        c *= (1.0 - r / m) / (r + 1)
    pairs = float((signed[1:] * sums.t[1:] ** 2).sum()) - float((signed * sums.d).sum())
    return es, -k * t0 * t0 + k * k * q * (2 * t0 - q) + k * (k - 1) * pairs


def _collect(d: Distribution, m: int, k: int) -> _Sums:
    limit = _NEGLIGIBLE / m
    largest = min(d.p_max, limit)
    strength = m * (largest / (1 - largest)) ** 2
    orders = _orders(strength, k, m)
    sums = _Sums(np.zeros(orders + 1), np.zeros(orders + 1))
    root = math.sqrt(m)
    for p, copies in _chunks(d):
        w = np.log1p(-p)
        w *= m
        np.exp(w, out=w)
        w *= p
        _add(sums, 0, w, copies)
        sums.q += float(w @ p) if copies is None else float((w * p) @ copies)
        u = p / (1.0 - p)
        u *= root
        if d.p_max > limit:
            u[p > limit] = 0.0
        for r in range(1, orders + 1):
            w *= u
            _add(sums, r, w, copies)
    return sums


def _add(sums: _Sums, r: int, w: Floats, copies: Floats | None) -> None:
    if copies is None:
        sums.t[r] += w.sum()
        sums.d[r] += w @ w
    else:
        weighted = w * copies
        sums.t[r] += weighted.sum()
        sums.d[r] += weighted @ w


def _orders(strength: float, k: int, m: int) -> int:
    """Smallest R with strength^R / R! below 1e-20/k; never beyond m, where the series ends."""
    aim = -20 * math.log(10) - math.log(k)
    r = 1
    while r < m and (r < strength or r * math.log(max(strength, 1e-300)) - math.lgamma(r + 1) > aim):
        r += 1
    return r


def _split(d: Distribution) -> tuple[Distribution, Floats]:
    """Light cells as a distribution, and the few heavy cells one by one."""
    if d.p_max <= _HEAVY:
        return d, np.zeros(0)
    above = d.p > _HEAVY
    heavy = np.repeat(d.p[above], d.multiplicity[above].astype(np.int64))
    copies = None if d.copies is None else d.copies[~above]
    return Distribution(d.p[~above], copies, d.cells), heavy


def _with_rest(light: Distribution, heavy: Floats) -> list[tuple[float, float]]:
    """Each heavy cell with 1 - p, which is the sum of all others: beside a cell of 1 - 1e-300 there is 1e-300."""
    small = light.total(light.p)
    return [(p, small + float(np.delete(heavy, i).sum())) for i, p in enumerate(heavy.tolist())]


def _chunks(d: Distribution) -> list[tuple[Floats, Floats | None]]:
    starts = range(0, d.p.size, _CHUNK)
    return [(d.p[s : s + _CHUNK], None if d.copies is None else d.copies[s : s + _CHUNK]) for s in starts]
