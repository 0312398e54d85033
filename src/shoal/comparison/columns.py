"""Columns of two tables side by side: codes of their values, what each label stands for, and a detail that both have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.engines.table import Table
from shoal.errors import DataError, ShoalError, missing_column
from shoal.hierarchies import from_policy
from shoal.hierarchies.published_labels import Values, read_labels
from shoal.kernels.arrow import positions, to_numpy
from shoal.kernels.text import canonical_text
from shoal.measures.utility.distances import PublishedColumn
from shoal.model.counts.classes import FloatArray, IntArray
from shoal.model.hierarchy import Hierarchy
from shoal.model.plan import Step
from shoal.model.roles import Column
from shoal.release.plan.prepare import guessed_rule
from shoal.steps import evaluate

Kind = Literal["unchanged", "recoded", "recoded locally", "changed numbers", "blank", "not readable"]
BINS = 20
"""Groups of equal size in which changed numbers are tabulated."""
MOST_PEOPLE = 100_000_000
"""People of a table of counts that are compared: each has a code in every column."""
GUESSED_K = 5
"""k of the levels that are guessed to read labels nobody explained."""


@dataclass(frozen=True, eq=False, repr=False)
class Coded:
    """One column of one table: distinct values in order, and the code of each record (−1 missing)."""

    texts: list[str]
    codes: IntArray
    numbers: FloatArray | None = None
    years: IntArray | None = None
    values: Any = None

    @property
    def missing(self) -> int:
        return int((self.codes < 0).sum())


@dataclass(frozen=True, eq=False, repr=False)
class ComparedColumn:
    """A column of both tables.

    ``published`` says what each label stands for (None where labels cannot be read as values of the original); ``leaf`` is the
    value of each original record, ``label`` the label of each released one. ``before``/``after`` are codes at a detail that both
    tables have: the published groups, or, where groups overlap, the original values with one drawn from each group.
    ``numbers`` are of the records as they are, ``level`` those of the original at the published detail.
    """

    name: str
    kind: Kind
    published: PublishedColumn | None
    leaf: IntArray
    label: IntArray
    before: IntArray | None = None
    after: IntArray | None = None
    codes: int = 0
    numbers: tuple[FloatArray, FloatArray] | None = None
    level: FloatArray | None = None
    unread: int = 0
    unread_records: int = 0
    missing: tuple[int, int] = (0, 0)
    values: tuple[int, int] = (0, 0)

    @property
    def is_exact(self) -> bool:
        """Whether each original value has one published value."""
        return self.published is not None and self.published.apart

    def label_of_value(self) -> IntArray:
        """The label of each original value, where labels do not overlap: a blank one for a value that no other label stands
        for, and one beyond the last where there is none."""
        assert self.published is not None
        blank, covered = self.published.blank, self.published.covered
        other = int(np.argmax(np.where(blank, self.published.after, -1))) if blank.any() else len(covered)
        out = np.full(self.published.n_values, other, dtype=np.int64)
        inner = np.repeat(~blank, covered)
        out[self.published.members[inner]] = np.repeat(np.arange(len(covered)), covered)[inner]
        return out


def read_columns(table: Table, names: Sequence[str], count: str | None = None) -> dict[str, Coded]:
    """Codes of some columns, the table read once; with counts, a code for each of the people that a row stands for."""
    batches = list(table.scan([*names, count] if count else names))
    rows = pa.Table.from_batches(batches) if batches else None
    people = None
    if count is not None and rows is not None:
        numbers = np.rint(to_numpy(rows.column(len(names)).combine_chunks().cast(pa.float64()))).astype(np.int64)
        if numbers.sum() > MOST_PEOPLE:
            hint = "Compare a part of it."
            raise DataError(f"the table counts {numbers.sum():,} people; at most {MOST_PEOPLE:,} are compared.", hint=hint)
        rows, people = rows.filter(pa.array(numbers > 0)), numbers[numbers > 0]
    out = {}
    for i, name in enumerate(names):
        column = coded(pa.array([], pa.string()) if rows is None else rows.column(i).combine_chunks())
        out[name] = column if people is None else replace(column, codes=np.repeat(column.codes, people))
    return out


def matched_rows(table: Table, other: Table, key: str) -> tuple[IntArray, IntArray]:
    """Rows of both tables with the same key; a key names one row."""
    one, two = read_columns(table, [key])[key], read_columns(other, [key])[key]
    for side in (one, two):
        known = side.codes[side.codes >= 0]
        if len(np.unique(known)) != len(known):
            raise DataError(f"key '{key}' names several rows.", hint="Name a column that is different in every row.")
    place = {text: i for i, text in enumerate(one.texts)}
    to_one = np.array([place.get(text, -1) for text in two.texts] + [-1], dtype=np.int64)
    row_of = np.full(len(one.texts) + 1, -1, dtype=np.int64)
    there = one.codes >= 0
    row_of[one.codes[there]] = np.flatnonzero(there)
    rows = row_of[to_one[two.codes]]
    rows = np.where(to_one[two.codes] < 0, -1, rows)
    if not (rows >= 0).any():
        raise DataError(f"no key '{key}' is in both tables.", hint="Leave the key out: records need not be matched.")
    return rows[rows >= 0], np.flatnonzero(rows >= 0)


def coded(array: Any) -> Coded:
    """Distinct values in the order of their numbers, dates or texts."""
    if isinstance(array, pa.ChunkedArray):
        array = array.chunk(0) if array.num_chunks == 1 else pa.concat_arrays(array.chunks)
    packed = array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
    texts = [str(t) for t in canonical_text(packed.dictionary).to_pylist()]
    numbers, years = _numbers(packed.dictionary)
    order = (
        np.argsort(numbers, kind="stable") if numbers is not None else np.array(sorted(range(len(texts)), key=texts.__getitem__))
    )
    order = order.astype(np.int64)
    rank = np.empty(len(order) + 1, dtype=np.int64)
    rank[order], rank[-1] = np.arange(len(order)), -1
    return Coded(
        [texts[i] for i in order],
        rank[positions(packed.indices)],
        None if numbers is None else numbers[order],
        None if years is None else years[order],
        packed.dictionary.take(pa.array(order)),
    )


def _numbers(values: Any) -> tuple[FloatArray | None, IntArray | None]:
    """Values as numbers (days, for dates) and years; None where they are neither."""
    kind = values.type
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        numbers = values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        return (numbers, None) if bool(np.isfinite(numbers).all()) else (None, None)  # infinite: values, not amounts
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        plain = values.cast(pa.timestamp("us"), safe=False)
        days = plain.cast(pa.int64()).to_numpy(zero_copy_only=False) / 86_400_000_000
        return days.astype(np.float64), pc.year(plain).to_numpy(zero_copy_only=False).astype(np.int64)
    return None, None


def compare_column(
    column: Column, one: Coded, two: Coded, *, steps: Sequence[Step], tree: Hierarchy | None, lost: int, rng: np.random.Generator
) -> ComparedColumn:
    """Bring a column of both tables to one detail; ``steps`` of a plan and a hierarchy say what labels mean, if known."""
    values = Values(one.texts, one.numbers, one.years, one.missing > 0)
    pair = _read(column, one, two, values, steps, tree)
    plain = ComparedColumn(
        column.name, "not readable", None, _with_missing(one), two.codes, missing=(one.missing, two.missing),
        values=(len(one.texts), len(two.texts)),
    )  # fmt: skip
    unread = [i for i, sets in enumerate(pair) if sets is None]
    if unread:
        if one.numbers is not None and two.numbers is not None and one.years is None:
            return _as_numbers(plain, one, two)
        records = int(np.isin(two.codes, unread).sum())
        return replace(plain, unread=len(unread), unread_records=records)
    return _group_values(plain, one, two, [f for f in pair if f is not None], lost, rng)


def _with_missing(one: Coded) -> IntArray:
    """Codes of the original; a missing value is the last one."""
    return np.where(one.codes < 0, len(one.texts), one.codes)


def _read(
    column: Column, one: Coded, two: Coded, values: Values, steps: Sequence[Step], tree: Hierarchy | None
) -> list[IntArray | None]:
    levels = [*([tree] if tree is not None else []), *_of_steps(column.name, steps, one)]
    labels = read_labels(values, two.texts, levels)
    written_as_numbers = one.numbers is not None and two.numbers is not None
    if any(f is None for f in labels) and len(one.texts) and not written_as_numbers:
        counts = np.bincount(one.codes[one.codes >= 0], minlength=len(one.texts))
        guessed = guessed_rule(column, one.values, counts, k=GUESSED_K).over(column.name, one.values, counts)
        labels = read_labels(values, two.texts, [*levels, guessed])
    return labels


def _of_steps(name: str, steps: Sequence[Step], one: Coded) -> list[Hierarchy]:
    """What a published plan makes of each value, as one level."""
    if len(steps) != 1:
        return []
    try:
        labels = evaluate(steps[0], one.texts, one.numbers if one.years is None else None).texts()
    except (ShoalError, ValueError):
        return []
    rows = [[text, label if label is not None else text] for text, label in zip(one.texts, labels, strict=True)]
    return [Hierarchy.from_rows(name, rows)] if rows else []


def _as_numbers(plain: ComparedColumn, one: Coded, two: Coded) -> ComparedColumn:
    """Numbers that are no longer values of the original: compared as numbers, tabulated in groups of the original's quantiles."""
    assert one.numbers is not None
    assert two.numbers is not None
    x, y = _per_record(one.numbers, one.codes), _per_record(two.numbers, two.codes)
    seen = x[np.isfinite(x)]
    cuts = np.unique(np.quantile(seen, np.linspace(0, 1, BINS + 1)[1:-1])) if len(seen) else np.zeros(0)
    last = len(cuts) + 1
    before, after = (np.where(np.isfinite(v), np.searchsorted(cuts, v, side="right"), last) for v in (x, y))
    return replace(plain, kind="changed numbers", before=before, after=after, codes=last + 1, numbers=(x, y), level=x)


def _per_record(numbers: FloatArray, codes: IntArray) -> FloatArray:
    return np.append(numbers, np.nan)[codes]


def _group_values(
    plain: ComparedColumn, one: Coded, two: Coded, sets: list[IntArray], lost: int, rng: np.random.Generator
) -> ComparedColumn:
    leaf, label, sets = _blanks(one, two, sets)
    size = len(one.texts) + (one.missing > 0)
    starts = np.concatenate(([0], np.cumsum([len(s) for s in sets]))).astype(np.int64)
    members = np.concatenate(sets).astype(np.int64) if sets else np.zeros(0, np.int64)
    own = None if one.numbers is None else np.append(one.numbers, [np.nan] * (one.missing > 0))
    after = np.bincount(label, minlength=len(sets))
    published = PublishedColumn(np.bincount(leaf, minlength=size), after, members, starts, lost, own)
    used = after > 0
    if published.blank[used].all():
        return replace(plain, kind="blank", published=published, leaf=leaf, label=label)
    same = bool((published.covered[used] == 1).all())
    kind: Kind = "unchanged" if same else "recoded" if published.apart else "recoded locally"
    made = replace(plain, kind=kind, published=published, leaf=leaf, label=label)
    middle = np.zeros(0) if own is None else np.where(published.blank, np.nan, published.middle())
    if own is not None:
        made = replace(made, numbers=(own[leaf], middle[label]))
    if published.apart:
        at = made.label_of_value()[leaf]
        level = None
        if own is not None:
            level = np.where(at == len(sets), own[leaf], np.append(middle, np.nan)[at])
        return replace(made, before=at, after=label, codes=len(sets) + 1, level=level)
    drawn = members[starts[label] + (rng.random(len(label)) * published.covered[label]).astype(np.int64)]
    return replace(made, before=leaf, after=drawn, codes=size, level=None if own is None else own[leaf])


def _blanks(one: Coded, two: Coded, sets: list[IntArray]) -> tuple[IntArray, IntArray, list[IntArray]]:
    """Missing cells of the release: as many as the original has stand for a missing value, those beyond for any value."""
    leaf, label, gone = _with_missing(one), two.codes.copy(), np.flatnonzero(two.codes < 0)
    real = min(len(gone), one.missing)
    if real:
        label[gone[:real]] = len(sets)
        sets = [*sets, np.array([len(one.texts)])]
    if len(gone) > real:
        label[gone[real:]] = len(sets)
        sets = [*sets, np.arange(len(one.texts) + (one.missing > 0))]
    return leaf, label, sets


def trees_of(given: Mapping[str, Any], originals: Mapping[str, Coded]) -> dict[str, Hierarchy]:
    """Hierarchies by column, from files, rules or mappings, over the values of the original."""
    out = {}
    for name, rule in given.items():
        if name not in originals:
            raise missing_column(name, tuple(originals), table="comparison", what="column with a hierarchy")
        one = originals[name]
        counts = np.bincount(one.codes[one.codes >= 0], minlength=len(one.texts))
        out[name] = rule if isinstance(rule, Hierarchy) else from_policy(rule).over(name, one.values, counts)
    return out
