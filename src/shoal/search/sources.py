"""Where to group from: coarser copies of the base cells, shared by all nodes above them.

Columns are put in order, the one with the most information first. A node (v₁, v₂, …) is grouped from the cells at
(v₁, …, vᵢ, 0, …), those from the cells at (v₁, …, vᵢ₋₁, 0, …), and so on down to the base. Nodes that agree in their first
levels share this work, and the cells get fewer at each step.
"""

from __future__ import annotations

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
SHRINK = 0.8
"""A copy that keeps more than this share of the cells is not worth keeping."""
MEMORY = 256 * 2**20
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
    """The copies made so far, by the levels of the first columns."""

    def __init__(self, base: Source, coarsen: Callable[[Source, Node], Source], order: Sequence[int]) -> None:
        self.base = base
        self._coarsen = coarsen
        self._order = tuple(order)
        self._known: OrderedDict[Node, Source] = OrderedDict()
        self._held = 0

    def below(self, node: Node) -> Source:
        """A source at or below the node, with few cells."""
        source = self.base
        at = [0] * len(node)
        for j in self._order:
            if source.n_cells <= FEW:
                break
            if node[j] == 0:
                continue
            at[j] = node[j]
            key = tuple(at)
            if key == node:
                break
            found = self._known.get(key)
            if found is None:
                found = self._keep(key, source)
            else:
                self._known.move_to_end(key)
            source = found
        return source

    def _keep(self, key: Node, source: Source) -> Source:
        made = self._coarsen(source, key)
        if made.n_cells > SHRINK * source.n_cells:
            made = source
        else:
            self._held += made.n_bytes
        self._known[key] = made
        while self._held > MEMORY and len(self._known) > 1:
            _, old = self._known.popitem(last=False)
            if not any(old is s for s in self._known.values()):
                self._held -= old.n_bytes
        return made


def prefix_order(problem: Problem) -> list[int]:
    """Columns by the entropy of their values, highest first: generalizing those joins most cells."""
    records = problem.measures[0]
    entropy = []
    for c in problem.columns:
        p = np.bincount(c.codes, weights=records) / problem.n_records
        p = p[p > 0]
        entropy.append(float(-(p * np.log(p)).sum()))
    return sorted(range(len(problem.columns)), key=lambda j: -entropy[j])
