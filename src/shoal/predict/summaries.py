r"""Predictions when only summaries of the distribution are known: N and kappa, or power sums.

Kappa is not sufficient: two distributions with the same N and kappa differ (METHODS §3.3). So each answer has an interval
that allows for it, a grade, and says when it leaves the region where the approximation holds. Outside, the interval is the
range that holds for *every* distribution on N cells.

Source   Koot 2012 §4–5, corrected (METHODS §3.3, §4.4, §33)
Differs  the intervals are wider than the source's accuracy for N = 95: an exponent kappa k²/N is uncertain by its larger
         part for some shapes, so the interval grows with it
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from shoal.errors import UsageError
from shoal.model.estimate import Estimate
from shoal.predict.distribution import whole
from shoal.predict.uniqueness import log_uniform


def uniqueness_from_kappa(
    kappa: float, cells: int, group_size: int, *, p_max: float | None = None, limit: bool = False
) -> Estimate:
    r"""P(all unique) from N and kappa: :math:`\pi_u(k,N)\,e^{-\kappa k^2/N}`.

    Valid (grade B) for kappa ≤ 0.2, N p_max ≤ 3, k ≤ N/3. Without ``p_max`` the second condition must follow from kappa itself.
    ``limit=True`` gives the source's limit form :math:`e^{-(1/2+\kappa)k^2/N}`.

    >>> e = uniqueness_from_kappa(0.0914, cells=95, group_size=10, p_max=0.02)
    >>> round(e.value, 6), e.grade
    (0.556259, 'B')
    >>> uniqueness_from_kappa(0.4011, cells=95, group_size=10).grade
    'C'
    """
    n, k, kappa = _sizes(cells, group_size, kappa)
    exponent = kappa * k * k / n
    log_top = log_uniform(k, n)
    log_value = -(0.5 + kappa) * k * k / n if limit else log_top - exponent
    name = "exp(-(1/2+kappa) k²/N)" if limit else "exact uniform value times exp(-kappa k²/N)"
    if k > n:
        return Estimate.exact(0.0, method="more people than cells", log_value=-math.inf)
    broken = _broken(kappa, n, p_max, kappa_most=0.2)
    if k > n / 3 and k > 1:
        broken.append(f"the group ({k}) is larger than a third of the cells ({n})")
    value, top = math.exp(log_value), math.exp(log_top)
    if broken:
        return Estimate(value, 0.0, max(top, value), level=1.0, method=name, grade="C", log_value=log_value, notes=tuple(broken))
    shape = 0.6 * exponent + 0.005 + (k / n + k**3 / (3 * n * n) if limit else 0.0)
    low, high = value * math.exp(-shape), min(top if not limit else 1.0, value * math.exp(shape))
    return Estimate(value, low, max(value, high), method=name, grade="B", log_value=log_value)


def singletons_from_kappa(
    kappa: float, cells: int, group_size: int, *, p_max: float | None = None, limit: bool = False
) -> Estimate:
    r"""Expected number of unique people from N and kappa: :math:`k(1-1/N)^{k-1}(1+a(a-2)\kappa)`, a = k/N.

    Valid (grade B) for kappa ≤ 0.05, N p_max ≤ 3, k ≤ 2N. ``limit=True`` puts :math:`e^{-a}` for :math:`(1-1/N)^{k-1}`.

    >>> round(singletons_from_kappa(0.0914, cells=95, group_size=60, limit=True).value, 10)
    29.3847839905
    >>> print(singletons_from_kappa(0.01, cells=95, group_size=95))
    34.7823 [34.2432, 35.1336] (95 %, grade B, exact uniform mean times 1 + a(a-2) kappa)
    """
    n, k, kappa = _sizes(cells, group_size, kappa)
    a = k / n
    base = math.exp(-a) if limit else math.exp((k - 1) * math.log1p(-1 / n)) if n > 1 else float(k <= 1)
    factor = 1 + a * (a - 2) * kappa
    value = min(float(k), max(0.0, k * base * factor))
    name = "k e^-a (1 + a(a-2) kappa)" if limit else "exact uniform mean times 1 + a(a-2) kappa"
    most = largest_possible_mean(n, k)
    broken = _broken(kappa, n, p_max, kappa_most=0.05)
    if a > 2:
        broken.append(f"the group ({k}) is larger than twice the cells ({n})")
    if broken:
        return Estimate(value, 0.0, max(value, most), level=1.0, method=name, grade="C", notes=tuple(broken))
    error = 1.3 * a * kappa + 0.0025 + ((1 + a / 2) / n if limit else 0.0)
    return Estimate(value, value * (1 - error), max(value, min(most, value * (1 + error))), method=name, grade="B")


def variance_from_kappa(
    kappa: float, cells: int, group_size: int, *, p_max: float | None = None, limit: bool = False
) -> Estimate:
    r"""Variance of the number of unique people from N and kappa (corrected form of METHODS §4.4).

    The change that kappa makes is added to the exact uniform variance; ``limit=True`` gives the pure limit form.

    >>> round(variance_from_kappa(0.0914, cells=95, group_size=60, limit=True).value, 8)
    18.68940904
    """
    n, k, kappa = _sizes(cells, group_size, kappa)
    a, e = k / n, math.exp(-k / n)
    flat = n * (a * e - a * a * e * e - a * e * e * (1 - a) ** 2)
    slope = a * e * a * (a - 2) - a * a * e * e * (2 - 8 * a + 4 * a * a) - a * e * e * (1 - a) ** 2 * 2 * a * (a - 4)
    if limit:
        base, name = flat, "limit variance with kappa"
    else:
        from shoal.predict import _moments
        from shoal.predict.distribution import Distribution

        base, name = _moments.mean_and_variance(Distribution.uniform(n), k)[1], "exact uniform variance plus kappa term"
    value = min(float(k), max(0.0, base + n * slope * kappa))
    broken = _broken(kappa, n, p_max, kappa_most=0.05)
    if a > 2:
        broken.append(f"the group ({k}) is larger than twice the cells ({n})")
    if broken or limit:
        notes = tuple(broken) or ("the limit form is for large k and N: the exact base is better",)
        return Estimate(value, 0.0, float(k), level=1.0, method=name, grade="C", notes=notes)
    error = 3 * kappa + 0.01
    return Estimate(value, value * (1 - error), min(float(k), value * (1 + error)), method=name, grade="B")


def groups_from_kappa(kappa: float, cells: int, group_size: int, size: int) -> tuple[float, float]:
    r"""(share of people, share of cells) in groups of ``size``: :math:`\varphi_j,\gamma_j` with their kappa factor.

    >>> people, cells = groups_from_kappa(0.086, cells=80, group_size=40, size=1)
    >>> round(people, 10)
    0.5674094322
    """
    n, k, kappa = _sizes(cells, group_size, kappa)
    j, a = whole(size, what="size"), k / n
    factor = 1 + (a * a + j * (j - 1) - 2 * j * a) * kappa
    log_cells = -a + (j * math.log(a) if j else 0.0) - math.lgamma(j + 1)
    in_cells = math.exp(log_cells) * factor
    return (j * in_cells / a if j else 0.0), in_cells


def uniqueness_from_power_sums(
    sums: Sequence[float], group_size: int, *, p_max: float | None = None, cells: int | None = None
) -> Estimate:
    r"""P(all unique) from published power sums :math:`S_2,\dots,S_m`, :math:`S_r=\sum p^r`.

    Saddlepoint of the truncated cumulant series :math:`K(z)=z-\tfrac12S_2z^2+\dots`; within about 3 % with
    six sums while k p_max < 0.45.
    Without ``p_max`` the bound :math:`p_{max}\le S_m^{1/m}` is used.

    >>> s = [95.0 ** (1 - r) for r in range(2, 7)]
    >>> e = uniqueness_from_power_sums(s, group_size=20)
    >>> round(e.value, 4), e.grade
    (0.1167, 'B')
    """
    s = np.concatenate(([1.0], _power_sums(sums)))
    k = whole(group_size, what="group_size")
    if k <= 1:
        return Estimate.exact(1.0, method="a group of at most one", log_value=0.0)
    largest = min(1.0, float(s[-1]) ** (1 / s.size)) if p_max is None else float(p_max)
    pairs = 0.5 * k * (k - 1) * float(s[1])
    top = 1.0 if cells is None else math.exp(log_uniform(k, whole(cells, what="cells", least=1)))
    low = max(0.0, 1 - pairs)
    log_value = _truncated_saddlepoint(s, k)
    if log_value is None:
        value = math.exp(-pairs)
        notes = ("the series of power sums has no saddlepoint for this group: only pairs were used",)
        return Estimate(value, min(low, value), max(value, top), level=1.0, method="exp(-C(k,2) S_2)", grade="C", notes=notes)
    value = min(1.0, math.exp(log_value))
    name = f"saddlepoint of power sums up to S_{s.size}"
    if k * largest >= 0.45 or s.size < 6:
        why = "fewer than S_2..S_6 were given" if s.size < 6 else f"k p_max is {k * largest:.3g}, not below 0.45"
        return Estimate(
            value, min(low, value), max(value, top), level=1.0, method=name, grade="C", log_value=log_value, notes=(why,)
        )
    return Estimate(value, value * 0.97, min(1.0, value * 1.03), method=name, grade="B", log_value=log_value)


def largest_possible_mean(cells: int, group_size: int) -> float:
    r"""The most unique people any distribution on N cells can give: :math:`N(1-1/k)^{k-1}` for N ≤ k, else the uniform.

    >>> round(largest_possible_mean(10, 10), 6), round(largest_possible_mean(400, 100), 6)
    (3.874205, 78.050831)
    """
    n, k = whole(cells, what="cells", least=1), whole(group_size, what="group_size")
    if k <= 1:
        return float(k)
    if n <= k:
        return n * math.exp((k - 1) * math.log1p(-1 / k))
    return k * math.exp((k - 1) * math.log1p(-1 / n))


def smallest_kappa(cells: int, p_max: float) -> float:
    """The least kappa a distribution on N cells can have when one cell has probability ``p_max``."""
    if p_max >= 1:
        return math.log(cells)
    rest = (1 - p_max) * math.log((1 - p_max) * cells / (cells - 1)) if cells > 1 else 0.0
    return p_max * math.log(cells * p_max) + rest


def corrected_kappa(plug_in: float, occupied: int, sample_size: int) -> float:
    """Plug-in kappa of a sample without its upward bias of about (m-1)/(2n), m occupied cells; never below 0.

    >>> round(corrected_kappa(0.0962, occupied=95, sample_size=2000), 4)
    0.0727
    """
    return max(0.0, plug_in - (occupied - 1) / (2 * whole(sample_size, what="sample_size", least=1)))


def _broken(kappa: float, n: int, p_max: float | None, *, kappa_most: float) -> list[str]:
    """Which validity limits are passed, as sentences."""
    out = []
    if kappa > kappa_most:
        out.append(f"kappa is {kappa:.4g}, above {kappa_most:g}")
    if p_max is None:
        if kappa > smallest_kappa(n, min(1.0, 3 / n)) and n > 3:
            out.append("the largest cell is not known, and kappa alone does not keep it below three times the average")
    elif n * p_max > 3:
        out.append(f"the largest cell holds {n * p_max:.3g} times the average, above 3")
    return out


def _sizes(cells: int, group_size: int, kappa: float) -> tuple[int, int, float]:
    n, k = whole(cells, what="cells", least=1), whole(group_size, what="group_size", least=0)
    x = float(kappa)
    if not -1e-12 <= x <= math.log(n) + 1e-9:
        raise UsageError(
            f"kappa={kappa!r} is impossible for {n} cells.",
            hint=f"It lies between 0 and ln N = {math.log(n):.6g} nats; was it given in bits?",
        )
    return n, k, max(0.0, x)


def _power_sums(sums: Sequence[float]) -> np.ndarray:
    s = np.asarray(list(sums), dtype=np.float64)
    if s.size == 0 or not bool(np.all(np.isfinite(s))) or bool(np.any(s <= 0)) or bool(np.any(s > 1)):
        raise UsageError("power sums S_2, S_3, … lie above 0 and up to 1.", hint="Give S_2 first.")
    if bool(np.any(np.diff(s) > 0)) or (s.size > 1 and s[0] ** 2 > s[1] * (1 + 1e-6)):
        raise UsageError("these power sums belong to no distribution.", hint="S_2² ≤ S_3 ≤ S_2, and so on down.")
    return s


def _truncated_saddlepoint(s: np.ndarray, k: int) -> float | None:
    """ln of k! e^K / (z^k sqrt(2 pi v)) at the first z with z K'(z) = k; None when there is none."""
    r = np.arange(1, s.size + 1)
    sign = np.where(r % 2 == 1, 1.0, -1.0)

    def slope(z: float) -> float:  # z K'(z)
        return float((sign * s * z**r).sum())

    def spread(z: float) -> float:  # z K' + z² K''
        return float((sign * r * s * z**r).sum())

    z = 0.0
    step = k / 64
    while slope(z + step) < k:
        z += step
        if spread(z) <= 0 or z > 64 * k:
            return None
    low, high = z, z + step
    for _ in range(80):
        z = 0.5 * (low + high)
        low, high = (z, high) if slope(z) < k else (low, z)
    v = spread(z)
    if v <= 0:
        return None
    cumulant = float((sign * s * z**r / r).sum())
    return math.lgamma(k + 1) + cumulant - k * math.log(z) - 0.5 * math.log(2 * math.pi * v)
