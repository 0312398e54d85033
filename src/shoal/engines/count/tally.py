"""Tallies: the distinct combinations of coded columns, and how often each occurs.

Takes    columns as codes (:class:`~shoal.engines.count.codes.Ranked`)
Returns  combinations in increasing order, as ranks per column (0 is missing), with counts
Keeps    the counts add up to the number of rows
Cost     one pass per column and one count of 64-bit keys; a tally over fewer columns comes from a finer one where that is
         short, or where they are its first columns
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from shoal.engines.count.codes import Ranked
from shoal.kernels.count import add_digit, count_keys
from shoal.kernels.group import DIRECT_FACTOR, LARGEST_KEY, KeyArray, group_codes, group_keys, sum_by
from shoal.model.counts.classes import CodeArray, IntArray
from shoal.model.counts.packed import PackedCodes

MANY_CLASSES = 1 << 20
"""From this many classes on their codes stay packed in one number each."""

SHORT = 8
"""Tallies over any of the columns come from a tally with this many times fewer combinations than rows."""

BoolArray = npt.NDArray[np.bool_]


class Tally:
    """Combinations in increasing order, as ranks per column, and how often each occurs.

    ``used[j]`` says which ranks of column ``j`` occur.
    """

    def __init__(self, ranks: Sequence[CodeArray], used: Sequence[BoolArray], counts: IntArray) -> None:
        self.ranks, self.used, self.counts, self.n = ranks, used, counts, len(counts)

    def codes(self, tables: Sequence[CodeArray]) -> Sequence[CodeArray]:
        """The code of each rank, column by column; where there are very many combinations they stay packed."""
        if isinstance(self.ranks, PackedCodes):
            packed = PackedCodes(self.ranks.keys, self.ranks.widths, tables)
            return packed if self.n >= MANY_CLASSES else tuple(packed)
        return [table[ranks] for table, ranks in zip(tables, self.ranks, strict=True)]

    def numbers(self, width: int) -> IntArray:
        """For each combination the number of the one it belongs to over the first ``width`` columns."""
        starts = np.zeros(self.n, np.bool_)
        if isinstance(self.ranks, PackedCodes):
            first = self.ranks.keys // self._below(width)
            starts[1:] = first[1:] != first[:-1]
        else:
            for ranks in self.ranks[:width]:
                starts[1:] |= ranks[1:] != ranks[:-1]
        return np.cumsum(starts)

    def _below(self, width: int) -> np.uint64:
        assert isinstance(self.ranks, PackedCodes)
        return np.uint64(math.prod(self.ranks.widths[width:]))

    def first(self, width: int) -> Tally:
        """The tally over the first ``width`` columns: their combinations are in order already."""
        assert isinstance(self.ranks, PackedCodes)
        keys = self.ranks.keys // self._below(width)
        starts = np.flatnonzero(np.append(True, keys[1:] != keys[:-1]))
        return Tally(
            PackedCodes(keys[starts], self.ranks.widths[:width]), self.used[:width], np.add.reduceat(self.counts, starts)
        )

    def coarser(self, places: Sequence[int]) -> Tally:
        """The tally over some of the columns, in the order given."""
        if list(places) == list(range(len(places))):
            return self.first(len(places))
        assert isinstance(self.ranks, PackedCodes)
        widths = [self.ranks.widths[j] for j in places]
        keys = np.zeros(self.n, np.uint64)
        for j, width in zip(places, widths, strict=True):
            keys *= np.uint64(width)
            keys += self.ranks[j].astype(np.uint64)
        grouping = group_keys(keys, math.prod(widths))
        distinct = keys[grouping.first]
        order = np.argsort(distinct)
        counts = sum_by(grouping.ids, self.counts, grouping.n)[order]
        return Tally(PackedCodes(distinct[order], widths), [self.used[j] for j in places], counts)


class Tallies:
    """Tallies over columns of one table; they are kept, so that coarser ones need not look at the rows."""

    def __init__(self, rows: int) -> None:
        self._rows = rows
        self._kept: list[tuple[list[Ranked], Tally]] = []

    def over(self, columns: Sequence[Ranked], *, last: bool = False) -> Tally:
        """The tally over some columns; with ``last``, their codes are let go as soon as they are in the keys."""
        wanted = list(columns)
        finer = [(t.n, i) for i, (known, t) in enumerate(self._kept) if self._gives(known, t, wanted)]
        if finer:
            known, tally = self._kept[min(finer)[1]]
            return tally.coarser([known.index(c) for c in wanted])
        packed = _keys(wanted, self._rows, last=last)
        if packed is None:
            return _wide(wanted)
        keys, widths, used = packed
        distinct, counts = count_keys(keys, math.prod(widths))
        tally = Tally(PackedCodes(distinct, widths), used, counts)
        self._kept.append((wanted, tally))
        return tally

    def _gives(self, known: list[Ranked], tally: Tally, wanted: list[Ranked]) -> bool:
        """Whether the wanted tally comes from a kept one more quickly than from the rows."""
        if known[: len(wanted)] == wanted:
            return True
        return tally.n * SHORT <= self._rows and all(c in known for c in wanted)


def _keys(columns: Sequence[Ranked], rows: int, *, last: bool) -> tuple[KeyArray, list[int], list[BoolArray]] | None:
    """One key per row over the columns, the width of each digit, which digits occur; None where keys would pass 2⁶³.

    Widths are rounded up to powers of two where the key space is too large for a direct table anyway: taking digits off by
    shifting is quicker than dividing.
    """
    widths = [c.width for c in columns]
    space = math.prod(widths)
    if space >= LARGEST_KEY:
        return None
    rounded = [1 << (w - 1).bit_length() for w in widths]
    if space > DIRECT_FACTOR * rows and math.prod(rounded) < LARGEST_KEY:
        widths = rounded
    key = np.zeros(rows, np.uint64)
    used = [np.zeros(w, np.bool_) for w in widths]
    for c, width, seen in zip(columns, widths, used, strict=True):
        at = 0
        for codes, lookup in c.pieces():
            add_digit(key[at : at + len(codes)], codes, width, lookup, seen)
            at += len(codes)
        if last:
            c.chunks.clear()
    return key, widths, used


def _wide(columns: Sequence[Ranked]) -> Tally:
    """More combinations than a key can name: group column by column, then sort the classes."""
    whole = [np.concatenate([lookup[codes].astype(np.int32) for codes, lookup in c.pieces()]) - 1 for c in columns]
    grouping = group_codes(whole, [c.width - 1 for c in columns])
    ranks = [w[grouping.first] + np.int32(1) for w in whole]
    counts = np.bincount(grouping.ids, minlength=grouping.n).astype(np.int64)
    order = np.lexsort(ranks[::-1])
    used = [np.zeros(c.width, np.bool_) for c in columns]
    for rank, seen in zip(ranks, used, strict=True):
        seen[rank] = True
    return Tally([r[order] for r in ranks], used, counts[order])
