"""Against a population table: k-map and δ-presence.

Takes    ClassCounts of the release and of the population over the same columns (values are matched by their canonical text)
Keeps    k-map ≥ k of the release; 0 ≤ δ_min ≤ δ_max ≤ 1
Source   METHODS §21; Sweeney 2002 (k-map); Nergiz, Atzori & Clifton 2007 (δ-presence)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.errors import UsageError, missing_column
from shoal.kernels.group import group_codes, sum_by
from shoal.measures.classes.risk import checked_population
from shoal.measures.metrics import metric
from shoal.model.counts.classes import MISSING, ClassCounts, CodeArray, IntArray

HELPERS = ("matched_sizes", "presence")


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

    def to_json(self) -> dict[str, Any]:
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
        raise UsageError(
            "the table counts people, the population table counts rows.", hint="Name the population's person column too."
        )
    codes = []
    for j, name in enumerate(release.columns):
        i = population.column(name)
        theirs = _translated(population.codes[i], population.categories[i], release.categories[j])
        codes.append(np.concatenate((release.codes[j], theirs)))
    n = release.n_classes
    grouping = group_codes(codes, n_rows=n + population.n_classes)
    f = sum_by(grouping.ids[:n], release.sizes, grouping.n)
    big = sum_by(grouping.ids[n:], population.sizes, grouping.n)
    return f, big, grouping.ids[:n]


def _translated(codes: CodeArray, theirs: Any, ours: Any) -> CodeArray:
    """Codes of the population in terms of the release's categories; values that the release lacks get new codes."""
    place = {text: i for i, text in enumerate(_texts(ours))}
    table = [place.setdefault(text, len(place)) for text in _texts(theirs)]
    out: CodeArray = np.append(np.asarray(table, dtype=np.int32), np.int32(MISSING))[codes]
    return out


def _texts(categories: Any) -> list[str]:
    if isinstance(categories, list | tuple):
        return [str(c) for c in categories]
    from shoal.kernels.text import canonical_text

    texts: list[str] = canonical_text(categories).to_pylist()
    return texts
