"""The optimum of the lattice search equals brute force over all nodes by the slow oracle, for every requirement and loss."""

from __future__ import annotations

import math

import numpy as np
import pytest

from search_oracle import Table, judge, random_table
from shoal.errors import InfeasibleError
from shoal.model import requirement as req
from shoal.model.hierarchy import Hierarchy
from shoal.search import lattice
from shoal.search.problem.losses import CELL_LOSSES, CLASS_LOSSES

LOSSES = CELL_LOSSES + CLASS_LOSSES
LIMITS = (0.0, 0.1, 0.3, 1.0)


def closeness(table: Table, distance: str, t: float) -> req.TCloseness:
    tree = Hierarchy.from_rows("s", table.sensitive_tree) if distance == "hierarchical" else None
    return req.TCloseness("s", t, distance, tree)  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def _copies_even_of_small_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shoal.search.full_domain.sources.FEW", 1)
    monkeypatch.setattr("shoal.search.full_domain.sources.SHRINK", 1.0)
    monkeypatch.setattr("shoal.search.full_domain.evaluator.MANY", 0)


ASKED = {
    "k": lambda t: [req.K(3)],
    "max-risk": lambda t: [req.MaxRisk(0.3)],
    "distinct": lambda t: [req.K(2), req.DistinctDiversity("s", 2)],
    "p-sensitive": lambda t: [req.PSensitive("s", 2)],
    "entropy": lambda t: [req.K(2), req.EntropyDiversity("s", 1.6)],
    "recursive": lambda t: [req.RecursiveDiversity("s", 1.5, 2)],
    "alpha": lambda t: [req.K(2), req.AlphaK("s", 0.6)],
    "t-equal": lambda t: [req.K(2), closeness(t, "equal", 0.3)],
    "t-ordered": lambda t: [closeness(t, "ordered", 0.2)],
    "t-hierarchical": lambda t: [req.K(2), closeness(t, "hierarchical", 0.25)],
    "delta": lambda t: [req.DeltaDisclosure("s", 1.2)],
    "basic-beta": lambda t: [req.BasicBeta("s", 0.8)],
    "enhanced-beta": lambda t: [req.K(2), req.EnhancedBeta("s", 0.9)],
    "average-risk": lambda t: [req.AverageRisk(0.25)],
    "average-risk and l": lambda t: [req.AverageRisk(0.3), req.EntropyDiversity("s", 1.4)],
    "uniqueness": lambda t: [req.SampleUniqueness(0.05)],
    "two of a kind": lambda t: [req.K(2), req.DistinctDiversity("s", 2), closeness(t, "equal", 0.4), req.AlphaK("s", 0.8)],
    "population uniqueness": lambda t: [req.PopulationUniqueness(0.06, 400)],
    "population uniqueness by a model": lambda t: [req.PopulationUniqueness(0.1, 300, "zayatz")],
}


def optimum(table: Table, asked: list[req.Requirement], limit: float, loss: str, weights=None, bounds=None) -> float:
    allowed = math.floor(limit * len(table.rows) + 1e-9)
    inside = [bounds[c] if bounds and c in bounds else (0, 99) for c in table.columns]
    nodes = [n for n in table.nodes() if all(low <= x <= high for x, (low, high) in zip(n, inside, strict=True))]
    verdicts = [judge(table, node, asked, allowed, loss, weights) for node in nodes]
    return min((v.loss for v in verdicts if v.feasible), default=math.inf)


def compare(
    table: Table, asked: list[req.Requirement], limit: float, loss: str, *, lazy: bool, weights=None, bounds=None
) -> bool:
    """Whether a plan exists; asserts that search and brute force agree on it."""
    best = optimum(table, asked, limit, loss, weights, bounds)
    population = table.counts(table.population) if table.population else None
    try:
        found = lattice(
            table.counts(),
            table.hierarchies(),
            asked,
            suppress=limit,
            loss=loss,
            weights=weights,
            bounds=bounds,
            population=population,
            lazy=lazy,
        )
    except InfeasibleError:
        assert best == math.inf
        return False
    assert found.proven
    assert found.loss == pytest.approx(best, rel=1e-9, abs=1e-12)
    levels = tuple(found.levels[c] for c in table.columns)
    assert all(low <= found.levels[c] <= high for c, (low, high) in (bounds or {}).items())
    again = judge(table, levels, asked, found.limit, loss, weights)
    assert again.feasible
    assert again.suppressed == found.suppressed
    assert again.loss == pytest.approx(found.loss, rel=1e-9, abs=1e-12)
    assert len(again.kept) == found.classes
    kept = {tuple(r) for r in zip(*(column.to_pylist() for column in found.kept_table().columns), strict=True)}
    assert kept == again.kept
    return True


@pytest.mark.parametrize("name", ASKED)
def test_optimum_equals_brute_force(name: str) -> None:
    feasible, tables = 0, 4 if "population" in name else 9
    for i in range(tables):
        seed = 1000 * list(ASKED).index(name) + i
        table = random_table(seed)
        loss, limit = LOSSES[i % len(LOSSES)], LIMITS[(i // 2 + i) % len(LIMITS)]
        feasible += compare(table, ASKED[name](table), limit, loss, lazy=bool(i % 2))
    assert feasible >= tables // 3, "the cases must not all be impossible"


def test_population_requirements_equal_brute_force() -> None:
    feasible = 0
    for i in range(12):
        table = random_table(90_000 + i, missing=i % 3 == 0, population=True)
        asked = [req.KMap(4)] if i % 2 else [req.MaxRisk(0.2, "journalist"), req.DistinctDiversity("s", 2)]
        feasible += compare(table, asked, LIMITS[i % 4], LOSSES[i % 4], lazy=bool(i % 3))
    assert feasible >= 4


def test_weights_change_the_optimum_as_brute_force_says() -> None:
    for i in range(8):
        table = random_table(70_000 + i)
        rng = np.random.default_rng(i)
        weights = {c: float(rng.uniform(0.0, 3.0)) for c in table.columns}
        compare(table, [req.K(3)], LIMITS[i % 4], ("loss", "ncp")[i % 2], lazy=bool(i % 2), weights=weights)


def test_any_mixture_of_requirements_losses_weights_and_bounds() -> None:
    feasible = 0
    for i in range(60):
        rng = np.random.default_rng(500 + i)
        table = random_table(75_000 + i, population=bool(i % 4 == 0))
        names = rng.choice([n for n in ASKED if "uniqueness" not in n], int(rng.integers(1, 4)), replace=False)
        asked = [r for n in names for r in ASKED[str(n)](table)] + ([req.KMap(3)] if table.population else [])
        weights = {c: float(rng.uniform(0.0, 3.0)) for c in table.columns} if rng.random() < 0.5 else None
        bounds = {}
        for c, height in zip(table.columns, table.heights, strict=True):
            if rng.random() < 0.4:
                low = int(rng.integers(0, height + 1))
                bounds[c] = (low, int(rng.integers(low, height + 1)))
        loss, limit = LOSSES[int(rng.integers(len(LOSSES)))], LIMITS[int(rng.integers(len(LIMITS)))]
        feasible += compare(table, asked, limit, loss, lazy=bool(i % 2), weights=weights, bounds=bounds)
    assert feasible >= 20


def test_giving_up_early_changes_nothing() -> None:
    """k only, tight limits: nodes are given up at breaks between sorted cells, and the optimum is still that of brute force."""
    feasible = 0
    for i in range(40):
        table = random_table(80_000 + i)
        feasible += compare(table, [req.K(2 + i % 3)], (0.0, 0.05, 0.1, 0.2)[i % 4], ("loss", "ncp")[i % 2], lazy=bool(i % 2))
    assert feasible >= 20
