"""The different numbers of a column in increasing order, with their records: in memory, or on disk and read some at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.kernels.arrow import from_numpy, to_numpy
from shoal.techniques.columns import FloatArray, distinct_numbers, rank_keys

IntArray = npt.NDArray[np.int64]
Part = tuple[FloatArray, IntArray]

AT_ONCE = 1 << 17
"""Numbers, about, that are counted together."""


class Ranked:
    """Numbers in increasing order and the records of each, in parts that :meth:`parts` gives as often as it is called.

    >>> r = Ranked.held(np.array([3.0, 1.0, 2.0]), np.array([5, 1, 1]))
    >>> r.records, r.low, r.high, r.at_ranks([1, 2, 3]), r.up_to([2.5])
    (7, 1.0, 3.0, [1.0, 2.0, 3.0], [2])
    """

    def __init__(self, column: str, parts: Callable[[], Iterator[Part]], spill: Any = None) -> None:
        self.column, self.parts, self.spill = column, parts, spill
        self.values = self.records = 0
        self.low, self.high = np.inf, -np.inf
        for x, w in parts():
            self.values, self.records = self.values + len(x), self.records + int(w.sum())
            if len(x):
                self.low, self.high = min(self.low, float(x[0])), max(self.high, float(x[-1]))

    @classmethod
    def held(cls, x: FloatArray, w: IntArray) -> Ranked:
        """Of numbers in memory, each once, in any order."""
        order = np.argsort(x, kind="stable")
        part = x[order], w[order]
        return cls("", lambda: iter([part]))

    @classmethod
    def spilled(cls, column: str, counted: Iterable[tuple[Any, IntArray]], spill: Any) -> Ranked:
        """Of values (texts or typed) and their records, some at a time and in any order, sorted on disk."""
        import pyarrow as pa

        def keyed() -> Iterator[tuple[Any, Any]]:
            for values, counts in counted:
                x = distinct_numbers(column, values) + 0.0
                yield pa.table({"x": from_numpy(x), "w": from_numpy(np.asarray(counts, np.int64))}), rank_keys(x)

        rows = spill.keep(_joined(spill.order(keyed())))
        return cls(column, lambda: (_arrays(t) for t in rows.tables()), spill)

    @classmethod
    def sorted(cls, column: str, x: FloatArray, spill: Any) -> Ranked:
        """Of every record's number, in increasing order: they are counted again on every read."""
        import pyarrow as pa

        distinct_numbers(column, pa.array(x[[0, -1]][~np.isfinite(x[[0, -1]])]))  # infinite ones are at the ends
        return cls(column, lambda: _runs(x), spill)

    def at_ranks(self, ranks: Sequence[int]) -> list[float]:
        """The number of the record with each rank, counted from 1, in increasing order of the numbers."""
        found: dict[int, float] = {}
        before = 0
        for x, w in self.parts():
            below = before + np.cumsum(w)
            for rank in ranks:
                if len(x) and before < rank <= below[-1]:
                    found[rank] = float(x[np.searchsorted(below, rank)])
            before = int(below[-1]) if len(x) else before
        return [found[r] for r in ranks]

    def up_to(self, limits: Sequence[float]) -> list[int]:
        """How many records have a number of at most each limit."""
        return self._counted(limits, "right")

    def below(self, limits: Sequence[float]) -> list[int]:
        """How many records have a number below each limit."""
        return self._counted(limits, "left")

    def _counted(self, limits: Sequence[float], side: Any) -> list[int]:
        out = np.zeros(len(limits), np.int64)
        for x, w in self.parts():
            below = np.concatenate([[0], np.cumsum(w)])
            out += below[np.searchsorted(x, np.asarray(limits), side=side)]
        return [int(n) for n in out]


def sorted_numbers(column: str, batches: Iterator[FloatArray], spill: Any, room: int, most: int) -> tuple[Any, IntArray | None]:
    """The different ones of many numbers and their records, in order; more than ``most`` of them as :class:`Ranked`.

    ``room`` numbers are held: more are sorted so many at a time, and then on disk.
    """
    import pyarrow as pa

    held, filled = np.empty(room), 0
    for x in batches:
        if filled + len(x) > room:
            return Ranked.spilled(column, _counted(held, filled, x, batches), spill), None
        held[filled : filled + len(x)] = x
        filled += len(x)
    x = held[:filled]
    x.sort()
    if sum(len(values) for values, _ in _runs(x)) > most:
        return Ranked.sorted(column, x, spill), None
    parts = [(np.zeros(0), np.zeros(0, np.int64)), *_runs(x)]
    return pa.array(np.concatenate([v for v, _ in parts])), np.concatenate([n for _, n in parts])


def _counted(held: FloatArray, filled: int, more: FloatArray, batches: Iterator[FloatArray]) -> Iterator[tuple[Any, IntArray]]:
    """Numbers with their records, of as many at a time as ``held`` has room for; the first so many stand there already."""
    import pyarrow as pa

    for x in chain([more], batches, [None]):
        if x is None or filled + len(x) > len(held):
            held[:filled].sort()
            yield from ((pa.array(values), records) for values, records in _runs(held[:filled]))
            filled = 0
        if x is not None and len(x) > len(held):
            yield pa.array(x), np.ones(len(x), np.int64)
        elif x is not None:
            held[filled : filled + len(x)] = x
            filled += len(x)


def _runs(x: FloatArray) -> Iterator[Part]:
    """The different ones of numbers in increasing order and how often each is there, some at a time."""
    start = 0
    while start < len(x):
        end = int(np.searchsorted(x, x[min(start + AT_ONCE, len(x)) - 1], side="right"))
        part = x[start:end]
        first = np.flatnonzero(np.append(True, part[1:] != part[:-1]))
        yield part[first], np.diff(np.append(first, len(part)))
        start = end


def _arrays(table: Any) -> Part:
    return to_numpy(table["x"].combine_chunks()), to_numpy(table["w"].combine_chunks())


def _joined(tables: Iterator[Any]) -> Iterator[Any]:
    """Equal numbers, which different texts may spell, as one; the last of a table may go on in the next."""
    import pyarrow as pa

    x, w = np.zeros(0), np.zeros(0, np.int64)
    for table in tables:
        more = _arrays(table)
        x, w = np.concatenate([x, more[0]]), np.concatenate([w, more[1]])
        if not len(x):
            yield table.slice(0, 0)
            continue
        first = np.flatnonzero(np.append(True, x[1:] != x[:-1]))
        x, w = x[first], np.add.reduceat(w, first)
        yield pa.table({"x": from_numpy(x[:-1]), "w": from_numpy(w[:-1])})
        x, w = x[-1:], w[-1:]
    if len(x):
        yield pa.table({"x": from_numpy(x), "w": from_numpy(w)})
