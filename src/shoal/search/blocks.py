"""Blocks of columns: the values of a few columns packed into one code, so that a cell's key needs few lookups.

A block lists the combinations of its columns' codes that occur. At a node it needs one table, combination → group, which
depends only on the levels of its own columns and is kept for the next node that has the same.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from shoal.kernels.search_group import Workspace, group_cells

if TYPE_CHECKING:
    from shoal.search.problem import Column

WIDTH = 1024
"""A block takes a further column while it has at most this many combinations: its tables then stay in the cache."""
LARGEST_KEY = 2**62


@dataclass(frozen=True, eq=False)
class Block:
    """Columns (by position), the combinations of their codes, and the combination of each cell."""

    columns: tuple[int, ...]
    combinations: npt.NDArray[np.int32]  # (columns of the block, combinations)
    codes: npt.NDArray[np.int32]  # per cell


def make_blocks(columns: Sequence[Column], codes: npt.NDArray[np.int32]) -> tuple[Block, ...]:
    """Pack columns, those with many values first, into as few blocks as :data:`WIDTH` allows; keys stay below 2⁶²."""
    order = sorted(range(len(columns)), key=lambda j: -columns[j].cards[0])
    blocks: list[Block] = []
    waiting = order
    while waiting:
        block = _single(waiting[0], codes, len(columns[waiting[0]].leaves))
        left = []
        for j in waiting[1:]:
            if block.combinations.shape[1] * columns[j].cards[0] > 4 * WIDTH:
                left.append(j)
                continue
            joined = _join(block, _single(j, codes, len(columns[j].leaves)))
            if joined.combinations.shape[1] <= WIDTH:
                block = joined
            else:
                left.append(j)
        blocks.append(block)
        waiting = left
    while _key_space(blocks) > LARGEST_KEY and len(blocks) > 1:
        blocks.sort(key=lambda b: b.combinations.shape[1])
        blocks = [_join(blocks[0], blocks[1]), *blocks[2:]]
    return tuple(blocks)


def _key_space(blocks: Sequence[Block]) -> int:
    space = 1
    for b in blocks:
        space *= b.combinations.shape[1]
    return space


def _single(j: int, codes: npt.NDArray[np.int32], n_codes: int) -> Block:
    return Block((j,), np.arange(n_codes, dtype=np.int32)[None, :], codes[j])


def _join(a: Block, b: Block) -> Block:
    cards = np.array([a.combinations.shape[1], b.combinations.shape[1]], dtype=np.int64)
    store = np.concatenate([np.arange(cards[0], dtype=np.int32), np.arange(cards[1], dtype=np.int32)])
    n_cells = len(a.codes)
    both = np.ascontiguousarray(np.stack([a.codes, b.codes]))
    none = np.zeros((1, n_cells), dtype=np.int64)
    offsets = np.array([0, cards[0]], dtype=np.int64)
    _, gid, first, _ = group_cells(both, store, offsets, cards, cards, none, Workspace(n_cells, 1, len(store)))
    combinations = np.concatenate([a.combinations[:, a.codes[first]], b.combinations[:, b.codes[first]]])
    return Block(a.columns + b.columns, np.ascontiguousarray(combinations), gid.copy())


class Tables:
    """For each block and levels of its columns: combination → group, in one long array that the kernel reads."""

    def __init__(self, blocks: Sequence[Block], columns: Sequence[Column]) -> None:
        self._blocks = blocks
        self._columns = columns
        self.store = np.empty(1 << 16, dtype=np.int32)
        self._used = 0
        self._lock = threading.Lock()
        self._known: dict[tuple[int, ...], tuple[int, int]] = {}

    def at(self, node: Sequence[int]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Offset into :attr:`store` and number of groups, for each block at this node."""
        offsets = np.empty(len(self._blocks), dtype=np.int64)
        cards = np.empty(len(self._blocks), dtype=np.int64)
        for b, block in enumerate(self._blocks):
            key = (b, *(node[j] for j in block.columns))
            found = self._known.get(key)
            if found is None:
                with self._lock:
                    found = self._known.get(key) or self._make(block, key[1:])
                    self._known[key] = found
            offsets[b], cards[b] = found
        return offsets, cards

    def _make(self, block: Block, levels: Sequence[int]) -> tuple[int, int]:
        n = block.combinations.shape[1]
        codes = np.empty(block.combinations.shape, dtype=np.int32)
        cards = []
        for i, (j, level) in enumerate(zip(block.columns, levels, strict=True)):
            codes[i] = self._columns[j].groups[level][block.combinations[i]]
            cards.append(self._columns[j].cards[level])
        store = np.concatenate([np.arange(c, dtype=np.int32) for c in cards])
        offsets = np.concatenate([[0], np.cumsum(cards)[:-1]]).astype(np.int64)
        sizes = np.array(cards, dtype=np.int64)
        none = np.zeros((1, n), dtype=np.int64)
        found, gid, _, _ = group_cells(codes, store, offsets, sizes, sizes, none, Workspace(n, 1, len(store)))
        while self._used + n > len(self.store):
            self.store = np.concatenate([self.store, np.empty_like(self.store)])
        start = self._used
        self.store[start : start + n] = gid
        self._used += n
        return start, found
