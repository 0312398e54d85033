"""Tallies: the distinct combinations of coded columns, and how often each occurs.

Takes    columns as codes (:class:`~shoal.engines.count.codes.Ranked`)
Returns  combinations in increasing order, as ranks per column (0 is missing), with counts
Keeps    the counts add up to the number of rows
Cost     one pass per column and one count of 64-bit keys (of several words, where the columns need them); a tally over fewer
         columns comes from a finer one where that is short, or where they are its first columns
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from shoal.engines.count.codes import Ranked
from shoal.kernels.count import add_digit, count_keys, count_words, sort_words
from shoal.kernels.group import DIRECT_FACTOR, KeyArray, group_words, sum_by
from shoal.model.counts.classes import CodeArray, IntArray, PackedCodes, words_of

MANY_CLASSES = 1 << 20
"""From this many classes on their codes stay packed in one number each."""

SHORT = 8
"""Tallies over any of the columns come from a tally with this many times fewer combinations than rows."""

BoolArray = npt.NDArray[np.bool_]


class Tally:
    """Combinations in increasing order, as ranks per column, and how often each occurs.

    ``used[j]`` says which ranks of column ``j`` occur.
    """

    def __init__(self, ranks: PackedCodes, used: Sequence[BoolArray], counts: IntArray) -> None:
        self.ranks, self.used, self.counts, self.n = ranks, used, counts, len(counts)

    def codes(self, tables: Sequence[CodeArray]) -> Sequence[CodeArray]:
        """The code of each rank, column by column; where there are very many combinations they stay packed."""
        packed = PackedCodes(self.ranks.words, self.ranks.widths, tables)
        return packed if self.n >= MANY_CLASSES else tuple(packed)

    def numbers(self, width: int) -> IntArray:
        """For each combination the number of the one it belongs to over the first ``width`` columns."""
        starts = self._starts(self.ranks.first(width))
        starts[0] = False
        return np.cumsum(starts)

    def _starts(self, words: Sequence[KeyArray]) -> BoolArray:
        """Where a combination differs from the one before it in one of these words; the first does."""
        starts = np.zeros(self.n, np.bool_)
        starts[0] = True
        for word in words:
            starts[1:] |= word[1:] != word[:-1]
        return starts

    def first(self, width: int) -> Tally:
        """The tally over the first ``width`` columns: their combinations are in order already."""
        words = self.ranks.first(width)
        starts = np.flatnonzero(self._starts(words))
        ranks = PackedCodes([w[starts] for w in words], self.ranks.widths[:width])
        return Tally(ranks, self.used[:width], np.add.reduceat(self.counts, starts))

    def coarser(self, places: Sequence[int]) -> Tally:
        """The tally over some of the columns, in the order given."""
        if list(places) == list(range(len(places))):
            return self.first(len(places))
        widths = [self.ranks.widths[j] for j in places]
        words, spaces = [], []
        for columns in words_of(widths):
            word = np.zeros(self.n, np.uint64)
            for i in columns:
                word *= np.uint64(widths[i])
                word += self.ranks[places[i]].astype(np.uint64)
            words.append(word)
            spaces.append(math.prod(widths[i] for i in columns))
        grouping = group_words(words, spaces)
        distinct = [w[grouping.first] for w in words]
        order, _ = sort_words(distinct, spaces)
        counts = sum_by(grouping.ids, self.counts, grouping.n)[order]
        return Tally(PackedCodes([d[order] for d in distinct], widths), [self.used[j] for j in places], counts)


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
        words, widths, used = _keys(wanted, self._rows, last=last)
        spaces = [math.prod(widths[j] for j in columns_of) for columns_of in words_of(widths)]
        if len(words) == 1:
            distinct, counts = count_keys(words[0], spaces[0])
            tally = Tally(PackedCodes([distinct], widths), used, counts)
        else:
            several, counts = count_words(words, spaces)
            tally = Tally(PackedCodes(several, widths), used, counts)
        self._kept.append((wanted, tally))
        return tally

    def _gives(self, known: list[Ranked], tally: Tally, wanted: list[Ranked]) -> bool:
        """Whether the wanted tally comes from a kept one more quickly than from the rows."""
        if known[: len(wanted)] == wanted:
            return True
        return tally.n * SHORT <= self._rows and all(c in known for c in wanted)


def _keys(columns: Sequence[Ranked], rows: int, *, last: bool) -> tuple[list[KeyArray], list[int], list[BoolArray]]:
    """The words of each row's key, the width of each digit, which digits occur.

    Widths are rounded up to powers of two where the key space is too large for a direct table anyway and no word more is
    needed: taking digits off by shifting is quicker than dividing.
    """
    widths = [c.width for c in columns]
    rounded = [1 << (w - 1).bit_length() for w in widths]
    if math.prod(widths) > DIRECT_FACTOR * rows and len(words_of(rounded)) == len(words_of(widths)):
        widths = rounded
    used = [np.zeros(w, np.bool_) for w in widths]
    words = []
    for columns_of in words_of(widths):
        key = np.zeros(rows, np.uint64)
        for j in columns_of:
            at = 0
            for codes, lookup in columns[j].pieces():
                add_digit(key[at : at + len(codes)], codes, widths[j], lookup, used[j])
                at += len(codes)
            if last:
                columns[j].chunks.clear()
        words.append(key)
    return words, widths, used
