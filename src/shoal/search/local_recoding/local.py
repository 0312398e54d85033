"""Local (multidimensional) recoding: each class gets the finest published values that still have company.

Takes    base ClassCounts, hierarchies, requirements
Returns  LocalResult: a published class for each base class, and the few that are left out if that is allowed and loses less
Keeps    every published class meets every requirement; every published value is true of its records, within the level bounds
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from shoal.errors import InfeasibleError, UsageError
from shoal.kernels.group import group_codes
from shoal.model import requirement as req
from shoal.model.compare import class_for, most_of
from shoal.model.counts.classes import BoolArray as Flags
from shoal.model.counts.classes import ClassCounts, IntArray
from shoal.model.display import Progress
from shoal.model.hierarchy import Hierarchy
from shoal.model.plan import SUPPRESSED
from shoal.search.full_domain.evaluator import Evaluator
from shoal.search.full_domain.infeasible import refuse_contradictions
from shoal.search.full_domain.lattice import default_threads
from shoal.search.full_domain.objective import EPSILON
from shoal.search.local_recoding.cluster import gather, join_failing, prices, runs, warm_up
from shoal.search.local_recoding.cover import cover, polish
from shoal.search.local_recoding.leave_out import leave_out
from shoal.search.local_recoding.mondrian import mondrian
from shoal.search.local_recoding.published import CellKind, Labels, Published, cell_kinds, make_trees, publish, published_table
from shoal.search.problem.checks import Checks, build_checks, table_holds
from shoal.search.problem.column import Column, Pairs
from shoal.search.problem.control import CancelSignal, Control
from shoal.search.problem.losses import column_weights
from shoal.search.problem.problem import Bounds, Problem, build_problem

COMPARED = 50_000
"""Classes up to which the best recoding is compared with strict Mondrian's."""
MANY_RARE, SMALL = 0.05, 500
"""Share of records with a rare value above which, and classes up to which, sets are also made from the clusters of ``cover``;
in such small tables also from those of ranges."""
METHODS = ("best", "cover", "cluster", "mondrian")
Known = dict[Hashable, IntArray]
"""The clusters of each step and requirements, for recodings of one table that differ in their cells alone."""


@dataclass(frozen=True, eq=False)
class LocalResult:
    """A local recoding: a published class for each base class, and what it costs.

    ``loss`` is ARX's loss and ``ncp`` the normalised certainty penalty of what is published; ``domain_ncp`` counts only the
    values that occur in the data as the domain; ``by_column`` is what each column loses of its domain. A record that is left
    out costs as much as one that is fully generalized; its class is the last of ``groups``, published as ``*`` in every column,
    which no other is.
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
    by_column: tuple[float, ...] = ()
    stays: Flags = field(repr=False, default=None)  # type: ignore[arg-type]
    problem: Problem = field(repr=False, default=None)  # type: ignore[assignment]
    published: tuple[Published, ...] = field(repr=False, default=())

    @cached_property
    def labels(self) -> list[list[str | None]]:
        """Per column, the published value of each base class; None where it stays missing."""
        return [[p.labels[g] for g in self.groups] for p in self.published]

    def kept_table(self) -> Any:
        """The published classes that stay, one row each, for RECODE."""
        n = int(self.groups[self.stays].max()) + 1
        names = self.problem.counts.columns
        columns = [p.texts[:n] for p in self.published]
        return pa.table(columns, names=list(names))

    def class_map(self) -> Any:
        """The class map of RECODE: one row per base class, original values and ``<column>\\0published``."""
        return published_table(self.problem.counts, [p.texts for p in self.published], self.groups)


def local(
    counts: ClassCounts,
    hierarchies: Mapping[str, Hierarchy],
    requirements: Sequence[req.Requirement],
    *,
    cells: str | Mapping[str, str] = "hierarchy",
    method: str = "best",
    suppress: float = 0.0,
    weights: Mapping[str, float] | None = None,
    bounds: Bounds | None = None,
    people: Pairs | None = None,
    thorough: bool = True,
    known: Known | None = None,
    time_budget: float | None = None,
    cancel: CancelSignal | None = None,
    progress: Progress | None = None,
) -> LocalResult:
    """Recode locally. At most a share ``suppress`` of the records is left out, and only if that loses less or bounds require it.

    Parameters
    ----------
    cells : str or mapping of column to str
        What a published cell may be: ``hierarchy`` (a value of the hierarchy), ``sets`` (a set of values) or ``ranges``
        (from–to for numbers and dates, sets for the rest); neither names a value that fewer people have than a class needs.
    method : str
        ``best`` (``cover`` where all cells are hierarchy values, else ``cluster``, and ``cover`` in small tables and where rare
        values are many; up to 50,000 classes also ``mondrian``; lowest NCP), or ``cover``, ``cluster``, ``mondrian`` (strict).
    bounds, people
        As in :func:`shoal.search.lattice`. A column with a lowest level above 0 publishes hierarchy values.
    thorough : bool
        Whether ``best`` tries ``cover`` in larger tables, too, if rare values are many: that can take 20 s.
    known : dict, optional
        Receives the clusters found, and is looked into before they are: for calls that differ only in ``cells`` and requirements.
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
    problem = build_problem(counts, hierarchies, bounds=bounds, people=people)
    conditions = build_checks(counts, requirements, has_population=False)
    refuse_contradictions(problem, conditions)
    checks = _class_sizes(conditions)
    evaluator = Evaluator(problem, checks, 0, threads=default_threads())
    capped = tuple(j for j, name in enumerate(problem.names) if bounds and bounds.get(name, (None, None))[1] is not None)
    limit = most_of(suppress, problem.n_records)
    clusters = {} if known is None else known
    run = Run(
        evaluator, conditions, cell_kinds(problem, cells), weights, control, _blocks(problem, capped), capped, limit, clusters
    )
    return _best(run, thorough=thorough) if method == "best" else _recode(run, method)


@dataclass(frozen=True, eq=False)
class Run:
    """What the steps of one recoding need. A class may only share a published class with those of its ``block``, which the
    highest levels of the ``capped`` columns make; at most ``limit`` records are left out."""

    evaluator: Evaluator
    asked: Checks
    kinds: tuple[CellKind, ...]
    weights: Mapping[str, float] | None
    control: Control
    block: IntArray
    capped: tuple[int, ...]
    limit: int
    known: Known


def _blocks(problem: Problem, capped: tuple[int, ...]) -> IntArray:
    """The group of each base class at the highest level of these columns."""
    codes = [problem.columns[j].groups[-1][problem.codes[j, : problem.n_base]] for j in capped]
    return group_codes(codes, n_rows=problem.n_base).ids.astype(np.int64)


def _best(run: Run, *, thorough: bool) -> LocalResult:
    """The recoding made for these cells with the lowest NCP; in tables of moderate size strict Mondrian's is compared, too."""
    only_values = set(run.kinds) == {"hierarchy"}
    results: list[LocalResult] = []
    with contextlib.suppress(InfeasibleError):
        results += [_recode(run, "mondrian")] if run.evaluator.problem.n_base <= COMPARED else []
    results.insert(0, _recode(run, "cover" if only_values else "cluster"))
    small = run.evaluator.problem.n_base <= SMALL
    with contextlib.suppress(InfeasibleError):
        results += [_recode(run, "cover")] if not only_values and (small or (thorough and _many_rare(run))) else []
        ranges = cell_kinds(run.evaluator.problem, "ranges")
        results += [_recode(run, "cluster", ranges)] if small and "set" in run.kinds and ranges != run.kinds else []
    best = min(results, key=lambda one: round(one.ncp, 12))
    return dataclasses.replace(best, seconds=run.control.seconds, stopped=run.control.reason)


def _many_rare(run: Run) -> bool:
    """Whether many records have a value that sets and ranges must not name, so that their cells are hierarchy values."""
    problem, every = run.evaluator.problem, np.ones(run.evaluator.problem.n_base, dtype=np.bool_)
    named = [j for j, kind in enumerate(run.kinds) if kind != "hierarchy"]
    hidden = np.any([_rare(run.evaluator, j, every)[problem.codes[j, : problem.n_base]] for j in named], axis=0)
    return bool(problem.measures[0, : problem.n_base][hidden].sum() > MANY_RARE * problem.n_records)


def _recode(run: Run, method: str, kinds: tuple[CellKind, ...] = ()) -> LocalResult:
    """The recoding of one method, clustered as for cells of these kinds, with records left out if that loses less."""
    label = _clusters(dataclasses.replace(run, kinds=kinds or run.kinds), method)
    result = _result(run, method, label)
    limit, named = run.limit - result.suppressed, tuple(kind != "hierarchy" for kind in run.kinds)
    key = ("left out", named, limit, _digest(label))
    fewer = _once(run, key, lambda: leave_out(run.evaluator, named, run.weights, label, limit, run.control))
    if np.array_equal(fewer, label):
        return result
    with contextlib.suppress(InfeasibleError):
        other = _result(run, method, fewer)
        result = other if other.loss < result.loss - EPSILON else result
    return result


def _class_sizes(checks: Checks) -> Checks:
    """Requirements on the whole table as class sizes that guarantee them: an average risk r by classes of 1/r, uniques by 2."""
    least = max(checks.least, 1)
    if checks.average_risk < 1.0:
        least = max(least, class_for(checks.average_risk))
    if checks.uniqueness < 1.0:
        least = max(least, 2)
    return dataclasses.replace(checks, least=least)


def _clusters(run: Run, method: str) -> IntArray:
    """A cluster for each base class, inside its block; −1 if its block is too small."""
    sets: tuple[CellKind, ...] = tuple("set" if k == "hierarchy" else k for k in run.kinds)
    kinds = sets if method != "mondrian" or run.block.any() else ()
    return _once(run, (method, kinds), lambda: _partition(run, method, sets))


def _once(run: Run, key: tuple[Hashable, ...], find: Callable[[], IntArray]) -> IntArray:
    """Clusters that are found once for these requirements. What was stopped is not kept."""
    label = run.known.get((run.asked.requirements, *key))
    if label is None:
        label = find()
        if not run.control.reason:
            run.known[run.asked.requirements, *key] = label
    return label


def _digest(label: IntArray) -> bytes:
    return hashlib.blake2b(label.tobytes()).digest()


def _partition(run: Run, method: str, sets: tuple[CellKind, ...]) -> IntArray:
    evaluator, control = run.evaluator, run.control
    problem, checks = evaluator.problem, evaluator.checks
    price = prices(problem, run.weights)
    if method == "mondrian":
        label = mondrian(evaluator, control)
        return _with_company(run, join_failing(evaluator, label, sets, price, control, run.block) if run.block.any() else label)
    if not evaluator.is_small:
        control.compiling()
    if control.has_clock:
        warm_up(evaluator)
    if method == "cluster":
        control.begin()
        label = gather(problem, sets, price, checks.least, control, run.block)
        return _with_company(run, join_failing(evaluator, label, sets, price, control, run.block))
    trees = make_trees(problem, run.weights, run.capped)
    label = _once(run, ("covered",), lambda: cover(evaluator, trees, control)).copy()  # the same for cells of any kind
    control.begin()
    alone = np.flatnonzero(label < 0)
    label[alone] = label.max(initial=-1) + 1
    if control.stop():
        rest = alone[np.lexsort(problem.codes[::-1, alone])]
        label[rest] += runs(problem, rest, checks.least)
    label = join_failing(evaluator, label, sets, price, control, run.block)
    if not checks.sensitive and problem.overlap is None:
        records = problem.measures[0, : problem.n_base]
        sizes = problem.measures[problem.members_at, : problem.n_base]
        key = ("polished", _digest(label))
        label = _once(run, key, lambda: polish(trees, label, records, sizes, checks.least, control))
    return _with_company(run, label)


def _with_company(run: Run, label: IntArray) -> IntArray:
    """The clusters without those that no other of their block can join; an error if these have too many records."""
    if not run.block.any():
        return label
    evaluator, n_records = run.evaluator, run.evaluator.problem.n_records
    sums = evaluator.sums_of(label, int(label.max()) + 1)
    good = evaluator.passing(evaluator.base_source(), label.astype(np.int32), sums)
    lacking = int(sums[0][~good].sum())
    if lacking > run.limit or not good.any():
        what = f"at the highest levels given, {lacking:,} of {n_records:,} records have too few others to share a class with; "
        what += f"{run.limit:,} may be left out."
        raise InfeasibleError(what, hint="Raise max_level, allow more suppression, or ask for less.")
    return np.where(good[label], label, -1)


def _result(run: Run, method: str, label: IntArray) -> LocalResult:
    """What the clusters publish. Those of −1 are left out, or join the class that is published as ``*`` in every column."""
    evaluator, problem, control = run.evaluator, run.evaluator.problem, run.control
    stays = label >= 0
    label = label.copy()
    label[stays] = np.unique(label[stays], return_inverse=True)[1]
    n = int(label.max()) + 1
    published = _published(run, label, n)
    if not stays.all():
        blank = [g for g, labels in enumerate(zip(*(p.labels for p in published), strict=True)) if {*labels} == {SUPPRESSED}]
        label[~stays] = blank[0] if blank else n
        if blank:
            stays, published = np.ones_like(stays), _published(run, label, n)
        else:
            published = tuple(_with_blank(c, p) for c, p in zip(problem.columns, published, strict=True))
            n += 1
    mass = np.bincount(label, weights=problem.measures[0, : problem.n_base], minlength=n)
    sums, gid = evaluator.sums_of(label, n), label.astype(np.int32)
    members, crowd = sums[problem.members_at], evaluator.crowd(evaluator.base_source(), gid, sums)
    lost = np.zeros(n, dtype=np.bool_)
    lost[label[~stays]] = True
    met = table_holds(run.asked, members, sums[0], lost, crowd)
    if not met or not (evaluator.passing(evaluator.base_source(), gid, sums) | lost).all():
        raise InfeasibleError("the recoding does not meet a requirement on the whole table.", hint="Ask for a larger k as well.")
    loss, ncp, domain, lost_by = _losses(problem, published, mass, run.weights)
    control.show(1.0, "done")
    return LocalResult(
        method=method,
        groups=label,
        kinds=run.kinds,
        loss=loss,
        ncp=ncp,
        domain_ncp=domain,
        records=problem.n_records,
        classes=n - int(lost.any()),
        seconds=control.seconds,
        requirements=run.asked.requirements,
        stopped=control.reason,
        suppressed=int(sums[0][lost].sum()),
        by_column=lost_by,
        stays=stays,
        problem=problem,
        published=published,
    )


def _published(run: Run, label: IntArray, n: int) -> tuple[Published, ...]:
    """What each cluster publishes in each column."""
    problem, stays = run.evaluator.problem, label >= 0
    codes = problem.codes[:, : problem.n_base]
    return tuple(
        publish(column, kind, codes[j][stays], label[stays], n, _rare(run.evaluator, j, stays))
        for j, (column, kind) in enumerate(zip(problem.columns, run.kinds, strict=True))
    )


def _with_blank(column: Column, cells: Published) -> Published:
    """The published values with one more cluster, of those left out."""

    def labels() -> Labels:
        names, index = cells.named
        return [*names, SUPPRESSED], np.append(index, len(names))

    return Published(np.append(cells.covered, column.hierarchy.n_leaves), labels)


def _rare(evaluator: Evaluator, j: int, stays: Flags) -> Flags:
    """Of each code of a column whether fewer of the people who stay have it than a class must have; a missing one never is."""
    problem = evaluator.problem
    n = len(problem.columns[j].leaves)
    codes = np.where(stays, problem.codes[j, : problem.n_base], n).astype(np.int64)
    people = evaluator.sums_of(codes, n + 1)[problem.members_at, :n]
    rare: Flags = people < evaluator.checks.least
    rare[-1] = False
    return rare


def _losses(
    problem: Problem, published: tuple[Published, ...], mass: np.ndarray, weights: Mapping[str, float] | None
) -> tuple[float, float, float, tuple[float, ...]]:
    """ARX's loss, NCP over the hierarchy's leaves, NCP over the values that occur, and the share lost of each column."""
    share = column_weights(problem.names, weights)
    full, seen = [], []
    for column, cell in zip(problem.columns, published, strict=True):
        extra = float((mass * (cell.covered - 1.0)).sum()) / problem.n_records
        full.append(max(0.0, extra / max(1, column.hierarchy.n_leaves - 1)))
        seen.append(max(0.0, extra / max(1, len(column.leaves) - 2)))
    per = np.array(full)
    return float(np.expm1(share @ np.log1p(per))), float(share @ per), float(share @ np.array(seen)), tuple(full)
