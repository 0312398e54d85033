"""Risk against loss: the least loss at each k and each suppression limit, in one run.

The groupings of all searches are shared, and each search starts from the plans of its neighbours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from shoal.errors import UsageError
from shoal.model.counts.classes import ClassCounts
from shoal.model.display import Progress
from shoal.model.hierarchy import Hierarchy
from shoal.model.requirement import K, Requirement
from shoal.search.full_domain.evaluator import Evaluator
from shoal.search.full_domain.lattice import LISTED, default_threads, make_result, record_limit
from shoal.search.full_domain.lazy_search import LazySearch
from shoal.search.full_domain.listed_search import ListedSearch
from shoal.search.full_domain.objective import Objective
from shoal.search.problem.checks import build_checks
from shoal.search.problem.column import Pairs
from shoal.search.problem.control import CancelSignal, Control
from shoal.search.problem.problem import Bounds, build_problem
from shoal.search.problem.search_result import SearchResult


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
    """The least loss for every k in ``ks`` and every limit in ``suppress``, k by k.

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
