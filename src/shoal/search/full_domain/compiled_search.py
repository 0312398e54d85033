"""Optimal search of a listed lattice in compiled code, where records are lost for the size of their class only.

Takes    an Evaluator that judges by size (k, nothing else) and an Objective that is a cell loss
Returns  as ListedSearch, by the same method: the best plan, and a lower bound that proves it
Cost     a few passes over the cells of the nearest coarser copy per node; nothing of it in Python
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from shoal.kernels.jit import HAVE_NUMBA
from shoal.model.counts.classes import CodeArray as Codes
from shoal.model.counts.classes import IntArray as Ints
from shoal.search.full_domain.evaluator import Evaluator
from shoal.search.full_domain.first_plan import first_plan
from shoal.search.full_domain.objective import Evaluation, Incumbent, Objective, node_strides
from shoal.search.kernels.compiled import state as at
from shoal.search.kernels.compiled.state import CHUNK, State
from shoal.search.kernels.compiled.walk import TILE, group, look, search
from shoal.search.problem.column_blocks import Tables
from shoal.search.problem.control import Control
from shoal.search.problem.problem import Node, Problem

FEW = 4096
"""Problems of fewer cells are done before the search would be compiled: they go this way where it is compiled already."""
MANY = 200_000
"""From so many cells on, sorted cells, early ends and two threads save more than compiled steps between nodes."""
DIRECT = 2**18
"""A key is its own slot while the key space is at most this."""
SHORT = 2**31
"""A key takes four bytes while the key space is at most this."""
SMALL = 1024
"""Copies of this many cells need no coarser copy, and none is made of fewer cells than ``FEW``: then every step is that of a
ListedSearch, and the plan does not depend on what was compiled before."""
TABLES = 2**24
"""Entries of all tables of all blocks; where there would be more, nodes are evaluated one by one."""
WIDEST = 2**20
"""Combinations that a block could have, for the same reason."""
COPIES = 512
MEMORY = 160 * 2**20
"""Number and bytes of the coarser copies that are kept."""
WORK = 2**19
"""Cells that are looked at, and bounds of nodes, between two questions whether to stop: some milliseconds."""


def is_compiled(evaluator: Evaluator, objective: Objective, control: Control) -> bool:
    """Whether a search can and should run in compiled code."""
    problem, fits = evaluator.problem, objective.cells is not None and evaluator.by_size and evaluator.monotone
    if not (HAVE_NUMBA and fits and problem.n_cells < MANY and _has_small_tables(problem)):
        return False
    return problem.n_cells >= FEW or (not control.counts_steps and _is_waiting(evaluator))


def _is_waiting(evaluator: Evaluator) -> bool:
    """Whether compiled code is loaded already, and another search would use as much of it."""
    return evaluator.is_small and bool(getattr(search, "signatures", None))


def _has_small_tables(problem: Problem) -> bool:
    columns, entries = problem.columns, 0
    for block in problem.blocks:
        if math.prod(len(columns[j].leaves) for j in block.columns) > WIDEST:
            return False
        entries += 2 * block.combinations.shape[1] * math.prod(columns[j].height + 1 for j in block.columns)
    return entries <= TABLES


class CompiledSearch:
    """State of one search, in arrays."""

    def __init__(self, evaluator: Evaluator, objective: Objective) -> None:
        self.evaluator = evaluator
        self.objective = objective
        self.incumbent = Incumbent()
        self._strides = node_strides(evaluator.problem.heights)
        self._state = make_state(evaluator, objective)

    def run(self, control: Control) -> Incumbent:
        s = self._state
        with np.errstate(over="ignore"):  # hashes wrap around; without numba numpy would warn
            look(s, len(s.bound) - 1)
            self._take()
            first_plan(self, s.free, self.evaluator.problem.heights, control.cancelled)
            search(s, 0)  # have it compiled before the clock starts, and the last step
            group(s, 0, 0)
            control.begin()
            proven, cells = False, self.evaluator.problem.n_cells
            work = max(1, WORK * cells // (cells + len(s.bound)))
            while not proven and not control.stop():
                proven = search(s, work)
                self._take()
                control.show(0.5, f"{self.evaluator.evaluated} nodes checked")
            if self.incumbent.best is not None:
                self.incumbent.groups = self._groups(self.incumbent.best.node)
        self.incumbent.lower = self.incumbent.total if proven else float(s.bound.min())
        self.incumbent.stopped = "" if proven else control.reason
        return self.incumbent

    def is_too_low(self, node: Node) -> bool:
        """For :func:`first_plan`."""
        s = self._state
        number = int(np.dot(self._strides, node))
        if self.incumbent.would_better(float(s.bound[number])):
            look(s, number)
            self._take()
        elif s.bound[number] < np.inf:
            return False
        return not s.marks[at.PLAN, number]

    def _groups(self, node: Node) -> tuple[Codes, npt.NDArray[np.bool_]]:
        """The group of each class at a node, and which groups are published."""
        s, n, n_blocks = self._state, self.evaluator.problem.n_base, len(self.evaluator.problem.blocks)
        s.columns[at.NEAR, : len(node)] = node
        group(s, 0, n)
        sums = s.cell_numbers[at.SUMS, : s.numbers[at.FOUND]]
        return s.cell_codes[n_blocks + at.GID, :n].copy(), sums >= s.numbers[at.LEAST]

    def _take(self) -> None:
        """The best plan so far, as an evaluation."""
        n, problem = self._state.numbers, self.evaluator.problem
        self.evaluator.evaluated = int(n[at.EVALUATED])
        total = float(self._state.scales[at.BEST_TOTAL, 0])
        if not self.incumbent.would_better(total):
            return
        groups, lost = int(n[at.BEST_GROUPS]), int(n[at.BEST_LOST])
        number, none = int(n[at.BEST]), np.zeros(0, dtype=np.int64)
        node = tuple(int(number // s % (h + 1)) for s, h in zip(self._strides, problem.heights, strict=True))
        kept = groups - int(n[at.BEST_SMALL])
        best = Evaluation(node, True, groups, kept, lost, lost, none, none, np.asarray(node, dtype=np.int64), None)
        self.incumbent.offer(best, total)


def make_state(evaluator: Evaluator, objective: Objective) -> State:
    """The arrays of a search that has not begun."""
    problem, cells = evaluator.problem, evaluator.problem.n_cells
    n_columns, n_blocks, n_nodes = len(problem.columns), len(problem.blocks), problem.n_nodes
    room = cells + max(cells, min(64 * cells, MEMORY // (4 * n_blocks + 8)))
    codes = np.empty((n_blocks + at.N_CELL_CODES, room), dtype=np.int32)
    numbers = np.empty((at.N_CELL_NUMBERS, max(room, TILE)), dtype=np.int64)
    numbers[at.RECORDS, :cells] = problem.measures[0]
    sources = np.zeros((COPIES, 2 + n_columns), dtype=np.int64)
    sources[0, 1] = cells
    maps, tallies, columns, blocks = _layout(problem, evaluator.starts, evaluator.order)
    _set_base_codes(problem, codes[:n_blocks, :cells])
    free = objective.free_terms()
    tables = objective.tables()
    columns[at.EXTRA, :n_columns] = tables.offsets[:n_columns]
    scales = np.zeros((at.N_SCALES, n_columns + 1))
    scales[[at.LOW, at.SPAN, at.WEIGHT], :n_columns] = tables.low, tables.span, tables.weights
    scales[at.BEST_TOTAL] = np.inf
    bound = _free_bounds(free, problem.heights)
    width = free.shape[1]
    slots = max(DIRECT, 1 << (2 * cells - 1).bit_length())
    return State(
        numbers=_numbers(evaluator, cells, geometric=tables.geometric),
        columns=columns,
        blocks=blocks,
        sources=sources,
        scales=scales,
        free=free,
        terms=np.stack([tables.free, np.zeros_like(free)]),
        cards=np.array([[*c.cards, *[0] * (width - len(c.cards))] for c in problem.columns], dtype=np.int64),
        extra=tables.extra,
        maps=maps,
        tallies=tallies,
        cell_codes=codes,
        cell_numbers=numbers,
        slots=np.zeros(slots, dtype=np.int32),
        bound=bound,
        soft=np.zeros(n_nodes, dtype=np.bool_),
        marks=np.zeros((2, n_nodes), dtype=np.uint8),
        lowest=np.minimum.reduceat(bound, np.arange(0, n_nodes, CHUNK)),
        path=np.full(int(sum(problem.heights)) + 1, n_nodes - 1, dtype=np.int64),
    )


def _layout(problem: Problem, code_starts: Ints, order: list[int]) -> tuple[Codes, Ints, Ints, Ints]:
    """``maps``, ``tallies``, ``columns`` and ``blocks``: what is known of the problem, and room for the rest."""
    parts = problem.blocks
    n_columns, members = len(problem.columns), [j for b in parts for j in b.columns]
    combinations = [b.combinations.shape[1] for b in parts]
    levels = [math.prod(problem.columns[j].height + 1 for j in b.columns) for b in parts]
    widest = max(math.prod(len(problem.columns[j].leaves) for j in b.columns) for b in parts)
    flat = [c.groups.ravel() for c in problem.columns] + [row for b in parts for row in b.combinations]
    known = np.concatenate(flat)
    starts = _starts([len(f) for f in flat])
    tables = _starts([2 * n * many for n, many in zip(combinations, levels, strict=True)])
    maps = np.empty(len(known) + int(tables[-1]) + widest, dtype=np.int32)
    maps[: len(known)] = known
    columns = np.zeros((at.N_COLUMNS, n_columns + 1), dtype=np.int64)
    columns[at.HEIGHT, :n_columns] = problem.heights
    columns[at.STRIDE, :n_columns] = node_strides(problem.heights)
    columns[at.CODES] = code_starts + sum(levels) + sum(combinations)
    columns[at.GROUPS, :n_columns] = starts[:n_columns]
    columns[at.RANK, order] = range(n_columns)
    columns[at.COLUMN, :n_columns] = members
    columns[at.MEMBER, :n_columns] = starts[n_columns:-1]
    blocks = np.zeros((at.N_BLOCKS, len(parts) + 1), dtype=np.int64)
    blocks[at.FIRST] = _starts([len(b.columns) for b in parts])
    blocks[at.COMBINATIONS, :-1] = combinations
    blocks[at.SUMS_LOST] = _starts(combinations) + sum(levels)
    blocks[at.TABLES] = tables + len(known)
    blocks[at.CARDS] = _starts(levels)
    return maps, np.zeros(int(columns[at.CODES, -1]), dtype=np.int64), columns, blocks


def _numbers(evaluator: Evaluator, cells: int, *, geometric: bool) -> npt.NDArray[np.int64]:
    out = np.zeros(at.N_NUMBERS, dtype=np.int64)
    least, records = evaluator.checks.least, evaluator.problem.n_records
    out[at.LIMIT], out[at.LEAST], out[at.GEOMETRIC] = evaluator.limit, least, geometric
    # classes that are published have ``least`` records each, all others lose a record at least
    out[at.MOST_GROUPS] = records // max(1, least) + evaluator.limit
    out[at.LIMITED], out[at.FEW] = evaluator.limit < records, cells if cells < FEW else SMALL
    out[at.DIRECT], out[at.SHORT] = DIRECT, SHORT
    out[at.SOURCES], out[at.CELLS], out[at.BEST], out[at.SLOT_BASE] = 1, cells, -1, 1
    return out


def _set_base_codes(problem: Problem, out: Codes) -> None:
    """The combinations of the cells; of those in one group at the lowest levels, where bounds on levels join some, the first."""
    for b, block in enumerate(problem.blocks):
        out[b] = block.codes
    if any(c.cards[0] < len(c.leaves) for c in problem.columns):
        for b, (group, _) in enumerate(Tables(problem.blocks, problem.columns).at([0] * len(problem.columns))):
            np.take(_one_of_each(group), problem.blocks[b].codes, out=out[b], mode="clip")


def _one_of_each(group: Ints) -> Codes:
    """For each combination the first of its group."""
    _, first, inverse = np.unique(group, return_index=True, return_inverse=True)
    return first[inverse].astype(np.int32)


def _starts(sizes: list[int]) -> npt.NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def _free_bounds(free: npt.NDArray[np.float64], heights: Node) -> npt.NDArray[np.float64]:
    """The total of every node without suppression."""
    total = np.zeros(1)
    for terms, height in zip(free, heights, strict=True):
        total = np.add.outer(total, terms[: height + 1]).ravel()
    return total
