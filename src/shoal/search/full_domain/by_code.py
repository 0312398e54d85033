"""Records added up by column and code, over groups of cells: by combination of a block first, then by the codes in it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from shoal.model.counts.classes import IntArray
from shoal.search.full_domain.sources import Source
from shoal.search.kernels.group_cells import lost_by_code
from shoal.search.problem.column_blocks import Block
from shoal.search.problem.problem import Problem

Ints = npt.NDArray[np.int64]


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
