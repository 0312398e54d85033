"""More classes than may leave the engine: they are counted at the lowest levels that bring them under the limit.

Takes    a table in an engine that limits classes (Spark) or with a memory budget, a policy, and the hierarchies over all
         values of its columns
Returns  the classes at these levels, each value in the place of its group (the group's first value), and what was left unseen
Keeps    every plan at or above the levels counts exactly what it would have counted from all classes
Cost     one pass of the engine per step of a bisection over the levels, with an estimate of distinct classes (2 % error)

The levels are raised one at a time, of the column that loses least for what it joins, until the classes fit. Plans below them are
not looked at; plan and certificate say so, and no plan is called the best.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.engines.core.memory import bytes_of_class, shown
from shoal.engines.core.state import changed
from shoal.errors import HierarchyGapError, MemoryBudgetError
from shoal.kernels.arrow import from_numpy
from shoal.model.counts.classes import ClassCounts, IntArray
from shoal.release.policy.policy import Policy
from shoal.release.proof.facts import Facts
from shoal.steps import MapValues

if TYPE_CHECKING:
    from shoal.engines.table import Table
    from shoal.model.hierarchy import Hierarchy


Values = Mapping[str, tuple[Any, IntArray]]
"""The distinct values of each column, without the missing one, and how many records hold each."""


@dataclass(frozen=True, eq=False)
class Coarser:
    """Where counting began: the ``levels`` counted at, about how many classes there were and how many may leave the engine.

    ``asked`` are the lowest levels of the policy, ``values`` all values of the columns, ``missing`` the columns that lack some,
    ``before`` the numbers of all classes, which the engine counted without giving them away.
    """

    levels: Mapping[str, int]
    asked: Mapping[str, int]
    about: int
    limit: int
    values: Values
    missing: frozenset[str]
    before: Facts

    @property
    def sentence(self) -> str:
        """What a reader of plan or certificate must know."""
        began = ", ".join(f"{c} at level {n}" for c, n in self.levels.items() if n > self.asked[c])
        return (
            f"Counting began with {began}: the table has about {_round(self.about):,} classes, at most {self.limit:,} "
            "were allowed outside the engine. Finer levels of these columns were not looked at."
        )


def crowd(table: Table, policy: Policy) -> tuple[int, int] | None:
    """About how many classes (of quasi-identifiers with a sensitive value) there are and the limit, where they exceed it."""
    quasi = tuple(policy.quasi)
    limit = table.most_classes(len(quasi) + 1)
    if limit is None or table.n_rows() <= limit:
        return None
    about = table.about_classes(quasi, beside=_beside(policy))
    return (about, limit) if about > limit else None


def require_coarser(policy: Policy, start: tuple[int, int], *, allowed: bool) -> None:
    """Refuse where counting cannot begin coarser: it would miss requirements."""
    why = ""
    if policy.method not in ("best", "lattice"):
        why = f"method: {policy.method} needs them all; use method: lattice"
    elif policy.unit is not None:
        why = "people with several records are followed through all of them"
    elif not allowed:
        why = "this needs them all: an earlier plan, a comparison with earlier releases or a draft cannot begin coarser"
    if why:
        raise too_many(f"about {_round(start[0]):,} classes", start[1], len(policy.quasi), why)


def too_many(what: str, limit: int, columns: int, why: str) -> MemoryBudgetError:
    """The error for more classes than may leave the engine."""
    return MemoryBudgetError(
        f"the table has {what}; at most {limit:,} may leave the engine ({shown(limit * bytes_of_class(columns))}), and {why}.",
        hint="Raise --memory; or name fewer quasi-identifiers, or coarser ones (a min_level, or transform the table first).",
    )


def values_of(table: Table, policy: Policy, limit: int) -> tuple[Values, frozenset[str]]:
    """All values of the quasi-identifiers, and the columns that lack some; refused where a column has too many of them."""
    shared, missing = {}, set()
    if table.about_classes((), beside=tuple(policy.quasi)) > limit:
        about, name = max((table.about_classes((name,)), name) for name in policy.quasi)
        why = f"column '{name}' alone has about {_round(about):,} different values, whose levels would have to be built"
        raise too_many("too many classes", limit, 1, why)
    for name in policy.quasi:
        values, counts = table.values(name)
        lacking = values.null_count > 0  # the missing value comes last
        missing |= {name} if lacking else set()
        shared[name] = (values.slice(0, len(values) - lacking), counts[: len(values) - lacking])
    return shared, frozenset(missing)


def began(table: Table, policy: Policy, hierarchies: Mapping[str, Hierarchy], values: Values, missing: frozenset[str],
          start: tuple[int, int]) -> tuple[Coarser, ClassCounts, Policy]:  # fmt: skip
    """Where counting began, the classes there, and the policy with these levels as its lowest."""
    about, limit = start
    least = {c: min(r.min_level or 0, hierarchies[c].height) for c, r in policy.quasi.items()}
    levels = _lowest(table, policy, hierarchies, values, least, limit)
    coarser = Coarser(levels, least, about, limit, values, missing, _before(table, policy))
    quasi = {c: replace(r, min_level=levels[c] or r.min_level) for c, r in policy.quasi.items()}
    return coarser, count_at(table, policy, hierarchies, values, levels), replace(policy, quasi=quasi)


def _lowest(
    table: Table, policy: Policy, hierarchies: Mapping[str, Hierarchy], values: Values, asked: Mapping[str, int], limit: int
) -> dict[str, int]:
    """The first levels on the way up at which the classes fit."""
    path = _way_up(policy, hierarchies, asked, values)
    low, high = 0, len(path)
    while low < high:
        middle = (low + high) // 2
        steps = _steps(hierarchies, values, path[middle])
        if table.about_classes(tuple(policy.quasi), through=steps, beside=_beside(policy)) <= limit:
            high = middle
        else:
            low = middle + 1
    if low == len(path):
        why = "even at the highest levels that the policy allows they are too many"
        raise too_many("too many classes", limit, len(policy.quasi), why)
    return path[low]


def _way_up(
    policy: Policy, hierarchies: Mapping[str, Hierarchy], asked: Mapping[str, int], values: Values
) -> list[dict[str, int]]:
    """Levels from those asked for to the highest, one step at a time: the column goes up that loses least for what it joins."""
    heights = {c: hierarchies[c].height for c in policy.quasi}
    tops = {c: heights[c] if r.max_level is None else min(r.max_level, heights[c]) for c, r in policy.quasi.items()}
    steps = {c: _prices(hierarchies[c], values[c][1], r.weight) for c, r in policy.quasi.items()}
    path = [dict(asked)]
    while left := [c for c in policy.quasi if path[-1][c] < tops[c]]:
        now = path[-1]
        cheapest = min(left, key=lambda c: steps[c][now[c]])
        path.append({**now, cheapest: now[cheapest] + 1})
    return path


def _prices(hierarchy: Hierarchy, records: IntArray, weight: float) -> list[float]:
    """For each level below the highest what the step up loses, as a share of the column, per halving of its groups."""
    losses, halvings = [], []
    for level in hierarchy.levels:
        groups = level.groups[: len(records)]
        covered = np.asarray(level.leaf_counts)[groups] - 1
        losses.append(weight * float(covered @ records) / max(1, (hierarchy.n_leaves - 1) * int(records.sum())))
        halvings.append(math.log2(max(1, len(np.unique(groups)))))
    pairs = zip(losses[:-1], losses[1:], halvings[:-1], halvings[1:], strict=True)
    return [(after - before) / (many - few) if many > few else math.inf for before, after, many, few in pairs]


def count_at(
    table: Table, policy: Policy, hierarchies: Mapping[str, Hierarchy], values: Values, levels: Mapping[str, int]
) -> ClassCounts:
    """The classes at ``levels``; in the place of a group stands its first value, which every level above treats alike."""
    steps = _steps(hierarchies, values, levels)
    try:
        counts = table.count(tuple(policy.quasi), through=steps, sensitive=tuple(policy.sensitive), weight=policy.weight)
    except HierarchyGapError:  # every value was listed
        raise changed() from None
    categories = [
        values[c][0].take(from_numpy(np.array([int(t) for t in k.to_pylist()], dtype=np.int64))) if c in steps else k
        for c, k in zip(counts.columns, counts.categories, strict=True)
    ]
    return replace(counts, categories=tuple(categories))


def _steps(hierarchies: Mapping[str, Hierarchy], values: Values, levels: Mapping[str, int]) -> dict[str, MapValues]:
    """Each raised column with the place of its group's first value; as texts of one length, which sort as the values do."""
    steps = {}
    for name, level in levels.items():
        n = len(values[name][0])
        if level == 0 or n == 0:
            continue
        groups = hierarchies[name].levels[level].groups[:n]
        first, targets = np.unique(groups, return_index=True)[1], np.unique(groups, return_inverse=True)[1]
        labels = tuple(f"{place:010d}" for place in first.tolist())
        steps[name] = MapValues(name, hierarchies[name].leaves[:n], tuple(targets.tolist()), labels)
    return steps


def rare_in_groups(coarser: Coarser, hierarchy: Hierarchy, name: str, gone: IntArray) -> IntArray:
    """How many published records hold each value at least: its records less all that its group lost (``gone``)."""
    groups = hierarchy.levels[coarser.levels[name]].groups[: len(coarser.values[name][1])]
    least: IntArray = np.maximum(coarser.values[name][1] - gone[groups], 0)
    return least


def _before(table: Table, policy: Policy) -> Facts:
    """The numbers of all classes, from how many there are of each size."""
    sizes = table.class_sizes(tuple(policy.quasi))
    records = sum(size * n for size, n in sizes.items())
    return Facts(records, sum(sizes.values()), min(sizes), sizes.get(1, 0), sizes, {})


def _beside(policy: Policy) -> Sequence[str]:
    return tuple(c for c in policy.sensitive if c not in policy.quasi)


def _round(n: int) -> int:
    """Two digits: an estimate, and no count of people."""
    return int(float(f"{n:.1e}"))
