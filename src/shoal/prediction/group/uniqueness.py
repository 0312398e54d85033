r"""The probability that all of a group are unique.

With cell probabilities p and k people, :math:`\pi(k,p)=k!\,e_k(p)`, e_k the elementary symmetric polynomial. Exact whenever
p is known; from summaries (kappa, power sums) an estimate with its validity.

Takes    a distribution (or N for a uniform one) and a group size
Returns  Estimate, with ``log_value`` because the value is often below 1e-300
Cost     O(N k) recursion; beyond it tilted Fourier inversion (:mod:`shoal.prediction.group.tilt`), O(N + k^1.5)
Source   Koot 2012 ch. 4; METHODS §3
Differs  the source's approximations are kept by name (``method=``) but never chosen when the exact value is within reach
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from shoal.errors import UsageError
from shoal.model.display import written
from shoal.model.estimate import Estimate, Grade
from shoal.prediction.attributes.correlation import frechet_bounds
from shoal.prediction.distribution import Distribution, as_distribution, fraction, log_uniform, whole
from shoal.prediction.group import tilt as _tilt
from shoal.prediction.summaries.kappa import uniqueness_formula

Method = Literal["auto", "exact", "saddlepoint", "poisson", "kappa", "kappa-limit", "chi", "collisions"]

_DP_WORK = 2e7
_DP_CELLS = 60_000


def uniqueness(p: Any, group_size: int, *, method: Method = "auto", normalize: bool = False) -> Estimate:
    r"""P(all of ``group_size`` people fall into different cells), :math:`k!\,e_k(p)`.

    ``p`` is a sequence of probabilities, a :class:`~shoal.prediction.distribution.Distribution`, or a whole number of equal
    cells. 1 for a group of 0 or 1, 0 when the group is larger than the number of cells. ``method`` names an
    approximation of the literature instead: ``poisson`` :math:`e^{-k}\prod(1+kp_i)`, ``kappa``
    :math:`\pi_u e^{-\kappa k^2/N}`, ``kappa-limit`` :math:`e^{-(1/2+\kappa)k^2/N}`, ``chi``, ``collisions``
    :math:`e^{-\binom k2 S_2}`, ``saddlepoint``.

    >>> round(uniqueness([0.4, 0.3, 0.15, 0.1, 0.05], group_size=3).value, 12)
    0.336
    >>> print(uniqueness(365, group_size=23))
    0.492703 (exact, product of (1 - i/N))
    >>> round(uniqueness(1000, group_size=900).log_value, 3)
    -668.591
    """
    d = as_distribution(p, normalize=normalize)
    k = whole(group_size, what="group_size")
    if method not in _NAMED and method not in ("auto", "exact"):
        raise UsageError(f"method '{method}' is not known.", hint="Methods: auto, exact, " + ", ".join(_NAMED) + ".")
    if k <= 1:
        return Estimate.exact(1.0, method="a group of at most one", log_value=0.0)
    if k > d.occupied:
        return Estimate.exact(0.0, method="more people than cells", log_value=-math.inf)
    if method in _NAMED:
        return _approximate(d, k, method)
    if d.p.size == 1 or d.p.max() == d.p.min():
        return _exact(log_uniform(k, d.cells if d.occupied == d.cells else d.occupied), "product of (1 - i/N)")
    if k == d.occupied:
        log_value = math.lgamma(k + 1) + d.total(np.log(d.p))
        return _exact(log_value, "k! times the product of p")
    if d.occupied * k <= _DP_WORK and d.occupied <= _DP_CELLS:
        value = float(recursion(d, k)[k])
        if value > 1e-280:
            return Estimate.exact(value, method="k! e_k(p) by recursion", log_value=math.log(value))
    tilt = _tilt.solve(d, _tilt.AT_MOST_ONE, k)
    if method == "exact" or _tilt.affordable(tilt, _tilt.AT_MOST_ONE):
        log_value = tilt.log_base + _tilt.log_probability(tilt, _tilt.AT_MOST_ONE, k)
        return _exact(log_value, "k! e_k(p) by tilted Fourier inversion")
    return _saddlepoint(d, k, tilt)


def recursion(p: Any, group_size: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    r"""P(j people are all unique) for j = 0..k in one pass: :math:`b_j \mathrel{+}= j\,p_i\,b_{j-1}` over the cells.

    All terms are non-negative, so nothing cancels.

    >>> recursion([0.5, 0.5], 3).tolist()
    [1.0, 1.0, 0.5, 0.0]
    """
    d = as_distribution(p)
    k = whole(group_size, what="group_size")
    b = np.zeros(k + 1)
    b[0] = 1.0
    j = np.arange(1, k + 1, dtype=np.float64)
    buffer = np.empty(k)
    with np.errstate(under="ignore"):
        for p_i in d.expanded().tolist():
            np.multiply(j, p_i, out=buffer)
            buffer *= b[:-1]
            b[1:] += buffer
    return b


def _exact(log_value: float, method: str) -> Estimate:
    return Estimate.exact(min(1.0, math.exp(log_value)), method=method, log_value=min(0.0, log_value))


def _saddlepoint(d: Distribution, k: int, tilt: _tilt.Tilt | None = None) -> Estimate:
    """Second-order saddlepoint: within 1e-4 in every published case."""
    tilt = tilt or _tilt.solve(d, _tilt.AT_MOST_ONE, k)
    d, v = tilt.distribution, tilt.variance
    q = d.p * tilt.scale
    q /= 1.0 + q
    spread = q * (1 - q)
    k3, k4 = d.total(spread * (1 - 2 * q)), d.total(spread * (1 - 6 * spread))
    factor = 1 + k4 / (8 * v * v) - 5 * k3 * k3 / (24 * v**3)
    note: tuple[str, ...] = ()
    if v < 1.0 or factor <= 0.5:
        note = ("the tilted variance is below 1: the correction is not reliable",)
        factor = max(factor, 0.5)
    error = 0.05 if note else 0.01 / (v * v) + 1e-9
    log_value = tilt.log_base - 0.5 * math.log(2 * math.pi * v) + math.log(factor)
    return _around(log_value, error, "saddlepoint with third and fourth cumulants", not note, note)


def _approximate(d: Distribution, k: int, method: str) -> Estimate:
    """An approximation of the literature, in an interval that holds the best answer too."""
    best = uniqueness(d, k)
    if method == "saddlepoint":
        if best.grade == "B" or k == d.occupied:
            return best
        approximation = _saddlepoint(d, k)
        return compare_to_best(approximation.log_value or 0.0, approximation.method, best)
    if method in ("kappa", "kappa-limit"):
        log_value, name, broken = uniqueness_formula(d.kappa, d.cells, k, d.p_max, limit=method == "kappa-limit")
        return compare_to_best(log_value, name, best, notes=tuple(broken))
    if method == "poisson":
        return compare_to_best(d.total(np.log1p(k * d.p)) - k, "Poissonised e^-k prod(1 + k p)", best)
    if method == "chi":
        return compare_to_best(log_uniform(k, d.cells) - d.chi * k * k / d.cells, "uniform times exp(-chi k^2/N)", best)
    return compare_to_best(-0.5 * k * (k - 1) * d.power_sum(2), "exp(-C(k,2) S_2)", best)


def _around(log_value: float, relative: float, method: str, fine: bool, notes: tuple[str, ...]) -> Estimate:
    value, grade = min(1.0, math.exp(log_value)), _GRADES[fine]
    ends = value * (1 - relative), min(1.0, value * (1 + relative))
    return Estimate(value, *ends, method=method, grade=grade, log_value=min(0.0, log_value), notes=notes)


_GRADES: dict[bool, Grade] = {True: "B", False: "C"}
"""Of an approximation: B within its limits."""
_NAMED = ("saddlepoint", "poisson", "kappa", "kappa-limit", "chi", "collisions")


@dataclass(frozen=True)
class Degradation:
    """``chain``: expected crowd after each answer; ``crowd``: after all, with Fréchet's bounds as its range."""

    population: float
    shares: tuple[float, ...]
    chain: tuple[float, ...]
    crowd: Estimate


def degradation(population: float, shares: Sequence[float]) -> Degradation:
    """The crowd after each answer, and the bounds that hold without independence.

    >>> d = degradation(16_000_000, [0.30, 0.79, 0.33, 0.37, 0.44, 0.00002])
    >>> [round(x, 1) for x in d.chain]
    [4800000.0, 3792000.0, 1251360.0, 463003.2, 203721.4, 4.1]
    >>> round(d.crowd.value, 4), d.crowd.low, round(d.crowd.high, 6)
    (4.0744, 0.0, 320.0)
    """
    if not population > 0:
        raise UsageError(f"the population must be positive; found {population!r}.")
    low, high = frechet_bounds(shares)
    chain = population * np.cumprod(np.asarray(list(shares), dtype=np.float64))
    value = float(chain[-1])
    ends, method = (
        (min(value, low * population), max(value, high * population)),
        "product of shares (independence); range by Fréchet",
    )
    notes = ("the product assumes independent answers; the range holds for every dependence",) if len(shares) > 1 else ()
    crowd = Estimate(value, *ends, level=1.0, method=method, grade="B" if notes else "A", notes=notes)
    return Degradation(float(population), tuple(float(s) for s in shares), tuple(chain.tolist()), crowd)


@dataclass(frozen=True)
class Person:
    """How one person stands in a group: ``unique``, ``crowd`` (with the person), ``match`` (a guess is right)."""

    unique: Estimate
    crowd: Estimate
    match: Estimate


def person(probability: float, group_size: int) -> Person:
    """For someone whose cell has this probability, in a group of ``group_size`` that includes the person.

    >>> p = person(0.1, group_size=10)
    >>> round(p.unique.value, 10), p.crowd.value, round(p.match.value, 10)
    (0.387420489, 1.9, 0.6513215599)
    """
    p = fraction(probability, what="probability")
    k = whole(group_size, what="group_size", least=1)
    if p == 0.0 or k == 1:
        one = Estimate.exact(1.0, method="alone by definition", log_value=0.0)
        return Person(one, one, one)
    log_rest = -math.inf if p == 1.0 else math.log1p(-p)
    log_unique = (k - 1) * log_rest
    unique = Estimate.exact(math.exp(log_unique), method="(1-p)^(k-1)", log_value=log_unique)
    crowd = Estimate.exact(1 + (k - 1) * p, method="1 + (k-1) p")
    match = Estimate.exact(-math.expm1(k * log_rest) / (k * p), method="(1-(1-p)^k)/(k p)")
    return Person(unique, crowd, match)


CLOSE = 0.05


def compare_to_best(log_value: float, method: str, best: Estimate, *, notes: tuple[str, ...] = ()) -> Estimate:
    """The approximation as the value, in an interval that also holds the best answer; B within 5 % of it, else C.

    ``notes`` are validity limits that were passed: any makes it C.

    >>> best = Estimate.exact(0.5, method="exact", log_value=math.log(0.5))
    >>> e = compare_to_best(math.log(0.51), "an approximation", best)
    >>> e.low, round(e.high, 9), e.grade
    (0.5, 0.51, 'B')
    >>> compare_to_best(math.log(0.7), "an approximation", best).grade
    'C'
    """
    log_value = min(0.0, log_value)
    value = math.exp(log_value)
    known = best.log_value if best.log_value is not None else math.log(best.value) if best.value > 0 else -math.inf
    close = log_value == known or abs(log_value - known) <= math.log1p(CLOSE)
    if not close:
        notes = (*notes, f"{written(best.value)} is the better answer ({best.method}): this approximation is more than 5 % off")
    ends, grade = (min(value, best.low), max(value, best.high)), _GRADES[close and not notes]
    return Estimate(value, *ends, level=1.0, method=method, grade=grade, log_value=log_value, notes=notes)
