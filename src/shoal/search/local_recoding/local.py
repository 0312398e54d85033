"""Local (multidimensional) recoding: each class gets the finest published values that still have company.

Takes    base ClassCounts, hierarchies, requirements
Returns  LocalResult: a published class for each base class; no record is suppressed
Keeps    every published class meets every requirement; every published value is true of its records
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from shoal.errors import InfeasibleError, UsageError
from shoal.kernels.arrow import from_numpy
from shoal.model import requirement as req
from shoal.model.compare import class_for
from shoal.model.counts.classes import ClassCounts, IntArray
from shoal.model.display import Progress
from shoal.model.hierarchy import Hierarchy
from shoal.search.full_domain.evaluator import Evaluator
from shoal.search.full_domain.infeasible import refuse_contradictions
from shoal.search.full_domain.lattice import default_threads
from shoal.search.full_domain.objective import EPSILON
from shoal.search.local_recoding.cluster import cluster, join_failing, prices, runs, warm_up
from shoal.search.local_recoding.cover import cover, polish
from shoal.search.local_recoding.mondrian import mondrian
from shoal.search.local_recoding.published import CellKind, Published, cell_kinds, make_trees, publish, published_table
from shoal.search.problem.checks import Checks, build_checks, table_holds
from shoal.search.problem.column import Pairs
from shoal.search.problem.control import CancelSignal, Control
from shoal.search.problem.losses import column_weights
from shoal.search.problem.problem import Problem, build_problem

COMPARED = 50_000
"""Classes up to which the best recoding is compared with strict Mondrian's."""
METHODS = ("best", "cover", "cluster", "mondrian")


@dataclass(frozen=True, eq=False)
class LocalResult:
    """A local recoding: a published class for each base class, and what it costs.

    ``loss`` is ARX's loss and ``ncp`` the normalised certainty penalty of what is published; ``domain_ncp`` counts only the
    values that occur in the data as the domain.
    """

    method: str
    groups: IntArray
    kinds: tuple[CellKind, ...]
    loss: float
    ncp: float
    domain_ncp: float
    records: int
    classes: int
    seconds: float
    requirements: tuple[req.Requirement, ...]
    stopped: str = ""
    suppressed: int = 0
    problem: Problem = field(repr=False, default=None)  # type: ignore[assignment]
    published: tuple[Published, ...] = field(repr=False, default=())

    @cached_property
    def labels(self) -> list[list[str | None]]:
        """Per column, the published value of each base class; None where it stays missing."""
        return [[p.labels[g] for g in self.groups] for p in self.published]

    def class_map(self) -> Any:
        """The class map of RECODE: one row per base class, original values and ``<column>\\0published``."""
        counts = self.problem.counts
        coded = zip(counts.categories, counts.codes, strict=True)
        originals = [values.take(from_numpy(np.where(codes < 0, 0, codes), codes < 0)) for values, codes in coded]
        return published_table(counts.columns, originals, self.labels)


def local(
    counts: ClassCounts,
    hierarchies: Mapping[str, Hierarchy],
    requirements: Sequence[req.Requirement],
    *,
    cells: str | Mapping[str, str] = "hierarchy",
    method: str = "best",
    weights: Mapping[str, float] | None = None,
    people: Pairs | None = None,
    time_budget: float | None = None,
    cancel: CancelSignal | None = None,
    progress: Progress | None = None,
) -> LocalResult:
    """Recode locally, without suppressing a record.

    Parameters
    ----------
    cells : str or mapping of column to str
        What a published cell may be: ``hierarchy`` (a value of the hierarchy), ``sets`` (a set of values) or ``ranges``
        (from–to for numbers and dates, sets for the rest); neither names a value that fewer people have than a class needs.
    method : str
        ``best`` (``cover`` where all cells are hierarchy values, else ``cluster``; in tables of up to 50,000 classes also
        ``mondrian``, should that have the lower NCP), or one by name: ``cover``, ``cluster``, ``mondrian`` (strict).
    people : pair of arrays, optional
        As in :func:`shoal.search.lattice`.
    time_budget, cancel, progress
        Stop after so many seconds, or when ``cancel.is_set()``. Strict Mondrian's recoding and the compilation of kernels are not
        charged to the budget, so that ``best`` never loses more than Mondrian in a table of up to 50,000 classes.

    Examples
    --------
    >>> import pyarrow as pa
    >>> ages, wards = pa.array(["31", "38"]), pa.array(["a", "b", "c"])
    >>> counts = ClassCounts((1, 1, 2, 2, 2), ("age", "ward"), [[0, 0, 1, 1, 1], [0, 1, 0, 1, 2]], [ages, wards])
    >>> age = Hierarchy.from_rows("age", [["31", "*"], ["38", "*"]])
    >>> ward = Hierarchy.from_rows("ward", [["a", "*"], ["b", "*"], ["c", "*"]])
    >>> local(counts, {"age": age, "ward": ward}, [req.K(2)], cells="sets").labels
    [['31', '31', '38', '38', '38'], ['{a, b}', '{a, b}', 'a', 'b', 'c']]
    """
    control = Control(time_budget=time_budget, cancel=cancel, progress=progress)
    if method not in METHODS:
        raise UsageError(f"method '{method}' is not known.", hint=f"Methods: {', '.join(METHODS)}.")
    problem = build_problem(counts, hierarchies, people=people)
    asked = build_checks(counts, requirements, has_population=False)
    refuse_contradictions(problem, asked)
    checks = _class_sizes(asked)
    evaluator = Evaluator(problem, checks, 0, threads=default_threads())
    kinds = cell_kinds(problem, cells)
    if method == "best":
        return _best(evaluator, asked, kinds, weights, control)
    label = _partition(method, evaluator, kinds, weights, control)
    return _result(method, evaluator, asked, kinds, label, weights, control)


def _best(
    evaluator: Evaluator, asked: Checks, kinds: tuple[CellKind, ...], weights: Mapping[str, float] | None, control: Control
) -> LocalResult:
    """The recoding made for these cells; in tables of moderate size strict Mondrian's, where that has the lower NCP."""
    other = None
    if evaluator.problem.n_base <= COMPARED:
        label = _partition("mondrian", evaluator, kinds, weights, control)
        with contextlib.suppress(InfeasibleError):
            other = _result("mondrian", evaluator, asked, kinds, label, weights, control)
    method = "cover" if set(kinds) == {"hierarchy"} else "cluster"
    label = _partition(method, evaluator, kinds, weights, control)
    found = _result(method, evaluator, asked, kinds, label, weights, control)
    if other is not None and other.ncp < found.ncp - EPSILON:
        found = other
    return dataclasses.replace(found, seconds=control.seconds, stopped=control.reason)


def _class_sizes(checks: Checks) -> Checks:
    """Requirements on the whole table as class sizes that guarantee them: an average risk r by classes of 1/r, uniques by 2."""
    least = max(checks.least, 1)
    if checks.average_risk < 1.0:
        least = max(least, class_for(checks.average_risk))
    if checks.uniqueness < 1.0:
        least = max(least, 2)
    return dataclasses.replace(checks, least=least)


def _partition(
    method: str, evaluator: Evaluator, kinds: tuple[CellKind, ...], weights: Mapping[str, float] | None, control: Control
) -> IntArray:
    problem, checks = evaluator.problem, evaluator.checks
    if method == "mondrian":
        return mondrian(evaluator, control)
    if not evaluator.is_small:
        control.compiling()
    warm_up(evaluator)
    sets: tuple[CellKind, ...] = tuple("set" if k == "hierarchy" else k for k in kinds)
    if method == "cluster":
        control.begin()
        return cluster(evaluator, sets, weights, checks.least, control)
    trees = make_trees(problem, weights)
    label = cover(evaluator, trees, control)
    alone = np.flatnonzero(label < 0)
    label[alone] = label.max(initial=-1) + 1
    if control.stop():
        rest = alone[np.lexsort(problem.codes[::-1, alone])]
        label[rest] += runs(problem, rest, checks.least)
    label = join_failing(evaluator, label, sets, prices(problem, weights), control)
    if not checks.sensitive and problem.overlap is None:
        records = problem.measures[0, : problem.n_base]
        sizes = problem.measures[problem.members_at, : problem.n_base]
        label = polish(trees, label, records, sizes, checks.least, control)
    return label


def _result(
    method: str,
    evaluator: Evaluator,
    asked: Checks,
    kinds: tuple[CellKind, ...],
    label: IntArray,
    weights: Mapping[str, float] | None,
    control: Control,
) -> LocalResult:
    problem = evaluator.problem
    label = np.unique(label, return_inverse=True)[1].astype(np.int64)
    n = int(label.max()) + 1
    codes = problem.codes[:, : problem.n_base]
    published = tuple(
        publish(c, kind, codes[j], label, n, _rare(evaluator, j))
        for j, (c, kind) in enumerate(zip(problem.columns, kinds, strict=True))
    )
    mass = np.bincount(label, weights=problem.measures[0, : problem.n_base], minlength=n)
    sums = evaluator.sums_of(label, n)
    members, crowd = sums[problem.members_at], evaluator.crowd(evaluator.base_source(), label.astype(np.int32), sums)
    if not table_holds(asked, members, members, np.zeros(n, dtype=np.bool_), crowd):
        raise InfeasibleError(
            "the recoding does not meet a requirement on the whole table.",
            hint="Ask for a larger k as well.",
            alternatives=(),
            blocking=(),
        )
    loss, ncp, domain = _losses(problem, published, mass, weights)
    control.show(1.0, "done")
    return LocalResult(
        method=method,
        groups=label,
        kinds=kinds,
        loss=loss,
        ncp=ncp,
        domain_ncp=domain,
        records=problem.n_records,
        classes=n,
        seconds=control.seconds,
        requirements=asked.requirements,
        stopped=control.reason,
        problem=problem,
        published=published,
    )


def _rare(evaluator: Evaluator, j: int) -> np.ndarray:
    """Of each code of a column whether fewer people have it than a class must have; a missing value is never rare."""
    problem = evaluator.problem
    n = len(problem.columns[j].leaves)
    people = evaluator.sums_of(problem.codes[j, : problem.n_base].astype(np.int64), n)[problem.members_at]
    rare: np.ndarray = people < evaluator.checks.least
    rare[-1] = False
    return rare


def _losses(
    problem: Problem, published: tuple[Published, ...], mass: np.ndarray, weights: Mapping[str, float] | None
) -> tuple[float, float, float]:
    """ARX's loss, NCP over the hierarchy's leaves, and NCP over the values that occur."""
    share = column_weights(problem.names, weights)
    full, seen = [], []
    for column, cell in zip(problem.columns, published, strict=True):
        extra = float((mass * (cell.covered - 1.0)).sum()) / problem.n_records
        full.append(max(0.0, extra / max(1, column.hierarchy.n_leaves - 1)))
        seen.append(max(0.0, extra / max(1, len(column.leaves) - 2)))
    per = np.array(full)
    return float(np.expm1(share @ np.log1p(per))), float(share @ per), float(share @ np.array(seen))
