"""Does a model that learns from the release still work? Standard models of both tables, tested on original rows.

Rows of the test part are taken out of the training part on both sides; of the release those rows are taken out that look like
them (as many of each kind), because nobody can tell which row is whose.

Takes    features of original rows as they are and as they would be published, features and target of released rows
Returns  accuracy and AUC for categories, R² for numbers: mean over the folds and the spread between them
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.errors import need
from shoal.kernels.group import group_codes
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
    found: dict[tuple[str, str], list[tuple[float, float, float]]] = {}
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
                found.setdefault((name, score), []).append((value, two.get(score, float("nan")), base))
    out = []
    for (name, score), values in found.items():
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
    told = [[j for j in range(len(after)) if not blank[j][row]] for row in patterns.first]
    everything = list(range(len(after)))
    passes = [(everything, np.flatnonzero(kept))]
    for i in sorted(range(patterns.n), key=lambda i: -len(told[i])):
        if told[i] and told[i] != everything:
            passes.append((told[i], np.flatnonzero(patterns.ids == i)))
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
    found = []
    for c in np.unique(y):
        here = y == c
        if here.all():
            continue
        at = np.flatnonzero(classes == c)
        score = chances[:, at[0]] if len(at) else np.zeros(len(y))
        order = np.argsort(score, kind="stable")
        _, place, count = np.unique(score[order], return_inverse=True, return_counts=True)
        rank = (np.cumsum(count) - (count - 1) / 2)[place]
        ranks = np.empty(len(y))
        ranks[order] = rank
        n, m = int(here.sum()), int((~here).sum())
        found.append((float(ranks[here].sum()) - n * (n + 1) / 2) / (n * m))
    return float(np.mean(found)) if found else float("nan")


def _baseline(score: str, y: FloatArray, y_test: FloatArray) -> float:
    if score == "AUC":
        return 0.5
    if score == "R²":
        return 0.0
    known, count = np.unique(y[np.isfinite(y)], return_counts=True)
    seen = y_test[np.isfinite(y_test)]
    return float((seen == known[count.argmax()]).mean()) if len(known) and len(seen) else float("nan")
