"""The loss of one plan: given levels and the classes that stay.

Takes    class counts, hierarchies, a level per column, and which base classes are published
Returns  the loss that a search would report for it
Keeps    equal to the search's own loss where the classes that stay are the search's
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from shoal.model.counts.classes import ClassCounts
from shoal.model.hierarchy import Hierarchy
from shoal.search.problem.losses import CELL_LOSSES, cell_loss, check_loss_name
from shoal.search.problem.problem import build_problem


def loss_at(
    counts: ClassCounts,
    hierarchies: Mapping[str, Hierarchy],
    levels: Mapping[str, int],
    kept: npt.NDArray[np.bool_],
    *,
    loss: str = "loss",
    weights: Mapping[str, float] | None = None,
) -> float:
    """The loss at these levels when the base classes that are not ``kept`` are suppressed."""
    from shoal.kernels.group import group_codes

    check_loss_name(loss)
    problem = build_problem(counts, hierarchies)
    node, records = problem.node(levels), problem.measures[0].astype(np.float64)
    if loss in CELL_LOSSES:
        cells, total = cell_loss(problem, loss, weights), 0.0
        for j, level in enumerate(node):
            codes = problem.codes[j]
            charged = cells.charge[j][level][codes] + np.where(kept, 0.0, cells.extra[j][level][codes])
            total += float(cells.term(j, np.array([records @ charged]))[0])
        return cells.value(total)
    at = [column.groups[level][codes[kept]] for column, codes, level in zip(problem.columns, problem.codes, node, strict=True)]
    groups = group_codes(at, n_rows=int(kept.sum()))
    if loss == "average_class_size":
        return problem.n_records / groups.n
    squares = np.bincount(groups.ids, weights=records[kept], minlength=groups.n) ** 2
    return float(squares.sum() + records[~kept].sum() * problem.n_records)
