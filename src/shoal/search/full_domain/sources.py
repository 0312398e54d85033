"""Where to group from: coarser copies of the base cells, shared by all nodes above them.

A node is grouped from a copy at or below it, the one with the fewest cells. When even that has many cells, a copy is made close
below the node: with every level rounded down to an even one, and then with the levels of the most informative half of the
columns taken exactly. Many nodes share the first kind, fewer the second, and all columns are coarse in it, so that cells
fall together even where any single column would leave them apart. A copy is made when it is wanted for the second time.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal.kernels.order import sorted_order
from shoal.model.counts.classes import IntArray
from shoal.model.counts.classes import IntArray as Ints
from shoal.search.kernels.group_cells import lost_by_code
from shoal.search.kernels.nodes import LowerSet
from shoal.search.problem.column_blocks import Block
from shoal.search.problem.problem import Node, Problem

FEW = 8192
"""Cells this few need no coarser copy."""
SHRINK = 0.5
"""A copy that keeps more than this share of the cells is not worth keeping."""
DEAR = 2
"""A copy is made from at most this many times the cells that the node would be grouped from without it."""
KEPT = 0.25
"""The groups of a node that was looked at are kept where they are at most this share of the cells they came from."""
MEMORY = 160 * 2**20
COPIES = 128
"""Bytes (or half as many more as the base cells take) and number of the copies kept; the copy used longest ago goes first."""


@dataclass(frozen=True, eq=False)
class Part:
    """Breaks that no group reaches over while one column, besides those of the parts before, stays at or below a level."""

    column: int
    level: int
    ends: npt.NDArray[np.int64]


@dataclass(eq=False)
class Source:
    """Cells to start from, packed as in Problem; valid for every node at or above ``node``."""

    node: npt.NDArray[np.int64]
    blocks: npt.NDArray[np.int32]
    measures: npt.NDArray[np.int64]
    reps: npt.NDArray[np.int32]  # a cell of the problem inside each cell
    entries: tuple[tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], IntArray], ...]
    parts: tuple[Part, ...] = ()  # finer and finer breaks between cells

    @property
    def n_cells(self) -> int:
        return int(self.blocks.shape[1])

    @property
    def n_bytes(self) -> int:
        own = self.blocks.nbytes + self.measures.nbytes + self.reps.nbytes
        return own + sum(a.nbytes + b.nbytes + c.nbytes for a, b, c in self.entries)


class Sources:
    """The copies made so far."""

    def __init__(self, base: Source, order: Sequence[int], heights: Node) -> None:
        self.base = base
        self._first = base
        half = len(order) - len(order) // 2
        self._exact = [j in order[:half] for j in range(len(order))]
        self._kept: OrderedDict[Node, Source] = OrderedDict()
        self._useless = LowerSet(heights)  # a copy at such a node had too many cells: a finer one has no fewer
        self._asked: set[Node] = set()
        self._held = 0
        self._list()

    def below(self, node: Node, coarsen: Callable[[Source, Node], Source]) -> Source:
        """A source at or below the node, with few cells; ``coarsen`` makes a copy of a source at a node."""
        source = self._best(node)
        if source.n_cells <= FEW:
            return source
        for key in self._near(node):
            if key == node or source.n_cells <= FEW:
                break
            if key in self._kept or key not in self._asked or key in self._useless:
                continue
            start = self._best(key)
            if start.n_cells > DEAR * source.n_cells:
                continue
            coarser = coarsen(start, key)
            if coarser.n_cells <= SHRINK * source.n_cells:
                self._keep(key, coarser)
                source = coarser
            else:
                self._useless.add(key)
        return source

    def start_from(self, source: Source) -> None:
        """Use this order of the base cells from now on instead of the one before; copies stay as they are."""
        self.base = self._first = source

    def used(self, node: Node, source: Source, n_groups: int, copy: Callable[[], Source]) -> None:
        """A node was grouped in full from a large source: its groups are kept where they are few, for the nodes above.

        Below it, copies are made when they are wanted again.
        """
        if source.n_cells > FEW:
            self._asked.update(self._near(node))
            if n_groups <= KEPT * source.n_cells and node not in self._kept:
                self._keep(node, copy())

    def _near(self, node: Node) -> tuple[Node, Node]:
        even = tuple([x & ~1 for x in node])
        return even, tuple([x if exact else x & ~1 for x, exact in zip(node, self._exact, strict=True)])

    def _best(self, node: Node) -> Source:
        """The copy at or below the node with the fewest cells."""
        if not self._keys:
            return self._first
        usable = np.all(np.less_equal(self._stack, node), axis=1)
        i = int(usable.argmax())
        if not usable[i]:
            return self._first
        self._kept.move_to_end(self._keys[i])
        return self._kept[self._keys[i]]

    def _keep(self, key: Node, made: Source) -> None:
        self._kept[key] = made
        self._held += made.n_bytes
        while (self._held > max(MEMORY, 3 * self.base.n_bytes // 2) and len(self._kept) > 1) or len(self._kept) > COPIES:
            _, old = self._kept.popitem(last=False)
            self._held -= old.n_bytes
        self._list()

    def _list(self) -> None:
        """Copies by their number of cells, for :meth:`_best`."""
        self._keys = sorted(self._kept, key=lambda key: self._kept[key].n_cells)
        self._stack = np.array(self._keys, dtype=np.int64).reshape(len(self._keys), len(self._exact))


def sorted_source(problem: Problem, base: Source, node: Node) -> Source:
    """The base with similar cells side by side: grouping then stays in the cache, and can stop early at breaks.

    Cells are sorted by the groups of the columns that a known plan does not publish as their top level, the most informative
    first, just below that level; then by the others at half their height. The first three give the breaks.
    """
    open_ = [j for j, c in enumerate(problem.columns) if node[j] < c.height]
    high = {j: problem.columns[j].height - 1 for j in open_}
    levels = [high.get(j, (c.height + 1) // 2) for j, c in enumerate(problem.columns)]
    order = sorted(range(len(levels)), key=lambda j: (j not in high, -group_entropy(problem, j, levels[j])))
    key = np.zeros(base.n_cells, dtype=np.int64)
    room = 2**62
    for j in order:
        column = problem.columns[j]
        if column.cards[levels[j]] > room:
            break
        room //= column.cards[levels[j]]
        key *= column.cards[levels[j]]
        key += _groups(problem, j, levels[j])
    leading = [(j, levels[j]) for j in order[:3] if j in high]
    by = sorted_order(key.view(np.uint64))
    del key
    place = np.empty(len(by) if base.entries else 0, dtype=np.int32)
    if base.entries:
        place[by] = np.arange(len(by), dtype=np.int32)
    return Source(
        node=base.node,
        blocks=np.take(base.blocks, by, axis=1),
        measures=np.take(base.measures, by, axis=1),
        reps=base.reps[by],
        entries=tuple((place[cells], values, counts) for cells, values, counts in base.entries),
        parts=_parts(problem, by, leading),
    )


def _parts(problem: Problem, by: npt.NDArray[np.int64], leading: Sequence[tuple[int, int]]) -> tuple[Part, ...]:
    out = []
    change = np.zeros(len(by) - 1, dtype=np.bool_)
    for j, level in leading:
        group = _groups(problem, j, level)[by]
        change |= group[1:] != group[:-1]
        out.append(Part(j, level, np.append(np.flatnonzero(change) + 1, len(by)).astype(np.int64)))
    return tuple(out)


def _groups(problem: Problem, j: int, level: int) -> npt.NDArray[np.int32]:
    """The group of a column at a level in each cell of the problem."""
    block = next(b for b in problem.blocks if j in b.columns)
    of_code = problem.columns[j].groups[level]
    return np.asarray(of_code[block.combinations[block.columns.index(j)]][block.codes])


def breaks_for(source: Source, node: Node) -> npt.NDArray[np.int64] | None:
    """The finest breaks that no group of the node reaches over."""
    ends = None
    for part in source.parts:
        if node[part.column] > part.level:
            break
        ends = part.ends
    return ends


def prefix_order(problem: Problem) -> list[int]:
    """Columns by the entropy of their values, highest first: generalizing those joins most cells."""
    entropy = [group_entropy(problem, j, 0) for j in range(len(problem.columns))]
    return sorted(range(len(entropy)), key=lambda j: -entropy[j])


def group_entropy(problem: Problem, j: int, level: int) -> float:
    """Entropy of a column's groups at a level, in nats."""
    column = problem.columns[j]
    p = np.bincount(column.groups[level], weights=column.records) / problem.n_records
    p = p[p > 0]
    return float(-(p * np.log(p)).sum())


class ByCode:
    """Where the codes of each column begin in what is added up (``starts``), and how combinations of blocks fold into them."""

    def __init__(self, problem: Problem) -> None:
        self.starts = np.concatenate([[0], np.cumsum([len(c.leaves) for c in problem.columns])]).astype(np.int64)
        lengths = [b.combinations.shape[1] for b in problem.blocks]
        self._combinations = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        self._where, self._of = _fold(problem.blocks, self.starts, self._combinations)
        self.none = np.zeros(int(self.starts[-1]), dtype=np.int64)

    def below(self, source: Source, gid: npt.NDArray[np.int32], score: Ints, least: int) -> Ints:
        """The records of the groups whose score is below ``least``."""
        together = np.zeros(int(self._combinations[-1]), dtype=np.int64)
        lost_by_code(score, least, gid, source.blocks, self._combinations, source.measures[0], together)
        return self._folded(together)

    def at_first(self, source: Source, first: npt.NDArray[np.int32], records: IntArray) -> Ints:
        """So many records of each group, all at the codes of its ``first`` cell."""
        together = np.zeros(int(self._combinations[-1]), dtype=np.int64)
        mine = np.flatnonzero(records)
        for start, codes in zip(self._combinations, source.blocks, strict=False):
            np.add.at(together, start + codes[first[mine]], records[mine])
        return self._folded(together)

    def _folded(self, together: Ints) -> Ints:
        return np.bincount(self._where, weights=together[self._of], minlength=len(self.none)).astype(np.int64)


def _fold(blocks: Sequence[Block], starts: Ints, combinations: Ints) -> tuple[Ints, Ints]:
    """Where sums over the combinations of all blocks belong among the codes of all columns: each code, and a combination."""
    where = [starts[j] + codes for b in blocks for j, codes in zip(b.columns, b.combinations, strict=True)]
    of = [np.arange(combinations[i], combinations[i + 1]) for i, b in enumerate(blocks) for _ in b.columns]
    return np.concatenate(where).astype(np.int64), np.concatenate(of).astype(np.int64)
