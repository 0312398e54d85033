"""The search in compiled code against every node looked at, with each of its own paths forced."""

from __future__ import annotations

import itertools
import math
from types import SimpleNamespace

import numpy as np
import pytest

from search_oracle import random_table
from shoal.model import requirement as req
from shoal.search import lattice
from shoal.search.full_domain import compiled_search
from shoal.search.full_domain.compiled_search import CompiledSearch, is_compiled
from shoal.search.full_domain.evaluator import Evaluator
from shoal.search.full_domain.lattice import record_limit
from shoal.search.full_domain.listed_search import ListedSearch
from shoal.search.full_domain.objective import Objective
from shoal.search.kernels import group_cells
from shoal.search.kernels.compiled import state as at
from shoal.search.kernels.compiled.state import CHUNK
from shoal.search.problem import column_blocks
from shoal.search.problem.checks import build_checks
from shoal.search.problem.control import Control
from shoal.search.problem.losses import CELL_LOSSES
from shoal.search.problem.problem import build_problem

LIMITS = (0.0, 0.1, 0.3, 1.0)


def a_problem(seed: int, k: int, suppress: float, loss: str) -> tuple[Evaluator, Objective]:
    table = random_table(seed)
    counts = table.counts()
    low = {} if seed % 4 else {counts.columns[0]: (min(1, table.heights[0]), None)}
    problem = build_problem(counts, table.hierarchies(), bounds=low)
    checks = build_checks(counts, [req.K(k)], has_population=False)
    return Evaluator(problem, checks, record_limit(suppress, problem.n_records)), Objective(problem, loss)


def every_node(evaluator: Evaluator, objective: Objective) -> dict[tuple[int, ...], tuple[float, int, int]]:
    """The plans, by their node: total, records lost, classes published. No bound, no copy."""
    plans = {}
    for node in itertools.product(*[range(h + 1) for h in evaluator.problem.heights]):
        e = evaluator(node)
        if e.feasible:
            plans[node] = objective.total(e), e.suppressed, e.kept_groups
    return plans


def check(search: CompiledSearch, plans: dict[tuple[int, ...], tuple[float, int, int]], control: Control | None = None) -> None:
    found = search.run(control or Control())
    least = min((total for total, _, _ in plans.values()), default=math.inf)
    assert min(found.lower, found.total) <= least + 1e-9
    if found.best is None:
        assert found.stopped or not plans
        return
    total, lost, kept = plans[found.best.node]
    assert found.total == pytest.approx(total, rel=1e-9, abs=1e-12)
    assert (found.best.suppressed, found.best.kept_groups) == (lost, kept)
    if not found.stopped:
        assert found.total == pytest.approx(least, rel=1e-9, abs=1e-12)
        assert found.lower == found.total
    assert found.groups is not None
    gid, published = found.groups
    mine, theirs = search.evaluator.groups(found.best.node)
    assert (published[gid] == theirs[mine]).all()
    assert len(set(zip(gid.tolist(), mine.tolist(), strict=True))) == len(set(gid.tolist())) == len(set(mine.tolist()))


def forced(search: CompiledSearch, seed: int) -> CompiledSearch:
    """Copies from the first cell on, a hash table (of long keys or short ones) or slots per key, slots about to be used up,
    little room for copies."""
    n = search._state.numbers
    n[at.FEW] = (0, 2, 10**6)[seed % 3]
    n[at.DIRECT] = (0, 2**18)[seed // 3 % 2]
    n[at.SHORT] = (2**31, 0)[seed % 2]
    n[at.SLOT_BASE] = (1, 2**31 - 40)[seed // 6 % 2]
    if seed // 12 % 2:
        cells, few = int(n[at.CELLS]), 3
        state = search._state
        search._state = state._replace(
            sources=state.sources[:few].copy(),
            cell_codes=state.cell_codes[:, : 2 * cells].copy(),
            cell_numbers=state.cell_numbers[:, : max(1024, 2 * cells)].copy(),
        )
    return search


@pytest.mark.parametrize("suppress", LIMITS)
def test_same_optimum_as_every_node_looked_at(suppress: float, monkeypatch: pytest.MonkeyPatch) -> None:
    several, first = 0, 24 * LIMITS.index(suppress)  # the paths that `forced` takes repeat after 24
    for seed in range(first, first + 24):
        monkeypatch.setattr(column_blocks, "WIDTH", 1 if seed % 5 < 2 else 4096)  # each column is a block of its own
        loss = CELL_LOSSES[seed % len(CELL_LOSSES)]
        evaluator, objective = a_problem(seed, 2 + seed % 3, suppress, loss)
        plans = every_node(evaluator, objective)
        check(CompiledSearch(evaluator, objective), plans)
        check(forced(CompiledSearch(evaluator, objective), seed), plans)
        several += len(plans) > 1
    assert several > 10


def test_a_stopped_search_gives_a_plan_and_a_true_lower_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled_search, "WORK", 1)
    stopped = 0
    for seed in range(40):
        evaluator, objective = a_problem(seed, 3, 0.3, "loss")
        plans = every_node(evaluator, objective)
        left = itertools.count(-(seed % 7) - 12)
        control = Control(cancel=SimpleNamespace(is_set=lambda left=left: next(left) >= 0))
        search = CompiledSearch(evaluator, objective)
        check(search, plans, control)
        stopped += bool(search.incumbent.stopped)
    assert stopped > 5


def test_what_goes_by_the_compiled_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """k alone under a cell loss, from a number of cells on, with tables that fit."""
    evaluator, objective = a_problem(5, 2, 0.1, "loss")
    cells = evaluator.problem.codes.shape[1]
    monkeypatch.setattr(compiled_search, "HAVE_NUMBA", True)
    monkeypatch.setattr(compiled_search, "search", SimpleNamespace())  # nothing is compiled yet
    monkeypatch.setattr(compiled_search, "FEW", cells)
    assert is_compiled(evaluator, objective, Control())
    assert not is_compiled(evaluator, Objective(evaluator.problem, "discernibility"), Control())
    monkeypatch.setattr(compiled_search, "MANY", cells)
    assert not is_compiled(evaluator, objective, Control())
    monkeypatch.setattr(compiled_search, "MANY", cells + 1)
    assert is_compiled(evaluator, objective, Control())
    monkeypatch.setattr(compiled_search, "FEW", cells + 1)
    assert not is_compiled(evaluator, objective, Control())
    monkeypatch.setattr(compiled_search, "FEW", 0)
    monkeypatch.setattr(compiled_search, "HAVE_NUMBA", False)
    assert not is_compiled(evaluator, objective, Control())
    monkeypatch.setattr(compiled_search, "HAVE_NUMBA", True)
    table = random_table(5)
    for asked in ([req.K(2), req.DistinctDiversity("s", 2)], [req.AverageRisk(0.5)]):
        checks = build_checks(table.counts(), asked, has_population=False)
        assert not is_compiled(Evaluator(evaluator.problem, checks, 3), objective, Control())
    blocks, columns = evaluator.problem.blocks, evaluator.problem.columns
    entries = sum(2 * b.combinations.shape[1] * math.prod(columns[j].height + 1 for j in b.columns) for b in blocks)
    monkeypatch.setattr(compiled_search, "TABLES", entries)
    assert is_compiled(evaluator, objective, Control())
    monkeypatch.setattr(compiled_search, "TABLES", entries - 1)
    assert not is_compiled(evaluator, objective, Control())
    monkeypatch.undo()
    widest = max(math.prod(len(columns[j].leaves) for j in b.columns) for b in blocks)
    monkeypatch.setattr(compiled_search, "HAVE_NUMBA", True)
    monkeypatch.setattr(compiled_search, "FEW", 0)
    monkeypatch.setattr(compiled_search, "WIDEST", widest)
    assert is_compiled(evaluator, objective, Control())
    monkeypatch.setattr(compiled_search, "WIDEST", widest - 1)
    assert not is_compiled(evaluator, objective, Control())


@pytest.mark.parametrize(("cells", "compiled"), [(1, False), (10**6, True)])
def test_few_cells_go_by_the_compiled_search_where_it_is_compiled_already(
    cells: int, compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where another search would use no compiled code, nor does this one; counted steps mean the same each time."""
    evaluator, objective = a_problem(5, 2, 0.1, "loss")
    monkeypatch.setattr(compiled_search, "HAVE_NUMBA", True)
    monkeypatch.setattr(group_cells, "FEW", cells)
    assert evaluator.is_small is compiled
    for signatures in (["once"], []):
        monkeypatch.setattr(compiled_search, "search", SimpleNamespace(signatures=signatures))
        assert is_compiled(evaluator, objective, Control()) is (compiled and bool(signatures))
        assert not is_compiled(evaluator, objective, Control(steps=9))
        monkeypatch.setattr(compiled_search, "FEW", evaluator.problem.n_cells)
        assert is_compiled(evaluator, objective, Control(steps=9))
        monkeypatch.setattr(compiled_search, "FEW", 4096)


def test_few_cells_are_searched_step_by_step_as_without_compiled_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was compiled before must not show: same plan among those that lose the same, same bits, nodes and class numbers."""
    monkeypatch.setattr(compiled_search, "SMALL", 2)  # copies would show in the bounds
    for seed in range(60):
        one, objective = a_problem(seed, 2 + seed % 3, LIMITS[seed % 4], CELL_LOSSES[seed // 4 % len(CELL_LOSSES)])
        two = Evaluator(one.problem, one.checks, one.limit)
        mine, theirs = CompiledSearch(one, objective).run(Control()), ListedSearch(two, objective).run(Control())
        assert (mine.total, mine.lower, one.evaluated) == (theirs.total, theirs.lower, two.evaluated)
        assert (mine.best is None) == (theirs.best is None)
        if mine.best is not None and theirs.best is not None and mine.groups is not None:
            assert mine.best.node == theirs.best.node
            assert all(np.array_equal(a, b) for a, b in zip(mine.groups, two.groups(theirs.best.node), strict=True))


def test_few_cells_of_many_nodes_are_stopped_as_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """A node is noted in the bounds of all below it: that is work too, and anyone who asks it to stop does not wait for it."""
    evaluator, objective = a_problem(39, 2, 1.0, "loss")
    cells, nodes = evaluator.problem.n_cells, evaluator.problem.n_nodes
    assert nodes > 3 * cells
    asked = []
    for work in (1, cells + nodes):
        monkeypatch.setattr(compiled_search, "WORK", work)
        control = Control()
        times = itertools.count()
        monkeypatch.setattr(control, "stop", lambda times=times: next(times) < 0)
        CompiledSearch(evaluator, objective).run(control)
        asked.append(next(times))
    assert asked[0] == asked[1] > 2


def test_lattice_gives_the_same_plan_either_way(monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in (3, 8, 21):
        table = random_table(seed)
        answers = []
        for compiled in (True, False):
            monkeypatch.setattr(compiled_search, "FEW", 0)
            monkeypatch.setattr(compiled_search, "HAVE_NUMBA", compiled)
            answers.append(lattice(table.counts(), table.hierarchies(), [req.K(2)], suppress=0.2, lazy=False))
        one, two = answers
        assert one.loss == pytest.approx(two.loss, rel=1e-9)
        assert (one.suppressed, one.classes, int(one.kept.sum())) == (two.suppressed, two.classes, int(two.kept.sum()))


def test_the_first_of_the_lowest_bounds_is_found_in_every_chunk() -> None:
    from shoal.search.kernels.compiled.state import lowest_node

    rng = np.random.default_rng(7)
    for n in (1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK + 5):
        bound = rng.integers(0, 9, n).astype(np.float64)
        lowest = np.minimum.reduceat(bound, np.arange(0, n, CHUNK))
        for _ in range(60):
            v = lowest_node(bound, lowest)
            assert v == int(np.argmin(bound))
            bound[rng.integers(0, n, 1 + n // 50)] += rng.integers(0, 4)
            bound[v] = np.inf
            bound[v] = np.inf if rng.random() < 0.9 else 20.0
