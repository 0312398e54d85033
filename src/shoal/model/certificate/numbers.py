"""The numbers of a certificate: classes, sensitive columns, verdicts, attackers, missing values and population."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from shoal.model.certificate.form import LEFT_OUT, left_out_with


@dataclass(frozen=True)
class Risk:
    """Chance of naming the owner of a record: the largest, and the average over all records."""

    largest: float
    average: float


@dataclass(frozen=True, kw_only=True)
class ClassNumbers:
    """Class sizes of a table; ``sizes`` maps a class size (as text) to how many classes have it.

    Where people were counted, ``smallest`` maps the size of the smallest class a person is in to how many people that holds for:
    ``unique`` and the average risk are over people, each once.
    """

    records: int
    classes: int
    k: int
    unique: int
    sizes: Mapping[str, int]
    risk: Risk
    smallest: Mapping[str, int] | None = field(default=None, metadata=LEFT_OUT)

    @property
    def everybody(self) -> Mapping[str, int]:
        """People, each once, or records, by the size of the smallest class they are in."""
        return {size: int(size) * n for size, n in self.sizes.items()} if self.smallest is None else self.smallest

    @property
    def average_risk(self) -> float:
        """The chance of naming a person (a record), averaged over all."""
        return sum(n / int(size) for size, n in self.everybody.items()) / sum(self.everybody.values())

    @property
    def members(self) -> int:
        """Records, or people where they are counted, over all classes."""
        return sum(int(size) * n for size, n in self.sizes.items())


@dataclass(frozen=True, kw_only=True)
class SensitiveNumbers:
    """A sensitive column inside the published classes: its least diverse class, its farthest one from the whole.

    ``delta`` and the β are None where no number bounds them: a class lacks a value, or a value gains more than any β allows.
    """

    distinct: int
    entropy: float
    alpha: float
    t_equal: float
    t_ordered: float
    delta: float | None
    beta: float | None
    enhanced_beta: float | None
    recursive: Mapping[str, float | None]
    t_hierarchical: float | None = field(default=None, metadata=LEFT_OUT)


@dataclass(frozen=True, kw_only=True)
class PublishedNumbers(ClassNumbers):
    """What counting the written file gave. ``people`` and ``linked_k`` are there where people were counted."""

    sensitive: Mapping[str, SensitiveNumbers]
    blanked: int
    people: int | None = field(default=None, metadata=LEFT_OUT)
    linked_k: int | None = field(default=None, metadata=left_out_with("people"))


@dataclass(frozen=True)
class Judged:
    """One requirement: requirement, result, and whether that is enough; ``counted`` says what was counted and in which file."""

    requirement: str
    sentence: str
    asked: float
    found: float | None
    met: bool
    counted: str | None = field(default=None, metadata=LEFT_OUT)


@dataclass(frozen=True)
class Attacker:
    """What an attacker reaches before and after: a chance, or a count of people."""

    attacker: str
    sentence: str
    before: float
    after: float


@dataclass(frozen=True)
class MissingK:
    """k under each rule for missing values; None where no record is left to count."""

    own: int | None
    wildcard: int | None
    drop: int | None


@dataclass(frozen=True)
class Missing:
    """The rule for missing values, and what the others would give."""

    rule: str
    sentence: str
    k: MissingK


@dataclass(frozen=True)
class Population:
    """The population that is taken into account, where one was stated."""

    size: int | None
    sentence: str
