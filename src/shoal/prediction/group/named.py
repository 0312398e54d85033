"""An approximation that is asked for by name, set beside the best answer there is."""

from __future__ import annotations

import math

from shoal.model.display import written
from shoal.model.estimate import Estimate

CLOSE = 0.05


def beside(log_value: float, method: str, best: Estimate, *, notes: tuple[str, ...] = ()) -> Estimate:
    """The approximation as the value, in an interval that also holds the best answer; B within 5 % of it, else C.

    ``notes`` are validity limits that were passed: any makes it C.

    >>> best = Estimate.exact(0.5, method="exact", log_value=math.log(0.5))
    >>> e = beside(math.log(0.51), "an approximation", best)
    >>> e.low, round(e.high, 9), e.grade
    (0.5, 0.51, 'B')
    >>> beside(math.log(0.7), "an approximation", best).grade
    'C'
    """
    log_value = min(0.0, log_value)
    value = math.exp(log_value)
    known = best.log_value if best.log_value is not None else math.log(best.value) if best.value > 0 else -math.inf
    close = log_value == known or abs(log_value - known) <= math.log1p(CLOSE)
    if not close:
        notes = (*notes, f"{written(best.value)} is the better answer ({best.method}): this approximation is more than 5 % off")
    return Estimate(
        value,
        min(value, best.low),
        max(value, best.high),
        level=1.0,
        method=method,
        grade="B" if close and not notes else "C",
        log_value=log_value,
        notes=notes,
    )
