"""Bounds from groups of columns: never above a plan's cost, and the optimum stays the optimum."""

from __future__ import annotations

import math

import pytest

from search_oracle import Table, random_table
from shoal.errors import InfeasibleError
from shoal.model import requirement as req
from shoal.search import lattice
from shoal.search.full_domain import column_groups as groups
from shoal.search.full_domain import lazy_search
from shoal.search.full_domain.evaluator import Evaluator
from shoal.search.full_domain.objective import Objective
from shoal.search.problem.checks import build_checks
from shoal.search.problem.control import LONGEST, SIDE_STEPS, Control
from shoal.search.problem.problem import build_problem

ASKED = (
    [req.K(3)],
    [req.K(2), req.DistinctDiversity("s", 2)],
    [req.K(2), req.TCloseness("s", 0.5)],
    [req.K(2), req.AverageRisk(0.3)],
    [req.K(2), req.PopulationUniqueness(0.1, 10_000)],
)


def floors_of(table, asked, limit: int, loss: str):
    counts = table.counts()
    problem = build_problem(counts, table.hierarchies())
    evaluator = Evaluator(problem, build_checks(counts, asked, has_population=False), limit)
    objective = Objective(problem, loss)
    return groups.find_floors(evaluator, objective, Control()), objective


@pytest.mark.parametrize("asked", ASKED, ids=lambda a: "+".join(r.kind for r in a))
@pytest.mark.parametrize("share", [0.0, 0.2])
def test_the_optimum_costs_no_less_and_is_still_found(asked, share: float, monkeypatch: pytest.MonkeyPatch) -> None:
    tight = done = 0
    for seed in range(2 if isinstance(asked[-1], req.PopulationUniqueness) else 6):
        table = random_table(70_000 + seed)
        trees, counts = table.hierarchies(), table.counts()
        loss = ("loss", "ncp", "precision", "entropy")[seed % 4]
        try:
            listed = lattice(counts, trees, asked, suppress=share, loss=loss, lazy=False)
        except InfeasibleError:
            continue
        for nodes in (1, 4, 12):
            monkeypatch.setattr(groups, "GROUP_NODES", {nodes: 1.0})
            monkeypatch.setattr(lazy_search, "QUICK", nodes // 4)
            floors, objective = floors_of(table, asked, math.floor(share * len(table.rows) + 1e-9), loss)
            lazy = lattice(counts, trees, asked, suppress=share, loss=loss, lazy=True)
            assert lazy.proven
            assert lazy.loss == pytest.approx(listed.loss, abs=1e-12)
            if floors is not None:
                lower = objective.value(float(floors.least.sum()))
                assert lower <= listed.loss + 1e-9
                tight += lower > 0.0
                done += 1
    assert done
    assert tight, "a bound that is always 0 tells nothing"


def test_a_single_group_costs_what_its_best_node_costs_by_the_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """By brute force over the rows: the other columns at their highest level, only the group's columns charged."""
    seen = 0
    for seed in range(6):
        table = random_table(71_000 + seed, missing=False)
        monkeypatch.setattr(groups, "GROUP_NODES", {6: 1.0})
        floors, _ = floors_of(table, [req.K(3)], 0, "ncp")
        if floors is None:
            continue
        top = tuple(table.heights)
        for g, least in enumerate(floors.least):
            mine = [j for j in range(len(top)) if floors.group[j] == g]
            costs = []
            for node in table.nodes():
                if any(node[j] != top[j] for j in range(len(top)) if j not in mine):
                    continue
                published = [table.publish(row, node) for row in table.rows]
                if min(published.count(p) for p in set(published)) >= 3:
                    costs.append(sum(_ncp(table, j, node[j]) for j in mine) / len(top))
            assert least == pytest.approx(min(costs), abs=1e-9)
            seen += least > 0
    assert seen


def _ncp(table, j: int, level: int) -> float:
    name = table.columns[j]
    wide = [table.covered(name, row[j], level) - 1 for row in table.rows]
    return sum(wide) / len(wide) / max(1, len(table.trees[name]) - 1)


def test_groups_are_as_large_as_they_may_be() -> None:
    table = random_table(70_001)
    problem = build_problem(table.counts(), table.hierarchies())
    nodes = problem.n_nodes
    assert len(groups.column_groups(problem, nodes)) == 1
    assert len(groups.column_groups(problem, nodes - 1)) > 1
    assert sorted(j for g in groups.column_groups(problem, 1) for j in g) == list(range(len(problem.columns)))


def test_two_seconds_are_enough_and_less_is_left_to_the_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    table = random_table(70_001)
    monkeypatch.setattr(groups, "GROUP_NODES", {1: 1.0})
    counts = table.counts()
    problem = build_problem(counts, table.hierarchies())
    evaluator = Evaluator(problem, build_checks(counts, [req.K(2)], has_population=False), 0)
    for left, tried in ((2.0, True), (1.999, False)):
        monkeypatch.setattr(Control, "seconds_left", left)
        assert (groups.find_floors(evaluator, Objective(problem, "loss"), Control()) is not None) is tried
    monkeypatch.undo()
    assert groups.find_floors(evaluator, Objective(problem, "discernibility"), Control()) is None


def test_work_on_the_side_has_a_share_of_the_time_and_steps_of_its_own() -> None:
    assert Control().part(0.5)._budget == 0.5 * LONGEST
    timed = Control(time_budget=20.0)
    timed.begin()
    assert 0.0 < (timed.part(0.5)._budget or 0.0) <= 10.0
    stepped = Control(steps=3)
    side = stepped.part(0.5)
    assert sum(not side.stop() for _ in range(SIDE_STEPS + 5)) == SIDE_STEPS
    assert [stepped.stop() for _ in range(4)] == [False, False, False, True]


def test_a_quick_search_needs_no_floors(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are looked for once, and only where so many boxes did not do."""
    table, asked = random_table(70_001), []
    monkeypatch.setattr(lazy_search, "find_floors", lambda *_: asked.append(1))
    for quick, times in ((10**9, 0), (0, 1)):
        monkeypatch.setattr(lazy_search, "QUICK", quick)
        asked.clear()
        assert lattice(table.counts(), table.hierarchies(), [req.K(2)], lazy=True).proven
        assert len(asked) == times


def test_what_is_not_counted_lengthens_the_budget() -> None:
    control = Control(time_budget=1e-3)
    control.begin()
    before = control._end
    with control.uncounted():
        start = control.seconds
        while control.seconds == start:
            pass
    assert control._end > before


@pytest.mark.parametrize(
    ("most", "expected"),
    [
        pytest.param(25, [("long", "short"), ("long", "short")], id="15 and 15 nodes tell hardly less than 25 and 9"),
        pytest.param(75, [("long", "long", "short"), ("short",)], id="75 and 3 nodes tell more than 15 and 15"),
        pytest.param(14, [("long",), ("long",), ("short", "short")], id="5, 5 and 9 nodes: nothing is more even"),
    ],
)
def test_columns_are_shared_out_evenly_where_that_tells_hardly_less(most: int, expected: list[tuple[str, ...]]) -> None:
    """Two columns of five levels that tell most, and two of three."""
    long = [[f"{i:04b}"[:n].ljust(4, "-") for n in (4, 3, 2, 1, 0)] for i in range(16)]
    short = [[f"{i:02b}"[:n].ljust(2, "-") for n in (2, 1, 0)] for i in range(4)]
    rows = [(long[i][0], long[(5 * i) % 16][0], short[i % 4][0], short[i // 4][0]) for i in range(16)]
    table = Table(tuple("abcd"), rows, ["x"] * 16, {"a": long, "b": long, "c": short, "d": short})
    found = groups.column_groups(build_problem(table.counts(), table.hierarchies()), most)
    assert sorted(tuple("long" if j < 2 else "short" for j in g) for g in found) == sorted(expected)
