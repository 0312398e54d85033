"""Blocks of columns: the values of a few columns packed into one code, so that a cell's key needs few lookups.

A block lists the combinations of its columns' codes that occur. At a node it needs one table, combination → group, which
depends only on the levels of its own columns and is kept for the next node that has the same; when too many are kept, all go.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal.model.counts.classes import CodeArray
from shoal.search.kernels.entries import TABLED, dense_codes
from shoal.search.problem.column import Column

WIDTH = 4096
"""A block takes a further column while at most this many combinations are possible: its tables then stay in the cache."""
LARGEST_KEY = 2**62
KEPT = 64 * 2**20
"""Bytes of tables that are kept."""

Table = tuple[npt.NDArray[np.int64], int]


@dataclass(frozen=True, eq=False)
class Block:
    """Columns (by position), the combinations of their codes, and the combination of each cell."""

    columns: tuple[int, ...]
    combinations: npt.NDArray[np.int32]  # (columns of the block, combinations)
    codes: npt.NDArray[np.int32]  # per cell


def make_blocks(digits: Sequence[CodeArray], widths: Sequence[int]) -> tuple[Block, ...]:
    """Pack columns, those with many values first, into as few blocks as :data:`WIDTH` allows; keys stay below 2⁶².

    ``digits`` are the values of each column per cell, −1 for a missing one; ``widths`` counts them, with the missing one. The
    combinations hold digits too.
    """
    waiting = sorted(range(len(widths)), key=lambda j: -widths[j])
    blocks: list[Block] = []
    while waiting:
        mine: list[int] = []
        size = 1
        for j in waiting:
            if not mine or size * widths[j] <= WIDTH:
                mine.append(j)
                size *= widths[j]
        blocks.append(_block(mine, digits, widths))
        waiting = [j for j in waiting if j not in mine]
    while math.prod(b.combinations.shape[1] for b in blocks) > LARGEST_KEY and len(blocks) > 1:
        blocks.sort(key=lambda b: b.combinations.shape[1])
        blocks = [_join(blocks[0], blocks[1]), *blocks[2:]]
    return tuple(blocks)


def without_column(blocks: Sequence[Block], gone: int) -> tuple[Block, ...]:
    """The blocks of the other columns; combinations that differ in the column alone stay apart."""
    out = []
    for block in blocks:
        rows = [i for i, j in enumerate(block.columns) if j != gone]
        if rows:
            columns = tuple(block.columns[i] - (block.columns[i] > gone) for i in rows)
            out.append(Block(columns, np.ascontiguousarray(block.combinations[rows]), block.codes))
    return tuple(out)


def _block(mine: Sequence[int], digits: Sequence[CodeArray], widths: Sequence[int]) -> Block:
    """The combinations of the digits of a few columns."""
    sizes = [widths[j] for j in mine]
    space, offset = math.prod(sizes), 1  # a digit counts from −1
    key = digits[mine[0]].astype(np.int32)
    for j, size in zip(mine[1:], sizes[1:], strict=True):
        key *= size
        key += digits[j]
        offset = offset * size + 1
    key += offset
    present, place = dense_codes(key.astype(np.int64), space)  # numpy looks up by 64 bits
    return Block(tuple(mine), np.stack(np.unravel_index(present, sizes)).astype(np.int32) - np.int32(1), place)


def _join(a: Block, b: Block) -> Block:
    cards = a.combinations.shape[1], b.combinations.shape[1]
    present, codes = dense_codes(a.codes.astype(np.int64) * cards[1] + b.codes, cards[0] * cards[1])
    combinations = np.concatenate([a.combinations[:, present // cards[1]], b.combinations[:, present % cards[1]]])
    return Block(a.columns + b.columns, np.ascontiguousarray(combinations), codes)


class Tables:
    """For each block and levels of its columns: combination → group, and the number of groups."""

    def __init__(self, blocks: Sequence[Block], columns: Sequence[Column]) -> None:
        self._blocks = blocks
        self._columns = columns
        self._known: dict[tuple[int, ...], Table] = {}
        self._held = 0

    def at(self, node: Sequence[int]) -> list[Table]:
        """The table of each block at this node."""
        out = []
        for b, block in enumerate(self._blocks):
            key = (b, *[node[j] for j in block.columns])
            table = self._known.get(key)
            if table is None:
                table = self._make(block, key[1:])
                self._keep(key, table)
            out.append(table)
        return out

    def _keep(self, key: tuple[int, ...], table: Table) -> None:
        if self._held > KEPT:
            self._known.clear()
            self._held = 0
        self._known[key] = table
        self._held += table[0].nbytes

    def _make(self, block: Block, levels: Sequence[int]) -> Table:
        groups = np.zeros(block.combinations.shape[1], dtype=np.int64)
        card = 1
        for codes, j, level in zip(block.combinations, block.columns, levels, strict=True):
            column = self._columns[j]
            groups = groups * column.cards[level] + column.groups[level][codes]
            card *= column.cards[level]
            if card > TABLED:  # never more groups than combinations, so keys cannot overflow
                present, groups = np.unique(groups, return_inverse=True)
                card = len(present)
        if card > len(groups):
            present, dense = dense_codes(groups, card)
            return dense.astype(np.int64), len(present)
        return groups, card
