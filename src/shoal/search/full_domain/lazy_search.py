"""Optimal search of a lattice too large to list: boxes of nodes, split where the next evaluation tells most.

Takes    an Evaluator and an Objective
Returns  as ListedSearch; when stopped, the best plan so far and a proven lower bound
Keeps    the open boxes are disjoint and hold every node that could still be better; the bound of a box ≤ total of its nodes
Method   a box [lo, hi] is bounded by its lowest corner, charged in full for the records lost at hi. Take the box with the lowest
         bound; climb from lo by the cheapest steps while the bound stays below the best plan; evaluate the node reached
         (t). What lies below t inside the box becomes one box, closed at once when t needs too much suppression; the rest
         falls into one box per column. After some boxes groups of columns are searched by themselves: what a group costs at
         least is charged in every box whose lowest corner costs less. Nodes below a node known to be infeasible are never
         evaluated. A first plan is found greedily before the clock starts; it and every better one are improved further by
         exchanges, one column up and another down.
Cost     memory grows with the nodes evaluated up to :data:`OPEN` boxes and :data:`KNOWN` nodes, for any lattice; beyond
         that, a box is searched to its end, depth first, before the next is taken
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shoal.model.counts.classes import FloatArray
from shoal.search.full_domain.column_groups import Floors, find_floors
from shoal.search.full_domain.evaluator import Evaluator
from shoal.search.full_domain.first_plan import cheapest_path, exchange, first_plan
from shoal.search.full_domain.objective import EPSILON, Evaluation, Incumbent, Objective
from shoal.search.kernels.nodes import LowerSet
from shoal.search.problem.control import Control
from shoal.search.problem.problem import Node

OPEN = 200_000
"""Boxes that wait in the queue; about 100 MiB."""
QUICK = 300
"""Boxes after which a search is not a quick one, and groups of columns are searched by themselves."""
EXCHANGES = 0.1
"""Part of the nodes looked at that may go into exchanges before the next ones are tried."""
KNOWN = 100_000
"""Nodes whose evaluation is remembered; the oldest is forgotten, and evaluated again if it is ever needed."""


@dataclass(eq=False, slots=True)
class Box:
    """Nodes between two corners; ``terms`` bound the contribution of each column at each level inside it."""

    lo: Node
    hi: Node
    terms: FloatArray
    more: float = 0.0  # class losses: what the records lost at hi cost
    seen: bool = False  # hi is evaluated
    foot: float | None = None  # class losses: the bound from lo, once it is evaluated

    def bound(self, floors: Floors | None) -> float:
        if self.foot is not None:
            return self.foot + self.more
        if floors is not None:
            return floors.bound(self.terms, self.lo)
        return float(sum(self.terms[j, level] for j, level in enumerate(self.lo)))


@dataclass(eq=False, slots=True)
class Known:
    """What is remembered of an evaluated node: whether nothing below it is a plan, whether it is one, or dearer than the best,
    and what it bounds."""

    dead: bool
    feasible: bool
    terms: FloatArray | None  # cell losses: for specialisations
    more: float = 0.0  # class losses: for specialisations
    above: float = 0.0  # class losses: for generalizations


Entry = tuple[float, float, int, Box]
"""A bound; where many are alike, the bound without floors; when it came."""


class LazySearch:
    """State of one search: a heap of boxes."""

    def __init__(self, evaluator: Evaluator, objective: Objective, *, start: Sequence[Node] = ()) -> None:
        self.evaluator = evaluator
        evaluator.wants_sizes = objective.needs_sizes
        self.objective = objective
        self.incumbent = Incumbent()
        self._start = start
        self._free = objective.free_terms()
        self._class_loss = objective.cells is None
        self._known: dict[Node, Known] = {}
        self._dead = LowerSet(evaluator.problem.heights)  # what is known to need too much suppression
        self._heap: list[Entry] = []
        self._stack: list[Entry] | None = None  # boxes of a search depth first
        self._pruned = float("inf")  # the best total when boxes were last dropped from the queue
        self._pushed = 0
        self._floors: Floors | None = None
        self._looked = 0  # nodes evaluated when it was last asked whether to stop
        self._exchanged: Node | None = None  # the plan that no exchange betters
        self._on_exchanges = 0

    def run(self, control: Control) -> Incumbent:
        top = self.evaluator.problem.heights
        bottom = tuple(0 for _ in top)
        if self._look(top).dead:
            self.incumbent.lower = self.incumbent.total
            return self.incumbent
        for node in self._start:
            if node not in self._dead:
                self._look(node)
        first_plan(self, self.objective.step_terms(), top, control.cancelled, every_column=True)
        if self.incumbent.best is not None and not self._start:
            self.evaluator.arrange(self.incumbent.best.node)
        self.evaluator.warm_up()
        control.begin()
        self._push(self._part(Box(bottom, top, self._free), bottom, top))
        taken = 0
        while self._heap:
            self._exchange(control)
            if taken == QUICK and not self._class_loss:
                self._find_floors(control)
            taken += 1
            bound, _, _, box = heapq.heappop(self._heap)
            if not self.incumbent.would_better(bound):
                break
            if not self._search(box, bound, control):
                self.incumbent.stopped, self.incumbent.lower = control.reason, bound
                return self.incumbent
        self.incumbent.lower = self.incumbent.total
        return self.incumbent

    def _exchange(self, control: Control) -> None:
        """Better a plan that is new by exchanges, while these are a small part of the nodes looked at."""
        best, before = self.incumbent.best, self.evaluator.evaluated
        if best is not None and best.node != self._exchanged and self._on_exchanges <= EXCHANGES * before:
            exchange(self, self.evaluator.problem.heights, lambda: self._is_over(control))
            self._exchanged = self.incumbent.best.node if self.incumbent.best is not None else None
            self._on_exchanges += self.evaluator.evaluated - before

    def _is_over(self, control: Control) -> bool:
        """Whether to stop, asked where a node was looked at since it was asked last."""
        looked, self._looked = self.evaluator.evaluated > self._looked, self.evaluator.evaluated
        return looked and control.stop()

    def _find_floors(self, control: Control) -> None:
        """Find the floors, and raise the bounds of the boxes that wait."""
        self._floors = find_floors(self.evaluator, self.objective, control)
        if self._floors is not None:
            self._heap = [(max(b, box.bound(self._floors)), plain, n, box) for b, plain, n, box in self._heap]
            heapq.heapify(self._heap)

    def _search(self, box: Box, bound: float, control: Control) -> bool:
        """Split a box or, where the queue is full, search it to its end. False where that was stopped."""
        if len(self._heap) > OPEN and self.incumbent.total < self._pruned:
            self._pruned = self.incumbent.total
            self._heap = [entry for entry in self._heap if entry[0] < self._pruned - EPSILON]
            heapq.heapify(self._heap)
        self._stack = [] if len(self._heap) > OPEN else None
        waiting: Entry | None = (bound, bound, 0, box)
        while waiting is not None:
            if control.stop():
                return False
            control.show(0.5, f"{self.evaluator.evaluated} nodes checked")
            if self.incumbent.would_better(waiting[0]):
                self._split(waiting[3], waiting[0])
            waiting = self._stack.pop() if self._stack else None
        self._stack = None
        return True

    def _look(self, node: Node) -> Known:
        """Evaluate a node, once."""
        known = self._known.get(node)
        if known is None:
            e = self.evaluator(node, self._is_too_dear)
            self.incumbent.offer(e, self.objective.total(e))
            known = self._remember(node, e)
        return known

    def _is_too_dear(self, e: Evaluation) -> bool:
        return not self.incumbent.would_better(self.objective.total(e))

    def _remember(self, node: Node, e: Evaluation) -> Known:
        dead = e.lower > self.evaluator.limit
        if self._class_loss:
            known = Known(dead, e.feasible or e.too_dear, None, self.objective.more_below(e), self.objective.total_above(e))
        else:
            known = Known(dead, e.feasible or e.too_dear, self.objective.terms_below(e) if e.binds else None)
        if len(self._known) >= KNOWN:
            del self._known[next(iter(self._known))]
        self._known[node] = known
        if dead:
            self._dead.add(node)
        return known

    def _part(self, box: Box, lo: Node, hi: Node, foot: float | None = None) -> Box:
        """A part of a box; where its upper corner is evaluated already, that tightens its terms."""
        known = self._known.get(hi)
        terms, more = box.terms, box.more
        if known is not None:
            more = max(more, known.more)
            terms = terms if known.terms is None else np.maximum(terms, known.terms)
        return Box(lo, hi, terms, more, known is not None or (box.seen and hi == box.hi), foot)

    def _push(self, box: Box, least: float = float("-inf")) -> None:
        """Queue a box; ``least`` bounds it already."""
        value = max(least, box.bound(self._floors))
        if self.incumbent.would_better(value):
            entry = (value, box.bound(None), self._pushed, box)
            self._pushed += 1
            if self._stack is None:
                heapq.heappush(self._heap, entry)
            else:
                self._stack.append(entry)

    def is_too_low(self, node: Node) -> bool:
        """For :func:`first_plan`."""
        if node in self._dead:
            return True
        if node not in self._known and not self.incumbent.would_better(Box(node, node, self._free).bound(self._floors)):
            return False
        return not self._look(node).feasible

    def _split(self, box: Box, bound: float) -> None:
        if box.hi in self._dead:
            return
        if self._class_loss and box.foot is None:
            box.foot = self._look(box.lo).above
            self._push(box, bound)
            return
        t = self._probe(box)
        if t is None:
            return
        dead = t in self._dead or self._look(t).dead
        if not dead and t != box.lo:
            self._push(self._part(box, box.lo, t, box.foot), bound)
        self._push_rest(box, t, bound)

    def _probe(self, box: Box) -> Node | None:
        """The node of the box to evaluate next; None when nothing in it is left to know."""
        if box.lo == box.hi:
            self._look(box.lo)
            return None
        if self._class_loss:
            t: Node = tuple((a + b) // 2 for a, b in zip(box.lo, box.hi, strict=True))
            return t
        path = cheapest_path(box.terms, box.lo, box.hi, self.incumbent.total - EPSILON)
        if path[-1] == box.hi and box.seen and len(path) > 1:
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
                self._push(self._part(box, tuple(lo), tuple(hi)), bound)
                hi[j] = t[j]
