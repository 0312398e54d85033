"""Numbers of a written file, as both ways of counting give them and as a certificate states them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from shoal.errors import UsageError
from shoal.model import requirement as req
from shoal.model.compare import equal
from shoal.model.requirement import Requirement, Verdict


@dataclass(frozen=True)
class Inside:
    """What the classes tell about one sensitive column: the least diverse, and the farthest from the published table.

    ``recursive[l]`` is the largest r_1 / (r_l + … + r_m) over classes (None where a class has fewer than l values):
    recursive (c,l)-diversity holds when it is below c. ``alpha`` is the largest share of a value in a class; ``delta``, ``beta``
    and ``enhanced_beta`` are how much the share of a value changes from the published table to a class, infinite where a value
    is absent from a class (delta) or gains more than any β allows.
    """

    distinct: int
    entropy: float
    equal: float
    ordered: float
    recursive: Mapping[int, float | None] = field(default_factory=dict)
    hierarchical: float | None = None
    alpha: float = 1.0
    delta: float = math.inf
    beta: float = math.inf
    enhanced_beta: float = math.inf

    def to_json(self) -> dict[str, Any]:
        out = {
            "distinct": self.distinct,
            "entropy": _round(self.entropy),
            "alpha": _round(self.alpha),
            "t_equal": _round(self.equal),
            "t_ordered": _round(self.ordered),
            "delta": _finite(self.delta),
            "beta": _finite(self.beta),
            "enhanced_beta": _finite(self.enhanced_beta),
            "recursive": {str(level): None if r is None else _round(r) for level, r in sorted(self.recursive.items())},
        }
        return out if self.hierarchical is None else {**out, "t_hierarchical": _round(self.hierarchical)}


@dataclass(frozen=True, eq=False)
class Classes:
    """The classes of a written file as they were counted, for what else follows from them.

    ``codes`` are numbers of the published values, one array per quasi-identifier, 0 for a missing one; ``members`` are people
    where the file has their column, else records. ``sensitive`` gives for each column class, number of the value, and members;
    ``values`` the number of each value of a quasi-identifier.
    """

    codes: Sequence[Any]
    records: Any
    members: Any
    sensitive: Mapping[str, tuple[Any, Any, Any]]
    values: Sequence[Mapping[Any, int]]
    done: dict[Any, Any] = field(default_factory=dict)  # what was worked out from the same bytes already


@dataclass(frozen=True)
class Facts:
    """Numbers of a written file. ``sizes`` maps a class size to how many classes have it.

    With a person column, sizes and the values inside a class count people (a person with the same value twice counts once),
    ``smallest`` maps the size of the smallest class a person is in to how many people that holds for, and ``linked_k`` is the
    smallest number of people who have the same number of records in the same classes. ``unique`` and the average risk are over
    people, each once; without a person column over records.
    """

    records: int
    classes: int
    k: int
    unique: int
    sizes: Mapping[int, int]
    sensitive: Mapping[str, Inside] = field(default_factory=dict)
    blanked: int = 0
    people: int | None = None
    linked_k: int | None = None
    smallest: Mapping[int, int] | None = None
    details: Classes | None = field(default=None, repr=False, compare=False)

    def of(self, column: str) -> Inside:
        """What was counted of a sensitive column."""
        if column not in self.sensitive:
            raise UsageError(f"column '{column}' was not counted as sensitive.", hint="Name it under roles.sensitive.")
        return self.sensitive[column]

    @property
    def members(self) -> int:
        """People or records, added up over the classes."""
        return sum(size * n for size, n in self.sizes.items())

    @property
    def everybody(self) -> Mapping[int, int]:
        """People, each once, or records, by the size of the smallest class they are in.

        >>> Facts(records=5, classes=2, k=2, unique=0, sizes={2: 1, 3: 1}).everybody
        {2: 2, 3: 3}
        """
        return {size: size * n for size, n in self.sizes.items()} if self.smallest is None else self.smallest

    @property
    def average_risk(self) -> float:
        """The chance of naming a person (a record), averaged over all: by the smallest class each is in."""
        return _round(sum(n / size for size, n in self.everybody.items()) / sum(self.everybody.values()))

    @property
    def unique_share(self) -> float:
        """The share of people (of records) who are alone in at least one class."""
        return _round(self.unique / sum(self.everybody.values()))

    def to_json(self) -> dict[str, Any]:
        out: dict[str, Any] = {
            "records": self.records,
            "classes": self.classes,
            "k": self.k,
            "unique": self.unique,
            "sizes": {str(size): n for size, n in sorted(self.sizes.items())},
            "risk": {"largest": 1.0 / self.k, "average": self.average_risk},
            "sensitive": {c: inside.to_json() for c, inside in sorted(self.sensitive.items())},
            "blanked": self.blanked,
        }
        if self.people is not None:
            out["people"] = self.people
            out["linked_k"] = self.linked_k
        if self.smallest is not None:
            out["smallest"] = {str(size): n for size, n in sorted(self.smallest.items())}
        return out


def _round(value: float) -> float:
    """Twelve decimals: more than two orders of summation agree on."""
    return round(value, 12) + 0.0


def _finite(value: float) -> float | None:
    return _round(value) if math.isfinite(value) else None


def alike(one: Any, other: Any) -> bool:
    """Whether two results in JSON form say the same: counts and words exactly, real numbers by the comparison rule.

    >>> alike({"k": 5, "t": 0.25}, {"k": 5, "t": 0.25000000000000006}), alike({"k": 5}, {"k": 6}), alike(1, True)
    (True, False, False)
    """
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(alike(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(alike(a, b) for a, b in zip(one, other, strict=True))
    if isinstance(one, float) and isinstance(other, float):
        return equal(other, one)
    return type(one) is type(other) and bool(one == other)


def value_order(values: Sequence[Any], order: Sequence[str] = ()) -> list[Any]:
    """Sensitive values in their order: a missing value first; then as ``order`` says, where it holds all of them; else numbers by
    size and everything else by its text.

    >>> value_order(["10", "9", None]), value_order(["b", "10", "9"]), value_order(["high", "low", None], ["low", "high"])
    ([None, '9', '10'], ['10', '9', 'b'], [None, 'low', 'high'])
    """
    present = [v for v in values if v is not None]
    missing = [v for v in values if v is None]
    ranks = {text: i for i, text in enumerate(order)}
    places = [
        ranks.get(str(v), ranks.get(str(v).removeprefix("'"))) for v in present
    ]  # a guard against formulas may stand before
    if order and None not in places and len(set(places)) == len(places):
        return missing + [v for _, v in sorted(zip(places, present, strict=True), key=lambda x: x[0] or 0)]
    numbers = [as_number(v) for v in present]
    if all(n is not None for n in numbers):
        return missing + [v for _, _, v in sorted(zip(numbers, map(str, present), present, strict=True), key=lambda x: x[:2])]
    return missing + sorted(present, key=str)


def as_number(value: Any) -> float | None:
    """The number that a cell spells, or None."""
    if isinstance(value, bool):
        return float(value)
    if isinstance(value, int | float):
        return float(value)
    try:
        number = float(str(value))
    except ValueError:
        return None
    return number if math.isfinite(number) and "_" not in str(value) else None


Given = Mapping[tuple[str, ...], float | None]


def judge(requirements: Iterable[Requirement], facts: Facts, given: Given | None = None) -> list[Verdict]:
    """Each requirement against the facts.

    >>> facts = Facts(records=10, classes=2, k=4, unique=0, sizes={4: 1, 6: 1})
    >>> [(v.requirement.name, v.found, v.met) for v in judge([req.K(5), req.AverageRisk(0.2)], facts)]
    [('k', 4, False), ('risk.average', 0.2, True)]
    """
    return [r.judged(_find_share(r, facts, given or {})) for r in requirements]


def _find_share(r: Requirement, facts: Facts, given: Given) -> float | None:
    if r.place in given:
        return given[r.place]
    if r.sensitive is not None:
        return _inside(r, facts.of(r.sensitive))
    match r:
        case req.K():
            return facts.k
        case req.MaxRisk():
            return 1.0 / facts.k
        case req.AverageRisk():
            return facts.average_risk
        case req.SampleUniqueness():
            return facts.unique_share
    hint = "It needs a population table, an estimate or the original."
    raise UsageError(f"'{r.name}' cannot be counted in a written file.", hint=hint)


def _inside(r: Requirement, inside: Inside) -> float | None:
    known = inside.to_json()
    match r:
        case req.DistinctDiversity() | req.PSensitive():
            return inside.distinct
        case req.RecursiveDiversity():
            ratio: float | None = known["recursive"].get(str(r.l))
            return ratio
        case req.TCloseness():  # without a hierarchy the equal distance, which is never smaller
            return float(known.get(f"t_{r.distance}", known["t_equal"]))
    least: float | None = known[r.place[-1]]
    return least


def recursive_levels(requirements: Iterable[Requirement]) -> dict[str, list[int]]:
    """The levels l that recursive diversity asks about, per column."""
    out: dict[str, list[int]] = {}
    for r in requirements:
        if isinstance(r, req.RecursiveDiversity):
            out.setdefault(r.column, []).append(r.l)
    return out
