"""Columns as narrow integer codes, read chunk by chunk.

A row's code in a chunk is 0 for missing, else 1 + its position among the chunk's values: the dictionary of a text column, or
the distance from the smallest number of the chunk for whole numbers and dates (no hashing at all). Codes take one, two or four
bytes. Only when all chunks are read are they translated, by one small table per chunk, into the rank of the published value.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shoal.engines.core.kinds import normalize
from shoal.kernels.arrow import from_numpy, from_texts, is_missing, positions, to_numpy
from shoal.kernels.group import compiled_pays
from shoal.kernels.jit import lean_njit
from shoal.model.counts.classes import CodeArray
from shoal.model.roles import Column
from shoal.steps import ExpressionStep

WIDEST_RANGE = 1 << 26
SMALL_RANGE, RANGE_PER_ROW = 1 << 16, 16
"""A range of numbers is held in full while it is small, or not much longer than the column."""
Codes = npt.NDArray[Any]
Lookup = npt.NDArray[np.uint32]


def narrow(values: npt.NDArray[Any], add: int, largest: int) -> Codes:
    """``values + add`` in the smallest unsigned type that holds 0 … largest, in one pass."""
    kind: Any = np.uint8 if largest < 256 else np.uint16 if largest < 65_536 else np.uint32
    out = np.empty(len(values), kind)
    np.add(values, values.dtype.type(add), out=out, casting="unsafe")
    return out


def sorted_categories(values: pa.Array) -> tuple[Any, CodeArray]:
    """Distinct values in order, and for each old position the new one; one entry more, for −1."""
    sorted_places = pc.sort_indices(values)
    order = to_numpy(sorted_places)
    rank = np.empty(len(order) + 1, np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    rank[-1] = -1
    return values.take(sorted_places), rank


class CodedColumn:
    """The codes of one column, and what they stand for."""

    def __init__(self, column: Column) -> None:
        self.column = column
        self.chunks: list[Codes] = []
        self._meaning: list[tuple[int, int] | int] = []  # per chunk: (first number, last number) or which dictionary
        self._dictionaries: list[Any] = []
        self._last: Any = None
        self._given = False  # whether a dictionary came with the data: its values may repeat
        self._distinct: tuple[Any, list[npt.NDArray[np.int64]]] | None = None

    def add(self, values: pa.Array) -> None:
        """One more chunk."""
        if pa.types.is_dictionary(values.type):
            self._given = True
            self._add_dictionary(values)
            return
        numbers = self._numbers(values)
        if numbers is not None and self._add_range(numbers, values):
            return
        if numbers is None or self.column.kind in ("integer", "date"):
            values = normalize(values, self.column.kind)
        if pa.types.is_string(values.type) and (few := few_texts(values)) is not None:
            self._add_codes(few[0], values.take(from_numpy(few[1])))
        else:
            self._add_dictionary(values.dictionary_encode())

    def _numbers(self, values: pa.Array) -> Any:
        """Whole numbers and dates as an Arrow integer array; None for other kinds."""
        if pa.types.is_date32(values.type):
            return values.view(pa.int32())
        if pa.types.is_integer(values.type) and values.type != pa.uint64():
            return values
        return None

    def _add_range(self, numbers: pa.Array, values: pa.Array) -> bool:
        """Code by distance from the smallest number, where the chunk's range is not too wide."""
        missing, plain = numbers.null_count, to_numpy(numbers)
        if missing == len(numbers):
            self.chunks.append(np.zeros(len(numbers), np.uint8))
            self._meaning.append((0, -1))
            return True
        if missing:
            low, high = (int(x.as_py()) for x in pc.min_max(numbers).values())
        else:
            low, high = int(plain.min()), int(plain.max())
        if high - low >= WIDEST_RANGE:
            return False
        if missing:
            gone = is_missing(numbers)
            plain = np.where(gone, plain.dtype.type(low), plain)
        if plain.dtype.itemsize < 4:
            plain = plain.astype(np.int32)  # so that the sum fits
        if abs(low) >= 2**31:
            plain, low_here = plain - plain.dtype.type(low), 0
        else:
            low_here = low
        codes = narrow(plain, 1 - low_here, high - low + 1)
        if missing:
            codes[gone] = 0
        self.chunks.append(codes)
        self._meaning.append((low, high))
        return True

    def _add_dictionary(self, encoded: pa.DictionaryArray) -> None:
        self._add_codes(narrow(positions(encoded.indices), 1, len(encoded.dictionary)), encoded.dictionary)

    def _add_codes(self, codes: Codes, values: pa.Array) -> None:
        """One more chunk of codes, 0 for missing, else 1 + the position among ``values``."""
        if self._last is None or not self._last.equals(values):
            self._last = values
            self._dictionaries.append(normalize(values, self.column.kind))
        self.chunks.append(codes)
        self._meaning.append(len(self._dictionaries) - 1)

    @property
    def nbytes(self) -> int:
        return sum(c.nbytes for c in self.chunks)

    # -- meaning ----------------------------------------------------------------------------------------------------

    def distinct(self) -> tuple[Any, list[npt.NDArray[np.int64]]]:
        """All values that may occur (pyarrow, in the type of the column's kind), and per chunk the position of each code there.

        Entry 0 of each chunk's positions is the missing value, −1.
        """
        if self._distinct is None:
            seen = [m for m in self._meaning if isinstance(m, tuple) and m[1] >= m[0]]
            low, high = min((m[0] for m in seen), default=0), max((m[1] for m in seen), default=-1)
            most = max(SMALL_RANGE, RANGE_PER_ROW * sum(len(c) for c in self.chunks))
            one_range = not self._dictionaries and high - low < min(WIDEST_RANGE, most)
            self._distinct = self._of_range(low, high) if one_range else self._of_dictionaries()
        return self._distinct

    def _of_range(self, low: int, high: int) -> tuple[Any, list[npt.NDArray[np.int64]]]:
        """All chunks are ranges, not far apart: every number between the smallest and the largest."""
        places = []
        for m in self._meaning:
            assert isinstance(m, tuple)
            places.append(np.append(-1, np.arange(m[0] - low, m[1] - low + 1)).astype(np.int64))
        return _in_kind(from_numpy(np.arange(low, high + 1, dtype=np.int64)), self.column.kind), places

    def _of_dictionaries(self) -> tuple[Any, list[npt.NDArray[np.int64]]]:
        """Chunks have dictionaries, or a few numbers far apart, which are listed: each value is looked up once."""
        for i, (codes, m) in enumerate(zip(self.chunks, self._meaning, strict=True)):
            if isinstance(m, tuple):
                used, place = np.unique(codes, return_inverse=True)
                numbers = used[used > 0].astype(np.int64) - 1 + m[0]
                self.chunks[i] = narrow(place.astype(np.int32), 0 if len(used) and used[0] == 0 else 1, len(numbers))
                self._meaning[i] = len(self._dictionaries)
                self._dictionaries.append(_in_kind(from_numpy(numbers), self.column.kind))
        which = [m for m in self._meaning if not isinstance(m, tuple)]
        parts = self._dictionaries
        if len(parts) == 1 and not self._given:
            return parts[0], [np.arange(-1, len(parts[0]), dtype=np.int64)] * len(which)
        wide = next((p.type for p in parts if pa.types.is_decimal(p.type)), parts[-1].type)  # some numbers may need 20 digits
        encoded = pa.concat_arrays([p.cast(wide) for p in parts]).dictionary_encode()
        everywhere = positions(encoded.indices)
        starts = np.cumsum([0, *(len(p) for p in parts)])
        return encoded.dictionary, [np.append(-1, everywhere[starts[m] : starts[m + 1]]) for m in which]


def _in_kind(numbers: pa.Array, kind: str) -> pa.Array:
    return numbers.cast(pa.int32()).view(pa.date32()) if kind == "date" else numbers


class Ranked:
    """A column ready to be counted: per chunk its codes and the rank (1 …; 0 is missing) of each code's published value.

    Ranks follow the order of the values; with ``as_met``, of a column that is only compared, the order they were met in.
    """

    def __init__(self, coded: CodedColumn, step: ExpressionStep | None, *, as_met: bool = False) -> None:
        values, places = coded.distinct()
        self.column = coded.column
        self.gap_codes: list[npt.NDArray[np.bool_]] | None = None
        missing_rank_value: Any = None
        if step is not None:
            step.check(coded.column)
            values, missing_rank_value, self.column = step.arrow(values, coded.column), step.missing, step.after(coded.column)
            uncovered = is_missing(values)
            if uncovered.any():
                self.gap_codes = [np.append(uncovered, False)[p] for p in places]
        self.after = values  # the published value of each distinct original
        distinct = values.dictionary_encode() if step is not None else None
        old = distinct.dictionary if distinct is not None else values
        if missing_rank_value is not None:
            old = pa.concat_arrays([old, from_texts([missing_rank_value]).cast(old.type)]).unique()
        self.categories, rank = (
            (old, np.append(np.arange(len(old), dtype=np.int32), np.int32(-1))) if as_met else sorted_categories(old)
        )
        per_value = rank if distinct is None else np.append(rank[positions(distinct.indices)], rank[-1])
        if missing_rank_value is not None:
            per_value[-1] = pc.index_in(from_texts([missing_rank_value]).cast(old.type), self.categories)[0].as_py()
        table = (per_value + 1).astype(np.uint32)
        self.width = len(self.categories) + 1
        self.lookups: list[Lookup] = [table[p] for p in places]
        self.chunks = coded.chunks

    def pieces(self) -> Iterator[tuple[Codes, Lookup]]:
        yield from zip(self.chunks, self.lookups, strict=True)


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


def few_texts(values: pa.Array) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]] | None:
    """Codes of a column with few texts, and a row of each text."""
    return number_texts(values) if compiled_pays(len(values) // 4) else None


def number_texts(values: pa.Array) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]] | None:
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
    count = _number(words, _MINE, ends, missing, codes, table, first)
    return None if count < 0 else (codes, first[:count])


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
def _number(words: Any, mine: Any, ends: Any, missing: Any, codes: Any, table: pa.Table, first: Any) -> Any:
    """Number the texts through an open hash table; how many values there are, −1 where they are too many."""
    mask, count, begin, start = np.uint64(len(table) - 1), _0, np.uint64(ends[0]), _0
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
                if count == np.uint64(len(first)):
                    return -1
                first[count] = r
                count += _1
                row[HEAD], row[TAIL], row[LENGTH], row[NUMBER] = head, tail, n + _1, count
                break
            at = (at + _1) & mask
        codes[r] = row[NUMBER]
    return np.int64(count)
