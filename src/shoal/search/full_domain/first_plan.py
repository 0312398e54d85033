"""A first plan, sought before the clock of a search starts, so that a search that is stopped at once still has a good one.

Takes    a search that can look at nodes, and what each level of each column costs by itself
Returns  nothing: the plan is the best that the search has found then
Method   bisect the cheapest path from the lowest node to the highest for its lowest plan and, with ``every_column``, the paths
         that take one column last, or first. Then go down from the best plan by one level of one column, again and again,
         while that loses less. :func:`exchange` goes on from a plan: one column up by a level, another down.
Keeps    no specialisation of the plan by one level of one column loses less
Cost     a bisection per path, and as many looks as columns per step down; nodes that cannot be better are not evaluated
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable
from typing import Protocol

from shoal.model.counts.classes import FloatArray
from shoal.search.full_domain.objective import Incumbent
from shoal.search.problem.problem import Node


class Search(Protocol):
    """A search, as far as it is needed here."""

    incumbent: Incumbent

    def is_too_low(self, node: Node) -> bool:
        """Evaluate the node, unless its bound says that it cannot be better than the best plan; whether it is not a plan."""


def first_plan(search: Search, terms: FloatArray, heights: Node, stop: Callable[[], bool], *, every_column: bool = False) -> None:
    """Look at nodes until the best plan cannot be lowered by one step; ``stop`` is asked before each node."""
    bottom = tuple(0 for _ in heights)
    _bisect(search, cheapest_path(terms, bottom, heights), stop)
    for j, height in enumerate(heights if every_column else ()):
        last = cheapest_path(terms, bottom, (*heights[:j], 0, *heights[j + 1 :]))
        _bisect(search, [*last, *cheapest_path(terms, last[-1], heights)[1:]], stop)
        _bisect(search, cheapest_path(terms, (*bottom[:j], height, *bottom[j + 1 :]), heights), stop)
    _descend(search, stop)


def cheapest_path(terms: FloatArray, lo: Node, hi: Node, below: float = float("inf")) -> list[Node]:
    """Nodes upward from lo to hi, by the step that adds least, while the sum of the terms stays below ``below``."""
    path, at, cost = [lo], list(lo), terms.tolist()
    total = sum(cost[j][level] for j, level in enumerate(at))
    steps = [(cost[j][at[j] + 1] - cost[j][at[j]], j) for j in range(len(at)) if at[j] < hi[j]]
    heapq.heapify(steps)
    while steps and total + steps[0][0] < below:
        add, j = steps[0]
        total += add
        at[j] += 1
        path.append(tuple(at))
        if at[j] < hi[j]:
            heapq.heapreplace(steps, (cost[j][at[j] + 1] - cost[j][at[j]], j))
        else:
            heapq.heappop(steps)
    return path


def _bisect(search: Search, path: list[Node], stop: Callable[[], bool]) -> None:
    """Look for the lowest plan of a path."""
    low, high = 0, len(path) - 1
    while low <= high and not stop():
        middle = (low + high) // 2
        if search.is_too_low(path[middle]):
            low = middle + 1
        else:
            high = middle - 1


def _descend(search: Search, stop: Callable[[], bool]) -> None:
    """From the best plan to the specialisation, by one level of one column, that loses least; again while it loses less."""
    at = None
    while search.incumbent.best is not None and search.incumbent.best.node != at:
        at = search.incumbent.best.node
        for j, level in enumerate(at):
            if stop():
                return
            if level > 0:
                search.is_too_low((*at[:j], level - 1, *at[j + 1 :]))


def exchange(search: Search, heights: Node, stop: Callable[[], bool]) -> None:
    """Raise one column of the best plan by a level and lower another, by as many as that takes; again while it loses less."""
    at = None
    while search.incumbent.best is not None and search.incumbent.best.node != at:
        at = search.incumbent.best.node
        for i, j in itertools.permutations(range(len(at)), 2):
            if at[i] == heights[i]:
                continue
            node = list(at)
            node[i] += 1
            while node[j] > 0:
                if stop():
                    return
                node[j] -= 1
                if search.is_too_low(tuple(node)):
                    break
            if search.incumbent.best.node != at:
                break
        _descend(search, stop)
