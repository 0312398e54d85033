"""Requirements on the whole released table: average risk, uniques in the sample, estimated uniques, linkage."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

from shoal.errors import UsageError
from shoal.model.display import written
from shoal.model.requirement.base import (
    RISK,
    SHARE,
    Requirement,
    Schema,
    Spellings,
    check_one_of,
    check_share,
    check_whole,
    described,
    group,
    register,
    whole_number,
)
from shoal.model.requirement.clause import Clause, Reading


class _WholeTable(Requirement):
    """A limit on the released table as a whole."""

    scope = "table"


_AVERAGE, _MARKETER = {"attacker": "average"}, {"attacker": "marketer"}


@register
class AverageRisk(_WholeTable):
    """Average risk, (published classes) / (published members), is at most ``risk``.

    The marketer's is the same number where no population table is given. Where classes are too many, the smallest are suppressed
    first, which removes the fewest records. Monotone with suppression: joining classes leaves fewer classes and as many members.
    """

    risk: float
    attacker: Literal["average", "marketer"] = "average"
    kind = "average-risk"
    spellings: ClassVar[Spellings] = {
        **dict.fromkeys(("risk.average", "risk.mean", "prosecutor.mean", "risk.prosecutor.mean"), _AVERAGE),
        **dict.fromkeys(("risk.marketer", "marketer"), _MARKETER),
    }
    section = "risk"
    key_field = "attacker"
    figure = "risk.{attacker}"
    schema: ClassVar[Schema] = {
        "average": described(RISK, "The same as marketer."),
        "marketer": described(RISK, "Average risk: classes / records."),
    }
    table_limit = "average_risk"
    law = "merge"
    bound = "risk"

    def __post_init__(self) -> None:
        check_share(self.risk, "the average risk", above_zero=True)
        check_one_of(self.attacker, ("average", "marketer"), "attacker")

    def sentence(self) -> str:
        return f"the average chance of re-identification is at most {written(self.risk)}"


@register
class SampleUniqueness(_WholeTable):
    """At most ``share`` of the published members are alone in their class. Monotone with suppression."""

    share: float
    kind = "sample-uniqueness"
    spellings: ClassVar[Spellings] = {"unique_share": {}}
    section = "uniqueness"
    schema: ClassVar[Schema] = {"sample": described(SHARE, "Largest share of records that are alone in their class.")}
    figure = "unique_share"
    table_limit = "uniqueness"
    law = "merge"
    bound = "share"

    def __post_init__(self) -> None:
        check_share(self.share, "the share of unique records", above_zero=False)

    def sentence(self) -> str:
        return f"at most {written(self.share, 4)} of the published records are unique"


@register
class PopulationUniqueness(_WholeTable):
    """Estimated share of the records that are unique in a population of ``population`` people is at most ``share``.

    An estimate from the class sizes of the release, never a count; no law about joining classes is proven.
    """

    share: float
    population: int
    method: str = "dankar"
    kind = "population-uniqueness"
    spellings: ClassVar[Spellings] = {"population_unique_share": {}}
    section = "uniqueness"
    renamed: ClassVar[Mapping[str, str]] = {"of": "population"}
    schema: ClassVar[Schema] = {
        "population": group(
            "Largest estimated share of the population that is unique in it.",
            optional=("method",),
            share=SHARE,
            of=whole_number(1, 10**11, "People in the population."),
            method={"type": "string", "minLength": 1, "maxLength": 60, "description": "How it is estimated; default dankar."},
        )
    }
    table_limit = "population_uniqueness"
    law = "none"
    bound = "share"

    def __post_init__(self) -> None:
        check_share(self.share, "the share of population uniques", above_zero=False)
        check_whole(self.population, 1, "the population", "Pass the number of people in the population.")

    @classmethod
    def from_clause(cls, clause: Clause, reading: Reading) -> Requirement:
        """``population_unique_share[17500000]<=0.01``, after a comma perhaps the method of estimation."""
        people = clause.inside[0].replace("_", "") if clause.inside else ""
        if not people.isdecimal() or len(clause.inside) > 2:
            hint = f"Write for example {clause.word}[17500000]<=0.01."
            raise UsageError("the share of population uniques needs the number of people in the population.", hint=hint)
        return cls(cls.limit_of(clause), int(people), *clause.inside[1:])

    def options(self) -> tuple[str, ...]:
        return (str(self.population), *(() if self.method == "dankar" else (self.method,)))

    def sentence(self) -> str:
        return f"an estimated share of at most {written(self.share)} is unique in a population of {self.population}"


@register
class Linkage(_WholeTable):
    """At most ``share`` of the records are found, or their sensitive values learnt as if they were, by anyone who knows the
    quasi-identifiers and any other published columns.

    The strongest attacker tried decides; sensitive columns with few values are what he learns, not what he knows. Only the
    holder of the original can try it, and no law about joining classes is proven.
    """

    share: float
    kind = "linkage"
    schema: ClassVar[Schema] = {
        "linkage": described(
            RISK,
            "Largest share of records that the quasi-identifiers and any other known columns find; by default 1/k and at "
            "least 0.05 for the columns that a transformation changes, known alone.",
        )
    }
    law = "none"
    bound = "share"
    on_file = True
    needs_original = True

    def __post_init__(self) -> None:
        check_share(self.share, "the share of records found by known columns", above_zero=True)

    def sentence(self) -> str:
        return f"knowing any published columns finds at most {written(self.share, 4)} of the records"


@register
class KnownColumns(_WholeTable):
    """At most ``share`` of the records are found by one who knows any one, two or three published columns.

    It is about quasi-identifiers as published and every column that is published as it was; the worst set decides. Anyone can
    count it again from the published file.
    """

    share: float
    kind = "known-columns"
    schema: ClassVar[Schema] = {
        "known_columns": described(SHARE, "Largest share of records that any one, two or three published columns single out.")
    }
    law = "none"
    bound = "share"
    on_file = True

    def __post_init__(self) -> None:
        check_share(self.share, "the share of records that known columns find", above_zero=False)

    def sentence(self) -> str:
        return f"any three published columns find at most {written(self.share, 4)} of the records"
