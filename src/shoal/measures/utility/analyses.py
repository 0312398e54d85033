"""Does the analysis survive? A mean, a table or a regression, before and after the recoding.

An analysis is named as people name it: ``mean:income``, ``table:sex,region``, ``regression:income~age+sex``. The change is
what an analyst sees, not an abstract loss. Results hold numbers only, never a category's name.

Takes    columns before and after as arrays by name (records need not be in the same order)

Does a model that learns from the release still work? Standard models of both tables, tested on original rows.

Rows of the test part are taken out of the training part on both sides; of the release those rows are taken out that look like
them (as many of each kind), because nobody can tell which row is whose.

Takes    features of original rows as they are and as they would be published, features and target of released rows
Returns  accuracy and AUC for categories, R² for numbers: mean over the folds and the spread between them
"""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.errors import DataError, UsageError, missing_column, need
from shoal.kernels.group import group_codes
from shoal.measures.utility.distances import total_variation
from shoal.model.counts.classes import FloatArray, IntArray

FOLDS = 3
MOST_ROWS = 5_000
"""Rows of each table that models see; a seeded draw where there are more."""
MOST_CLASSES = 30


@dataclass(frozen=True, eq=False, repr=False)
class Learned:
    """What a model of one target gets to see.

    ``own`` are the features of the original rows, ``as_published`` the same rows at the detail of the release, ``released`` those
    of the released rows. ``y`` and ``y_released`` are the target as codes (or numbers, with ``numeric``; NaN missing). ``keys``
    are codes that both tables have (−1 blank), for taking out test rows: original rows, released rows.
    """

    own: FloatArray
    as_published: FloatArray
    released: FloatArray
    y: FloatArray
    y_released: FloatArray
    keys: tuple[Sequence[IntArray], Sequence[IntArray]]
    numeric: bool


@dataclass(frozen=True)
class ModelScore:
    """One model, one score: trained on the original and on the release, both tested on original rows."""

    target: str
    model: str
    score: str
    before: float
    after: float
    spread: float
    baseline: float


def model_scores(target: str, data: Learned, *, seed: int) -> list[ModelScore]:
    """Cross-validated scores of three models, beside the best guess without any feature."""
    makers = _makers(numeric=data.numeric, seed=seed)
    from threadpoolctl import threadpool_limits  # comes with scikit-learn; small fits on many threads wait for each other

    with threadpool_limits(1):
        return _folds(target, data, makers, seed)


def _folds(target: str, data: Learned, makers: Mapping[str, Callable[[], Any]], seed: int) -> list[ModelScore]:
    folds: dict[tuple[str, str], list[tuple[float, float, float]]] = {}
    rng = np.random.default_rng(seed)
    fold = rng.permutation(len(data.y)) % FOLDS
    for i in range(FOLDS):
        test, train = np.flatnonzero(fold == i), np.flatnonzero(fold != i)
        rest = _without(data.keys[0], data.keys[1], test, rng)
        if not len(rest) or not len(train) or not len(test):
            continue
        for name, make in makers.items():
            one = _scores(make, data.own[train], data.y[train], data.own[test], data.y[test], numeric=data.numeric)
            two = _scores(
                make, data.released[rest], data.y_released[rest], data.as_published[test], data.y[test], numeric=data.numeric
            )
            for score, value in one.items():
                base = _baseline(score, data.y[train], data.y[test])
                folds.setdefault((name, score), []).append((value, two.get(score, float("nan")), base))
    out = []
    for (name, score), values in folds.items():
        a = np.array(values)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # a score that no fold has
            means = np.nanmean(a, axis=0)
            spread = float(np.nanstd(a[:, 0] - a[:, 1]))
        if np.isfinite(means[0]):
            out.append(ModelScore(target, name, score, float(means[0]), float(means[1]), spread, float(means[2])))
    return out


def _without(before: Sequence[IntArray], after: Sequence[IntArray], test: IntArray, rng: np.random.Generator) -> IntArray:
    """Released rows without as many of each kind as the test rows have.

    A test row takes out a row that is equal to it in all columns; if there is none, one that is equal but for blanks.
    """
    order = rng.permutation(len(after[0]))
    published, people = [a[order] for a in after], [b[test] for b in before]
    kept, owed = np.ones(len(order), np.bool_), np.ones(len(test), np.bool_)
    blank = [a < 0 for a in published]
    patterns = group_codes([b.astype(np.int64) for b in blank])
    shown = [[j for j in range(len(after)) if not blank[j][row]] for row in patterns.first]
    everything = list(range(len(after)))
    passes = [(everything, np.flatnonzero(kept))]
    for i in sorted(range(patterns.n), key=lambda i: -len(shown[i])):
        if shown[i] and shown[i] != everything:
            passes.append((shown[i], np.flatnonzero(patterns.ids == i)))
    for use, rows in passes:
        rows, still = rows[kept[rows]], np.flatnonzero(owed)
        both = group_codes([np.concatenate((published[j][rows], people[j][still])) for j in use])
        mine, theirs = both.ids[: len(rows)], both.ids[len(rows) :]
        kept[rows[_rank(mine) < np.bincount(theirs, minlength=both.n)[mine]]] = False
        owed[still[_rank(theirs) < np.bincount(mine, minlength=both.n)[theirs]]] = False
    return np.sort(order[kept])


def _rank(kinds: IntArray) -> IntArray:
    """0, 1, … within each kind, in the order given."""
    by_kind = np.argsort(kinds, kind="stable")
    out = np.empty(len(kinds), dtype=np.int64)
    out[by_kind] = np.arange(len(kinds)) - np.searchsorted(kinds[by_kind], kinds[by_kind])
    return out


def _makers(*, numeric: bool, seed: int) -> Mapping[str, Callable[[], Any]]:
    try:
        from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
        from sklearn.linear_model import LogisticRegression, Ridge
        from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
    except ImportError as error:
        raise need("sklearn", "scikit-learn") from error
    leaf, trees = 5, 30
    if numeric:
        return {
            "linear regression": lambda: Ridge(alpha=1.0),
            "decision tree": lambda: DecisionTreeRegressor(min_samples_leaf=leaf * 4, random_state=seed),
            "random forest": lambda: RandomForestRegressor(trees, min_samples_leaf=leaf, random_state=seed),
        }
    return {
        "logistic regression": lambda: LogisticRegression(max_iter=100, tol=1e-3),
        "decision tree": lambda: DecisionTreeClassifier(min_samples_leaf=leaf * 4, random_state=seed),
        "random forest": lambda: RandomForestClassifier(trees, min_samples_leaf=leaf, random_state=seed),
    }


def _scores(
    make: Callable[[], Any], x: FloatArray, y: FloatArray, x_test: FloatArray, y_test: FloatArray, *, numeric: bool
) -> dict[str, float]:
    """Scores of one model on one test part; a target with a single value in training is guessed."""
    have, asked = np.isfinite(y), np.isfinite(y_test)
    x, y, x_test, y_test = x[have], y[have], x_test[asked], y_test[asked]
    if not len(y) or not len(y_test):
        return {}
    middle, spread = x.mean(axis=0), x.std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    x, x_test = (x - middle) / spread, (x_test - middle) / spread
    if numeric:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            guess = make().fit(x, y).predict(x_test)
        total = float(((y_test - y_test.mean()) ** 2).sum())
        return {"R²": 1.0 - float(((y_test - guess) ** 2).sum()) / total} if total > 0 else {}
    if len(np.unique(y)) < 2:
        return {"accuracy": float((y_test == y[0]).mean()), "AUC": 0.5}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a fit that has not settled yet is a model like another
        fitted = make().fit(x, y)
        chances = fitted.predict_proba(x_test)
    guess = fitted.classes_[chances.argmax(axis=1)]
    return {"accuracy": float((guess == y_test).mean()), "AUC": _auc(chances, fitted.classes_, y_test)}


def _auc(chances: FloatArray, classes: FloatArray, y: FloatArray) -> float:
    """Area under the curve, one category against the rest, averaged over those that both occur and do not always occur."""
    areas = []
    for c in np.unique(y):
        here = y == c
        if here.all():
            continue
        at = np.flatnonzero(classes == c)
        score = chances[:, at[0]] if len(at) else np.zeros(len(y))
        n, m = int(here.sum()), int((~here).sum())
        areas.append((float(ranks(score)[here].sum()) - n * (n + 1) / 2) / (n * m))
    return float(np.mean(areas)) if areas else float("nan")


def _baseline(score: str, y: FloatArray, y_test: FloatArray) -> float:
    if score == "AUC":
        return 0.5
    if score == "R²":
        return 0.0
    known, count = np.unique(y[np.isfinite(y)], return_counts=True)
    seen = y_test[np.isfinite(y_test)]
    return float((seen == known[count.argmax()]).mean()) if len(known) and len(seen) else float("nan")


Columns = Mapping[str, npt.ArrayLike]


@dataclass(frozen=True)
class AnalysisChange:
    """One analysis before and after. ``change`` is 0 for no change; its meaning stands in ``measure``."""

    analysis: str
    measure: str
    before: float | None
    after: float | None
    change: float
    details: Mapping[str, Any]

    def to_json(self) -> dict[str, object]:
        own = {name: value for name, value in vars(self).items() if name != "details"}
        return {**own, **self.details}


def compare(analysis: str, before: Columns, after: Columns) -> AnalysisChange:
    """Run a named analysis on both tables.

    >>> c = compare("mean:x", {"x": [1.0, 3.0]}, {"x": [2.0, 3.0]})
    >>> c.before, c.after, c.change
    (2.0, 2.5, 0.25)
    """
    kind, _, what = analysis.partition(":")
    if kind == "mean" and what:
        return compare_mean(what.strip(), before, after)
    if kind == "table" and what:
        return compare_table([w.strip() for w in what.split(",")], before, after)
    if kind == "regression" and "~" in what:
        target, _, terms = what.partition("~")
        return compare_regression(target.strip(), [t.strip() for t in terms.split("+")], before, after)
    hint = "Write mean:column, table:column,column or regression:target~column+column."
    raise UsageError("the analysis is not understood.", hint=hint)


def compare_mean(column: str, before: Columns, after: Columns) -> AnalysisChange:
    """Mean of a number, missing values left out; the change is relative to the mean before (absolute where that is 0)."""
    a, b = _numbers(before, column), _numbers(after, column)
    old, new = float(np.nanmean(a)), float(np.nanmean(b))
    error = float(np.nanstd(a)) / math.sqrt(max(1, int(np.isfinite(a).sum())))
    details = {"standard_error_before": error, "deviation_before": float(np.nanstd(a)), "deviation_after": float(np.nanstd(b))}
    return AnalysisChange(f"mean:{column}", "relative change of the mean", old, new, abs(new - old) / (abs(old) or 1.0), details)


def compare_table(columns: Sequence[str], before: Columns, after: Columns) -> AnalysisChange:
    """Frequency table of some columns; the change is the share of records in the wrong cell (total variation).

    >>> compare_table(["s"], {"s": ["m", "f"]}, {"s": ["m", "m"]}).change
    0.5
    """
    old, new = _cells(before, columns), _cells(after, columns)
    n, m = sum(old.values()), sum(new.values())
    distance = 0.5 * sum(abs(old.get(c, 0) / n - new.get(c, 0) / m) for c in old.keys() | new.keys())
    details = {"cells_before": len(old), "cells_after": len(new), "records_before": n, "records_after": m}
    return AnalysisChange(f"table:{','.join(columns)}", "share of records in another cell", None, None, distance, details)


def compare_regression(target: str, terms: Sequence[str], before: Columns, after: Columns) -> AnalysisChange:
    """Least squares of a number on numbers; the change is the largest move of a coefficient in standard errors before.

    >>> x = np.arange(10.0)
    >>> same = {"y": 2 * x + np.cos(x), "x": x}
    >>> compare_regression("y", ["x"], same, same).change
    0.0
    """
    old, errors, fit_old = _least_squares(target, terms, before)
    new, _, fit_new = _least_squares(target, terms, after)
    moved = np.abs(new - old)
    with np.errstate(divide="ignore", invalid="ignore"):
        steps = np.where(moved <= 1e-12 * np.maximum(1.0, np.abs(old)), 0.0, moved / errors)
    names = ["constant", *terms]
    details = {
        "coefficients_before": dict(zip(names, old.tolist(), strict=True)),
        "coefficients_after": dict(zip(names, new.tolist(), strict=True)),
        "standard_errors_before": dict(zip(names, errors.tolist(), strict=True)),
    }
    named = f"regression:{target}~{'+'.join(terms)}"
    return AnalysisChange(
        named, "largest move of a coefficient in standard errors", fit_old, fit_new, float(steps.max()), details
    )


def _least_squares(target: str, terms: Sequence[str], table: Columns) -> tuple[FloatArray, FloatArray, float]:
    y = _numbers(table, target)
    design = np.column_stack([np.ones(len(y)), *(_numbers(table, t) for t in terms)])
    whole = np.isfinite(y) & np.isfinite(design).all(axis=1)
    y, design = y[whole], design[whole]
    n, width = design.shape
    if n <= width or int(np.linalg.matrix_rank(design)) < width:
        what = f"the regression of '{target}' has {n} whole records and {width} coefficients that it cannot tell apart."
        raise DataError(what, hint="Use fewer terms, or more records.")
    coefficients, *_ = np.linalg.lstsq(design, y, rcond=None)
    rest = y - design @ coefficients
    variance = float(rest @ rest) / (n - width)
    errors = np.sqrt(np.maximum(variance * np.diag(np.linalg.inv(design.T @ design)), 0.0))
    spread = float(((y - y.mean()) ** 2).sum())
    return coefficients.astype(np.float64), errors.astype(np.float64), 1.0 - float(rest @ rest) / spread if spread else 1.0


def _column(table: Columns, name: str) -> npt.NDArray[Any]:
    if name not in table:
        raise missing_column(name, tuple(table), table="table", what="analysis column")
    values = table[name]
    return np.asarray(values.to_pylist() if hasattr(values, "to_pylist") else values)


def _numbers(table: Columns, name: str) -> FloatArray:
    raw = _column(table, name)
    try:
        numbers = np.array([math.nan if v is None else v for v in raw.tolist()], dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError(f"column '{name}' does not hold numbers.", hint="Use a table instead of a mean or regression.") from None
    if not bool(np.isfinite(numbers).any()):
        raise DataError(f"column '{name}' has no number in it.", hint="Check whether it was suppressed altogether.")
    return numbers


def _cells(table: Columns, columns: Sequence[str]) -> dict[tuple[Any, ...], int]:
    rows = zip(*(_column(table, c).tolist() for c in columns), strict=True)
    out = Counter(tuple(None if isinstance(v, float) and math.isnan(v) else v for v in row) for row in rows)
    if not out:
        raise DataError("a table of no records has no frequencies.", hint="Check what was released.")
    return out


def correlations(columns: Sequence[FloatArray]) -> FloatArray:
    """Pearson correlations, each pair over the records that have both; NaN where one of them does not vary.

    >>> correlations([np.array([1.0, 2.0, 3.0]), np.array([2.0, 4.0, 6.1])]).round(3).tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    n = len(columns)
    out = np.full((n, n), np.nan)
    for i in range(n):
        for j in range(i + 1):
            out[i, j] = out[j, i] = _pearson(columns[i], columns[j])
    return out


def ranks(numbers: FloatArray) -> FloatArray:
    """Ranks from 1, equal numbers share the mean of theirs; NaN stays.

    >>> ranks(np.array([10.0, 5.0, 10.0])).tolist()
    [2.5, 1.0, 2.5]
    """
    known = np.isfinite(numbers)
    _, place, count = np.unique(numbers[known], return_inverse=True, return_counts=True)
    last = np.cumsum(count)
    out = np.full(len(numbers), np.nan)
    out[known] = (last - (count - 1) / 2)[place]
    return out


def _pearson(x: FloatArray, y: FloatArray) -> float:
    both = np.isfinite(x) & np.isfinite(y)
    a, b = x[both], y[both]
    if len(a) < 2:
        return float("nan")
    a, b = a - a.mean(), b - b.mean()
    spread = float(np.sqrt((a @ a) * (b @ b)))
    return float(np.clip((a @ b) / spread, -1.0, 1.0)) if spread > 0 else float("nan")


def contingency(x: IntArray, y: IntArray, width: int) -> tuple[IntArray, IntArray]:
    """The cells of the table of two columns that occur (x · width + y) and their records."""
    cells = x.astype(np.int64) * width + y
    highest = int(cells.max(initial=0)) + 1
    if highest <= max(4 * len(cells), 1 << 16):
        count = np.bincount(cells, minlength=highest)
        seen = np.flatnonzero(count)
        return seen, count[seen]
    counted = np.unique(cells, return_counts=True)
    return counted[0], counted[1].astype(np.int64)


def table_distance(before: tuple[IntArray, IntArray], after: tuple[IntArray, IntArray]) -> float:
    """Share of the records in another cell of a contingency table: total variation.

    >>> a = contingency(np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]), 2)
    >>> b = contingency(np.array([0, 0, 1, 1]), np.array([0, 0, 1, 1]), 2)
    >>> table_distance(a, b)
    0.5
    """
    keys = np.union1d(before[0], after[0])
    p, q = np.zeros(len(keys)), np.zeros(len(keys))
    p[np.searchsorted(keys, before[0])] = before[1] / before[1].sum()
    q[np.searchsorted(keys, after[0])] = after[1] / after[1].sum()
    return total_variation(p, q)


def cramers_v(table: tuple[IntArray, IntArray], width: int) -> float:
    """Cramér's V of a contingency table: 0 independent, 1 one column tells the other; NaN where a column does not vary.

    >>> cramers_v(contingency(np.array([0, 0, 1, 1]), np.array([0, 0, 1, 1]), 2), 2)
    1.0
    """
    cells, records = table
    x, y = cells // width, cells % width
    rows, columns = np.bincount(x, weights=records), np.bincount(y, weights=records)
    least = min(int((rows > 0).sum()), int((columns > 0).sum())) - 1
    if least < 1:
        return float("nan")
    total = float(records.sum())
    # chi² / n = Σ n_xy² / (n_x n_y) − 1, over cells that occur
    phi = float((records / rows[x] * (records / columns[y])).sum()) - 1.0
    return float(np.sqrt(min(1.0, max(0.0, phi) / least))) if total else float("nan")
