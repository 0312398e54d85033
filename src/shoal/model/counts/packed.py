"""The codes of very many classes in eight bytes per class and word: numbers whose digits are the codes.

A hundred million classes of eight columns would take 3 GiB as separate codes. The number takes a quarter of it, and a column is
unpacked only while somebody looks at it. Columns that do not fit into one 64-bit word go on in the next.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

import numpy as np
import numpy.typing as npt

LARGEST_KEY = 2**63
"""The combinations of the columns in one word stay below this."""

BLOCK = 1 << 15


def words_of(widths: Sequence[int]) -> list[range]:
    """The columns of each word, the first columns in the first word; each word holds as many columns as fit.

    >>> words_of([2**40, 2**20, 2**10, 2**60])
    [range(0, 2), range(2, 3), range(3, 4)]
    """
    words, start, space = [], 0, 1
    for j, width in enumerate(widths):
        if j > start and space * width >= LARGEST_KEY:
            words.append(range(start, j))
            start, space = j, 1
        space *= width
    return [*words, range(start, len(widths))]


class PackedCodes(Sequence[npt.NDArray[np.int32]]):
    """Codes of each column, unpacked anew each time one is asked for.

    Parameters
    ----------
    words : sequence of uint64 arrays
        One entry per class: the mixed-radix numbers of its digits, the first column first, divided as :func:`words_of` says.
    widths : sequence of int
        Digits of column ``j`` are below ``widths[j]``.
    tables : sequence of int32 arrays, optional
        ``tables[j][digit]`` is the code of column ``j``; without them the digits are the codes.

    Examples
    --------
    >>> codes = PackedCodes([np.array([5, 12], np.uint64)], (2, 10), (np.array([7, 8]), np.arange(10)))
    >>> [c.tolist() for c in codes]
    [[7, 8], [5, 2]]
    """

    def __init__(
        self, words: Sequence[npt.NDArray[np.uint64]], widths: Sequence[int], tables: Sequence[npt.ArrayLike] = ()
    ) -> None:
        self.words = tuple(words)
        self.widths = tuple(widths)
        self.tables = tuple(np.ascontiguousarray(t, dtype=np.int32) for t in tables)
        self._columns = words_of(self.widths)

    def __len__(self) -> int:
        return len(self.widths)

    def __iter__(self) -> Iterator[npt.NDArray[np.int32]]:
        return (self[j] for j in range(len(self)))

    def __getitem__(self, j):  # type: ignore[no-untyped-def]  # an index or a slice, as of any sequence
        if isinstance(j, slice):
            return tuple(self[i] for i in range(*j.indices(len(self))))
        return self._unpacked(range(len(self))[j])

    def first(self, width: int) -> tuple[npt.NDArray[np.uint64], ...]:
        """The words of the first ``width`` columns alone (at least one)."""
        last = next(w for w, columns in enumerate(self._columns) if width <= columns.stop)
        below = prod(self.widths[width : self._columns[last].stop])
        return (*self.words[:last], self.words[last] if below == 1 else self.words[last] // np.uint64(below))

    def _unpacked(self, j: int) -> npt.NDArray[np.int32]:
        word = next(w for w, columns in enumerate(self._columns) if j in columns)
        keys = self.words[word]
        below, width = prod(self.widths[j + 1 : self._columns[word].stop]), self.widths[j]
        shifted = below & (below - 1) == 0 and width & (width - 1) == 0  # quicker than dividing
        down = np.uint64(below.bit_length() - 1 if shifted else below)
        rest = np.uint64(width - 1 if shifted else width)
        cut, keep = (np.right_shift, np.bitwise_and) if shifted else (np.floor_divide, np.remainder)
        out = np.empty(len(keys), np.int32)
        digits = np.empty(min(BLOCK, len(out)), np.uint64)
        for start in range(0, len(out), BLOCK):
            part = keys[start : start + BLOCK]
            here = digits[: len(part)]
            keep(cut(part, down, out=here), rest, out=here)
            if self.tables:
                np.take(self.tables[j], here.view(np.int64), out=out[start : start + BLOCK], mode="clip")
            else:
                out[start : start + BLOCK] = here
        return out
