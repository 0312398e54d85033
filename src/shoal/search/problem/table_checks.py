"""Requirements on the published table as a whole: average risk, share of uniques, estimated population uniques.

Where they are not met, further classes are suppressed, the smallest first. For the average risk J/n this is the cheapest way:
the excess Σ(1 − r·n_c) falls most per class, and fewest records go, where classes are smallest. For uniques it removes just
them. For the population estimate, and where people are in several classes, it is a rule, not an optimum.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt

from shoal.model.compare import at_most, slack
from shoal.model.counts.classes import IntArray
from shoal.search.problem.checks import Checks

Flags = npt.NDArray[np.bool_]
Crowd = Callable[[Flags], Mapping[int, int]]
"""People, each once, by the size of the smallest class of theirs among those kept."""


def suppress_for_table(
    checks: Checks, members: IntArray, records: IntArray, failed: Flags, limit: int, crowd: Crowd | None = None
) -> Flags:
    """The failed classes, and the smallest others that must go for the table's requirements.

    ``crowd`` counts people who are in several classes once; without it, members are added up.
    """
    lost = failed.copy()
    open_ = np.flatnonzero(~failed & (records > 0))
    order = open_[_by_size(members[open_])]
    cut = 0
    if crowd is None and checks.average_risk < 1.0:
        left = np.concatenate([np.cumsum(members[order][::-1])[::-1], [0]])  # members that stay after the first i go
        classes = len(order) - np.arange(len(order) + 1)
        cut = max(cut, int(np.argmax(classes <= (checks.average_risk + slack(checks.average_risk)) * left)))
    if crowd is None and checks.uniqueness < 1.0:
        alone = int((members[order] == 1).sum())
        total = int(members[order].sum())
        gone = np.arange(alone + 1)
        cut = max(cut, int(np.argmax(alone - gone <= (checks.uniqueness + slack(checks.uniqueness)) * (total - gone))))
    lost[order[:cut]] = True
    if crowd is not None or checks.estimates:
        _suppress_by_size(checks, members, records, order, cut, lost, limit, crowd)
    return lost


def table_holds(checks: Checks, members: IntArray, records: IntArray, lost: Flags, crowd: Crowd | None = None) -> bool:
    """Whether the classes that stay meet every requirement on the table. Nothing published meets them all."""
    there = ~lost & (records > 0)
    if not there.any():
        return True
    everybody = crowd(there) if crowd is not None else _added_up(members[there])
    total = sum(everybody.values())
    classes = {size: -(-n // size) for size, n in everybody.items()}
    return (
        at_most(sum(n / size for size, n in everybody.items()) / total, checks.average_risk)
        and at_most(everybody.get(1, 0) / total, checks.uniqueness)
        and (not checks.estimates or _population_holds(checks, classes))
    )


def _population_holds(checks: Checks, classes: dict[int, int]) -> bool:
    from shoal.prediction.population.uniques import unique_share  # a room of fifty files, for few searches

    return all(r.holds(unique_share(classes, r.population, r.method)) for r in checks.estimates)


def _added_up(members: IntArray) -> dict[int, int]:
    """Members by the size of their class."""
    return {size: size * n for size, n in size_table(members).items()}


def _suppress_by_size(
    checks: Checks,
    members: IntArray,
    records: IntArray,
    order: IntArray,
    cut: int,
    lost: Flags,
    limit: int,
    crowd: Crowd | None,
) -> None:
    """Suppress classes size by size, smallest first, until the requirements are met or the limit is passed."""
    for size in np.unique(members[order[cut:]]):
        if int(records[lost].sum()) > limit or table_holds(checks, members, records, lost, crowd):
            return
        at = order[cut:]
        lost[at[members[at] <= size]] = True


def _by_size(members: IntArray) -> IntArray:
    """The order of classes by their members, alike ones as they come. Short numbers are sorted by their digits, which is fast."""
    short = members.max(initial=0) < 2**16
    return np.argsort(members.astype(np.uint16) if short else members, kind="stable")


def size_table(sizes: IntArray) -> dict[int, int]:
    """How many classes have each size."""
    return dict(zip(*(x.tolist() for x in np.unique(sizes, return_counts=True)), strict=True))
