"""Number the texts of a column that has few different ones: in half the time of a dictionary that may grow.

Takes    a pyarrow string array
Returns  per text 0 where it is missing, else 1 + the number of its value in order of first appearance; a row of each value.
         None where there are more than :data:`MOST` values, or compiled code does not pay
Keeps    texts are the same only byte for byte
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.kernels.arrow import is_missing
from shoal.kernels.count import compiled_pays
from shoal.kernels.jit import lean_njit

MOST = 255
_SLOTS = 1024
_NOBODY = np.zeros(0, np.bool_)
_ODD = np.uint64(0x9E3779B97F4A7C15)
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_0, _1, _3, _5, _8 = (np.uint64(i) for i in (0, 1, 3, 5, 8))
_16, _29, _31, _40, _64 = (np.uint64(i) for i in (16, 29, 31, 40, 64))
_MINE = np.array([[(1 << 8 * min(max(n - w, 0), 8)) - 1 for n in range(17)] for w in (0, 8)], np.uint64)
"""The bytes that belong to a text of up to 16 bytes, among its first eight and among the next eight."""

HEAD, TAIL, LENGTH, NUMBER = 0, 1, 2, 3  # columns of the table: first 16 bytes of a text, 1 + its length, 1 + its number


def few_texts(values: Any) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]] | None:
    """Codes of a column with few texts, and a row of each text."""
    return number_texts(values) if compiled_pays(len(values)) else None


def number_texts(values: Any) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]] | None:
    """As :func:`few_texts`, however short the column is.

    >>> import pyarrow as pa
    >>> codes, first = number_texts(pa.array(["b", None, "a", "b"]))
    >>> codes.tolist(), first.tolist()
    ([1, 0, 2, 1], [0, 2])
    """
    _, places, data = values.buffers()
    codes, first = np.zeros(len(values), np.uint8), np.zeros(MOST, np.int64)
    if data is None or not len(values):
        if len(values) > values.null_count:  # nothing but empty texts has no data
            return None
        return codes, first[:0]
    ends = np.frombuffer(places, np.int32, count=values.offset + len(values) + 1)[values.offset :]
    size = int(ends[-1]) - int(ends[0])
    texts = np.empty(size + 16, np.uint8)  # words are read beyond the last text
    texts[:size], texts[size:] = np.frombuffer(data, np.uint8)[ends[0] : ends[-1]], 0
    words = np.ndarray(size + 9, np.uint64, texts, strides=(1,))  # the eight bytes from each byte on
    table = np.zeros((_SLOTS, 4), np.uint64)
    missing = is_missing(values) if values.null_count else _NOBODY
    found = _number(words, _MINE, ends, missing, codes, table, first)
    return None if found < 0 else (codes, first[:found])


@lean_njit
def _word(words: Any, at: Any, left: Any) -> Any:
    """Up to eight bytes from byte ``at`` on, where at least one is ``left``."""
    return words[at] & (_ALL >> (_64 - (min(left, _8) << _3)))


@lean_njit
def _is_same(words: Any, a: Any, b: Any, n: Any) -> Any:
    """Whether two texts of ``n`` bytes with the same first 16 are the same."""
    i = _16
    while i < n:
        if _word(words, a + i, n - i) != _word(words, b + i, n - i):
            return False
        i += _8
    return True


@lean_njit
def _number(words: Any, mine: Any, ends: Any, missing: Any, codes: Any, table: Any, first: Any) -> Any:
    """Number the texts through an open hash table; how many values there are, −1 where they are too many."""
    mask, found, begin, start = np.uint64(len(table) - 1), _0, np.uint64(ends[0]), _0
    for r in range(len(codes)):
        a, start = start, np.uint64(ends[r + 1]) - begin
        n = start - a
        if len(missing) > 0 and missing[r]:
            continue
        short = min(n, _16)
        head, tail = words[a] & mine[0, short], words[a + _8] & mine[1, short]
        h = ((head ^ (tail << _5) ^ (tail >> _31)) + n) * _ODD
        i = _16
        while i < n:
            h = (h ^ (h >> _29) ^ _word(words, a + i, n - i)) * _ODD
            i += _8
        at = (h >> _40) & mask
        while True:
            row = table[at]
            if (row[HEAD] ^ head) | (row[TAIL] ^ tail) | (row[LENGTH] ^ (n + _1)) == _0:
                if n <= _16 or _is_same(words, a, np.uint64(ends[first[row[NUMBER] - _1]]) - begin, n):
                    break
            elif row[LENGTH] == _0:
                if found == np.uint64(len(first)):
                    return -1
                first[found] = r
                found += _1
                row[HEAD], row[TAIL], row[LENGTH], row[NUMBER] = head, tail, n + _1, found
                break
            at = (at + _1) & mask
        codes[r] = row[NUMBER]
    return np.int64(found)
