"""COUNT by dictionary codes and a kernel: for files and frames, in one reading, with the same answer as SQL gives.

Takes    a relation with a reader of Arrow chunks, and one or more requests
Returns  ClassCounts per request, in the canonical order of :mod:`shoal.engines.count.sql`
Keeps    NULL and NaN are missing, −0.0 is 0.0, texts differ byte for byte
Cost     one reading; about as many bytes per row as the narrow codes need, and 16 for the keys of one request
"""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.engines.core.base import Engine, Relation
from shoal.engines.core.memory import bytes_to_count, left_for_data, limit_of_process
from shoal.engines.core.step_sql import CountRequest, gap_error
from shoal.engines.count.codes import CodedColumn, Ranked
from shoal.engines.count.sql import count_by_sql
from shoal.errors import EmptyTableError, UsageError
from shoal.kernels.arrow import from_numpy
from shoal.kernels.count import add_digit, count_keys, count_words, sort_words
from shoal.kernels.group import DIRECT_FACTOR, Memberships, group_words, sum_by
from shoal.kernels.text import canonical_text
from shoal.kernels.threads import ahead, each
from shoal.model.counts.classes import (
    BoolArray,
    ClassCounts,
    CodeArray,
    IntArray,
    KeyArray,
    PackedCodes,
    PeopleCounts,
    SensitiveCounts,
    words_of,
)
from shoal.model.display import Progress
from shoal.steps import ExpressionStep

if TYPE_CHECKING:
    import pyarrow as pa

MANY_CLASSES = 1 << 20
"""From this many classes on their codes stay packed in one number each."""

SHORT = 8
"""Tallies over any of the columns come from a tally with this many times fewer combinations than rows."""


class Tally:
    """Combinations in increasing order, as ranks per column, and how often each occurs.

    ``used[j]`` says which ranks of column ``j`` occur.
    """

    def __init__(self, ranks: PackedCodes, used: Sequence[BoolArray], counts: IntArray) -> None:
        self.ranks, self.used, self.counts, self.n = ranks, used, counts, len(counts)

    def codes(self, tables: Sequence[CodeArray]) -> Sequence[CodeArray]:
        """The code of each rank, column by column; where there are very many combinations they stay packed."""
        packed = PackedCodes(self.ranks.words, self.ranks.widths, tables)
        return packed if self.n >= MANY_CLASSES else tuple(packed)

    def numbers(self, width: int) -> IntArray:
        """For each combination the number of the one it belongs to over the first ``width`` columns."""
        starts = self._starts(self.ranks.first(width))
        starts[0] = False
        return np.cumsum(starts)

    def _starts(self, words: Sequence[KeyArray]) -> BoolArray:
        """Where a combination differs from the one before it in one of these words; the first does."""
        starts = np.zeros(self.n, np.bool_)
        starts[0] = True
        for word in words:
            starts[1:] |= word[1:] != word[:-1]
        return starts

    def first(self, width: int) -> Tally:
        """The tally over the first ``width`` columns: their combinations are in order already."""
        keys = self.ranks.first(width)
        starts = np.flatnonzero(self._starts(keys))
        ranks = PackedCodes([w[starts] for w in keys], self.ranks.widths[:width])
        return Tally(ranks, self.used[:width], np.add.reduceat(self.counts, starts))

    def coarser(self, places: Sequence[int]) -> Tally:
        """The tally over some of the columns, in the order given."""
        if list(places) == list(range(len(places))):
            return self.first(len(places))
        widths = [self.ranks.widths[j] for j in places]
        keys, spaces = [], []
        for columns in words_of(widths):
            word = np.zeros(self.n, np.uint64)
            for i in columns:
                word *= np.uint64(widths[i])
                word += self.ranks[places[i]].astype(np.uint64)
            keys.append(word)
            spaces.append(math.prod(widths[i] for i in columns))
        grouping = group_words(keys, spaces)
        distinct = [w[grouping.first] for w in keys]
        order, _ = sort_words(distinct, spaces)
        counts = sum_by(grouping.ids, self.counts, grouping.n)[order]
        return Tally(PackedCodes([d[order] for d in distinct], widths), [self.used[j] for j in places], counts)


class Tallies:
    """Tallies over columns of one table; they are kept, so that coarser ones need not look at the rows."""

    def __init__(self, rows: int) -> None:
        self._rows = rows
        self._alone: dict[Ranked, Tally] = {}
        self._kept: list[tuple[list[Ranked], Tally]] = []  # of several columns

    def over(self, columns: Sequence[Ranked], *, last: bool = False) -> Tally:
        """The tally over some columns; with ``last``, their codes are let go as soon as they are in the keys."""
        wanted = list(columns)
        if len(wanted) == 1 and wanted[0] in self._alone:
            return self._alone[wanted[0]]
        finer = [(t.n, i) for i, (known, t) in enumerate(self._kept) if self._gives(known, t, wanted)]
        if finer:
            known, tally = self._kept[min(finer)[1]]
            return tally.coarser([known.index(c) for c in wanted])
        if len(wanted) == 1 and sum(map(len, wanted[0].lookups)) <= self._rows:
            self._alone[wanted[0]] = _of_one(wanted[0])
            return self._alone[wanted[0]]
        keys, widths, used = _keys(wanted, self._rows, last=last)
        spaces = [math.prod(widths[j] for j in columns_of) for columns_of in words_of(widths)]
        if len(keys) == 1:
            distinct, counts = count_keys(keys[0], spaces[0])
            tally = Tally(PackedCodes([distinct], widths), used, counts)
        else:
            distinct_words, counts = count_words(keys, spaces)
            tally = Tally(PackedCodes(distinct_words, widths), used, counts)
        if len(wanted) == 1:
            self._alone[wanted[0]] = tally
        else:
            self._kept.append((wanted, tally))
        return tally

    def _gives(self, known: list[Ranked], tally: Tally, wanted: list[Ranked]) -> bool:
        """Whether the wanted tally comes from a kept one more quickly than from the rows."""
        if known[: len(wanted)] == wanted:
            return True
        return tally.n * SHORT <= self._rows and all(c in known for c in wanted)


def _of_one(column: Ranked) -> Tally:
    """The tally over one column that has fewer values than rows: no key of each row is needed."""
    counts = np.zeros(column.width, np.int64)
    for codes, lookup in column.pieces():
        np.add.at(counts, lookup, np.bincount(codes, minlength=len(lookup)))
    there = counts > 0
    return Tally(PackedCodes([np.flatnonzero(there).astype(np.uint64)], [column.width]), [there], counts[there])


def _keys(columns: Sequence[Ranked], rows: int, *, last: bool) -> tuple[list[KeyArray], list[int], list[BoolArray]]:
    """The words of each row's key, the width of each digit, which digits occur.

    Widths are rounded up to powers of two where the key space is too large for a direct table anyway and no word more is
    needed: taking digits off by shifting is quicker than dividing.
    """
    widths = [c.width for c in columns]
    rounded = [1 << (w - 1).bit_length() for w in widths]
    if math.prod(widths) > DIRECT_FACTOR * rows and len(words_of(rounded)) == len(words_of(widths)):
        widths = rounded
    used = [np.zeros(w, np.bool_) for w in widths]
    keys = []
    for columns_of in words_of(widths):
        key = np.zeros(rows, np.uint64)
        for j in columns_of:
            pieces = list(columns[j].pieces())
            ends = itertools.accumulate(len(codes) for codes, _ in pieces)

            def add_piece(part: tuple[int, tuple[CodeArray, Any]], j: int = j, key: KeyArray = key) -> None:
                end, (codes, lookup) = part
                add_digit(key[end - len(codes) : end], codes, widths[j], lookup, used[j])

            each(zip(ends, pieces, strict=True), rows, add_piece)
            if last:
                columns[j].chunks.clear()
        keys.append(key)
    return keys, widths, used


BYTES_PER_ROW = 32
ALWAYS_THERE = 32 << 20
"""Bytes that are there without any limit: to look them up for each column of a wide table takes seconds."""
ONE_CHUNK = 1 << 17
"""Tables of at most so many rows come in one chunk: there is nothing to read ahead."""
MOST_KEPT = 256 << 20
"""Bytes of codes that are kept from one reading for the next."""
KeptCodes = dict[str, CodedColumn]
KINDS = ("text", "integer", "float", "boolean", "date", "timestamp", "time", "decimal", "binary")


def can_count(relation: Relation, request: CountRequest) -> bool:
    """Whether codes and a kernel will do: Arrow chunks at hand, no weights to add up, memory enough."""
    if relation.reader is None or request.weight is not None or not request.columns:
        return False
    names = [n for n in (*request.columns, *request.sensitive, request.unit) if n is not None]
    if not as_codes(relation, names):
        return False
    rows = int(relation.reader.rows())
    if request.memory is not None and bytes_to_count(rows, len(names)) > left_for_data(request.memory):
        return False
    size = rows * BYTES_PER_ROW
    if request.memory_budget is not None:
        return size <= request.memory_budget
    return size <= ALWAYS_THERE or size <= half_of_memory()


def as_codes(relation: Relation, names: Sequence[str]) -> bool:
    """Whether the reader gives these columns as the engine does."""
    return all(relation.column(n).kind in KINDS and n not in relation.not_as_codes for n in names)


def half_of_memory() -> int:
    """Half of the memory of the machine or container (2 GiB where it is not known): beyond it DuckDB counts, which can spill."""
    if not hasattr(os, "sysconf"):  # Windows
        return 2 << 30
    whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min(whole, limit_of_process() or whole) // 2


def count_by_codes(
    relation: Relation, requests: Sequence[CountRequest], progress: Progress | None, kept: KeptCodes | None = None
) -> list[ClassCounts]:
    """Read the needed columns once, then count every request from the codes."""
    kept = None if any(r.memory is not None for r in requests) else kept
    wanted = [n for r in requests for n in (*r.columns, *r.sensitive, r.unit) if n is not None]
    names = list(dict.fromkeys(wanted))
    coded = read_codes(relation, names, progress, kept)
    rows = sum(len(c) for c in coded[names[0]].chunks)
    if rows == 0:
        hint = "Check the file or the filter that left nothing."
        raise EmptyTableError("the table has no rows, so no anonymity number is defined.", hint=hint)
    work = _Work(coded, rows)
    alone = kept is None and len(requests) == 1 and not requests[0].sensitive and requests[0].unit is None
    counted: dict[int, ClassCounts] = {}
    for i in sorted(
        range(len(requests)), key=lambda i: -len(requests[i].columns)
    ):  # fine ones first: coarse ones follow from them
        counted[i] = work.count(requests[i], last=alone)
        if progress is not None:
            progress(0.5 + 0.5 * len(counted) / len(requests), "counting")
    return [counted[i] for i in range(len(requests))]


def read_codes(
    relation: Relation, names: Sequence[str], progress: Progress | None, kept: KeptCodes | None = None
) -> dict[str, CodedColumn]:
    """The codes of the named columns; the next chunk is read while one is coded.

    What is in ``kept`` is not read again; into an empty one go the codes of this reading, so that all in it are of one reading.
    """
    if kept and all(n in kept for n in names):
        return {n: kept[n] for n in names}
    coded = {n: CodedColumn(relation.column(n)) for n in names}
    total = int(relation.reader.rows())
    seen, chunks = 0, relation.reader.chunks(names)
    for chunk in ahead(chunks) if total > ONE_CHUNK else chunks:
        for name, values in zip(names, chunk, strict=True):
            coded[name].add(values)
        seen += len(chunk[0])
        if progress is not None:
            progress(0.5 * seen / max(1, total), "reading")
    if kept is not None and not kept and sum(c.nbytes for c in coded.values()) <= MOST_KEPT:
        kept.update(coded)
    return coded


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


class _Work:
    """The columns of a table that was read, and everything counted from them."""

    def __init__(self, coded: dict[str, CodedColumn], rows: int) -> None:
        self._coded = coded
        self._ranked: dict[tuple[str, ExpressionStep | None], Ranked] = {}
        self._people_of: Ranked | None = None
        self._tallies = Tallies(rows)

    def _column(self, name: str, step: ExpressionStep | None = None) -> Ranked:
        if (name, step) not in self._ranked:
            self._ranked[name, step] = Ranked(self._coded[name], step)
            check_gap(name, self._ranked[name, step], self._coded[name])
        return self._ranked[name, step]

    def _unit(self, name: str) -> Ranked:
        """The people: who is the same is asked, not in what order; ten million names are not sorted for it."""
        if self._people_of is None or self._people_of.column.name != name:
            self._people_of = Ranked(self._coded[name], None, as_met=True)
        return self._people_of

    def count(self, request: CountRequest, *, last: bool) -> ClassCounts:
        """Classes of one request; with ``last``, the codes are not needed again."""
        columns = [self._column(n, request.through.get(n)) for n in request.columns]
        unit = self._unit(request.unit) if request.unit is not None else None
        inside = {name: self._inside([*columns, self._column(name)], unit) for name in request.sensitive}
        people = None if unit is None else self._people(columns, unit)
        n_people = None if unit is None else self._tallies.over([unit]).n
        once = None if unit is None else self._once(columns, unit, n_people)
        table = self._tallies.over(columns, last=last)
        _check_budget(request, columns, table.n)
        tables, categories = zip(*(_present(u, c.categories) for u, c in zip(table.used, columns, strict=True)), strict=True)
        return ClassCounts(
            table.counts if people is None else people,
            columns=request.columns,
            codes=table.codes(tables),
            categories=categories,
            sensitive={name: _sensitive(name, *parts, len(columns)) for name, parts in inside.items()},
            records=None if unit is None else table.counts,
            n_people=n_people,
            unit=request.unit,
            people=once,
        )

    def _people(self, columns: list[Ranked], unit: Ranked) -> IntArray:
        """Distinct people in each combination of the columns."""
        pairs = self._tallies.over([*columns, unit])
        return np.bincount(pairs.numbers(len(columns))).astype(np.int64)

    def _once(self, columns: list[Ranked], unit: Ranked, n_people: int | None) -> PeopleCounts | None:
        """Everybody once, where somebody is in several combinations."""
        pairs = self._tallies.over([*columns, unit])
        if pairs.n == n_people:
            return None
        classes = pairs.numbers(len(columns))
        return Memberships(classes, pairs.ranks[-1].astype(np.int64)).counts(np.bincount(classes))

    def _inside(self, columns: list[Ranked], unit: Ranked | None) -> tuple[Tally, IntArray, Any]:
        """Class–value pairs, the records or people of each, and the categories of the value."""
        people = None if unit is None else self._people(columns, unit)
        pairs = self._tallies.over(columns)
        return pairs, pairs.counts if people is None else people, columns[-1].categories


def _check_budget(request: CountRequest, columns: Sequence[Ranked], n: int) -> None:
    finest = sorted(columns, key=lambda c: -c.width)
    request.check_classes(n * (8 + 4 * len(columns)), [c.column.name for c in finest])


def _sensitive(name: str, pairs: Tally, counts: IntArray, categories: pa.Array, width: int) -> SensitiveCounts:
    codes, kept = _present(pairs.used[-1], categories)
    return SensitiveCounts(name, pairs.numbers(width), codes[pairs.ranks[-1]], counts, kept)


def _present(used: BoolArray, categories: pa.Array) -> tuple[CodeArray, Any]:
    """The code of each rank (−1 of 0), and the categories without those that do not occur."""
    here = used[1 : len(categories) + 1]
    codes = np.full(len(used), -1, np.int32)
    codes[1 : len(categories) + 1] = np.cumsum(here) - 1
    return codes, categories if here.all() else categories.take(from_numpy(np.flatnonzero(here)))


def count(
    engine: Engine,
    relation: Relation,
    requests: Sequence[CountRequest],
    progress: Progress | None = None,
    kept: KeptCodes | None = None,
) -> list[ClassCounts]:
    """The classes of each request, all of one state of the table where the engine can promise it; ``kept`` as in
    :func:`shoal.engines.count.by_codes.read_codes`."""
    engine.give_back()
    if requests and all(can_count(relation, r) for r in requests):
        return count_by_codes(relation, requests, progress, kept)
    with engine.snapshot():
        return [_one(engine, relation, request, progress) for request in requests]


def _one(engine: Engine, relation: Relation, request: CountRequest, progress: Progress | None) -> ClassCounts:
    if can_count(relation, request):
        return count_by_codes(relation, [request], progress)[0]
    return count_by_sql(engine, relation, request)


def in_order(counts: ClassCounts, orders: Mapping[str, Sequence[str]]) -> ClassCounts:
    """The counts, with the order of their sensitive values; an order that lacks a value of its column is refused."""
    ordered = {}
    for name, sensitive in counts.sensitive.items():
        if name not in orders:
            continue
        order = tuple(str(v) for v in orders[name])
        lacking = set(canonical_text(sensitive.categories).to_pylist()) - set(order)
        if lacking or len(set(order)) < len(order):
            what = f"lacks {len(lacking)} of its values" if lacking else "names a value twice"
            raise UsageError(f"the order of '{name}' {what}.", hint="List every value once, from low to high.", column=name)
        ordered[name] = replace(sensitive, order=order)
    return replace(counts, sensitive={**counts.sensitive, **ordered}) if ordered else counts
