"""Requirements on the values of a sensitive column inside each class: diversity of four kinds, and the surest guess."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoal.errors import UsageError
from shoal.model.compare import slack
from shoal.model.counts.classes import FloatArray
from shoal.model.display import written
from shoal.model.requirement.base import (
    RISK,
    Requirement,
    Schema,
    Spellings,
    ValueLimit,
    Verdict,
    check_real,
    check_share,
    check_whole,
    described,
    group,
    register,
    whole_number,
)
from shoal.model.requirement.clause import Clause, Reading

_LEAST_REAL = "Use a number above 1: as diverse as l equally frequent values."


@dataclass(frozen=True)
class _Inside(Requirement):
    """A requirement of the section ``diversity``, on one column."""

    column: str
    section = "diversity"


@dataclass(frozen=True)
class _Distinct(_Inside):
    """A limit on the number of different values in a class."""

    sign = ">="
    law = "merge"
    figure = "diversity.distinct"

    def __post_init__(self) -> None:
        check_whole(self.limit, 1, self.bound, "Use at least 2; 1 asks for nothing.")

    @property
    def fewest_values(self) -> float:
        return float(self.limit)

    def value_limit(self, share: FloatArray) -> ValueLimit | None:
        return ValueLimit("distinct", float(self.limit))


@register
class DistinctDiversity(_Distinct):
    """Distinct l-diversity: a class holds at least ``l`` different values of ``column``."""

    l: int  # noqa: E741 - the field's name for it
    kind = "distinct-diversity"
    spellings: ClassVar[Spellings] = {"distinct": {}, "l": {}, "distinct_l": {}}
    bound = "l"
    schema: ClassVar[Schema] = {"distinct": whole_number(1, 10**6, "Different values in a class.")}

    def sentence(self) -> str:
        return f"every class holds at least {self.l} different values of '{self.column}'"


@register
class PSensitive(_Distinct):
    """p-sensitivity: at least ``p`` different values of ``column`` in a class (with K it is p-sensitive k-anonymity)."""

    p: int
    kind = "p-sensitive"
    spellings: ClassVar[Spellings] = {"p": {}, "p_sensitive": {}}
    bound = "p"
    schema: ClassVar[Schema] = {"p_sensitive": whole_number(1, 10**6, "The same number, by the name of p-sensitive k-anonymity.")}

    def sentence(self) -> str:
        return f"every class is {self.p}-sensitive: it holds at least {self.p} different values of '{self.column}'"


@register
class EntropyDiversity(_Inside):
    """Entropy l-diversity: exp(H) ≥ l, with H the entropy (nats) of ``column`` inside a class."""

    l: float  # noqa: E741
    kind = "entropy-diversity"
    spellings: ClassVar[Spellings] = {"entropy": {}, "entropy_l": {}}
    sign = ">="
    law = "union"
    bound = "l"
    schema: ClassVar[Schema] = {
        "entropy": {
            "type": "number",
            "minimum": 1,
            "maximum": 10**6,
            "description": "Equally frequent values that a class is worth.",
        }
    }
    figure = "diversity.entropy"

    def __post_init__(self) -> None:
        if self.l is True or self.l != 1:
            check_real(self.l, 1.0, "l", _LEAST_REAL)

    @property
    def fewest_values(self) -> float:
        return float(self.l)

    def value_limit(self, share: FloatArray) -> ValueLimit | None:
        return ValueLimit("entropy", self.l - slack(self.l))

    def sentence(self) -> str:
        return f"the values of '{self.column}' in every class are as diverse as {written(self.l)} equally frequent ones"


@register
class RecursiveDiversity(_Inside):
    """Recursive (c,l)-diversity: with counts r₁ ≥ r₂ ≥ … of ``column`` in a class, r₁ / (r_l + … + r_m) < c; always for l = 1."""

    c: float
    l: int  # noqa: E741
    kind = "recursive-diversity"
    spellings: ClassVar[Spellings] = {"recursive": {}}
    sign = "<"
    law = "union"
    bound = "c"
    schema: ClassVar[Schema] = {
        "recursive": group(
            "The commonest value stays below c times the tail from place l.",
            c={"type": "number", "exclusiveMinimum": 0, "maximum": 10**6},
            l=whole_number(1, 10**6),
        )
    }
    figure = "diversity.recursive"

    def __post_init__(self) -> None:
        check_real(self.c, 0.0, "c", "Use a number above 0.")
        check_whole(self.l, 1, "l", "Use at least 2; 1 asks for nothing.")

    @classmethod
    def from_clause(cls, clause: Clause, reading: Reading) -> Requirement:
        """``recursive[ill, l=2]<3``; also ``recursive[ill, c=3]>=2``, where c may be left out."""
        inside = clause.inside[-1].replace(" ", "") if clause.inside else ""
        option = {name: value for name in ("l", "c") if (value := _after(inside, f"{name}=")) is not None}
        column = clause.column(reading, len(option))
        if clause.sign == "<" and "l" in option:
            return cls(column, clause.bound, _whole(option["l"]))
        if clause.sign in (">=", ">") and "l" not in option:
            level = clause.number(whole=True) + (clause.sign == ">")
            return cls(column, option.get("c", reading.c), _whole(level))
        raise UsageError("recursive diversity needs both c and l.", hint=f"Write for example recursive[{column}, l=2]<3.")

    @classmethod
    def signs_known(cls) -> tuple[str, ...]:
        return ("<", ">=", ">")

    def options(self) -> tuple[str, ...]:
        return (f"l={self.l}",)

    def holds(self, value: float) -> bool:
        return self.l == 1 or super().holds(value)

    def judged(self, value: float | None) -> Verdict:
        return Verdict(self, value, True) if self.l == 1 else super().judged(value)

    @property
    def fewest_values(self) -> float:
        return float(self.l)

    def value_limit(self, share: FloatArray) -> ValueLimit | None:
        return None if self.l == 1 else ValueLimit("recursive", self.c - slack(self.c), float(self.l))

    def sentence(self) -> str:
        most = f"below {written(self.c)} times the tail from place {self.l}"
        return f"in every class the commonest value of '{self.column}' stays {most}"


@register
class AlphaK(_Inside):
    """(α,k): no value of ``column`` has a share above ``alpha`` in a class (state k with :class:`K`)."""

    alpha: float
    kind = "alpha"
    spellings: ClassVar[Spellings] = {"alpha": {}}
    law = "union"
    bound = "alpha"
    schema: ClassVar[Schema] = {"alpha": described(RISK, "Largest share of a value in a class.")}
    figure = "diversity.alpha"

    def __post_init__(self) -> None:
        check_share(self.alpha, "alpha", above_zero=True)

    def value_limit(self, share: FloatArray) -> ValueLimit | None:
        return ValueLimit("cap", limits=np.full(len(share), self.alpha + slack(self.alpha)))

    def sentence(self) -> str:
        return f"no value of '{self.column}' has a share above {written(self.alpha)} in a class"


def _after(text: str, start: str) -> float | None:
    try:
        return float(text.removeprefix(start)) if text.startswith(start) else None
    except ValueError:
        return None


def _whole(value: float) -> int:
    """A whole number as one; anything else is left for the check of the field to refuse."""
    return int(value) if value == int(value) else value  # type: ignore[return-value]
