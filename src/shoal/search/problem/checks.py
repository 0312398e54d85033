"""Requirements in the form the search evaluates: thresholds on sizes, checks of sensitive values, checks of the table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from shoal.errors import UsageError, missing_column
from shoal.measures.classes.closeness import leaf_groups
from shoal.measures.classes.diversity import SensitiveProfile, profile
from shoal.model import requirement as req
from shoal.model.compare import at_most, slack
from shoal.model.counts.classes import BoolArray as Flags
from shoal.model.counts.classes import ClassCounts, FloatArray, IntArray
from shoal.search.kernels import sensitive_values as kernel

FROM_SAMPLE_UNIQUES = ("dankar", "zayatz", "snb")
"""Methods whose estimate of population uniques is 0 where the sample has none."""
NO_GROUPS = np.zeros((1, 1), dtype=np.int32)
NO_SIZES = np.ones(1, dtype=np.int64)
NO_MASS = np.zeros((1, 1), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class ValueCheck:
    """One requirement on a sensitive column, as arguments of the kernel.

    Its limits carry the tolerance of the comparison rule (:mod:`shoal.model.compare`): the kernel compares exactly.
    """

    kind: int
    first: float = 0.0
    second: float = 0.0
    limits: FloatArray = field(default_factory=lambda: np.zeros(1))
    groups: npt.NDArray[np.int32] = field(default_factory=lambda: NO_GROUPS)
    n_groups: IntArray = field(default_factory=lambda: NO_SIZES)
    mass: FloatArray = field(default_factory=lambda: NO_MASS)


@dataclass(frozen=True, eq=False)
class SensitiveChecks:
    """A sensitive column: its entries (cell, value by rank, count), its shares in the table, and its requirements."""

    column: str
    cells: npt.NDArray[np.int32]
    values: npt.NDArray[np.int32]
    counts: IntArray
    share: FloatArray
    checks: tuple[ValueCheck, ...]


@dataclass(frozen=True, eq=False)
class Checks:
    """All requirements. ``least`` and ``least_population`` are sizes; 0 where nothing is asked.

    ``monotone`` says whether feasibility is known to be inherited by generalizations: always for laws *merge*; for laws *union*
    only while nothing may be suppressed.
    """

    requirements: tuple[req.Requirement, ...]
    least: int
    least_population: int
    sensitive: tuple[SensitiveChecks, ...]
    average_risk: float  # 1 where nothing is asked
    uniqueness: float  # 1 where nothing is asked
    population_uniqueness: tuple[req.PopulationUniqueness, ...]

    def monotone(self, limit: int) -> bool:
        open_ = self.estimates
        laws = {r.law for r in self.requirements if r in open_ or r not in self.population_uniqueness}
        return "none" not in laws and (limit == 0 or "union" not in laws)

    @property
    def estimates(self) -> tuple[req.PopulationUniqueness, ...]:
        """The limits of population uniques that a table can miss.

        Where every published class has two members nobody is unique in the sample, and methods that start from sample uniques
        say 0.
        """
        return tuple(u for u in self.population_uniqueness if self.least < 2 or u.method not in FROM_SAMPLE_UNIQUES)

    @property
    def has_table_checks(self) -> bool:
        return self.average_risk < 1.0 or self.uniqueness < 1.0 or bool(self.estimates)


def build_checks(counts: ClassCounts, requirements: Sequence[req.Requirement], *, has_population: bool) -> Checks:
    """Sort requirements by what they look at; refuse what the counts cannot answer."""
    if not requirements:
        raise UsageError("nothing is required, so there is nothing to search for.", hint="Ask at least for k, for example K(5).")
    for r in requirements:
        if r.needs_sample:
            hint = "Pass K(smallest_for(…)) of shoal.kernels.matches."
            raise UsageError(f"the requirement '{r.kind}' is searched for as a class size.", hint=hint)
        if r.needs_population and not has_population:
            hint = "Pass population=…, counted over the same columns."
            raise UsageError(f"the requirement '{r.kind}' needs a population table.", hint=hint)
    sizes = [r.class_sizes(has_population=has_population) for r in requirements]

    def table(name: str) -> list[req.Requirement]:
        return [r for r in requirements if r.table_limit == name]

    return Checks(
        requirements=tuple(requirements),
        least=max(members for members, _ in sizes),
        least_population=max(people for _, people in sizes),
        sensitive=_sensitive(counts, requirements),
        average_risk=min((r.limit for r in table("average_risk")), default=1.0),
        uniqueness=min((r.limit for r in table("uniqueness")), default=1.0),
        population_uniqueness=tuple(r for r in table("population_uniqueness") if isinstance(r, req.PopulationUniqueness)),
    )


def _sensitive(counts: ClassCounts, requirements: Sequence[req.Requirement]) -> tuple[SensitiveChecks, ...]:
    by_column: dict[str, list[req.Requirement]] = {}
    for r in requirements:
        if r.sensitive is not None:
            by_column.setdefault(r.sensitive, []).append(r)
    out = []
    for column, requirements_of in by_column.items():
        if column in counts.columns:
            hint = "Give it the role sensitive."
            raise UsageError(f"a requirement speaks about '{column}', which is a quasi-identifier.", hint=hint, column=column)
        if column not in counts.sensitive:
            raise missing_column(column, tuple(counts.sensitive), table="counts", what="sensitive column")
        own = profile(counts, column)
        out.append(
            SensitiveChecks(
                column=column,
                cells=own.classes.astype(np.int32),
                values=own.ranks.astype(np.int32),
                counts=own.counts,
                share=own.overall,
                checks=tuple(
                    _value_check(r, limit, own) for r in requirements_of if (limit := r.value_limit(own.overall)) is not None
                ),
            )
        )
    return tuple(out)


_TESTS = {
    "distinct": kernel.DISTINCT,
    "entropy": kernel.ENTROPY,
    "recursive": kernel.RECURSIVE,
    "cap": kernel.CAP,
    "band": kernel.BAND,
}


def _value_check(r: req.Requirement, limit: req.ValueLimit, profile: SensitiveProfile) -> ValueCheck:
    if isinstance(r, req.TCloseness):
        return _closeness(r, limit.first, profile)
    return ValueCheck(_TESTS[limit.test], limit.first, limit.second, limit.limits)


def _closeness(r: req.TCloseness, most: float, profile: SensitiveProfile) -> ValueCheck:
    m = profile.n_values
    if r.distance == "ordered":
        return ValueCheck(kernel.ORDERED, most, groups=np.zeros((1, m), dtype=np.int32), mass=profile.overall[None, :])
    if r.distance == "equal":
        levels = [np.arange(m, dtype=np.int32)]
    else:
        if r.hierarchy is None:
            what = f"t-closeness of '{r.column}' with the hierarchical distance needs a hierarchy of that column."
            raise UsageError(what, hint="Pass hierarchy=…, or use distance='equal'.")
        levels = leaf_groups(profile, r.hierarchy)[:-1]
        levels = [np.unique(g, return_inverse=True)[1].astype(np.int32) for g in levels]
        if not levels:
            levels = [np.zeros(m, dtype=np.int32)]
    sizes = np.array([int(g.max()) + 1 for g in levels], dtype=np.int64)
    mass = np.zeros((len(levels), int(sizes.max())))
    for i, g in enumerate(levels):
        mass[i, : sizes[i]] = np.bincount(g, weights=profile.overall)
    return ValueCheck(kernel.LEVELS, most, groups=np.ascontiguousarray(np.stack(levels)), n_groups=sizes, mass=mass)


Crowd = Callable[[Flags], Mapping[int, int]]
"""People, each once, by the size of the smallest class of theirs among those kept."""


def suppress_for_table(
    checks: Checks, members: IntArray, records: IntArray, failed: Flags, limit: int, crowd: Crowd | None = None
) -> Flags:
    """The failed classes, and the smallest others that must go for the table's requirements.

    ``crowd`` counts people who are in several classes once; without it, members are added up.
    """
    lost = failed.copy()
    open_ = np.flatnonzero(~failed & (records > 0))
    order = open_[_by_size(members[open_])]
    cut = 0
    if crowd is None and checks.average_risk < 1.0:
        left = np.concatenate([np.cumsum(members[order][::-1])[::-1], [0]])  # members that stay after the first i go
        classes = len(order) - np.arange(len(order) + 1)
        cut = max(cut, int(np.argmax(classes <= (checks.average_risk + slack(checks.average_risk)) * left)))
    if crowd is None and checks.uniqueness < 1.0:
        alone = int((members[order] == 1).sum())
        total = int(members[order].sum())
        gone = np.arange(alone + 1)
        cut = max(cut, int(np.argmax(alone - gone <= (checks.uniqueness + slack(checks.uniqueness)) * (total - gone))))
    lost[order[:cut]] = True
    if crowd is not None or checks.estimates:
        _suppress_by_size(checks, members, records, order, cut, lost, limit, crowd)
    return lost


def table_holds(checks: Checks, members: IntArray, records: IntArray, lost: Flags, crowd: Crowd | None = None) -> bool:
    """Whether the classes that stay meet every requirement on the table. Nothing published meets them all."""
    there = ~lost & (records > 0)
    if not there.any():
        return True
    everybody = crowd(there) if crowd is not None else {size: size * n for size, n in size_table(members[there]).items()}
    total = sum(everybody.values())
    classes = {size: -(-n // size) for size, n in everybody.items()}
    return (
        at_most(sum(n / size for size, n in everybody.items()) / total, checks.average_risk)
        and at_most(everybody.get(1, 0) / total, checks.uniqueness)
        and (not checks.estimates or _population_holds(checks, classes))
    )


def _population_holds(checks: Checks, classes: dict[int, int]) -> bool:
    from shoal.prediction.population.uniques import unique_share  # a room of fifty files, for few searches

    return all(r.holds(unique_share(classes, r.population, r.method)) for r in checks.estimates)


def _suppress_by_size(
    checks: Checks, members: IntArray, records: IntArray, order: IntArray, cut: int, lost: Flags, limit: int, crowd: Crowd | None
) -> None:
    """Suppress classes size by size, smallest first, until the requirements are met or the limit is passed."""
    for size in np.unique(members[order[cut:]]):
        if int(records[lost].sum()) > limit or table_holds(checks, members, records, lost, crowd):
            return
        at = order[cut:]
        lost[at[members[at] <= size]] = True


def _by_size(members: IntArray) -> IntArray:
    """The order of classes by their members, alike ones as they come. Short numbers are sorted by their digits, which is fast."""
    short = members.max(initial=0) < 2**16
    return np.argsort(members.astype(np.uint16) if short else members, kind="stable")


def size_table(sizes: IntArray) -> dict[int, int]:
    """How many classes have each size."""
    return dict(zip(*(x.tolist() for x in np.unique(sizes, return_counts=True)), strict=True))
