"""A scikit-learn transformer that generalizes rows until everybody has company, and scorers that count it.

``fit`` searches the plan that loses least on the training rows, as :func:`shoal.anonymize` does, and keeps only the groups of
each column and which combinations had at least ``k`` training rows. ``transform`` gives every row, new ones too, the middle of
its groups: as many rows come out as go in, so that it can stand in a pipeline. It proves nothing about new rows: only the
transformed training rows are k-anonymous.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shoal.engines.open import open as open_table
from shoal.errors import need
from shoal.kernels.text import canonical_text
from shoal.release.plan.decide import decide
from shoal.release.plan.prepare import prepare
from shoal.release.policy.policy import Policy
from shoal.steps import MapValues, evaluate

try:
    from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError:
    raise need("sklearn", "scikit-learn") from None

BLANK = "*"
MOST_HALVES = 6
"""Numbers are generalized to at most 2 to this power groups of equal size."""


@dataclass(frozen=True)
class Groups:
    """The groups of one column: the step that finds a value's group, and the middle of each group (numbers) or its label."""

    step: Any
    middle: Mapping[str, Any]
    blank: Any
    numeric: bool

    def labels(self, values: npt.NDArray[Any]) -> list[str]:
        texts = canonical_text(pa.array(values)).to_pylist()
        numbers = values.astype(np.float64) if self.numeric else None
        return [BLANK if t is None else t for t in evaluate(self.step, texts, numbers).texts()]


class KAnonymizer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Generalize the columns of ``X`` so that each training row is like at least ``k - 1`` others.

    Parameters
    ----------
    k : int, default 5
    suppress : float, default 0.05
        Share of training rows whose columns may be blanked altogether (the middle of each column, or ``*``).
        Blanked rows are alike, so they hide each other too: there are none of them, or at least ``k``.

    Attributes
    ----------
    k_ : int
        Size of the smallest class of the transformed training rows.
    loss_ : float
        Information lost by the plan, from 0 (nothing) to 1.
    n_features_in_, feature_names_in_
        As for every estimator.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[30.0], [31.0], [32.0], [60.0], [61.0], [62.0]])
    >>> KAnonymizer(k=3).fit(X).k_
    3
    """

    def __init__(self, k: int = 5, suppress: float = 0.05) -> None:
        self.k = k
        self.suppress = suppress

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the groups; ``y`` is not used."""
        values = validate_data(self, X, dtype=None)
        if len(values) < self.k:
            raise ValueError(f"n_samples = {len(values)} is fewer than k = {self.k}: nobody can have {self.k - 1} others.")
        for suppress in dict.fromkeys((self.suppress, 0.0)):
            self._search(values, suppress)
            sizes = Counter(row if row in self._classes else None for row in self._labels(values))
            self.k_ = min(sizes.values())
            if self.k_ >= self.k:  # otherwise too few rows would be blanked to hide each other
                break
        return self

    def transform(self, X: Any) -> npt.NDArray[Any]:
        """Every row in the middle of its groups; a row of a class with fewer than ``k`` training rows is blanked."""
        check_is_fitted(self)
        values = validate_data(self, X, dtype=None, reset=False)
        rows = self._labels(values)
        known = np.array([row in self._classes for row in rows], dtype=bool)
        columns = []
        for j, groups in enumerate(self._groups):
            named = [groups.middle.get(row[j], groups.blank) if ok else groups.blank for row, ok in zip(rows, known, strict=True)]
            columns.append(np.array(named, dtype=np.float64 if groups.numeric else object))
        return np.column_stack(columns) if all(g.numeric for g in self._groups) else _objects(columns)

    def _search(self, values: npt.NDArray[Any], suppress: float) -> None:
        """The plan that loses least, and what ``transform`` needs of it."""
        columns = [_column(values[:, j]) for j in range(values.shape[1])]
        names = [f"x{j}" for j in range(len(columns))]
        rules = {n: _rule(column) for n, column in zip(names, columns, strict=True)}
        policy = Policy.of(None, quasi=rules, k=self.k, allow={"suppress": suppress, "loss": 1}, method="lattice")
        with open_table(pa.table(dict(zip(names, map(pa.array, columns), strict=True)))) as table:
            decision = decide(prepare(table, policy))
        steps = {s.column: s for s in decision.plan.steps}
        self._groups = tuple(_groups(steps[n], column) for n, column in zip(names, columns, strict=True))
        self.loss_ = float(decision.loss)
        counts = Counter(self._labels(values))
        self._classes = frozenset(row for row, n in counts.items() if n >= self.k)

    def _labels(self, values: npt.NDArray[Any]) -> list[tuple[str, ...]]:
        labels = [groups.labels(_column(values[:, j], groups.numeric)) for j, groups in enumerate(self._groups)]
        return list(zip(*labels, strict=True))


def smallest_class(estimator: Any, X: Any, y: Any = None) -> int:
    """A scorer: the size of the smallest class of the transformed rows. More is safer."""
    return int(np.unique(_rows(estimator.transform(X)), return_counts=True)[1].min())


def unique_share(estimator: Any, X: Any, y: Any = None) -> float:
    """A scorer: the share of transformed rows that are one of a kind, negative, because scorers count up."""
    sizes = np.unique(_rows(estimator.transform(X)), return_counts=True)[1]
    return -float((sizes == 1).sum() / sizes.sum())


def _rows(values: Any) -> npt.NDArray[Any]:
    """One number per row: equal rows have equal numbers."""
    array = np.asarray(values, dtype=object)
    seen: dict[tuple[Any, ...], int] = {}
    return np.array([seen.setdefault(tuple(row), len(seen)) for row in array.reshape(len(array), -1)])


def _column(values: npt.NDArray[Any], numeric: bool | None = None) -> npt.NDArray[Any]:
    """A column as numbers where every value is one, else as text."""
    if numeric is not False:
        try:
            return values.astype(np.float64)
        except (TypeError, ValueError):
            if numeric:
                raise ValueError("a column that held numbers in fit holds something else.") from None
    return np.array([str(v) for v in values], dtype=object)


def _rule(column: npt.NDArray[Any]) -> dict[str, Any]:
    """Numbers get groups of equal size, halved again and again; texts what Shoal finds."""
    if column.dtype == object:
        return {}
    groups = [2**power for power in range(MOST_HALVES, 0, -1) if 2**power < len(np.unique(column))]
    return {"hierarchy": {"quantiles": groups}} if groups else {}


def _groups(step: Any, column: npt.NDArray[Any]) -> Groups:
    """The middle of every group that training values fell into: their mean for numbers, the label for text."""
    if isinstance(step, MapValues):
        step = replace(step, on_gap="top")
    numeric = column.dtype != object
    blank: Any = float(column.mean()) if numeric else BLANK
    labels = np.array(Groups(step, {}, blank, numeric).labels(column), dtype=object)
    middle = {str(g): float(column[labels == g].mean()) if numeric else str(g) for g in dict.fromkeys(labels.tolist())}
    return Groups(step, middle, blank, numeric)


def _objects(columns: list[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    out = np.empty((len(columns[0]), len(columns)), dtype=object)
    for j, column in enumerate(columns):
        out[:, j] = column
    return out
