"""Requirements on the size of a class: k, k-map, the largest risk."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Literal

from shoal.model.compare import class_for
from shoal.model.display import written
from shoal.model.requirement.base import (
    RISK,
    Law,
    Requirement,
    Schema,
    Spellings,
    Verdict,
    check_one_of,
    check_share,
    check_whole,
    described,
    register,
    whole_number,
)

Attacker = Literal["prosecutor", "journalist"]
_PROSECUTOR, _JOURNALIST = {"attacker": "prosecutor"}, {"attacker": "journalist"}


@register
@dataclass(frozen=True)
class K(Requirement):
    """k-anonymity: a class has at least ``k`` members (people, where the table names them; else records).

    >>> print(K(5).sentence())
    every class has at least 5 members
    """

    k: int
    kind: ClassVar[str] = "k"
    law: ClassVar[Law] = "merge"
    bound: ClassVar[str] = "k"
    spellings: ClassVar[Spellings] = {"k": {}}
    sign: ClassVar[str] = ">="
    schema: ClassVar[Schema] = {"k": whole_number(2, 10**9, "Smallest class.")}
    figure: ClassVar[str] = "k"
    trivial_bound: ClassVar[float | None] = 1

    def __post_init__(self) -> None:
        check_whole(self.k, 2, "k", "Use 3 to 20; 5 is common inside an organisation, 11 or more for the public.")

    def class_sizes(self, *, has_population: bool) -> tuple[int, int]:
        return self.k, 0

    def sentence(self) -> str:
        return f"every class has at least {self.k} members"


@register
@dataclass(frozen=True)
class KMap(Requirement):
    """k-map: at least ``k`` people of the population have the values of a class (the population table counts them)."""

    k: int
    kind: ClassVar[str] = "k-map"
    law: ClassVar[Law] = "merge"
    bound: ClassVar[str] = "k"
    spellings: ClassVar[Spellings] = {"k_map": {}}
    sign: ClassVar[str] = ">="
    schema: ClassVar[Schema] = {
        "k_map": whole_number(2, 10**9, "Fewest people of the population table with the values of a class.")
    }
    figure: ClassVar[str] = "presence.k_map"
    trivial_bound: ClassVar[float | None] = 1
    needs_population: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_whole(self.k, 2, "k of k-map", "Use at least 2.")

    def class_sizes(self, *, has_population: bool) -> tuple[int, int]:
        return 0, self.k

    def sentence(self) -> str:
        return f"every class matches at least {self.k} people of the population"


@register
@dataclass(frozen=True)
class MaxRisk(Requirement):
    """Largest risk: 1 / (size of a class) is at most ``risk``; the journalist's risk uses the class in the population.

    The size decides: a class of 3 meets 1/3, and 0.33333333333, for every attacker.

    >>> MaxRisk(0.33333333333).of_size(3).met, MaxRisk(0.33333333333, "journalist").of_size(2).met
    (True, False)
    """

    risk: float
    attacker: Attacker = "prosecutor"
    kind: ClassVar[str] = "max-risk"
    law: ClassVar[Law] = "merge"
    bound: ClassVar[str] = "risk"
    spellings: ClassVar[Spellings] = {
        **dict.fromkeys(
            ("risk.prosecutor", "risk", "risk.max", "prosecutor", "prosecutor.max", "risk.prosecutor.max"), _PROSECUTOR
        ),
        **dict.fromkeys(("risk.journalist", "journalist", "journalist.max", "risk.journalist.max"), _JOURNALIST),
    }
    section: ClassVar[str] = "risk"
    key_field: ClassVar[str] = "attacker"
    figure: ClassVar[str] = "risk.{attacker}.max"
    schema: ClassVar[Schema] = {
        "prosecutor": described(RISK, "Largest risk of a record: 1 / smallest class."),
        "journalist": described(RISK, "Largest risk against the population table; without one, as prosecutor."),
    }

    def __post_init__(self) -> None:
        check_share(self.risk, "the largest risk", above_zero=True)
        check_one_of(self.attacker, ("prosecutor", "journalist"), "attacker")

    @property
    def k(self) -> int:
        """The class size that the risk requires.

        >>> MaxRisk(0.09).k, MaxRisk(0.2).k
        (12, 5)
        """
        return class_for(self.risk)

    def class_sizes(self, *, has_population: bool) -> tuple[int, int]:
        return (0, self.k) if self.attacker == "journalist" and has_population else (self.k, 0)

    def holds(self, found: float) -> bool:
        return found > 0 and round(1.0 / found) >= self.k

    def of_size(self, size: int) -> Verdict:
        """The verdict on a smallest class."""
        return self.judged(1.0 / size)

    def sentence(self) -> str:
        return f"no record is re-identified by a {self.attacker} with a chance above {written(self.risk)}"


def smallest_class(requirements: Iterable[Requirement]) -> int:
    """The class size that k and the largest risk require; 1 if neither is given.

    >>> smallest_class([K(5), MaxRisk(0.09)]), smallest_class([])
    (12, 1)
    """
    return max((r.class_sizes(has_population=False)[0] or 1 for r in requirements), default=1)
