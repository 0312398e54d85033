"""Steps that look at every value of a column, however many values it has."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
import shoal.techniques as tf
from shoal.api import transform as plans
from shoal.engines import table as tables
from shoal.engines.core.memory import left_for_data
from shoal.engines.count import sql as distinct
from shoal.engines.recode import staging
from shoal.errors import DataError, MemoryBudgetError, PolicyError
from shoal.model.plan import Plan
from shoal.techniques.group import optimal_1d

RNG = np.random.default_rng(6)
FRAME = pa.table(
    {
        "i": range(300),
        "x": pa.array([None if i % 50 == 0 else v for i, v in enumerate(RNG.normal(0, 9, 300).round(1).tolist())]),
        "t": pa.array([None if i % 60 == 0 else f"t{v}" for i, v in enumerate(RNG.zipf(1.4, 300).tolist())]),
    }
)
STEPS: dict[str, list[dict[str, Any]]] = {
    "x": [{"groups": {"k": 9}}, {"quantiles": {"k": 9}}, {"quantiles": {"groups": 7}}, {"top_bottom": {"people": 9}},
          {"rare": {"min_count": 3}}],
    "t": [{"rare": {"min_count": 2}}, {"rare": {"min_count": 1}}],
}  # fmt: skip


@pytest.mark.parametrize("short", [299, 300])
def test_a_file_of_many_values_is_published_as_one_of_few(tmp_path: Any, monkeypatch: pytest.MonkeyPatch, short: int) -> None:
    monkeypatch.setattr(tables, "SHORT", short)  # counted on disk, or by codes
    for column, steps in STEPS.items():
        for step in steps:
            made = []
            for most in (1_000_000, 5 if "rare" in step else 1_000_000):
                monkeypatch.setattr(distinct, "MOST_NUMBERS", most)
                monkeypatch.setattr(distinct, "MOST_TEXTS", most)
                done = shoal.transform(FRAME, {"steps": [{"column": column, **step}]}, tmp_path / "o.csv")
                made.append(((tmp_path / "o.csv").read_bytes(), done.done.changed))  # type: ignore[union-attr]
            assert made[0] == made[1], step


@pytest.mark.parametrize("step", STEPS["x"][:4], ids=str)
def test_more_numbers_than_are_held_are_refused(step: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    different = len(set(FRAME["x"].to_pylist()) - {None})
    monkeypatch.setattr(distinct, "MOST_NUMBERS", different)
    shoal.transform(FRAME, {"steps": [{"column": "x", **step}]})
    monkeypatch.setattr(distinct, "MOST_NUMBERS", different - 1)
    with pytest.raises(DataError, match=f"more than {different - 1} different values"):
        shoal.transform(FRAME, {"steps": [{"column": "x", **step}]})


def test_groups_that_a_plan_cannot_name_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    x = pa.array(np.arange(100.0))
    monkeypatch.setattr(optimal_1d, "MOST_GROUPS", 50)
    assert len(tf.quantile_transform("x", x, k=2).points) == 49  # type: ignore[attr-defined]
    monkeypatch.setattr(optimal_1d, "MOST_GROUPS", 49)
    with pytest.raises(DataError, match="50 groups: more than a plan can name"):
        tf.quantile_transform("x", x, k=2)


@pytest.mark.parametrize("step", [tf.RankSwap("x"), tf.Microaggregate("x", k=3), tf.Rare("x", min_count=2)], ids=str)
def test_whole_columns_that_do_not_fit_are_refused(step: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The columns of such a step are held while it runs; nothing is written where the memory does not allow it."""
    room = left_for_data(1 << 30)
    with shoal.open(FRAME, memory="1GB") as table:
        monkeypatch.setattr(staging, "bytes_of_columns", lambda rows, columns: room if (rows, columns) == (300, 1) else 0)
        table.recode(Plan((step,), seed=3**80), tmp_path / "o.csv")
        monkeypatch.setattr(staging, "bytes_of_columns", lambda rows, columns: room + 1)
        with pytest.raises(MemoryBudgetError, match=f"step '{step.kind}' on 300 records of 1 columns needs about"):
            table.recode(Plan((step,), seed=3**80), tmp_path / "p.csv")
    assert [p.name for p in tmp_path.iterdir()] == ["o.csv"]


@settings(max_examples=30)
@given(st.lists(st.one_of(st.none(), st.sampled_from("abcdefg")), max_size=40), st.integers(1, 4))
def test_rare_values_are_hidden_exactly(cells: list[str | None], least: int) -> None:
    counts = Counter(cells)
    expected = [c if c is None or counts[c] >= least else "*" for c in cells]
    table = pa.table({"t": pa.array(cells, pa.string())})
    assert tf.Rare("t", min_count=least).run(table, 0)["t"].to_pylist() == expected


def test_rare_values_of_a_sample_are_those_of_few_sampled_records(tmp_path: Path) -> None:
    """A value of 20 records was shown although fewer than 10 of them were in the sample."""
    cells = ["a"] * 400 + [f"v{i % 20}" for i in range(400)]
    plan = {"sample": {"share": 0.3}, "steps": [{"column": "t", "rare": {"min_count": 10}}], "seed": 10**15}
    shoal.transform(pa.table({"t": cells}), plan, tmp_path / "o.parquet")
    shown = Counter(pq.read_table(tmp_path / "o.parquet")["t"].to_pylist())
    assert {"a", "*"} <= set(shown)
    assert min(n for value, n in shown.items() if value != "*") >= 10
    plan["steps"] = [{"column": "t", "rare": {}}]
    with pytest.raises(PolicyError, match="lacks a setting"):
        shoal.transform(pa.table({"t": cells}), plan, tmp_path / "o.parquet")


def test_rare_values_after_another_step_are_those_that_it_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counts of the original let categories of fewer records stay after PRAM, and hid every keyed hash."""
    monkeypatch.setenv("TEST_KEY", "a long secret with many letters 0123456789")
    table = pa.table({"t": ["a", "b", "c"] * 30, "n": range(90)})
    pram = {"pram": {"keep": 0.5, "invariant": False}}
    for first, seed in (({"keyed_hash": {"key": "env:TEST_KEY"}}, 0), *((pram, 10**15 + i) for i in range(5))):
        plan = {"steps": [{"column": "t", **first}, {"column": "t", "rare": {"min_count": 28}}], "seed": seed}
        shoal.transform(table, plan, tmp_path / "o.parquet")
        shown = Counter(pq.read_table(tmp_path / "o.parquet")["t"].to_pylist())
        assert all(n >= 28 for value, n in shown.items() if value != "*")
        assert first is pram or list(shown.values()) == [30, 30, 30]


@pytest.mark.parametrize("technique", [{"groups": {"k": 10}}, {"quantiles": {"groups": 5}}, {"top_bottom": {"people": 20}}])
def test_groups_after_a_step_that_changes_the_numbers_are_refused(technique: Any, tmp_path: Path) -> None:
    """Fitted to the original, groups of ten held four records after noise; a permutation leaves their number as it is."""
    table = pa.table({"x": [i**2 / 7 for i in range(200)]})
    for first in ({"noise": {"share": 0.1}}, {"round": {"base": 1}}):
        with pytest.raises(PolicyError, match=f"'{next(iter(technique))}' of 'x' is fitted"):
            shoal.transform(table, {"steps": [{"column": "x", **first}, {"column": "x", **technique}]})
    shoal.transform(table, {"steps": [{"column": "x", "permute": {}}, {"column": "x", **technique}]}, tmp_path / "o.parquet")
    if "groups" in technique:
        assert min(Counter(pq.read_table(tmp_path / "o.parquet")["x"].to_pylist()).values()) >= 10


def test_groups_are_those_of_the_whole_table_also_with_a_sample() -> None:
    step = {"column": "n", "groups": {"k": 5}}
    with shoal.open(pa.table({"n": list(range(40))})) as table:
        plain, sampled = (plans.plan_for(table, {"steps": [step], **more}) for more in ({}, {"sample": {"share": 0.5}}))
    assert sampled.steps[1:] == plain.steps


@pytest.mark.parametrize("wrong", [0, -1, True, 2.0])
def test_what_rare_refuses(wrong: Any) -> None:
    with pytest.raises(PolicyError, match="min_count"):
        tf.Rare("t", min_count=wrong)


def test_pram_of_many_values(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setattr(distinct, "MOST_TEXTS", 10)
    table = pa.table({"t": ["a"] * 40 + ["b"] * 20 + ["c"] * 3 + [f"r{i}" for i in range(20)]})
    with pytest.raises(DataError, match="more than 10 different values"):
        shoal.transform(table, {"steps": [{"column": "t", "pram": {"keep": 0.7}}]})
    for words in ({"min_count": 4}, {"categories": ["a", "b"]}):
        step = shoal.transform(table, {"steps": [{"column": "t", "pram": {"keep": 0.7, **words}}]}).plan.steps[0]
        with monkeypatch.context() as patch:
            patch.setattr(distinct, "MOST_TEXTS", 1000)
            few = shoal.transform(table, {"steps": [{"column": "t", "pram": {"keep": 0.7, **words}}]}).plan.steps[0]
        assert step == few
    done = shoal.transform(table, Plan((step,)), tmp_path / "o.parquet")
    assert done.done is not None
    assert set(pq.read_table(tmp_path / "o.parquet")["t"].to_pylist()) == {"a", "b", "*"}
