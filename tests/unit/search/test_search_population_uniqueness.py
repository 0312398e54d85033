"""A limit of population uniques, which no law prunes: estimates are made only where a node could still be the best plan."""

from __future__ import annotations

import dataclasses
import math

import pytest

from search_oracle import estimated_uniques, judge, random_table
from shoal.errors import InfeasibleError, UsageError
from shoal.model import requirement as req
from shoal.prediction.population import uniques as shares
from shoal.search import lattice
from shoal.search.full_domain.evaluator import Evaluator
from shoal.search.full_domain.objective import Objective
from shoal.search.problem.checks import build_checks
from shoal.search.problem.losses import CELL_LOSSES, CLASS_LOSSES
from shoal.search.problem.problem import build_problem

QUICK = req.PopulationUniqueness(0.06, 400, "zayatz")  # Pitman's law takes long to fit


def evaluator_of(table, asked, limit: int) -> Evaluator:
    counts = table.counts()
    return Evaluator(
        build_problem(counts, table.hierarchies()), build_checks(counts, asked, has_population=False), limit, threads=1
    )


@pytest.mark.parametrize("loss", CELL_LOSSES + CLASS_LOSSES)
def test_what_a_node_costs_before_the_estimate_is_never_more_than_it_costs(loss: str) -> None:
    tight = more = 0
    for seed in range(2):
        table = random_table(81_000 + seed)
        evaluator = evaluator_of(table, [QUICK, req.TCloseness("s", 0.5)], len(table.rows) // 4)
        evaluator.wants_sizes = loss == "discernibility"
        objective = Objective(evaluator.problem, loss)
        for node in list(table.nodes())[::3]:
            whole = evaluator(node)
            before = evaluator(node, lambda e: True)
            assert not before.feasible
            assert before.suppressed <= whole.suppressed
            assert (before.lower, before.gone.tolist()) == (whole.lower, whole.gone.tolist())
            if before.too_dear and whole.lower <= evaluator.limit:
                assert objective.total(before) <= objective.total(whole) + 1e-12
                tight += objective.total(before) == objective.total(whole)
                more += objective.total(before) < objective.total(whole)
            else:
                assert not whole.feasible
    assert tight
    assert more


@pytest.mark.parametrize("lazy", [False, True])
def test_fewer_estimates_and_the_same_plan(lazy: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, made = [req.K(3), req.PopulationUniqueness(0.02, 400, "ewens")], []
    real = shares.unique_share

    def counted(*arguments) -> float:
        made.append(arguments)
        return real(*arguments)

    table = random_table(82_000)
    monkeypatch.setattr(shares, "unique_share", counted)
    found = lattice(table.counts(), table.hierarchies(), asked, suppress=0.3, lazy=lazy)
    few = len(made)
    monkeypatch.setattr(Evaluator, "__call__", lambda self, node, too_dear=None, real=Evaluator.__call__: real(self, node))
    again = lattice(table.counts(), table.hierarchies(), asked, suppress=0.3, lazy=lazy)
    assert (found.levels, found.suppressed, found.loss) == (again.levels, again.suppressed, again.loss)
    assert 0 < few < len(made) - few
    best = min(
        v.loss
        for v in (judge(table, n, asked, math.floor(0.3 * len(table.rows) + 1e-9), "loss") for n in table.nodes())
        if v.feasible
    )
    assert found.loss == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("method", ["dankar", "zayatz", "snb", "pitman", "ewens"])
def test_classes_of_two_leave_nothing_to_estimate_by_methods_that_start_from_sample_uniques(method: str) -> None:
    counts = random_table(1).counts()
    limit = req.PopulationUniqueness(0.0, 1000, method)
    from_uniques = method in ("dankar", "zayatz", "snb")
    asked = build_checks(counts, [limit], has_population=False)
    for least, open_ in ((0, True), (1, True), (2, not from_uniques)):
        checks = dataclasses.replace(asked, least=least)
        assert bool(checks.estimates) == open_
        assert checks.has_table_checks == open_
        assert checks.monotone(0) is not open_
    if from_uniques:
        for sizes in ({2: 1}, {2: 7, 3: 1}, {5: 40, 900: 1}):
            assert shares.unique_share(sizes, 10_000, method) == 0.0


@pytest.mark.parametrize("method", ["dankar", "snb", "ewens"])
def test_with_k_the_optimum_is_that_of_brute_force(method: str) -> None:
    asked = [req.K(2), req.PopulationUniqueness(0.02, 300, method)]
    done = 0
    for seed in (83_004, 83_015, 83_023):
        table = random_table(seed)
        allowed = math.floor(0.2 * len(table.rows) + 1e-9)
        verdicts = [judge(table, node, asked, allowed, "ncp") for node in table.nodes()]
        best = min((v.loss for v in verdicts if v.feasible), default=math.inf)
        try:
            found = lattice(table.counts(), table.hierarchies(), asked, suppress=0.2, loss="ncp")
        except InfeasibleError:
            assert best == math.inf
            continue
        assert found.loss == pytest.approx(best, abs=1e-9)
        done += 1
    assert done


def test_a_population_smaller_than_the_table_is_refused_with_k_too() -> None:
    table = random_table(5)
    with pytest.raises(UsageError, match="smaller than the table"):
        lattice(table.counts(), table.hierarchies(), [req.K(2), req.PopulationUniqueness(0.5, len(table.rows) - 1)])


SIZES = ([1] * 30 + [2] * 9 + [3] * 4 + [8, 20], [2, 2, 5], [1, 1, 1], [1, 40])


@pytest.mark.parametrize("method", ["dankar", "zayatz", "ewens", "pitman", "snb", "poisson-gamma"])
def test_only_the_models_asked_for_are_fitted_with_the_same_share(method: str) -> None:
    for sizes in SIZES:
        for people in (sum(sizes), 10 * sum(sizes) - 1, 10 * sum(sizes), 50_000):
            expected = estimated_uniques(sizes, req.PopulationUniqueness(0.1, people, method))
            assert shares.unique_share({s: sizes.count(s) for s in sizes}, people, method) == expected


def test_an_unknown_model_is_refused() -> None:
    with pytest.raises(UsageError, match="no model 'guess'"):
        shares.unique_share({1: 2, 2: 3}, 100, "guess")
