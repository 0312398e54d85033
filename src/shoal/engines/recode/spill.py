"""Rows in the order of a 64-bit key, and rows that are read several times: on disk where they are many, so memory stays flat.

Rows beyond :data:`HELD` bytes go to one of 64 files (long rows: of 8) by the first bits of their key; each file is then sorted by
itself, or split once more where it is too large. The order is that of the keys alone: how many bytes are held changes nothing.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shoal.errors import OutputError
from shoal.kernels.arrow import from_numpy, to_numpy
from shoal.kernels.order import FEW_HASHES, HashArray, Repeats, own_keys, row_hashes, shuffled_order, sorted_order, times_before
from shoal.kernels.threads import ahead, behind

KEY = "\x00key"
"""The column that rows are ordered by: uint64, none missing."""

HELD = 96 << 20
BITS, BITS_OF_LONG_ROWS = 6, 3
LONG_ROWS = 32_768
"""Rows that are more than is held: if they are fewer, the rows are long, and each file costs more than its bytes."""
GIVEN = 131_072
LEAST = 32_768


def in_order(tables: Iterator[pa.Table], folder: Path, held: int = HELD) -> Iterator[pa.Table]:
    """The rows of tables of one schema, in increasing order of :data:`KEY`, without it; at least one table where one came.

    Rows of equal keys keep their order. Files are made in ``folder`` and are gone when the last row was given.
    """
    with tempfile.TemporaryDirectory(dir=folder) as own:  # two orders may be made at the same time
        for table in _join_tables(_sort(tables, Path(own), held, 64)):
            yield table.drop_columns([KEY])


def shuffled(tables: Iterator[pa.Table], folder: Path, held: int = HELD) -> Iterator[pa.Table]:
    """The rows of tables with a hash of their content under :data:`KEY`, in a random order in which equal rows stand apart.

    What is more than is held is sorted twice on disk: by the hash, so that equal rows can be numbered, and by the keys of their
    own. Long rows are few, so that they are numbered in memory and sorted once.
    """
    waiting: list[pa.Table] = []
    size = rows = 0
    for table in tables:
        waiting.append(table)
        size, rows = size + table.nbytes, rows + table.num_rows
        if size > held:
            break
    else:
        if waiting:
            whole = pa.concat_tables(waiting).combine_chunks()
            order = shuffled_order(to_numpy(whole[KEY].combine_chunks()))
            yield from _pieces(whole.drop_columns([KEY]).take(from_numpy(order)))
        return
    with tempfile.TemporaryDirectory(dir=folder) as own:
        rest = chain(waiting, tables)
        alike = _join_tables(_sort(rest, Path(own), held, 64))
        yield from in_order(_own_keys(alike) if rows >= LONG_ROWS else _number_repeats(rest), folder, held)


def _number_repeats(tables: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """As :func:`_own_keys` of hashes in any order: how often each came before is held for all of them."""
    seen: Counter[int] = Counter()
    for table in tables:
        hashes = to_numpy(table[KEY].combine_chunks())
        before = np.zeros(len(hashes), np.uint64)
        for i, value in enumerate(hashes.tolist()):
            before[i] = seen[value]
            seen[value] += 1
        yield _with_keys(table, own_keys(hashes, before))


def _with_keys(table: pa.Table, keys: HashArray) -> pa.Table:
    return table.set_column(table.schema.get_field_index(KEY), KEY, from_numpy(keys))


def _own_keys(tables: Iterator[pa.Table]) -> Iterator[pa.Table]:
    seen = _Seen()
    for table in tables:
        hashes = to_numpy(table[KEY].combine_chunks())
        yield _with_keys(table, own_keys(hashes, seen.before(hashes)))


def _join_tables(tables: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """The same rows in tables of about :data:`LEAST` rows or more: many small ones take longer."""
    waiting: list[pa.Table] = []
    for table in tables:
        waiting.append(table)
        if sum(t.num_rows for t in waiting) >= LEAST:
            yield pa.concat_tables(waiting).combine_chunks()
            waiting = []
    if waiting:
        yield pa.concat_tables(waiting).combine_chunks()


def _sort(tables: Iterator[pa.Table], folder: Path, held: int, left: int) -> Iterator[pa.Table]:
    """Rows by the last ``left`` bits of their keys; the bits before are the same."""
    waiting: list[pa.Table] = []
    size = rows = 0
    for table in tables:
        waiting.append(table)
        size, rows = size + table.nbytes, rows + table.num_rows
        bits = BITS if rows >= LONG_ROWS else BITS_OF_LONG_ROWS
        if size > held and left >= bits:
            break
    else:
        if waiting:
            yield from _pieces(_in_memory(pa.concat_tables(waiting)))
        return
    left -= bits
    yield from ahead(_parts_sorted(_split(chain(waiting, tables), folder, left, bits), folder, held, left))


def _parts_sorted(parts: Iterator[_Part], folder: Path, held: int, left: int) -> Iterator[pa.Table]:
    for part in parts:
        yield from part.read() if part.alike else _sort(part.read(), folder, held, left)
        part.remove()


def _in_memory(table: pa.Table) -> pa.Table:
    return table.combine_chunks().take(from_numpy(sorted_order(to_numpy(table[KEY].combine_chunks()))))


def _pieces(table: pa.Table) -> Iterator[pa.Table]:
    for start in range(0, max(table.num_rows, 1), GIVEN):
        yield table.slice(start, GIVEN)


def _split(tables: Iterator[pa.Table], folder: Path, shift: int, bits: int) -> Iterator[_Part]:
    """All rows on disk, in one file per value of the next bits of their keys; the files in the order of these bits."""
    parts = [_Part(folder / f"{shift}-{i}.arrows") for i in range(1 << bits)]

    def spread(table: pa.Table) -> None:
        keys = to_numpy(table[KEY].combine_chunks())
        where = ((keys >> np.uint64(shift)) & np.uint64((1 << bits) - 1)).astype(np.uint8)
        order = np.argsort(where, kind="stable")
        rows = table.combine_chunks().take(from_numpy(order)).combine_chunks()
        ends = np.cumsum(np.bincount(where, minlength=len(parts)))
        for part, start, end in zip(parts, [0, *ends[:-1].tolist()], ends.tolist(), strict=True):
            if end > start:
                part.write(rows.slice(start, end - start), keys[order[start:end]])

    with no_room():
        behind(tables, spread)
        for part in parts:
            part.close()
    return (p for p in parts if p.rows)


class _Part:
    """Some of the rows, in a file of their own; ``alike`` where all have the same key."""

    def __init__(self, path: Path) -> None:
        self._path, self._open = path, contextlib.ExitStack()
        self._writer: Any = None
        self._low, self._high, self.rows = np.uint64(2**64 - 1), np.uint64(0), 0

    @property
    def alike(self) -> bool:
        return bool(self._low == self._high)

    def write(self, table: pa.Table, keys: npt.NDArray[np.uint64]) -> None:
        if self._writer is None:
            self._writer = self._open.enter_context(pa.ipc.new_stream(self._open.enter_context(_sink(self._path)), table.schema))
        self._writer.write_table(table)
        self._low, self._high = min(self._low, keys.min()), max(self._high, keys.max())
        self.rows += table.num_rows

    def close(self) -> None:
        self._open.close()

    def read(self) -> Iterator[pa.Table]:
        return _read(self._path)

    def remove(self) -> None:
        self._path.unlink()


class Held:
    """Rows on disk that are read as often as one likes, whole or some of their columns."""

    def __init__(self, folder: Path, name: str, tables: Iterator[pa.Table]) -> None:
        self._path = folder / f"{name}.arrows"
        first = next(tables)
        self.schema, self.rows = first.schema, 0
        with no_room(), _sink(self._path) as sink, pa.ipc.new_file(sink, self.schema) as writer:
            for table in chain([first], tables):
                writer.write_table(table)
                self.rows += table.num_rows

    def tables(self, names: Sequence[str] | None = None) -> Iterator[pa.Table]:
        """The rows, or some of their columns, some at a time; at least one table."""
        wanted = list(self.schema.names if names is None else names)
        yield self.schema.empty_table().select(wanted)
        fields = None if names is None else [self.schema.get_field_index(n) for n in wanted]
        for table in self._read(fields):
            yield table.select(wanted)

    def columns(self, names: Sequence[str]) -> pa.Table:
        """All rows of some columns."""
        wanted = [self.schema.get_field_index(n) for n in names]
        parts = list(self._read(wanted))
        return pa.concat_tables(parts).select(list(names)) if parts else self.schema.empty_table().select(list(names))

    def remove(self) -> None:
        """Give the disk back."""
        self._path.unlink()

    def _read(self, fields: Sequence[int] | None) -> Iterator[pa.Table]:
        options = pa.ipc.IpcReadOptions(included_fields=None if fields is None else sorted(fields))
        with pa.OSFile(str(self._path), "rb") as source, pa.ipc.open_file(source, options=options) as reader:
            for i in range(reader.num_record_batches):
                yield pa.Table.from_batches([reader.get_batch(i)])


def _sink(path: Path) -> Any:
    return pa.BufferedOutputStream(pa.OSFile(str(path), "wb"), 1 << 16)


def _read(path: Path) -> Iterator[pa.Table]:
    """Batches as tables: read, not mapped, so that they do not count as memory once they are used."""
    with pa.OSFile(str(path), "rb") as source, pa.ipc.open_stream(source) as reader:
        for batch in reader:
            yield pa.Table.from_batches([batch])


@contextlib.contextmanager
def no_room() -> Iterator[None]:
    """A full disk in words."""
    try:
        yield
    except OSError:
        hint = "Free space, or set TMPDIR to a larger disk."
        raise OutputError("not enough disk space for the rows in the temporary folder.", hint=hint) from None


HASH, BEFORE, ROW = "hash", "before", "row"
"""The two words of a row's number; and its place among the rows, where some columns of them are put in another order."""
SPREAD = 30
"""Bits that a row's place is moved up by, so that rows go to different files when they are ordered."""


def hashed(tables: Iterator[pa.Table], columns: Sequence[str], unneeded: int) -> Iterator[pa.Table]:
    """The tables with a hash of some columns beside them, and without the last columns ``o…`` that only it is made of."""
    for table in tables:
        keys = from_numpy(row_hashes([table[n] for n in columns], table.num_rows, 0))
        last = [n for n in table.column_names if n[0] == "o"]
        yield table.drop_columns(last[len(last) - unneeded :]).append_column(HASH, keys)


def as_they_come(tables: Iterator[pa.Table], folder: Path, held: int) -> Iterator[pa.Table]:
    """The tables in the order in which they came, numbered: they wait until the last hash is known."""
    rows = Held(folder, "numbered", tables)
    repeated = _Repeated(_in_place(rows, folder, held // 4))  # sorting takes several times what is held
    first = 0
    for table in rows.tables():
        yield table.append_column(BEFORE, from_numpy(repeated.among(first, table.num_rows)))
        first += table.num_rows
    rows.remove()


def numbers_of(table: pa.Table) -> HashArray:
    """The numbers of a table's rows, two words each."""
    return np.stack([to_numpy(table[n].combine_chunks()) for n in (HASH, BEFORE)], axis=1)


def places(first: int, n: int) -> HashArray:
    """Keys that put rows in the order of their places."""
    return np.arange(first, first + n, dtype=np.uint64) << np.uint64(SPREAD)


def _in_place(rows: Held, folder: Path, held: int) -> Iterator[pa.Table]:
    """The places of rows that an equal one comes before, and how many do, in the order of the places."""
    return in_order(_again(in_order(_keys(rows), folder, held)), folder, held)


def _keys(rows: Held) -> Iterator[pa.Table]:
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


def _again(tables: Iterator[pa.Table]) -> Iterator[pa.Table]:
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

    def __init__(self, tables: Iterator[pa.Table]) -> None:
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
