"""Records on their way: people drawn into groups, and published records put in the order of their pseudonyms, piece by piece.

Takes    columns (Arrow) of a group of people, a few million at a time
Returns  the rows of each group; the published records in the order of their pseudonyms, and who is behind them
Keeps    only the seed tells in which group a person is, and the order of pseudonyms tells nothing of groups
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.kernels._loops import ODD
from shoal.kernels.order import scrambled
from shoal.kernels.text import canonical_text
from shoal.model.counts.classes import IntArray

KEY, TRACE, PERSON = "key", "trace", "person"


def drawn(people: Any, seed: int) -> Any:
    """A number from 0 to 1 for each person of a column (Arrow), the same wherever the person occurs; only the seed tells it."""
    if isinstance(people, pa.ChunkedArray):
        people = people.combine_chunks()
    if isinstance(people, pa.ChunkedArray):
        people = pa.concat_arrays(people.chunks)
    coded = people.dictionary_encode()
    texts = canonical_text(coded.dictionary).cast(pa.large_binary())
    ends, data = (
        np.frombuffer(texts.buffers()[1], dtype=np.int64)[texts.offset : texts.offset + len(texts) + 1],
        texts.buffers()[2],
    )
    letters = np.frombuffer(data, dtype=np.uint8) if data is not None else np.empty(0, np.uint8)
    first, second = np.random.default_rng([seed, 6]).integers(1, 2**63, 2, dtype=np.uint64)
    start, length = ends[:-1], np.diff(ends)
    out = np.full(len(texts), first, dtype=np.uint64) + length.astype(np.uint64)
    for i in range(int(length.max(initial=0))):
        there = np.flatnonzero(length > i)
        out[there] = _mixed(out[there] * second + letters[start[there] + i].astype(np.uint64))
    return (_mixed(out) >> np.uint64(11)).astype(np.float64)[coded.indices.to_numpy(zero_copy_only=False)] / 2.0**53


def _mixed(numbers: Any) -> Any:
    """Steele, Lea and Flood's mixing of 64 bits (2014)."""
    return scrambled(numbers + ODD)


def dealt_by(group: IntArray, whole: Any, n: int) -> Iterator[tuple[int, Any]]:
    """The rows of a table (pyarrow) by their group."""
    order = np.argsort(group, kind="stable")
    ends = np.searchsorted(group[order], np.arange(n + 1))
    sorted_ = whole.take(pa.array(order))
    for g in range(n):
        if ends[g + 1] > ends[g]:
            yield g, sorted_.slice(int(ends[g]), int(ends[g + 1] - ends[g]))


MOST_KEY = 2**62


class Pieces:
    """Published records on their way to the file: dealt by the random key of their trace, so that a piece holds whole traces and
    the pieces follow each other in a random order."""

    def __init__(self, folder: Path, n: int) -> None:
        self.files = [folder / f"piece-{i}.parquet" for i in range(n)]
        self.points: list[str] = []
        self.names: list[str] = []
        self._stack, self._writers = ExitStack(), dict[int, Any]()

    def __enter__(self) -> Pieces:
        return self

    def __exit__(self, *_: Any) -> None:
        self._stack.close()

    def add(self, points: Mapping[str, Any], more: Mapping[str, Any], person: IntArray, trace: IntArray, key: IntArray) -> None:
        """The published columns of a group, and the person, the trace and its key of each record."""
        import pyarrow.parquet as pq

        self.points, self.names = list(points), [*points, *more]
        named = [*(f"c{i}" for i in range(len(self.names))), KEY, TRACE, PERSON]
        table = pa.table([*points.values(), *more.values(), key, trace.astype(np.int32), person.astype(np.int32)], names=named)
        piece = (key / MOST_KEY * len(self.files)).astype(np.int64).clip(0, len(self.files) - 1)
        for i, some in dealt_by(piece, table, len(self.files)):
            if i not in self._writers:
                self._writers[i] = self._stack.enter_context(pq.ParquetWriter(self.files[i], table.schema))
            self._writers[i].write_table(some)

    def merged(self, order: list[str], unit: str | None, values: Iterable[str] = ()) -> Iterator[tuple[Any, Any]]:
        """The published records by their pseudonyms, a piece at a time, and who is behind them with these values, in the same
        order. A pseudonym is the place of its key among all keys."""
        import pyarrow.parquet as pq

        before = 0
        for file in (f for f in self.files if f.exists()):
            read = pq.read_table(file)
            key, trace = read[KEY].to_numpy(), read[TRACE].to_numpy()
            index = np.lexsort((trace, key))
            number = np.empty(len(key), dtype=np.int64)
            number[index] = before + np.cumsum(np.diff(trace[index], prepend=-1) != 0)
            before = int(number.max())
            columns = {n: read[f"c{i}"] for i, n in enumerate(self.names)}
            columns |= {} if unit is None else {unit: pa.array(number)}
            joined = pa.table({n: columns[n] for n in order})
            by = [*([unit] if unit else []), *(n for n in order if n != unit)]
            at = pc.sort_indices(joined, sort_keys=[(n, "ascending") for n in by])
            points = {f"value {n}": columns[n] for n in values}
            points |= {f"point {i}": columns[n] for i, n in enumerate(self.points)}
            yield joined.take(at), pa.table({"trace": number, "person": read[PERSON], **points}).take(at)
