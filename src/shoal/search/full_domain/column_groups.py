"""Lower bounds from groups of columns, for lattices too large to list.

Takes    an Evaluator and an Objective that adds up over columns (a cell loss)
Returns  Floors: disjoint groups of columns, and for each what its columns cost at least in any plan
Keeps    the sum of the floors ≤ the total of every plan
Method   with all other columns at their highest level classes are as large as they can be, so every plan loses the records
         that are lost there at the plan's own levels of the group, and its columns cost no less than in the best plan of the
         group by itself. That lattice is small enough to list. Columns that tell most are put together: alone they would
         need no generalization. Only the size that classes need is asked for, so the bound holds beside any other requirement.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from shoal.model.counts.classes import FloatArray
from shoal.search.full_domain.compiled_search import CompiledSearch, is_compiled
from shoal.search.full_domain.evaluator import Evaluator
from shoal.search.full_domain.listed_search import ListedSearch
from shoal.search.full_domain.objective import EPSILON, Objective
from shoal.search.full_domain.sources import prefix_order
from shoal.search.problem.checks import Checks
from shoal.search.problem.control import Control
from shoal.search.problem.problem import Node, Problem, build_problem

GROUP_NODES = {50_000: 0.1, 600_000: 0.25}
"""Nodes that the lattice of a group may have, and the part of the time left that such groups together may take."""
HARDLY_LESS = 0.95
LEAST_SECONDS = 2.0
"""A shorter time is better spent on looking for a plan."""


@dataclasses.dataclass(frozen=True, eq=False)
class Floors:
    """For each column the number of its group; for each group the least total of its columns."""

    group: npt.NDArray[np.intp]
    least: FloatArray

    def bound(self, terms: FloatArray, node: Node) -> float:
        """At least what a plan costs whose columns cost at least the terms at the levels of the node."""
        own = terms[np.arange(len(node)), list(node)]
        return float(np.maximum(np.bincount(self.group, weights=own, minlength=len(self.least)), self.least).sum())


def find_floors(evaluator: Evaluator, objective: Objective, control: Control) -> Floors | None:
    """The floors with the highest sum that the time allows; None where there is little, or no size of classes is asked for."""
    if evaluator.checks.least < 2 or objective.cells is None or control.seconds_left < LEAST_SECONDS:
        return None
    checks = dataclasses.replace(
        evaluator.checks, sensitive=(), average_risk=1.0, uniqueness=1.0, population_uniqueness=(), least_population=0
    )
    with control.uncounted():  # have everything compiled, on the lattice of one column
        _least(evaluator, checks, objective, column_groups(evaluator.problem, 1)[0], Control(steps=1))
    best, tried = None, []
    for most, share in GROUP_NODES.items():
        groups = column_groups(evaluator.problem, most)
        if len(groups) > 1 and groups not in tried:
            floors = _floors(evaluator, checks, objective, groups, share, control)
            if best is None or floors.least.sum() > best.least.sum():
                best = floors
        tried.append(groups)
    return best


def _floors(
    evaluator: Evaluator, checks: Checks, objective: Objective, groups: list[tuple[int, ...]], share: float, control: Control
) -> Floors:
    number, least = np.zeros(len(evaluator.problem.columns), dtype=np.intp), np.zeros(len(groups))
    for g, columns in enumerate(groups):
        number[list(columns)] = g
        if not control.cancelled():
            side = control.part(share / (len(groups) - g))
            least[g] = _least(evaluator, checks, objective, columns, side)
    return Floors(number, least)


def column_groups(problem: Problem, most: int) -> list[tuple[int, ...]]:
    """The columns in groups whose lattices have at most so many nodes, or a single column: as few groups as can be filled one by
    one with the columns that tell most, or as many about equally large ones where these tell hardly less together.

    What a group costs grows faster than the logarithm of its nodes, so the sum of the squares of these is compared.
    """
    filled = _fill_groups(problem, most)
    even = _even(problem, len(filled))
    fits = all(len(g) == 1 or _n_nodes(problem, g) <= most for g in even)
    return even if fits and _weight(problem, even) >= HARDLY_LESS * _weight(problem, filled) else filled


def _fill_groups(problem: Problem, most: int) -> list[tuple[int, ...]]:
    groups: list[list[int]] = []
    waiting = prefix_order(problem)
    while waiting:
        mine: list[int] = []
        for j in waiting:
            if not mine or _n_nodes(problem, (*mine, j)) <= most:
                mine.append(j)
        groups.append(mine)
        waiting = [j for j in waiting if j not in mine]
    return [tuple(sorted(g)) for g in groups]


def _even(problem: Problem, n: int) -> list[tuple[int, ...]]:
    """The columns in so many groups, each column put into the group with the fewest nodes so far."""
    groups: list[list[int]] = [[] for _ in range(n)]
    for j in prefix_order(problem):
        min(groups, key=lambda g: _n_nodes(problem, g)).append(j)
    return [tuple(sorted(g)) for g in groups]


def _n_nodes(problem: Problem, columns: Sequence[int]) -> int:
    return math.prod(problem.columns[j].height + 1 for j in columns)


def _weight(problem: Problem, groups: list[tuple[int, ...]]) -> float:
    return sum(math.log(_n_nodes(problem, g)) ** 2 for g in groups)


def _least(evaluator: Evaluator, checks: Checks, objective: Objective, columns: tuple[int, ...], control: Control) -> float:
    """What the columns cost at least, by a search over their levels with all others at the highest."""
    problem = evaluator.problem
    bounds = {c.name: (c.heights[0 if j in columns else -1], c.heights[-1]) for j, c in enumerate(problem.columns)}
    part = build_problem(problem.counts, {c.name: c.hierarchy for c in problem.columns}, bounds=bounds)
    alone = Evaluator(part, checks, evaluator.limit, threads=evaluator.threads)
    mine = objective.of_columns(part, columns)
    search = CompiledSearch(alone, mine) if is_compiled(alone, mine, control) else ListedSearch(alone, mine)
    least = search.run(control)
    evaluator.evaluated += alone.evaluated
    return max(0.0, least.lower - EPSILON) if math.isfinite(least.lower) else 0.0
