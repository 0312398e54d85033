"""``study``: many quasi-identifiers × subpopulations of one table, as the thesis (source 000) did it for municipalities."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from shoal.engines.table import Table
from shoal.errors import EmptyTableError, UsageError
from shoal.kernels.group import group_codes, sum_by
from shoal.kernels.text import canonical_text
from shoal.measures.classes.anonymity import NAMED_FROM, THRESHOLDS, pearson, size_table, spearman
from shoal.measures.subsets.column_sets import column_sets
from shoal.model.counts.classes import ClassCounts, FloatArray, IntArray
from shoal.model.display import Progress, silent
from shoal.prediction import Distribution, singletons, uniqueness
from shoal.studies.kappa import bands_by_group, bands_of, bits, by_group_size, kappa_of
from shoal.studies.result import ColumnResult, GroupResult, Regression, SetResult, Study

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
    group_size: int,
    alpha: float,
    k: int,
    progress: Progress,
) -> Study:
    """Compute the study that :func:`shoal.study` documents, for an opened table."""
    asked = [_checked(source, s) for s in sets]
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
    progress(0.05, "counting")
    counted = _counted(source, [s if by is None or by in s else (*s, by) for s in asked], person, progress)
    values = _columns(source, list(dict.fromkeys(c for s in asked for c in s)), person)
    if by is not None:
        values = _inside(values, asked, counted, by)
    texts = _names(source, by) if by is not None else {}
    found = []
    for i, (columns, counts) in enumerate(zip(asked, counted, strict=True)):
        progress(0.5 + 0.4 * i / len(asked), "studying")
        found.append(_studied(columns, counts, by, values, group_size, texts))
    lattice = None
    if pool:
        base = _counted(source, [_checked(source, pool)], person, progress)[0]
        lattice = column_sets(base, up_to=up_to or len(pool), alpha=alpha, k=k)
    notes = ("κ is over all combinations of values that occur in the table; empty ones count.",)
    return Study(source.name, by, group_size, tuple(found), tuple(values.values()), lattice, notes)


def _checked(table: Table, columns: tuple[str, ...]) -> tuple[str, ...]:
    if not columns:
        raise UsageError("a set without columns was named.", hint="Name at least one column per set.")
    for name in columns:
        table.schema.require(name, what="quasi-identifier")
    if len(set(columns)) != len(columns):
        raise UsageError("a column is named twice in a set.", hint="Name each column once.")
    return columns


def _counted(table: Table, sets: Sequence[tuple[str, ...]], unit: str | None, progress: Progress) -> list[ClassCounts]:
    """Classes of each set; the table is read once where rows are counted."""
    if unit is None:
        found = table.count_many(sets, progress=progress) if sets else []
    else:
        found = [table.count(s, unit=unit) for s in sets]
    for counts in found:
        if counts.n_records == 0:
            raise EmptyTableError("the table has no rows.", hint="Check the file or the filter.")
        if not counts.adds_up:
            raise UsageError(
                "people have rows in several classes of a set.", hint="Study one row per person, or measure that set with --unit."
            )
    return found


def _names(table: Table, by: str) -> dict[int, str]:
    counts = table.count((by,))
    return dict(enumerate(canonical_text(counts.categories[0]).to_pylist())) | {-1: "(missing)"}


def _columns(table: Table, columns: Sequence[str], unit: str | None) -> dict[str, ColumnResult]:
    """Each column alone: entropy, κ, and κ in bands of whole numbers."""
    out = {}
    for name, counts in zip(columns, _counted(table, [(c,) for c in columns], unit, silent), strict=True):
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
        found = bands_by_group(counts, name, by, MOST_GROUPS) if column.bands and name != by else {}
        out[name] = replace(column, by_group=found)
    return out


def _histogram(sizes: IntArray) -> dict[int, int]:
    """How many classes there are of each size."""
    values, copies = np.unique(sizes, return_counts=True)
    return dict(zip(values.tolist(), copies.tolist(), strict=True))


def _studied(
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
    inner = [counts.codes[counts.column(c)] for c in columns if c != by]  # inside a subpopulation its own column says nothing
    apart = group_codes(inner, n_rows=counts.n_classes)
    whole = sum_by(apart.ids, counts.sizes, apart.n)
    groups = _with_curves(_groups(counts, by, whole, inner_cells, group_size, texts), inner_cells, group_size)
    members = np.array([g.members for g in groups], np.float64)
    medians = np.array([g.sizes.median for g in groups], np.float64)
    return SetResult(
        **made,
        groups=tuple(groups),
        pearson=pearson(members, medians),
        spearman=spearman(members, medians),
        regression=regression([g.kappa for g in groups], [g.log_uniqueness for g in groups]),
        evenly=by_group_size(Distribution.uniform(inner_cells), group_size),
    )


def _with_curves(groups: list[GroupResult], cells: int, group_size: int) -> list[GroupResult]:
    """Uniqueness by group size for the named subpopulations of the lowest and the highest κ."""
    named = [i for i, g in enumerate(groups) if g.name is not None]
    ends = {min(named, key=lambda i: groups[i].kappa), max(named, key=lambda i: groups[i].kappa)} if named else set()
    for i in ends:
        h = groups[i].histogram
        known = Distribution.counts(np.repeat(list(h), list(h.values())), cells=max(cells, sum(h.values())))
        groups[i] = replace(groups[i], by_group_size=by_group_size(known, group_size))
    return groups


def _groups(
    counts: ClassCounts, by: str, whole: IntArray, cells: int, group_size: int, texts: dict[int, str]
) -> list[GroupResult]:
    code = counts.codes[counts.column(by)]
    order = np.argsort(code, kind="stable")
    everybody = Distribution.counts(whole)
    out = []
    for rows in np.split(order, np.flatnonzero(np.diff(code[order])) + 1)[:MOST_GROUPS]:
        sizes = counts.sizes[rows]
        n = int(sizes.sum())
        entropy = bits(sizes)
        known = Distribution.counts(sizes, cells=max(cells, len(sizes)))
        chance, alone = uniqueness(known, group_size), singletons(known, group_size)
        drawn = singletons(everybody, n)
        out.append(
            GroupResult(
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
        )
    return sorted(out, key=lambda g: (-g.members, g.name or ""))


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
