r"""A question's answers from published summaries: a shape with the published numbers, and whether it reproduces the rest.

A registry publishes, of a distribution on N cells, kappa, the collision entropy and the expected share of unique people in
groups of several sizes; never the distribution itself. Shares falling with the rank i as :math:`p_i\propto e^{-t\,i^b}` are
given the published kappa by t and the published collision chance by b. Where this shape also gives every published share of
unique people within its rounding, the question counts as known from a registry (grade B); else only its size is known (C). Either
way the shape is one of many: the meter's range is taken over all with this kappa, or, for a record of other people, over all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from shoal.model.estimate import Estimate
from shoal.prediction.distribution import Distribution, Floats
from shoal.prediction.questionnaire.questions import Piece
from shoal.prediction.summaries.kappa import checked_sizes

STEEPEST, FLATTEST = 0.05, 40.0


@dataclass(frozen=True)
class PublishedSummary:
    """What a registry says of one attribute in one population.

    The true kappa lies within ``kappa_error`` of ``kappa``. ``unique`` maps a group size to the expected share of unique people
    and how far that may be off by rounding; ``exact`` says that the record is of the attribute and the population asked for,
    ``note`` further remarks.
    """

    kappa: float
    cells: int
    people: int
    collision: float | None = None
    unique: Mapping[int, tuple[float, float]] = field(default_factory=dict)
    exact: bool = True
    note: str = ""
    kappa_error: float = 0.0
    trusted: bool = True
    """Whether the record is of a key that the asker trusts."""
    shares: Mapping[str, float] | None = None
    """The share of each answer, where the record lists them."""
    share: Callable[[int, float | None], Estimate] | None = None
    """The expected share of unique people in a group of so many, held against a target: what the registry itself answers."""
    most: Callable[[int, float], float] | None = None
    """The largest such share if further questions have so many answers together."""
    table: Floats | None = None
    """The people by every combination of answers, an axis for each code, where they were counted together."""
    fit: str = ""
    """How the records fit the question."""
    width: float = 0.0
    """How many units one answer spans, where answers have an order."""
    unit: str = ""
    place: str = ""
    """The place whose people were asked about, as a registry writes it."""

    @property
    def kappa_range(self) -> tuple[float, float]:
        return max(0.0, self.kappa - self.kappa_error), min(math.log(self.cells), self.kappa + self.kappa_error)

    @property
    def piece(self) -> Piece:
        """What is known for certain, or as the registry says it."""
        kappa = self.kappa_range if self.exact and self.table is None else None
        return Piece(self.cells, kappa=kappa, share=self.share, beside=self.most)


Resolver = Callable[[str, str], PublishedSummary]
"""What is published about an attribute code, or several with commas, in a population; raises UsageError where nothing is."""


def shape_of(published: PublishedSummary) -> tuple[Floats, bool]:
    """Shares with the published numbers, and whether they reproduce the published shares of unique people.

    >>> p, agrees = shape_of(PublishedSummary(0.0914, 95, 100_000, collision=0.0127, unique={50: (0.55, 0.01)}))
    >>> len(p), round(Distribution.of(p).kappa, 4), agrees
    (95, 0.0914, True)
    """
    if published.table is not None or published.shares:
        listed = np.array(list((published.shares or {}).values())) if published.table is None else published.table
        return listed.ravel() / listed.sum(), True
    p = shape_with_kappa(published.kappa, published.cells, collision=published.collision)
    agrees = all(
        abs(float((p * np.exp((k - 1) * np.log1p(-np.minimum(p, 1 - 1e-12)))).sum()) - share) <= error + 1e-9
        for k, (share, error) in published.unique.items()
    )
    return p, agrees and bool(published.unique)


def shape_with_kappa(kappa: float, cells: int, *, collision: float | None = None) -> Floats:
    """Shares falling as exp(−t·i^b) with this kappa; b = 1 (a geometric law), or the b that gives this collision chance Σp²."""
    n, _, k = checked_sizes(cells, 0, kappa)
    if k <= 1e-12 or n == 1:
        return np.full(n, 1.0 / n)
    rank = np.arange(n, dtype=np.float64)
    if collision is None:
        return _steepness(rank, k)
    steep, flat = STEEPEST, FLATTEST
    for _ in range(40):  # at one kappa, a smaller b means a higher peak and more collisions
        b = float(np.sqrt(steep * flat))
        p = _steepness(rank**b, k)
        if float((p * p).sum()) > collision:
            steep = b
        else:
            flat = b
    return p


def _steepness(height: Floats, kappa: float) -> Floats:
    """The law proportional to exp(−t·height) with this kappa."""
    from shoal.kernels.scipy.optimize import brentq

    def law(log_t: float) -> Floats:
        w: Floats = np.exp(-np.minimum(np.exp(log_t) * height, 745.0))
        w /= w.sum()
        return w

    def gap(log_t: float) -> float:
        return Distribution(np.maximum(law(log_t), 1e-300), None, height.size).kappa - kappa

    low, high = -np.log(height[-1]) - 40.0, float(np.log(60.0))
    if gap(high) <= 0:
        return law(high)
    return law(float(brentq(gap, low, high, xtol=1e-13)))
