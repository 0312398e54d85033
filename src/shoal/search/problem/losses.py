r"""What a search makes small.

Two families. *Cell losses* charge each record, column by column, for the value published in its place; a suppressed
record is charged as if the whole domain were published. With :math:`A_j` the charge of column j summed over the records,

.. math:: L_j = (A_j - a_j) / (b_j - a_j), \qquad
          \text{loss} = \exp\Big(\sum_j w_j \ln(1 + L_j)\Big) - 1 \quad\text{or}\quad \sum_j w_j L_j,

where :math:`a_j` is the charge of the original table, :math:`b_j` that of a table with everything suppressed (:math:`a_j + n` for
``entropy``, which is left in bits), and the weights sum to one. The charge without suppression depends on the levels one by
one, so it bounds the loss of a node for free.

* ``loss``: leaves covered, geometric (ARX's default); ``ncp``: leaves covered, arithmetic (normalised certainty penalty)
* ``precision``: level over height, arithmetic (1 − Sweeney's precision)
* ``entropy``: −log₂ Pr(value | published group), bits per cell, arithmetic (mutual information loss)

*Class losses* charge for the sizes of the published classes: ``discernibility`` (Σ n_c² plus n for each suppressed record) and
``average_class_size`` (all records over published classes).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from shoal.errors import UsageError
from shoal.model.counts.classes import FloatArray
from shoal.search.problem.column import Column
from shoal.search.problem.problem import Problem

CELL_LOSSES = ("loss", "ncp", "precision", "entropy")
CLASS_LOSSES = ("discernibility", "average_class_size")


@dataclass(frozen=True, eq=False)
class CellLoss:
    """A cell loss in tables: ``charge[j][level, code]`` per record, and ``extra`` = charge when suppressed − charge."""

    name: str
    geometric: bool
    charge: tuple[FloatArray, ...]
    extra: tuple[FloatArray, ...]
    free: tuple[FloatArray, ...]  # per column: A_j at each level, nothing suppressed
    low: FloatArray
    span: FloatArray  # b_j − a_j; 0 where the column can lose nothing
    weights: FloatArray

    def term(self, j: int, charged: FloatArray) -> FloatArray:
        """Contribution of column j to the total, for each charge given."""
        if self.span[j] <= 0.0:
            return np.zeros_like(charged)
        share = np.maximum((charged - self.low[j]) / self.span[j], 0.0)
        out: FloatArray = self.weights[j] * (np.log1p(share) if self.geometric else share)
        return out

    def value(self, total: float) -> float:
        """The loss for a total of contributions."""
        return float(np.expm1(total)) if self.geometric else float(total)


def cell_loss(problem: Problem, name: str, weights: Mapping[str, float] | None = None) -> CellLoss:
    """The tables of a cell loss."""
    n = float(problem.n_records)
    charge, extra, free, low, span = [], [], [], [], []
    for column in problem.columns:
        at_code = column.records
        table, gone = _charges(column.covered, column, name, at_code, n)
        charge.append(table)
        extra.append(np.maximum(gone - table, 0.0))
        free.append(table @ at_code)
        start, end = _ends(name, column.hierarchy.n_leaves, n)
        low.append(start)
        span.append(end - start)
    return CellLoss(
        name=name,
        geometric=name == "loss",
        charge=tuple(charge),
        extra=tuple(extra),
        free=tuple(free),
        low=np.array(low),
        span=np.array(span),
        weights=column_weights(problem.names, weights),
    )


def _charges(covered: FloatArray, column: Column, name: str, at_code: FloatArray, n: float) -> tuple[FloatArray, FloatArray]:
    """Charge per record of each code at each level, and when suppressed."""
    if name in ("loss", "ncp"):
        return covered, np.full(covered.shape[1], float(column.hierarchy.n_leaves))
    if name == "precision":
        height = max(1, column.hierarchy.height)
        level = np.array(column.heights, dtype=np.float64) / height
        return np.repeat(level[:, None], covered.shape[1], axis=1), np.ones(covered.shape[1])
    mass = np.stack([np.bincount(g, weights=at_code, minlength=c)[g] for g, c in zip(column.groups, column.cards, strict=True)])
    own = np.where(at_code > 0, at_code, 1.0)
    table = np.where(at_code > 0, np.log2(np.maximum(mass, 1.0) / own), 0.0)
    return table, np.where(at_code > 0, np.log2(n / own), 0.0)


def _ends(name: str, n_leaves: int, n: float) -> tuple[float, float]:
    if name in ("loss", "ncp"):
        return n, n * n_leaves
    return 0.0, n


def column_weights(names: tuple[str, ...], weights: Mapping[str, float] | None) -> FloatArray:
    """Weights per column that sum to one; a column that is not named has weight 1.

    >>> column_weights(("a", "b"), {"a": 3}).tolist()
    [0.75, 0.25]
    """
    unknown = sorted(set(weights or {}) - set(names))
    if unknown:
        hint = f"Columns: {', '.join(names)}."
        raise UsageError(f"a weight is given for '{unknown[0]}', which is not a quasi-identifier.", hint=hint)
    out = np.array([float((weights or {}).get(name, 1.0)) for name in names])
    if not np.isfinite(out).all() or (out < 0).any() or out.sum() == 0:
        raise UsageError("weights of columns must be numbers of at least 0, not all 0.", hint="Leave them out for equal weights.")
    normed: FloatArray = out / out.sum()
    return normed


def check_loss_name(name: str) -> None:
    if name not in CELL_LOSSES + CLASS_LOSSES:
        raise UsageError(f"loss '{name}' is not known.", hint=f"Losses: {', '.join(CELL_LOSSES + CLASS_LOSSES)}.")
