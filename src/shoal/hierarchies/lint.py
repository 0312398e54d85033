"""Lint: everything that is wrong or odd in the rows of a hierarchy, counted, never shown; and a preview of its levels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from shoal.hierarchies.values import counts_of
from shoal.model.hierarchy import Hierarchy


@dataclass(frozen=True)
class Finding:
    """One thing found: ``severity`` error (the hierarchy cannot be used) or warning; ``lines`` are the first 20 line numbers."""

    code: str
    severity: Literal["error", "warning"]
    message: str
    lines: tuple[int, ...] = ()


def lint(rows: Sequence[Sequence[str]], values: Sequence[str] | None = None, counts: Any = None) -> list[Finding]:
    """What is wrong or odd in ``rows`` (value, level 1, level 2, …), and in how they cover ``values``.

    Codes: ``empty``, ``ragged``, ``blank`` (a field without text), ``duplicate`` (a line twice), ``conflict`` (a value with two
    different lines), ``not-monotone``, ``unreachable`` (a level like the one below), ``no-top`` (the last level has several
    groups), ``missing`` (values of the data without a line), ``unused`` (lines without a value in the data).

    >>> [f.code for f in lint([["a", "x", "*"], ["b", "x", "+"], ["a", "y", "*"]])]
    ['conflict', 'not-monotone', 'no-top']
    >>> lint([["a", "x", "*"], ["b", "y", "*"]], values=["a", "b", "c"])[-1].message
    '1 of 3 values have no line.'
    """
    if not rows:
        return [Finding("empty", "error", "the hierarchy has no rows.")]
    width = len(rows[0])
    problems = _shape(rows, width)
    if any(f.code == "ragged" for f in problems):
        return problems
    problems += _keys(rows)
    problems += _levels(rows, width)
    if values is not None:
        problems += _cover(rows, values, counts)
    return problems


def _shape(rows: Sequence[Sequence[str]], width: int) -> list[Finding]:
    out = []
    ragged = _lines(rows, lambda r: len(r) != width)
    if ragged:
        out.append(Finding("ragged", "error", f"{len(ragged)} lines do not have {width} fields as the first has.", ragged[:20]))
    blank = _lines(rows, lambda r: any(not field.strip() for field in r))
    if blank:
        out.append(Finding("blank", "warning", f"{len(blank)} lines have a field without text.", blank[:20]))
    return out


def _keys(rows: Sequence[Sequence[str]]) -> list[Finding]:
    seen: dict[str, tuple[str, ...]] = {}
    twice: list[int] = []
    conflict: list[int] = []
    for number, row in enumerate(rows, start=1):
        if row[0] in seen:
            (twice if seen[row[0]] == tuple(row) else conflict).append(number)
        else:
            seen[row[0]] = tuple(row)
    out = []
    if twice:
        out.append(Finding("duplicate", "error", f"{len(twice)} lines repeat another.", tuple(twice[:20])))
    if conflict:
        out.append(
            Finding("conflict", "error", f"{len(conflict)} lines give a value other parents than before.", tuple(conflict[:20]))
        )
    return out


def _levels(rows: Sequence[Sequence[str]], width: int) -> list[Finding]:
    out = []
    for level in range(width - 1):
        parent: dict[str, str] = {}
        if level:
            split = _lines(rows, lambda r, i=level, p=parent: p.setdefault(r[i], r[i + 1]) != r[i + 1])
            if split:
                text = f"on {len(split)} lines a group of level {level} lies in another group of level {level + 1} than before."
                out.append(Finding("not-monotone", "error", text, split[:20]))
        pairs = {(r[level], r[level + 1]) for r in rows}
        if len(pairs) == len({p[0] for p in pairs}) == len({p[1] for p in pairs}) > 1:
            out.append(Finding("unreachable", "warning", f"level {level + 1} joins nothing that level {level} separates."))
    last = len({r[-1] for r in rows})
    if last > 1:
        out.append(Finding("no-top", "warning", f"the last level has {last} groups; a level '*' above it will be added."))
    return out


def _cover(rows: Sequence[Sequence[str]], values: Sequence[str], counts: Any) -> list[Finding]:
    keys = {r[0] for r in rows}
    gaps = [i for i, v in enumerate(values) if v not in keys]
    out = []
    if gaps:
        records = "" if counts is None else f" ({int(np.asarray(counts)[gaps].sum())} records)"
        out.append(Finding("missing", "error", f"{len(gaps)} of {len(values)} values have no line{records}."))
    unused = len(keys.difference(values))
    if unused:
        out.append(Finding("unused", "warning", f"{unused} of {len(keys)} listed values do not occur."))
    return out


def _lines(rows: Sequence[Sequence[str]], wrong: Any) -> tuple[int, ...]:
    return tuple(number for number, row in enumerate(rows, start=1) if wrong(row))


@dataclass(frozen=True)
class LevelPreview:
    """One level of a hierarchy over counted values.

    ``groups`` with records, records in the ``smallest`` and ``largest`` of them, how many hold fewer than ``k``
    (``below_k``), and the ``shown`` labels with their records: only those of at least ``k`` records.
    """

    level: int
    groups: int
    smallest: int
    largest: int
    below_k: int
    shown: tuple[tuple[str, int], ...]


def preview(hierarchy: Hierarchy, counts: Any = None, *, k: int = 5, limit: int = 12) -> list[LevelPreview]:
    """What each level would look like: groups and records per group. Labels of small groups are not named.

    ``counts`` belong to the first leaves (the values at hand); further leaves of a listed hierarchy have none.

    >>> h = Hierarchy.from_rows("zip", [["1234", "12", "*"], ["1299", "12", "*"], ["2000", "20", "*"]])
    >>> p = preview(h, [1, 6, 7])
    >>> p[0].shown, p[0].below_k, p[1].shown
    ((('2000', 7), ('1299', 6)), 1, (('12', 7), ('20', 7)))
    """
    sizes = np.zeros(hierarchy.n_leaves, dtype=np.int64)
    given = counts_of(hierarchy.leaves, None) if counts is None else np.asarray(counts, dtype=np.int64)
    sizes[: len(given)] = given
    out = []
    for number, level in enumerate(hierarchy.levels):
        per = np.bincount(level.groups, weights=sizes, minlength=len(level.labels)).astype(np.int64)
        present = per[per > 0]
        order = sorted((i for i in range(len(per)) if per[i] >= k), key=lambda i: (-per[i], level.labels[i]))
        shown = tuple((level.labels[i], int(per[i])) for i in order[:limit])
        if not len(present):
            out.append(LevelPreview(number, 0, 0, 0, 0, ()))
            continue
        out.append(LevelPreview(number, len(present), int(present.min()), int(present.max()), int((present < k).sum()), shown))
    return out
