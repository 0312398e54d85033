"""The facts about a column before anybody is asked, and the finding: role, scale, order, missing spellings, and the evidence."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, wraps
from typing import Any, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from shoal.model.roles import NUMBERS, Column, Role

FEW_TEXTS, KEPT = 30, 1 << 12
"""Values of a column about which an answer is kept, and answers of one function that are kept."""
Answer = TypeVar("Answer")


def remembered(ask: Callable[..., Answer]) -> Callable[..., Answer]:
    """A function of values whose answers about a few are kept: many columns of a wide table have the same ones."""
    known: Callable[..., Answer] = lru_cache(maxsize=KEPT)(ask)

    @wraps(ask)
    def answer(values: Sequence[str], *more: object, **named: object) -> Answer:
        return known(tuple(values), *more, **named) if len(values) <= FEW_TEXTS else ask(values, *more, **named)

    return answer


class Scale(enum.Enum):
    """What the values of a column are."""

    ID = "id"  # a name or number of somebody or something
    TEXT = "text"  # free text
    DATE = "date"  # a date, time, year or month
    PLACE = "place"  # postcode, town, region, position
    NUMBER = "number"  # amounts that can be added or banded
    ORDERED = "ordered"  # categories with an order: bands, levels, ratings, also written 1, 2, 3
    NOMINAL = "nominal"  # categories without an order, also written as numbers


HIPAA = {
    1: "names",
    2: "places smaller than a state",
    3: "dates of a person, and ages over 89",
    4: "telephone numbers",
    5: "fax numbers",
    6: "e-mail addresses",
    7: "social security numbers",
    8: "medical record numbers",
    9: "health plan numbers",
    10: "account numbers",
    11: "certificate and licence numbers",
    12: "vehicles and number plates",
    13: "devices and serial numbers",
    14: "web addresses",
    15: "internet (IP) addresses",
    16: "biometric identifiers",
    17: "photographs",
    18: "other unique numbers, codes or marks",
}
"""The Safe Harbor identifiers of 45 CFR 164.514(b)(2)(i), in our words."""

EvidenceKind = Literal["name", "values", "shape", "table"]


@dataclass(frozen=True)
class Evidence:
    """One observation that speaks for the role of a column. It contains no data value.

    ``kind`` says where it comes from: the ``name`` of the column, the words or forms of its ``values``, their ``shape`` (how
    many, how they are spread), or the other columns of the ``table``. ``share`` is the share of distinct values that show it,
    ``confidence`` its strength from 0 to 1.
    """

    what: str
    share: float
    confidence: float
    kind: EvidenceKind = "values"


def measured_scale(column: Column) -> str:
    """The scale that follows from the measurement level of a statistical package; a number is "scale" there by default."""
    return {"ordinal": "ordered", "nominal": "nominal"}.get(column.measure, "") if column.kind in NUMBERS else ""


@dataclass(frozen=True, eq=False)
class ColumnFacts:
    """A column as it is counted: distinct values as text, how many rows hold each, and what the file says of it.

    ``values`` may be a sample of the distinct ones, evenly spread; then ``counts`` are of that sample and ``distinct`` says how
    many there are. ``label`` is the variable label, ``labels`` the value labels of a statistical package, by canonical text.
    """

    name: str
    kind: str
    values: Sequence[str]
    counts: npt.NDArray[np.int64]
    rows: int
    missing: int = 0
    distinct: int = -1
    label: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    declared_missing: tuple[str, ...] = ()
    declared_order: tuple[str, ...] = ()
    declared_scale: str = ""
    """What the file says (SPSS: ordinal, nominal), which is often a default: taken where the values do not speak against it."""
    said_scale: str = ""
    """What a person says: taken as it is."""

    def __post_init__(self) -> None:
        if self.distinct < 0:
            object.__setattr__(self, "distinct", len(self.values))

    @property
    def filled(self) -> int:
        """Rows with a value."""
        return self.rows - self.missing

    @cached_property
    def singled_out(self) -> float:
        """Share of the filled rows that are the only ones with their value; from the values at hand, if they are a sample."""
        if not self.filled or not len(self.counts):
            return 0.0
        alone = float((np.asarray(self.counts) == 1).sum()) * self.distinct / len(self.counts)
        return min(alone / self.filled, 1.0)

    @cached_property
    def rows_with(self) -> dict[str, int]:
        """How many rows hold each value."""
        return dict(zip(self.values, map(int, self.counts), strict=True))

    @cached_property
    def numbers(self) -> npt.NDArray[np.float64] | None:
        """The values as numbers, where all of them are; a decimal comma is read too."""
        try:
            if self.kind in NUMBERS:
                return np.array(list(map(float, self.values)), dtype=np.float64)
            return np.array([float(v.replace(",", ".") if v.count(",") == 1 else v) for v in self.values], dtype=np.float64)
        except ValueError:
            return None

    @cached_property
    def low(self) -> float:
        """The smallest number, of a column of numbers."""
        assert self.numbers is not None
        return float(self.numbers.min())

    @cached_property
    def high(self) -> float:
        """The largest number, of a column of numbers."""
        assert self.numbers is not None
        return float(self.numbers.max())

    @cached_property
    def signed(self) -> list[str]:
        """The values with a minus sign."""
        if self.kind in NUMBERS and self.numbers is not None and (not self.values or self.low >= 0):
            return []
        return [v for v in self.values if v.startswith("-")]

    @cached_property
    def whole(self) -> bool:
        """Whether every value is a whole number."""
        numbers = self.numbers
        if numbers is None or not len(numbers) or self.kind == "integer":
            return numbers is not None and len(numbers) > 0
        return bool(np.isfinite(numbers).all() and (numbers == np.rint(numbers)).all())

    def without(self, spellings: Sequence[str]) -> ColumnFacts:
        """The same column with these values taken for missing."""
        gone = set(spellings)
        if not gone:
            return self
        kept = [i for i, v in enumerate(self.values) if v not in gone]
        rows = int(self.counts.sum() - self.counts[kept].sum())
        return replace(
            self,
            values=[self.values[i] for i in kept],
            counts=self.counts[kept],
            missing=self.missing + rows,
            distinct=self.distinct - (len(self.values) - len(kept)),
            declared_order=tuple(v for v in self.declared_order if v not in gone),
        )


@dataclass(frozen=True)
class ColumnFinding:
    """One column: the suggested role, what its values are, and why. A suggestion is not a decision: a person confirms it.

    ``order`` lists the categories of an ordered column from low to high, ``missing_values`` the spellings that mean "no value"
    (``missing`` counts rows with one of them, or empty). Reasons and evidence hold no data value.
    """

    name: str
    kind: str
    distinct: int
    missing: int
    role: Role
    reason: str
    confidence: float
    scale: Scale = Scale.NOMINAL
    order: tuple[str, ...] = ()
    missing_values: tuple[str, ...] = ()
    topic: str = ""
    change: str = ""
    """What would change the suggestion."""
    evidence: tuple[Evidence, ...] = ()
    """What speaks for the role; empty if nothing does, and the role is only the finder's fallback."""
    hipaa: int | None = None
    mark: str = ""
    """``unit``: may name people who have several rows; ``weight``: may be a sampling weight."""
    follows: str = ""
    """A column from which it follows: that one says as much or more."""
    singled_out: float = 0.0
    """Share of the filled rows that are the only ones with their value: anyone who knows it finds them."""

    @property
    def value_evidence(self) -> tuple[Evidence, ...]:
        """The evidence from words and forms of the values, with the share of values that show it."""
        return tuple(e for e in self.evidence if e.kind == "values")

    def to_json(self) -> dict[str, Any]:
        out: dict[str, Any] = {
            "name": self.name,
            "kind": self.kind,
            "distinct": self.distinct,
            "missing": self.missing,
            "role": self.role.value,
            "reason": self.reason,
            "confidence": self.confidence,
            "scale": self.scale.value,
            "order": list(self.order),
            "missing_values": list(self.missing_values),
            "change": self.change,
            "singled_out": round(self.singled_out, 4),
        }
        if self.hipaa is not None:
            out["hipaa"] = {"item": self.hipaa, "what": HIPAA[self.hipaa]}
        out |= {"follows": self.follows} if self.follows else {}
        return out | ({"mark": self.mark} if self.mark else {})


@dataclass(frozen=True)
class ScaleGuess:
    """A scale, with the order of an ordered one, before the role may say more."""

    scale: Scale
    order: tuple[str, ...] = ()
