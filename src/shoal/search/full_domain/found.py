"""What a search has found so far."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal.search.full_domain.evaluation import Evaluation

EPSILON = 1e-12
"""Totals closer than this are equal."""


@dataclass
class Found:
    """The best evaluation so far, its total, and the lowest total that is still possible.

    ``groups`` may hold the group of each base class at the best node, and which groups are published.
    """

    best: Evaluation | None = None
    total: float = float("inf")
    lower: float = float("-inf")
    stopped: str = ""
    groups: tuple[npt.NDArray[np.int32], npt.NDArray[np.bool_]] | None = None

    def offer(self, e: Evaluation, total: float) -> None:
        """Keep the evaluation where it is a plan and better than the best so far."""
        if e.feasible and self.would_better(total):
            self.best, self.total = e, total

    def would_better(self, total: float) -> bool:
        """Whether a plan with this total, or a bound on totals, is below the best by more than rounding."""
        return total < self.total - EPSILON
