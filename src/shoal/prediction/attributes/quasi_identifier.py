r"""Can this set of columns be a quasi-identifier at all? Only sizes are needed.

n people, D possible combinations: for any distribution, the expected share of unique people is at most
:math:`D(1-1/n)^{n-1}/n` for D ≤ n and :math:`(1-1/D)^{n-1}` for D ≥ n. A set of columns that fails the test almost certainly
does not identify a share alpha of the people; one that passes may.

Source   Lodha & Thomas, theorems 1–3, corrected (METHODS §8)
Differs  exact finite bounds; McDiarmid instead of Chernoff (the indicators depend on each other)
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from shoal.errors import UsageError
from shoal.model.estimate import Estimate
from shoal.prediction.distribution import LARGEST_GROUP, fraction, whole
from shoal.prediction.summaries.kappa import largest_possible_mean

MOST_SUBSETS = 1_000_000


@dataclass(frozen=True)
class QuasiTest:
    """``possible``: at least a share ``alpha`` may be unique; ``bound`` is the largest expected share."""

    columns: tuple[str, ...]
    combinations: int
    people: int
    alpha: float
    bound: Estimate
    possible: bool
    needed: float  # combinations needed for alpha


def unique_share_limit(ratio: float) -> float:
    """The source's curve f(D/n): r/e up to 1, exp(-1/r) beyond.

    >>> round(unique_share_limit(0.5), 7), round(unique_share_limit(2), 7)
    (0.1839397, 0.6065307)
    """
    if not ratio >= 0:
        raise UsageError(f"D/n is not negative; found {ratio!r}.")
    return ratio / math.e if ratio <= 1 else math.exp(-1 / ratio)


def unique_share_bound(combinations: int, people: int) -> Estimate:
    """The largest expected share of unique people that D combinations allow, with the range 0 to it.

    >>> round(unique_share_bound(400, 100).high, 8)
    0.78050831
    """
    n = whole(people, what="people", least=1)
    beyond = isinstance(combinations, int) and combinations > LARGEST_GROUP  # everybody may be unique
    most = 1.0 if beyond else min(1.0, largest_possible_mean(whole(combinations, what="combinations", least=1), n) / n)
    notes = ("an upper bound for every distribution on these combinations, from sizes only",)
    return Estimate(most, 0.0, most, level=1.0, method="largest expected share for D cells", grade="C", notes=notes)


def needed_combinations(alpha: float, people: int = 1) -> float:
    """Combinations that a set of columns needs before a share ``alpha`` can be unique in expectation.

    n/ln(1/alpha) for alpha ≥ 1/e, else e·alpha·n.

    >>> round(needed_combinations(0.5), 7), round(needed_combinations(0.2), 7)
    (1.442695, 0.5436564)
    """
    a = fraction(alpha, what="alpha", closed=False)
    return people / math.log(1 / a) if a >= 1 / math.e else math.e * a * people


def quasi_test(sizes: Mapping[str, int] | Sequence[int], people: int, alpha: float = 0.5) -> QuasiTest:
    """The distinct-value test: can these columns together make a share ``alpha`` of ``people`` unique?

    ``sizes`` are the *possible* values per column in the population, not those of a sample.

    >>> t = quasi_test({"sex": 2, "birth date": 21900, "zip": 100_000}, 300_000_000)
    >>> t.combinations, t.possible, round(t.bound.value, 4)
    (4380000000, True, 0.9338)
    """
    named = dict(sizes) if isinstance(sizes, Mapping) else {f"column {i}": s for i, s in enumerate(sizes, start=1)}
    if not named:
        raise UsageError("no columns were given.", hint="Give the number of possible values of each.")
    n, a = whole(people, what="people", least=1), fraction(alpha, what="alpha", closed=False)
    d = math.prod(whole(s, what=f"the number of values of '{c}'", least=1) for c, s in named.items())
    bound = unique_share_bound(d, n)
    return QuasiTest(tuple(named), d, n, a, bound, bound.value >= a, needed_combinations(a, n))


def rank_subsets(sizes: Mapping[str, int], people: int, alpha: float = 0.5, *, largest: int | None = None) -> list[QuasiTest]:
    """Every set of columns, tested; those that may identify most first, of equals the smaller set.

    >>> tests = rank_subsets({"sex": 2, "age": 100, "zip": 1000}, people=50_000)
    >>> [t.columns for t in tests if t.possible]
    [('sex', 'age', 'zip'), ('age', 'zip')]
    """
    columns = list(sizes)
    top = len(columns) if largest is None else min(whole(largest, what="largest", least=1), len(columns))
    if sum(math.comb(len(columns), r) for r in range(1, top + 1)) > MOST_SUBSETS:
        raise UsageError(f"{len(columns)} columns have too many subsets.", hint="Pass largest=3.")
    tests = [
        quasi_test({c: sizes[c] for c in subset}, people, alpha)
        for r in range(1, top + 1)
        for subset in itertools.combinations(columns, r)
    ]
    return sorted(tests, key=lambda t: (-t.bound.value, len(t.columns), t.columns))
