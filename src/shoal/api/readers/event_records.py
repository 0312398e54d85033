"""The records of a large event table, read in pieces and held as narrow codes.

Takes    a table of any engine; the columns of person, time and places
Returns  LargeEvents: complete records, one to four bytes per value; traces at any granularity
Keeps    rows are never all in memory: values are listed by the engine, rows coded piece by piece. With traces about 30 bytes per
         record are held at most
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.engines.table import Table
from shoal.errors import EmptyTableError, InternalError
from shoal.measures.events.granularity import place_codes, time_buckets
from shoal.measures.events.traces import Traces
from shoal.model.counts.classes import IntArray
from shoal.model.display import Progress
from shoal.model.hierarchy import Hierarchy

PIECE = 2_000_000
"""Rows that are read and coded at a time."""
FOR_VALUES = 1 << 30
"""Bytes for listing the values of a column; beyond them the engine lists them on disk."""

Codes = npt.NDArray[Any]


@dataclass(frozen=True, eq=False, repr=False)
class LargeEvents:
    """Complete records: the person of each, numbered from 0 without a gap, and the code of each value in ``values``.

    ``rows`` of the table in all; ``nobody`` of them without a person, ``lacking`` without a value in each other column, and
    ``absent`` people without a complete record.
    """

    person: npt.NDArray[np.int32]
    codes: Mapping[str, Codes]
    values: Mapping[str, Any]
    counts: Mapping[str, IntArray]
    rows: int
    nobody: int
    lacking: Mapping[str, int]
    absent: int

    @property
    def n_people(self) -> int:
        return int(self.person.max()) + 1

    def traces(
        self, time: str | None, kinds: Mapping[str, str], width: str, level: str, trees: Mapping[str, Hierarchy]
    ) -> Traces:
        """Traces at a granularity; the values under ``time`` may have been read as times since."""
        keys, points = np.zeros(len(self.person), dtype=np.int64), 1
        for name, codes in self.codes.items():
            of_value = (
                time_buckets(name, kinds[name], self.values[name], width)
                if name == time
                else place_codes(name, kinds[name], self.values[name], level, trees)
            )
            if of_value is None:
                continue
            size = int(of_value.max()) + 1
            points = _room(keys, points, size)
            for part in _pieces(len(keys)):
                keys[part] = keys[part] * size + of_value[codes[part]]
        people = self.n_people
        _room(keys, points, people)
        for part in _pieces(len(keys)):
            keys[part] = keys[part] * people + self.person[part]
        return Traces.of_keys(keys, people)


def read_large(source: Table, person: str, others: tuple[str, ...], progress: Progress | None) -> LargeEvents:
    """Read the table piece by piece."""
    names = (person, *others)
    listed = {n: _listed(source, n) for n in names}
    values, counts = {n: v for n, (v, _) in listed.items()}, {n: c for n, (_, c) in listed.items()}
    rows = source.n_rows()
    codes = {n: np.empty(rows, dtype=np.min_scalar_type(len(values[n]))) for n in names}
    kept = nobody = seen = 0
    lacking = dict.fromkeys(others, 0)
    for piece in _gathered(source.scan(names, batch_size=PIECE)):
        found = {n: _coded(column, values[n]) for n, column in zip(names, piece, strict=True)}
        whose = found[person] >= 0
        nobody += int((~whose).sum())
        good = whose.copy()
        for n in others:
            gap = found[n] < 0
            lacking[n] += int((gap & whose).sum())
            good &= ~gap
        size = int(good.sum())
        for n in names:
            codes[n][kept : kept + size] = found[n][good]
        kept, seen = kept + size, seen + len(good)
        if progress is not None:
            progress(0.5 * min(1.0, seen / max(1, rows)), "reading")
    if not kept:
        raise EmptyTableError(
            "no record has a person, a time and a place, as far as these are named.", hint="Check the columns named."
        )
    who, absent = _without_gaps(codes.pop(person)[:kept], len(values[person]))
    return LargeEvents(who, {n: codes[n][:kept] for n in others}, values, counts, seen, nobody, lacking, absent)


def _gathered(batches: Iterator[Any]) -> Iterator[list[Any]]:
    """Columns of about :data:`PIECE` rows each: small batches together, so that a list of values is looked up once for many."""
    import pyarrow as pa

    waiting: list[Any] = []
    for batch in batches:
        waiting.append(batch)
        if sum(b.num_rows for b in waiting) >= PIECE:
            yield [pa.chunked_array(c) for c in zip(*(b.columns for b in waiting), strict=True)]
            waiting = []
    if waiting:
        yield [pa.chunked_array(c) for c in zip(*(b.columns for b in waiting), strict=True)]


def _listed(source: Table, name: str) -> tuple[Any, IntArray]:
    """The distinct values of a column, and the rows of each; a missing value is not among them."""
    values, rows = source.values(name, memory_budget=FOR_VALUES)
    gap = int(values.null_count)
    return values.slice(0, len(values) - gap), np.asarray(rows[: len(rows) - gap], dtype=np.int64)


def _coded(found: Any, values: Any) -> IntArray:
    """The place of each value in the list; −1 where it is missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    found = found.cast(values.type)
    if pa.types.is_floating(values.type):
        found = pc.add(found, pa.scalar(0.0, values.type))  # −0.0 is 0.0
    places = pc.index_in(found, value_set=values)
    if places.null_count != found.null_count:
        raise InternalError("a value of the table was not among those listed.")
    return np.asarray(pc.fill_null(places, -1).to_numpy(), dtype=np.int64)


def _without_gaps(person: Codes, people: int) -> tuple[npt.NDArray[np.int32], int]:
    """People numbered without a gap, and how many of them have no record here."""
    there = np.zeros(people, dtype=np.bool_)
    for part in _pieces(len(person)):
        there[person[part]] = True
    number = (np.cumsum(there) - 1).astype(np.int32)
    out = np.empty(len(person), dtype=np.int32)
    for part in _pieces(len(person)):
        out[part] = number[person[part]]
    return out, int((~there).sum())


def _room(keys: IntArray, points: int, size: int) -> int:
    """Numbers of points once another column of this many values is added; where they would not fit, the keys are made dense."""
    if points * size >= 2**62:
        found = np.unique(keys)
        for part in _pieces(len(keys)):
            keys[part] = np.searchsorted(found, keys[part])
        points = len(found)
    return points * size


def _pieces(n: int) -> list[slice]:
    return [slice(a, min(a + PIECE, n)) for a in range(0, n, PIECE)]
