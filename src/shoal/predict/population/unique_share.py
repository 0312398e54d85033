"""The estimated share of a population that is unique in it, by one method: what a requirement is about."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from shoal.predict.population.uniques import population


def unique_share(sizes: Mapping[int, int], people: int, method: str = "dankar") -> float:
    """Estimated population uniques over the population, from a table of class sizes; 1 where no model fits.

    Where no class has one member, models that start from sample uniques say 0, as Dankar's rule does. Where the release is the
    whole population, uniques are counted.

    >>> unique_share({2: 5}, 1000), unique_share({1: 4, 2: 3}, 10)
    (0.0, 0.4)
    """
    return _share(tuple(sorted(sizes.items())), people, method)


@lru_cache(maxsize=4096)
def _share(classes: tuple[tuple[int, int], ...], people: int, method: str) -> float:
    found = population(dict(classes), people)
    counted = method == "dankar" or found.sample_size == people
    uniques = None if counted else found.model(method).uniques
    if uniques is None and found.uniques is not None and (counted or found.sample_uniques == 0):
        uniques = found.uniques.value
    return 1.0 if uniques is None else min(1.0, float(uniques) / people)
