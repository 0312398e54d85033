"""Categories by frequency: rare ones join a group that does not list them.

Takes    how many records a category needs to keep its name, per level
Returns  levels in which every category below that joins ``(other)``
Keeps    ``(other)`` itself holds at least as many records (the smallest named category joins it if need be); the plan
         names frequent categories only, so that no rare value stands in it
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from shoal.errors import HierarchyError, UsageError
from shoal.hierarchies.builders.number_texts import band_of, joined
from shoal.hierarchies.rule import Rule, register_rule
from shoal.hierarchies.values import counts_of, texts_of, unlike
from shoal.steps import MapValues


@register_rule
@dataclass(frozen=True)
class FrequencyMerge(Rule):
    """Level i names the categories of at least ``min_counts[i−1]`` records and calls all others ``other``.

    >>> rule = FrequencyMerge((10,)).fit("job", ["nurse", "baker", "astronaut", "miner"], [50, 12, 1, 3])
    >>> rule.over("job", ["nurse", "baker", "astronaut"]).levels[1].labels
    ('nurse', '(other)')
    >>> "astronaut" in str(rule.step("job", 1).to_json())
    False
    """

    min_counts: tuple[int, ...] = (10,)
    other: str = "(other)"
    kept: tuple[tuple[str, ...], ...] | None = None
    kind: ClassVar[str] = "frequency"

    def __post_init__(self) -> None:
        if any(n < 1 for n in self.min_counts) or list(self.min_counts) != sorted(set(self.min_counts)):
            raise HierarchyError("the minimal counts of a frequency merge must be positive and rise.", hint="Such as 10, 100.")

    @property
    def inner(self) -> int:
        return len(self.min_counts)

    def fit(self, column: str, values: Any, counts: Any = None) -> FrequencyMerge:
        if self.kept is not None:
            return self
        if counts is None:
            raise UsageError(f"categories of '{column}' are merged by frequency: counts are needed.", hint="Pass counts=.")
        texts = texts_of(column, values)
        sizes = counts_of(texts, counts)
        order = sorted(range(len(texts)), key=lambda i: (sizes[i], texts[i]))
        below = np.concatenate([[0], np.cumsum(sizes[order])])
        kept = []
        for need in self.min_counts:
            rare = int(np.searchsorted(sizes[order], need))  # the first `rare` of `order` have fewer records
            if rare:
                rare = max(rare, int(np.searchsorted(below, need)))
            kept.append(tuple(sorted(texts[i] for i in order[rare:])))
        return dataclasses.replace(self, kept=tuple(kept), other=unlike(self.other, texts))

    def _inner_step(self, column: str, level: int, missing_label: str | None) -> MapValues:
        if self.kept is None:
            hint = "Call rule.fit(column, values, counts) first."
            raise UsageError(f"the frequent categories of '{column}' are not known yet.", hint=hint)
        kept = self.kept[level - 1]
        return MapValues(column, kept, tuple(range(len(kept))), kept, "top", self.other, missing_label)


Groups = tuple[tuple[int, ...], ...]
"""Per level, the place in the order at which each group begins."""


@register_rule
@dataclass(frozen=True)
class Ordered(Rule):
    """Levels of an ordered column. The order is taken for public: it stands in plans.

    ``apart`` are the frequent categories without a place in the order. Groups of codes are named by codes.

    >>> rule = Ordered(("none", "low", "medium", "high")).fit("pain", ["low", "high", "none", "medium"], [50, 3, 40, 7])
    >>> rule.over("pain", ["none", "low", "medium", "high"]).levels[1].labels
    ('none', 'low', 'medium to high')
    >>> ages = Ordered(tuple(f"[{a}-{a + 10})" for a in range(0, 100, 10)))
    >>> ages.over("age", ages.order).levels[1].labels
    ('[0-20)', '[20-40)', '[40-60)', '[60-80)', '[80-100)')
    """

    order: tuple[str, ...] = ()
    starts: Groups | None = None
    apart: tuple[str, ...] = ()
    least: int = 10
    other: str = "(other)"
    kind: ClassVar[str] = "ordered"

    def __post_init__(self) -> None:
        if len(set(self.order)) != len(self.order) or len(self.order) < 2:
            raise HierarchyError("an order needs at least two categories, each named once.", hint="Write order: [low, high].")

    @property
    def inner(self) -> int:
        return len(self._starts)

    @property
    def _starts(self) -> Groups:
        return _by_count([1] * len(self.order)) if self.starts is None else self.starts

    def fit(self, column: str, values: Any, counts: Any = None) -> Ordered:
        if self.starts is not None:
            return self
        texts = texts_of(column, values)
        sizes = dict(zip(texts, counts_of(texts, counts).tolist(), strict=True))
        apart = tuple(sorted(t for t in texts if t not in self.order and sizes[t] >= self.least))
        levels = by_width(self.order) or _by_count([sizes.get(t, 0) for t in self.order])
        return dataclasses.replace(self, starts=levels, apart=apart, other=unlike(self.other, texts))

    def _inner_step(self, column: str, level: int, missing_label: str | None) -> MapValues:
        shown, begin = self.order, self._starts[level - 1]
        targets: list[int] = []
        labels: list[str] = []
        for i, (first, after) in enumerate(pairwise((*begin, len(shown)))):
            labels.append(joined(shown[first:after]))
            targets += [i] * (after - first)
        for name in self.apart:
            targets.append(len(labels))
            labels.append(name)
        return MapValues(column, (*self.order, *self.apart), tuple(targets), tuple(labels), "top", self.other, missing_label)


def by_width(shown: Sequence[str]) -> Groups:
    """Bands of one width, by twos from a multiple of the new width; nothing where the widths differ or are not known."""
    bands = [band_of(text) for text in shown]
    lows = [b.low for b in bands if b is not None]
    if len(lows) != len(shown) or len(shown) < 4:
        return ()
    inner = [x for x in lows if x is not None]
    if len(inner) < len(lows) - 1 or (lows[0] is not None and None in lows):
        return ()
    width = inner[1] - inner[0]
    if width <= 0 or any(abs(b - a - width) > 1e-9 * width for a, b in pairwise(inner)):
        return ()
    levels: list[tuple[int, ...]] = []
    double = 2 * width
    while True:
        cells = [float("-inf") if x is None else x // double for x in lows]
        begin = tuple(i for i, c in enumerate(cells) if i == 0 or c != cells[i - 1])
        if len(begin) < 2:
            return tuple(levels)
        if not levels or begin != levels[-1]:
            levels.append(begin)
        double *= 2


def _by_count(sizes: Sequence[int]) -> Groups:
    """The two neighbours with the fewest records are joined, time and again; a level at each half, below six at each."""
    begin, weight = list(range(len(sizes))), [float(s) for s in sizes]
    levels: list[tuple[int, ...]] = []
    want = -(-len(begin) // 2) if len(begin) > 5 else len(begin) - 1
    while len(begin) > 2 and want >= 2:
        while len(begin) > want:
            at = min(range(len(begin) - 1), key=lambda i: (weight[i] + weight[i + 1], i))
            weight[at] += weight.pop(at + 1)
            begin.pop(at + 1)
        levels.append(tuple(begin))
        want = -(-len(begin) // 2) if len(begin) > 5 else len(begin) - 1
    return tuple(levels)
