"""One question: the shares of its answers, and what is really known of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from shoal.prediction.distribution import Distribution, Floats
from shoal.prediction.questionnaire.dependence import Piece


@dataclass(frozen=True, eq=False)
class Question:
    """One question: the share of each answer in order, and where the shares come from.

    ``source`` is ``given`` (known shares), ``table`` or ``registry`` (counted elsewhere), ``uniform`` or ``kappa`` (only sizes
    known), ``guess`` (shares that somebody guessed: the range holds for any others too). ``kappa_range`` is where a published
    kappa lies. ``band`` is the width of one answer in ``unit``, for suggestions; ``weight`` how much its detail matters.
    """

    name: str
    p: Floats
    source: str = "given"
    ordered: bool = False
    band: float | None = None
    unit: str = ""
    weight: float = 1.0
    keep: bool = False
    labels: tuple[str, ...] = ()
    kappa_range: tuple[float, float] | None = None

    @cached_property
    def law(self) -> Distribution:
        return Distribution.of(self.p, normalize=True)

    @property
    def answers(self) -> int:
        return int(self.p.size)

    @property
    def known(self) -> Piece:
        """What is really known of the shares of the answers."""
        if self.source in ("given", "table"):
            return Piece(self.answers, law=self.law)
        return Piece(self.answers, kappa=self.kappa_range)
