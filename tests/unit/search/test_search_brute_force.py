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
from shoal.search.losses import CELL_LOSSES, CLASS_LOSSES

LOSSES = CELL_LOSSES + CLASS_LOSSES
LIMITS = (0.0, 0.1, 0.3, 1.0)


def closeness(table: Table, distance: str, t: float) -> req.TCloseness:
    tree = Hierarchy.from_rows("s", table.sensitive_tree) if distance == "hierarchical" else None
    return req.TCloseness("s", t, distance, tree)  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def _copies_even_of_small_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shoal.search.sources.FEW", 1)
    monkeypatch.setattr("shoal.search.sources.SHRINK", 1.0)
    monkeypatch.setattr("shoal.search.evaluate.MANY", 0)


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
}


def optimum(table: Table, asked: list[req.Requirement], limit: float, loss: str, weights: dict[str, float] | None) -> float:
    allowed = math.floor(limit * len(table.rows) + 1e-9)
    verdicts = [judge(table, node, asked, allowed, loss, weights) for node in table.nodes()]
    return min((v.loss for v in verdicts if v.feasible), default=math.inf)


def compare(table: Table, asked: list[req.Requirement], limit: float, loss: str, *, lazy: bool, weights=None) -> bool:
    """Whether a plan exists; asserts that search and brute force agree on it."""
    best = optimum(table, asked, limit, loss, weights)
    population = table.counts(table.population) if table.population else None
    try:
        found = lattice(
            table.counts(),
            table.hierarchies(),
            asked,
            suppress=limit,
            loss=loss,
            weights=weights,
            population=population,
            lazy=lazy,
        )
    except InfeasibleError:
        assert best == math.inf
        return False
    assert found.proven
    assert found.loss == pytest.approx(best, rel=1e-9, abs=1e-12)
    levels = tuple(found.levels[c] for c in table.columns)
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
    feasible = 0
    for i in range(14):
        seed = 1000 * list(ASKED).index(name) + i
        table = random_table(seed)
        loss, limit = LOSSES[i % len(LOSSES)], LIMITS[(i // 2 + i) % len(LIMITS)]
        feasible += compare(table, ASKED[name](table), limit, loss, lazy=bool(i % 2))
    assert feasible >= 5, "the cases must not all be impossible"


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


def test_giving_up_early_changes_nothing() -> None:
    """k only, tight limits: nodes are given up at breaks between sorted cells, and the optimum is still that of brute force."""
    feasible = 0
    for i in range(40):
        table = random_table(80_000 + i)
        feasible += compare(table, [req.K(2 + i % 3)], (0.0, 0.05, 0.1, 0.2)[i % 4], ("loss", "ncp")[i % 2], lazy=bool(i % 2))
    assert feasible >= 20
