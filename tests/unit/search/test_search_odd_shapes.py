"""Tables and hierarchies of unusual shape: every search gives a right answer or a clear refusal."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

from search_oracle import Table, judge, random_table
from shoal.errors import HierarchyError, InfeasibleError, UsageError
from shoal.model import requirement as req
from shoal.model.counts.classes import ClassCounts
from shoal.model.hierarchy import Hierarchy
from shoal.search import frontier, lattice, local

STAR = [["x", "*"], ["y", "*"]]
FLAT = [["x"], ["y"]]


def table(rows: list[tuple], *trees: list[list[str]]) -> Table:
    names = tuple(f"c{j}" for j in range(len(trees)))
    return Table(names, rows, ["s"] * len(rows), dict(zip(names, trees, strict=True)))


SHAPES = {
    "one column": table([("x",)] * 3 + [("y",)], STAR),
    "hierarchy of one level": table([("x",)] * 3 + [("y",)], FLAT),
    "one value": table([("x",)] * 5, [["x"]]),
    "a column that is missing everywhere": table([(None, "x")] * 2 + [(None, "y")] * 3, STAR, STAR),
    "missing everywhere, one level": table([(None, "x")] * 2 + [(None, "y")] * 3, FLAT, STAR),
    "duplicates only": table([("x", "y")] * 6, STAR, STAR),
    "one row": table([("x",)], STAR),
    "two rows": table([("x",), ("y",)], STAR),
    "leaves that do not occur": table([("x",)] * 3, [[f"v{i}", "*"] for i in range(50)] + STAR),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_full_domain(shape: str, share: float) -> None:
    t = SHAPES[shape]
    asked, limit = [req.K(2)], math.floor(share * len(t.rows) + 1e-9)
    good = [v for v in (judge(t, n, asked, limit, "loss") for n in t.nodes()) if v.feasible]
    for lazy in (False, True):
        if not good:
            with pytest.raises(InfeasibleError):
                lattice(t.counts(), t.hierarchies(), asked, suppress=share, lazy=lazy)
            continue
        found = lattice(t.counts(), t.hierarchies(), asked, suppress=share, lazy=lazy)
        assert found.loss == pytest.approx(min(v.loss for v in good), abs=1e-12)
    points = frontier(t.counts(), t.hierarchies(), ks=(2,), suppress=(share,))
    assert [p.loss for p in points] == pytest.approx([min(v.loss for v in good) if good else None])


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("method", ["cover", "cluster", "mondrian"])
@pytest.mark.parametrize("cells", ["hierarchy", "sets", "ranges"])
def test_local(shape: str, method: str, cells: str) -> None:
    t = SHAPES[shape]
    if len(t.rows) < 2:
        with pytest.raises(InfeasibleError, match="1 members in all"):
            local(t.counts(), t.hierarchies(), [req.K(2)], method=method, cells=cells)
        return
    found = local(t.counts(), t.hierarchies(), [req.K(2)], method=method, cells=cells)
    sizes: Counter[tuple] = Counter()
    for label, size in zip(zip(*found.labels, strict=True), t.counts().sizes.tolist(), strict=True):
        sizes[label] += size
    assert min(sizes.values()) >= 2
    assert sum(sizes.values()) == len(t.rows)


def wide(columns: int, rows: int, levels: int) -> tuple[ClassCounts, dict[str, Hierarchy]]:
    rng = np.random.default_rng(columns)
    names = tuple(f"q{j}" for j in range(columns))
    lines = [[f"{i}", *(f"{level}:{i >> level}" for level in range(1, levels)), "*"][: levels + 1] for i in range(4)]
    codes = np.unique(rng.integers(0, 4, (rows, columns)), axis=0).T
    counts = ClassCounts(np.ones(codes.shape[1], dtype=np.int64), names, list(codes), [pa.array(list("0123"))] * columns)
    return counts, {n: Hierarchy.from_rows(n, lines) for n in names}


def test_sixty_quasi_identifiers() -> None:
    """A lattice of 3^60 nodes: a plan, a proven gap, and every published class re-counted from the labels."""
    counts, trees = wide(60, 400, 2)
    found = lattice(counts, trees, [req.K(3)], suppress=0.1, time_budget=0.5)
    assert found.n_nodes == 3**60
    assert not found.proven
    assert 0.0 < found.gap <= found.loss
    levels = [found.levels[c] for c in counts.columns]
    rows = zip(*(trees[c].levels[v].groups[codes] for c, v, codes in zip(counts.columns, levels, counts.codes, strict=True)))  # noqa: B905
    sizes = Counter(tuple(int(x) for x in row) for row in rows)
    assert sum(n for n in sizes.values() if n < 3) == found.suppressed <= 40
    near = local(counts, trees, [req.K(3)], cells="sets")
    assert min(Counter(zip(*near.labels, strict=True)).values()) >= 3


def test_many_columns_with_one_level_are_listed() -> None:
    counts, trees = wide(80, 60, 1)
    fixed = dict.fromkeys(counts.columns[2:], (0, 0))
    with pytest.raises(InfeasibleError) as caught:
        lattice(counts, trees, [req.K(2)], suppress=0.5, bounds=fixed)
    offered = [a for a in caught.value.alternatives if a.change == "raise level"]
    assert [a.sentence for a in offered] == ["Allow all levels."]
    assert offered[0].levels == dict.fromkeys(counts.columns, 1)
    assert set(caught.value.blocking) == set(counts.columns[2:])


def test_a_hierarchy_that_splits_again_is_refused() -> None:
    with pytest.raises(HierarchyError):
        Hierarchy.from_rows("a", [["x", "g", "1"], ["y", "g", "2"]])


def test_offered_levels_and_k_make_a_plan_possible() -> None:
    done = Counter()
    for seed in range(40):
        t = random_table(62_000 + seed)
        bounds = dict.fromkeys(t.columns[:-1], (0, 0))
        asked = [req.K(5), req.MaxRisk(0.4)]
        try:
            lattice(t.counts(), t.hierarchies(), asked, suppress=0.1, bounds=bounds)
        except InfeasibleError as error:
            for a in error.alternatives:
                done[a.change] += 1
                if a.change == "k":
                    assert a.k is not None
                    assert 3 <= a.k < 5
                    lattice(t.counts(), t.hierarchies(), [req.K(a.k), asked[1]], suppress=0.1, bounds=bounds)
                elif a.change == "suppress":
                    lattice(t.counts(), t.hierarchies(), asked, suppress=a.suppress, bounds=bounds)
                elif a.change == "raise level":
                    higher = {c: (0, a.levels[c]) for c in bounds}
                    again = lattice(t.counts(), t.hierarchies(), asked, suppress=0.1, bounds=higher)
                    assert judge(t, tuple(a.levels.values()), asked, again.limit, "loss").feasible
    assert min(done[c] for c in ("k", "suppress", "raise level")) >= 3


def test_the_risk_asked_for_limits_the_k_that_is_offered() -> None:
    t = table([("x",)] * 3 + [("y",)] * 5, FLAT)
    with pytest.raises(InfeasibleError) as caught:
        lattice(t.counts(), t.hierarchies(), [req.K(6), req.MaxRisk(0.2)], suppress=0.0)
    assert not [a for a in caught.value.alternatives if a.change == "k"], "k = 3 would not meet the risk of 0.2"


def test_a_population_smaller_than_the_table_is_refused() -> None:
    t = table([("x",)] * 3 + [("y",)], STAR)
    with pytest.raises(UsageError, match="population of 3 is smaller than the table, which has 4"):
        lattice(t.counts(), t.hierarchies(), [req.PopulationUniqueness(0.1, 3)])


def test_where_the_table_is_the_population_uniques_are_counted() -> None:
    t = table([("x",)] * 3 + [("y",)], FLAT)
    for method in ("dankar", "pitman"):
        found = lattice(t.counts(), t.hierarchies(), [req.PopulationUniqueness(0.25, 4, method)], suppress=0.0)
        assert found.suppressed == 0


def test_the_same_plan_without_compiled_code() -> None:
    code = """
import sys, json, warnings
warnings.simplefilter("error")
from search_oracle import random_table
from shoal.kernels.jit import HAVE_NUMBA
from shoal.model.requirement import DeltaDisclosure, K, TCloseness
from shoal.search import lattice, local
t = random_table(9)
wide = lattice(t.counts(), t.hierarchies(), [DeltaDisclosure("s", 1000.0)], suppress=0.9)
found = lattice(t.counts(), t.hierarchies(), [K(2), TCloseness("s", 0.6)], suppress=0.3)
plain = lattice(t.counts(), t.hierarchies(), [K(3)], suppress=0.3)
near = local(t.counts(), t.hierarchies(), [K(3)], cells="sets")
print(json.dumps([HAVE_NUMBA, wide.levels, found.levels, found.loss, plain.levels, plain.loss, near.groups.tolist()]))
"""
    path = os.pathsep.join(p for p in sys.path if p)
    answers = []
    for flag in ("0", "1"):
        env = {**os.environ, "SHOAL_NO_NUMBA": flag, "PYTHONPATH": path}
        run = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False)
        assert run.returncode == 0, run.stderr
        answers.append(run.stdout)
    assert answers[0].startswith("[true")
    assert answers[1].startswith("[false")
    assert answers[0].split(",", 1)[1] == answers[1].split(",", 1)[1]
