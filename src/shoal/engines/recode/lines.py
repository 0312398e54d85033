"""Finished lines of text in the order of a 64-bit key, on disk where they are many.

As :mod:`shoal.engines.recode.spill` does with tables: lines go to one of 64 parts by the first bits of their key; each part is
then sorted by itself, or split once more where it is too large. Bytes are copied twice, and no value is made of them again.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.engines.files.csv.lines import Lines
from shoal.engines.recode.spill import BITS, no_room
from shoal.engines.recode.threads import ahead, behind
from shoal.kernels.jit import up_to

Keyed = Iterator[tuple[npt.NDArray[np.uint64], Lines]]
"""Lines, and the key of each."""

FEW = up_to(1 << 14)
"""Fewer rows are ordered as tables: they are done before numba would be loaded."""
PARTS = 1 << BITS
MOST_WAITING = 1 << 18
"""Bytes of one part that wait in memory until they are written to its file."""
PIECE = 1 << 22
"""Bytes that are given at a time."""


def lines_in_order(
    tables: Iterator[Any], keyed: Callable[[Any], Keyed], folder: Path, held: int
) -> Iterator[tuple[npt.NDArray[np.uint8], int]]:
    """The lines that ``keyed`` makes of each table, in increasing order of their keys: bytes, and how many lines they are.

    Lines of equal keys keep their order. Tables are taken in the caller's thread, and made into lines in another, so that
    reading and writing go on at the same time. Files are made in ``folder`` and are gone when the last line was given.
    """
    with tempfile.TemporaryDirectory(dir=folder) as own:
        yield from ahead(_sorted(_parts(tables, keyed, Path(own), held), held))


def _parts(tables: Iterator[Any], keyed: Callable[[Any], Keyed], folder: Path, held: int) -> list[_Part]:
    scattered = _Scattered(folder, 64 - BITS, held)

    def spread(table: Any) -> None:
        for keys, lines in keyed(table):
            scattered.add(keys, lines)

    behind(tables, spread)
    return scattered.parts()


def _sorted(parts: list[_Part], held: int) -> Iterator[tuple[npt.NDArray[np.uint8], int]]:
    for part in parts:
        if part.alike:
            for facts, data in part.pieces(PIECE):
                yield data, len(facts)
        elif part.size > held and part.shift >= BITS:
            again = _Scattered(part.path.parent, part.shift - BITS, held)
            for facts, data in part.pieces(held // 4):
                again.add(facts[:, 0].copy(), _behind_each_other(facts, data))
            part.remove()
            yield from _sorted(again.parts(), held)
            continue
        else:
            yield from part.in_memory()
        part.remove()


def _behind_each_other(facts: npt.NDArray[np.uint64], data: npt.NDArray[np.uint8]) -> Lines:
    starts = _starts(facts)
    return Lines(data, starts[:-1], starts[1:])


def _starts(facts: npt.NDArray[np.uint64]) -> npt.NDArray[np.int64]:
    """Where each line starts, and where the last one ends."""
    return np.append(np.int64(0), np.cumsum(facts[:, 1].view(np.int64)))


class _Scattered:
    """Lines on disk, in one part per value of the next bits of their keys."""

    def __init__(self, folder: Path, shift: int, held: int) -> None:
        waiting = min(MOST_WAITING, max(held // (4 * PARTS), 1))
        self._shift = shift
        self._parts = [_Part(folder / f"{shift}-{i}", shift) for i in range(PARTS)]
        self._data = np.empty((PARTS, waiting), np.uint8)
        self._facts = np.empty((PARTS, max(waiting // 32, 1), 2), np.uint64)
        self._filled, self._rows = np.zeros(PARTS, np.int64), np.zeros(PARTS, np.int64)

    def add(self, keys: npt.NDArray[np.uint64], lines: Lines) -> None:
        from shoal.kernels._scatter_loops import scatter

        here = self._data, self._facts, self._filled, self._rows
        at = 0
        while (at := scatter(keys, lines.starts, lines.ends, lines.data, at, self._shift, *here)) < len(keys):
            part = int(keys[at] >> np.uint64(self._shift)) % PARTS
            self._write(part)
            start, end = int(lines.starts[at]), int(lines.ends[at])
            if end - start > self._data.shape[1]:
                self._parts[part].write(np.array([[keys[at], end - start]], np.uint64), lines.data[start:end])
                at += 1

    def _write(self, part: int) -> None:
        rows, filled = int(self._rows[part]), int(self._filled[part])
        if rows:
            self._parts[part].write(self._facts[part, :rows], self._data[part, :filled])
        self._rows[part] = self._filled[part] = 0

    def parts(self) -> list[_Part]:
        """The parts that have lines, in the order of their bits; nothing waits in memory any more."""
        for part in range(PARTS):
            self._write(part)
        return [p for p in self._parts if p.rows]


class _Part:
    """Some of the lines: a file of their bytes, and one of keys and sizes. ``alike`` where all have the same key."""

    def __init__(self, path: Path, shift: int) -> None:
        self.path, self.shift, self.rows, self.size = path, shift, 0, 0
        self._facts = path.with_suffix(".keys")
        self._low, self._high = np.uint64(2**64 - 1), np.uint64(0)

    @property
    def alike(self) -> bool:
        return bool(self._low == self._high)

    def write(self, facts: npt.NDArray[np.uint64], data: npt.NDArray[np.uint8]) -> None:
        with no_room(), self._facts.open("ab", 0) as keys, self.path.open("ab", 0) as lines:
            _write_all(keys, facts)
            _write_all(lines, data)
        self._low, self._high = min(self._low, facts[:, 0].min()), max(self._high, facts[:, 0].max())
        self.rows += len(facts)
        self.size += facts.nbytes + data.nbytes

    def pieces(self, most: int) -> Iterator[tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint8]]]:
        """Facts and bytes of some lines at a time, of about ``most`` bytes together."""
        some = max(1, most * self.rows // self.size)
        with self._facts.open("rb") as keys, self.path.open("rb") as lines:
            while len(facts := np.fromfile(keys, np.uint64, 2 * some).reshape(-1, 2)):
                yield facts, np.fromfile(lines, np.uint8, int(facts[:, 1].sum()))

    def in_memory(self) -> Iterator[tuple[npt.NDArray[np.uint8], int]]:
        from shoal.kernels._group_loops import sort_with_rows
        from shoal.kernels._scatter_loops import gather

        facts, data = np.fromfile(self._facts, np.uint64).reshape(-1, 2), np.fromfile(self.path, np.uint8)
        starts = _starts(facts)
        _, order = sort_with_rows(facts[:, 0].copy(), 64)
        ends = np.cumsum(facts[order, 1].view(np.int64))
        at = 0
        while at < len(order):
            before = int(ends[at - 1]) if at else 0
            stop = max(at + 1, int(np.searchsorted(ends, before + PIECE, side="right")))
            out = np.empty(int(ends[stop - 1]) - before, np.uint8)
            gather(order[at:stop], starts, data, out)
            yield out, stop - at
            at = stop

    def remove(self) -> None:
        self._facts.unlink()
        self.path.unlink()


def _write_all(file: Any, array: npt.NDArray[Any]) -> None:
    left = memoryview(np.ascontiguousarray(array)).cast("B")  # type: ignore[arg-type]
    while len(left):
        left = left[file.write(left) :]
