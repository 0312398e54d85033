"""Provably optimal full-domain generalization with record suppression.

Takes    base ClassCounts, a Hierarchy per quasi-identifier, requirements, the share of records that may be suppressed
Returns  SearchResult; InfeasibleError with the nearest feasible plans where there is none
Keeps    every published class meets every requirement; suppressed ≤ limit; no plan within the limit has a smaller loss
         (``proven``), or the loss is within ``gap`` of the smallest
Source   best-first search with monotone pruning; the laws used are stated per requirement in model/requirement.py
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal.errors import StoppedError, UsageError
from shoal.model.compare import most_of
from shoal.model.counts.classes import ClassCounts
from shoal.model.display import Progress
from shoal.model.hierarchy import Hierarchy
from shoal.model.requirement import K, Requirement
from shoal.search.full_domain.compiled_search import CompiledSearch, is_compiled
from shoal.search.full_domain.evaluator import Evaluator
from shoal.search.full_domain.infeasible import infeasible, refuse_contradictions
from shoal.search.full_domain.lazy_search import LazySearch
from shoal.search.full_domain.listed_search import ListedSearch
from shoal.search.full_domain.objective import Incumbent, InterruptedSearchError, Objective
from shoal.search.problem.checks import build_checks
from shoal.search.problem.column import Pairs
from shoal.search.problem.control import CancelSignal, Control
from shoal.search.problem.losses import CELL_LOSSES, cell_loss, check_loss_name
from shoal.search.problem.problem import Bounds, build_problem
from shoal.search.problem.search_result import SearchResult

LISTED = 2_000_000
"""Lattices up to this many nodes are listed in memory; larger ones are generated lazily."""


def lattice(
    counts: ClassCounts,
    hierarchies: Mapping[str, Hierarchy],
    requirements: Sequence[Requirement],
    *,
    suppress: float = 0.02,
    loss: str = "loss",
    weights: Mapping[str, float] | None = None,
    bounds: Bounds | None = None,
    population: ClassCounts | None = None,
    people: Pairs | None = None,
    time_budget: float | None = None,
    steps: int | None = None,
    cancel: CancelSignal | None = None,
    progress: Progress | None = None,
    threads: int | None = None,
    lazy: bool | None = None,
) -> SearchResult:
    """The levels that meet the requirements and lose least.

    Parameters
    ----------
    counts : ClassCounts
        Classes over the original values, with the sensitive counts that the requirements speak about.
    hierarchies : mapping of column to Hierarchy
    requirements : sequence of Requirement
    suppress : float
        Share of the records that may be left out; each counts with the loss of a fully generalized record.
    loss : str
        ``loss`` (ARX's), ``ncp``, ``precision``, ``entropy``, ``discernibility`` or ``average_class_size``.
    weights, bounds : mapping of column
        Importance (default 1), and lowest and highest level allowed (None for no bound).
    population : ClassCounts, optional
        The population over the same columns, for k-map and the journalist's risk.
    people : pair of arrays, optional
        (class, person) for every class a person is in, where the counts are of people and some are in several classes. Then
        joined classes are counted exactly; without it a lower bound of their people is used.
    time_budget, steps, cancel, progress
        Stop after so many seconds or steps behind the first plan, or when ``cancel.is_set()``, with the best plan so far; report
        progress. A plan found within steps does not depend on how busy the machine is.
    threads : int, optional
        Two threads share the grouping of a large table where the machine has two cores, one otherwise (default) or with 1. The
        nodes checked and the answer are the same.
    lazy : bool, optional
        Generate nodes lazily for a lattice of any size (True) or never (False).

    Examples
    --------
    >>> import pyarrow as pa
    >>> from shoal.model.requirement import K
    >>> counts = ClassCounts((3, 1, 4), ("age",), [[0, 1, 2]], [pa.array(["31", "38", "45"])])
    >>> age = Hierarchy.from_rows("age", [["31", "30-39", "*"], ["38", "30-39", "*"], ["45", "40-49", "*"]])
    >>> best = lattice(counts, {"age": age}, [K(3)], suppress=0.0)
    >>> dict(best.levels), best.suppressed, best.proven
    ({'age': 1}, 0, True)
    """
    if threads is not None and threads < 1:
        raise UsageError(f"the number of threads must be at least 1; found {threads!r}.", hint="Leave it out for the default.")
    control = Control(time_budget=time_budget, steps=steps, cancel=cancel, progress=progress)
    limit = record_limit(suppress, counts.n_records)
    problem = build_problem(counts, hierarchies, bounds=bounds, population=population, people=people)
    checks = build_checks(counts, requirements, has_population=population is not None)
    refuse_contradictions(problem, checks)
    evaluator = Evaluator(problem, checks, limit, threads=default_threads() if threads is None else threads)
    objective = Objective(problem, loss, weights)
    outcome = run_search(evaluator, objective, control, lazy=lazy)
    if outcome.best is None:
        if outcome.stopped:
            hint = "Allow more time, or suppress more records."
            raise StoppedError(f"the search was stopped ({outcome.stopped}) before it found a plan.", hint=hint)
        raise infeasible(evaluator, suppress)
    return make_result("lattice", evaluator, objective, outcome, control)


def default_threads() -> int:
    """Two where this process may use two processors."""
    return min(2, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)


def run_search(evaluator: Evaluator, objective: Objective, control: Control, *, lazy: bool | None = None) -> Incumbent:
    """Search the lattice listed or lazily, whichever fits."""
    generate = evaluator.problem.n_nodes > LISTED if lazy is None else lazy
    if not evaluator.is_small:
        control.compiling()
    kind = LazySearch if generate else CompiledSearch if is_compiled(evaluator, objective, control) else ListedSearch
    search = kind(evaluator, objective)
    try:
        return search.run(control)
    except KeyboardInterrupt:
        best = search.incumbent.best
        if best is None:
            raise
        value = objective.value(search.incumbent.total)
        raise InterruptedSearchError(evaluator.problem.levels(best.node), value, objective.name) from None


def make_result(method: str, evaluator: Evaluator, objective: Objective, incumbent: Incumbent, control: Control) -> SearchResult:
    """The answer, with the groups of the base classes at the node found."""
    best, problem = incumbent.best, evaluator.problem
    assert best is not None
    gid, published = incumbent.groups or evaluator.groups(best.node)
    value = objective.value(incumbent.total)
    proven = not incumbent.stopped
    lower = objective.value(min(incumbent.lower, incumbent.total)) if math.isfinite(incumbent.lower) else 0.0
    control.show(1.0, "done")
    return SearchResult(
        method=method,
        levels=problem.levels(best.node),
        loss=value,
        loss_name=objective.name,
        suppressed=best.suppressed,
        records=problem.n_records,
        classes=best.kept_groups,
        kept=published[gid],
        groups=gid,
        requirements=evaluator.checks.requirements,
        limit=evaluator.limit,
        nodes_checked=evaluator.evaluated,
        n_nodes=problem.n_nodes,
        seconds=control.seconds,
        proven=proven,
        gap=0.0 if proven else max(0.0, value - lower),
        stopped=incumbent.stopped,
        counts=problem.counts,
        hierarchies={c.name: c.hierarchy for c in problem.columns},
    )


def record_limit(suppress: float, n_records: int) -> int:
    """Records that a share allows, rounded down.

    >>> record_limit(0.02, 30162), record_limit(1, 10)
    (603, 10)
    """
    good = isinstance(suppress, int | float) and not isinstance(suppress, bool) and 0.0 <= suppress <= 1.0
    if not good:
        raise UsageError(f"the suppression limit must lie between 0 and 1; found {suppress!r}.", hint="Write 0.02 for 2 %.")
    return most_of(suppress, n_records)


class OnePlan:
    """Evaluates plans of one table; threads may share it.

    >>> import pyarrow as pa
    >>> from shoal.model.requirement import K
    >>> counts = ClassCounts((3, 1, 4), ("age",), [[0, 1, 2]], [pa.array(["31", "38", "45"])])
    >>> age = Hierarchy.from_rows("age", [["31", "30-39", "*"], ["38", "30-39", "*"], ["45", "40-49", "*"]])
    >>> plan = OnePlan(counts, {"age": age}, [K(2)])
    >>> plan({"age": 0}).suppressed, plan({"age": 1}).suppressed, OnePlan(counts, {"age": age}, [K(9)])({"age": 2})
    (1, 0, None)
    """

    def __init__(
        self,
        counts: ClassCounts,
        hierarchies: Mapping[str, Hierarchy],
        requirements: Sequence[Requirement],
        *,
        loss: str = "loss",
        weights: Mapping[str, float] | None = None,
        population: ClassCounts | None = None,
        people: Pairs | None = None,
    ) -> None:
        self._problem = build_problem(counts, hierarchies, population=population, people=people)
        checks = build_checks(counts, list(requirements), has_population=population is not None)
        self._evaluator = Evaluator(self._problem, checks, counts.n_records)
        self._objective = Objective(self._problem, loss, weights)
        self._evaluator.wants_sizes = self._objective.needs_sizes
        self._one = threading.Lock()

    def __call__(self, levels: Mapping[str, int]) -> SearchResult | None:
        """What a level per column does; None where no record would be left."""
        with self._one:
            result = self._evaluator(self._problem.node(levels))
            if not result.feasible:
                return None
            total = self._objective.total(result)
            return make_result("lattice", self._evaluator, self._objective, Incumbent(result, total, total), Control())


def loss_at(
    counts: ClassCounts,
    hierarchies: Mapping[str, Hierarchy],
    levels: Mapping[str, int],
    kept: npt.NDArray[np.bool_],
    *,
    loss: str = "loss",
    weights: Mapping[str, float] | None = None,
) -> float:
    """The loss at these levels when the base classes that are not ``kept`` are suppressed."""
    from shoal.kernels.group import group_codes

    check_loss_name(loss)
    problem = build_problem(counts, hierarchies)
    node, records = problem.node(levels), problem.measures[0].astype(np.float64)
    if loss in CELL_LOSSES:
        cells, total = cell_loss(problem, loss, weights), 0.0
        for j, level in enumerate(node):
            codes = problem.codes[j]
            charged = cells.charge[j][level][codes] + np.where(kept, 0.0, cells.extra[j][level][codes])
            total += float(cells.term(j, np.array([records @ charged]))[0])
        return cells.value(total)
    at = [column.groups[level][codes[kept]] for column, codes, level in zip(problem.columns, problem.codes, node, strict=True)]
    groups = group_codes(at, n_rows=int(kept.sum()))
    if loss == "average_class_size":
        return problem.n_records / groups.n
    squares = np.bincount(groups.ids, weights=records[kept], minlength=groups.n) ** 2
    return float(squares.sum() + records[~kept].sum() * problem.n_records)


@dataclass(frozen=True, eq=False)
class FrontierPoint:
    """The best plan for one k and one limit; ``result`` is None where there is none."""

    k: int
    suppress: float
    result: SearchResult | None

    @property
    def loss(self) -> float | None:
        return None if self.result is None else self.result.loss


def frontier(
    counts: ClassCounts,
    hierarchies: Mapping[str, Hierarchy],
    requirements: Sequence[Requirement] = (),
    *,
    ks: Sequence[int] = (2, 3, 5, 10, 20, 50),
    suppress: Sequence[float] = (0.0, 0.01, 0.02, 0.05, 0.1),
    loss: str = "loss",
    weights: Mapping[str, float] | None = None,
    bounds: Bounds | None = None,
    population: ClassCounts | None = None,
    people: Pairs | None = None,
    time_budget: float | None = None,
    cancel: CancelSignal | None = None,
    progress: Progress | None = None,
) -> tuple[FrontierPoint, ...]:
    """The least loss for every k in ``ks`` and every limit in ``suppress``, k by k, in one run: the groupings of all searches are
    shared, and each search starts from the plans of its neighbours.

    ``requirements`` are asked for besides k; ``population`` and ``people`` are as in :func:`shoal.search.lattice`. The loss never
    falls as k grows and never rises as the limit grows (for requirements that generalizing keeps). A run that is stopped returns
    the points found so far.

    >>> import pyarrow as pa
    >>> counts = ClassCounts((3, 1, 4), ("age",), [[0, 1, 2]], [pa.array(["31", "38", "45"])])
    >>> age = Hierarchy.from_rows("age", [["31", "30-39", "*"], ["38", "30-39", "*"], ["45", "40-49", "*"]])
    >>> [(p.k, p.suppress, round(p.loss, 4)) for p in frontier(counts, {"age": age}, ks=(2, 5), suppress=(0.0, 0.5))]
    [(2, 0.0, 0.25), (2, 0.5, 0.125), (5, 0.0, 1.0), (5, 0.5, 1.0)]
    """
    if not ks or not suppress:
        raise UsageError("a frontier needs at least one k and one suppression limit.", hint="Pass ks=(5,), suppress=(0.02,).")
    control = Control(time_budget=time_budget, cancel=cancel, progress=progress)
    problem = build_problem(counts, hierarchies, bounds=bounds, population=population, people=people)
    crowd = population is not None
    objective = Objective(problem, loss, weights)
    others = [r for r in requirements if not isinstance(r, K)]
    sizes = [K(k) for k in np.asarray(ks).tolist()]
    first = Evaluator(problem, build_checks(counts, [sizes[0], *others], has_population=crowd), 0, threads=default_threads())
    out: list[FrontierPoint] = []
    known: set[tuple[int, ...]] = set()
    for k in sizes:
        checks = build_checks(counts, [k, *others], has_population=crowd)
        for share in suppress:
            if control.stop():
                return tuple(out)
            evaluator = first.sharing(checks, record_limit(share, counts.n_records))
            search = ListedSearch if problem.n_nodes <= LISTED else LazySearch
            own = search(evaluator, objective, start=sorted(known)).run(control)
            if own.best is None and own.stopped:
                return tuple(out)
            result = None
            if own.best is not None:
                known.add(own.best.node)
                result = make_result("lattice", evaluator, objective, own, control)
            out.append(FrontierPoint(k.k, float(share), result))
            if own.stopped:
                return tuple(out)
            control.show(len(out) / (len(ks) * len(suppress)), f"k={k.k}")
    return tuple(out)
