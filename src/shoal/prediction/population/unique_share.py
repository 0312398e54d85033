"""The estimated share of a population that is unique in it, by one method: what a requirement is about."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from shoal.prediction.population.uniques import dankar, estimate, sampled_classes


def unique_share(sizes: Mapping[int, int], people: int, method: str = "dankar") -> float:
    """Estimated population uniques over the population, from a table of class sizes; 1 where no model fits. Only the models
    that the method asks for are fitted.

    Where no class has one member, models that start from sample uniques say 0, as Dankar's rule does. Where the release is the
    whole population, uniques are counted.

    >>> unique_share({2: 5}, 1000), unique_share({1: 4, 2: 3}, 10)
    (0.0, 0.4)
    """
    return _share(tuple(sorted(sizes.items())), people, method)


@lru_cache(maxsize=4096)
def _share(classes: tuple[tuple[int, int], ...], people: int, method: str) -> float:
    data = sampled_classes(dict(classes), people)
    if data.people == people:
        return data.n1 / people
    if method == "dankar":
        uniques, _ = dankar(lambda name: estimate(name, data), data.people / people, data.n1)
    else:
        uniques = estimate(method, data)
        if uniques is None and data.n1 == 0:
            uniques = 0.0
    return 1.0 if uniques is None else min(1.0, uniques / people)
