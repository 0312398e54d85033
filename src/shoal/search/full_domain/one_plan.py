"""One plan at a time: what given levels do to the table, from counts alone, fast enough for a slider.

Takes    class counts, hierarchies and requirements, once; then levels
Returns  the same result as a search whose only plan these levels are
Keeps    any number of records may be suppressed: whether that is too much is for the caller to judge
Cost     one pass over the classes for each plan; tables are built once
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence

from shoal.model.counts.classes import ClassCounts
from shoal.model.hierarchy import Hierarchy
from shoal.model.requirement import Requirement
from shoal.search.full_domain.evaluator import Evaluator
from shoal.search.full_domain.found import Found
from shoal.search.full_domain.lattice import make_result
from shoal.search.full_domain.objective import Objective
from shoal.search.problem.checks import build_checks
from shoal.search.problem.control import Control
from shoal.search.problem.overlap import Pairs
from shoal.search.problem.problem import build_problem
from shoal.search.problem.search_result import SearchResult


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
            found = self._evaluator(self._problem.node(levels))
            if not found.feasible:
                return None
            total = self._objective.total(found)
            return make_result("lattice", self._evaluator, self._objective, Found(found, total, total), Control())
