"""Requirements on how far a class may be from the whole table: t-closeness, δ-disclosure, β-likeness."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from shoal.model.compare import TOLERANCE, slack
from shoal.model.counts.classes import FloatArray
from shoal.model.display import written
from shoal.model.hierarchy import Hierarchy
from shoal.model.requirement.base import (
    Requirement,
    Schema,
    Spellings,
    ValueLimit,
    check_one_of,
    check_real,
    check_share,
    positive_number,
    register,
)
from shoal.model.requirement.clause import Clause, Reading

Distance = Literal["equal", "ordered", "hierarchical"]
DISTANCES: tuple[Distance, ...] = ("equal", "ordered", "hierarchical")


@dataclass(frozen=True)
class _FromTable(Requirement):
    """A requirement of the section ``closeness``, on one column."""

    column: str
    law = "union"
    section = "closeness"

    def __post_init__(self) -> None:
        check_real(self.limit, 0.0, self.bound, "Use a number above 0.")


@register
class TCloseness(_FromTable):
    """t-closeness: the earth mover's distance between ``column`` in a class and in the whole table is at most ``t``.

    ``equal``: ½ Σ|p−q|. ``ordered``: (1/(m−1)) Σ_i |Σ_{j≤i}(p_j−q_j)| over the table's m values in their natural order (numbers
    and dates by value, texts as said; missing first). ``hierarchical``: the distance of two values is the height of their
    lowest common ancestor over the height of ``hierarchy``, which anyone who decides it must then have.
    """

    t: float
    distance: Distance = "equal"
    hierarchy: Hierarchy | None = None
    kind = "t-closeness"
    spellings: ClassVar[Spellings] = {"t": {}}
    bound = "t"
    schema: ClassVar[Schema] = {
        "t": positive_number(1, "Largest distance of a class from the table."),
        "distance": {"enum": list(DISTANCES)},
    }
    option_fields = ("distance",)
    figure = "closeness.t"

    def __post_init__(self) -> None:
        check_share(self.t, "t", above_zero=False)
        check_one_of(self.distance, DISTANCES, "distance")

    @classmethod
    def from_clause(cls, clause: Clause, reading: Reading) -> Requirement:
        """``t[ill]<=0.2`` takes the distance of the reading, or ``equal``; ``t[ill, ordered]<=0.2`` names it."""
        named = [d for d in DISTANCES if clause.inside and clause.inside[-1] == d]
        column = clause.column(reading, len(named))
        return cls(column, cls.limit_of(clause), named[0] if named else reading.distances.get(column, "equal"))

    def options(self) -> tuple[str, ...]:
        return (self.distance,)

    @property
    def needs_order(self) -> bool:
        return self.distance == "ordered"

    def value_limit(self, share: FloatArray) -> ValueLimit | None:
        return ValueLimit("distance", self.t + slack(self.t))

    def sentence(self) -> str:
        return f"'{self.column}' in every class is within {written(self.t)} ({self.distance} distance) of the whole table"


@register
class DeltaDisclosure(_FromTable):
    """δ-disclosure privacy: |ln(p(s|class) / p(s|table))| < δ for every value s of the table; an absent value fails."""

    delta: float
    kind = "delta-disclosure"
    spellings: ClassVar[Spellings] = {"delta": {}, "delta_disclosure": {}}
    sign = "<"
    bound = "delta"
    schema: ClassVar[Schema] = {
        "delta": positive_number(10**6, "Shares change by less than a factor exp(delta), and no value is absent.")
    }
    figure = "closeness.delta_disclosure"

    def value_limit(self, share: FloatArray) -> ValueLimit | None:
        return ValueLimit("band", self.delta - slack(self.delta), limits=math.exp(min(self.delta, 700.0)) * share)

    def sentence(self) -> str:
        return (
            f"the share of each value of '{self.column}' in a class is within a factor exp({written(self.delta)}) of the table's"
        )


@register
class BasicBeta(_FromTable):
    """Basic β-likeness: (p−q)/q ≤ β for every value of ``column``, p its share in a class and q in the table."""

    beta: float
    kind = "basic-beta"
    spellings: ClassVar[Spellings] = {"beta": {}, "basic_beta": {}}
    bound = "beta"
    schema: ClassVar[Schema] = {"beta": positive_number(10**6, "Largest gain of a share, in multiples of it.")}
    figure = "closeness.beta"

    def value_limit(self, share: FloatArray) -> ValueLimit | None:
        return ValueLimit("cap", limits=(1.0 + self.beta + slack(self.beta)) * share)

    def sentence(self) -> str:
        return f"no value of '{self.column}' gains more than {written(self.beta)} times its share in the table"


@register
class EnhancedBeta(_FromTable):
    """Enhanced β-likeness: (p−q)/q ≤ min(β, −ln q) for every value of ``column``.

    What is found is the smallest such β; there is none where a value gains more than −ln q.
    """

    beta: float
    kind = "enhanced-beta"
    spellings: ClassVar[Spellings] = {"enhanced_beta": {}}
    bound = "beta"
    schema: ClassVar[Schema] = {"enhanced_beta": positive_number(10**6, "The same, and never more than -ln(share).")}
    figure = "closeness.enhanced_beta"

    def value_limit(self, share: FloatArray) -> ValueLimit | None:
        most = np.minimum(self.beta, -np.log(share))
        return ValueLimit("cap", limits=(1.0 + most + TOLERANCE * np.maximum(1.0, most)) * share)

    def sentence(self) -> str:
        return f"no value of '{self.column}' gains more than min({written(self.beta)}, −ln share) times its share in the table"
