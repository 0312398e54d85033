r"""Calibrated noise: a summary from which hardly anything can be learnt about one person, even in a first version.

Takes    cell counts, the public number of possible cells, ε
Returns  the summary that :func:`~.records.summary.summarize` would give, drawn with noise, each number with its half-width
Keeps    (ε, δ)-differential privacy for adding or removing one person, δ = 10⁻⁹: any result is at most e^ε times as likely
         with the person as without (but for a chance of δ)
Source   Dwork & Roth 2014 (Laplace mechanism, composition); Canonne, Kamath & Steinke 2020 (exact discrete sampling)

Nothing is drawn in floating point, whose last digits would betray the data: each number is put on a decimal grid, and whole
numbers of grid steps are drawn exactly, from the system's secure randomness.

How much one person can change (n people, the smaller of the two numbers; p = c/n):

* the size by 1. Its noise is cut at :func:`~.records.summary.size_reach`, so a lower bound m ≤ n is known for certain;
* :math:`H=\ln n-\frac1n\sum c\ln c` by :math:`(1+\ln n)/n`: with G = Σ c ln c, adding one to a cell of c changes H by
  :math:`\ln(1+\frac1n)+\frac{G}{n(n+1)}-\frac{d}{n+1}`, where 0 ≤ G ≤ n ln n and 0 ≤ d = (c+1) ln(c+1) − c ln c ≤ 1 + ln(n+1);
* the largest share by 1/(n+1);
* :math:`S_r=\sum\min(p,b)^r`, b an upper bound of the largest share taken from its noisy value, by :math:`r\,b^{r-1}/(n+1)`: all
  shares shrink by n/(n+1), one grows by at most 1/(n+1), and the two go in opposite directions;
* :math:`\varphi_k=\sum f(p)`, f(x) = x(1−x)^{k−1}, by :math:`(1+r_k)/(n+1)`, as −r_k ≤ f′ ≤ 1 with :math:`r_k=(1-2/k)^{k-2}`.

Of ε a tenth each goes to size, κ and largest share, a fifth to S_2 … S_6 together, half to the sixteen shares of unique.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from shoal.errors import DataError, RequirementError, UsageError
from shoal.registry.records.counts import JointCounts
from shoal.registry.records.summary import GROUP_SIZES, LEVEL, Rounded, Sizes, Summary, alone, size_reach

Below = Callable[[int], int]
"""A uniform whole number below another: ``secrets.randbelow``, or a seeded one in tests."""
Ends = tuple[float, float]

SMALLEST, LARGEST = 0.01, 10.0
FEWEST_WITH_NOISE = 2000
"""Fewer people are refused for certain; as the size itself is drawn, so may be up to twice the reach of its noise more."""
_ORDERS = tuple(range(2, 7))
_DRAWN = 2 + len(_ORDERS) + len(GROUP_SIZES)
_MOST_OPEN = 0.5


def noisy_summary(counts: npt.ArrayLike | Sizes, cells: int, epsilon: float, *, below: Below = secrets.randbelow) -> Summary:
    """Statistics of cell counts under noise of ``epsilon`` in total.

    Parameters
    ----------
    counts : array of int
        People in each occupied cell.
    cells : int
        Number of possible cells: public knowledge, since counting the occupied ones would tell of one person.
    epsilon : float
        Between 0.01 and 10; 1 is usual. Smaller hides better and tells less.

    Examples
    --------
    >>> import random
    >>> s = noisy_summary([6000] * 90 + [100] * 5, 95, 1.0, below=random.Random(1).randrange)
    >>> s.noise, s.cells, abs(s.statistics["kappa"].value - 0.04935) < s.statistics["kappa"].step
    (1.0, 95, True)
    """
    eps = check_epsilon(epsilon)
    sizes = Sizes.of(counts)
    sizes.check_cells(cells)
    reach = size_reach(float(eps))
    seen = sizes.people + _cut(eps / 10, reach, below)
    people = seen - reach
    if people < FEWEST_WITH_NOISE:
        raise _too_few()
    draw = _Draw(people, below)
    p, copies = sizes.values / sizes.people, sizes.copies
    kappa = draw(math.log(cells) + float((copies * p * np.log(p)).sum()), (1 + math.log(people)) / people, eps / 10)
    largest = draw(float(p[-1]), 1 / (people + 1), eps / 10)
    bound = min(1.0, max(largest[1], 1 / cells))
    clipped = np.minimum(p, bound)
    sums = [draw(float((copies * clipped**r).sum()), r * bound ** (r - 1) / (people + 1), eps / 25) for r in _ORDERS]
    moves, part = {k: (1 + (1 - 2 / k) ** (k - 2)) / (people + 1) for k in GROUP_SIZES}, eps / (2 * len(GROUP_SIZES))
    unique = [draw(float((copies * alone(p, k)).sum()), moves[k], part) for k in GROUP_SIZES]
    open_by = max((high - low) / 2 for low, high in unique)
    if open_by > _MOST_OPEN:
        what = f"noise of ε = {epsilon:g} would leave every share of unique people open by {open_by:.0%} either way."
        raise RequirementError(what, hint="Publish for a larger population, or with a larger ε.")
    size = _two_digits(seen)
    return Summary(size, cells, _consistent(kappa, largest, sums, unique, cells, seen + reach), noise=float(eps))


def noisy_ladder(joint: JointCounts, epsilon: float, *, below: Below = secrets.randbelow) -> tuple[Summary, JointCounts]:
    """The whole ladder of subsets and bands under one budget: counts of every combination drawn with noise of ``epsilon`` in all.

    One person is in one cell, so each count may have noise of the same nine tenths of ε; a tenth goes to the size. Everything
    else follows from what was drawn: the counts of coarser answers and of fewer attributes, and the summary.
    """
    from shoal.registry.answer.joint import share_ends, unique_ends

    eps = check_epsilon(epsilon)
    seen = sum(joint.people) + _cut(eps / 10, reach := size_reach(float(eps)), below)
    if seen - reach < FEWEST_WITH_NOISE:
        raise _too_few()
    people, cells = [max(0, n + discrete_laplace(eps * 9 / 10, below)) for n in joint.people], len(joint.people)
    off = half_width(eps * 9 / 10, (1 - LEVEL) / cells)
    less, more = share_ends(np.array(people), np.full(cells, off), 0.0)

    bits = [x * np.log(np.maximum(x, 1e-300)) for x in (less, more)]
    lowest = np.where((less < 1 / math.e) & (more > 1 / math.e), -1 / math.e, np.minimum(*bits))
    kappa = math.log(cells) + float(lowest.sum()), math.log(cells) + float(np.maximum(*bits).sum())
    sums = [(float((less**r).sum()), float((more**r).sum())) for r in _ORDERS]
    unique = [unique_ends(less, more, np.ones(cells), k) for k in GROUP_SIZES]
    ladder = _consistent(kappa, (float(less.max()), float(more.max())), sums, unique, cells, seen + reach)
    return Summary(_two_digits(seen), cells, ladder, noise=float(eps)), JointCounts(joint.answers, tuple(people), off)


def _too_few() -> DataError:
    what = f"the population has, or as far as the noise lets anybody see may have, fewer than {FEWEST_WITH_NOISE:,} people."
    return DataError(what, hint="Publish for a larger population, or without noise.")


def check_epsilon(epsilon: float) -> Fraction:
    """ε as the fraction that it is written as."""
    if isinstance(epsilon, bool) or not isinstance(epsilon, int | float) or not SMALLEST <= epsilon <= LARGEST:
        raise UsageError(f"the noise is an ε between {SMALLEST} and {LARGEST:g}.", hint="1 is usual; smaller hides better.")
    return Fraction(str(float(epsilon)))


class _Draw:
    """Draw a number with noise; the ends between which its true value lies, at the joint level."""

    def __init__(self, people: int, below: Below) -> None:
        self.people, self.below = people, below

    def __call__(self, raw: float, sensitivity: float, epsilon: Fraction) -> Ends:
        unit, steps = grid(sensitivity, epsilon)
        shown = on_grid(raw, unit) + discrete_laplace(epsilon / steps, self.below)
        reach = half_width(epsilon / steps, (1 - LEVEL) / _DRAWN) + 0.5
        return float((shown - Fraction(reach)) * unit), float((shown + Fraction(reach)) * unit)


def grid(sensitivity: float, epsilon: Fraction) -> tuple[Fraction, int]:
    """A power of ten at most a tenth of the noise, and how many of its steps one person can change.

    >>> grid(0.001, Fraction(1, 10))
    (Fraction(1, 1000), 2)
    """
    unit = Fraction(10) ** math.floor(math.log10(sensitivity / float(epsilon) / 10))
    return unit, math.ceil(Fraction(sensitivity) * Fraction(1.000001) / unit)


def on_grid(raw: float, unit: Fraction) -> int:
    """The nearest step of the grid; two numbers that lie d apart lie at most ⌈d/unit⌉ steps apart.

    >>> on_grid(0.126, Fraction(1, 100))
    13
    """
    return math.floor(Fraction(raw) / unit + Fraction(1, 2))


def half_width(epsilon: Fraction, chance: float) -> int:
    """The least t with P(|X| > t) ≤ ``chance`` for discrete Laplace X: 2 q^(t+1)/(1+q), q = e^−ε.

    >>> half_width(Fraction(1), 0.05)
    3
    """
    q = math.exp(-epsilon)
    return max(0, math.ceil(math.log(chance * (1 + q) / 2) / -float(epsilon)) - 1)


def discrete_laplace(epsilon: Fraction, below: Below) -> int:
    """A whole number x with chance proportional to e^(−ε |x|), exactly.

    >>> import random
    >>> discrete_laplace(Fraction(1, 5), random.Random(3).randrange)
    -1
    """
    s, t = epsilon.numerator, epsilon.denominator
    while True:
        u = below(t)
        if not _bernoulli_exp(u, t, below):
            continue
        v = 0
        while _bernoulli_exp(1, 1, below):
            v += 1
        size = (u + t * v) // s
        negative = below(2)
        if size or not negative:
            return -size if negative else size


def _bernoulli_exp(numerator: int, denominator: int, below: Below) -> bool:
    """True with chance e^(−numerator/denominator), for a fraction of at most 1."""
    k = 1
    while below(denominator * k) < numerator:
        k += 1
    return k % 2 == 1


def _cut(epsilon: Fraction, reach: int, below: Below) -> int:
    """Discrete Laplace noise, drawn again beyond ``reach``: its last value has a chance below δ."""
    while abs(drawn := discrete_laplace(epsilon, below)) > reach:
        pass
    return drawn


def _consistent(
    kappa: Ends, largest: Ends, sums: Sequence[Ends], unique: Sequence[Ends], cells: int, most: int
) -> dict[str, Rounded]:
    """The numbers of a record from what was drawn: entropies for power sums, and nothing that no distribution can have.

    Only what was drawn is used, so this costs no privacy; and every step keeps a true value inside its ends.
    """
    top = math.log(cells)
    entropies = [_entropy(ends, r, top) for r, ends in zip(_ORDERS, sums, strict=True)]
    hmin = _entropy(largest, 2, top)
    entropies = [_in_order(low, min(high, r / (r - 1) * hmin[1])) for r, (low, high) in zip(_ORDERS, entropies, strict=True)]
    falling = _falling([*entropies, hmin])
    least = max(0.0, top - math.log(most))
    kappa = _in_order(max(kappa[0], least), max(least, min(kappa[1], top - falling[0][0])))
    names = [f"h{r}" for r in _ORDERS] + ["hmin"]
    lonely = 1 - math.exp(-falling[0][0])
    fewest = [lonely ** (k - 1) for k in GROUP_SIZES]  # nobody is likelier to meet somebody alike than the mean says
    shares = _falling(
        [_in_order(min(1.0, max(0.0, low)), min(1.0, max(f, high))) for f, (low, high) in zip(fewest, unique, strict=True)]
    )
    names += [f"unique_{k}" for k in GROUP_SIZES]
    return {name: _round_range(*ends) for name, ends in zip(["kappa", *names], [kappa, *falling, *shares], strict=True)}


def _entropy(ends: Ends, order: int, top: float) -> Ends:
    """The Rényi entropy −ln(S)/(order − 1) for S between two ends; of order 2 also −ln of the largest share."""
    low, high = (min(1.0, max(s, math.exp(-(order - 1) * top))) for s in ends)
    return -math.log(high) / (order - 1), -math.log(low) / (order - 1)


def _falling(ends: Sequence[Ends]) -> list[Ends]:
    """Ends for values that do not rise: each at most what an earlier one can be, at least what a later one must be."""
    highs = accumulate((high for _, high in ends), min)
    lows = reversed(list(accumulate((low for low, _ in reversed(ends)), max)))
    return [_in_order(low, high) for low, high in zip(lows, highs, strict=True)]


def _in_order(low: float, high: float) -> Ends:
    return min(low, high), max(low, high)


def _round_range(low: float, high: float) -> Rounded:
    """Middle and half-width, to six digits, the half-width rounded up."""
    value = round((low + high) / 2, 6)
    return Rounded(value, math.ceil((max(high - value, value - low) + 1e-9) * 1e6) / 1e6)


def _two_digits(n: int) -> int:
    step = 10 ** max(0, len(str(n)) - 2)
    return int(round(n / step) * step)
