r"""From published summaries to predictions: who will be unique in a group of k people?

The share of unique people :math:`\varphi(k) = \sum p(1-p)^{k-1}` is a mixture of powers, hence decreasing and log-convex in k.
Between two published group sizes it therefore lies above the right one and below the chord of logarithms: the interval below
is proven, not estimated, up to the rounding of the record.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise

from shoal.errors import UsageError
from shoal.model.estimate import Estimate, Grade
from shoal.registry.summary import GROUP_SIZES, Summary

ASSUMPTION = "The group is drawn at random from the population; people who answer are not always."
AVERAGE = "This is an average over people: somebody with a rare answer is far likelier to be alone."


def unique_share(summary: Summary, group_size: int) -> Estimate:
    """Expected share of a group that is one of a kind, with proven bounds.

    They hold for people drawn one by one from the population with or without putting them back.

    >>> from shoal.registry.summary import summarize
    >>> e = unique_share(summarize([600] * 90 + [10] * 5, cells=95), 100)
    >>> e.grade, e.low < 0.331 < e.high
    ('B', True)
    """
    k = _group(group_size)
    points = [(1, 1.0, 1.0)] + [(g, *_band(summary, g)) for g in GROUP_SIZES]
    for (k1, low1, high1), (k2, low2, high2) in pairwise(points):
        if k1 <= k <= k2:
            weight = (k - k1) / (k2 - k1)
            chord = math.exp((1 - weight) * math.log(max(high1, 1e-300)) + weight * math.log(max(high2, 1e-300)))
            low = low2 if k > k1 else low1
            high = max(low, min(high1, chord, _ceiling(summary, k)))
            across = (math.log(k) - math.log(k1)) / (math.log(k2) - math.log(k1))
            middle = (low1 + high1) / 2 * (1 - across) + (low2 + high2) / 2 * across
            value = min(max(middle, low), high)
            base = Estimate(value, low, high, level=1.0, method="bounds between published group sizes", notes=(ASSUMPTION,))
            return _of_people(base, summary.fewest, k)
    high = min(points[-1][2], _ceiling(summary, k))
    name = "below the largest published group size"
    base = Estimate(high / 2, 0.0, high, level=1.0, method=name, grade="C", notes=(ASSUMPTION,))
    return _of_people(base, summary.fewest, k)


def _of_people(base: Estimate, people: int, k: int) -> Estimate:
    """The same share for a group drawn from finitely many people: the value none of them twice, the interval either way."""
    if k > people:
        return replace(base, low=0.0, high=1.0, grade="C", notes=(*base.notes, "The group is larger than the population."))
    dip, rise = without_return(people, k)
    high = min(1.0, base.high * rise)
    return replace(base, value=min(high, base.value * rise), low=max(0.0, base.low - dip), high=high)


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
    from shoal.predict.summaries import largest_possible_mean

    return min(1.0, largest_possible_mean(summary.cells, k) / k)


def _band(summary: Summary, group_size: int) -> tuple[float, float]:
    rounded = summary.statistics[f"unique_{group_size}"]
    return max(0.0, rounded.low), min(1.0, max(rounded.high, 0.0))


def expected_crowd(summary: Summary, group_size: int) -> Estimate:
    """Expected number of people in a group who are like a random member, themselves included: 1 + (k − 1) S_2.

    Drawn without return it is 1 + (k − 1)(n S_2 − 1)/(n − 1): the interval holds both.
    """
    k = _group(group_size)
    h2, n = summary.statistics["h2"], summary.fewest
    value, least, high = (1 + (k - 1) * min(1.0, math.exp(-h)) for h in (h2.value, h2.high, h2.low))
    low = max(1.0, 1 + (k - 1) * (n * math.exp(-h2.high) - 1) / (n - 1))
    grade: Grade = "B" if k <= n else "C"
    notes = (ASSUMPTION,) if k <= n else (ASSUMPTION, "The group is larger than the population.")
    return Estimate(value, min(low, least), high, level=1.0, method="1 + (k − 1) S_2", grade=grade, notes=notes)


def everybody_unique(summary: Summary, group_size: int) -> Estimate:
    """Chance that nobody in the group shares a cell: the range that the published power sums leave, their rounding included."""
    from shoal.predict.power_sums import uniqueness_from_power_sums

    k = _group(group_size)
    if k > summary.cells:
        return Estimate.exact(0.0, method="more people than cells", log_value=-math.inf)
    orders = range(2, 7)
    loose = [math.expm1((r - 1) * (e.high - e.low) / 2) for r in orders if (e := summary.statistics[f"h{r}"])]
    p_max = min(1.0, math.exp(-summary.statistics["hmin"].low))
    sums = [min(1.0, summary.power_sum(r)) for r in orders]
    found = uniqueness_from_power_sums(sums, k, p_max=p_max, cells=summary.cells, error=loose)
    return _all_of_people(found, summary.fewest, k)


def _all_of_people(base: Estimate, people: int, k: int) -> Estimate:
    """Drawn without return, everybody is unique likelier by the factor n^k / (n (n − 1) … (n − k + 1))."""
    if k > people:
        return replace(base, low=0.0, high=1.0, grade="C", notes=(*base.notes, "The group is larger than the population."))
    rise = k * math.log(people) - math.lgamma(people + 1) + math.lgamma(people - k + 1)
    high = min(1.0, math.exp(min(0.0, rise + math.log(max(base.high, 1e-300)))) + 1e-9)
    grade = base.grade if rise <= 0.1 else "C"
    return replace(base, high=max(high, base.value), grade="B" if grade == "A" and high > base.high else grade)


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
    cells, people = math.prod(m.cells for m in margins), min(m.fewest for m in margins)
    rise = without_return(people, k)[1] if k <= people else math.inf
    high = max(low, min(1.0, rise * largest_possible_mean(cells, k) / k))
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


def one_person(share: float, group_size: int) -> dict[str, float]:
    r"""For somebody whose answer a share of the population has: the chance to be alone in a group, and the people alike in it.

    :math:`P(\text{alone}) = (1-p)^{k-1}`, expected people alike :math:`1 + (k-1)p`, oneself included (METHODS §6).

    >>> one_person(0.0124221, 40)["alone"]  # doctest: +ELLIPSIS
    0.614...
    """
    k = _group(group_size)
    if not 0 < share <= 1:
        raise UsageError("the share of people with your answer lies between 0 and 1.", hint="Pass 0.01 for one in a hundred.")
    return {"share": share, "alone": (1 - share) ** (k - 1), "alike": 1 + (k - 1) * share}


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
