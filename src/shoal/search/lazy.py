"""Optimal search of a lattice too large to list: boxes of nodes, split where the next evaluation tells most.

Takes    an Evaluator and an Objective
Returns  as ListedSearch; when stopped, the best plan so far and a proven lower bound
Keeps    the open boxes are disjoint and hold every node that could still be better; the bound of a box ≤ total of its nodes
Method   a box [lo, hi] is bounded by its lowest corner, charged in full for the records lost at hi. Take the box with the lowest
         bound; climb from lo by the cheapest steps while the bound stays below the best plan; evaluate the node reached
         (t). What lies below t inside the box becomes one box, closed at once when t needs too much suppression; the rest
         falls into one box per column. Nodes below a node known to be infeasible are never evaluated.
Cost     memory and time grow with the nodes evaluated, not with the lattice
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shoal.model.counts import FloatArray
from shoal.search.control import Control
from shoal.search.evaluate import Evaluation, Evaluator, Node
from shoal.search.listed import EPSILON, Found
from shoal.search.objective import Objective


@dataclass(eq=False)
class Box:
    """Nodes between two corners; ``terms`` bound the contribution of each column at each level inside it."""

    lo: Node
    hi: Node
    terms: FloatArray
    more: float = 0.0  # class losses: what the records lost at hi cost
    low_known: bool = False  # class losses: lo is evaluated and in the bound

    def bound(self) -> float:
        return float(sum(self.terms[j, level] for j, level in enumerate(self.lo)))


class LazySearch:
    """State of one search: a heap of boxes."""

    def __init__(self, evaluator: Evaluator, objective: Objective, *, start: Sequence[Node] = ()) -> None:
        self.evaluator = evaluator
        evaluator.wants_sizes = objective.needs_sizes
        self.objective = objective
        self.found = Found()
        self._start = start
        self._free = objective.free_terms()
        self._class_loss = objective.cells is None
        self._known: dict[Node, Evaluation] = {}
        self._dead = np.empty((0, len(evaluator.problem.columns)), dtype=np.int64)
        self._heap: list[tuple[float, int, Box]] = []
        self._pushed = 0

    def run(self, control: Control) -> Found:
        top = self.evaluator.problem.heights
        bottom = tuple(0 for _ in top)
        if self._look(top) is None:
            self.found.lower = self.found.total
            return self.found
        for node in self._start:
            self._look(node)
        if not self._start:
            self._first_climb(bottom, top, control)
        if self.found.best is not None:
            self.evaluator.arrange(self.found.best.node)
        self._push(self._box(bottom, top, self._free, 0.0))
        while self._heap:
            bound, _, box = heapq.heappop(self._heap)
            if bound >= self.found.total - EPSILON:
                break
            if control.stop():
                self.found.stopped, self.found.lower = control.reason, bound
                return self.found
            control.show(0.5, f"{self.evaluator.evaluated} nodes checked")
            self._split(box, bound)
        self.found.lower = self.found.total
        return self.found

    def _look(self, node: Node) -> Evaluation | None:
        """Evaluate a node once; None where it and everything below it is infeasible."""
        e = self._known.get(node)
        if e is None:
            if len(self._dead) and bool((self._dead >= np.asarray(node)).all(axis=1).any()):
                return None
            e = self.evaluator(node)
            self.found.offer(e, self.objective.total(e))
            self._remember(node, e)
        return None if e.lower > self.evaluator.limit else e

    def _remember(self, node: Node, e: Evaluation) -> None:
        self._known[node] = e
        if e.lower > self.evaluator.limit:
            at = np.asarray(node, dtype=np.int64)
            self._dead = np.concatenate([self._dead[~(self._dead <= at).all(axis=1)], at[None, :]])

    def _box(self, lo: Node, hi: Node, terms: FloatArray, more: float) -> Box:
        """A box whose upper corner may be evaluated already, which tightens its terms."""
        e = self._known.get(hi)
        if e is not None and self._class_loss:
            more = max(more, self.objective.more_below(e))
        elif e is not None:
            terms = np.maximum(terms, self.objective.terms_below(e))
        return Box(lo, hi, terms, more)

    def _push(self, box: Box, bound: float | None = None) -> None:
        value = box.bound() if bound is None else bound
        if value < self.found.total - EPSILON:
            heapq.heappush(self._heap, (value, self._pushed, box))
            self._pushed += 1

    def _first_climb(self, lo: Node, hi: Node, control: Control) -> None:
        """Bisect the cheapest path from bottom to top for a first plan."""
        path = self._path(lo, hi, self._free, float("inf"))
        low, high = 0, len(path) - 1
        while low <= high and not control.stop():
            middle = (low + high) // 2
            e = self._look(path[middle])
            if e is not None and e.feasible:
                high = middle - 1
            else:
                low = middle + 1

    def _path(self, lo: Node, hi: Node, terms: FloatArray, best: float) -> list[Node]:
        """Upward from lo by the step that adds least, inside the box, while the bound stays below ``best``."""
        path, at = [lo], list(lo)
        total = sum(terms[j, level] for j, level in enumerate(at))
        while True:
            steps = [(terms[j, at[j] + 1] - terms[j, at[j]], j) for j in range(len(at)) if at[j] < hi[j]]
            if not steps:
                return path
            add, j = min(steps)
            if total + add >= best - EPSILON:
                return path
            total += add
            at[j] += 1
            path.append(tuple(at))

    def _split(self, box: Box, bound: float) -> None:
        if len(self._dead) and bool((self._dead >= np.asarray(box.hi)).all(axis=1).any()):
            return
        if self._class_loss and not box.low_known:
            self._bound_by_foot(box, bound)
            return
        t = self._probe(box)
        if t is None:
            return
        e = self._look(t)
        if e is not None and t != box.lo:
            below = self._box(box.lo, t, box.terms, box.more)
            below.low_known = box.low_known
            self._push(below, bound if self._class_loss else None)
        self._push_rest(box, t, bound)

    def _bound_by_foot(self, box: Box, bound: float) -> None:
        e = self._look(box.lo)
        if e is None:
            known = self._known.get(box.lo)
            if known is None:
                self._push_rest(box, box.lo, bound)
                return
            e = known
        box.low_known = True
        self._push(box, max(bound, self.objective.total_above(e) + box.more))

    def _probe(self, box: Box) -> Node | None:
        """The node of the box to evaluate next; None when nothing in it is left to know."""
        if box.lo == box.hi:
            self._look(box.lo)
            return None
        if self._class_loss:
            t: Node = tuple((a + b) // 2 for a, b in zip(box.lo, box.hi, strict=True))
            return t
        path = self._path(box.lo, box.hi, box.terms, self.found.total)
        if path[-1] == box.hi and box.hi in self._known and len(path) > 1:
            return path[-2]
        return path[-1]

    def _push_rest(self, box: Box, t: Node, bound: float) -> None:
        """The nodes of the box that are not below t: one box per column, the dearest column first."""
        gain = [box.terms[j, t[j] + 1] - box.terms[j, box.lo[j]] if t[j] < box.hi[j] else -1.0 for j in range(len(t))]
        hi = list(box.hi)
        for j in sorted(range(len(t)), key=lambda j: -gain[j]):
            if t[j] < box.hi[j]:
                lo = list(box.lo)
                lo[j] = t[j] + 1
                part = self._box(tuple(lo), tuple(hi), box.terms, box.more)
                self._push(part, bound if self._class_loss else None)
                hi[j] = t[j]
