"""Comparisons by models: propensity scores, standard models of a target, and random counts asked of both tables."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shoal.comparison.columns import ComparedColumn
from shoal.measures.utility.analyses import MOST_CLASSES, MOST_ROWS, Learned, ModelScore, model_scores
from shoal.measures.utility.distances import Propensity, Queried, QueryErrors, propensity, query_errors
from shoal.model.counts.classes import FloatArray, IntArray

MOST_SCORED = 100_000
"""Records of each table whose propensity is fitted."""
MOST_DUMMIES = 20
QUERIES = 200


def scores(columns: Sequence[ComparedColumn], seed: int) -> Propensity | None:
    """Propensity scores over every column that both tables have at one detail; a seeded draw of large tables."""
    usable = [c for c in columns if c.before is not None]
    if not usable:
        return None
    rng = np.random.default_rng(seed)
    rows = _draw(len(usable[0].leaf), MOST_SCORED, rng)
    others = _draw(len(usable[0].label), MOST_SCORED, rng)
    blocks = [_features(c, rows, others) for c in usable]
    before, after = (np.hstack([b[side] for b in blocks]) for side in (1, 2))
    return propensity(before, after)


def answered(columns: Sequence[ComparedColumn], seed: int) -> QueryErrors | None:
    """Random range counts over the columns whose labels can be read."""
    usable = [Queried(c.published, c.leaf, c.label) for c in columns if c.published is not None]
    return query_errors(usable, queries=QUERIES, seed=seed) if usable else None


def _draw(n: int, most: int, rng: np.random.Generator) -> IntArray:
    return np.arange(n) if n <= most else np.sort(rng.choice(n, size=most, replace=False))


def _features(c: ComparedColumn, rows: IntArray, others: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Features of a column: original rows as they are, original rows at the published detail, released rows."""
    assert c.before is not None
    assert c.after is not None
    if c.numbers is not None and c.level is not None:
        return tuple(_fill_missing(x) for x in (c.numbers[0][rows], c.level[rows], c.numbers[1][others]))  # type: ignore[return-value]
    own = _dummies(c.leaf[rows], c.leaf[rows], 0)[0]
    return (own, *_dummies(c.before[rows], c.after[others], c.codes))


def _fill_missing(x: FloatArray) -> FloatArray:
    """A number and whether it is missing; a missing one stands at 0."""
    gone = ~np.isfinite(x)
    return np.column_stack((np.where(gone, 0.0, x), gone.astype(np.float64)))


def _dummies(one: IntArray, two: IntArray, codes: int) -> tuple[FloatArray, FloatArray]:
    """A column of 0 and 1 for each of the most frequent codes."""
    size = max(codes, int(one.max(initial=0)) + 1, int(two.max(initial=0)) + 1)
    often = np.bincount(one, minlength=size) + np.bincount(two, minlength=size)
    top = np.argsort(-often, kind="stable")[:MOST_DUMMIES]
    top = top[often[top] > 0]
    return (one[:, None] == top).astype(np.float64), (two[:, None] == top).astype(np.float64)


def learned(columns: Sequence[ComparedColumn], target: ComparedColumn, seed: int) -> list[ModelScore]:
    """Scores of the models of one target from all other columns that both tables have at one detail."""
    others = [c for c in columns if c.name != target.name and c.before is not None]
    if not others or target.before is None or target.after is None:
        return []
    rng = np.random.default_rng(seed)
    rows, released = _draw(len(target.leaf), MOST_ROWS, rng), _draw(len(target.label), MOST_ROWS, rng)
    blocks = [_features(c, rows, released) for c in others]
    own, level, after = (np.hstack([b[side] for b in blocks]) for side in range(3))
    numeric = target.numbers is not None and len(np.unique(target.leaf)) > MOST_CLASSES
    if numeric:
        assert target.numbers is not None
        y, y_released = target.numbers[0][rows], target.numbers[1][released]
    else:
        y, y_released = _classes(target.before[rows], target.after[released])
    same = [c for c in (*others, target) if c.is_exact or c.kind == "unchanged"]
    keys = [_key(c, c.before)[rows] for c in same], [_key(c, c.after)[released] for c in same]
    if not keys[0]:
        keys = [np.zeros(len(rows), np.int64)], [np.ones(len(released), np.int64)]
    return model_scores(target.name, Learned(own, level, after, y, y_released, keys, numeric), seed=seed)


def _key(c: ComparedColumn, codes: IntArray | None) -> IntArray:
    """Codes at the published detail, −1 for a blank."""
    assert codes is not None
    if c.published is None or not c.is_exact:
        return codes
    out: IntArray = np.where(np.append(c.published.blank, False)[codes], -1, codes)
    return out


def _classes(before: IntArray, after: IntArray) -> tuple[FloatArray, FloatArray]:
    """The most frequent categories of a target; the rest is one more."""
    often = np.bincount(np.concatenate((before, after)))
    place = np.full(len(often), MOST_CLASSES, dtype=np.int64)
    top = np.argsort(-often, kind="stable")[:MOST_CLASSES]
    place[top] = np.arange(len(top))
    return place[before].astype(np.float64), place[after].astype(np.float64)
