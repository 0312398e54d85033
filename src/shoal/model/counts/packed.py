"""The codes of very many classes in eight bytes per class: one number whose digits are the codes.

A hundred million classes of eight columns would take 3 GiB as separate codes. The number takes a quarter of it, and a column is
unpacked only while somebody looks at it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

import numpy as np
import numpy.typing as npt

BLOCK = 1 << 15


class PackedCodes(Sequence[npt.NDArray[np.int32]]):
    """Codes of each column, unpacked anew each time one is asked for.

    Parameters
    ----------
    keys : array of uint64
        One per class: the mixed-radix number of its digits, first column first.
    widths : sequence of int
        Digits of column ``j`` are below ``widths[j]``.
    tables : sequence of int32 arrays, optional
        ``tables[j][digit]`` is the code of column ``j``; without them the digits are the codes.

    Examples
    --------
    >>> codes = PackedCodes(np.array([5, 12], np.uint64), (2, 10), (np.array([7, 8]), np.arange(10)))
    >>> [c.tolist() for c in codes]
    [[7, 8], [5, 2]]
    """

    def __init__(self, keys: npt.NDArray[np.uint64], widths: Sequence[int], tables: Sequence[npt.ArrayLike] = ()) -> None:
        self.keys = keys
        self.widths = tuple(widths)
        self.tables = tuple(np.ascontiguousarray(t, dtype=np.int32) for t in tables)

    def __len__(self) -> int:
        return len(self.widths)

    def __iter__(self) -> Iterator[npt.NDArray[np.int32]]:
        return (self[j] for j in range(len(self)))

    def __getitem__(self, j):  # type: ignore[no-untyped-def]  # an index or a slice, as of any sequence
        if isinstance(j, slice):
            return tuple(self[i] for i in range(*j.indices(len(self))))
        return self._unpacked(range(len(self))[j])

    def _unpacked(self, j: int) -> npt.NDArray[np.int32]:
        below, width = prod(self.widths[j + 1 :]), self.widths[j]
        shifted = below & (below - 1) == 0 and width & (width - 1) == 0  # quicker than dividing
        down = np.uint64(below.bit_length() - 1 if shifted else below)
        rest = np.uint64(width - 1 if shifted else width)
        cut, keep = (np.right_shift, np.bitwise_and) if shifted else (np.floor_divide, np.remainder)
        out = np.empty(len(self.keys), np.int32)
        digits = np.empty(min(BLOCK, len(out)), np.uint64)
        for start in range(0, len(out), BLOCK):
            part = self.keys[start : start + BLOCK]
            here = digits[: len(part)]
            keep(cut(part, down, out=here), rest, out=here)
            if self.tables:
                np.take(self.tables[j], here.view(np.int64), out=out[start : start + BLOCK], mode="clip")
            else:
                out[start : start + BLOCK] = here
        return out
