r"""From published summaries to predictions: who will be unique in a group of k people?

The share of unique people :math:`\varphi(k) = \sum p(1-p)^{k-1}` is a mixture of powers, hence decreasing and log-convex in k.
Between two published group sizes it therefore lies above the right one, above the lines through the two before and the two after,
and below the chord, all of logarithms: the interval below is proven, not estimated, up to the steps of the record.

Is nobody alike in a group? With :math:`\mu=\sum_i p_i\delta_{p_i}` the power sums are moments, :math:`S_{r+1}=\int x^r d\mu`,
and the chance that all differ grows with :math:`K(z)=\int g\,d\mu`, :math:`g(x)=\ln(1+xz)/x`, at every z > 0. As g is completely
monotone, the polynomial that touches it at the points of a principal representation has coefficients of alternating sign
(Newton's form: divided differences alternate, and so do the elementary symmetric functions of points on the positive axis). So
among all distributions whose sums lie within their steps K is smallest where S_2 is largest, S_3 smallest, S_4 largest and so on,
and largest the other way round: two corners, each with a measure of a handful of points. Where no distribution sits in a corner,
its first sums alone are used: fewer conditions, hence still a bound.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise

import numpy as np

from shoal.errors import UsageError
from shoal.model.estimate import Estimate, Grade
from shoal.prediction.distribution import log_uniform
from shoal.prediction.summaries.power_sums import Points, log_coefficient, principal
from shoal.registry.answer.estimate import most_alone
from shoal.registry.records.summary import GROUP_SIZES, LARGER, LEVEL, Summary

ASSUMPTION = "The group is drawn at random from the population; people who answer are not always."
MARGINS = "No record of the attributes together was found; the value assumes independence."
OPEN = math.log(1.1)
"""Grade B of the chance that all differ while its ends lie within ten per cent."""
AVERAGE = "This is an average over people: somebody with a rare answer is far likelier to be alone."


def unique_share(summary: Summary, group_size: int, *, sampled: bool = False) -> Estimate:
    """Expected share of a group that is one of a kind, with proven bounds.

    They hold for people drawn one by one from the population with or without putting them back. ``sampled``: the record is of a
    random sample of the population, whose error the bounds then allow for.

    >>> from shoal.registry.records.summary import summarize
    >>> e = unique_share(summarize([600] * 90 + [10] * 5, cells=95), 100)
    >>> e.grade, e.low < 0.331 < e.high
    ('B', True)
    """
    k = checked_group(group_size)
    drawn = _share_drawn(summary, k, sampling_error(summary.fewest) if sampled and k > 1 else 0.0)
    return of_people(drawn, summary.fewest, k, 1.0 if sampled else most_alone(summary.cells, min(k, summary.fewest)))


def _share_drawn(summary: Summary, k: int, error: float) -> Estimate:
    """The share for people drawn independently from the cells of the record."""
    level, notes = _sure(summary, sampled=error > 0)
    points = [(1, 1.0, 1.0), (2, *_pairs(summary, error)), *((g, *_band(summary, g, error)) for g in GROUP_SIZES)]
    for i, ((k1, low1, high1), (k2, low2, high2)) in enumerate(pairwise(points)):
        if k1 <= k <= k2:
            chord = math.exp(_line(k, (k1, high1), (k2, high2)))
            low = low1 if k == k1 else max([low2, *_tangents(points, i, k)])
            high = max(low, min(high1, chord, _ceiling(summary, k)))
            between = low > high / 10 and k not in (k1, k2)
            value = math.sqrt(low * high) if between else (low + high) / 2
            return Estimate(value, low, high, level=level, method="bounds between published group sizes", notes=notes)
    high = min(points[-1][2], _ceiling(summary, k))
    return Estimate(high / 2, 0.0, high, level=level, method="below the largest published group size", grade="C", notes=notes)


def _line(k: int, one: tuple[int, float], other: tuple[int, float]) -> float:
    """The logarithm at k on the straight line through two points, each a group size and a share."""
    (k1, y1), (k2, y2) = one, other
    first, second = (math.log(max(y, 1e-300)) for y in (y1, y2))
    return first + (k - k1) / (k2 - k1) * (second - first)


def _tangents(points: Sequence[tuple[int, float, float]], i: int, k: int) -> list[float]:
    """What a convex logarithm is at least between points i and i + 1: the lines through the two before and the two after.

    Each is steepest, within the steps of the record, through the lower end of the near point and the upper end of the far one.
    """
    sides = [(i, i - 1), (i + 1, i + 2)]
    tangents = [(points[near], points[far]) for near, far in sides if 0 <= far < len(points) and points[near][1] > 0]
    return [min(1.0, math.exp(min(0.0, _line(k, near[:2], (far[0], far[2]))))) for near, far in tangents]


def _sure(summary: Summary, *, sampled: bool) -> tuple[float, tuple[str, ...]]:
    """With what chance an interval holds, and the sentences that go with it."""
    notes = [ASSUMPTION]
    if summary.noise is not None:
        notes.append(f"The record was drawn with noise (ε = {summary.noise:g}): the interval holds in {LEVEL:.0%} of cases.")
    if sampled:
        notes.append(f"The record is of a sample: the interval allows for its error, in {LEVEL:.0%} of cases.")
    return summary.level - (1 - LEVEL) * sampled, tuple(notes)


def sampling_error(people: int) -> float:
    r"""How far the share :math:`\sum p(1-p)^{k-1}` of a sample of n people can lie from its mean, in 99 of 100 samples.

    With f(x) = x(1−x)^{k−1}, −r ≤ f′ ≤ 1 and r ≤ 1/5 for k ≥ 10 (:mod:`~.publish.noise`), so exchanging one person moves it
    by (1 + r)/n at most, and McDiarmid's inequality gives :math:`(1+r)\sqrt{\ln(2/\alpha)/2n}`, α = 0.01. The mean of the share
    among k of the n, none of them twice, is that of the population; :func:`without_return` leads from one to the other.

    >>> round(sampling_error(10_000), 4)
    0.0195
    """
    return 1.2 * math.sqrt(math.log(2 / (1 - LEVEL)) / (2 * people))


def of_people(base: Estimate, people: int, k: int, most: float) -> Estimate:
    """The same share for a group drawn from finitely many people: the value none of them twice, the interval either way.

    Of a group that may be everybody, only ``most`` is sure: so many of the people there are can be alone in the cells there are.
    """
    if k > people:
        return replace(base, value=min(base.value, most), low=0.0, high=most, grade="C", notes=(*base.notes, LARGER), details={})
    dip, rise = without_return(people, k)
    high, details = min(1.0, base.high * rise), {name: min(1.0, end * rise) for name, end in base.details.items()}
    return replace(base, value=min(high, base.value * rise), low=max(0.0, base.low - dip), high=high, details=details)


@lru_cache(maxsize=4096)
def without_return(people: int, k: int) -> tuple[float, float]:
    r"""How far the share of unique people can lie below (difference) and above (factor) that of independent draws.

    Of n people c are alike. One of k drawn is alone with chance :math:`u=\prod_{j=0}^{k-2}\frac{n-c-j}{n-1-j}`; for independent
    draws it is :math:`w=(1-c/n)^{k-1}`. Factor by factor :math:`u\le w\,(n/(n-1))^{k-1}`, and :math:`u\ge w` while
    :math:`c(k-1)\le n`; beyond, :math:`w-u` has one hump, which is looked up.

    >>> without_return(1_000_000, 10)[1] < 1.00001, without_return(1000, 500)[0] < 0.2
    (True, True)
    """
    rise = math.exp((k - 1) * -math.log1p(-1 / people))
    dip = 0.0
    for i in range(200):
        c = min(people - 1.0, 1.02**i * people / max(k - 1, 1))
        w = math.exp((k - 1) * math.log1p(-c / people))
        inside = people - c - k + 2 > 0
        u = math.lgamma(people - c + 1) - math.lgamma(people - c - k + 2) if inside else -math.inf
        dip = max(dip, w - math.exp(min(0.0, u - math.lgamma(people) + math.lgamma(people - k + 1))))
    return min(1.0, 1.01 * dip + 1e-6), rise


def _ceiling(summary: Summary, k: int) -> float:
    """The largest share that any distribution on the record's cells can have."""
    from shoal.prediction.summaries.kappa import largest_possible_mean

    return min(1.0, largest_possible_mean(summary.cells, k) / k)


def _band(summary: Summary, group_size: int, error: float) -> tuple[float, float]:
    rounded = summary.statistics[f"unique_{group_size}"]
    return max(0.0, rounded.low - error), min(1.0, max(rounded.high + error, 0.0))


def _pairs(summary: Summary, error: float) -> tuple[float, float]:
    """The share unique among two people, 1 − S_2; exchanging one person of a sample moves it by 2/n, not (1 + r)/n."""
    low, high = (1 - min(1.0, math.exp(-h)) for h in (summary.statistics["h2"].low, summary.statistics["h2"].high))
    return max(0.0, low - 2 / 1.2 * error), min(1.0, high + 2 / 1.2 * error)


def expected_crowd(summary: Summary, group_size: int, *, sampled: bool = False) -> Estimate:
    """Expected number of people in a group who are like a random member, themselves included: 1 + (k − 1) S_2.

    Drawn without return it is 1 + (k − 1)(n S_2 − 1)/(n − 1): the interval holds both. In a sample, exchanging one person
    moves S_2 by 2/n at most.
    """
    k = checked_group(group_size)
    h2, n = summary.statistics["h2"], summary.fewest
    error = 2 / 1.2 * sampling_error(n) if sampled else 0.0
    value, least, most = (min(1.0, math.exp(-h)) for h in (h2.value, h2.high, h2.low))
    low = 1 + (k - 1) * max(0.0, min(least, (n * least - 1) / (n - 1)) - error)
    high = 1 + (k - 1) * min(1.0, most + error)
    level, notes = _sure(summary, sampled=sampled)
    grade: Grade = "B" if k <= n else "C"
    notes = (*notes, LARGER) if k > n else notes
    return Estimate(1 + (k - 1) * value, low, high, level=level, method="1 + (k − 1) S_2", grade=grade, notes=notes)


def everybody_unique(summary: Summary, group_size: int, *, sampled: bool = False) -> Estimate:
    """Chance that nobody in the group shares a cell: the range that the published power sums leave open.

    >>> from shoal.registry.records.summary import summarize
    >>> e = everybody_unique(summarize([600] * 95, cells=95), 20)
    >>> e.grade, e.low < 0.116149 < e.high
    ('B', True)
    """
    chance = _all_differ(summary, checked_group(group_size))
    if sampled and chance.grade != "A":
        return replace(chance, low=0.0, high=1.0, grade="C", notes=(*chance.notes, "The record is of a sample."))
    return chance


def _all_differ(summary: Summary, k: int) -> Estimate:
    """The same for the people of a record that is not of a sample."""
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
    return _without_repeats(base, summary.fewest, k)


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


def _without_repeats(base: Estimate, people: int, k: int) -> Estimate:
    """Drawn without return, everybody is unique likelier by the factor n^k / (n (n − 1) … (n − k + 1))."""
    if k > people:
        return replace(base, low=0.0, high=1.0, grade="C", notes=(*base.notes, LARGER))
    rise = k * math.log(people) - math.lgamma(people + 1) + math.lgamma(people - k + 1)
    high = min(1.0, math.exp(min(0.0, rise + math.log(max(base.high, 1e-300)))) + 1e-9)
    return replace(base, high=max(high, base.value), grade=base.grade if rise <= 0.1 else "C")


def most_unique(cells: float, people: int, group_size: int) -> float:
    """The largest expected share of unique people in a group that any distribution of so many people on so many cells can have.

    >>> round(most_unique(2, 5000, 41), 3), most_unique(math.inf, 5000, 41)
    (0.018, 1.0)
    """
    from shoal.prediction.summaries.kappa import largest_possible_mean

    if cells > 2**53:  # so many cells do not bound it
        return 1.0
    if group_size > people:
        return most_alone(cells, people)
    return min(1.0, without_return(people, group_size)[1] * largest_possible_mean(int(cells), group_size) / group_size)


def combine(margins: Sequence[Summary], group_size: int) -> Estimate:
    """Share of unique people on several attributes together, when only each one's own summary is known.

    Proven for any dependence: at least the largest share of any attribute alone (a finer quasi-identifier makes nobody less
    unique), at most the largest share that the number of joint cells allows. In between, the value under independence (power sums
    multiply; a gamma distribution with their mean and variance) is only a guess: grade C.
    """
    if len(margins) < 2:
        raise UsageError("combining needs at least two records.", hint="Query a single record with unique_share.")
    k = checked_group(group_size)
    low = max(unique_share(m, k).low for m in margins)
    high = max(low, most_unique(math.prod(m.cells for m in margins), min(m.fewest for m in margins), k))
    s2, s3 = (math.prod(m.power_sum(r) for m in margins) for r in (2, 3))
    spread = max(s3 - s2**2, 1e-12 * s2**2)
    scale, shape = spread / s2, s2**2 / spread
    guess = math.exp(-shape * math.log1p((k - 1) * scale))
    level, notes = max(0.0, 1 - sum(1 - m.level for m in margins)), (ASSUMPTION, MARGINS)
    method = "margins only: independence, with bounds for any dependence"
    return Estimate(min(max(guess, low), high), low, high, level=level, method=method, grade="C", notes=notes)


def one_person(shares: float | Sequence[float], group_size: int) -> dict[str, float]:
    r"""For somebody whose answer a share of the population has: the chance to be alone in a group, and the people alike in it.

    :math:`P(\text{alone}) = (1-p)^{k-1}`, expected people alike :math:`1 + (k-1)p`, oneself included. With a share s for each of
    m answers p is their product, as if they had nothing to do with each other; under any dependence p lies between
    :math:`\max(0,\sum s-(m-1))` and the smallest share (Fréchet), which gives the most and the least.

    >>> one_person(0.0124221, 40)["alone"]  # doctest: +ELLIPSIS
    0.614...
    >>> one_person([0.5, 0.01], 101)["alone_at_least"]  # doctest: +ELLIPSIS
    0.366...
    """
    k = checked_group(group_size)
    each = [shares] if isinstance(shares, int | float) else list(shares)
    if not each or not all(0 < s <= 1 for s in each):
        raise UsageError("the share of people with your answer lies between 0 and 1.", hint="Pass 0.01 for one in a hundred.")
    share, most, least = math.prod(each), min(each), max(0.0, sum(each) - (len(each) - 1))
    names, shares_of = ("alone", "alone_at_least", "alone_at_most"), (share, most, least)
    alone = {name: (1 - p) ** (k - 1) for name, p in zip(names, shares_of, strict=True)}
    return {"share": share, **alone, "alike": 1 + (k - 1) * share}


def smallest_group(share: Estimate, group_size: int) -> tuple[int, str]:
    """The smallest group to expect, and a sentence: 1 as soon as one unique person is to be reckoned with."""
    k = checked_group(group_size)
    alone = k * share.high
    if k * share.low >= 1:
        return 1, f"At least {math.floor(k * share.low):,} of {k:,} people are expected to be one of a kind."
    if alone >= 0.05:
        return 1, f"Up to {alone:.1f} of {k:,} people may be one of a kind: count on somebody being alone."
    return 2, f"Fewer than one group of {k:,} in {1 / max(alone, 1e-9):,.0f} is expected to have anybody alone."


def checked_group(group_size: int) -> int:
    """How many people will be asked: a whole number of at least 1."""
    if isinstance(group_size, bool) or int(group_size) != group_size or group_size < 1:
        raise UsageError("the group size must be a whole number of at least 1.", hint="Pass how many people will be asked.")
    return int(group_size)
