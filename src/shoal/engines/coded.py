"""COUNT by dictionary codes and a kernel: for files and frames, in one reading, with the same answer as SQL gives.

Takes    a relation with a reader of Arrow chunks, and one or more requests
Returns  ClassCounts per request, in the canonical order of :mod:`shoal.engines.assemble`
Keeps    NULL and NaN are missing, −0.0 is 0.0, texts differ byte for byte
Cost     one reading; about as many bytes per row as the narrow codes need, and 16 for the keys of one request
"""

from __future__ import annotations

import math
import os
import queue
import threading
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from shoal.engines.base import Engine, Progress, Relation
from shoal.engines.codes import CodedColumn, Ranked
from shoal.engines.sql import CountRequest, gap_error, one_of, over_budget
from shoal.errors import EmptyTableError
from shoal.kernels.count import add_digit, count_keys
from shoal.kernels.group import DIRECT_FACTOR, LARGEST_KEY, KeyArray, group_codes
from shoal.model.counts import ClassCounts, CodeArray, IntArray, SensitiveCounts
from shoal.model.counts_packed import PackedCodes

if TYPE_CHECKING:
    from shoal.model.plan import Step

BYTES_PER_ROW = 32
MANY_CLASSES = 1 << 20
"""From this many classes on their codes stay packed in one number each."""
KINDS = ("text", "integer", "float", "boolean", "date", "timestamp", "time", "decimal", "binary")


def can_count(relation: Relation, request: CountRequest) -> bool:
    """Whether codes and a kernel will do: Arrow chunks at hand, no weights to add up, memory enough."""
    if relation.reader is None or request.weight is not None or not request.columns:
        return False
    names = [n for n in (*request.columns, *request.sensitive, request.unit) if n is not None]
    if any(one_of(relation, n).kind not in KINDS for n in names):
        return False
    budget = half_of_memory() if request.memory_budget is None else request.memory_budget
    return int(relation.reader.rows()) * BYTES_PER_ROW <= budget


def half_of_memory() -> int:
    """Half of the machine's memory in bytes: beyond it DuckDB counts, which can spill to disk."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2


def count_by_codes(
    engine: Engine, relation: Relation, requests: Sequence[CountRequest], progress: Progress | None
) -> list[ClassCounts]:
    """Read the needed columns once, then count every request from the codes."""
    wanted = [n for r in requests for n in (*r.columns, *r.sensitive, r.unit) if n is not None]
    names = list(dict.fromkeys(wanted))
    coded = read_codes(relation, names, progress)
    rows = sum(len(c) for c in coded[names[0]].chunks)
    if rows == 0:
        raise EmptyTableError(
            "the table has no rows, so no anonymity number is defined.", hint="Check the file or the filter that left nothing."
        )
    ranked: dict[tuple[str, Step | None], Ranked] = {}

    def column(name: str, step: Step | None = None) -> Ranked:
        if (name, step) not in ranked:
            ranked[name, step] = Ranked(coded[name], step)
        return ranked[name, step]

    if len(requests) == 1 and not requests[0].sensitive and requests[0].unit is None:
        return [_count_once(requests[0], column, coded, rows)]
    out = []
    for done, request in enumerate(requests):
        columns = [column(n, request.through.get(n)) for n in request.columns]
        for name, item in zip(request.columns, columns, strict=True):
            check_gap(name, item, coded[name])
        out.append(_count(request, columns, column, rows))
        if progress is not None:
            progress(0.5 + 0.5 * (done + 1) / len(requests), "counting")
    return out


def _count_once(request: CountRequest, column: Any, coded: dict[str, CodedColumn], rows: int) -> ClassCounts:
    """One plain request: every column's codes are let go as soon as they are in the keys."""
    columns = [column(n, request.through.get(n)) for n in request.columns]
    for name, item in zip(request.columns, columns, strict=True):
        check_gap(name, item, coded[name])
    return _count(request, columns, column, rows, last=True)


def read_codes(relation: Relation, names: Sequence[str], progress: Progress | None) -> dict[str, CodedColumn]:
    """The codes of the named columns; the next chunk is read while one is coded."""
    coded = {n: CodedColumn(one_of(relation, n)) for n in names}
    total = int(relation.reader.rows()) if progress is not None else 0
    seen = 0
    for chunk in read_ahead(relation.reader.chunks(names)):
        for name, values in zip(names, chunk, strict=True):
            coded[name].add(values)
        seen += len(chunk[0])
        if progress is not None:
            progress(0.5 * seen / max(1, total), "reading")
    return coded


def read_ahead(source: Iterator[Any]) -> Iterator[Any]:
    """The items of an iterator, made by a thread one step ahead."""
    waiting: queue.Queue[Any] = queue.Queue(maxsize=2)
    stop = threading.Event()
    end = object()

    def work() -> None:
        try:
            for item in source:
                waiting.put(item)
                if stop.is_set():
                    return
            waiting.put(end)
        except Exception as error:  # handed to the reader, who raises it
            waiting.put(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        while (item := waiting.get()) is not end:
            if isinstance(item, Exception):
                raise item
            yield item
    finally:
        stop.set()
        while thread.is_alive():
            try:
                waiting.get(timeout=0.05)
            except queue.Empty:
                continue


def check_gap(name: str, item: Ranked, coded: CodedColumn) -> None:
    """Stop where a value map does not cover the data, with the number of values and records."""
    if item.gap_codes is None:
        return
    records, lost = 0, set()
    _, positions = coded.distinct()
    for codes, gap, where in zip(coded.chunks, item.gap_codes, positions, strict=True):
        present = np.bincount(codes, minlength=len(gap))
        records += int(present[gap].sum())
        lost.update(where[gap & (present > 0)].tolist())
    if records:
        raise gap_error(name, len(lost), records)


class _Keys(NamedTuple):
    """One key per row over some columns, the width of each digit, and which digits of each column occur."""

    keys: KeyArray
    widths: list[int]
    used: list[npt.NDArray[np.bool_]]


def keys_of(columns: Sequence[Ranked], rows: int, *, last: bool = False) -> _Keys | None:
    """One key per row over the columns; None where keys would pass 2⁶³.

    Widths are rounded up to powers of two where the key space is too large for a direct table anyway: taking digits off by
    shifting is quicker than dividing.
    """
    widths = [c.width for c in columns]
    space = math.prod(widths)
    if space >= LARGEST_KEY:
        return None
    rounded = [1 << (w - 1).bit_length() for w in widths]
    if space > DIRECT_FACTOR * rows and math.prod(rounded) < LARGEST_KEY:
        widths = rounded
    key = np.zeros(rows, np.uint64)
    used = [np.zeros(w, np.bool_) for w in widths]
    for c, width, seen in zip(columns, widths, used, strict=True):
        at = 0
        for codes, lookup in c.pieces():
            add_digit(key[at : at + len(codes)], codes, width, lookup, seen)
            at += len(codes)
        if last:
            c.chunks.clear()
    return _Keys(key, widths, used)


def _count(request: CountRequest, columns: list[Ranked], column: Any, rows: int, *, last: bool = False) -> ClassCounts:
    """Classes of one request; with ``last``, the codes are not needed again."""
    table = _tally(columns, rows, last=last)
    unit = column(request.unit) if request.unit is not None else None
    records: IntArray | None = None
    sizes = table.counts
    if unit is not None:
        pairs = _tally([*columns, unit], rows)
        records, sizes = sizes, np.bincount(_classes(pairs, table), minlength=table.n).astype(np.int64)
    _check_budget(request, columns, table.n)
    inside = {}
    for name in request.sensitive:
        inside[name] = _sensitive(name, column(name), unit, columns, table, rows)
    tables, categories = zip(*(_present(u, c.categories) for u, c in zip(table.used, columns, strict=True)), strict=True)
    n_people = None if unit is None else _tally([unit], rows).n
    return ClassCounts(
        sizes,
        columns=request.columns,
        codes=table.codes(tables),
        categories=categories,
        sensitive=inside,
        records=records,
        n_people=n_people,
        unit=request.unit,
    )


def _check_budget(request: CountRequest, columns: Sequence[Ranked], n: int) -> None:
    size = n * (8 + 4 * len(columns))
    if request.memory_budget is not None and size > request.memory_budget:
        finest = sorted(columns, key=lambda c: -c.width)
        raise over_budget(size, request.memory_budget, [c.column.name for c in finest])


class _Tally:
    """Distinct rows of some columns in increasing order, as ranks per column (0 is missing), and how often each occurs.

    ``used[j]`` says which ranks of column ``j`` occur.
    """

    def __init__(self, ranks: Sequence[CodeArray], used: list[npt.NDArray[np.bool_]], counts: IntArray) -> None:
        self.ranks, self.used, self.counts, self.n = ranks, used, counts, len(counts)

    def codes(self, tables: Sequence[CodeArray]) -> Sequence[CodeArray]:
        """The code of each rank, column by column; where there are very many rows they stay packed."""
        if isinstance(self.ranks, PackedCodes):
            packed = PackedCodes(self.ranks.keys, self.ranks.widths, tables)
            return packed if self.n >= MANY_CLASSES else tuple(packed)
        return [table[ranks] for table, ranks in zip(tables, self.ranks, strict=True)]

    def starts(self, width: int) -> npt.NDArray[np.bool_]:
        """Which rows differ from the one before in the first ``width`` columns."""
        out = np.zeros(self.n, np.bool_)
        out[0] = True
        if isinstance(self.ranks, PackedCodes):
            first = self.ranks.keys // np.uint64(math.prod(self.ranks.widths[width:]))
            out[1:] = first[1:] != first[:-1]
        else:
            for ranks in self.ranks[:width]:
                out[1:] |= ranks[1:] != ranks[:-1]
        return out


def _tally(columns: Sequence[Ranked], rows: int, *, last: bool = False) -> _Tally:
    packed = keys_of(columns, rows, last=last)
    if packed is None:
        return _tally_wide(columns)
    keys, counts = count_keys(packed.keys, math.prod(packed.widths))
    return _Tally(PackedCodes(keys, packed.widths), packed.used, counts)


def _tally_wide(columns: Sequence[Ranked]) -> _Tally:
    """More combinations than a key can name: group column by column, then sort the classes."""
    whole = [_ranks(c) for c in columns]
    grouping = group_codes(whole, [c.width - 1 for c in columns])
    ranks = [w[grouping.first] + np.int32(1) for w in whole]
    counts = np.bincount(grouping.ids, minlength=grouping.n).astype(np.int64)
    order = np.lexsort(ranks[::-1])
    used = []
    for column, rank in zip(columns, ranks, strict=True):
        used.append(np.zeros(column.width, np.bool_))
        used[-1][rank] = True
    return _Tally([r[order] for r in ranks], used, counts[order])


def _ranks(column: Ranked) -> npt.NDArray[np.int32]:
    parts = [lookup[codes].astype(np.int32) for codes, lookup in column.pieces()]
    return np.concatenate(parts) - 1


def _classes(finer: _Tally, table: _Tally) -> IntArray:
    """The class (row of ``table``) of each row of a finer tally whose first columns are those of ``table``."""
    return np.cumsum(finer.starts(len(table.used))) - 1


def _sensitive(name: str, item: Ranked, unit: Ranked | None, columns: list[Ranked], table: _Tally, rows: int) -> SensitiveCounts:
    finer = _tally([*columns, item], rows)
    counts = finer.counts
    if unit is not None:  # people, not records: distinct (class, value, person)
        triples = _tally([*columns, item, unit], rows)
        counts = np.bincount(_classes(triples, finer), minlength=finer.n).astype(np.int64)
    table_of, kept = _present(finer.used[-1], item.categories)
    return SensitiveCounts(name, _classes(finer, table), table_of[finer.ranks[-1]], counts, kept)


def _present(used: npt.NDArray[np.bool_], categories: Any) -> tuple[CodeArray, Any]:
    """The code of each rank (−1 of 0), and the categories without those that do not occur."""
    here = used[1 : len(categories) + 1]
    codes = np.full(len(used), -1, np.int32)
    codes[1 : len(categories) + 1] = np.cumsum(here) - 1
    return codes, categories if here.all() else categories.take(np.flatnonzero(here))
