"""How large are the classes? k, the class-size table, people in small classes, and the same per subpopulation.

Takes    ClassCounts (members are people where the table has a unit, else records)
Counts   everybody once: a person in several classes by the smallest of them; class sizes and k are over classes
Keeps    k of a subset of columns is at least k of all; merging classes never lowers k
Source   METHODS §2; quartiles are R type 7 (numpy "linear"), taken over classes, not over people
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from shoal.errors import InternalError
from shoal.kernels.group import Memberships
from shoal.measures.metrics import metric
from shoal.model.counts.classes import ClassCounts, FloatArray, IntArray

HELPERS = ("class_sizes", "each_once", "members_of", "people_at", "size_table", "subpopulations", "pearson", "spearman")
THRESHOLDS = (1, 5, 10, 50, 100)
NAMED_FROM = 10
"""A subpopulation with fewer members is not named in a result."""


class Groups(Protocol):
    """Groups that people hide in: the classes of a table, or the crowds of a rule for missing values."""

    @property
    def sizes(self) -> IntArray:
        """Size of each group."""
        ...

    @property
    def n_members(self) -> int:
        """Members of all groups, each counted once."""
        ...


def members_of(groups: Groups) -> IntArray:
    """Members that belong to each group: its size, or fewer where groups overlap (``members`` of crowds).

    >>> members_of(ClassCounts((3, 2))).tolist()
    [3, 2]
    """
    members: IntArray = getattr(groups, "members", groups.sizes)
    return members


def each_once(groups: Groups) -> Groups:
    """Groups in which nobody is twice: of classes, everybody by the smallest class they are in."""
    return groups.everybody if isinstance(groups, ClassCounts) else groups


@metric("k", reads="classes", low=1, safer="higher", merging="never lower", doubling="doubles")
def k_anonymity(groups: Groups) -> int:
    r"""Size of the smallest class.

    .. math:: k = \min_c n_c

    Returns
    -------
    int
        At least 1. An empty table has no k: ``ClassCounts`` refuses it.

    Examples
    --------
    >>> k_anonymity(ClassCounts((3, 2, 5)))
    2
    """
    return int(groups.sizes.min())


@metric("unique", reads="classes", low=0, safer="lower", merging="never higher", doubling="free")
def unique_members(groups: Groups) -> int:
    """Members who are alone in at least one group.

    >>> unique_members(ClassCounts((1, 1, 4)))
    2
    """
    return people_at(groups, (1,))[1]


@metric("unique_share", reads="classes", low=0, high=1, safer="lower", merging="never higher", doubling="free")
def unique_share(groups: Groups) -> float:
    """Share of members who are alone in at least one class.

    >>> unique_share(ClassCounts((1, 1, 2)))
    0.5
    """
    return unique_members(groups) / each_once(groups).n_members


@metric("classes", reads="classes", low=1, safer="lower", merging="never higher", doubling="same")
def n_classes(counts: ClassCounts) -> int:
    """Number of classes.

    >>> n_classes(ClassCounts((1, 1, 2)))
    3
    """
    return counts.n_classes


@dataclass(frozen=True)
class SizeTable:
    """Summary of class sizes over classes (Table A of the sources)."""

    sets: int
    min: int
    q1: float
    median: float
    mean: float
    q3: float
    max: int

    def to_json(self) -> dict[str, object]:
        return {"min": self.min, "q1": self.q1, "median": self.median, "mean": self.mean, "q3": self.q3, "max": self.max}


def size_table(sizes: IntArray) -> SizeTable:
    """Number of classes, smallest, quartiles (R type 7), mean and largest.

    >>> size_table(np.array([1, 1, 2, 3, 3, 5, 8, 13]))
    SizeTable(sets=8, min=1, q1=1.75, median=3.0, mean=4.5, q3=5.75, max=13)
    """
    q1, median, q3 = _quartiles(sizes)
    return SizeTable(len(sizes), int(sizes.min()), q1, median, float(sizes.mean()), q3, int(sizes.max()))


def _quartiles(sizes: IntArray) -> tuple[float, float, float]:
    """The three quartiles, exactly; numpy's own loads its masked arrays first, a fiftieth of a small run."""
    last = len(sizes) - 1
    at = [divmod(quarter * last, 4) for quarter in (1, 2, 3)]
    ranked = np.partition(sizes, sorted({i for low, _ in at for i in (low, min(low + 1, last))}))
    q1, median, q3 = (int(ranked[low]) + (int(ranked[min(low + 1, last)]) - int(ranked[low])) * part / 4 for low, part in at)
    return q1, median, q3


def class_sizes(groups: Groups) -> SizeTable:
    """The table of sizes of some groups.

    >>> class_sizes(ClassCounts((1, 1, 1, 1, 496))).mean
    100.0
    """
    return size_table(groups.sizes)


def people_at(groups: Groups, thresholds: Sequence[int] = THRESHOLDS) -> dict[int, int]:
    """Members in at least one group of at most so many (Table B of the sources): never falls from left to right.

    >>> people_at(ClassCounts((1, 1, 2, 3, 3, 5, 8, 13)))
    {1: 2, 5: 15, 10: 23, 50: 36, 100: 36}
    """
    once = each_once(groups)
    members = members_of(once)
    return {int(t): int(members @ (once.sizes <= t)) for t in thresholds}


@dataclass(frozen=True)
class Subpopulation:
    """The class sizes inside one subpopulation; ``name`` is None where the group is too small to be named."""

    name: str | None
    members: int
    sizes: SizeTable
    unique: int

    def to_json(self) -> dict[str, object]:
        out: dict[str, Any] = {"name": self.name, "members": self.members, "classes": self.sizes.sets, "k": self.sizes.min}
        return out | {"unique": self.unique, "class_sizes": self.sizes.to_json()}


@dataclass(frozen=True)
class Subpopulations:
    """The table of subpopulations, largest first, and how their size goes with the median class size."""

    column: str
    groups: tuple[Subpopulation, ...]
    pearson: float | None
    spearman: float | None

    def to_json(self) -> dict[str, object]:
        return {
            "column": self.column,
            "groups": [g.to_json() for g in self.groups],
            "correlation": {"pearson": self.pearson, "spearman": self.spearman},
            "small_groups_not_named": sum(1 for g in self.groups if g.name is None),
        }


def subpopulations(
    counts: ClassCounts,
    by: str,
    *,
    names: Mapping[int, str] | None = None,
    named_from: int = NAMED_FROM,
    who: Memberships | None = None,
) -> Subpopulations:
    """Class sizes inside each value of ``by``, which must be one of the counted columns.

    ``names`` are those of the subpopulations by code; those with fewer than ``named_from`` members stay without a name. ``who``
    is in which class is needed where people are in several: each is one member of every subpopulation they have a row in.

    >>> c = ClassCounts((12, 3, 1), columns=("town", "sex"), codes=([0, 0, 1], [0, 1, 0]))
    >>> s = subpopulations(c, "town", names={0: "Delft", 1: "Urk"})
    >>> [(g.name, g.members, g.sizes.min, g.unique) for g in s.groups]
    [('Delft', 15, 3, 0), (None, 1, 1, 1)]
    """
    code = counts.codes[counts.column(by)]
    order = np.argsort(code, kind="stable")
    bounds = np.flatnonzero(np.diff(code[order])) + 1
    groups = []
    for rows in np.split(order, bounds):
        sizes = counts.sizes[rows]
        value = int(code[rows[0]])
        here = _inside(counts, rows, who)
        name = (names or {}).get(value) if here.n_members >= named_from else None
        groups.append(Subpopulation(name, here.n_members, size_table(sizes), unique_members(here)))
    groups.sort(key=lambda g: (-g.members, g.name or ""))
    members = np.array([g.members for g in groups], dtype=np.float64)
    medians = np.array([g.sizes.median for g in groups], dtype=np.float64)
    return Subpopulations(by, tuple(groups), pearson(members, medians), spearman(members, medians))


def _inside(counts: ClassCounts, rows: IntArray, who: Memberships | None) -> Groups:
    """Everybody in some of the classes once, by the smallest of those classes."""
    if counts.adds_up:
        return ClassCounts(counts.sizes[rows])
    if who is None:
        raise InternalError("people are in several classes; who is in which is not known.", hint="Pass who=.")
    keep = np.zeros(counts.n_classes, np.bool_)
    keep[rows] = True
    return who.inside(keep).counts(counts.sizes[keep])


def pearson(x: FloatArray, y: FloatArray) -> float | None:
    """Pearson correlation; None where it is not defined (fewer than two points, or no spread).

    >>> pearson(np.array([1.0, 2.0, 3.0]), np.array([2.0, 4.0, 6.0]))
    1.0
    >>> pearson(np.array([1.0, 1.0]), np.array([1.0, 2.0])) is None
    True
    """
    if len(x) < 2:
        return None
    dx, dy = x - x.mean(), y - y.mean()
    scale = float(np.sqrt((dx @ dx) * (dy @ dy)))
    if scale <= 1e-12 * float(np.abs(x).max() * np.abs(y).max()):
        return None
    return float(np.clip(dx @ dy / scale, -1.0, 1.0))


def spearman(x: FloatArray, y: FloatArray) -> float | None:
    """Spearman's rank correlation, ties sharing their mean rank.

    >>> spearman(np.array([1.0, 2.0, 30.0]), np.array([2.0, 4.0, 5.0]))
    1.0
    """
    return pearson(_ranks(x), _ranks(y))


def _ranks(x: FloatArray) -> FloatArray:
    _, inverse, count = np.unique(x, return_inverse=True, return_counts=True)
    last = np.cumsum(count)
    return ((last - count + 1 + last) / 2.0)[inverse]
