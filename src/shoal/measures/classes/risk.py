"""How likely is a re-identification? Prosecutor, journalist and marketer, each with the attacker it supposes.

Takes    ClassCounts of the release; for journalist and marketer also the population's class sizes, or none (the population
         is then the table itself, the worst case)
Keeps    prosecutor ≥ journalist ≥ marketer; only classes present in the release count
Source   METHODS §21, §22 (2i); Dankar & El Emam 2010

Against a population table: k-map and δ-presence.

Takes    ClassCounts of the release and of the population over the same columns (values are matched by their canonical text)
Keeps    k-map ≥ k of the release; 0 ≤ δ_min ≤ δ_max ≤ 1
Source   METHODS §21; Sweeney 2002 (k-map); Nergiz, Atzori & Clifton 2007 (δ-presence)
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from shoal.errors import DataError, UsageError, missing_column
from shoal.kernels.group import group_codes, sum_by
from shoal.kernels.text import canonical_text
from shoal.measures.classes.anonymity import Groups, each_once, k_anonymity, members_of, people_at
from shoal.measures.metrics import metric
from shoal.model.counts.classes import MISSING, ClassCounts, CodeArray, IntArray

if TYPE_CHECKING:
    import pyarrow as pa

HELPERS = ("members_above", "checked_population", "matched_sizes", "presence")


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
        what = f"in {int(short.sum())} classes ({int(f[short].sum())} records) the release has more members than the population."
        raise DataError(what, hint="The population must contain everybody in the table, counted over the same columns.")
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


@metric("k_map", reads="population", low=1, safer="higher", merging="never lower", doubling="doubles")
def k_map(release: npt.ArrayLike, population: npt.ArrayLike) -> int:
    """Smallest population class among those that occur in the release.

    >>> k_map((1, 3, 2, 0), (4, 3, 10, 1))
    3
    """
    f, big = checked_population(release, population)
    return int(big[f > 0].min())


@metric("presence_max", reads="population", low=0, high=1, safer="lower", merging="never higher", doubling="same")
def presence_max(release: npt.ArrayLike, population: npt.ArrayLike) -> float:
    """Largest f/F over the population's classes.

    >>> round(presence_max((3, 2), (6, 3)), 6)
    0.666667
    """
    f, big = checked_population(release, population)
    return float((f / big).max())


@metric("presence_min", reads="population", low=0, high=1, safer="neither", merging="never lower", doubling="same")
def presence_min(release: npt.ArrayLike, population: npt.ArrayLike) -> float:
    """Smallest f/F over the population's classes, those without a released record included.

    >>> presence_min((3, 2, 0), (6, 3, 4))
    0.0
    """
    f, big = checked_population(release, population)
    return float((f / big).min())


@dataclass(frozen=True)
class Presence:
    """k-map and δ-presence of a release against a population table."""

    k_map: int
    delta_min: float
    delta_max: float
    release: IntArray  # f per population class
    population: IntArray  # F per population class
    of_release: IntArray  # F of each class of the release, in its order
    people: int  # people of the population, each once

    def to_json(self) -> dict[str, object]:
        return {
            "k_map": self.k_map,
            "delta_min": self.delta_min,
            "delta_max": self.delta_max,
            "population": self.people,
            "population_classes": len(self.population),
        }


def presence(release: ClassCounts, population: ClassCounts) -> Presence:
    """Match the classes of both tables, then k-map and δ-presence.

    >>> r = ClassCounts((3, 2), columns=("zip",), codes=([0, 1],), categories=(["47", "48"],))
    >>> p = ClassCounts((6, 3), columns=("zip",), codes=([0, 1],), categories=(["47", "48"],))
    >>> found = presence(r, p)
    >>> found.k_map, found.delta_min, round(found.delta_max, 4)
    (3, 0.5, 0.6667)
    """
    f, big, place = matched_sizes(release, population)
    people = population.n_members if population.n_people is None else population.n_people
    return Presence(k_map(f, big), presence_min(f, big), presence_max(f, big), f, big, big[place], people)


def matched_sizes(release: ClassCounts, population: ClassCounts) -> tuple[IntArray, IntArray, IntArray]:
    """Sizes f and F of the classes of both tables, and the place of each class of the release among them."""
    for name in release.columns:
        if name not in population.columns:
            raise missing_column(name, population.columns, table="population", what="quasi-identifier")
    if release.unit is not None and population.unit is None:
        hint = "Name the population's person column too."
        raise UsageError("the table counts people, the population table counts rows.", hint=hint)
    codes = []
    for j, name in enumerate(release.columns):
        i = population.column(name)
        theirs = _translate(population.codes[i], population.categories[i], release.categories[j])
        codes.append(np.concatenate((release.codes[j], theirs)))
    n = release.n_classes
    grouping = group_codes(codes, n_rows=n + population.n_classes)
    f = sum_by(grouping.ids[:n], release.sizes, grouping.n)
    big = sum_by(grouping.ids[n:], population.sizes, grouping.n)
    return f, big, grouping.ids[:n]


def _translate(codes: CodeArray, theirs: pa.Array, ours: pa.Array) -> CodeArray:
    """Codes of the population in terms of the release's categories; values that the release lacks get new codes."""
    place = {text: i for i, text in enumerate(_texts(ours))}
    table = [place.setdefault(text, len(place)) for text in _texts(theirs)]
    return np.asarray(np.append(np.asarray(table, dtype=np.int32), np.int32(MISSING))[codes])


def _texts(categories: pa.Array) -> list[str]:
    if isinstance(categories, list | tuple):
        return [str(c) for c in categories]
    texts: list[str] = canonical_text(categories).to_pylist()
    return texts
