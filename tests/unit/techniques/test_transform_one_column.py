"""Microaggregation of one column: MDAV by sorting is MDAV by its definition."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
import shoal.techniques as tf
from shoal.engines.recode import spill
from shoal.errors import DataError
from shoal.model.plan import Plan
from shoal.techniques.group import near


def mdav_by_definition(x: list[float], k: int) -> list[list[float]]:
    """The farthest from the mean with its k nearest, the farthest from that one with its k nearest, and so on."""
    left, groups = list(x), []

    def take(point: float) -> None:
        near = sorted(left, key=lambda v: abs(v - point))[:k]
        for v in near:
            left.remove(v)
        groups.append(sorted(near))

    while len(left) >= 3 * k:
        far = max(left, key=lambda v: abs(v - sum(left) / len(left)))
        other = max(left, key=lambda v: abs(v - far))
        take(far)
        take(other)
    if len(left) >= 2 * k:
        take(max(left, key=lambda v: abs(v - sum(left) / len(left))))
    return sorted([*groups, sorted(left)])


@given(st.integers(2, 5), st.integers(0, 40), st.integers(0, 2**31))
def test_groups_are_those_of_the_definition(k: int, more: int, seed: int) -> None:
    x = np.random.default_rng(seed).lognormal(0, 1, k + more)
    cuts = near.end_groups(np.sort(x), k)
    found = [np.sort(x)[a:b].tolist() for a, b in pairwise(cuts)]
    assert found == mdav_by_definition(x.tolist(), k)
    assert sorted(np.bincount(tf.near_groups(x[None], k)).tolist()) == sorted(map(len, found))


@pytest.mark.parametrize("n", range(3, 32))
def test_sizes_at_every_limit(n: int) -> None:
    sizes = np.diff(near.end_groups(np.arange(n, dtype=float) ** 2, 3))
    assert sizes.sum() == n
    assert sizes.min() >= 3
    assert sizes.max() <= 5
    assert (sizes != 3).sum() <= 1


def test_the_group_formed_first_is_at_the_farther_end() -> None:
    assert tf.near_groups(np.array([[1.0, 2.0, 3.0, 50.0, 51.0, 52.0, 53.0]]), 2).tolist()[:2] == [0, 0]
    assert tf.near_groups(np.array([[1.0, 2.0, 3.0, 50.0]]), 2).tolist() == [1, 1, 0, 0]


VALUES = np.round(np.random.default_rng(4).lognormal(3, 1, 400), 1)


@pytest.mark.parametrize("publish", ["mean", "median"])
@pytest.mark.parametrize("missing", [0, 1, 3, 4, 50])
def test_rows_on_disk_as_in_memory(tmp_path: Any, monkeypatch: pytest.MonkeyPatch, publish: str, missing: int) -> None:
    """Also where fewer than k records (4) have no value: the group that is formed first joins them."""
    monkeypatch.setattr(spill, "GIVEN", 64)
    cells = [None if i < missing else float(v) for i, v in enumerate(VALUES)]
    table = pa.table({"i": range(400), "x": pa.array(cells, pa.float64())})
    step = tf.Microaggregate("x", k=4, publish=publish)  # type: ignore[arg-type]
    made = []
    for held in (1 << 30, 2_000):
        monkeypatch.setattr("shoal.engines.recode.write.HELD", held)
        shoal.transform(table, Plan((step,)), tmp_path / "o.parquet")
        made.append((tmp_path / "o.parquet").read_bytes())
    assert made[0] == made[1]
    out = pq.read_table(tmp_path / "o.parquet")["x"]
    assert out.null_count == (missing + 4 if 0 < missing < 4 else missing)
    sizes = np.unique(np.array(out.drop_null()), return_counts=True)[1]
    assert sizes.min() >= 4


@pytest.mark.parametrize(
    ("others", "what"), [((), "column 'x' has 2 values"), (("y",), "the table of columns 'x', 'y' has 2 values")]
)
def test_too_few_values_are_said_of_one_column_or_of_all(others, what):
    table = pa.table({"x": [1.0, 2.0], "y": [1.0, 2.0]})
    with pytest.raises(DataError, match=what):
        tf.apply(tf.Microaggregate("x", others, k=3), table)
