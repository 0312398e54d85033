"""Where to group from: coarser copies of the base cells, shared by all nodes above them.

A node is grouped from a copy at or below it, the one with the fewest cells. When even that has many cells, a copy is made close
below the node: with every level rounded down to an even one, and then with the levels of the most informative half of the
columns taken exactly. Many nodes share the first kind, fewer the second, and all columns are coarse in it, so that cells
fall together even where any single column would leave them apart. A copy is made when it is wanted for the second time.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal.model.counts import IntArray
from shoal.search.problem import Problem

Node = tuple[int, ...]

FEW = 8192
"""Cells this few need no coarser copy."""
SHRINK = 0.7
"""A copy that keeps more than this share of the cells is not worth keeping."""
MEMORY = 192 * 2**20
"""Bytes of copies that are kept; the copy used longest ago goes first."""


@dataclass(eq=False)
class Source:
    """Cells to start from, packed as in Problem; valid for every node at or above ``node``."""

    node: npt.NDArray[np.int64]
    blocks: npt.NDArray[np.int32]
    measures: npt.NDArray[np.int64]
    reps: npt.NDArray[np.int32]  # a cell of the problem inside each cell
    entries: tuple[tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], IntArray], ...]

    @property
    def n_cells(self) -> int:
        return int(self.blocks.shape[1])

    @property
    def n_bytes(self) -> int:
        own = self.blocks.nbytes + self.measures.nbytes + self.reps.nbytes
        return own + sum(a.nbytes + b.nbytes + c.nbytes for a, b, c in self.entries)


class Sources:
    """The copies made so far; safe for several threads."""

    def __init__(self, base: Source, order: Sequence[int]) -> None:
        self.base = base
        half = len(order) - len(order) // 2
        self._exact = frozenset(order[:half])
        self._kept: OrderedDict[Node, Source] = OrderedDict()
        self._useless: set[Node] = set()
        self._asked: set[Node] = set()
        self._stack = np.empty((0, len(order)), dtype=np.int64)
        self._keys: list[Node] = []
        self._held = 0
        self._lock = threading.Lock()

    def below(self, node: Node, coarsen: Callable[[Source, Node], Source]) -> Source:
        """A source at or below the node, with few cells; ``coarsen`` makes a copy of a source at a node."""
        source = self._best(node)
        if source.n_cells <= FEW:
            return source
        even = tuple(x - x % 2 for x in node)
        mixed = tuple(x if j in self._exact else x - x % 2 for j, x in enumerate(node))
        for key in (even, mixed):
            if key == node or source.n_cells <= FEW:
                break
            if key in self._useless or key in self._kept or not self._asked_before(key):
                continue
            made = coarsen(self._best(key), key)
            if made.n_cells <= SHRINK * source.n_cells:
                self._keep(key, made)
                source = made
            else:
                self._useless.add(key)
        return source

    def _asked_before(self, key: Node) -> bool:
        """A copy is made when it is wanted for the second time."""
        if key in self._asked:
            return True
        self._asked.add(key)
        return False

    def _best(self, node: Node) -> Source:
        with self._lock:
            usable = np.flatnonzero((self._stack <= np.asarray(node)).all(axis=1))
            best, at = self.base, None
            for i in usable:
                held = self._kept[self._keys[i]]
                if held.n_cells < best.n_cells:
                    best, at = held, self._keys[i]
            if at is not None:
                self._kept.move_to_end(at)
            return best

    def _keep(self, key: Node, made: Source) -> None:
        with self._lock:
            if key in self._kept:
                return
            self._kept[key] = made
            self._held += made.n_bytes
            while self._held > MEMORY and len(self._kept) > 1:
                _, old = self._kept.popitem(last=False)
                self._held -= old.n_bytes
            self._keys = list(self._kept)
            self._stack = np.array(self._keys, dtype=np.int64)


def prefix_order(problem: Problem) -> list[int]:
    """Columns by the entropy of their values, highest first: generalizing those joins most cells."""
    records = problem.measures[0]
    entropy = []
    for c in problem.columns:
        p = np.bincount(c.codes, weights=records) / problem.n_records
        p = p[p > 0]
        entropy.append(float(-(p * np.log(p)).sum()))
    return sorted(range(len(problem.columns)), key=lambda j: -entropy[j])
