"""How likely is a re-identification? Prosecutor, journalist and marketer, each with the attacker it supposes.

Takes    ClassCounts of the release; for journalist and marketer also the population's class sizes, or none (the population
         is then the table itself, the worst case)
Keeps    prosecutor ≥ journalist ≥ marketer; only classes present in the release count
Source   METHODS §21, §22 (2i); Dankar & El Emam 2010
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from shoal.errors import DataError, UsageError
from shoal.measures.classes.anonymity import Groups, each_once, k_anonymity, members_of, people_at
from shoal.measures.metrics import metric
from shoal.model.counts.classes import IntArray

HELPERS = ("members_above", "checked_population")

ATTACKERS = {
    "prosecutor": "knows that one particular person is in the table and looks for that person's record",
    "journalist": "picks any record and looks for its owner in a population register, not knowing who is in the table",
    "marketer": "matches the whole table with a population register and is content with a share of right matches",
}
"""Who is supposed to attack, in a sentence."""


@metric("prosecutor_max", reads="classes", low=0, high=1, safer="lower", merging="never higher", doubling="free")
def prosecutor_max(groups: Groups) -> float:
    """Highest record risk: one over the smallest class.

    >>> from shoal.model.counts.classes import ClassCounts
    >>> prosecutor_max(ClassCounts((3, 2, 5)))
    0.5
    """
    return 1.0 / k_anonymity(groups)


@metric("prosecutor_mean", reads="classes", low=0, high=1, safer="lower", merging="never higher", doubling="free")
def prosecutor_mean(groups: Groups) -> float:
    """Average over members of one over the size of their (smallest) group: classes over members where everybody is in one.

    >>> from shoal.model.counts.classes import ClassCounts
    >>> prosecutor_mean(ClassCounts((1, 2, 2, 5)))
    0.4
    """
    once = each_once(groups)
    return float((members_of(once) / once.sizes).sum() / once.n_members)


@metric("journalist_max", reads="population", low=0, high=1, safer="lower", merging="never higher", doubling="free")
def journalist_max(release: npt.ArrayLike, population: npt.ArrayLike | None = None) -> float:
    """Highest risk against a population: one over the smallest population class among those released.

    >>> round(journalist_max((1, 3, 2, 0), (4, 3, 10, 5)), 6)
    0.333333
    """
    f, population_sizes = checked_population(release, population)
    return 1.0 / int(population_sizes[f > 0].min())


@metric("journalist_mean", reads="population", low=0, high=1, safer="lower", merging="never higher", doubling="free")
def journalist_mean(release: npt.ArrayLike, population: npt.ArrayLike | None = None) -> float:
    """Average of 1/F over the released records; the same sum as the marketer's.

    >>> round(journalist_mean((1, 3, 2, 0), (4, 3, 10, 5)), 6)
    0.241667
    """
    return marketer(release, population)


@metric("marketer", reads="population", low=0, high=1, safer="lower", merging="never higher", doubling="free")
def marketer(release: npt.ArrayLike, population: npt.ArrayLike | None = None) -> float:
    """Expected share of right matches.

    >>> round(marketer((1, 3, 2, 0), (4, 3, 10, 5)), 6)
    0.241667
    """
    f, population_sizes = checked_population(release, population)
    there = f > 0
    return float((f[there] / population_sizes[there]).sum() / f.sum())


def checked_population(release: npt.ArrayLike, population: npt.ArrayLike | None) -> tuple[IntArray, IntArray]:
    """Both sizes as whole numbers, with f ≤ F in every class; the release itself where no population is given."""
    f = np.asarray(release)
    big = f if population is None else np.asarray(population)
    if f.size == 0:
        raise DataError("the release has no records, so no risk is defined.", hint="A risk of nobody is not zero.")
    if not (np.issubdtype(f.dtype, np.integer) and np.issubdtype(big.dtype, np.integer)):
        raise DataError("class sizes must be whole numbers.", hint="Pass counts of people or records.")
    f, big = f.astype(np.int64), big.astype(np.int64)
    if f.shape != big.shape or f.ndim != 1:
        raise UsageError("release and population need one size per class.", hint="Match the classes of both first.")
    if int(f.sum()) == 0:
        raise DataError("the release has no records, so no risk is defined.", hint="A risk of nobody is not zero.")
    if int(f.min()) < 0:
        raise DataError(f"{int((f < 0).sum())} class sizes are negative.", hint="Pass counts of people or records.")
    short = f > big
    if bool(short.any()):
        raise DataError(
            f"in {int(short.sum())} classes ({int(f[short].sum())} records) the release has more members than the population.",
            hint="The population must contain everybody in the table, counted over the same columns.",
        )
    return f, big


def members_above(groups: Groups, threshold: float) -> int:
    """Members whose risk 1/n exceeds the threshold, decided without rounding (0.2 lets a class of 5 pass).

    >>> from shoal.model.counts.classes import ClassCounts
    >>> members_above(ClassCounts((1, 4, 5)), 0.2)
    5
    """
    if not 0.0 <= threshold <= 1.0:
        raise UsageError(f"a risk threshold lies between 0 and 1; found {threshold}.", hint="Use for example 0.09.")
    ratio = Fraction(str(threshold))
    once = each_once(groups)
    if not ratio:
        return once.n_members
    largest = (ratio.denominator - 1) // ratio.numerator  # the largest size with 1/size above the threshold
    return people_at(once, (largest,))[largest]
