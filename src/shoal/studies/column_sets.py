"""``study``: many quasi-identifiers × subpopulations of one table, as the thesis (source 000) did it for municipalities."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shoal.engines.count.people import check_counts, count_people
from shoal.engines.table import Table
from shoal.errors import EmptyTableError, UsageError
from shoal.kernels.group import group_codes, sum_by
from shoal.kernels.text import canonical_text
from shoal.measures.classes.anonymity import NAMED_FROM, THRESHOLDS, pearson, size_table, spearman
from shoal.measures.subsets.column_sets import column_sets
from shoal.model.counts.classes import ClassCounts, FloatArray, IntArray
from shoal.model.display import Progress, silent
from shoal.prediction import Distribution, singletons, uniqueness
from shoal.prediction.group.uniqueness import recursion
from shoal.studies.result import ColumnResult, GroupResult, Regression, SetResult, Study

WIDTHS = (1, 2, 5, 10, 20)
MOST_BANDS = 10_000_000
POINTS = 12
"""Group sizes at which uniqueness is computed, from 2 to twice the size asked for; that one itself besides."""

FEW_CELLS, FEW_PEOPLE = 60_000, 200
"""Up to so many, all group sizes at once take less time than one after the other."""


def bits(sizes: IntArray) -> float:
    n = int(sizes.sum())
    return max(0.0, math.log2(n) - float((sizes * np.log2(sizes)).sum()) / n)


def kappa_of(entropy: float, cells: int) -> float:
    """KL distance from the uniform distribution over ``cells``, in nats."""
    return max(0.0, math.log(cells) - entropy * math.log(2))


def bands_of(counts: ClassCounts) -> dict[int, float]:
    """κ of the only column at each width of a band, over all bands from the lowest to the highest number; whole numbers only."""
    everybody = np.zeros(counts.n_classes, np.int64)
    return {
        width: bands[0] for width, bands in _band_widths(counts.categories[0], counts.codes[0], everybody, counts.sizes).items()
    }


def bands_by_group(counts: ClassCounts, column: str, by: str, most: int) -> dict[int, tuple[float, ...]]:
    """κ of a column at each width within each subpopulation (of the first ``most``), by the lowest κ of the narrowest band first.

    The bands are those of the whole table, so that subpopulations can be compared; a subpopulation without a number is left out.
    """
    place, of = counts.column(column), counts.codes[counts.column(by)]
    grouping = group_codes([counts.codes[place], of])
    sizes = sum_by(grouping.ids, counts.sizes, grouping.n)
    codes, group = counts.codes[place][grouping.first], np.unique(of[grouping.first], return_inverse=True)[1]
    here = group < most
    bands = _band_widths(counts.categories[place], codes[here], group[here], sizes[here])
    if not bands:
        return {}
    order = np.argsort(next(iter(bands.values())), kind="stable")
    return {width: tuple(kappas[i] for i in order) for width, kappas in bands.items()}


def _band_widths(values: Any, codes: npt.NDArray[Any], group: npt.NDArray[Any], sizes: IntArray) -> dict[int, list[float]]:
    """For each width κ of each group, in their order; rows without a value are left out."""
    if not pa.types.is_integer(values.type) or len(values) < 2:
        return {}
    here, numbers = codes >= 0, values.to_numpy(zero_copy_only=False).astype(np.int64)
    lowest, highest = int(numbers.min()), int(numbers.max())
    out = {}
    for width in WIDTHS:
        first = lowest // width
        cells = highest // width - first + 1
        if cells < 2 or cells > MOST_BANDS:
            continue
        keys, at = np.unique(group[here] * cells + (numbers // width - first)[codes[here]], return_inverse=True)
        people = np.bincount(at, weights=sizes[here]).astype(np.int64)
        parts = np.split(people, np.flatnonzero(np.diff(keys // cells)) + 1)
        out[width] = [kappa_of(bits(part), cells) for part in parts]
    return out


def by_group_size(known: Distribution, group_size: int) -> dict[int, float]:
    """The chance that all people of a group are different, by the size of the group, up to twice the size asked for.

    >>> {n: round(chance, 3) for n, chance in by_group_size(Distribution.uniform(4), 3).items()}
    {2: 0.75, 3: 0.375, 4: 0.094, 5: 0.0, 6: 0.0}
    """
    asked = {group_size, *np.rint(np.linspace(2, 2 * group_size, POINTS)).astype(int).tolist()}
    if known.occupied <= FEW_CELLS and group_size <= FEW_PEOPLE:
        chances = recursion(known, 2 * group_size)  # all sizes in one pass
        return {n: float(chances[n]) for n in sorted(asked)}
    return {n: float(uniqueness(known, n).value) for n in sorted(asked)}


EXACTLY = tuple(range(1, 11))
COMPANIONS = (1, 2, 3)
"""Sizes of groups whose predicted share is held against the observed one."""
MOST_GROUPS = 2_000
MOST_SETS = 2_000


def study_table(
    source: Table,
    *,
    sets: Sequence[tuple[str, ...]],
    by: str | None,
    quasi: tuple[str, ...],
    up_to: int | None,
    unit: str | None,
    count: str | None,
    group_size: int,
    alpha: float,
    k: int,
    progress: Progress,
) -> Study:
    """Compute the study that :func:`shoal.study` documents, for an opened table."""
    asked = [_check_columns(source, s) for s in sets]
    pool = quasi or (source.schema.quasi if up_to is not None else ())
    if not asked and not pool:
        raise UsageError("no set of columns is named.", hint="Name sets of columns (--sets FILE), or --quasi a,b,c --up-to 3.")
    if len(asked) > MOST_SETS:
        raise UsageError(f"{len(asked):,} sets are too many for one study.", hint=f"Name at most {MOST_SETS:,}.")
    if group_size < 2:
        raise UsageError(f"a group has at least 2 people; found {group_size}.", hint="For example 10.")
    if up_to is not None and up_to < 1:
        raise UsageError(f"a set holds at least 1 column; found {up_to}.", hint="For example --up-to 3.")
    if by is not None:
        source.schema.require(by, what="subpopulation")
    person = unit or source.schema.unit
    if person is not None:
        source.schema.require(person, what="unit")
    if count is not None:
        if person is not None:
            raise UsageError("counts cannot be used together with a unit.", hint="Name one of them.")
        check_counts(source, count, [*(c for s in asked for c in s), *pool, *([by] if by else [])])
    progress(0.05, "counting")
    counted = _count_sets(source, [s if by is None or by in s else (*s, by) for s in asked], person, count, progress)
    values = _columns(source, list(dict.fromkeys(c for s in asked for c in s)), person, count)
    if by is not None:
        values = _inside(values, asked, counted, by)
    texts = _names(source, by, count) if by is not None else {}
    results = []
    for i, (columns, counts) in enumerate(zip(asked, counted, strict=True)):
        progress(0.5 + 0.4 * i / len(asked), "studying")
        results.append(_study(columns, counts, by, values, group_size, texts))
    lattice = None
    if pool:
        base = _count_sets(source, [_check_columns(source, pool)], person, count, progress)[0]
        lattice = column_sets(base, up_to=up_to or len(pool), alpha=alpha, k=k)
    notes = ["κ is over all combinations of values that occur in the table; empty ones count."]
    nested = sorted({c for s in results for c in s.nested})
    if nested:
        notes.append(f"Values of {', '.join(nested)} belong to one {by} each: inside a subpopulation only its own count.")
    return Study(source.name, by, group_size, tuple(results), tuple(values.values()), lattice, tuple(notes))


def _check_columns(table: Table, columns: tuple[str, ...]) -> tuple[str, ...]:
    if not columns:
        raise UsageError("a set without columns was named.", hint="Name at least one column per set.")
    for name in columns:
        table.schema.require(name, what="quasi-identifier")
    if len(set(columns)) != len(columns):
        raise UsageError("a column is named twice in a set.", hint="Name each column once.")
    return columns


def _count_sets(
    table: Table, sets: Sequence[tuple[str, ...]], unit: str | None, count: str | None, progress: Progress
) -> list[ClassCounts]:
    """Classes of each set; the table is read once where rows are counted."""
    if count is not None:
        return [count_people(table, s, count) for s in sets]
    if unit is None:
        counts_found = table.count_many(sets, progress=progress) if sets else []
    else:
        counts_found = [table.count(s, unit=unit) for s in sets]
    for counts in counts_found:
        if counts.n_records == 0:
            raise EmptyTableError("the table has no rows.", hint="Check the file or the filter.")
        if not counts.adds_up:
            hint = "Study one row per person, or measure that set with --unit."
            raise UsageError("people have rows in several classes of a set.", hint=hint)
    return counts_found


def _names(table: Table, by: str, count: str | None) -> dict[int, str]:
    counts = table.count((by,)) if count is None else count_people(table, (by,), count)
    return dict(enumerate(canonical_text(counts.categories[0]).to_pylist())) | {-1: "(missing)"}


def _columns(table: Table, columns: Sequence[str], unit: str | None, count: str | None) -> dict[str, ColumnResult]:
    """Each column alone: entropy, κ, and κ in bands of whole numbers."""
    out = {}
    for name, counts in zip(columns, _count_sets(table, [(c,) for c in columns], unit, count, silent), strict=True):
        entropy = bits(counts.sizes)
        bands = bands_of(counts)
        out[name] = ColumnResult(name, counts.n_classes, entropy, kappa_of(entropy, counts.n_classes), bands)
    return out


def _inside(
    values: Mapping[str, ColumnResult], sets: Sequence[tuple[str, ...]], counted: Sequence[ClassCounts], by: str
) -> dict[str, ColumnResult]:
    """The columns with κ in bands within each subpopulation, from the smallest count that holds them."""
    out = {}
    for name, column in values.items():
        counts = min((c for s, c in zip(sets, counted, strict=True) if name in s), key=lambda c: c.n_classes)
        bands = bands_by_group(counts, name, by, MOST_GROUPS) if column.bands and name != by else {}
        out[name] = replace(column, by_group=bands)
    return out


def _histogram(sizes: IntArray) -> dict[int, int]:
    """How many classes there are of each size."""
    values, copies = np.unique(sizes, return_counts=True)
    return dict(zip(values.tolist(), copies.tolist(), strict=True))


def _study(
    columns: tuple[str, ...],
    counts: ClassCounts,
    by: str | None,
    values: Mapping[str, ColumnResult],
    group_size: int,
    texts: dict[int, str],
) -> SetResult:
    cells, inner_cells = (math.prod(values[c].values for c in columns if c != out) for out in (None, by))
    own = [counts.codes[counts.column(c)] for c in columns]
    grouping = group_codes(own, n_rows=counts.n_classes)
    sizes = sum_by(grouping.ids, counts.sizes, grouping.n)
    entropy = bits(sizes)
    made: dict[str, Any] = {
        "columns": columns,
        "members": int(sizes.sum()),
        "sizes": size_table(sizes),
        "at": {t: int(sizes[sizes <= t].sum()) for t in THRESHOLDS},
        "exactly": {j: int((sizes == j).sum()) * j for j in EXACTLY},
        "unique": int((sizes == 1).sum()),
        "entropy": entropy,
        "cells": cells,
        "kappa": kappa_of(entropy, cells),
        "histogram": _histogram(sizes),
    }
    if by is None:
        return SetResult(**made)
    inside = _Inside.of(counts, columns, by, values)
    groups = _groups(counts, by, inside, group_size, texts)
    typical = sorted(cells for _, cells in groups)[len(groups) // 2] if inside.nested else inner_cells
    groups = _with_curves(groups, group_size)
    groups_found = [g for g, _ in groups]
    members = np.array([g.members for g in groups_found], np.float64)
    medians = np.array([g.sizes.median for g in groups_found], np.float64)
    return SetResult(
        **made,
        nested=inside.nested,
        groups=tuple(groups_found),
        pearson=pearson(members, medians),
        spearman=spearman(members, medians),
        regression=regression([g.kappa for g in groups_found], [g.log_uniqueness for g in groups_found]),
        evenly=by_group_size(Distribution.uniform(typical), group_size),
    )


@dataclass(frozen=True)
class _Inside:
    """The columns of a set as they are inside a subpopulation: whose own column says nothing there.

    ``nested`` ones have values of their own in each subpopulation, as postcodes have in a town: those of other towns are not
    empty cells of this one.
    """

    nested: tuple[str, ...]
    nested_codes: IntArray
    free_cells: int
    free_sizes: IntArray

    @classmethod
    def of(cls, counts: ClassCounts, columns: tuple[str, ...], by: str, values: Mapping[str, ColumnResult]) -> _Inside:
        inner = [c for c in columns if c != by]
        nested = tuple(c for c in inner if _is_nested(counts, c, by))
        free = [c for c in inner if c not in nested]
        together = group_codes([counts.codes[counts.column(c)] for c in nested], n_rows=counts.n_classes)
        apart = group_codes([counts.codes[counts.column(c)] for c in free], n_rows=counts.n_classes)
        sizes = sum_by(apart.ids, counts.sizes, apart.n)
        return cls(nested, together.ids.astype(np.int64), math.prod(values[c].values for c in free), sizes)

    def cells(self, rows: IntArray) -> int:
        """Combinations that can occur among the classes of a subpopulation."""
        return self.free_cells * len(np.unique(self.nested_codes[rows]))

    def expected(self, rows: IntArray, sizes: IntArray) -> Distribution:
        """Everybody's distribution of the free columns, with the subpopulation's own of the nested ones beside it."""
        if not self.nested:
            return Distribution.counts(self.free_sizes)
        own = np.bincount(np.unique(self.nested_codes[rows], return_inverse=True)[1], weights=sizes)
        return Distribution.of(np.multiply.outer(self.free_sizes.astype(np.float64), own).ravel(), normalize=True)


NESTED = 0.2
"""Share of the subpopulations that a value would be in by chance up to which a column is nested in them."""


def _is_nested(counts: ClassCounts, column: str, by: str) -> bool:
    """Whether a column has values of its own in each subpopulation: each is in far fewer of them than chance would put it."""
    place, of = counts.codes[counts.column(column)], counts.codes[counts.column(by)]
    pairs = group_codes([place, of])
    value, group = np.unique(place[pairs.first], return_inverse=True)[1], np.unique(of[pairs.first], return_inverse=True)[1]
    people = sum_by(pairs.ids, counts.sizes, pairs.n).astype(np.float64)
    members, sizes = np.bincount(value, weights=people), np.bincount(group, weights=people)
    if len(sizes) < 2 or len(members) < 2:
        return False
    spread, times = np.unique(members, return_counts=True)
    empty = np.log1p(-np.minimum(sizes / people.sum(), 1 - 1e-12))  # ln of the chance that one person is elsewhere
    chance = sum(float(t * -np.expm1(m * empty).sum()) for m, t in zip(spread, times, strict=True))
    more = chance - len(members)  # subpopulations beyond the first that the values would be in
    return more >= 1 and len(people) - len(members) <= NESTED * more


def _with_curves(groups: list[tuple[GroupResult, int]], group_size: int) -> list[tuple[GroupResult, int]]:
    """Uniqueness by group size for the named subpopulations of the lowest and the highest κ."""
    named = [i for i, (g, _) in enumerate(groups) if g.name is not None]
    ends = {min(named, key=lambda i: groups[i][0].kappa), max(named, key=lambda i: groups[i][0].kappa)} if named else set()
    for i in ends:
        group, cells = groups[i]
        h = group.histogram
        known = Distribution.counts(np.repeat(list(h), list(h.values())), cells=max(cells, sum(h.values())))
        groups[i] = replace(group, by_group_size=by_group_size(known, group_size)), cells
    return groups


def _groups(
    counts: ClassCounts, by: str, inside: _Inside, group_size: int, texts: dict[int, str]
) -> list[tuple[GroupResult, int]]:
    """Each subpopulation, with the number of combinations that can occur in it."""
    code = counts.codes[counts.column(by)]
    order = np.argsort(code, kind="stable")
    everybody = None if inside.nested else Distribution.counts(inside.free_sizes)
    out = []
    for rows in np.split(order, np.flatnonzero(np.diff(code[order])) + 1)[:MOST_GROUPS]:
        sizes = counts.sizes[rows]
        n = int(sizes.sum())
        entropy = bits(sizes)
        cells = inside.cells(rows)
        known = Distribution.counts(sizes, cells=max(cells, len(sizes)))
        chance, alone = uniqueness(known, group_size), singletons(known, group_size)
        drawn = singletons(everybody or inside.expected(rows, sizes), n)
        results = GroupResult(
            texts.get(int(code[rows[0]])) if n >= NAMED_FROM else None,
            n,
            size_table(sizes),
            int((sizes == 1).sum()),
            entropy,
            kappa_of(entropy, cells),
            float(chance.log_value) if chance.log_value is not None else _log(chance.value),
            float(alone.mean),
            float(alone.variance),
            tuple(float(sizes[sizes == j].sum() / n) for j in COMPANIONS),
            tuple(float(drawn.in_groups_of(j).value) for j in COMPANIONS),
            _histogram(sizes),
        )
        out.append((results, cells))
    return sorted(out, key=lambda pair: (-pair[0].members, pair[0].name or ""))


def _log(x: float) -> float:
    return math.log(x) if x > 0 else -math.inf


def regression(x: Sequence[float], y: Sequence[float]) -> Regression | None:
    """Least squares of y on x over the finite points; None with fewer than three, or without spread.

    >>> regression([0.0, 1.0, 2.0], [1.0, 3.0, 5.0])
    Regression(slope=2.0, intercept=1.0, r2=1.0, points=3)
    """
    a, b = np.array(x, np.float64), np.array(y, np.float64)
    here = np.isfinite(a) & np.isfinite(b)
    a, b = a[here], b[here]
    if len(a) < 3 or float(np.ptp(a)) <= 1e-12 or float(np.ptp(b)) <= 1e-12:
        return None
    da, db = a - a.mean(), b - b.mean()
    slope = float(da @ db / (da @ da))
    rest: FloatArray = db - slope * da
    return Regression(slope, float(b.mean() - slope * a.mean()), 1.0 - float(rest @ rest / (db @ db)), len(a))
