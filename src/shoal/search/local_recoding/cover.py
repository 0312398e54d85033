"""Local recoding by hierarchy values: cover the classes by generalized tuples, the cheapest first.

Takes    an Evaluator (any class requirements) and prices
Returns  a cluster for each base class; every cluster meets the requirements
Keeps    a cluster lies inside one group of one node, so its lowest common ancestors are at most that node's
Method   all nodes of the lattice wait in a queue, keyed by the price of their cheapest group. Take the cheapest node, group
         the classes that are not yet covered, publish the groups that pass and cost no more than the key (plus a little),
         and queue the node again with the price of its next group. What is left at the end joins the cluster nearest to it.
         Then single classes move, and dear clusters dissolve, while that lowers the cost (sizes only).
Differs  full-domain search publishes one node for all; here each class gets the cheapest node that has company for it
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from shoal.kernels.jit import HAVE_NUMBA
from shoal.model.counts.classes import FloatArray, IntArray
from shoal.search.full_domain.evaluator import MANY, Evaluator
from shoal.search.full_domain.sources import Part, Source, sorted_source
from shoal.search.kernels import cover_nodes as at
from shoal.search.kernels.clusters import FEW, improve, improve_few, settle, settle_by_columns
from shoal.search.kernels.cover_nodes import cover_nodes
from shoal.search.local_recoding.published import Trees
from shoal.search.problem.control import Control
from shoal.search.problem.problem import Node, Problem

WORK = 2.5e9
"""Classes × nodes that are tried: where the lattice has more nodes, levels between the lowest and the highest are left out."""
NODES = 50_000
STEP = 0.05
"""Groups dearer than the key by at most this share of a column's full price are published together."""
DEAREST = 5
MANY_NODES, LOADED = 1024, 1024
"""Nodes from which on compiled code is worth loading; once it is, each node counts as so many."""
SLICE = 2**20
"""Classes that compiled code looks at between two questions whether to stop: some milliseconds."""
MOVES = 2e7
"""Pairs of class and cluster that the sweeps of moves look at together; nearly all is won in the first sweep."""


def cover(evaluator: Evaluator, trees: Trees, control: Control) -> IntArray:
    """A cluster for each base class, −1 for those that no node has company for. Begins the clock once all is compiled."""
    problem = evaluator.problem
    price = _prices(problem, trees)
    keys, nodes = _nodes(price, problem.heights, int(min(NODES, max(64, WORK / problem.n_base))))
    free = not (control.has_clock or control.counts_steps)  # a limit must end the work at the same place, loaded or not
    if is_compiled(evaluator, len(nodes) * (LOADED if free and getattr(cover_nodes, "signatures", None) else 1)):
        return _cover_by_size(evaluator, trees, keys, nodes, control)
    control.begin()
    label = np.full(problem.n_base, -1, dtype=np.int64)
    source = evaluator.base_source()
    if source.n_cells > MANY:
        source = sorted_source(problem, source, tuple(h // 2 for h in problem.heights))
    queue = list(zip(keys.tolist(), range(len(nodes)), strict=True))
    heapq.heapify(queue)
    step = STEP / len(problem.columns)
    clusters = 0
    empty = Empty(nodes)
    while queue and source.n_cells and not control.stop():
        key, number = heapq.heappop(queue)
        if empty.holds(number):
            continue
        node = tuple(nodes[number].tolist())
        first, group = evaluator.reaching(source, node)
        if not len(first):
            if not evaluator.may_pass(source, node):
                empty.add(number, lambda n: not evaluator.may_pass(source, tuple(nodes[n].tolist())))  # noqa: B023  (called at once)
            continue
        cost = np.zeros(len(first))
        for j, level in enumerate(node):
            cost += price[j][level][problem.codes[j, source.reps[first]]]
        take = cost <= key + step
        if not take.all():
            heapq.heappush(queue, (float(cost[~take].min()), number))
        if take.any():
            number_of = np.full(len(first) + 1, -1, dtype=np.int64)  # −1 is the last
            number_of[:-1][take] = clusters + np.arange(int(take.sum()))
            mine = number_of[group]
            label[source.reps[mine >= 0]] = mine[mine >= 0]
            clusters += int(take.sum())
            source = restrict(source, mine < 0)
            control.show(1.0 - source.n_cells / problem.n_base, "covering classes")
    return label


class Empty:
    """Nodes where no group of the uncovered classes has enough members. Nor has one at any node below, now or later."""

    def __init__(self, nodes: npt.NDArray[np.int32]) -> None:
        self._known = np.zeros(_shape(nodes), dtype=np.bool_)
        self._flat = self._known.reshape(-1)

    def holds(self, number: int) -> bool:
        return bool(self._flat[number])

    def add(self, number: int, is_empty: Callable[[int], bool]) -> None:
        """Add an empty node with all below it, after raising one column after the other to the highest level at which it stays
        empty."""
        shape = self._known.shape
        here = [int(x) for x in np.unravel_index(number, shape)]
        for j in sorted(range(len(shape)), key=lambda j: -shape[j]):
            low, high = here[j], shape[j]
            while high - low > 1:
                here[j] = (low + high) // 2
                if is_empty(int(np.ravel_multi_index(here, shape))):
                    low = here[j]
                else:
                    high = here[j]
            here[j] = low
        self._known[tuple(slice(x + 1) for x in here)] = True


def _shape(nodes: npt.NDArray[np.int32]) -> list[int]:
    """Levels of each column; the number of nodes where they are a path from bottom to top."""
    shape = [len(np.unique(column)) for column in nodes.T]
    return shape if math.prod(shape) == len(nodes) else [len(nodes)]


def is_compiled(evaluator: Evaluator, n_nodes: int) -> bool:
    """Whether a cover can and should run in compiled code: classes are judged by their people only, and nodes are many."""
    problem, checks = evaluator.problem, evaluator.checks
    plain = not checks.sensitive and problem.population_at < 0
    return HAVE_NUMBA and plain and problem.n_base <= MANY and n_nodes >= MANY_NODES


def _cover_by_size(
    evaluator: Evaluator, trees: Trees, keys: FloatArray, nodes: npt.NDArray[np.int32], control: Control
) -> IntArray:
    """As :func:`cover`, in compiled code."""
    problem = evaluator.problem
    state = make_state(problem, trees, keys, nodes, evaluator.checks.least)
    done = False
    with np.errstate(over="ignore"):  # hashes wrap around
        while not done and not control.stop():
            done = cover_nodes(state, STEP / len(problem.columns), SLICE)
            control.show(1.0 - int(state.numbers[at.LEFT]) / problem.n_base, "covering classes")
    return state.label


def make_state(problem: Problem, trees: Trees, keys: FloatArray, nodes: npt.NDArray[np.int32], least: int) -> at.Cover:
    """The arrays of a cover that has not begun."""
    n, overlap = problem.n_base, problem.overlap
    cells = np.zeros((at.N_CELLS, n), dtype=np.int64)
    cells[at.CLASS], cells[at.MEMBERS] = np.arange(n), problem.measures[problem.members_at, :n]
    pairs = np.zeros((2, 0), dtype=np.int64)
    numbers = np.zeros(at.N_NUMBERS, dtype=np.int64)
    if overlap is not None and overlap.classes is not None and overlap.people is not None:
        by = np.argsort(overlap.people, kind="stable")
        pairs = np.stack([overlap.classes[by], overlap.people[by]])
    elif overlap is not None:
        numbers[at.EXCESS] = overlap.excess
    numbers[at.LEFT], numbers[at.LEAST], numbers[at.PAIRS] = n, least, pairs.shape[1]
    cards = np.ones(trees.offsets.shape, dtype=np.int64)
    for j, column in enumerate(problem.columns):
        cards[j, : len(column.cards)] = column.cards
    return at.Cover(
        numbers=numbers,
        points=problem.codes[:, :n].copy(),
        cells=cells,
        pairs=pairs,
        place=np.arange(n),
        seen=np.zeros(n, dtype=np.int64),
        slots=np.full(1 << (4 * n - 1).bit_length(), -1, dtype=np.int64),
        offsets=trees.offsets,
        cards=cards,
        groups=trees.groups,
        price=trees.price,
        nodes=nodes,
        keys=keys,
        shape=np.array(_shape(nodes), dtype=np.int64),
        empty=np.zeros(len(nodes), dtype=np.bool_),
        heap=np.argsort(keys, kind="stable"),
        label=np.full(n, -1, dtype=np.int64),
    )


def restrict(source: Source, stay: npt.NDArray[np.bool_]) -> Source:
    """The cells of a source that stay."""
    number = np.cumsum(stay) - 1
    entries = []
    for cells, values, counts in source.entries:
        kept = stay[cells]
        entries.append((number[cells[kept]].astype(np.int32), values[kept], counts[kept]))
    return Source(
        node=source.node,
        blocks=np.ascontiguousarray(source.blocks[:, stay]),
        measures=np.ascontiguousarray(source.measures[:, stay]),
        reps=source.reps[stay],
        entries=tuple(entries),
        parts=tuple(Part(p.column, p.level, number[p.ends - 1] + 1) for p in source.parts),
    )


def _prices(problem: Problem, trees: Trees) -> list[FloatArray]:
    """Price per record of each code at each level of each column."""
    out = []
    for j, column in enumerate(problem.columns):
        n = len(column.leaves)
        rows = [trees.price[trees.offsets[j, level] : trees.offsets[j, level] + n] for level in range(column.height + 1)]
        out.append(np.stack(rows))
    return out


def _nodes(price: list[FloatArray], heights: tuple[int, ...], most: int) -> tuple[FloatArray, npt.NDArray[np.int32]]:
    """At most ``most`` nodes in their order, and the price of the cheapest group that each can have.

    Where the lattice has more, levels are left out one by one, from the column that has most, never its lowest or highest.
    """
    levels = [list(range(h + 1)) for h in heights]
    while math.prod(len(x) for x in levels) > most and max(len(x) for x in levels) > 2:
        widest = max(levels, key=len)
        del widest[len(widest) // 2]
    least = [p[:, :-1].min(axis=1) if p.shape[1] > 1 else p.min(axis=1) for p in price]
    few = math.prod(len(x) for x in levels) <= most
    nodes = np.array(list(itertools.product(*levels) if few else _staircase(least, heights)), dtype=np.int32)
    keys = np.zeros(len(nodes))
    for j, row in enumerate(least):
        keys += row[nodes[:, j]]
    return keys, nodes


def _staircase(least: list[FloatArray], heights: tuple[int, ...]) -> Iterator[Node]:
    """One path from bottom to top, each time by the step that adds least: for very many columns."""
    levels = [0] * len(heights)
    while True:
        yield tuple(levels)
        steps = [(float(p[x + 1] - p[x]), j) for j, (p, x, h) in enumerate(zip(least, levels, heights, strict=True)) if x < h]
        if not steps:
            return
        levels[min(steps)[1]] += 1


def polish(
    trees: Trees, label: IntArray, records: IntArray, sizes: IntArray, k: int, control: Control, *, sweeps: int = 3
) -> IntArray:
    """Move classes out of the dearest clusters while that lowers the cost; sizes stay at least k.

    A sweep looks at one cluster in :data:`DEAREST`, and at fewer if these, times the classes, would pass :data:`MOVES`.
    """
    label = np.unique(label, return_inverse=True)[1].astype(np.int64)
    n = int(label.max()) + 1
    first, members = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    levels = np.zeros((n, trees.points.shape[1]), dtype=np.int64)
    mass, cost = np.empty(n), np.empty(n)
    shape = (trees.points, trees.groups, trees.offsets, trees.price, records, sizes)
    state = (first, levels, mass, members, cost)
    few = max(1, min(-(-n // DEAREST), int(MOVES / len(label))))
    settled, improved = (settle_by_columns, improve_few) if len(label) < FEW else (settle, improve)
    for _ in range(min(sweeps, int(MOVES / (few * len(label))) or 1)):
        settled(label, *shape, *state)
        if control.stop():
            break
        begin = np.zeros(n + 1, dtype=np.int64)
        np.cumsum(np.bincount(label, minlength=n), out=begin[1:])
        inside = np.argsort(label, kind="stable").astype(np.int64)
        if improved(label, *shape, k, *state, np.argsort(-cost, kind="stable")[:few].copy(), begin, inside) == 0:
            break
    return label
