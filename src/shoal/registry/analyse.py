r"""From published summaries to predictions: who will be unique in a group of k people?

The share of unique people :math:`\varphi(k) = \sum p(1-p)^{k-1}` is a mixture of powers, hence decreasing and log-convex in k.
Between two published group sizes it therefore lies above the right one and below the chord of logarithms: the interval below
is proven, not estimated, up to the rounding of the record.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from shoal.errors import UsageError
from shoal.model.estimate import Estimate
from shoal.registry.summary import GROUP_SIZES, Summary

ASSUMPTION = "The group is drawn at random from the population; people who answer are not always."


def unique_share(summary: Summary, group_size: int) -> Estimate:
    """Expected share of a group that is one of a kind, with proven bounds.

    >>> from shoal.registry.summary import summarize
    >>> e = unique_share(summarize([600] * 90 + [10] * 5, cells=95), 100)
    >>> e.grade, e.low < 0.331 < e.high
    ('B', True)
    """
    k = _group(group_size)
    points = [(1, 1.0, 1.0)] + [(g, *_band(summary, g)) for g in GROUP_SIZES]
    notes = (ASSUMPTION,) if k <= summary.size else (ASSUMPTION, "The group is larger than the population of the record.")
    for (k1, low1, high1), (k2, low2, high2) in pairwise(points):
        if k1 <= k <= k2:
            weight = (k - k1) / (k2 - k1)
            chord = math.exp((1 - weight) * math.log(max(high1, 1e-300)) + weight * math.log(max(high2, 1e-300)))
            low = low2 if k > k1 else low1
            high = max(low, min(high1, chord, _ceiling(summary, k)))
            across = (math.log(k) - math.log(k1)) / (math.log(k2) - math.log(k1))
            middle = (low1 + high1) / 2 * (1 - across) + (low2 + high2) / 2 * across
            value = min(max(middle, low), high)
            return Estimate(value, low, high, level=1.0, method="bounds between published group sizes", grade="B", notes=notes)
    high = min(points[-1][2], _ceiling(summary, k))
    return Estimate(high / 2, 0.0, high, level=1.0, method="below the largest published group size", grade="C", notes=notes)


def _ceiling(summary: Summary, k: int) -> float:
    """The largest share that any distribution on the record's cells can have."""
    from shoal.predict.summaries import largest_possible_mean

    return min(1.0, largest_possible_mean(summary.cells, k) / k)


def _band(summary: Summary, group_size: int) -> tuple[float, float]:
    rounded = summary.statistics[f"unique_{group_size}"]
    return max(0.0, rounded.low), min(1.0, max(rounded.high, 0.0))


def expected_crowd(summary: Summary, group_size: int) -> Estimate:
    """Expected number of people in a group who are like a random member, themselves included: 1 + (k − 1) S_2."""
    k = _group(group_size)
    h2 = summary.statistics["h2"]
    value, low, high = (1 + (k - 1) * math.exp(-h) for h in (h2.value, h2.high, h2.low))
    return Estimate(value, low, high, level=1.0, method="1 + (k − 1) S_2", grade="B", notes=(ASSUMPTION,))


def everybody_unique(summary: Summary, group_size: int) -> Estimate:
    """Chance that nobody in the group shares a cell, from the published power sums, else from κ."""
    from shoal.predict.summaries import uniqueness_from_kappa, uniqueness_from_power_sums

    k = _group(group_size)
    p_max = math.exp(-summary.statistics["hmin"].value)
    if k * p_max < 0.45:
        return uniqueness_from_power_sums([summary.power_sum(r) for r in range(2, 7)], k, p_max=p_max)
    return uniqueness_from_kappa(max(0.0, summary.statistics["kappa"].value), summary.cells, k, p_max=p_max)


def combine(margins: Sequence[Summary], group_size: int) -> Estimate:
    """Share of unique people on several attributes together, when only each one's own summary is known.

    Proven whatever the dependence: at least the largest share of any attribute alone (a finer quasi-identifier makes nobody less
    unique), at most the largest share that the number of joint cells allows. In between, the value under independence (power sums
    multiply; a gamma distribution with their mean and variance) is only a guess: grade C.
    """
    if len(margins) < 2:
        raise UsageError("combining needs at least two records.", hint="Query a single record with unique_share.")
    from shoal.predict.summaries import largest_possible_mean

    k = _group(group_size)
    low = max(unique_share(m, k).low for m in margins)
    cells = math.prod(m.cells for m in margins)
    high = max(low, min(1.0, largest_possible_mean(cells, k) / k))
    s2, s3 = (math.prod(m.power_sum(r) for m in margins) for r in (2, 3))
    spread = max(s3 - s2**2, 1e-12 * s2**2)
    scale, shape = spread / s2, s2**2 / spread
    guess = math.exp(-shape * math.log1p((k - 1) * scale))
    return Estimate(
        min(max(guess, low), high),
        low,
        high,
        level=1.0,
        method="margins only: independence, with bounds for any dependence",
        grade="C",
        notes=(ASSUMPTION, "No record of the attributes together was found; the value assumes independence."),
    )


def smallest_group(summary: Summary, group_size: int) -> tuple[int, str]:
    """The smallest group to expect, and a sentence: 1 as soon as one unique person is expected."""
    k = _group(group_size)
    share = unique_share(summary, k)
    alone = k * share.high
    if k * share.low >= 1:
        return 1, f"At least {k * share.low:.0f} of {k} people are expected to be one of a kind."
    if alone >= 0.05:
        return 1, f"Up to {alone:.1f} of {k} people may be one of a kind: count on somebody being alone."
    return 2, f"Fewer than one group of {k} in {1 / max(alone, 1e-9):.0f} is expected to have anybody alone."


def _group(group_size: int) -> int:
    if isinstance(group_size, bool) or int(group_size) != group_size or group_size < 1:
        raise UsageError("the group size must be a whole number of at least 1.", hint="Pass how many people will be asked.")
    return int(group_size)
