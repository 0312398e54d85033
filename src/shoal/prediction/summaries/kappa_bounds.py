r"""What kappa alone can prove: the range of a prediction over every distribution on N cells with this kappa.

Write :math:`x=Np` for a cell's size against the average. A mean over cells, :math:`\tfrac1N\sum h(x_i)`, is linear in the
distribution of x, which has mean 1 and :math:`\mathrm E\,\varphi(x)=\kappa`, :math:`\varphi=x\ln x-x+1`. So by weak duality

.. math:: \tfrac1N\sum h(x_i)\le a+c\,\kappa\quad\text{whenever}\quad h(x)\le a+b(x-1)+c\,\varphi(x)\ \text{on}\ [0,x_{max}],

and the best a, b, c come from a small linear programme (its extreme distributions have at most three values). The expected
number of unique people is such a mean. The probability that all are unique, :math:`\pi=k!\,e_k(p)`, is enclosed by two means:
with :math:`q_i=p_iz/(1+p_iz)`, :math:`\pi=k!\,z^{-k}\prod(1+p_iz)\,P(B=k)`, B a sum of independent indicators of chance q, and

* at the z with :math:`\sum q_i=k`, :math:`P(B=k)\ge` the binomial chance with the same mean (Hoeffding 1956);
* at every z, :math:`P(B=k)\le e^{-v}I_0(v)`, :math:`v=\sum q_i(1-q_i)`, since the characteristic function of B has modulus at
  most :math:`e^{-v(1-\cos t)}`; and :math:`\pi` is largest for equal cells.

Takes    N, kappa, the group size; an upper bound of the largest cell where one is known
Returns  (low, high), true of every such distribution; checked between the points of the programme to 1e-9
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from shoal.prediction.distribution import log_uniform

Floats = npt.NDArray[np.float64]
Curve = Callable[[Floats], Floats]

SAME = 1e-13
"""A kappa below this is that of equal cells."""


class Shapes:
    """All distributions on ``cells`` cells with this ``kappa``, none above ``p_max``, seen by ``people``."""

    def __init__(self, kappa: float, cells: int, people: int, p_max: float | None = None) -> None:
        self.kappa, self.cells = kappa, cells
        self.largest = min(largest_cell(kappa, cells), 1.0 if p_max is None else p_max) * cells
        least = min(1e-6, 1e-3 * cells / people)  # cells that expect a thousandth of a person
        coarse, fine = _points(kappa, self.largest, 60, least), _points(kappa, self.largest, 900, least)
        self._coarse, self._fine = _basis(coarse, max(kappa, SAME)), _basis(fine, max(kappa, SAME))
        self._x, self._check = coarse, fine

    def mean(self, h: Curve, at_one: float, slope: float) -> tuple[float, float]:
        """Least and largest mean of ``h`` over the cells; ``at_one`` and ``slope`` are h and h′ at the average cell."""
        return self.least(h, at_one, slope), self.most(h, at_one, slope)

    def least(self, h: Curve, at_one: float, slope: float) -> float:
        """Least mean of ``h`` over the cells."""
        return -self.most(lambda x: -h(x), -at_one, -slope)

    def most(self, h: Curve, at_one: float, slope: float) -> float:
        """Largest mean of ``h`` over the cells."""
        if self.kappa < SAME:
            return at_one
        rest, check = (h(x) - at_one - slope * (x - 1) for x in (self._x, self._check))
        return at_one + self._above(rest, check)

    def _above(self, rest: Floats, check: Floats) -> float:
        """The least a + c·kappa with a + b(x−1) + c·φ(x) ≥ rest everywhere."""
        from shoal.kernels.scipy.optimize import linprog

        scale = max(float(np.abs(rest).max()), 1e-300)
        solution = linprog([1.0, 0.0, 1.0], A_ub=-self._coarse, b_ub=-rest / scale, bounds=(None, None), method="highs")
        line = solution.x if solution.status == 0 else np.array([1.0, 0.0, 0.0])
        gap = float((check / scale - self._fine @ line).max())
        return float((line[0] + line[2] + max(gap, 0.0) + 1e-12) * scale)


def singletons_range(kappa: float, cells: int, group_size: int, p_max: float | None = None) -> tuple[float, float]:
    """Least and largest expected number of unique people.

    >>> low, high = singletons_range(0.05, 100, 50)
    >>> round(low, 2), round(high, 2)
    (29.41, 29.79)
    """
    n, k = cells, group_size
    if n == 1 or k <= 1:
        return (1.0, 1.0) if k == 1 else (0.0, 0.0)

    def h(x: Floats) -> Floats:
        with np.errstate(divide="ignore"):
            return np.asarray(x * np.exp((k - 1) * np.log1p(-np.minimum(x / n, 1.0))))

    at_one = math.exp((k - 1) * math.log1p(-1 / n))
    slope = at_one - (k - 1) / n * math.exp((k - 2) * math.log1p(-1 / n))
    low, high = Shapes(kappa, n, k, p_max).mean(h, at_one, slope)
    return max(0.0, k * low), min(float(k), k * high)


def groups_range(kappa: float, cells: int, group_size: int, size: int, p_max: float | None = None) -> tuple[float, float]:
    """Least and largest expected share of cells that hold exactly ``size`` people.

    >>> low, high = groups_range(0.05, 100, 50, 1)
    >>> round(low, 4), round(high, 4)
    (0.2941, 0.2979)
    """
    from shoal.kernels.scipy.stats import binom

    n, k, j = cells, group_size, size
    if n == 1 or j > k:
        return (1.0, 1.0) if n == 1 and j == k else (0.0, 0.0)
    at_one = float(binom.pmf(j, k, 1 / n))
    slope = at_one * (j - (k - j) / (n - 1))
    low, high = Shapes(kappa, n, k, p_max).mean(lambda x: np.asarray(binom.pmf(j, k, np.minimum(x / n, 1.0))), at_one, slope)
    return max(0.0, low), min(1.0, high)


def log_uniqueness_range(kappa: float, cells: int, group_size: int, p_max: float | None = None) -> tuple[float, float]:
    """ln of the least and the largest probability that all are unique (−inf where it can be 0).

    >>> low, high = log_uniqueness_range(0.0914, 95, 10)
    >>> round(math.exp(low), 3), round(math.exp(high), 3)
    (0.519, 0.598)
    """
    n, k = cells, group_size
    top = log_uniform(k, n)
    if k <= 1 or k > n or kappa < SAME:
        return top, top
    shapes = Shapes(kappa, n, k, p_max)
    first = math.log(k) - math.log1p(-k / n) if k < n else math.log(k) + 40.0
    tilts = first + np.linspace(0.0, 3.0 * min(kappa, 2.0) + 0.1, 13)
    high = min(top, min(_log_most(shapes, k, s) for s in tilts[:7:2]))
    return _log_least(shapes, k, tilts), high


def _log_most(shapes: Shapes, k: int, tilt: float) -> float:
    """An upper bound of ln π by the tilt ln z."""
    from shoal.kernels.scipy.special import ive

    growth, spread = shapes.cells * shapes.most(*_growth(shapes, tilt)), _spread(shapes, tilt)
    return math.lgamma(k + 1) - k * tilt + growth + math.log(float(ive(0, max(spread, 0.0))))


def _log_least(shapes: Shapes, k: int, tilts: Floats) -> float:
    """The lower bound of ln π: the least over all tilts, beyond the scanned ones too."""
    n = shapes.cells
    if k >= n or k > n * math.exp(-shapes.kappa):
        return -math.inf  # so many cells may be empty that fewer than k are left

    def exponent(tilt: float) -> float:
        return n * shapes.least(*_growth(shapes, tilt)) - k * tilt

    exponents = [exponent(s) for s in tilts]
    while exponents[-1] < exponents[-2] and len(exponents) < 60:  # still falling: the least lies further on
        tilts = np.append(tilts, 2 * tilts[-1] - tilts[-2])
        exponents.append(exponent(tilts[-1]))
    i = int(np.argmin(exponents))
    from shoal.kernels.scipy.optimize import minimize_scalar

    inside = (float(tilts[max(i - 1, 0)]), float(tilts[min(i + 1, len(tilts) - 1)]))
    best = minimize_scalar(exponent, bounds=inside, method="bounded", options={"xatol": 1e-4})
    least = min(float(best.fun), min(exponents)) - 1e-9
    chance = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) + k * math.log(k / n) + (n - k) * math.log1p(-k / n)
    return float(math.lgamma(k + 1) + chance + least)


def _growth(shapes: Shapes, tilt: float) -> tuple[Curve, float, float]:
    """ln(1 + p z) of a cell by its size against the average, and its value and slope at the average."""
    w = math.exp(tilt) / shapes.cells
    return lambda x: np.log1p(w * x), math.log1p(w), w / (1 + w)


def _spread(shapes: Shapes, tilt: float) -> float:
    """Least Σ q(1−q)."""
    w = math.exp(tilt) / shapes.cells
    return shapes.cells * shapes.least(lambda x: w * x / (1 + w * x) ** 2, w / (1 + w) ** 2, w * (1 - w) / (1 + w) ** 3)


def smallest_kappa(cells: int, p_max: float) -> float:
    """The least kappa a distribution on N cells can have when one cell has probability ``p_max``."""
    if p_max >= 1:
        return math.log(cells)
    rest = (1 - p_max) * math.log((1 - p_max) * cells / (cells - 1)) if cells > 1 else 0.0
    return p_max * math.log(cells * p_max) + rest


def largest_cell(kappa: float, cells: int) -> float:
    """The largest probability one cell can have with this kappa.

    >>> round(largest_cell(0.2, 95), 4), largest_cell(0.0, 95) == 1 / 95
    (0.1243, True)
    """
    low, high = 1.0 / cells, 1.0
    if kappa < SAME:
        return low
    for _ in range(100):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if smallest_kappa(cells, middle) < kappa else (low, middle)
    return high


def _points(kappa: float, largest: float, per_side: int, least: float) -> Floats:
    """Cell sizes from 0 to the largest, dense around the average on the scale of kappa and in ratio elsewhere."""
    near = np.geomspace(1e-3 * min(1.0, math.sqrt(max(kappa, SAME))), 1.0, per_side)
    above = np.geomspace(max(1e-3 * min(1.0, math.sqrt(max(kappa, SAME))), 1e-9), max(largest - 1, 1e-9), per_side)
    ratio = np.geomspace(least, 1.0, per_side)
    return np.unique(np.clip(np.concatenate([[0.0, 1.0, largest], 1 - near, ratio, 1 + above]), 0.0, max(largest, 1.0)))


def _basis(x: Floats, kappa: float) -> Floats:
    """1, x − 1 and φ(x)/kappa at each point."""
    with np.errstate(divide="ignore", invalid="ignore"):
        phi = np.where(x > 0, x * np.log(x), 0.0) - x + 1
    u = x - 1
    small = np.abs(u) < 1e-4
    phi = np.where(small, u * u / 2 - u**3 / 6 + u**4 / 12, phi)  # no digits lost around the average
    return np.column_stack([np.ones_like(x), u, phi / kappa])


def variance_range(kappa: float, cells: int, group_size: int, p_max: float | None = None) -> tuple[float, float]:
    r"""Least and largest variance of the number of unique people.

    With :math:`y_{ij}=p_ip_j/((1-p_i)(1-p_j))\le1`, :math:`(1-p_i-p_j)^m=((1-p_i)(1-p_j))^m(1-y_{ij})^m` and
    :math:`1-my\le(1-y)^m\le1-my+\tfrac12m^2y^2` turn the double sum of the variance into squares of means over cells:

    .. math:: \mathrm{Var}\,S=A-kD^2+(2-\tfrac2k)Q^2-2k^2T(G-R)-k^2T^2+\theta\tfrac12k(k-1)(k-2)^2U^2,\quad 0\le\theta\le1.

    >>> low, high = variance_range(0.05, 95, 60)
    >>> round(low, 1), round(high, 1)
    (17.9, 19.3)
    """
    n, k = cells, group_size
    few, many = singletons_range(kappa, n, k, p_max)
    middle = min(max(k / 2, few), many)
    most = middle * (k - middle)  # of any number between 0 and k with such a mean
    if k < 3 or n == 1:
        return (min(few * (k - few), many * (k - many)), most) if k == 2 else (0.0, 0.0)
    shapes = Shapes(kappa, n, k, p_max)
    if shapes.largest >= 0.999 * n:
        return 0.0, most

    def total(f: Curve) -> tuple[float, float]:
        one, step = np.array([1.0]), 1e-6
        slope = (f((one + step) / n) - f((one - step) / n)) / (2 * step)
        low, high = shapes.mean(lambda x: f(np.minimum(x / n, 1 - 1e-9)), float(f(one / n)[0]), float(slope[0]))
        return n * low, n * high

    def power(p: Floats, of_p: int, of_rest: int) -> Floats:
        return np.asarray(p**of_p * np.exp(of_rest * np.log1p(-p)))

    a = total(lambda p: k * power(p, 1, k - 1) - k * (k - 1) * (power(p, 2, 2 * k - 4) - (k - 2) * power(p, 4, 2 * k - 6)))
    d = total(lambda p: power(p, 1, k - 2) - k * power(p, 2, k - 3))
    q = total(lambda p: k * power(p, 2, k - 3))
    t = total(lambda p: power(p, 3, k - 3))
    rest = total(lambda p: power(p, 1, k - 2) - power(p, 2, k - 3))
    u = total(lambda p: power(p, 3, k - 4))[1] if k > 3 else 0.0
    t_low, q_low = max(0.0, t[0]), max(0.0, q[0])
    gone = 2 * k * k * np.array([t_low, t[1]])[:, None] * np.array(rest)  # 2k²T(G−R), at its corners
    low = a[0] - k * max(d[0] ** 2, d[1] ** 2) + (2 - 2 / k) * q_low**2 - float(gone.max()) - (k * t[1]) ** 2
    nearest = 0.0 if d[0] <= 0 <= d[1] else min(d[0] ** 2, d[1] ** 2)
    high = a[1] - k * nearest + (2 - 2 / k) * q[1] ** 2 - float(gone.min()) - (k * t_low) ** 2
    high += 0.5 * k * (k - 1) * (k - 2) ** 2 * u**2
    return max(0.0, low), min(most, high)
