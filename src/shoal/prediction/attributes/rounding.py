r"""Rounding a measured value to intervals of a given width: how many people stay unique.

The exact answer needs only the probability of each interval, from the distribution function. The source's expansions in the
width (:mod:`~shoal.prediction.attributes.rounding_expansions`) are given by name, beside the exact value.

Takes    a scipy distribution or a sample, a width, a group size
Returns  Distribution over the intervals, or Estimate of the number of unique people
Cost     O(number of intervals)
Source   Koot 2012 ch. 6, corrected (METHODS §5)
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal, get_args

import numpy as np

from shoal.errors import UsageError
from shoal.model.display import written
from shoal.model.estimate import Estimate, Grade
from shoal.prediction.distribution import LARGEST_GROUP, Distribution, Floats, fraction, whole
from shoal.prediction.group import moments as _moments

Method = Literal["exact", "first", "second", "integral"]
Inverse = Literal["first", "second", "exact"]

MOST_CELLS = 2_000_000
NEAR = 1e-9
"""A value this near to an edge, in widths, lies on it."""
_TAIL = 1e-18


def rounded(values: Any, width: float, *, origin: float = 0.0) -> Distribution:
    """The distribution over intervals ``[origin + i·width, origin + (i+1)·width)``.

    ``values`` is a frozen scipy distribution, continuous or discrete, or a sample of numbers. Tails beyond a probability
    of 1e-18, or beyond the two million intervals around the median, are joined to the last interval on their side; a
    distribution that would lose more than 1e-3 in this way is refused. A value within a billionth
    of a width of an edge lies on it.

    >>> from scipy import stats
    >>> rounded(stats.uniform(0, 10), 3).p.round(6).tolist()
    [0.3, 0.3, 0.3, 0.1]
    >>> rounded([1.0, 1.5, 2.5, 9.0], 1).cells
    9
    >>> rounded([0.1, 0.2, 0.3], 0.1).occupied
    3
    """
    return _round_law(values, width, origin)[0]


def _round_law(values: Any, width: float, origin: float) -> tuple[Distribution, float]:
    """The distribution over intervals, and the probability of the tails that were joined to its ends."""
    step = positive_width(width)
    if hasattr(values, "cdf"):
        return _from_law(values, step, origin)
    index = _index(_sample(values), step, origin)
    _, counts = np.unique(index, return_counts=True)
    cells = float(index.max() - index.min()) + 1
    if not cells < LARGEST_GROUP:
        raise UsageError("the sample reaches over more than 2^53 intervals.", hint="Use a wider interval, or leave out outliers.")
    return Distribution.counts(counts, cells=int(cells)), 0.0


def _sample(values: Any) -> Floats:
    try:
        sample = np.asarray(values, dtype=np.float64).ravel()
    except (TypeError, ValueError):
        raise UsageError("the sample holds values that are not numbers.", hint="Pass numbers or a scipy distribution.") from None
    if sample.size == 0 or not bool(np.all(np.isfinite(sample))):
        raise UsageError("the sample is empty or holds values that are not finite numbers.", hint="Leave them out.")
    return sample


def _index(values: Floats, step: float, origin: float) -> Floats:
    """Number of the interval of each value; 0.3/0.1 is 3, for any last binary digits."""
    exact = (values - origin) / step
    out: Floats = np.floor(exact + NEAR + 1e-15 * np.abs(exact))
    return out


def interval_singletons(values: Any, width: float, group_size: int, *, origin: float = 0.0, method: Method = "exact") -> Estimate:
    """Expected number of unique people when a value is rounded to intervals of this width.

    >>> from scipy import stats
    >>> weight = stats.norm(scale=5.289)
    >>> round(interval_singletons(weight, 1, group_size=10).value, 6)
    6.22341
    >>> e = interval_singletons(weight, 1, group_size=10, method="second")
    >>> round(e.value, 6), e.grade
    (6.382286, 'C')
    """
    k = whole(group_size, what="group_size")
    if method not in get_args(Method):
        raise UsageError(f"method '{method}' is not known.", hint=f"Methods: {', '.join(get_args(Method))}.")
    exact = _exact(values, width, k, origin)
    if method == "exact":
        return exact
    if not hasattr(values, "pdf"):
        raise UsageError("the expansions need a continuous distribution.", hint="Use method='exact' for a sample.")
    step = positive_width(width)
    f2 = density_integral(values, 2)
    if method == "integral":
        return _beside(integral_form(values, step, k, f2), exact)
    order = 1 if method == "first" else 2
    return _beside(expansion(f2, density_integral(values, 3) if order == 2 else 0.0, step, k, order=order), exact)


def _exact(values: Any, width: float, k: int, origin: float) -> Estimate:
    """From the interval probabilities; with far tails, between the tails as one interval each and everybody there unique."""
    d, tail = _round_law(values, width, origin)
    notes = () if hasattr(values, "cdf") else ("the sample is taken as the whole distribution",)
    low = _moments.mean(d, k)
    name = "exact interval probabilities"
    if k * tail <= 1e-12:
        return Estimate.exact(low, method=name, notes=notes, cells=d.cells)
    high = min(float(k), low + k * tail)
    notes = (*notes, f"tails of probability {written(tail, 3)} reach too far for intervals; the range allows for them")
    return Estimate(low, low, high, level=1.0, method=name, grade="B", notes=notes, details={"cells": d.cells})


def _beside(estimate: Estimate, exact: Estimate) -> Estimate:
    """An expansion in an interval that holds the exact value; C outside its own validity, or more than 5 % off."""
    off = abs(estimate.value - exact.value) > 0.05 * max(exact.value, 1e-300)
    notes = (f"{written(exact.value)} is the exact value: this expansion is more than 5 % off",) if off else ()
    low, high = min(estimate.value, exact.low), max(estimate.value, exact.high)
    grade: Grade = "C" if off or estimate.grade == "C" else "B"
    return replace(estimate, low=low, high=high, level=1.0, grade=grade, notes=(*estimate.notes, *notes))


def width_for(values: Any, group_size: int, target: float, *, origin: float = 0.0, relative: float = 1e-6) -> tuple[float, float]:
    """The smallest width found whose expected share of unique people is at most ``target``, and that share.

    The share falls with the width but for small ripples of the grid, so the bisection ends with a width that was checked.

    >>> from scipy import stats
    >>> width, share = width_for(stats.norm(scale=5.289), group_size=40, target=0.05)
    >>> share <= 0.05, round(width, 1)
    (True, 2.6)
    """
    k, aim = whole(group_size, what="group_size", least=1), fraction(target, what="target")

    def share(w: float) -> float:
        return _exact(values, w, k, origin).high / k

    spread = _spread(values)
    high = max(spread, 1e-12)
    for _ in range(60):
        if share(high) <= aim:
            break
        high *= 2
    else:
        hint = "Ask fewer people, or accept more."
        raise UsageError(f"no width brings the share of unique people to {written(aim)}.", hint=hint)
    low = high / 2
    while share(low) <= aim and low > 1e-5 * spread:
        low, high = low / 2, low
    while high - low > relative * high:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if share(middle) <= aim else (middle, high)
    return high, share(high)


def sd_from_singletons(mean: float, group_size: int, width: float, *, method: Inverse = "exact") -> float:
    """The standard deviation of a normal value for which ``mean`` of ``group_size`` people are unique at this width.

    >>> [round(sd_from_singletons(8, 10, 0.5, method=m), 5) for m in ("first", "second", "exact")]
    [6.34713, 5.61007, 5.66516]
    """
    k = whole(group_size, what="group_size", least=2)
    if not 0 < mean < k:
        raise UsageError(f"the number of unique people must lie between 0 and {k}; found {mean!r}.")
    if method not in get_args(Inverse):
        raise UsageError(f"method '{method}' is not known.", hint=f"Methods: {', '.join(get_args(Inverse))}.")
    width = positive_width(width)
    first = width * k * (k - 1) / (2 * math.sqrt(math.pi) * (k - mean))
    if method == "first":
        return first
    if method == "second":  # (k - mean) s² - A s + B = 0 with the larger root
        a = width * k * (k - 1) / (2 * math.sqrt(math.pi))
        b = width**2 * k * (k - 1) * (k - 2) / (4 * math.sqrt(3) * math.pi)
        under = a * a - 4 * (k - mean) * b
        if under < 0:
            raise UsageError("the second-order rule has no solution here.", hint="Use method='exact'.")
        return (a + math.sqrt(under)) / (2 * (k - mean))
    from shoal.kernels.scipy import optimize, stats

    def gap(log_sd: float) -> float:
        return interval_singletons(stats.norm(scale=math.exp(log_sd)), width, k).value - mean

    low, high = math.log(first) - 6, math.log(first) + 6
    if gap(low) * gap(high) > 0:
        raise UsageError(f"no normal value has {written(mean)} of {k} people unique at this width.", hint="Give a larger number.")
    return math.exp(optimize.brentq(gap, low, high, xtol=1e-13))


def _spread(values: Any) -> float:
    """A width to begin with: the range between the quartiles, or the largest deviation of a sample that has none."""
    if hasattr(values, "ppf"):
        quartiles = values.ppf([0.25, 0.75])
        return float(quartiles[1] - quartiles[0]) or 1.0
    sample = _sample(values)
    return float(np.std(sample)) or abs(float(sample[0])) or 1.0


def _from_law(law: Any, step: float, origin: float) -> tuple[Distribution, float]:
    low, high = (float(x) for x in law.support())
    middle = float(law.median())
    first = _edge(low, law.cdf, middle, step, origin, down=True)
    last = _edge(high, law.sf, middle, step, origin, down=False)
    centre, tail = math.floor((middle - origin) / step), 0.0
    if centre - first > MOST_CELLS // 2:
        first = centre - MOST_CELLS // 2
        tail += float(law.cdf(origin + step * first))
    if last - centre > MOST_CELLS // 2:
        last = centre + MOST_CELLS // 2
        tail += float(law.sf(origin + step * last))
    if tail > 1e-3:
        what = f"{written(MOST_CELLS, 3)} intervals of width {written(step)} leave a tail of probability {written(tail, 3)}."
        raise UsageError(what, hint="Use a wider interval, or a distribution with an end.")
    if not hasattr(law, "pdf"):
        return _from_discrete(law, step, origin, first, last), tail
    return Distribution.of(
        _masses(law, origin + step * np.arange(first, max(last, first + 1) + 1, dtype=np.float64)), normalize=True
    ), tail


def _masses(law: Any, edges: Floats) -> Floats:
    """Probability between neighbouring edges, from whichever tail is the smaller; the tails go to the first and the last."""
    below, above = law.cdf(edges), law.sf(edges)
    mass: Floats = np.maximum(np.where(below[:-1] < 0.5, np.diff(below), -np.diff(above)), 0.0)
    mass[0] += float(below[0])
    mass[-1] += float(above[-1])
    return mass


def _from_discrete(law: Any, step: float, origin: float, first: int, last: int) -> Distribution:
    """A law on listed values (``xk``), or on whole numbers shifted by a constant."""
    listed = getattr(law, "xk", getattr(getattr(law, "dist", None), "xk", None))
    if listed is None and (last - first) * step > 4 * MOST_CELLS:  # too many numbers to list; edges lie just before them
        mass = _masses(law, origin + step * (np.arange(first, last + 2, dtype=np.float64) - NEAR))
    else:
        if listed is None:
            points = _points(law, origin + step * first, origin + step * last)
        else:
            points = np.unique(np.asarray(listed, dtype=np.float64) + float(getattr(law, "kwds", {}).get("loc", 0.0)))
        index = _index(points, step, origin).astype(np.int64)
        mass = np.bincount(index - index.min(), weights=law.pmf(points)).astype(np.float64)
    occupied = np.flatnonzero(mass)
    return Distribution.of(mass[occupied[0] : occupied[-1] + 1], normalize=True)


def _points(law: Any, low: float, high: float) -> Floats:
    """Whole numbers between two ends and a little beyond, shifted as the law is."""
    ends = [x for x in law.support() if math.isfinite(x)]
    shift = math.fmod(float(ends[0]) if ends else float(law.median()), 1.0)
    out: Floats = np.arange(math.floor(low) - 1, math.ceil(high) + 2, dtype=np.float64) + shift
    return out


def _edge(end: float, tail: Any, middle: float, step: float, origin: float, *, down: bool) -> int:
    """Index of the outermost edge: the end of the support when near, else the first with tail probability below 1e-18."""
    if math.isfinite(end) and abs(end - origin) / step < MOST_CELLS:
        exact = (end - origin) / step
        near = round(exact)
        if abs(exact - near) < NEAR:
            return near
        return math.floor(exact) if down else math.ceil(exact)
    start, sign = math.floor((middle - origin) / step), -1 if down else 1
    reach = 1
    while float(tail(origin + step * (start + sign * reach))) > _TAIL:
        reach *= 2
        if reach > MOST_CELLS:
            return start + sign * reach
    low, high = reach // 2, reach
    while high - low > 1:
        at = (low + high) // 2
        low, high = (at, high) if float(tail(origin + step * (start + sign * at))) > _TAIL else (low, at)
    return start + sign * high


def positive_width(width: float) -> float:
    """A width above 0, and finite."""
    w = float(width)
    if not (w > 0 and math.isfinite(w)):
        raise UsageError(f"the width of an interval must be positive; found {width!r}.")
    return w


def expansion(f2: float, f3: float, width: float, group_size: int, *, order: int = 2) -> Estimate:
    r"""The expansion in the width from :math:`\int f^2` and :math:`\int f^3`; clamped to [0, k] and graded C outside its range.

    ``details["unclamped"]`` is the value the formula gives.

    >>> e = expansion(1 / 365, 1 / 365**2, 1, group_size=10)
    >>> round(e.value, 10), e.grade
    (9.7561268531, 'B')
    """
    k = whole(group_size, what="group_size")
    first = k * (k - 1) * width * f2
    raw = k - first + (0.5 * k * (k - 1) * (k - 2) * width**2 * f3 if order == 2 else 0.0)
    value = min(float(k), max(0.0, raw))
    strain = max(0, k - 1) * width * f2
    name = f"expansion in the width, order {order}"
    if strain > 0.2:
        note = f"(k-1)·width·∫f² is {written(strain, 3)}, above 0.2: the expansion does not hold"
        return Estimate(value, 0.0, float(k), level=1.0, method=name, grade="C", notes=(note,), details={"unclamped": raw})
    error = k * strain**order  # the next term is smaller than this
    return Estimate(value, max(0.0, value - error), min(float(k), value + error), method=name, details={"unclamped": raw})


def density_integral(law: Any, power: int) -> float:
    r""":math:`\int f^m` of a frozen scipy distribution; closed for normal, exponential and uniform.

    >>> from scipy import stats
    >>> round(density_integral(stats.norm(), 2), 14), round(density_integral(stats.expon(scale=2), 3), 12)
    (0.28209479177388, 0.083333333333)
    """
    m = whole(power, what="power", least=1)
    name = getattr(getattr(law, "dist", None), "name", "")
    scale = float(law.std())
    if name == "norm":
        return float(m**-0.5 * (math.sqrt(2 * math.pi) * scale) ** -(m - 1))
    if name == "expon":
        return float(scale ** -(m - 1) / m)
    if name == "uniform":
        return float((scale * math.sqrt(12)) ** -(m - 1))
    pieces = _integrate(law, lambda f: f**m)
    whole_, ends = float(pieces.sum()), float(pieces[0] + pieces[-1])
    if not (math.isfinite(whole_) and ends <= 1e-4 * whole_):
        hint = "Use method='exact'."
        raise UsageError(f"the integral of f^{m} of this distribution does not exist or cannot be found.", hint=hint)
    return whole_


def _integrate(law: Any, of_density: Callable[[float], float]) -> Floats:
    r"""Integrals of a function of the density, :math:`\int g(f)\,dx=\int g(f)/f\,du` over quantiles u on a logarithmic scale.

    One number per piece, from the far lower tail over the median to the far upper tail.
    """
    from shoal.kernels.scipy import integrate

    marks = np.log([1e-60, 1e-30, 1e-13, 1e-9, 1e-6, 1e-3, 0.05, 0.25, 0.5])

    def piece(quantile: Callable[[float], float], a: float, b: float) -> float:
        def inner(s: float) -> float:
            f = float(law.pdf(quantile(math.exp(s))))
            return of_density(f) / f * math.exp(s) if f > 0 else 0.0

        return float(integrate.quad(inner, a, b, limit=200, full_output=1)[0])

    pairs = list(itertools.pairwise(marks))
    lower = [piece(law.ppf, a, b) for a, b in pairs]
    return np.array(lower + [piece(law.isf, a, b) for a, b in reversed(pairs)])


def integral_form(law: Any, step: float, k: int, f2: float) -> Estimate:
    """k times the integral of f (1 - width f)^(k-1)."""
    total = float(_integrate(law, lambda f: f * max(0.0, 1 - step * f) ** (k - 1)).sum())
    value = min(float(k), k * total)
    fine = step * step * f2 * f2 < 0.01
    error = value * 0.02 if fine else float(k)
    notes = () if fine else ("the intervals are wide against the spread",)
    grade: Grade = "B" if fine else "C"
    ends = max(0.0, value - error), min(float(k), value + error)
    return Estimate(value, *ends, method="k ∫ f (1 - width f)^(k-1)", grade=grade, notes=notes)
