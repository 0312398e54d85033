"""Optimal search of a lattice whose nodes fit in memory.

Takes    an Evaluator and an Objective
Returns  the best feasible evaluation, and a lower bound that proves it
Keeps    ``bound[v]`` ≤ total of v for every open node; a closed node is evaluated, infeasible or cannot be better
Method   the loss without suppression separates by column and bounds every node at no cost. From the open node with the lowest
         bound climb to the cheapest open parent until none is left, and on above the best plan's loss. A node up there that
         needs more suppression than allowed closes all its specialisations: bisect for one. Otherwise evaluate the last
         open node of the path: records that are lost there are lost below as well and charged in full. A first plan is
         found greedily before the clock starts.
Cost     bookkeeping of O(nodes) per evaluation, compiled
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.kernels.jit import plain
from shoal.model.counts.classes import FloatArray
from shoal.search.full_domain.evaluator import Evaluator
from shoal.search.full_domain.first_plan import first_plan
from shoal.search.full_domain.objective import EPSILON, Evaluation, Incumbent, Objective, node_strides
from shoal.search.kernels.nodes import climb
from shoal.search.problem.control import Control
from shoal.search.problem.problem import Node


class ListedSearch:
    """State of one search: bounds of all nodes."""

    def __init__(self, evaluator: Evaluator, objective: Objective, *, start: Sequence[Node] = ()) -> None:
        self.evaluator = evaluator
        evaluator.wants_sizes = objective.needs_sizes
        self.objective = objective
        self.heights = np.asarray(evaluator.problem.heights, dtype=np.int64)
        self.strides = node_strides(evaluator.problem.heights)
        self.n_nodes = evaluator.problem.n_nodes
        self.bound = np.full(self.n_nodes, -np.inf)
        self.incumbent = Incumbent()
        self._start = start
        self._free = objective.free_terms()
        self._plans: set[int] = set()  # nodes that were evaluated and are plans, or dearer than the best
        self._soft = np.zeros(self.n_nodes, dtype=np.bool_)  # nodes known to need no more suppression than allowed
        self._digits = [(int(stride), int(h) + 1) for stride, h in zip(self.strides, self.heights, strict=True)]
        self._open = np.flatnonzero(self.heights).tolist()  # columns with a choice of levels; arrays have few dimensions
        self._shape = tuple(int(h) + 1 for h in self.heights if h)
        self._raise_below(self.bound, tuple(self.heights.tolist()), self._free)
        self._class_loss = objective.cells is None
        if self._class_loss:
            self._up, self._down = np.zeros(self.n_nodes), np.zeros(self.n_nodes)
            self._closed = np.zeros(self.n_nodes, dtype=np.bool_)

    def run(self, control: Control) -> Incumbent:
        path = self._prepare(control)
        while True:
            best = self.incumbent.total - EPSILON
            path[0] = np.argmin(self.bound)
            if not self.bound[path[0]] < best:
                self.incumbent.lower = self.incumbent.total
                break
            length = self._climb(path, 1, best, on=False)
            if control.stop():
                self.incumbent.stopped = control.reason
                self.incumbent.lower = float(self.bound.min())
                break
            control.show(0.5, f"{self.evaluator.evaluated} nodes checked")
            self._probe(path, length)
        return self.incumbent

    def _prepare(self, control: Control) -> npt.NDArray[np.int64]:
        """Find a first plan, have everything compiled, start the clock; room for a path."""
        self._look(self.n_nodes - 1)
        for node in self._start:
            self._look(int(np.dot(self.strides, node)))
        first_plan(self, self.objective.step_terms(), self.evaluator.problem.heights, control.cancelled)
        if self.incumbent.best is not None and not self._start:
            self.evaluator.arrange(self.incumbent.best.node)
        path = np.full(int(self.heights.sum()) + 1, self.n_nodes - 1, dtype=np.int64)
        self._climb(path, 1, np.inf, on=False)
        self.evaluator.warm_up()
        control.begin()
        return path

    def is_too_low(self, node: Node) -> bool:
        """For :func:`first_plan`."""
        number = int(np.dot(self.strides, node))
        if self.incumbent.would_better(float(self.bound[number])):
            self._look(number)
        elif self.bound[number] < np.inf:
            return False
        return number not in self._plans

    def _climb(self, path: npt.NDArray[np.int64], length: int, best: float, *, on: bool) -> int:
        go_up = plain(climb) if self.evaluator.is_small else climb
        return go_up(self.bound, self._soft, self.strides, self.heights, self._free, best, on, path, length)

    def _probe(self, path: npt.NDArray[np.int64], length: int) -> None:
        """Close the foot of the path: from above where suppression forbids, else from the last node of the path itself."""
        foot, last = int(path[0]), length - 1
        if self.evaluator.limit < self.evaluator.problem.n_records:
            high = self._climb(path, length, np.inf, on=True) - 1
            low = last + 1
            while low <= high:
                middle = (low + high) // 2
                self._look(int(path[middle]))
                if self.bound[foot] == np.inf:
                    return
                high = middle - 1
        self._look(int(path[last]))
        if last and not self.evaluator.monotone and self.incumbent.would_better(float(self.bound[foot])):
            self._look(foot)

    def node(self, number: int) -> Node:
        return tuple([number // stride % n for stride, n in self._digits])

    def _look(self, number: int) -> None:
        """Evaluate a node and let every other node know."""
        if self.bound[number] == np.inf:
            return
        e = self.evaluator(self.node(number), self._is_too_dear)
        if e.feasible or e.too_dear:
            self._plans.add(number)
        dead = e.lower > self.evaluator.limit
        if not dead:
            self._above(self._soft, e.node)[...] = True
        if self._class_loss:
            self.incumbent.offer(e, self.objective.total(e))
            self._raise_class_loss(e, number)
            return
        if dead:
            self._below(self.bound, e.node)[...] = np.inf
            return
        total, terms = self.objective.both(e)
        self.incumbent.offer(e, total)
        if e.binds:  # else the bounds below are those without suppression, which they already have
            self._raise_below(self.bound, e.node, terms)
        self.bound[number] = np.inf

    def _is_too_dear(self, e: Evaluation) -> bool:
        return not self.incumbent.would_better(self.objective.total(e))

    def _above(self, per_node: npt.NDArray[Any], node: Node) -> npt.NDArray[Any]:
        """The entries of an array over nodes that belong to a node and its generalizations."""
        where: Any = (..., *[slice(node[j], None) for j in self._open])
        out: npt.NDArray[Any] = per_node.reshape(self._shape)[where]
        return out

    def _below(self, per_node: npt.NDArray[Any], node: Node) -> npt.NDArray[Any]:
        """The entries of an array over nodes that belong to a node and its specialisations."""
        where: Any = (..., *[slice(node[j] + 1) for j in self._open])
        out: npt.NDArray[Any] = per_node.reshape(self._shape)[where]
        return out

    def _raise_below(self, bound: FloatArray, node: Node, terms: FloatArray) -> None:
        """bound[v] = max(bound[v], Σ_j terms[j, v_j]) for every v with v_j ≤ node_j in all columns."""
        total: Any = sum(terms[j, 0] for j, h in enumerate(self.heights) if not h)
        for j in self._open:
            total = np.add.outer(total, terms[j, : node[j] + 1])
        below = self._below(bound, node)
        np.maximum(below, total, out=below)

    def _raise_class_loss(self, e: Evaluation, number: int) -> None:
        more = np.inf if e.lower > self.evaluator.limit else self.objective.more_below(e)
        below, above = self._below(self._down, e.node), self._above(self._up, e.node)
        np.maximum(below, more, out=below)
        np.maximum(above, self.objective.total_above(e), out=above)
        self._closed[number] = True
        np.add(self._up, self._down, out=self.bound)
        self.bound[self._closed] = np.inf
