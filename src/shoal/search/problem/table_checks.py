"""Requirements on the published table as a whole: average risk, share of uniques, estimated population uniques.

Where they are not met, further classes are suppressed, the smallest first. For the average risk J/n this is the cheapest way:
the excess Σ(1 − r·n_c) falls most per class, and fewest records go, where classes are smallest. For uniques it removes just
them. For the population estimate it is a rule, not an optimum.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from shoal.model.counts.classes import IntArray
from shoal.model.requirement import TOLERANCE, PopulationUniqueness
from shoal.search.problem.checks import Checks

Flags = npt.NDArray[np.bool_]


def suppress_for_table(checks: Checks, members: IntArray, records: IntArray, failed: Flags, limit: int) -> Flags:
    """The failed classes, and the smallest others that must go for the table's requirements."""
    lost = failed.copy()
    open_ = np.flatnonzero(~failed & (records > 0))
    order = open_[np.lexsort((open_, members[open_]))]
    cut = 0
    if checks.average_risk < 1.0:
        excess = 1.0 - checks.average_risk * members[order]
        left = np.concatenate([np.cumsum(excess[::-1])[::-1], [0.0]])  # excess of what stays after the first i go
        cut = max(cut, int(np.argmax(left <= TOLERANCE)))
    if checks.uniqueness < 1.0:
        alone = int((members[order] == 1).sum())
        total = int(members[order].sum())
        gone = np.arange(alone + 1)
        cut = max(cut, int(np.argmax(alone - gone <= checks.uniqueness * (total - gone) + TOLERANCE)))
    lost[order[:cut]] = True
    if checks.population_uniqueness:
        _suppress_for_population(checks, members, records, order, cut, lost, limit)
    return lost


def table_holds(checks: Checks, members: IntArray, records: IntArray, lost: Flags) -> bool:
    """Whether the classes that stay meet every requirement on the table. Nothing published meets them all."""
    kept = members[~lost & (records > 0)]
    if not len(kept):
        return True
    total = int(kept.sum())
    return (
        len(kept) <= (checks.average_risk + TOLERANCE) * total
        and int((kept == 1).sum()) <= (checks.uniqueness + TOLERANCE) * total
        and all(population_share(kept, r) <= r.share + TOLERANCE for r in checks.population_uniqueness)
    )


def _suppress_for_population(
    checks: Checks, members: IntArray, records: IntArray, order: IntArray, cut: int, lost: Flags, limit: int
) -> None:
    """Suppress classes size by size, smallest first, until the estimate is met or the limit is passed."""
    for size in np.unique(members[order[cut:]]):
        if table_holds(checks, members, records, lost) or int(records[lost].sum()) > limit:
            return
        at = order[cut:]
        lost[at[members[at] <= size]] = True


def population_share(sizes: IntArray, requirement: PopulationUniqueness) -> float:
    """Estimated population uniques over the population, from the class sizes of the release; 1 where no model fits.

    Where no class has one member, models that start from sample uniques say 0, as Dankar's rule does. Where the release is the
    whole population, uniques are counted.
    """
    values, numbers = np.unique(sizes, return_counts=True)
    classes = tuple(zip(values.tolist(), numbers.tolist(), strict=True))
    return _population_share(classes, requirement.population, requirement.method)


@lru_cache(maxsize=4096)
def _population_share(classes: tuple[tuple[int, int], ...], size: int, method: str) -> float:
    from shoal.predict.population.uniques import population

    found = population(dict(classes), size)
    counted = method == "dankar" or found.sample_size == size
    uniques = None if counted else found.model(method).uniques
    if uniques is None and found.uniques is not None and (counted or found.sample_uniques == 0):
        uniques = found.uniques.value
    return 1.0 if uniques is None else min(1.0, float(uniques) / size)
