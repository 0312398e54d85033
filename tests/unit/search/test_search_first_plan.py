"""A search that is stopped at once still has a good plan: the time limit starts when it is found and the kernels are compiled."""

from __future__ import annotations

import itertools
import math
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import nursery
from search_oracle import Table, judge, random_table
from shoal.errors import InfeasibleError, StoppedError
from shoal.kernels.jit import HAVE_NUMBA
from shoal.model import requirement as req
from shoal.search import frontier, lattice, local
from shoal.search.full_domain.evaluator import Evaluator
from shoal.search.full_domain.first_plan import exchange, first_plan
from shoal.search.full_domain.lazy_search import LazySearch
from shoal.search.full_domain.objective import Objective
from shoal.search.problem.checks import build_checks
from shoal.search.problem.control import Control
from shoal.search.problem.problem import build_problem

NO_TIME = 1e-9
LOSSES = ("loss", "ncp", "entropy", "discernibility", "average_class_size")
ASKED = ([req.K(3)], [req.K(2), req.DistinctDiversity("s", 2)], [req.K(2), req.AlphaK("s", 0.7)])


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("loss", LOSSES)
def test_no_step_down_from_the_first_plan_loses_less(loss: str, lazy: bool) -> None:
    """Stopped at once: a plan, with a true gap, that one level less in any one column does not better."""
    stopped = below_top = 0
    for seed in range(12):
        table, asked = random_table(66_000 + seed), ASKED[seed % 3]
        limit = math.floor(0.2 * len(table.rows) + 1e-9)
        totals = {n: v.loss for n in table.nodes() if (v := judge(table, n, asked, limit, loss)).feasible}
        if not totals:
            continue
        found = lattice(table.counts(), table.hierarchies(), asked, suppress=0.2, loss=loss, lazy=lazy, time_budget=NO_TIME)
        at = tuple(found.levels[c] for c in table.columns)
        assert found.loss == pytest.approx(totals[at], rel=1e-9)
        assert found.loss - found.gap <= min(totals.values()) * (1 + 1e-9)
        lower = [(*at[:j], level - 1, *at[j + 1 :]) for j, level in enumerate(at)]
        assert all(totals[node] >= found.loss * (1 - 1e-9) for node in lower if node in totals)
        assert found.nodes_checked <= (2 * len(at) + 1) * 4 + len(at) * (1 + sum(table.heights))
        stopped += found.stopped == "time budget used up"
        below_top += at != tuple(table.heights)
    assert below_top >= 6
    assert stopped >= 3


@pytest.mark.parametrize("lazy", [False, True])
def test_the_clock_counts_what_comes_after_the_first_plan(lazy: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a clock that ticks once per evaluation, a limit of 3 allows 3 more, and those of the last step; no limit, all."""
    ticks, begun = 0, 0
    evaluate, begin = Evaluator.__call__, Control.begin

    def slow(self: Evaluator, node: tuple[int, ...], *more: object) -> object:
        nonlocal ticks
        ticks += 1
        return evaluate(self, node, *more)

    def noted(self: Control) -> None:
        nonlocal begun
        begun = ticks
        begin(self)

    monkeypatch.setattr(Evaluator, "__call__", slow)
    monkeypatch.setattr(Control, "begin", noted)
    monkeypatch.setattr("shoal.search.problem.control.time.perf_counter", lambda: float(ticks))
    cut_short = 0
    for seed in range(40):
        table = random_table(67_000 + seed)

        def after(budget: float | None, table: Table = table) -> tuple[int, float, str]:
            nonlocal ticks
            ticks, asked = 0, [req.K(2), req.AlphaK("s", 0.6)]
            found = lattice(table.counts(), table.hierarchies(), asked, suppress=0.15, lazy=lazy, time_budget=budget)
            return ticks - begun, found.loss, found.stopped

        try:
            some, middle, stopped = after(3.0)
        except (InfeasibleError, StoppedError):
            continue
        everything, best, _ = after(None)
        assert best <= middle
        if stopped:
            assert 3 <= some <= min(everything, 10)
            cut_short += some < everything
        else:
            assert (some, middle) == (everything, best)
    assert cut_short >= 3


KERNELS = """
import itertools, sys
import shoal.search.full_domain.compiled_search as compiled_search
import shoal.search.full_domain.sources as sources
from search_oracle import random_table
from shoal.model import requirement as req
from shoal.search import lattice, local
from shoal.search.kernels import clusters, entries, group_cells, nodes, sensitive_values
from shoal.search.local_recoding import cluster
from shoal.search.problem.control import Control
modules = (entries, clusters, group_cells, nodes, sensitive_values)
loops = {f: getattr(m, f) for m in modules for f in vars(m) if hasattr(getattr(m, f), "signatures")}
assert len(loops) > 15, loops
compiled, begin = [], Control.begin
def counted():
    return {name: len(loop.signatures) for name, loop in loops.items()}
Control.begin = lambda self: (compiled.append(counted()), begin(self))[1]
sources.FEW, sources.SHRINK = 1, 1.0
cluster.FEW = group_cells.FEW = entries.FEW = 0  # as for many cells: a few go by numpy
compiled_search.MANY = 0  # and none as a whole in compiled code, whatever is kept on disk
table = random_table(5)
if sys.argv[1] == "local":
    local(table.counts(), table.hierarchies(), [req.K(3)], cells="sets", method="cluster", time_budget=3600.0)
else:
    asked = [req.K(2)] if sys.argv[2] == "k" else [req.K(2), req.EntropyDiversity("s", 1.1)]
    lattice(table.counts(), table.hierarchies(), asked, suppress=0.2, lazy=sys.argv[1] == "lazy")
late = {name for name, n in counted().items() if n > compiled[0][name]}
print(sum(counted().values()), sorted(late))
"""


@pytest.mark.skipif(not HAVE_NUMBA, reason="nothing is compiled without numba")
@pytest.mark.parametrize("arguments", [("listed", "k"), ("lazy", "k"), ("listed", "s"), ("lazy", "s"), ("local", "k")])
def test_every_kernel_is_compiled_before_the_clock_starts(arguments: tuple[str, str]) -> None:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    ended, printed, said = nursery.run(KERNELS, Path.cwd(), env, arguments=arguments)
    assert ended == 0, said
    total, late = printed.split(maxsplit=1)
    assert int(total) >= 2
    assert late.strip() == "[]"


def test_kernels_are_called_in_advance_only_if_a_clock_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The calls took a tenth of a small local recoding; what is found is the same."""
    table, called = random_table(5), []
    monkeypatch.setattr("shoal.search.local_recoding.local.warm_up", called.append)
    found = {b: local(table.counts(), table.hierarchies(), [req.K(3)], cells="sets", time_budget=b) for b in (None, 3600.0)}
    assert {id(evaluator.problem) for evaluator in called} == {id(found[3600.0].problem)}
    assert found[None].labels == found[3600.0].labels


@pytest.mark.parametrize("cells", ["hierarchy", "sets", "ranges"])
def test_a_local_recoding_without_time_is_never_worse_than_mondrian(cells: str) -> None:
    several = 0
    for seed in range(8):
        table = random_table(68_000 + seed)
        plain = local(table.counts(), table.hierarchies(), [req.K(2)], cells=cells, method="mondrian")
        found = local(table.counts(), table.hierarchies(), [req.K(2)], cells=cells, time_budget=NO_TIME)
        assert found.stopped == "time budget used up"
        assert found.ncp <= plain.ncp + 1e-12
        several += found.classes > 1
    assert several >= 5


@pytest.mark.parametrize("method", ["cover", "cluster"])
def test_classes_left_when_the_time_is_up_are_taken_run_by_run(method: str) -> None:
    """Not all in one class: with 8 classes of one record in order and k=2, four runs of two."""
    rows = [(f"v{i}",) for i in range(8)]
    table = Table(("a",), rows, ["s"] * 8, {"a": [[f"v{i}", f"w{i // 2}", "*"] for i in range(8)]})
    found = local(table.counts(), table.hierarchies(), [req.K(2)], method=method, time_budget=NO_TIME)
    assert found.groups.tolist() == [0, 0, 1, 1, 2, 2, 3, 3]


def test_every_point_of_a_frontier_that_ends_early_has_a_first_plan() -> None:
    """Points for which no time is left are not there; those that are there are as good as a search of their own."""
    table = random_table(32_000)
    ks, shares = (2, 3), (0.0, 0.1)
    points = frontier(table.counts(), table.hierarchies(), ks=ks, suppress=shares, time_budget=NO_TIME)
    assert 1 <= len(points) < 4
    for p in points:
        alone = lattice(table.counts(), table.hierarchies(), [req.K(p.k)], suppress=p.suppress, time_budget=NO_TIME)
        assert p.loss is not None
        assert p.loss <= alone.loss


def test_a_cancel_signal_stops_the_first_plan_too() -> None:
    table = random_table(41)
    asked = itertools.count()
    found = lattice(
        table.counts(), table.hierarchies(), [req.K(2)], cancel=SimpleNamespace(is_set=lambda: next(asked) >= 0), suppress=0.5
    )
    assert found.stopped == "cancelled"
    assert found.nodes_checked == 1


def test_the_clock_starts_once() -> None:
    control = Control(time_budget=1e6)
    control.begin()
    end = control._end
    control.begin()
    assert control._end == end


@pytest.mark.parametrize(("steps", "asked"), [(0, 1), (2, 3)])
def test_steps_are_counted_and_not_timed(steps: int, asked: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shoal.search.problem.control.time.perf_counter", lambda: 1e9)
    control = Control(steps=steps)
    answers = [control.stop() for _ in range(asked)]
    assert answers == [False] * steps + [True]
    assert control.reason == "number of steps used up"


def test_no_exchange_of_levels_betters_the_plan() -> None:
    """One column a level up and another down by any number: no such plan loses less, and some first plans were bettered so."""
    bettered = 0
    for seed in (1, 6, 25, 57, 94):
        table, asked = random_table(seed), [req.K(3)]
        limit = len(table.rows) // 10
        problem = build_problem(table.counts(), table.hierarchies())
        evaluator = Evaluator(problem, build_checks(problem.counts, asked, has_population=False), limit)
        search = LazySearch(evaluator, Objective(problem, "loss"))
        first_plan(search, search.objective.step_terms(), problem.heights, lambda: False)
        if search.incumbent.best is None:
            continue
        before, asked_of, look = search.incumbent.total, [], search.is_too_low
        search.is_too_low = lambda node, look=look, to=asked_of: to.append(node) or look(node)  # type: ignore[method-assign]
        exchange(search, problem.heights, lambda: False)
        assert all(0 <= x <= h for node in asked_of for x, h in zip(node, problem.heights, strict=True))
        bettered += search.incumbent.total < before - 1e-9
        at, value = search.incumbent.best.node, search.objective.value(search.incumbent.total)
        for i, j in itertools.permutations(range(len(at)), 2):
            for level in range(at[j]):
                node = tuple(at[c] + 1 if c == i else level if c == j else at[c] for c in range(len(at)))
                if at[i] < problem.heights[i]:
                    told = judge(table, node, asked, limit, "loss")
                    assert not told.feasible or told.loss >= value - 1e-9
    assert bettered == 5


def test_an_exchange_that_is_stopped_looks_at_nothing_more() -> None:
    table = random_table(8)
    problem = build_problem(table.counts(), table.hierarchies())
    evaluator = Evaluator(problem, build_checks(problem.counts, [req.K(3)], has_population=False), 0)
    search = LazySearch(evaluator, Objective(problem, "loss"))
    search.is_too_low(problem.heights)
    looked = evaluator.evaluated
    exchange(search, problem.heights, lambda: True)
    assert evaluator.evaluated == looked


@pytest.mark.parametrize(("spent", "goes_on"), [(1, True), (2, False)])
def test_exchanges_wait_while_they_were_more_than_a_tenth_of_the_nodes(spent: int, goes_on: bool) -> None:
    table = random_table(8)
    problem = build_problem(table.counts(), table.hierarchies())
    search = LazySearch(
        Evaluator(problem, build_checks(problem.counts, [req.K(3)], has_population=False), 2), Objective(problem, "loss")
    )
    search.is_too_low(problem.heights)
    search.evaluator.evaluated, search._on_exchanges = 10, spent
    search._exchange(Control())
    assert (search._exchanged is not None) is goes_on
    if goes_on:
        assert search._on_exchanges == spent + search.evaluator.evaluated - 10
        looked = search.evaluator.evaluated
        search._exchange(Control())
        assert search.evaluator.evaluated == looked  # the same plan is not tried again
