"""Requirements: what every class of a release, or the release as a whole, must satisfy.

A requirement is a frozen value that goes to JSON and back. Search, release and policy share it; none of them is imported
here. Each kind states

* ``scope``: ``class`` (each published class must pass; a class that fails may be suppressed) or ``table``;
* ``law``: what is proven about joining classes, which is what a search may prune by.

  ``merge``
      a class that passes still passes after any other class, passing or not, is joined to it. Then the records that
      must be suppressed never grow when values are generalized, so the requirement is monotone with and without
      suppression. Holds for sizes (k, k-map, largest risk) and for the number of distinct values.
  ``union``
      the join of two classes that *both* pass passes, because the distributions that pass form a convex set and the join's
      distribution lies between those of its parts. Monotone when nothing may be suppressed; with suppression it is not:
      a passing class may fail after a failing one is joined to it. Holds for entropy and recursive diversity, closeness,
      δ-disclosure, β-likeness and (α,k).
  ``none``
      nothing is proven; no pruning.

The distribution that closeness, δ and β compare with is that of the whole table before suppression. A missing sensitive value
is an ordinary value. A bound that may be reached (≤, ≥) allows :data:`TOLERANCE`, so that 0.2 computed as
0.20000000000000004 is 0.2; one that may not be reached (<) must be missed by as much.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

from shoal.errors import PolicyError, UsageError
from shoal.model.hierarchy import Hierarchy

TOLERANCE = 1e-9
"""Slack in comparisons of real numbers (entropies, distances, shares)."""

Scope = Literal["class", "table"]
Law = Literal["merge", "union", "none"]
Distance = Literal["equal", "ordered", "hierarchical"]
Attacker = Literal["prosecutor", "journalist"]

_KINDS: dict[str, type[Requirement]] = {}


def _register(cls: type[Requirement]) -> type[Requirement]:
    _KINDS[cls.kind] = cls
    return cls


@dataclass(frozen=True)
class Requirement:
    """The root: a value with a kind, a scope, a law and a sentence."""

    kind: ClassVar[str] = ""
    scope: ClassVar[Scope] = "class"
    law: ClassVar[Law] = "none"
    needs_population: ClassVar[bool] = False

    @property
    def sensitive(self) -> str | None:
        """The sensitive column it speaks about, or None."""
        return getattr(self, "column", None)

    def sentence(self) -> str:
        """The requirement in words."""
        raise NotImplementedError

    def to_json(self) -> dict[str, Any]:
        fields = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        plain = {k: v.to_json() if isinstance(v, Hierarchy) else v for k, v in fields.items() if v is not None}
        return {"kind": self.kind, **plain}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        known = {f.name for f in dataclasses.fields(cls)}
        unknown = sorted(set(data) - known - {"kind"})
        if unknown:
            raise PolicyError(f"requirement '{cls.kind}' has unknown fields: {', '.join(unknown)}.")
        values = {k: Hierarchy.from_json(v) if k == "hierarchy" else v for k, v in data.items() if k != "kind"}
        try:
            return cls(**values)
        except TypeError:
            needed = ", ".join(f.name for f in dataclasses.fields(cls) if f.default is dataclasses.MISSING)
            raise PolicyError(f"requirement '{cls.kind}' lacks a field.", hint=f"It needs: {needed}.") from None


def requirement_from_json(data: Mapping[str, Any]) -> Requirement:
    """A requirement from its JSON form.

    >>> requirement_from_json({"kind": "k", "k": 5})
    K(k=5)
    >>> requirement_from_json(DistinctDiversity("disease", 3).to_json())
    DistinctDiversity(column='disease', l=3)
    """
    kind = data.get("kind", "")
    if kind not in _KINDS:
        raise PolicyError(f"requirement '{kind}' is not known.", hint=f"Known: {', '.join(sorted(_KINDS))}.")
    return _KINDS[kind].from_json(data)


def requirement_kinds() -> dict[str, type[Requirement]]:
    """All kinds, by name."""
    return dict(_KINDS)


@_register
@dataclass(frozen=True)
class K(Requirement):
    """k-anonymity: a class has at least ``k`` members (people, where the table names them; else records).

    >>> print(K(5).sentence())
    every class has at least 5 members
    """

    k: int
    kind: ClassVar[str] = "k"
    law: ClassVar[Law] = "merge"

    def __post_init__(self) -> None:
        _whole(self.k, 2, "k", "Use 3 to 20; 5 is common inside an organisation, 11 or more for the public.")

    def sentence(self) -> str:
        return f"every class has at least {self.k} members"


@_register
@dataclass(frozen=True)
class KMap(Requirement):
    """k-map: at least ``k`` people of the population have the values of a class (the population table counts them)."""

    k: int
    kind: ClassVar[str] = "k-map"
    law: ClassVar[Law] = "merge"
    needs_population: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _whole(self.k, 2, "k of k-map", "Use at least 2.")

    def sentence(self) -> str:
        return f"every class matches at least {self.k} people of the population"


@_register
@dataclass(frozen=True)
class MaxRisk(Requirement):
    """Largest risk: 1 / (size of a class) is at most ``risk``; the journalist's risk uses the class in the population."""

    risk: float
    attacker: Attacker = "prosecutor"
    kind: ClassVar[str] = "max-risk"
    law: ClassVar[Law] = "merge"

    def __post_init__(self) -> None:
        _share(self.risk, "the largest risk", above_zero=True)
        _one_of(self.attacker, ("prosecutor", "journalist"), "attacker")

    @property
    def k(self) -> int:
        """The class size that the risk asks for.

        >>> MaxRisk(0.09).k, MaxRisk(0.2).k
        (12, 5)
        """
        return math.ceil(1.0 / self.risk - TOLERANCE)

    def sentence(self) -> str:
        return f"no record is re-identified by a {self.attacker} with a chance above {self.risk:g}"


@_register
@dataclass(frozen=True)
class DistinctDiversity(Requirement):
    """Distinct l-diversity: a class holds at least ``l`` different values of ``column``."""

    column: str
    l: int  # noqa: E741 - the field's name for it
    kind: ClassVar[str] = "distinct-diversity"
    law: ClassVar[Law] = "merge"

    def __post_init__(self) -> None:
        _whole(self.l, 2, "l", "Use at least 2.")

    def sentence(self) -> str:
        return f"every class holds at least {self.l} different values of '{self.column}'"


@_register
@dataclass(frozen=True)
class PSensitive(Requirement):
    """p-sensitivity: at least ``p`` different values of ``column`` in a class (with K it is p-sensitive k-anonymity)."""

    column: str
    p: int
    kind: ClassVar[str] = "p-sensitive"
    law: ClassVar[Law] = "merge"

    def __post_init__(self) -> None:
        _whole(self.p, 2, "p", "Use at least 2.")

    def sentence(self) -> str:
        return f"every class holds at least {self.p} different values of '{self.column}'"


@_register
@dataclass(frozen=True)
class EntropyDiversity(Requirement):
    """Entropy l-diversity: exp(H) ≥ l, with H the entropy (nats) of ``column`` inside a class."""

    column: str
    l: float  # noqa: E741
    kind: ClassVar[str] = "entropy-diversity"
    law: ClassVar[Law] = "union"

    def __post_init__(self) -> None:
        _real(self.l, 1.0, "l", "Use a number above 1: as diverse as l equally frequent values.")

    def sentence(self) -> str:
        return f"the values of '{self.column}' in every class are as diverse as {self.l:g} equally frequent ones"


@_register
@dataclass(frozen=True)
class RecursiveDiversity(Requirement):
    """Recursive (c,l)-diversity: with counts r₁ ≥ r₂ ≥ … of ``column`` in a class, r₁ < c (r_l + … + r_m)."""

    column: str
    c: float
    l: int  # noqa: E741
    kind: ClassVar[str] = "recursive-diversity"
    law: ClassVar[Law] = "union"

    def __post_init__(self) -> None:
        _real(self.c, 0.0, "c", "Use a number above 0.")
        _whole(self.l, 2, "l", "Use at least 2.")

    def sentence(self) -> str:
        return f"in every class the commonest value of '{self.column}' stays below {self.c:g} times the tail from the {self.l}th"


@_register
@dataclass(frozen=True)
class AlphaK(Requirement):
    """(α,k): no value of ``column`` has a share above ``alpha`` in a class (state k with :class:`K`)."""

    column: str
    alpha: float
    kind: ClassVar[str] = "alpha"
    law: ClassVar[Law] = "union"

    def __post_init__(self) -> None:
        _share(self.alpha, "alpha", above_zero=True)

    def sentence(self) -> str:
        return f"no value of '{self.column}' has a share above {self.alpha:g} in a class"


@_register
@dataclass(frozen=True)
class TCloseness(Requirement):
    """t-closeness: the earth mover's distance between ``column`` in a class and in the whole table is at most ``t``.

    ``equal``: ½ Σ|p−q|. ``ordered``: (1/(m−1)) Σ_i |Σ_{j≤i}(p_j−q_j)| over the table's m values in their natural order (numbers
    and dates by value, text by code point; missing first). ``hierarchical``: the distance of two values is the height of their
    lowest common ancestor over the height of ``hierarchy``, which is then required.
    """

    column: str
    t: float
    distance: Distance = "equal"
    hierarchy: Hierarchy | None = None
    kind: ClassVar[str] = "t-closeness"
    law: ClassVar[Law] = "union"

    def __post_init__(self) -> None:
        _share(self.t, "t", above_zero=False)
        _one_of(self.distance, ("equal", "ordered", "hierarchical"), "distance")
        if self.distance == "hierarchical" and self.hierarchy is None:
            raise UsageError(
                f"t-closeness of '{self.column}' with the hierarchical distance needs a hierarchy of that column.",
                hint="Pass hierarchy=…, or use distance='equal'.",
            )

    def sentence(self) -> str:
        return f"'{self.column}' in every class is within {self.t:g} ({self.distance} distance) of the whole table"


@_register
@dataclass(frozen=True)
class DeltaDisclosure(Requirement):
    """δ-disclosure privacy: |ln(p(s|class) / p(s|table))| < δ for every value s of the table; an absent value fails."""

    column: str
    delta: float
    kind: ClassVar[str] = "delta-disclosure"
    law: ClassVar[Law] = "union"

    def __post_init__(self) -> None:
        _real(self.delta, 0.0, "delta", "Use a number above 0.")

    def sentence(self) -> str:
        return f"the share of each value of '{self.column}' in a class is within a factor exp({self.delta:g}) of the table's"


@_register
@dataclass(frozen=True)
class BasicBeta(Requirement):
    """Basic β-likeness: (p−q)/q ≤ β for every value of ``column``, p its share in a class and q in the table."""

    column: str
    beta: float
    kind: ClassVar[str] = "basic-beta"
    law: ClassVar[Law] = "union"

    def __post_init__(self) -> None:
        _real(self.beta, 0.0, "beta", "Use a number above 0.")

    def sentence(self) -> str:
        return f"no value of '{self.column}' gains more than {self.beta:g} times its share in the table"


@_register
@dataclass(frozen=True)
class EnhancedBeta(Requirement):
    """Enhanced β-likeness: (p−q)/q ≤ min(β, −ln q) for every value of ``column``."""

    column: str
    beta: float
    kind: ClassVar[str] = "enhanced-beta"
    law: ClassVar[Law] = "union"

    def __post_init__(self) -> None:
        _real(self.beta, 0.0, "beta", "Use a number above 0.")

    def sentence(self) -> str:
        return f"no value of '{self.column}' gains more than min({self.beta:g}, −ln share) times its share in the table"


@_register
@dataclass(frozen=True)
class AverageRisk(Requirement):
    """Average prosecutor risk, (published classes) / (published members), is at most ``risk``.

    A table requirement: where classes are too many, the smallest are suppressed first, which removes the fewest records.
    Monotone with suppression: joining classes leaves fewer classes and as many members.
    """

    risk: float
    kind: ClassVar[str] = "average-risk"
    scope: ClassVar[Scope] = "table"
    law: ClassVar[Law] = "merge"

    def __post_init__(self) -> None:
        _share(self.risk, "the average risk", above_zero=True)

    def sentence(self) -> str:
        return f"the average chance of re-identification is at most {self.risk:g}"


@_register
@dataclass(frozen=True)
class SampleUniqueness(Requirement):
    """At most ``share`` of the published members are alone in their class. Monotone with suppression."""

    share: float
    kind: ClassVar[str] = "sample-uniqueness"
    scope: ClassVar[Scope] = "table"
    law: ClassVar[Law] = "merge"

    def __post_init__(self) -> None:
        _share(self.share, "the share of unique records", above_zero=False)

    def sentence(self) -> str:
        return f"at most {self.share:.4g} of the published records are unique"


@_register
@dataclass(frozen=True)
class PopulationUniqueness(Requirement):
    """Estimated share of the records that are unique in a population of ``population`` people is at most ``share``.

    An estimate from the class sizes of the release, never a count; no law about joining classes is proven.
    """

    share: float
    population: int
    method: str = "dankar"
    kind: ClassVar[str] = "population-uniqueness"
    scope: ClassVar[Scope] = "table"
    law: ClassVar[Law] = "none"

    def __post_init__(self) -> None:
        _share(self.share, "the share of population uniques", above_zero=False)
        _whole(self.population, 1, "the population", "Pass the number of people in the population.")

    def sentence(self) -> str:
        return f"an estimated share of at most {self.share:g} is unique in a population of {self.population}"


def sentences(requirements: Iterable[Requirement]) -> tuple[str, ...]:
    """All requirements in words."""
    return tuple(r.sentence() for r in requirements)


def _whole(value: object, least: int, what: str, hint: str) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise UsageError(f"{what} must be a whole number of at least {least}; found {value!r}.", hint=hint)


def _real(value: object, above: float, what: str, hint: str) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value <= above:
        raise UsageError(f"{what} must be a number above {above:g}; found {value!r}.", hint=hint)


def _share(value: object, what: str, *, above_zero: bool) -> None:
    good = isinstance(value, int | float) and not isinstance(value, bool) and 0.0 <= value <= 1.0
    if not good or (above_zero and value == 0.0):
        raise UsageError(f"{what} must lie between 0 and 1; found {value!r}.", hint="Write 0.2 for 20 %.")


def _one_of(value: object, allowed: tuple[str, ...], what: str) -> None:
    if value not in allowed:
        raise UsageError(f"{what} {value!r} is not known.", hint=f"Choose one of: {', '.join(allowed)}.")
