"""What levels do to a table: each column before and after, and how people come out of small groups one column after the other."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.api.improve.improvement import Improvement, Tried
from shoal.kernels.group import group_codes, sum_by
from shoal.measures.classes.missing import adds_up
from shoal.release.plan.published_classes import at_level

MOST_BARS = 60
POOLED = "small groups"
"""The name of values that are too few to be named, together."""


@dataclass(frozen=True)
class Effect:
    """Records of one column: by its values in their order (no names, at most 60 bars), and by the label of the groups after."""

    column: str
    values: int
    before: tuple[int, ...]
    after: tuple[tuple[str, int], ...]


def effect(improvement: Improvement, column: str, tried: Tried) -> Effect:
    """A column before and after these levels. No bar stands for fewer records than the small-cell rule lets be shown."""
    prepared, least = improvement.prepared, improvement.policy.cells.minimum
    base = prepared.base
    j = base.column(column)
    records = base.sizes if base.records is None else base.records
    there = base.codes[j] >= 0
    each = sum_by(base.codes[j][there], records[there], len(base.categories[j]))
    codes, labels = at_level(prepared, base, column, tried.levels[column])
    kept = records if tried.shown is None else np.where(tried.shown.stays, records, 0)
    named = codes >= 0
    after = sum_by(codes[named], kept[named], len(labels))
    first = np.full(len(labels), len(each), dtype=np.int64)
    known = there & named
    np.minimum.at(first, codes[known], base.codes[j][known])
    order = np.argsort(first, kind="stable")
    shown = [(str(labels[i]), int(after[i])) for i in order if after[i] >= least]
    rest = int(after.sum()) - sum(n for _, n in shown)
    if rest >= least:
        shown.append((POOLED, rest))
    shown = _fewer(shown)
    return Effect(column, int((each > 0).sum()), tuple(pooled(_joined(each), least)), tuple(shown))


def _fewer(bars: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """At most sixty bars: where there are more, neighbours stand together under the names of their first and their last."""
    if len(bars) <= MOST_BARS:
        return bars
    cuts = np.linspace(0, len(bars), MOST_BARS + 1).astype(int)
    parts = [bars[a:b] for a, b in itertools.pairwise(cuts)]
    return [(p[0][0] if len(p) == 1 else f"{p[0][0]} … {p[-1][0]}", sum(n for _, n in p)) for p in parts]


def _joined(each: npt.NDArray[Any]) -> list[int]:
    """At most sixty bars of as many neighbouring values each."""
    parts = np.array_split(each[each > 0], min(MOST_BARS, max(1, int((each > 0).sum()))))
    return [int(part.sum()) for part in parts]


def pooled(bars: Sequence[int], least: int) -> list[int]:
    """Neighbours together until every bar has enough; what is left at the end joins the last.

    >>> pooled([1, 1, 3, 9, 2], 5), pooled([2, 1], 5), pooled([5, 4], 5)
    ([5, 11], [], [9])
    """
    out: list[int] = []
    held = 0
    for n in bars:
        held += n
        if held >= least:
            out.append(held)
            held = 0
    if out:
        out[-1] += held
    return out


def path(improvement: Improvement, levels: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    """From raw to safe: how many people are in groups smaller than asked as one column after the other is made coarser.

    Begins with ``("", n)`` for the table as it is; columns with most values come first. Nothing where people are in several
    classes: they cannot be added up then.
    """
    prepared, base = improvement.prepared, improvement.prepared.base
    if not adds_up(base):
        return ()
    least = max(improvement.policy.smallest_class, 2)
    wanted = improvement.checked(levels)
    codes = {name: at_level(prepared, base, name, 0)[0] for name in base.columns}
    moved = sorted((c for c in base.columns if wanted[c]), key=lambda c: -len(base.categories[base.column(c)]))
    steps = [("", _under(list(codes.values()), base.sizes, least))]
    for name in moved:
        codes[name] = at_level(prepared, base, name, wanted[name])[0]
        steps.append((name, _under(list(codes.values()), base.sizes, least)))
    return tuple(steps)


def _under(codes: Sequence[npt.NDArray[Any]], sizes: npt.NDArray[Any], least: int) -> int:
    groups = group_codes(list(codes))
    people = sum_by(groups.ids, sizes, groups.n)
    return int(people[people < least].sum())
