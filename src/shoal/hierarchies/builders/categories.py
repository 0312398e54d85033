"""Categories by frequency: rare ones join a group that does not list them.

Takes    how many records a category needs to keep its name, per level
Returns  levels in which every category below that joins ``(other)``
Keeps    ``(other)`` itself holds at least as many records (the smallest named category joins it if need be); the plan
         names frequent categories only, so that no rare value stands in it
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from shoal.errors import HierarchyError, UsageError
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
    names: tuple[tuple[str, str], ...] = ()  # what codes are called: value labels
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
        frequent = {t for level in kept for t in level}
        names = tuple((code, name) for code, name in self.names if code in frequent)
        other = unlike(self.other, (*texts, *(name for _, name in names)))
        return dataclasses.replace(self, kept=tuple(kept), names=names, other=other)

    def _inner_step(self, column: str, level: int, missing_label: str | None) -> MapValues:
        if self.kept is None:
            raise UsageError(
                f"the frequent categories of '{column}' are not known yet.", hint="Call rule.fit(column, values, counts) first."
            )
        kept, called = self.kept[level - 1], dict(self.names)
        labels = tuple(called.get(code, code) for code in kept)
        return MapValues(column, kept, tuple(range(len(kept))), labels, "top", self.other, missing_label)
