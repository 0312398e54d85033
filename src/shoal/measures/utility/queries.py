"""How wrong are the counts that people will ask for? A workload of random range counts, answered from original and release.

A query takes one to three columns and in each a random stretch of its values; it asks how many records lie in all of them. Of a
published set of values the part inside the stretch counts, as an analyst would reckon it who knows no better.

Takes    columns of both tables as codes, and the share of each published label that lies inside a stretch
Returns  relative errors; a small floor keeps questions about next to nobody from ruling the mean
Source   LeFevre, DeWitt and Ramakrishnan 2006 (workload); Xiao and Tao 2006 (relative error with a floor)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shoal.measures.utility.published import PublishedColumn
from shoal.model.counts.classes import FloatArray, IntArray

FLOOR = 0.001
"""Share of the original records below which an answer is taken as this large."""
MOST_COLUMNS = 3


@dataclass(frozen=True, eq=False, repr=False)
class Queried:
    """A column that is asked about: its values per original record (in order), the labels per released record."""

    column: PublishedColumn
    before: IntArray
    after: IntArray


@dataclass(frozen=True)
class QueryErrors:
    """Relative errors of the answers: half are at most ``median``, nine in ten at most ``p90``."""

    queries: int
    mean: float
    median: float
    p90: float


def query_errors(columns: Sequence[Queried], *, queries: int, seed: int) -> QueryErrors:
    """Ask random range counts of both tables; answers of the release are scaled to the records of the original.

    >>> c = PublishedColumn(np.array([2, 2]), np.array([2, 2]), np.array([0, 1]), np.array([0, 1, 2]))
    >>> x = np.array([0, 0, 1, 1])
    >>> query_errors([Queried(c, x, x)], queries=5, seed=1).mean
    0.0
    """
    rng = np.random.default_rng(seed)
    usable = [c for c in columns if c.column.n_values > 1]
    if not usable or not len(usable[0].before) or not len(usable[0].after):
        return QueryErrors(0, 0.0, 0.0, 0.0)
    errors = []
    for _ in range(queries):
        width = int(rng.integers(1, min(MOST_COLUMNS, len(usable)) + 1))
        asked = [usable[i] for i in rng.choice(len(usable), size=width, replace=False)]
        errors.append(_error(asked, [_stretch(c.column, width, rng) for c in asked]))
    found = np.array(errors)
    return QueryErrors(queries, float(found.mean()), float(np.median(found)), float(np.quantile(found, 0.9)))


def _stretch(column: PublishedColumn, width: int, rng: np.random.Generator) -> FloatArray:
    """1 for each value inside a random run of values in their order, as long as leaves about a tenth of the records in all."""
    length = max(1, round(column.n_values * 0.1 ** (1 / width)))
    first = int(rng.integers(0, column.n_values - length + 1))
    inside = np.zeros(column.n_values)
    inside[first : first + length] = 1.0
    return inside


def _error(asked: Sequence[Queried], stretches: Sequence[FloatArray]) -> float:
    n, m = len(asked[0].before), len(asked[0].after)
    truth = np.ones(n, dtype=np.bool_)
    told = np.ones(m)
    for one, inside in zip(asked, stretches, strict=True):
        truth &= inside[one.before] > 0
        told = told * (one.column.per_label(inside) / one.column.covered)[one.after]
    right = float(truth.sum())
    return abs(float(told.sum()) * n / m - right) / max(right, FLOOR * n)
