"""What evaluating a node tells: whether it is a plan, what it loses, and what every finer node must lose."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal.model.counts.classes import IntArray
from shoal.search.problem.problem import Node

Flags = npt.NDArray[np.bool_]


@dataclass(eq=False, slots=True)
class Evaluation:
    """What a node does to the table.

    ``suppressed`` records are lost; ``lower`` bounds the loss of every specialisation from below; ``gone`` adds up, by
    column and code, the records that every specialisation loses too (exact for levels at or above ``floor``); ``some`` the
    records that it loses of classes of which a part may stay, at any code of each class; ``more`` are those it loses beyond
    them, of whatever class. They are left empty where ``lower`` is above the limit and nothing below can be a plan. Where the
    node is ``too_dear`` whatever the table's own requirements cost, these were not looked at: ``suppressed`` and ``lost`` lack
    what they would cost.
    """

    node: Node
    feasible: bool
    n_groups: int  # published groups before suppression
    kept_groups: int
    suppressed: int
    lower: int
    gone: npt.NDArray[np.int64]
    lost: npt.NDArray[np.int64]
    floor: npt.NDArray[np.int64]
    sizes: Sizes | None  # only where the loss asks for it
    too_dear: bool = False
    some: npt.NDArray[np.int64] | None = None
    more: int = 0

    @property
    def binds(self) -> bool:
        """Whether every specialisation is known to lose some record."""
        return bool(self.more or self.some is not None or self.gone.any())


@dataclass(frozen=True)
class Sizes:
    """Sums over classes for class losses: Σ n_c² of all and of the kept, n_c being records, and what every specialisation is
    charged for the r_c records that it loses of each, Σ r_c (n − n_c)."""

    squares: float
    kept_squares: float
    gone_charge: float


def size_sums(records: IntArray, surely: IntArray, lost: Flags) -> Sizes:
    """``surely`` are the records of each class that every specialisation loses."""
    count = records.astype(np.float64)
    square = count**2
    return Sizes(
        squares=float(square.sum()),
        kept_squares=float(square[~lost].sum()),
        gone_charge=float((surely * (count.sum() - count)).sum()),
    )
