"""Lattices too large to list: the same optimum with little memory, and Ctrl-C."""

from __future__ import annotations

import itertools
import math
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

from search_oracle import judge, random_table
from shoal.model import requirement as req
from shoal.model.counts.classes import ClassCounts
from shoal.model.hierarchy import Hierarchy
from shoal.search import lattice
from shoal.search.full_domain import lazy_search
from shoal.search.full_domain.evaluator import Evaluator
from shoal.search.full_domain.first_plan import cheapest_path
from shoal.search.full_domain.lazy_search import LazySearch
from shoal.search.full_domain.objective import Objective
from shoal.search.kernels.nodes import LowerSet
from shoal.search.problem import column_blocks
from shoal.search.problem.checks import build_checks
from shoal.search.problem.control import Control
from shoal.search.problem.problem import build_problem

LOSSES = ("loss", "ncp", "precision", "entropy", "discernibility", "average_class_size")


@pytest.mark.parametrize("loss", LOSSES)
def test_a_full_queue_and_a_short_memory_change_nothing(loss: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Boxes are searched depth first, nodes are forgotten and evaluated again, tables are made again: the optimum stays."""
    monkeypatch.setattr(lazy_search, "OPEN", 1)
    monkeypatch.setattr(lazy_search, "KNOWN", 2)
    monkeypatch.setattr(column_blocks, "KEPT", 100)
    done = 0
    for seed in range(8):
        table = random_table(64_000 + seed)
        asked = [req.K(3)] if seed % 2 else [req.K(2), req.EntropyDiversity("s", 1.5)]
        limit = math.floor(0.2 * len(table.rows) + 1e-9)
        good = [v.loss for v in (judge(table, n, asked, limit, loss) for n in table.nodes()) if v.feasible]
        if good:
            found = lattice(table.counts(), table.hierarchies(), asked, suppress=0.2, loss=loss, lazy=True)
            assert found.proven
            assert found.loss == pytest.approx(min(good), rel=1e-9, abs=1e-12)
            done += 1
    assert done >= 4


def wide(columns: int = 14) -> tuple[ClassCounts, dict[str, Hierarchy]]:
    rng = np.random.default_rng(5)
    names = tuple(f"q{j}" for j in range(columns))
    lines = [[f"{i:02d}", f"a{i // 2}", f"b{i // 4}", f"c{i // 8}", "*"] for i in range(16)]
    codes = np.unique(rng.integers(0, 16, (800, columns)), axis=0).T
    values = [pa.array([f"{i:02d}" for i in range(16)])] * columns
    counts = ClassCounts(np.ones(codes.shape[1], dtype=np.int64), names, list(codes), values)
    return counts, {n: Hierarchy.from_rows(n, lines) for n in names}


@pytest.mark.parametrize("loss", ["loss", "discernibility"])
def test_memory_stays_within_its_bounds(loss: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """5^14 nodes, 600 steps: the queue, what is remembered and the tables stay small, and the gap is still proven."""
    monkeypatch.setattr(lazy_search, "OPEN", 60)
    monkeypatch.setattr(lazy_search, "KNOWN", 50)
    monkeypatch.setattr(column_blocks, "KEPT", 2**16)
    counts, trees = wide()
    problem = build_problem(counts, trees)
    checks = build_checks(counts, [req.K(3)], has_population=False)
    evaluator, objective = Evaluator(problem, checks, 40), Objective(problem, loss)
    left = itertools.count(-600)
    search = LazySearch(evaluator, objective)
    found = search.run(Control(cancel=SimpleNamespace(is_set=lambda: next(left) >= 0)))
    assert found.stopped == "cancelled"
    assert found.best is not None
    assert found.lower < found.total
    assert evaluator.evaluated > 100
    assert len(search._heap) <= 60 + len(counts.columns)
    assert len(search._known) <= 50
    assert evaluator._tables._held <= 2**16 + 8 * max(b.combinations.shape[1] for b in problem.blocks)


def test_ctrl_c_ends_the_search_at_once() -> None:
    counts, trees = wide()
    asked = itertools.count()

    def interrupted() -> bool:
        if next(asked) == 30:
            raise KeyboardInterrupt
        return False

    with pytest.raises(KeyboardInterrupt):
        lattice(counts, trees, [req.K(3)], suppress=0.05, cancel=SimpleNamespace(is_set=interrupted))
    assert next(asked) == 31


@pytest.mark.parametrize("nodes", [1, 60, LowerSet.BITS, LowerSet.BITS + 1])
def test_nodes_below_others_are_told_as_by_comparing_each(nodes: int):
    rng = np.random.default_rng(3**80)
    heights = (4, 1, 3, 0, 2)
    dead, known = LowerSet(heights), rng.integers(0, np.array(heights) + 1, (nodes, 5)) // rng.integers(1, 3, (nodes, 5))
    for node in known.tolist():
        dead.add(tuple(node))
    for node in itertools.product(*(range(h + 1) for h in heights)):
        assert (node in dead) == bool((np.array(node) <= known).all(axis=1).any())


@pytest.mark.parametrize("below", [0.5, 2.0, float("inf")])
def test_the_cheapest_path_takes_the_least_step_each_time(below: float):
    """Ties, and steps that cost less than those before them, among them."""
    rng = np.random.default_rng(5)
    terms = np.cumsum(rng.integers(0, 3, (6, 5)) / 8, axis=1)
    lo, hi = (0, 1, 0, 2, 0, 4), (4, 3, 0, 4, 1, 4)
    at, expected = list(lo), [lo]
    while steps := [(terms[j, at[j] + 1] - terms[j, at[j]], j) for j in range(6) if at[j] < hi[j]]:
        add, j = min(steps)
        if sum(terms[i, at[i]] for i in range(6)) + add >= below:
            break
        at[j] += 1
        expected.append(tuple(at))
    assert cheapest_path(terms, lo, hi, below) == expected
