r"""The crowd a person hides in, question after question.

Start with the population and multiply by the share of the given answer, as if answers were independent. The product is an
estimate, not a bound: whatever the dependence, the joint share lies between Fréchet's bounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shoal.errors import UsageError
from shoal.model.estimate import Estimate
from shoal.prediction.attributes.correlation import frechet_bounds


@dataclass(frozen=True)
class Degradation:
    """``chain``: expected crowd after each answer; ``crowd``: after all, with Fréchet's bounds as its range."""

    population: float
    shares: tuple[float, ...]
    chain: tuple[float, ...]
    crowd: Estimate


def degradation(population: float, shares: Sequence[float]) -> Degradation:
    """The crowd after each answer, and the bounds that hold without independence.

    >>> d = degradation(16_000_000, [0.30, 0.79, 0.33, 0.37, 0.44, 0.00002])
    >>> [round(x, 1) for x in d.chain]
    [4800000.0, 3792000.0, 1251360.0, 463003.2, 203721.4, 4.1]
    >>> round(d.crowd.value, 4), d.crowd.low, round(d.crowd.high, 6)
    (4.0744, 0.0, 320.0)
    """
    if not population > 0:
        raise UsageError(f"the population must be positive; found {population!r}.")
    low, high = frechet_bounds(shares)
    chain = population * np.cumprod(np.asarray(list(shares), dtype=np.float64))
    value = float(chain[-1])
    crowd = Estimate(
        value,
        min(value, low * population),
        max(value, high * population),
        level=1.0,
        method="product of shares (independence); range by Fréchet",
        grade="B" if len(shares) > 1 else "A",
        notes=("the product assumes independent answers; the range holds for every dependence",) if len(shares) > 1 else (),
    )
    return Degradation(float(population), tuple(float(s) for s in shares), tuple(chain.tolist()), crowd)
