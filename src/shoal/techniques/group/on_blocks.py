"""Microaggregation of more records than fit in memory: cut into blocks on disk until they fit, then block by block.

Takes    tables that can be read again, a place to sort and keep tables, what makes the published numbers of one block
Returns  tables of the published columns, in the order of the rows
Keeps    what :meth:`shoal.techniques.group.microaggregate.Microaggregate.run` gives for the same rows, to the last bit
Cost     a sort on disk for each cut above :data:`HELD` numbers; a block on each of two cores
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.engines.recode.threads import MANY, each
from shoal.kernels.arrow import from_numpy, to_numpy
from shoal.techniques.columns import PLACE, SPREAD, Rows, counted, need_group, numbers, places, rank_keys, with_numbers

BLOCK = 1_000_000
"""Numbers of a block at most; after the last cut there are more than half as many."""
AT_ONCE = 1 << 16
"""Records whose sums are made together: sums depend on it, so it is the same in memory and on disk."""

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Scale:
    """Of each column the power of two that brings its numbers below 1, and then their mean and deviation."""

    exponent: IntArray
    mean: FloatArray
    deviation: FloatArray

    @staticmethod
    def of(parts: Iterable[FloatArray], exponent: IntArray) -> Scale:
        """From records, :data:`AT_ONCE` at a time (Chan, Golub and LeVeque 1979).

        >>> Scale.of([np.array([[0.1, 0.3]]), np.array([[0.5]])], np.array([0])).mean.round(9).tolist()
        [0.3]
        """
        n, mean, squares = 0, np.zeros(len(exponent)), np.zeros(len(exponent))
        for part in parts:
            values = np.ldexp(part, -exponent[:, None])
            more = values.shape[1]
            centre = values.mean(axis=1)
            apart = centre - mean
            squares += ((values - centre[:, None]) ** 2).sum(axis=1) + apart**2 * (n * more / (n + more))
            mean += apart * (more / (n + more))
            n += more
        return Scale(exponent, mean, np.sqrt(squares / n))

    def points(self, values: FloatArray) -> FloatArray:
        """Mean 0 and deviation 1 in all records; a constant column becomes 0."""
        centred = np.ldexp(values, -self.exponent[:, None]) - self.mean[:, None]
        deviation = self.deviation[:, None]
        return np.asarray(np.divide(centred, deviation, out=np.zeros_like(centred), where=deviation > 0))

    def distances(self, values: FloatArray) -> FloatArray:
        """Squared distances from the mean."""
        return np.asarray((self.points(values) ** 2).sum(axis=0))

    def widest(self, parts: Iterable[FloatArray]) -> int:
        """The column of which some of the records differ most; of equal ones the first."""
        here = Scale.of(parts, self.exponent).deviation
        return int(np.argmax(np.divide(here, self.deviation, out=np.zeros_like(here), where=self.deviation > 0)))


def exponents(values: FloatArray) -> IntArray:
    """The power of two, per column, that brings its numbers below 1."""
    return np.asarray(np.frexp(np.abs(values).max(axis=1, initial=0.0))[1], dtype=np.int64)


def is_block(records: int, columns: int, k: int) -> bool:
    """Whether so many records are not cut: they are few, or one half would be fewer than ``k``."""
    return records * columns <= BLOCK or records // 2 < k


def far_records(records: int, columns: int, k: int) -> int:
    """How many of the farthest records are one block: as many as fit, at least ``k``, and at least ``k`` are left."""
    return min(max(BLOCK // columns, k), records - k)


def in_parts(values: FloatArray) -> Iterator[FloatArray]:
    return (values[:, i : i + AT_ONCE] for i in range(0, values.shape[1], AT_ONCE))


def blocks(values: FloatArray, places: IntArray, k: int, scale: Scale) -> Iterator[tuple[FloatArray, IntArray]]:
    """Numbers and places of each block, of records that are not one block."""
    order = np.argsort(scale.distances(values), kind="stable")
    near = len(order) - far_records(len(order), len(values), k)
    yield _in_place(values, places, order[near:])
    yield from cut(values[:, order[:near]], places[order[:near]], k, scale)


def cut(values: FloatArray, places: IntArray, k: int, scale: Scale) -> Iterator[tuple[FloatArray, IntArray]]:
    """Blocks by cuts at the median alone."""
    n = len(places)
    if is_block(n, len(values), k):
        yield _in_place(values, places, np.arange(n))
        return
    order = np.argsort(values[scale.widest(in_parts(values))], kind="stable")
    for half in (order[: n // 2], order[n // 2 :]):
        yield from cut(values[:, half], places[half], k, scale)


def _in_place(values: FloatArray, places: IntArray, some: IntArray) -> tuple[FloatArray, IntArray]:
    some = some[np.argsort(places[some])]
    return values[:, some], places[some]


HELD = 3_000_000
"""Numbers that are cut in memory."""

Make = Callable[[FloatArray, Scale | None], tuple[FloatArray, IntArray]]
"""What is published for the records of a block, and their groups; without a scale the block has its own."""
Cells = tuple[FloatArray, IntArray]
"""Numbers, one row per column, and the places of their records."""
Block = tuple[FloatArray, IntArray, Scale | None]


@dataclass
class Smallest:
    """The places of the smallest group so far; of equal ones the first."""

    places: IntArray | None = None

    def see(self, at: IntArray, groups: IntArray) -> None:
        sizes = np.bincount(groups)
        if self.places is None or sizes.min() < len(self.places):
            self.places = at[groups == np.argmin(sizes)]


def on_blocks(rows: Rows, spill: Any, columns: Sequence[str], k: int, make: Make) -> Iterator[Any]:
    """Every column with the numbers that ``make`` gives; see :class:`~shoal.techniques.group.microaggregate.Microaggregate`."""
    work = _Work(spill, tuple(columns), k, make)
    patterns, exponent = _patterns(rows(), columns)
    need_group(k, sum(n for flags, n in patterns.items() if 0 in flags), f"the table of columns {', '.join(map(repr, columns))}")
    take = spill.taken(spill.order(_by_pattern(rows(), columns, patterns)))
    tables = (t for flags, n in sorted(patterns.items()) for t in work.pattern(take, flags, n, exponent))
    made = spill.order((t, to_numpy(t[PLACE].combine_chunks()) << SPREAD) for t in tables)
    missing = sum(n for flags, n in patterns.items() if n < k or 0 not in flags)
    return _published(made, columns, work.smallest, 0 < missing < k)


def _patterns(tables: Iterator[Any], columns: Sequence[str]) -> tuple[Counter[bytes], IntArray]:
    """How many records have which columns missing (1 in its place), and the power of two above the numbers of each column."""
    found: Counter[bytes] = Counter()
    largest = np.zeros(len(columns))
    for table in tables:
        values, missing = _cells(table, columns)
        largest = np.maximum(largest, np.abs(values).max(axis=1, initial=0.0))
        kinds, times = np.unique(missing, axis=1, return_counts=True)
        found.update({kind.tobytes(): int(n) for kind, n in zip(kinds.T.copy(), times, strict=True)})
    return found, exponents(largest[:, None])


def _cells(table: Any, columns: Sequence[str]) -> tuple[FloatArray, Any]:
    found = [numbers(table, name) for name in columns]
    return np.array([x for x, _ in found]), np.array([~there for _, there in found], dtype=np.uint8)


def _by_pattern(tables: Iterator[Any], columns: Sequence[str], patterns: Counter[bytes]) -> Iterator[tuple[Any, Any]]:
    """Places and numbers, with the rank of their pattern as key."""
    rank = {flags: i for i, flags in enumerate(sorted(patterns))}
    for table, at in counted(tables):
        values, missing = _cells(table, columns)
        kinds, which = np.unique(missing, axis=1, return_inverse=True)
        ranks = np.array([rank[kind.tobytes()] for kind in kinds.T.copy()], dtype=np.uint64)
        yield _table(columns, values, places(at, table.num_rows)[PLACE]), ranks[which.reshape(-1)] << SPREAD


def _table(columns: Sequence[str], values: FloatArray, at: Any) -> Any:
    import pyarrow as pa

    return pa.table({PLACE: at} | {name: from_numpy(x) for name, x in zip(columns, values, strict=True)})


@dataclass
class _Work:
    """The cuts on disk, and the blocks."""

    spill: Any
    columns: tuple[str, ...]
    k: int
    make: Make
    smallest: Smallest = field(default_factory=Smallest)

    def pattern(self, take: Any, flags: bytes, n: int, exponent: IntArray) -> Iterator[Any]:
        """The next ``n`` rows, which miss the same columns, as they are published: NaN for a missing number."""
        used = [i for i, flag in enumerate(flags) if not flag]
        names = [self.columns[i] for i in used]
        if n < self.k or not used:
            for part in _next(take, n):
                yield _table(self.columns, np.full((len(flags), part.num_rows), np.nan), part[PLACE])
            return
        for made, groups, at in self._found(self._blocks(take, names, n, exponent[used])):
            self.smallest.see(at, groups)
            values = np.full((len(flags), len(at)), np.nan)
            values[used] = made
            yield _table(self.columns, values, from_numpy(at.astype(np.uint64)))

    def _found(self, given: Iterator[Block]) -> Iterator[tuple[FloatArray, IntArray, IntArray]]:
        """What is published of each block, two of them at a time."""
        while pair := list(islice(given, 2)):
            yield from each(pair, MANY if len(pair) > 1 else 0, lambda one: (*self.make(one[0], one[2]), one[1]))

    def _blocks(self, take: Any, names: Sequence[str], n: int, exponent: IntArray) -> Iterator[Block]:
        if is_block(n, len(names), self.k):
            yield (*_held(_next(take, n), names), None)
            return
        part = self.spill.keep(t.select([PLACE, *names]) for t in _next(take, n))
        scale = Scale.of(_numbers(self.spill, part, names, n), exponent)
        if n * len(names) <= HELD:
            found = blocks(*_taken_off(part, names), self.k, scale)
        else:
            found = self._far_apart(part, names, n, scale)
        yield from ((values, at, scale) for values, at in found)

    def _far_apart(self, part: Any, names: Sequence[str], n: int, scale: Scale) -> Iterator[Cells]:
        far = far_records(n, len(names), self.k)
        near, rest = self._sorted(part, lambda t: scale.distances(_arrays(t, names)), (n - far, far))
        values, at = _taken_off(rest, names)
        order = np.argsort(at)
        yield values[:, order], at[order]
        yield from self._cut(near, names, n - far, scale)

    def _cut(self, part: Any, names: Sequence[str], n: int, scale: Scale) -> Iterator[Cells]:
        if n * len(names) <= HELD or is_block(n, len(names), self.k):
            yield from cut(*_taken_off(part, names), self.k, scale)
            return
        column = names[scale.widest(_numbers(self.spill, part, names, n))]
        sizes = n // 2, n - n // 2
        halves = self._sorted(part, lambda t: to_numpy(t[column].combine_chunks()), sizes)
        for half, size in zip(halves, sizes, strict=True):
            yield from self._cut(half, names, size, scale)

    def _sorted(self, part: Any, by: Callable[[Any], FloatArray], sizes: tuple[int, int]) -> list[Any]:
        """The rows of a part in the order of a number, as two parts; the part itself is gone."""
        take = self.spill.taken(self.spill.order((t, rank_keys(by(t))) for t in part.tables()))
        halves = [self.spill.keep(_next(take, size)) for size in sizes]
        part.remove()
        return halves


def _next(take: Any, n: int) -> Iterator[Any]:
    """The next ``n`` rows, some at a time."""
    return (take(min(AT_ONCE, n - i)) for i in range(0, n, AT_ONCE))


def _numbers(spill: Any, part: Any, names: Sequence[str], n: int) -> Iterator[FloatArray]:
    """The numbers of a part, always as many at a time: sums are then the same."""
    return (_arrays(t, names) for t in _next(spill.taken(part.tables(names)), n))


def _taken_off(part: Any, names: Sequence[str]) -> Cells:
    """The rows of a part, which is gone then."""
    held = _held(part.tables(), names)
    part.remove()
    return held


def _held(tables: Iterator[Any], names: Sequence[str]) -> Cells:
    import pyarrow as pa

    table = pa.concat_tables(tables)
    return _arrays(table, names), to_numpy(table[PLACE].combine_chunks()).astype(np.int64)


def _arrays(table: Any, names: Sequence[str]) -> FloatArray:
    return np.array([to_numpy(table[name].combine_chunks()) for name in names])


def _published(tables: Iterator[Any], columns: Sequence[str], smallest: Smallest, hide: bool) -> Iterator[Any]:
    """The tables with missing values for NaN, and for the smallest group where that must hide others: rows come from disk, in
    order, when all groups are known."""
    for table, before in counted(tables):
        table = table.drop_columns([PLACE])
        gone = np.zeros(table.num_rows, np.bool_)
        if hide and smallest.places is not None:
            here = smallest.places - before
            gone[here[(here >= 0) & (here < len(gone))]] = True
        for name in columns:
            x = table[name].combine_chunks().to_numpy()
            present = ~(np.isnan(x) | gone)
            table = with_numbers(table, name, np.where(present, x, 0.0), present)
        yield table
