"""Exactly at the limits of the searches: what is looked at, what is not, and what is offered where nothing fits."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from search_oracle import random_table
from shoal.errors import InfeasibleError, UsageError
from shoal.model import requirement as req
from shoal.model.counts.classes import ClassCounts, SensitiveCounts
from shoal.model.hierarchy import Hierarchy
from shoal.search import lattice
from shoal.search.full_domain.evaluator import Evaluator
from shoal.search.full_domain.lazy_search import LazySearch
from shoal.search.full_domain.listed_search import ListedSearch
from shoal.search.full_domain.objective import Objective
from shoal.search.problem.checks import build_checks
from shoal.search.problem.control import Control
from shoal.search.problem.problem import build_problem

AGES = Hierarchy.from_rows("age", [["31", "30-39", "*"], ["38", "30-39", "*"], ["45", "40-49", "*"]])


def ages(values: tuple[str, ...] = ()) -> ClassCounts:
    """Three classes of 3, 1 and 4 records; with a sensitive value 'x' for all but one record of the last class."""
    sensitive = {}
    if values:
        cells, codes, n = np.array([0, 1, 2, 2]), np.array([0, 0, 0, 1], dtype=np.int32), np.array([3, 1, 3, 1])
        sensitive = {"s": SensitiveCounts("s", cells, codes, n, pa.array(values))}
    return ClassCounts((3, 1, 4), ("age",), [[0, 1, 2]], [pa.array(["31", "38", "45"])], sensitive)


def searching(search: type[ListedSearch] | type[LazySearch], k: int, limit: int) -> ListedSearch | LazySearch:
    problem = build_problem(ages(), {"age": AGES})
    evaluator = Evaluator(problem, build_checks(ages(), [req.K(k)], has_population=False), limit)
    return search(evaluator, Objective(problem, "loss"))


@pytest.mark.parametrize("search", [ListedSearch, LazySearch])
def test_too_low_is_a_node_that_is_no_plan_and_nothing_else(search: type[ListedSearch] | type[LazySearch]) -> None:
    found = searching(search, 3, 0)
    assert found.is_too_low((0,))  # a class of one
    assert not found.is_too_low((1,))  # four and four: a plan, the best
    assert found.evaluator.evaluated == 2
    assert not found.is_too_low((2,))  # it loses more than the best plan: not looked at, and no reason to go higher
    assert found.evaluator.evaluated == 2
    assert found.is_too_low((0,))  # known
    assert not found.is_too_low((1,))
    assert found.evaluator.evaluated == 2


@pytest.mark.parametrize("search", [ListedSearch, LazySearch])
def test_a_node_that_loses_all_records_is_too_low_though_allowed(
    search: type[ListedSearch] | type[LazySearch],
) -> None:
    """It may lose every record, but publishes no class: no plan, and nothing below it is one."""
    found = searching(search, 5, 8)
    assert found.is_too_low((1,))
    assert found.is_too_low((1,))
    assert not found.is_too_low((2,))


@pytest.mark.parametrize(("limit", "wanted"), [(8, False), (7, True)])
def test_nodes_above_are_probed_only_where_some_may_lose_too_much(limit: int, wanted: bool) -> None:
    search = searching(ListedSearch, 5, limit)
    asked = []
    climb = search._climb
    search._climb = lambda path, length, best, *, on: (asked.append(on), climb(path, length, best, on=on))[1]
    search._prepare(Control())
    asked.clear()
    path = np.zeros(3, dtype=np.int64)
    search._probe(path, 1)
    assert any(asked) == wanted


def test_a_population_as_large_as_the_table_is_taken_and_a_smaller_one_refused() -> None:
    asked = [req.PopulationUniqueness(0.9, population=8)]
    assert lattice(ages(), {"age": AGES}, asked, suppress=0.5).suppressed <= 4
    with pytest.raises(UsageError, match="smaller than the table"):
        lattice(ages(), {"age": AGES}, [req.PopulationUniqueness(0.9, population=7)], suppress=0.5)


def test_only_the_requirement_that_blocks_is_offered_to_be_dropped() -> None:
    asked = [req.K(2), req.EntropyDiversity("s", 1.9)]
    with pytest.raises(InfeasibleError) as caught:
        lattice(ages(("x", "y")), {"age": AGES}, asked, suppress=0.0)
    dropped = [a for a in caught.value.alternatives if a.change == "drop requirement"]
    assert [a.column for a in dropped] == ["s"]


def test_a_single_requirement_is_never_offered_to_be_dropped() -> None:
    with pytest.raises(InfeasibleError) as caught:
        lattice(ages(("x", "y")), {"age": AGES}, [req.EntropyDiversity("s", 1.9)], suppress=0.0)
    assert not [a for a in caught.value.alternatives if a.change == "drop requirement"]


def test_random_tables_have_the_same_optimum_with_and_without_a_known_first_node() -> None:
    """A search told where to look first changes its way, never its answer."""
    for seed in range(30):
        table = random_table(seed)
        problem = build_problem(table.counts(), table.hierarchies())
        checks = build_checks(table.counts(), [req.K(2)], has_population=False)
        totals = set()
        for start in ((), (problem.heights,), (tuple(0 for _ in problem.heights),)):
            for search in (ListedSearch, LazySearch):
                evaluator = Evaluator(problem, checks, problem.n_records // 5)
                found = search(evaluator, Objective(problem, "loss"), start=start).run(Control())
                totals.add(round(found.total, 10))
        assert len(totals) == 1
