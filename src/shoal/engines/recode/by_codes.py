"""RECODE by codes: for files and frames that fit in memory as codes, several times quicker than SQL.

A step is applied once per distinct value; classes are formed from codes; rows are ordered by a keyed hash of their published
content; whole columns are then gathered in that order, block by block. Same published rows as :mod:`shoal.engines.recode.sql`.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shoal.engines.core.base import Relation
from shoal.engines.core.kinds import normalize
from shoal.engines.core.memory import left_for_data
from shoal.engines.core.stored_types import can_be_former, former_fits, in_kind, restored, with_former
from shoal.engines.count.by_codes import KINDS, KeptCodes, check_gap
from shoal.engines.count.codes import CodedColumn, Ranked, narrow, sorted_categories
from shoal.engines.recode.sql import PUBLISHED, as_texts, map_columns, mapped_column, not_covered, suppression_columns
from shoal.kernels.arrow import as_doubles, from_numpy, is_missing, positions, to_numpy
from shoal.kernels.group import Grouping, group_codes, group_words
from shoal.kernels.jit import HAVE_NUMBA
from shoal.kernels.order import mix, shuffled_order, start_hashes, value_hashes
from shoal.kernels.text import canonical_text
from shoal.kernels.threads import ahead, each, in_halves
from shoal.model.counts.classes import words_of
from shoal.model.display import Progress
from shoal.model.plan import Plan
from shoal.model.roles import Column
from shoal.steps import ExpressionStep

MOST_BYTES = 2 << 30
_WIDTH = {"text": 24, "boolean": 1, "date": 4, "decimal": 16}  # bytes of a cell while it is held; 8 for other kinds
BLOCK = 1 << 19


def can_recode(relation: Relation, names: Sequence[str], plan: Plan, memory: int | None, coded: Collection[str]) -> bool:
    """Whether the table is at hand as Arrow chunks, those ``coded`` in their kinds, and its codes fit in ``memory`` bytes."""
    if relation.reader is None or not HAVE_NUMBA or plan.suppression.scope == "cells":
        return False
    kinds = [relation.column(n).kind for n in names]
    if any(k not in KINDS for k in kinds) or any(n in relation.not_as_codes for n in coded):
        return False
    most = MOST_BYTES if memory is None else min(MOST_BYTES, left_for_data(memory))
    return int(relation.reader.rows()) * (32 + sum(_WIDTH.get(k, 8) for k in kinds)) <= most


@dataclass
class CodedRows:
    """The published columns, which rows are published in which order, and how many cells changed."""

    columns: list[Column]
    order: npt.NDArray[np.int64]
    data: dict[str, Any]
    changed: dict[str, int]
    records: int

    def batches(self, progress: Progress | None, *, dictionaries: bool) -> Generator[pa.RecordBatch]:
        """Record batches in the published order, one gathered while another is written; texts as dictionaries where asked for."""
        total, done = len(self.order), 0
        columns = self._made(dictionaries)
        for batch in ahead(columns) if total > BLOCK else columns:
            yield batch
            done += batch.num_rows
            if progress is not None:
                progress(min(1.0, 0.5 + 0.5 * done / max(1, total)), "writing")

    def _made(self, dictionaries: bool) -> Iterator[pa.RecordBatch]:
        for start in range(0, max(len(self.order), 1), BLOCK):
            rows = self.order[start : start + BLOCK]
            arrays = [restored(self._gathered(c.name, rows, dictionaries), c) for c in self.columns]
            yield pa.RecordBatch.from_arrays(arrays, names=[c.name for c in self.columns])

    def _gathered(self, name: str, rows: npt.NDArray[np.int64], dictionaries: bool) -> pa.Array:
        values = self.data[name]
        return values.gathered(rows, dictionaries) if isinstance(values, _Ranks) else values.take(from_numpy(rows))


@dataclass
class _Ranks:
    """A column as ranks (0 is missing) of its published categories."""

    ranks: npt.NDArray[Any]
    categories: pa.Array

    def gathered(self, rows: npt.NDArray[np.int64], dictionaries: bool) -> pa.Array:
        """The values of some rows. A dictionary holds, sorted, only the values of these rows: nothing of rows left out."""
        ranks = self.ranks[rows]
        used = np.zeros(len(self.categories) + 1, np.bool_)
        used[ranks] = True
        places = np.cumsum(used[1:], dtype=np.int32) - np.int32(1)
        indices = from_numpy(np.append(np.int32(-1), places).astype(np.int32)[ranks], ranks == 0)
        categories = self.categories.take(from_numpy(np.flatnonzero(used[1:])))
        if dictionaries and pa.types.is_string(categories.type):
            return pa.DictionaryArray.from_arrays(indices, categories)
        return categories.take(indices)


def recode_by_codes(
    relation: Relation,
    names: Sequence[str],
    steps: Mapping[str, ExpressionStep],
    plan: Plan,
    unit: str | None,
    kept: pa.Table | None,
    progress: Progress | None,
    at_hand: KeptCodes | None = None,
    class_map: pa.Table | None = None,
) -> CodedRows:
    """Read (unless all codes are at hand), apply the steps, find the rows that stay and their order."""
    by = suppression_columns(plan, names, kept)
    through = map_columns(class_map)
    mapped = [n for n in names if n in through]
    stepped = {n for n in names if n in steps and n not in mapped}
    needed = {*stepped, *by, *through, *([unit] if unit is not None else [])}
    if at_hand and _are_at_hand(relation, names, needed, at_hand):
        coded = {n: at_hand[n] for n in needed}
        plain: dict[str, Any] = {n: _whole(Ranked(at_hand[n], None)) for n in names if n not in needed}
    else:
        coded = {n: CodedColumn(relation.column(n)) for n in needed}
        plain = _read(relation, list(names), coded, progress)
    rows = max((sum(len(codes) for codes in c.chunks) for c in coded.values()), default=0)
    compared = {unit} - set(names)  # who is the same is asked, not in what order
    after = {n: steps[n] for n in stepped}
    ranked = dict(zip(coded, each(coded, rows, lambda n: Ranked(coded[n], after.get(n), as_met=n in compared)), strict=True))
    for n in stepped:
        check_gap(n, ranked[n], coded[n])
    whole = dict(zip(ranked, each(ranked.values(), rows, _whole), strict=True))
    records = _length(whole, plain)
    classes = _ClassMap.of(class_map, through, whole, records) if through else None
    whole |= {n: classes.published(n) for n in mapped} if classes else {}
    stays = _stays(plan, by, whole, unit, kept, records) if by else None
    data = {n: whole[n] if n in whole else plain[n] for n in names}
    order = np.arange(records) if stays is None else np.flatnonzero(stays)
    if plan.shuffle:
        order = order[_shuffle(data, names, order, plan.seed)]
    changed = dict(zip(stepped, each(stepped, rows, lambda n: _count_changed(coded[n], ranked[n], stays)), strict=True))
    changed |= {n: classes.changed(n, stays) for n in mapped} if classes else {}
    columns = [ranked[n].column if n in ranked else relation.column(n) for n in names]
    columns = [mapped_column(relation.column(c.name), steps.get(c.name), class_map) if c.name in mapped else c for c in columns]
    columns = [_former(c, data[c.name], order) if c.name in stepped or c.name in mapped else c for c in columns]
    return CodedRows(columns, order, data, changed, records)


def _are_at_hand(relation: Relation, names: Sequence[str], needed: Collection[str], at_hand: KeptCodes) -> bool:
    """Whether nothing must be read: all codes are there, and what stays as it is are texts, which codes hold as they are."""
    texts = all(relation.column(n).kind == "text" for n in names if n not in needed)
    return texts and all(n in at_hand for n in {*names, *needed})


def _former(column: Column, values: _Ranks, order: npt.NDArray[np.int64]) -> Column:
    """The column in the type of its source, where every published value fits: values of rows left out do not count."""
    if not can_be_former(column):
        return column
    there = np.bincount(values.ranks[order], minlength=len(values.categories) + 1)[1:] > 0
    return with_former(column) if former_fits(values.categories.filter(pa.array(there)), column) else column


def _read(relation: Relation, names: list[str], coded: dict[str, CodedColumn], progress: Progress | None) -> dict[str, Any]:
    """Feed the columns that need codes; keep the others as one Arrow array each."""
    kept: dict[str, list[Any]] = {n: [] for n in names if n not in coded}
    wanted = [*kept, *coded]
    total, seen = max(1, int(relation.reader.rows())), 0
    for chunk in ahead(relation.reader.chunks(wanted)):
        for name, values in zip(wanted, chunk, strict=True):
            if name in coded:
                coded[name].add(values)
            else:
                kept[name].append(values if pa.types.is_dictionary(values.type) else in_kind(values, relation.column(name)))
        seen += len(chunk[0])
        if progress is not None:
            progress(0.5 * seen / total, "reading")
    return {n: _one(chunks, relation.column(n)) for n, chunks in kept.items()}


def _one(chunks: list[Any], column: Column) -> Any:
    if not chunks:
        return in_kind(pa.nulls(0, column.stored or (pa.string() if column.kind == "text" else pa.null())), column)
    values = pa.chunked_array(chunks)
    if pa.types.is_dictionary(values.type):
        if column.kind != "text" or any(c.dictionary.null_count for c in values.chunks):
            return normalize(values, column.kind)
        values = values.cast(pa.dictionary(pa.int32(), pa.string())).unify_dictionaries()
        return _from_dictionary(values.combine_chunks())
    return values.combine_chunks() if values.num_chunks != 1 else values.chunk(0)


def _from_dictionary(values: pa.Array | pa.ChunkedArray) -> _Ranks:
    """Ranks among the sorted values: the order of a file's dictionary may tell of the order of its rows."""
    if hasattr(values, "chunks"):
        values = values.chunk(0)
    categories, rank = sorted_categories(values.dictionary)
    return _Ranks(narrow(rank, 1, len(categories) + 1)[positions(values.indices)], categories)


def _whole(ranked: Ranked) -> _Ranks:
    """All ranks of a column in one array of the narrowest type."""
    parts = [narrow(lookup, 0, ranked.width)[codes] for codes, lookup in ranked.pieces()]
    return _Ranks(np.concatenate(parts) if parts else np.zeros(0, np.uint8), ranked.categories)


def _length(whole: Mapping[str, _Ranks], plain: Mapping[str, Any]) -> int:
    first = next(iter([*whole.values(), *plain.values()]))
    return len(first.ranks) if isinstance(first, _Ranks) else len(first)


def _stays(
    plan: Plan, by: Sequence[str], whole: Mapping[str, _Ranks], unit: str | None, kept: pa.Table | None, records: int
) -> npt.NDArray[np.bool_]:
    """For each row, whether its class stays."""
    if records == 0:
        return np.zeros(0, np.bool_)
    columns = [whole[n] for n in by]
    grouping = _group_rows(columns, records)
    if kept is not None:
        passes = _places(kept, by, columns, grouping.first) >= 0
    elif unit is not None:
        person = whole[unit]
        pairs = group_codes(
            [grouping.ids.astype(np.int32), person.ranks.astype(np.int32) - 1], [grouping.n, len(person.categories)]
        )
        passes = np.bincount(grouping.ids[pairs.first], minlength=grouping.n) >= plan.suppression.k
    else:
        passes = np.bincount(grouping.ids, minlength=grouping.n) >= plan.suppression.k
    return passes[grouping.ids]


def _places(
    table: pa.Table, names: Sequence[str], columns: Sequence[_Ranks], first: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """The row of ``table`` with the values of each class, whose first rows are given; −1 if there is none."""
    texts = as_texts(table, {n: str(i) for i, n in enumerate(names)})
    rows, codes, known = len(table), [], np.ones(len(table), np.bool_)
    for values, column in zip(texts.columns, columns, strict=True):
        values = values.combine_chunks()
        among = pc.index_in(values, value_set=canonical_text(column.categories))
        known &= ~is_missing(among) | is_missing(values)
        there = np.where(is_missing(among), -1, positions(among)) + 1
        codes.append(np.concatenate([column.ranks[first], there]).astype(np.int32) - 1)
    groups = group_codes(codes, [len(c.categories) for c in columns])
    at = np.full(groups.n, -1, np.int64)
    at[groups.ids[len(first) :][known]] = np.flatnonzero(known)
    return at[groups.ids[: len(first)]] if rows else np.full(len(first), -1, np.int64)


def _group_rows(columns: Sequence[_Ranks], records: int) -> Grouping:
    """The rows by their ranks in these columns."""
    widths = [len(c.categories) + 1 for c in columns]
    keys, spaces = [], []
    for columns_of in words_of(widths):
        key = np.zeros(records, np.uint64)
        for j in columns_of:
            key *= np.uint64(widths[j])
            key += columns[j].ranks
        keys.append(key)
        spaces.append(math.prod(widths[j] for j in columns_of))
    return group_words(keys, spaces)


@dataclass(frozen=True, eq=False)
class _ClassMap:
    """The class of each row, the rank of each class's value and the published labels, by column."""

    ids: npt.NDArray[Any]
    values: Mapping[str, _Ranks]
    labels: Mapping[str, Any]

    @classmethod
    def of(cls, table: pa.Table, names: Sequence[str], whole: Mapping[str, _Ranks], records: int) -> _ClassMap:
        grouping = _group_rows([whole[n] for n in names], records)
        place = _places(table, names, [whole[n] for n in names], grouping.first)
        if (lost := int((place < 0)[grouping.ids].sum())) > 0:
            raise not_covered(lost)
        shown = {n: n + PUBLISHED for n in names if n + PUBLISHED in table.column_names}
        texts = as_texts(table, {given: n for n, given in shown.items()}).take(from_numpy(place))
        values = {n: _Ranks(whole[n].ranks[grouping.first], whole[n].categories) for n in names}
        return cls(grouping.ids, values, {n: texts[n].combine_chunks() for n in shown})

    def published(self, name: str) -> _Ranks:
        coded = self.labels[name].dictionary_encode()
        categories, rank = sorted_categories(coded.dictionary)
        return _Ranks(narrow(rank[positions(coded.indices)][self.ids], 1, len(categories) + 1), categories)

    def changed(self, name: str, stays: npt.NDArray[np.bool_] | None) -> int:
        own, labels = self.values[name], self.labels[name].dictionary_encode()
        same = pc.index_in(canonical_text(own.categories), value_set=labels.dictionary)
        of_value = np.append(-1, np.where(is_missing(same), -2, positions(same)))  # a missing value and a missing label: −1
        differs = (of_value[own.ranks] != positions(labels.indices))[self.ids]
        return int(differs.sum() if stays is None else differs[stays].sum())


def _shuffle(data: Mapping[str, Any], names: Sequence[str], rows: npt.NDArray[np.int64], seed: int) -> npt.NDArray[np.int64]:
    """Positions in ``rows`` in a random order, by a keyed hash of the published content and the number of equal rows before."""
    hashes = start_hashes(len(rows), seed)
    for name in names:
        values = data[name]
        if isinstance(values, _Ranks):
            table = value_hashes(pa.concat_arrays([pa.nulls(1, values.categories.type), values.categories]))
            numbers = values.ranks
        else:
            table, numbers = value_hashes(values), None

        def mix_part(start: int, stop: int, table: pa.Table = table, numbers: Any = numbers) -> None:
            here = rows[start:stop] if numbers is None else numbers[rows[start:stop]]
            mix(hashes[start:stop], table[here])

        in_halves(len(rows), mix_part)
    return shuffled_order(hashes)


def _count_changed(coded: CodedColumn, ranked: Ranked, stays: npt.NDArray[np.bool_] | None) -> int:
    """Published cells that differ from the original, counted per distinct value."""
    before, places = coded.distinct()
    differs = _differs(before, ranked)
    changed, at = 0, 0
    for codes, where, lookup in zip(coded.chunks, places, ranked.lookups, strict=True):
        mine = codes if stays is None else codes[stays[at : at + len(codes)]]
        at += len(codes)
        present = np.bincount(mine, minlength=len(where))
        flags = np.append(differs, lookup[0] != 0)[where]  # a missing cell changed where it got a label
        changed += int(present[flags].sum())
    return changed


def _differs(before: pa.Array, ranked: Ranked) -> npt.NDArray[np.bool_]:
    """For each distinct original value, whether its published value is another: as numbers where both are, else as text."""

    after = ranked.after
    if ranked.column.kind == "integer" and before.type == after.type:  # doubles beyond 2⁵³ would fall together
        same = pc.equal(before, after)
    elif ranked.column.kind in ("integer", "float"):
        same = pc.equal(as_doubles(before), as_doubles(after))
    else:
        same = pc.equal(canonical_text(before), canonical_text(after))
    return np.asarray((to_numpy(same.cast(pa.uint8())) == 0) | is_missing(same))
