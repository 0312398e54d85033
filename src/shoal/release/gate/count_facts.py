"""What the requirements ask of class counts, as the measures of the field say it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from shoal.measures.classes.closeness import basic_beta_likeness, delta_disclosure, enhanced_beta_likeness, t_closeness
from shoal.measures.classes.diversity import alpha, distinct_diversity, entropy_diversity, least_c
from shoal.model.counts.classes import ClassCounts, IntArray
from shoal.release.proof.facts import Facts, Inside


def facts_of_counts(
    counts: Any, levels: dict[str, list[int]] | None = None, hierarchies: Mapping[str, Any] | None = None
) -> Facts:
    """The Facts of class counts, through the measures of the field; ``hierarchies`` are those of sensitive columns."""
    inside = {}
    for column in counts.sensitive:
        tree = (hierarchies or {}).get(column)
        inside[column] = Inside(
            distinct_diversity(counts, column),
            entropy_diversity(counts, column),
            t_closeness(counts, column, distance="equal"),
            t_closeness(counts, column, distance="ordered"),
            {level: _finite(least_c(counts, column, l=level)) for level in (levels or {}).get(column, ())},
            None if tree is None else t_closeness(counts, column, distance="hierarchical", hierarchy=tree),
            alpha(counts, column),
            delta_disclosure(counts, column),
            basic_beta_likeness(counts, column),
            enhanced_beta_likeness(counts, column),
        )
    sizes, how_many = _tallied(counts.sizes)
    once = None
    if counts.unit is not None and (counts.people is not None or counts.adds_up):
        once = _people(counts)
    return Facts(
        records=counts.n_records,
        classes=counts.n_classes,
        k=int(counts.sizes.min()),
        unique=int((counts.sizes == 1).sum()) if once is None else once[1],
        sizes={int(s): int(n) for s, n in zip(sizes, how_many, strict=True)},
        sensitive=inside,
        people=None if once is None else sum(once.values()),
        smallest=None if once is None else {size: n for size, n in once.items() if n},
    )


def _tallied(sizes: IntArray) -> tuple[IntArray, IntArray]:
    """The sizes that occur, in increasing order, and how many classes have each."""
    if int(sizes.max()) >= max(len(sizes), 1024):
        return np.unique(sizes, return_counts=True)
    each = np.bincount(sizes)
    there = np.flatnonzero(each)
    return there, each[there]


def _people(counts: ClassCounts) -> Counter[int]:
    """People by the size of the smallest class they are in."""
    once: Counter[int] = Counter()
    for size, n in zip(counts.everybody.sizes.tolist(), counts.everybody.members.tolist(), strict=True):
        once[size] += n
    return once


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
