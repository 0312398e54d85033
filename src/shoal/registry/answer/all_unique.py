r"""Is nobody alike in a group? The chance, from the power sums of a record, as far as their rounding or noise allows.

With :math:`\mu=\sum_i p_i\delta_{p_i}` the power sums are moments, :math:`S_{r+1}=\int x^r d\mu`, and the chance that all
differ grows with :math:`K(z)=\int g\,d\mu`, :math:`g(x)=\ln(1+xz)/x`, at every z > 0 (:mod:`~.moment_problem`).

As g is completely monotone, the polynomial that touches it at the points of a principal representation has coefficients of
alternating sign (Newton's form: divided differences alternate, and so do the elementary symmetric functions of points on the
positive axis). So among all distributions whose sums lie within their steps K is smallest where S_2 is largest, S_3 smallest,
S_4 largest and so on, and largest the other way round: two corners, each with a measure of a handful of points. Where no
distribution sits in a corner, its first sums alone are used: fewer conditions, hence still a bound.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from shoal.model.estimate import Estimate
from shoal.prediction.distribution import log_uniform
from shoal.prediction.summaries.power_sums import Points, log_coefficient, principal
from shoal.registry.records.summary import LARGER, Summary

OPEN = math.log(1.1)
"""Grade B while the ends lie within ten per cent."""


def everybody_unique(summary: Summary, group_size: int) -> Estimate:
    """Chance that nobody in the group shares a cell.

    >>> from shoal.registry.records.summary import summarize
    >>> e = everybody_unique(summarize([600] * 95, cells=95), 20)
    >>> e.grade, e.low < 0.116149 < e.high
    ('B', True)
    """
    k = group_size
    if k > summary.cells:
        return Estimate.exact(0.0, method="more people than cells", log_value=-math.inf)
    if k == 1:
        return Estimate.exact(1.0, method="a group of one", log_value=0.0)
    if k == 2:
        h2 = summary.statistics["h2"]
        value, low, high = (1 - min(1.0, math.exp(-h)) for h in (h2.value, h2.low, h2.high))
        base = Estimate(min(max(value, low), high), low, high, level=summary.level, method="1 - S_2")
    else:
        base = _between_corners(summary, k)
    return _of_people(base, summary.fewest, k)


def _between_corners(summary: Summary, k: int) -> Estimate:
    """Both corners, and the middle of their logarithms."""
    top = log_uniform(k, summary.cells)
    ends, strain = [], 0.0
    for up in (False, True):
        logarithm, pull = log_coefficient(_corner(summary, k, up=up), k)
        ends.append(min(top, logarithm))
        strain = max(strain, pull)
    # where a cell is all but certain to be taken, the part of a cell that is not whole begins to count
    slack = 1e-6 if strain <= 2.0 else 0.2
    low, high = min(ends) - slack, min(top, max(ends) + slack)
    fine = high - low <= OPEN and strain <= 2.0
    notes = () if fine else ("The record leaves much open for a group of this size.",)
    value = 0.5 * (max(low, high - 2.0) + high)
    return Estimate(
        math.exp(value), math.exp(low), math.exp(high), level=summary.level,
        method="power sums of the record: both extreme distributions", grade="B" if fine else "C", log_value=value, notes=notes,
    )  # fmt: skip


def _corner(summary: Summary, k: int, *, up: bool) -> Points:
    """The measure with the largest (``up``) or smallest K among those that the record allows."""
    h6, hmin = summary.statistics["h6"], summary.statistics["hmin"]
    largest = min(1.0, math.exp(-hmin.low), math.exp(-5 / 6 * h6.low))
    sums = _possible(summary.power_sums(up=up), largest)
    corner = principal(np.array(sums), max(largest, sums[1]))
    return (max if up else min)(corner, key=lambda points: _cumulant(points, float(k)))


def _possible(sums: list[float], largest: float) -> list[float]:
    """1, S_2 and as many further sums as can be moments of one measure: S_r² ≤ S_{r−1} S_{r+1}, S_{r+1} ≤ S_r · largest."""
    kept = [1.0, min(1.0, sums[0])]
    for s in sums[1:]:
        if not kept[-1] ** 2 <= kept[-2] * s * (1 + 1e-9) or s > kept[-1] * largest * (1 + 1e-9):
            break
        kept.append(s)
    return kept


def _cumulant(points: Points, z: float) -> float:
    """K(z) / z of a measure."""
    x, w = points
    xz = np.maximum(x * z, 1e-12)
    return float((w * np.log1p(xz) / xz).sum())


def _of_people(base: Estimate, people: int, k: int) -> Estimate:
    """Drawn without return, everybody is unique likelier by the factor n^k / (n (n − 1) … (n − k + 1))."""
    if k > people:
        return replace(base, low=0.0, high=1.0, grade="C", notes=(*base.notes, LARGER))
    rise = k * math.log(people) - math.lgamma(people + 1) + math.lgamma(people - k + 1)
    high = min(1.0, math.exp(min(0.0, rise + math.log(max(base.high, 1e-300)))) + 1e-9)
    return replace(base, high=max(high, base.value), grade=base.grade if rise <= 0.1 else "C")
