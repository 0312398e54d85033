"""Requirements on how far a class may be from the whole table: t-closeness, δ-disclosure, β-likeness."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from shoal.model.compare import at_most, below
from shoal.model.display import written
from shoal.model.hierarchy import Hierarchy
from shoal.model.requirement.clause import Clause, Reading
from shoal.model.requirement.root import Law, Requirement, Words, check_one_of, check_real, check_share, register

Distance = Literal["equal", "ordered", "hierarchical"]
DISTANCES: tuple[Distance, ...] = ("equal", "ordered", "hierarchical")


@dataclass(frozen=True)
class _FromTable(Requirement):
    """A requirement that a policy says under ``closeness``, of one column."""

    column: str
    word: ClassVar[str] = ""
    law: ClassVar[Law] = "union"

    @property
    def place(self) -> tuple[str, ...]:
        return ("closeness", self.column, self.word)


@register
@dataclass(frozen=True)
class TCloseness(_FromTable):
    """t-closeness: the earth mover's distance between ``column`` in a class and in the whole table is at most ``t``.

    ``equal``: ½ Σ|p−q|. ``ordered``: (1/(m−1)) Σ_i |Σ_{j≤i}(p_j−q_j)| over the table's m values in their natural order (numbers
    and dates by value, texts as said; missing first). ``hierarchical``: the distance of two values is the height of their
    lowest common ancestor over the height of ``hierarchy``, which whoever decides it must then have.
    """

    t: float
    distance: Distance = "equal"
    hierarchy: Hierarchy | None = None
    kind: ClassVar[str] = "t-closeness"
    words: ClassVar[Words] = {"t": {}}
    bound: ClassVar[str] = "t"
    word: ClassVar[str] = "t"

    def __post_init__(self) -> None:
        check_share(self.t, "t", above_zero=False)
        check_one_of(self.distance, DISTANCES, "distance")

    @classmethod
    def from_clause(cls, clause: Clause, reading: Reading) -> Requirement:
        """``t[ill]<=0.2`` takes the distance of the reading, or ``equal``; ``t[ill, ordered]<=0.2`` names it."""
        named = [d for d in DISTANCES if clause.inside and clause.inside[-1] == d]
        column = clause.column(reading, len(named))
        return cls(column, cls.asked(clause), named[0] if named else reading.distances.get(column, "equal"))

    def options(self) -> tuple[str, ...]:
        return (self.distance,)

    def holds(self, found: float) -> bool:
        return at_most(float(found), self.t)

    def sentence(self) -> str:
        return f"'{self.column}' in every class is within {written(self.t)} ({self.distance} distance) of the whole table"


@register
@dataclass(frozen=True)
class DeltaDisclosure(_FromTable):
    """δ-disclosure privacy: |ln(p(s|class) / p(s|table))| < δ for every value s of the table; an absent value fails."""

    delta: float
    kind: ClassVar[str] = "delta-disclosure"
    words: ClassVar[Words] = {"delta": {}, "delta_disclosure": {}}
    sign: ClassVar[str] = "<"
    bound: ClassVar[str] = "delta"
    word: ClassVar[str] = "delta"

    def __post_init__(self) -> None:
        check_real(self.delta, 0.0, "delta", "Use a number above 0.")

    def holds(self, found: float) -> bool:
        return below(float(found), self.delta)

    def sentence(self) -> str:
        return (
            f"the share of each value of '{self.column}' in a class is within a factor exp({written(self.delta)}) of the table's"
        )


@register
@dataclass(frozen=True)
class BasicBeta(_FromTable):
    """Basic β-likeness: (p−q)/q ≤ β for every value of ``column``, p its share in a class and q in the table."""

    beta: float
    kind: ClassVar[str] = "basic-beta"
    words: ClassVar[Words] = {"beta": {}, "basic_beta": {}}
    bound: ClassVar[str] = "beta"
    word: ClassVar[str] = "beta"

    def __post_init__(self) -> None:
        check_real(self.beta, 0.0, "beta", "Use a number above 0.")

    def holds(self, found: float) -> bool:
        return at_most(float(found), self.beta)

    def sentence(self) -> str:
        return f"no value of '{self.column}' gains more than {written(self.beta)} times its share in the table"


@register
@dataclass(frozen=True)
class EnhancedBeta(_FromTable):
    """Enhanced β-likeness: (p−q)/q ≤ min(β, −ln q) for every value of ``column``.

    What is found is the smallest such β; there is none where a value gains more than −ln q.
    """

    beta: float
    kind: ClassVar[str] = "enhanced-beta"
    words: ClassVar[Words] = {"enhanced_beta": {}}
    bound: ClassVar[str] = "beta"
    word: ClassVar[str] = "enhanced_beta"

    def __post_init__(self) -> None:
        check_real(self.beta, 0.0, "beta", "Use a number above 0.")

    def holds(self, found: float) -> bool:
        return at_most(float(found), self.beta)

    def sentence(self) -> str:
        return f"no value of '{self.column}' gains more than min({written(self.beta)}, −ln share) times its share in the table"
