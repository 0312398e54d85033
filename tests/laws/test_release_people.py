"""People with records in several classes: the plan chosen is the best by people, and nobody is left out for nothing."""

from __future__ import annotations

import itertools
from collections import defaultdict
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import shoal

LEVELS = {"a": lambda v, level: (v, f"{v // 5 * 5}s", f"{v // 20 * 20}t", "*")[level], "c": lambda v, level: (v, "*")[level]}
HEIGHTS = {"a": 3, "c": 1}


def visits(seed: int) -> tuple[list[tuple[int, str, str]], int, float]:
    rng = np.random.default_rng(seed)
    people, times = int(rng.integers(20, 80)), int(rng.integers(2, 4))
    sex = rng.choice(["f", "m"], people)
    rows = [(int(rng.integers(20, 60)), str(sex[p]), f"P{p}") for p in range(people) for _ in range(times)]
    return rows, int(rng.integers(2, 7)), float(rng.choice([0.0, 0.05, 0.2]))


def feasible(rows: list[tuple[int, str, str]], levels: tuple[int, int], k: int, most: float) -> tuple[int, int] | None:
    """Records left out and smallest class by people at a node, or None; by plain counting."""
    members, records = defaultdict(set), defaultdict(int)
    for a, c, person in rows:
        key = LEVELS["a"](a, levels[0]), LEVELS["c"](c, levels[1])
        members[key].add(person)
        records[key] += 1
    gone = sum(records[key] for key in members if len(members[key]) < k)
    left = [len(m) for m in members.values() if len(m) >= k]
    return (gone, min(left)) if gone <= most and left else None


@pytest.mark.parametrize("seed", range(25))
def test_the_plan_is_the_best_by_people(seed: int, tmp_path: Any) -> None:
    rows, k, share = visits(seed)
    values = {"a": sorted({r[0] for r in rows}), "c": ["f", "m"]}
    for column, listed in values.items():
        lines = [";".join(str(LEVELS[column](v, level)) for level in range(HEIGHTS[column] + 1)) for v in listed]
        (tmp_path / f"{column}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    table = pa.table({"a": [r[0] for r in rows], "c": [r[1] for r in rows], "pid": [r[2] for r in rows]})
    policy = {
        "roles": {"quasi": {c: {"hierarchy": str(tmp_path / f"{c}.csv")} for c in HEIGHTS}},
        "unit": {"column": "pid", "publish": "drop"},
        "require": {"k": k},
        "allow": {"suppress": share},
        "optimize": "precision",
    }
    nodes = list(itertools.product(range(4), range(2)))
    good = {n: feasible(rows, n, k, share * len(rows) + 1e-9) for n in nodes}
    made = shoal.anonymize(table, policy)
    utility = made.certificate.utility
    chosen = utility.levels["a"], utility.levels["c"]
    found = good[chosen]
    assert found is not None, "the plan meets k by people"
    assert (utility.suppressed, made.k) == found, "no class of enough people is left out"

    def loss(node: tuple[int, int]) -> float:
        """Precision lost: the mean height of the cells, those of records left out at the top."""
        gone = good[node][0] / len(rows)
        return gone + (1 - gone) * (node[0] / 3 + node[1]) / 2

    best = min(loss(n) for n in nodes if good[n] is not None)
    assert utility.proven
    assert utility.loss == pytest.approx(loss(chosen), abs=1e-9)
    assert loss(chosen) == pytest.approx(best, abs=1e-9)
