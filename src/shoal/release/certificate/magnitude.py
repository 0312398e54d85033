"""How much a transformation changes a column, in the words of the report: noise against the column's own spread, and the like."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from shoal.kernels.arrow import to_numpy
from shoal.model.display import written
from shoal.model.plan import Step
from shoal.steps import Round

if TYPE_CHECKING:
    from shoal.release.plan.prepare import Prepared

SMALL = 0.1
"""Noise below this share of a column's own deviation leaves most values easy to guess."""


def magnitude(prepared: Prepared, step: Step) -> str:
    """One clause about a step; empty where its name says it all."""
    from shoal.techniques.group.microaggregate import Microaggregate
    from shoal.techniques.perturb.noise import CorrelatedNoise, Noise
    from shoal.techniques.perturb.permute import Permute, RankSwap

    if isinstance(step, Noise):
        return _noise(prepared, step)
    if isinstance(step, CorrelatedNoise):
        return f"noise with {written(100 * math.sqrt(step.share), 2)} % of each column's own deviation"
    if isinstance(step, RankSwap):
        return f"values exchanged within {written(step.percent)} % of the ranks"
    if isinstance(step, Permute):
        return "values exchanged " + (f"among records with the same {', '.join(step.within)}" if step.within else "at random")
    if isinstance(step, Microaggregate):
        return f"{step.publish} of groups of at least {step.k}"
    return f"rounded to multiples of {written(step.base)}" if isinstance(step, Round) else ""


def _noise(prepared: Prepared, step: Any) -> str:
    deviation = math.sqrt(step.variance)
    if step.mode == "multiplicative":
        return f"noise: each value changed by {written(100 * deviation, 2)} % of itself (standard deviation)"
    own = spread(prepared, step.column)
    words = f"noise with standard deviation {written(deviation, 3)}"
    if own == 0:
        return words
    hint = ", which hides little" if deviation < SMALL * own else ""
    return f"{words}, {written(100 * deviation / own, 2)} % of the column's own{hint}"


def spread(prepared: Prepared, column: str) -> float:
    """Standard deviation of a column of numbers, missing values left out; read in pieces (Chan, Golub & LeVeque 1979)."""
    import pyarrow as pa
    import pyarrow.compute as pc

    n, mean, square = 0, 0.0, 0.0
    for batch in prepared.table.scan([column]):
        cells = to_numpy(pc.drop_null(batch.column(0).cast(pa.float64())))
        cells = cells[cells == cells]  # without NaN
        if len(cells):
            here, more = float(cells.mean()), len(cells)
            square += float(((cells - here) ** 2).sum()) + (here - mean) ** 2 * n * more / (n + more)
            mean, n = mean + (here - mean) * more / (n + more), n + more
    return math.sqrt(square / n) if n else 0.0
