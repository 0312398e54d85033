r"""Numbers changed a little: do released values still stand near the person's own, and do they find the person?

Each released record is held against its own original: *interval disclosure* (every column within a share of its standard
deviation, SDID), *distance linkage* (the person's own record is the nearest released one), and *robust intervals* (as wide as the
person is outlying, by robust Mahalanobis distances, and nobody else near: RMDID2). Each is also held against the released
record of somebody else, so that what happens to everybody by chance does not count.

Takes    original and released numbers of the same people, row by row, without missing values
Returns  :class:`AttackResult`, the rate beyond chance
Differs  from sdcMicro 5: ``dRisk`` also counts records with one column outside, ``dRiskRMD`` those with one column inside; here
         all columns must be inside. Widths are shares of the original's standard deviation, alike at a typical distance
Source   Mateo-Sanz, Sebé & Domingo-Ferrer 2004 (SDID); Pagliuca & Seri 1999 (distance linkage); Templ & Meindl 2008 (RMDID)
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from shoal.attacks._common import wilson
from shoal.attacks.tables.excess import Excess, verdict_of
from shoal.attacks.tables.robust import minimum_covariance, robust_distances
from shoal.kernels.quantiles import chi_squared_quantile
from shoal.model.attack import AttackResult
from shoal.model.counts.classes import FloatArray, IntArray

WIDTH = 0.05
"""Half the width of an interval, as a share of the standard deviation."""
ALONE = 0.05
"""A released record is alone if nobody's is this near, in standard deviations (Euclidean)."""
BLOCK = 4_000_000
INTERVAL = "Does a released number stand so near the person's own that the own is known?"
LINK = "Does anyone who knows a person's numbers find the released record by the nearest one?"
ROBUST = "Are people with unusual numbers still recognised, where a wider interval is enough and nobody is near?"


def interval_disclosure(
    x: FloatArray, y: FloatArray, columns: Sequence[str], rng: np.random.Generator, *, width: float = WIDTH
) -> AttackResult:
    """Records with every released value within ``width`` standard deviations of the person's own."""
    reach = width * np.std(x, axis=0, ddof=1)
    found = _excess(within(x, y, reach), within(x, y[_another(len(x), rng)], reach))
    each = [f"{name} {100 * within(x[:, [j]], y[:, [j]], reach[[j]]).mean():.3g} %" for j, name in enumerate(columns)]
    said = f"of {len(x):,} records have every number within {100 * width:g} % of a standard deviation of the own"
    return _result("interval disclosure", INTERVAL, found, said, f" By column: {', '.join(each)}.")


def within(x: FloatArray, y: FloatArray, reach: FloatArray) -> np.ndarray:
    """Whether every value of a row of ``y`` is at most ``reach`` from that of ``x``; the ends count.

    >>> within(np.array([[0.0, 0.0]] * 3), np.array([[0.5, 0.5], [0.5, 0.6], [-0.5, 0.0]]), np.array([0.5, 0.5])).tolist()
    [True, False, True]
    """
    return np.asarray((np.abs(x - y) <= reach * (1 + 1e-12)).all(axis=1))


def distance_linkage(x: FloatArray, y: FloatArray) -> AttackResult:
    """People whose own released record is the nearest to what is known of them; equally near ones share the find."""
    scale = np.std(x, axis=0, ddof=1)
    found = float(nearest_is_own(x / scale, y / scale).sum())
    n = len(x)
    low, high = wilson(found, n)
    chance = 1 / n
    ends = [max(0.0, (e - chance) / (1 - chance)) for e in (low, high)]
    over = (low - chance) / (1 - chance)
    sentence = f"{found:,.6g} of {n:,} people are found by the nearest released record; one would be by chance."
    rate = max(0.0, (found / n - chance) / (1 - chance))
    return AttackResult("distance linkage", LINK, rate, ends[0], ends[1], None, "", verdict_of(over), sentence)


def nearest_is_own(x: FloatArray, y: FloatArray) -> FloatArray:
    """For each row of ``x``: one over the rows of ``y`` that are nearest, if its own is among them, else 0.

    >>> nearest_is_own(np.array([[0.0], [1.0], [5.0]]), np.array([[0.4], [0.4], [5.0]])).tolist()
    [0.5, 0.5, 1.0]
    """
    out = np.zeros(len(x))
    step = max(1, BLOCK // max(1, len(y)))
    for start in range(0, len(x), step):
        part = x[start : start + step]
        far = _squared(part, y)
        own = far[np.arange(len(part)), np.arange(start, start + len(part))]
        least = far.min(axis=1)
        slack = least * (1 + 1e-9)
        ties = (far <= slack[:, None]).sum(axis=1)
        out[start : start + len(part)] = np.where(own <= slack, 1 / ties, 0.0)
    return out


def robust_intervals(
    x: FloatArray, y: FloatArray, rng: np.random.Generator, *, width: float = WIDTH, alone: float = ALONE
) -> AttackResult:
    """Records inside intervals that widen with the person's robust distance, and near no other released record."""
    centre, covariance = minimum_covariance(x, rng)
    scale = np.sqrt(np.diag(covariance))
    outlying = robust_distances(x, centre, covariance) / math.sqrt(chi_squared_quantile(0.5, x.shape[1]))
    reach = width * np.multiply.outer(outlying, scale)
    apart = others_within(y / scale, alone) == 0
    other = _another(len(x), rng)
    inside = within(x, y, reach)
    found = _excess(inside & apart, within(x, y[other], reach) & apart[other])
    said = f"of {len(x):,} records lie in an interval as wide as the person is unusual, with nobody else's near"
    more = f" {int(inside.sum()):,} lie in it if others near do not count."
    return _result("robust intervals", ROBUST, found, said, more)


def others_within(y: FloatArray, reach: float) -> IntArray:
    """How many other rows lie at most ``reach`` away.

    >>> others_within(np.array([[0.0], [0.1], [3.0]]), 0.1).tolist()
    [1, 1, 0]
    """
    order = np.argsort(y[:, 0], kind="stable")
    rows, far = y[order], reach * (1 + 1e-12)
    wide = far * 1.001  # no neighbour is lost to rounding
    low, high = np.searchsorted(rows[:, 0], rows[:, 0] - wide), np.searchsorted(rows[:, 0], rows[:, 0] + wide, "right")
    found = np.zeros(len(y), dtype=np.int64)
    for i in range(len(rows)):
        near = rows[low[i] : high[i]] - rows[i]
        found[order[i]] = np.count_nonzero((near * near).sum(axis=1) <= far * far) - 1
    return found


def _squared(x: FloatArray, y: FloatArray) -> FloatArray:
    out = np.zeros((len(x), len(y)))
    for j in range(x.shape[1]):
        out += (x[:, j, None] - y[None, :, j]) ** 2
    return out


def _another(n: int, rng: np.random.Generator) -> IntArray:
    """Somebody else for everybody: a random circle."""
    order = rng.permutation(n)
    out = np.empty(n, dtype=np.int64)
    out[order] = np.roll(order, 1)
    return out


def _excess(own: np.ndarray, other: np.ndarray) -> Excess:
    return Excess(int(own.sum()), len(own), int(other.sum()), len(other))


def _result(name: str, question: str, found: Excess, said: str, more: str) -> AttackResult:
    low, high = found.interval
    sentence = f"{found.successes:,} {said}; {found.control:,} would with somebody else's record.{more}"
    ends = [max(0.0, min(1.0, e)) for e in (low, high)]
    return AttackResult(name, question, min(1.0, max(0.0, found.risk)), ends[0], ends[1], None, "", verdict_of(low), sentence)
