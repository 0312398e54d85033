"""Algorithms people cite, by name: Datafly, Incognito, OLA. The results are theirs; the counting is ours.

``datafly`` is greedy and not optimal. ``incognito`` finds *all* minimal nodes (those that meet the requirements while none
of their specialisations does); ``ola`` picks the minimal node with the least loss. Both need requirements that are inherited by
generalizations (see the laws in model/requirement.py).

Source   Sweeney 2002 (Datafly); LeFevre, DeWitt & Ramakrishnan 2005 (Incognito); El Emam et al. 2009 (OLA)
Differs  Incognito prunes by column subsets, OLA by binary search of paths; here paths are bisected with tagging, which visits
         other nodes and finds the same minimal set
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from shoal.errors import UsageError
from shoal.model.counts.classes import ClassCounts
from shoal.model.hierarchy import Hierarchy
from shoal.model.requirement import Requirement
from shoal.search.full_domain.evaluate import Evaluation, Evaluator, Node
from shoal.search.full_domain.infeasible import infeasible, refuse_contradictions
from shoal.search.full_domain.listed import Found
from shoal.search.full_domain.objective import Objective
from shoal.search.full_domain.optimum import LISTED, make_result, record_limit
from shoal.search.problem.checks import build_checks
from shoal.search.problem.control import Control
from shoal.search.problem.people import Pairs
from shoal.search.problem.problem import Bounds, build_problem
from shoal.search.problem.result import SearchResult


def datafly(
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
) -> SearchResult:
    """Datafly: while too many records would be suppressed, raise the column with the most different values by one level.

    Ties go to the column named first. Not optimal: ``proven`` is False, and ``gap`` bounds
    what :func:`shoal.search.lattice` could gain.
    """
    evaluator, objective, control = _prepare(
        counts, hierarchies, requirements, suppress, loss, weights, bounds, population, people
    )
    problem = evaluator.problem
    at = [0] * len(problem.columns)
    e = evaluator(tuple(at))
    while not e.feasible:
        open_ = [j for j, h in enumerate(problem.heights) if at[j] < h]
        if not open_:
            raise infeasible(evaluator, suppress)
        j = max(open_, key=lambda j: (problem.columns[j].values_at(at[j]), -j))
        at[j] += 1
        e = evaluator(tuple(at))
    found = Found(stopped="greedy")
    found.offer(e, objective.total(e))
    found.lower = float(objective.free_terms()[:, 0].sum()) if objective.cells is not None else 0.0
    return make_result("datafly", evaluator, objective, found, control)


def incognito(
    counts: ClassCounts,
    hierarchies: Mapping[str, Hierarchy],
    requirements: Sequence[Requirement],
    *,
    suppress: float = 0.0,
    bounds: Bounds | None = None,
    population: ClassCounts | None = None,
    people: Pairs | None = None,
) -> tuple[dict[str, int], ...]:
    """Incognito: the levels of every minimal node, in the order of their numbers.

    >>> import pyarrow as pa
    >>> from shoal.model.requirement import K
    >>> counts = ClassCounts((1, 1), ("a", "b"), [[0, 1], [0, 1]], [pa.array(["x", "y"]), pa.array(["u", "v"])])
    >>> h = {"a": Hierarchy.from_rows("a", [["x", "*"], ["y", "*"]]), "b": Hierarchy.from_rows("b", [["u", "*"], ["v", "*"]])}
    >>> incognito(counts, h, [K(2)])
    ({'a': 1, 'b': 1},)
    """
    evaluator, _, _ = _prepare(counts, hierarchies, requirements, suppress, "loss", None, bounds, population, people)
    minimal = minimal_nodes(evaluator)
    if not minimal:
        raise infeasible(evaluator, suppress)
    return tuple(evaluator.problem.levels(node) for node in minimal)


def ola(
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
) -> SearchResult:
    """OLA: the minimal node with the least loss (the first of equals).

    OLA compares minimal nodes only; with suppression a node above a minimal one may lose less, which
    :func:`shoal.search.lattice` finds.
    """
    evaluator, objective, control = _prepare(
        counts, hierarchies, requirements, suppress, loss, weights, bounds, population, people
    )
    minimal = minimal_nodes(evaluator)
    if not minimal:
        raise infeasible(evaluator, suppress)
    found = Found(stopped="minimal nodes only")
    for node in minimal:
        e: Evaluation = evaluator(node)
        found.offer(e, objective.total(e))
    found.lower = float(objective.free_terms()[:, 0].sum()) if objective.cells is not None else 0.0
    return make_result("ola", evaluator, objective, found, control)


def _prepare(
    counts: ClassCounts,
    hierarchies: Mapping[str, Hierarchy],
    requirements: Sequence[Requirement],
    suppress: float,
    loss: str,
    weights: Mapping[str, float] | None,
    bounds: Bounds | None,
    population: ClassCounts | None,
    people: Pairs | None,
) -> tuple[Evaluator, Objective, Control]:
    control = Control()
    limit = record_limit(suppress, counts.n_records)
    problem = build_problem(counts, hierarchies, bounds=bounds, population=population, people=people)
    checks = build_checks(counts, requirements, has_population=population is not None)
    refuse_contradictions(problem, checks)
    evaluator, objective = Evaluator(problem, checks, limit), Objective(problem, loss, weights)
    evaluator.wants_sizes = objective.needs_sizes
    return evaluator, objective, control


def minimal_nodes(evaluator: Evaluator) -> list[Node]:
    """All feasible nodes none of whose specialisations is feasible."""
    problem = evaluator.problem
    if not evaluator.monotone:
        raise UsageError(
            "minimal nodes are defined only for requirements that generalizing keeps.",
            hint="With suppression use k, k-map or distinct diversity; or set suppress=0; or use search.lattice.",
        )
    if problem.n_nodes > LISTED:
        raise UsageError(f"the lattice has {problem.n_nodes} nodes, too many to list.", hint="Use search.lattice.")
    shape = tuple(h + 1 for h in problem.heights)
    good, bad = np.zeros(shape, dtype=np.bool_), np.zeros(shape, dtype=np.bool_)
    heights = np.indices(shape).sum(axis=0).ravel()
    for number in np.argsort(heights, kind="stable"):
        node = tuple(int(x) for x in np.unravel_index(number, shape))
        if not good[node] and not bad[node]:
            _bisect(evaluator, node, good, bad)
    below = np.zeros(shape, dtype=np.bool_)
    for axis in range(len(shape)):
        moved = [slice(None)] * len(shape)
        kept = [slice(None)] * len(shape)
        moved[axis], kept[axis] = slice(1, None), slice(None, -1)
        below[tuple(moved)] |= good[tuple(kept)]
    return [tuple(int(x) for x in node) for node in np.argwhere(good & ~below)]


def _bisect(evaluator: Evaluator, node: Node, good: npt.NDArray[np.bool_], bad: npt.NDArray[np.bool_]) -> None:
    """Tag nodes along one path upward: all above a feasible node are feasible, all below an infeasible one are not."""
    path, at = [node], list(node)
    for j, h in enumerate(evaluator.problem.heights):
        while at[j] < h:
            at[j] += 1
            if good[tuple(at)]:
                break
            path.append(tuple(at))
    low, high = 0, len(path) - 1
    while low <= high:
        middle = (low + high) // 2
        here = path[middle]
        if not good[here] and not bad[here]:
            if evaluator(here).feasible:
                good[tuple(slice(x, None) for x in here)] = True
            else:
                bad[tuple(slice(0, x + 1) for x in here)] = True
        if good[here]:
            high = middle - 1
        else:
            low = middle + 1
