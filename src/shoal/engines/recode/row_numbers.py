"""A number for every row, made of its content: what random steps draw by, so that the order of the rows does not matter.

The number is a hash of the original row and how many equal rows come before it. To find equal rows only hashes are put in order,
those that may come more than once, on disk where they are many; the rows themselves wait as they came.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from shoal.engines.recode.spill import KEY, Held, in_order
from shoal.kernels.arrow import from_numpy, to_numpy
from shoal.kernels.order import FEW_HASHES, HashArray, Repeats, row_hashes, times_before

HASH, BEFORE, ROW = "hash", "before", "row"
"""The two words of a row's number; and its place among the rows, where some columns of them are put in another order."""
SPREAD = 30
"""Bits that a row's place is moved up by, so that rows go to different files when they are ordered."""


def hashed(tables: Iterator[Any], columns: Sequence[str], unneeded: int) -> Iterator[Any]:
    """The tables with a hash of some columns beside them, and without the last columns ``o…`` that only it is made of."""
    for table in tables:
        keys = from_numpy(row_hashes([table[n] for n in columns], table.num_rows, 0))
        last = [n for n in table.column_names if n[0] == "o"]
        yield table.drop_columns(last[len(last) - unneeded :]).append_column(HASH, keys)


def as_they_come(tables: Iterator[Any], folder: Path, held: int) -> Iterator[Any]:
    """The tables in the order in which they came, numbered: they wait until the last hash is known."""
    rows = Held(folder, "numbered", tables)
    repeated = _Repeated(_in_place(rows, folder, held // 4))  # sorting takes several times what is held
    first = 0
    for table in rows.tables():
        yield table.append_column(BEFORE, from_numpy(repeated.among(first, table.num_rows)))
        first += table.num_rows
    rows.remove()


def numbers_of(table: Any) -> HashArray:
    """The numbers of a table's rows, two words each."""
    return np.stack([to_numpy(table[n].combine_chunks()) for n in (HASH, BEFORE)], axis=1)


def places(first: int, n: int) -> HashArray:
    """Keys that put rows in the order of their places."""
    return np.arange(first, first + n, dtype=np.uint64) << np.uint64(SPREAD)


def _in_place(rows: Held, folder: Path, held: int) -> Iterator[Any]:
    """The places of rows that an equal one comes before, and how many do, in the order of the places."""
    return in_order(_again(in_order(_keys(rows), folder, held)), folder, held)


def _keys(rows: Held) -> Iterator[Any]:
    """The hashes that may come more than once, to be put in order, with the places of their rows."""
    seen = Repeats() if rows.rows >= FEW_HASHES else None
    if seen is not None:
        for table in rows.tables([HASH]):
            seen.add(to_numpy(table[HASH].combine_chunks()))
    first = 0
    for table in rows.tables([HASH]):
        keys = pa.table({HASH: table[HASH], ROW: from_numpy(places(first, table.num_rows)), KEY: table[HASH]})
        yield keys if seen is None else keys.filter(pa.array(seen.possible(to_numpy(table[HASH].combine_chunks()))))
        first += table.num_rows


def _again(tables: Iterator[Any]) -> Iterator[Any]:
    seen = _Seen()
    for table in tables:
        before = seen.before(to_numpy(table[HASH].combine_chunks()))
        more = pa.table({ROW: table[ROW], KEY: table[ROW], BEFORE: from_numpy(before)})
        yield more.filter(pa.array(before > 0))


class _Seen:
    """Counts equal hashes over tables whose hashes are in order."""

    def __init__(self) -> None:
        self._last: np.uint64 | None = None
        self._times = np.uint64(0)

    def before(self, hashes: HashArray) -> HashArray:
        """How many equal ones came before each."""
        if not len(hashes):
            return hashes
        out = times_before(hashes)
        if hashes[0] == self._last:
            out[hashes == self._last] += self._times
        self._last, self._times = hashes[-1], out[-1] + np.uint64(1)
        return out


class _Repeated:
    """The rows that an equal one comes before, asked for from the first place on."""

    def __init__(self, tables: Iterator[Any]) -> None:
        self._tables = tables
        self._rows = self._times = np.empty(0, np.uint64)

    def among(self, first: int, n: int) -> HashArray:
        """How many equal rows come before each of the rows ``first`` … ``first`` + ``n`` − 1."""
        while not len(self._rows) or self._rows[-1] < first + n:
            table = next(self._tables, None)
            if table is None:
                break
            self._rows = np.append(self._rows, to_numpy(table[ROW].combine_chunks()) >> np.uint64(SPREAD))
            self._times = np.append(self._times, to_numpy(table[BEFORE].combine_chunks()))
        out = np.zeros(n, np.uint64)
        end = int(np.searchsorted(self._rows, np.uint64(first + n)))
        out[(self._rows[:end] - np.uint64(first)).astype(np.int64)] = self._times[:end]
        self._rows, self._times = self._rows[end:], self._times[end:]
        return out
