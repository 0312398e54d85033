"""Microaggregation of too many records: blocks by their definition, in any order of the rows, at least k in every combination."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
import shoal.techniques as tf
from shoal.engines.recode import spill
from shoal.model.plan import Plan
from shoal.techniques.group import microaggregate
from shoal.techniques.group import near as blocks


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables of hundreds of records are too many: cut above 130 numbers."""
    monkeypatch.setattr(microaggregate, "MOST_CELLS", 300)
    monkeypatch.setattr(blocks, "BLOCK", 130)
    monkeypatch.setattr(blocks, "AT_ONCE", 50)


def people(n: int, missing: int = 9) -> pa.Table:
    rng = np.random.default_rng(n)
    x, y = np.round(rng.lognormal(3, 1, n), 0), np.round(rng.normal(size=n), 1)
    gone = rng.integers(0, missing, (2, n)) == 0
    gone[:, 0] = missing < 100  # a record without any value
    cells = [pa.array(c, mask=m) for c, m in ((x, gone[0]), (y, gone[1]), (rng.integers(0, 4, n), np.zeros(n, bool)))]
    return pa.table({"i": range(n), "x": cells[0], "y": cells[1], "z": cells[2]})


def written(table: pa.Table, step: Any, folder: Path) -> bytes:
    shoal.transform(table, Plan((step,)), folder / "o.parquet")
    return (folder / "o.parquet").read_bytes()


STEPS = [
    tf.Microaggregate("x", ("y",), k=4),
    tf.Microaggregate("x", ("y", "z"), k=3, publish="median"),
    tf.Microaggregate("x", ("z", "y"), k=5, method="v-mdav"),
    tf.Microaggregate("x", k=4, method="v-mdav"),
]


@pytest.mark.parametrize("step", STEPS, ids=str)
def test_the_order_of_the_rows_does_not_matter(
    small: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: tf.Microaggregate
) -> None:
    table = people(700)
    made = [written(table, step, tmp_path)]
    monkeypatch.setattr(spill, "GIVEN", 64)
    monkeypatch.setattr("shoal.engines.recode.write.HELD", 2_000)
    made.append(written(table.take(np.random.default_rng(1).permutation(700)), step, tmp_path))
    assert made[0] == made[1]


@pytest.mark.parametrize("step", STEPS, ids=str)
@pytest.mark.parametrize("missing", [9, 100])
def test_every_combination_is_that_of_at_least_k(small: None, tmp_path: Path, step: tf.Microaggregate, missing: int) -> None:
    written(people(601, missing), step, tmp_path)
    rows = pq.read_table(tmp_path / "o.parquet", columns=list(step.columns)).to_pylist()
    sizes = Counter(tuple(row.values()) for row in rows)
    assert sum(sizes.values()) == 601
    assert min(sizes.values()) >= step.k
    assert len(sizes) > 601 // (4 * step.k)


def slow_blocks(rows: list[tuple[float, ...]], k: int, most: int) -> list[list[int]]:
    """The farthest records in one block, the others cut at the median of the column of the largest deviation."""
    d = len(rows[0])
    columns = list(zip(*rows, strict=True))
    scale = [(float(np.mean(c)), float(np.std(c)) or 1.0) for c in columns]
    z = [[(v - m) / s for v, (m, s) in zip(row, scale, strict=True)] for row in rows]
    by_distance = sorted(range(len(rows)), key=lambda i: sum(v * v for v in z[i]))
    far = min(max(most // d, k), len(rows) - k)

    def cut(some: list[int]) -> list[list[int]]:
        if len(some) * d <= most or len(some) // 2 < k:
            return [sorted(some)]
        widest = max(range(d), key=lambda j: (round(float(np.std([z[i][j] for i in some])), 9), -j))
        some = sorted(some, key=lambda i: rows[i][widest])
        return cut(some[: len(some) // 2]) + cut(some[len(some) // 2 :])

    return [sorted(by_distance[-far:]), *cut(by_distance[:-far])]


@pytest.mark.parametrize(("n", "k", "most"), [(300, 3, 100), (61, 30, 60), (60, 30, 60), (301, 2, 13), (100, 45, 20)])
def test_blocks_are_those_of_the_definition(monkeypatch: pytest.MonkeyPatch, n: int, k: int, most: int) -> None:
    monkeypatch.setattr(blocks, "BLOCK", most)
    rng = np.random.default_rng(n)
    x = np.array([rng.lognormal(0, 1, n), rng.normal(size=n), np.full(n, 7.0)])
    scale = blocks.Scale.of(blocks.in_parts(x), blocks.exponents(x))
    found = [at.tolist() for _, at in blocks.blocks(x, np.arange(n), k, scale)]
    assert found == slow_blocks(list(zip(*x.tolist(), strict=True)), k, most)
    assert sorted(i for at in found for i in at) == list(range(n))
    assert min(map(len, found)) >= k


def test_what_is_a_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "BLOCK", 60)
    assert blocks.is_block(20, 3, 2)
    assert not blocks.is_block(21, 3, 2)
    assert not blocks.is_block(21, 3, 10)
    assert blocks.is_block(21, 3, 11)


@pytest.mark.parametrize("values", [np.random.default_rng(2).normal(5, 3, (2, 1000)), np.full((1, 300), 1e300), np.ones((2, 7))])
def test_scale_of_parts_is_that_of_all(monkeypatch: pytest.MonkeyPatch, values: np.ndarray) -> None:
    monkeypatch.setattr(blocks, "AT_ONCE", 64)
    scale = blocks.Scale.of(blocks.in_parts(values), blocks.exponents(values))
    assert np.ldexp(scale.mean, scale.exponent) == pytest.approx(values.mean(axis=1), rel=1e-13)
    points = scale.points(values)
    assert points.std(axis=1) == pytest.approx(np.where(np.ptp(values, axis=1) > 0, 1.0, 0.0))


def test_blocks_begin_and_are_told_beyond_the_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = people(20, 1000)
    step = tf.Microaggregate("x", ("y",), k=4)
    plain = written(table, step, tmp_path)
    monkeypatch.setattr(blocks, "BLOCK", 16)
    for name, limit in (("MOST_PAIRS", 100), ("MOST_CELLS", 40)):
        with monkeypatch.context() as patch:
            patch.setattr(microaggregate, "HAVE_NUMBA", True)
            patch.setattr(microaggregate, "FEW_COLUMNS", 1)
            patch.setattr(microaggregate, name, limit)
            assert written(table, step, tmp_path) == plain
            patch.setattr(microaggregate, name, limit - 1)
            done = shoal.transform(table, Plan((step,)), tmp_path / "o.parquet").done
            assert done is not None
            assert [t for t in done.not_kept if "20 records are too many" in t]
            assert (tmp_path / "o.parquet").read_bytes() != plain
            if name == "MOST_PAIRS":  # a tree spares most pairs where columns are few; it is compiled
                patch.setattr(microaggregate, "FEW_COLUMNS", 2)
                assert written(table, step, tmp_path) == plain
                patch.setattr(microaggregate, "HAVE_NUMBA", False)
                assert written(table, step, tmp_path) != plain
            assert not tf.Microaggregate("x", k=4).in_blocks(20)  # sorted, however many


def test_blocks_of_a_sample_are_told_of_its_records(small: None, tmp_path: Path) -> None:
    plan = Plan((tf.Sample(share=0.1), STEPS[0]), seed=10**16)
    done = shoal.transform(people(700), plan, tmp_path / "o.csv").done
    assert done is not None
    assert not [t for t in done.not_kept if "too many" in t]


@pytest.mark.parametrize("alike", [3, 4])
def test_so_many_as_k_with_the_same_columns_missing_keep_their_values(small: None, tmp_path: Path, alike: int) -> None:
    rng = np.random.default_rng(8)
    y = pa.array(rng.normal(size=400), mask=np.arange(400) < alike)
    written(pa.table({"i": range(400), "x": rng.normal(size=400), "y": y}), tf.Microaggregate("x", ("y",), k=4), tmp_path)
    rows = pq.read_table(tmp_path / "o.parquet").to_pylist()
    kept = [r["x"] for r in rows if r["i"] < alike and r["y"] is None and r["x"] is not None]
    assert len(kept) == (4 if alike == 4 else 0)
    assert len(set(kept)) <= 1
