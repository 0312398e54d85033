"""Numbers that requirements ask for and no file holds: uniques of the population, estimated from how many share a class.

What a population table says (k-map, the journalist's risk) is counted before a release is written (:mod:`shoal.release.plan`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from shoal.model.requirement import PopulationUniqueness, Requirement
from shoal.release.proof.facts import Facts
from shoal.release.proof.judge import Given


def estimates(requirements: Iterable[Requirement], facts: Facts) -> Given:
    """The estimated share of population uniques, where one is asked for."""
    asked = [r for r in requirements if isinstance(r, PopulationUniqueness)]
    if not asked:
        return {}
    from shoal.prediction.population.uniques import unique_share  # a room of fifty files, for few releases

    return {r.place: unique_share(classes_of(facts.everybody), r.population, r.method) for r in asked}


def classes_of(everybody: Mapping[int, int]) -> dict[int, int]:
    """Classes by size, as if everybody were in the smallest class of theirs only: people in several classes count once.

    >>> classes_of({1: 3, 2: 4, 5: 7})
    {1: 3, 2: 2, 5: 2}
    """
    return {size: -(-people // size) for size, people in everybody.items()}
