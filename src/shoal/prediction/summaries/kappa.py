r"""Predictions when only N and kappa of the distribution are known (power sums: :mod:`shoal.prediction.summaries.power_sums`).

Kappa is not sufficient: two distributions with the same N and kappa differ (METHODS §3.3). So each answer has the interval
that holds for *every* distribution on N cells with this kappa (:mod:`.kappa_bounds`: proven, not fitted), a
grade, and says when it leaves the region where the approximation holds. If no distribution with this kappa has the value of the
formula, the nearest possible value is given instead, a note states the formula's, and the grade is C. ``limit=True`` gives the
source's own form as it is, and the interval is widened to it.

Source   Koot 2012 §4–5, corrected (METHODS §3.3, §4.4, §33)
"""

from __future__ import annotations

import math
from dataclasses import replace

from shoal.errors import UsageError
from shoal.model.display import written
from shoal.model.estimate import Estimate, Grade
from shoal.prediction.distribution import Distribution, log_uniform, whole
from shoal.prediction.summaries import kappa_bounds as _kappa_bounds
from shoal.prediction.summaries.kappa_bounds import smallest_kappa

_IMPOSSIBLE = "the formula gives {0:.6g}, but with this kappa only {1:.6g} to {2:.6g} are possible"
_ONE_CELL = "everybody in one cell: kappa is ln N"


def uniqueness_from_kappa(
    kappa: float, cells: int, group_size: int, *, p_max: float | None = None, limit: bool = False
) -> Estimate:
    r"""P(all unique) from N and kappa: :math:`\pi_u(k,N)\,e^{-\kappa k^2/N}`.

    Valid (grade B) for kappa ≤ 0.2, N p_max ≤ 3, k ≤ N/3. Without ``p_max`` the second condition must follow from kappa itself.
    ``limit=True`` gives the source's limit form :math:`e^{-(1/2+\kappa)k^2/N}`.

    >>> e = uniqueness_from_kappa(0.0914, cells=95, group_size=10, p_max=0.02)
    >>> round(e.value, 6), round(e.low, 3), round(e.high, 3), e.grade
    (0.556259, 0.549, 0.597, 'B')
    >>> uniqueness_from_kappa(0.4011, cells=95, group_size=10).grade
    'C'
    """
    n, k, kappa = checked_sizes(cells, group_size, kappa)
    p_max = _largest(p_max, n, kappa)
    if k > n:
        return Estimate.exact(0.0, method="more people than cells", log_value=-math.inf)
    if _is_one_cell(kappa, n):
        return Estimate.exact(float(k <= 1), method=_ONE_CELL, log_value=0.0 if k <= 1 else -math.inf)
    log_value, name, broken = uniqueness_formula(kappa, n, k, p_max, limit=limit)
    log_low, log_high = _kappa_bounds.log_uniqueness_range(kappa, n, k, p_max)
    bounds = math.exp(log_low), math.exp(log_high)
    enclosed = _enclose(math.exp(log_value), bounds, name, broken, limit=limit)
    return replace(enclosed, log_value=log_value if limit else min(max(log_value, log_low), log_high))


def uniqueness_formula(kappa: float, n: int, k: int, p_max: float | None, *, limit: bool) -> tuple[float, str, list[str]]:
    """ln of the formula's value, its name, and which of its validity limits are passed."""
    log_value = -(0.5 + kappa) * k * k / n if limit else log_uniform(k, n) - kappa * k * k / n
    name = "exp(-(1/2+kappa) k²/N)" if limit else "exact uniform value times exp(-kappa k²/N)"
    broken = _broken(kappa, n, p_max, kappa_most=0.2)
    if k > n / 3 and k > 1:
        broken.append(f"the group ({k}) is larger than a third of the cells ({n})")
    return log_value, name, broken


def singletons_from_kappa(
    kappa: float, cells: int, group_size: int, *, p_max: float | None = None, limit: bool = False
) -> Estimate:
    r"""Expected number of unique people from N and kappa: :math:`k(1-1/N)^{k-1}(1+a(a-2)\kappa)`, a = k/N.

    Valid (grade B) for kappa ≤ 0.05, N p_max ≤ 3, k ≤ 2N. ``limit=True`` puts :math:`e^{-a}` for :math:`(1-1/N)^{k-1}`.

    >>> round(singletons_from_kappa(0.0914, cells=95, group_size=60, limit=True).value, 10)
    29.3847839905
    >>> print(singletons_from_kappa(0.01, cells=95, group_size=95))
    34.7823 [34.7202, 34.9435] (100 %, grade B, exact uniform mean times 1 + a(a-2) kappa)
    """
    n, k, kappa = checked_sizes(cells, group_size, kappa)
    p_max = _largest(p_max, n, kappa)
    if _is_one_cell(kappa, n):
        return Estimate.exact(float(k == 1), method=_ONE_CELL)
    a = k / n
    base = math.exp(-a) if limit else math.exp((k - 1) * math.log1p(-1 / n)) if n > 1 else float(k <= 1)
    value = min(float(k), max(0.0, k * base * (1 + a * (a - 2) * kappa)))
    name = "k e^-a (1 + a(a-2) kappa)" if limit else "exact uniform mean times 1 + a(a-2) kappa"
    bounds = _kappa_bounds.singletons_range(kappa, n, k, p_max)
    return _enclose(value, bounds, name, _broken(kappa, n, p_max, kappa_most=0.05, people_per_cell=a), limit=limit)


def variance_from_kappa(
    kappa: float, cells: int, group_size: int, *, p_max: float | None = None, limit: bool = False
) -> Estimate:
    r"""Variance of the number of unique people from N and kappa (corrected form of METHODS §4.4).

    The change that kappa makes is added to the exact uniform variance; ``limit=True`` gives the pure limit form.

    >>> round(variance_from_kappa(0.0914, cells=95, group_size=60, limit=True).value, 8)
    18.68940904
    """
    n, k, kappa = checked_sizes(cells, group_size, kappa)
    p_max = _largest(p_max, n, kappa)
    if _is_one_cell(kappa, n):
        return Estimate.exact(0.0, method=_ONE_CELL)
    a, e = k / n, math.exp(-k / n)
    flat = n * (a * e - a * a * e * e - a * e * e * (1 - a) ** 2)
    slope = a * e * a * (a - 2) - a * a * e * e * (2 - 8 * a + 4 * a * a) - a * e * e * (1 - a) ** 2 * 2 * a * (a - 4)
    if limit:
        base, name = flat, "limit variance with kappa"
    else:
        from shoal.prediction.group import moments as _moments

        base, name = _moments.mean_and_variance(Distribution.uniform(n), k)[1], "exact uniform variance plus kappa term"
    value = min(float(k), max(0.0, base + n * slope * kappa))
    broken = _broken(kappa, n, p_max, kappa_most=0.05, people_per_cell=a)
    if limit:
        broken.append("the limit form is for large k and N: the exact base is better")
    return _enclose(value, _kappa_bounds.variance_range(kappa, n, k, p_max), name, broken, limit=limit)


def _enclose(value: float, bounds: tuple[float, float], name: str, broken: list[str], *, limit: bool) -> Estimate:
    """A formula's value with the range of all distributions around it; the nearest possible one unless ``limit`` keeps it."""
    low, high = bounds
    if not low * (1 - 1e-9) <= value <= high * (1 + 1e-9):
        broken.append(_IMPOSSIBLE.format(value, low, high))
    if limit:
        low, high = min(low, value), max(high, value)
    grade: Grade = "C" if broken else "B"
    return Estimate(min(max(value, low), high), low, high, level=1.0, method=name, grade=grade, notes=tuple(broken))


def groups_from_kappa(
    kappa: float, cells: int, group_size: int, size: int, *, p_max: float | None = None
) -> tuple[Estimate, Estimate]:
    r"""(share of people, share of cells) in groups of ``size``: :math:`\varphi_j,\gamma_j` with their kappa factor.

    Valid (grade B) for kappa ≤ 0.05, N p_max ≤ 3, k ≤ 2N; the interval holds for every distribution with this kappa.

    >>> people, cells = groups_from_kappa(0.086, cells=80, group_size=40, size=1)
    >>> round(people.value, 10), people.grade, groups_from_kappa(0.01, 80, 40, 1)[0].grade
    (0.5674094322, 'C', 'B')
    """
    n, k, kappa = checked_sizes(cells, group_size, kappa)
    p_max = _largest(p_max, n, kappa)
    j, a = whole(size, what="size"), k / n
    if k == 0 or j > k:
        name = "an empty group" if k == 0 else "more people than there are"
        return Estimate.exact(0.0, method=name), Estimate.exact(float(k == 0 and j == 0), method=name)
    if _is_one_cell(kappa, n):
        of_cells = ((j == k) + (n - 1) * (j == 0)) / n
        return Estimate.exact(float(j == k), method=_ONE_CELL), Estimate.exact(of_cells, method=_ONE_CELL)
    factor = 1 + (a * a + j * (j - 1) - 2 * j * a) * kappa
    log_cells = -a + (j * math.log(a) if j else 0.0) - math.lgamma(j + 1)
    broken = _broken(kappa, n, p_max, kappa_most=0.05, people_per_cell=a)
    bounds = _kappa_bounds.groups_range(kappa, n, k, j, p_max)
    value, name = math.exp(log_cells) * max(0.0, factor), "Poisson share of groups times its kappa factor"
    most = min(1.0, a / j) if j else 1.0  # no more cells than the people can fill
    if value > most:
        value = most
        broken.append("the formula gives more groups than there are people: the largest possible share is shown")
    grade: Grade = "C" if broken else "B"
    ends = min(bounds[0], value), max(bounds[1], value)
    in_cells = Estimate(value, *ends, level=1.0, method=name, grade=grade, notes=tuple(broken))
    times = j / a
    in_people = replace(in_cells, value=times * in_cells.value, low=times * in_cells.low, high=min(1.0, times * in_cells.high))
    return in_people, in_cells


def _is_one_cell(kappa: float, n: int) -> bool:
    """Whether kappa is the largest possible, that of a distribution with one cell only."""
    return n > 1 and kappa >= math.log(n) - 1e-9


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


def corrected_kappa(plug_in: float, occupied: int, sample_size: int) -> float:
    """Plug-in kappa of a sample without its upward bias of about (m-1)/(2n), m occupied cells; never below 0.

    >>> round(corrected_kappa(0.0962, occupied=95, sample_size=2000), 4)
    0.0727
    """
    return max(0.0, plug_in - (occupied - 1) / (2 * whole(sample_size, what="sample_size", least=1)))


def _broken(kappa: float, n: int, p_max: float | None, *, kappa_most: float, people_per_cell: float = 0.0) -> list[str]:
    """Which validity limits are passed, as sentences."""
    out = []
    if people_per_cell > 2:
        out.append(f"the group is {written(people_per_cell, 3)} times as large as the number of cells ({n}), above twice")
    if kappa > kappa_most:
        out.append(f"kappa is {written(kappa, 4)}, above {written(kappa_most)}")
    if p_max is None:
        if kappa > smallest_kappa(n, min(1.0, 3 / n)) and n > 3:
            out.append("the largest cell is not known, and kappa alone does not keep it below three times the average")
    elif n * p_max > 3:
        out.append(f"the largest cell holds {written(n * p_max, 3)} times the average, above 3")
    return out


def _largest(p_max: float | None, n: int, kappa: float) -> float | None:
    """An upper bound of the largest cell, if it can be one."""
    if p_max is None:
        return None
    x = float(p_max)
    if not 1 / n * (1 - 1e-9) <= x <= 1 + 1e-9 or math.log(min(x * n, n)) < kappa - 1e-6:
        hint = f"It lies between {written(max(1.0, math.exp(kappa)) / n, 4)} and 1."
        raise UsageError("no cell can have the largest probability given, with this kappa and number of cells.", hint=hint)
    return min(x, 1.0)


def checked_sizes(cells: int, group_size: int, kappa: float) -> tuple[int, int, float]:
    n, k = whole(cells, what="cells", least=1), whole(group_size, what="group_size", least=0)
    x = float(kappa)
    if not -1e-12 <= x <= math.log(n) + 1e-9:
        hint = f"It lies between 0 and ln N = {written(math.log(n))} nats; was it given in bits?"
        raise UsageError(f"kappa={kappa!r} is impossible for {n} cells.", hint=hint)
    return n, k, max(0.0, x)
