"""Posterior tables: from prior and likelihood to what each observation tells, and the criteria over all observations.

A *posterior table* has one row per observation and one column per subject (or per value of any hidden fact: sender, receiver,
"the event happened", "the two events belong together"). Anonymity, unobservability and unlinkability are the same check
over different hidden facts.

Source   METHODS §1.8, §23 (erratum 3a)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.errors import DataError, UsageError
from shoal.measures.observer.entropy import TOLERANCE, distribution, doubt
from shoal.model.counts.classes import FloatArray


@dataclass(frozen=True)
class PosteriorTable:
    """``rows[b, u]`` is P(subject u | observation b); ``weights[b]`` is P(observation b); ``prior[u]`` is P(subject u).

    >>> t = PosteriorTable.from_likelihood([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]])
    >>> t.rows.round(6).tolist(), t.is_perfect()
    ([[0.9, 0.1], [0.1, 0.9]], False)
    """

    prior: FloatArray
    rows: FloatArray
    weights: FloatArray

    @classmethod
    def from_likelihood(cls, prior: npt.ArrayLike, likelihood: npt.ArrayLike) -> PosteriorTable:
        """Bayes: from the prior over subjects and ``likelihood[b, u]`` = P(observation b | subject u).

        Each subject's column must add up to 1 over the observations; observations that never occur are left out.
        """
        start = distribution(prior)
        table = np.asarray(likelihood, dtype=np.float64)
        if table.ndim != 2 or table.shape[1] != len(start):
            raise UsageError("the likelihood needs one column per subject.", hint="Rows are observations, columns subjects.")
        whole = np.abs(table.sum(axis=0) - 1.0) <= TOLERANCE
        if not bool(np.isfinite(table).all()) or float(table.min()) < 0 or not bool(whole[start > 0].all()):
            raise DataError(
                "the likelihood of a subject does not add up to 1.", hint="Each column is a distribution over the observations."
            )
        joint = table * start
        weight = joint.sum(axis=1)
        seen = weight > 0
        return cls(start, joint[seen] / weight[seen, None], weight[seen])

    @classmethod
    def of_observation(cls, prior: npt.ArrayLike, likelihood: npt.ArrayLike) -> PosteriorTable:
        """The table of a single observation, from P(observation | subject) alone.

        >>> PosteriorTable.of_observation([0.5, 0.5], [0.2, 0.6]).rows.round(6).tolist()
        [[0.25, 0.75]]
        """
        start = distribution(prior)
        joint = start * np.asarray(likelihood, dtype=np.float64)
        if joint.shape != start.shape or float(joint.min()) < 0 or float(joint.sum()) <= 0:
            raise DataError("the observation is impossible for every subject.", hint="Check the likelihood.")
        return cls(start, (joint / joint.sum())[None, :], np.ones(1))

    def range(self, subjects: Sequence[int] | None = None) -> tuple[float, float]:
        """Smallest and largest posterior of the subjects over all observations."""
        some = self._some(subjects)
        return float(some.min()), float(some.max())

    def is_anonymous(self, *, low: float, high: float, subjects: Sequence[int] | None = None) -> bool:
        """Whether every posterior of the subjects lies in [low, high] whatever is observed.

        ``low`` is best given relative to the crowd: a share of 1/len(subjects). The same check over another hidden fact is
        unobservability (an event) or unlinkability (two events share a property).
        """
        if not 0.0 <= low <= high <= 1.0:
            raise UsageError("the bounds must satisfy 0 ≤ low ≤ high ≤ 1.", hint="For example low=0.1/crowd, high=0.5.")
        least, most = self.range(subjects)
        return least >= low - TOLERANCE and most <= high + TOLERANCE

    def is_perfect(self, subjects: Sequence[int] | None = None) -> bool:
        """Whether no observation changes the probability of any of the subjects."""
        some = self._some(subjects)
        before = self.prior if subjects is None else self.prior[list(subjects)]
        return bool(np.abs(some - before).max() <= TOLERANCE)

    def mutual_information(self) -> float:
        """Bits that an observation tells about the subject; 0 exactly for perfect anonymity.

        >>> PosteriorTable.from_likelihood([0.5, 0.5], [[1, 0], [0, 1]]).mutual_information()
        1.0
        """
        ratio = np.where(self.rows > 0, self.rows, 1.0) / np.where(self.rows > 0, self.prior, 1.0)
        return max(0.0, float((self.weights[:, None] * np.where(self.rows > 0, self.rows, 0.0) * np.log2(ratio)).sum()))

    def per_observation(self) -> list[dict[str, float]]:
        """Each observation: its chance, and every measure of the doubt that it leaves, by the name of its metric.

        >>> t = PosteriorTable.from_likelihood([0.5, 0.5], [[1.0, 0.5], [0.0, 0.5]])
        >>> [(seen["chance"], seen["anonymity_set_size"], round(seen["shannon_entropy"], 4)) for seen in t.per_observation()]
        [(0.75, 2, 0.9183), (0.25, 1, 0.0)]
        """
        return [{"chance": float(w)} | doubt(row) for w, row in zip(self.weights, self.rows, strict=True)]

    def _some(self, subjects: Sequence[int] | None) -> FloatArray:
        if subjects is None:
            return self.rows
        if not subjects or min(subjects) < 0 or max(subjects) >= self.rows.shape[1]:
            raise UsageError(f"subjects are numbered from 0 to {self.rows.shape[1] - 1}.", hint="Name at least one.")
        return self.rows[:, list(subjects)]

    def to_json(self) -> dict[str, Any]:
        low, high = self.range()
        return {"min": low, "max": high, "mutual_information": self.mutual_information(), "perfect": self.is_perfect()} | {
            "observations": self.per_observation()
        }


def relative_low(share: float, crowd: int) -> float:
    """A lower bound that fits the crowd: ``share`` of 1/crowd (an absolute bound rejects every large crowd).

    >>> relative_low(0.4, 4)
    0.1
    """
    if crowd < 1 or not 0.0 <= share <= 1.0:
        raise UsageError("the crowd has at least one member and the share lies between 0 and 1.", hint="For example 0.1.")
    return share / crowd
