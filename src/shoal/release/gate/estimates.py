"""Numbers that requirements ask for and no file holds: uniques of the population, estimated from the class sizes of the release.

What a population table says (k-map, the journalist's risk) is counted before a release is written (:mod:`shoal.release.plan`).
"""

from __future__ import annotations

from collections.abc import Iterable

from shoal.model.requirement import PopulationUniqueness, Requirement
from shoal.predict.population.unique_share import unique_share
from shoal.release.proof.facts import Facts
from shoal.release.proof.judge import Given


def estimates(requirements: Iterable[Requirement], facts: Facts) -> Given:
    """The estimated share of population uniques, where one is asked for."""
    asked = [r for r in requirements if isinstance(r, PopulationUniqueness)]
    return {r.place: unique_share(facts.sizes, r.population, r.method) for r in asked}
