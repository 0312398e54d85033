"""Requirements on the size of a class: k, k-map, k in a population of stated size, the largest risk."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import ClassVar, Literal

from shoal.errors import UsageError
from shoal.model.compare import class_for
from shoal.model.display import written
from shoal.model.requirement.base import (
    RISK,
    Requirement,
    Schema,
    Spellings,
    check_one_of,
    check_share,
    check_whole,
    described,
    group,
    positive_number,
    register,
    whole_number,
)
from shoal.model.requirement.clause import Clause, Reading, written_number

Attacker = Literal["prosecutor", "journalist"]
_PROSECUTOR, _JOURNALIST = {"attacker": "prosecutor"}, {"attacker": "journalist"}


@register
class K(Requirement):
    """k-anonymity: a class has at least ``k`` members (people, where the table names them; else records).

    >>> print(K(5).sentence())
    every class has at least 5 members
    """

    k: int
    kind = "k"
    law = "merge"
    bound = "k"
    sign = ">="
    schema: ClassVar[Schema] = {"k": whole_number(2, 10**9, "Smallest class.")}
    figure = "k"
    trivial_bound = 1

    def __post_init__(self) -> None:
        check_whole(self.k, 2, "k", "Use 3 to 20; 5 is common inside an organisation, 11 or more for the public.")

    def class_sizes(self, *, has_population: bool) -> tuple[int, int]:
        return self.k, 0

    def sentence(self) -> str:
        return f"every class has at least {self.k} members"


@register
class KMap(Requirement):
    """k-map: at least ``k`` people of the population have the values of a class (the population table counts them)."""

    k: int
    kind = "k-map"
    law = "merge"
    bound = "k"
    sign = ">="
    schema: ClassVar[Schema] = {
        "k_map": whole_number(2, 10**9, "Fewest people of the population table with the values of a class.")
    }
    figure = "presence.k_map"
    trivial_bound = 1
    needs_population = True

    def __post_init__(self) -> None:
        check_whole(self.k, 2, "k of k-map", "Use at least 2.")

    def class_sizes(self, *, has_population: bool) -> tuple[int, int]:
        return 0, self.k

    def sentence(self) -> str:
        return f"every class matches at least {self.k} people of the population"


@register
class PopulationK(Requirement):
    """(1 − β, k)-anonymity: a published record matches at least ``k`` of ``population`` people with probability 1 − ``beta``.

    The table is taken for a random sample of the population. With the number of its members known, the requirement is a class
    size (:mod:`shoal.kernels.matches`), which a plan is searched for.

    >>> PopulationK(100, 300_000_000).sentence()
    'every record matches at least 100 of 300,000,000 people with a probability of at least 0.95'
    """

    k: int
    population: int
    beta: float = 0.05
    kind = "population-k"
    law = "merge"
    bound = "k"
    sign = ">="
    renamed: ClassVar[Mapping[str, str]] = {"of": "population"}
    schema: ClassVar[Schema] = {
        "population_k": group(
            "Fewest people of a population that a record matches, with a probability of at least 1 - beta.",
            optional=("beta",),
            k=whole_number(2, 10**9),
            of={
                "anyOf": [whole_number(2, 10**11), {"type": "string", "minLength": 1, "maxLength": 4000}],
                "description": "People in the population that the table is a random sample of: their number, or a file with it.",
            },
            beta=positive_number(0.5, "Largest probability of fewer matches; default 0.05."),
        )
    }
    on_file = True
    needs_sample = True

    def __post_init__(self) -> None:
        check_whole(self.k, 2, "k of population_k", "Use at least 2.")
        check_whole(self.population, 2, "the population", "Pass the number of people that the table is a random sample of.")
        check_share(self.beta, "beta", above_zero=True)
        if self.beta > 0.5 or self.k > self.population:
            what = f"population_k needs a beta of at most 0.5, and k of at most the {self.population:,} people."
            raise UsageError(what, hint="Write for example population_k[17500000, beta=0.05]>=20.")

    @classmethod
    def from_clause(cls, clause: Clause, reading: Reading) -> Requirement:
        """``population_k[17500000]>=20``; after a comma perhaps ``beta=0.01``."""
        people, beta, *more = *clause.inside, *("", "beta=0.05")[len(clause.inside) :]
        try:
            chance = float(beta.replace(" ", "").removeprefix("beta="))
        except ValueError:
            chance = -1.0
        if not people.replace("_", "").isdecimal() or chance < 0 or more:
            hint = "Write population_k[17500000, beta=0.05]>=20."
            raise UsageError("population_k needs the number of people in the population.", hint=hint)
        return cls(cls.limit_of(clause), int(people), chance)  # type: ignore[arg-type]

    def options(self) -> tuple[str, ...]:
        return (str(self.population), *(() if self.beta == 0.05 else (f"beta={written_number(self.beta)}",)))

    def sentence(self) -> str:
        chance = f"a probability of at least {written(1 - self.beta)}"
        return f"every record matches at least {self.k:,} of {self.population:,} people with {chance}"


@register
class MaxRisk(Requirement):
    """Largest risk: 1 / (size of a class) is at most ``risk``; the journalist's risk uses the class in the population.

    The size decides: a class of 3 meets 1/3, and 0.33333333333, for every attacker.

    >>> MaxRisk(0.33333333333).judged(1 / 3).met, MaxRisk(0.33333333333, "journalist").judged(1 / 2).met
    (True, False)
    """

    risk: float
    attacker: Attacker = "prosecutor"
    kind = "max-risk"
    law = "merge"
    bound = "risk"
    spellings: ClassVar[Spellings] = {
        **dict.fromkeys(
            ("risk.prosecutor", "risk", "risk.max", "prosecutor", "prosecutor.max", "risk.prosecutor.max"), _PROSECUTOR
        ),
        **dict.fromkeys(("risk.journalist", "journalist", "journalist.max", "risk.journalist.max"), _JOURNALIST),
    }
    section = "risk"
    key_field = "attacker"
    figure = "risk.{attacker}.max"
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

    def holds(self, value: float) -> bool:
        return value > 0 and round(1.0 / value) >= self.k

    def sentence(self) -> str:
        return f"no record is re-identified by a {self.attacker} with a chance above {written(self.risk)}"


def smallest_class(requirements: Iterable[Requirement]) -> int:
    """The class size that k and the largest risk require; 1 if neither is given.

    >>> smallest_class([K(5), MaxRisk(0.09)]), smallest_class([])
    (12, 1)
    """
    return max((r.class_sizes(has_population=False)[0] or 1 for r in requirements), default=1)
