"""Steps that look at every value of a column: from numbers on disk they are, to the last bit, what they are in memory."""

from __future__ import annotations

import tempfile
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
from shoal.api import plan_files as plans
from shoal.engines import table as tables
from shoal.engines.count import distinct
from shoal.engines.recode import spill
from shoal.errors import DataError, PolicyError, UsageError
from shoal.model.plan import Plan
from shoal.techniques.coarsen import rare
from shoal.techniques.group import ranked as ranking
from shoal.techniques.group import spilled
from shoal.techniques.group.ranked import Ranked, sorted_numbers


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables of few rows, so that values and groups go on from one to the next."""
    monkeypatch.setattr(spill, "GIVEN", 7)
    monkeypatch.setattr(spill, "LEAST", 5)


def ranked(x: Any, w: Any, folder: Any) -> Ranked:
    parts = [(pa.array(x[i : i + 9]), w[i : i + 9]) for i in range(0, len(x), 9)]
    return Ranked.spilled("x", parts[::-1], spill.Spill(folder, 200))


NUMBERS = {
    "different": (np.random.default_rng(2).lognormal(2, 1, 150), np.ones(150, np.int64)),
    "ties": (
        np.round(np.random.default_rng(3).normal(0, 30, 90)) + np.arange(90) / 128,
        np.random.default_rng(4).integers(1, 9, 90),
    ),
    "far away": (1e15 + np.arange(60.0) ** 2, np.random.default_rng(5).integers(1, 4, 60)),
    "one heavy value": (np.arange(40.0), np.where(np.arange(40) == 17, 500, 1)),
    "one value": (np.array([4.0]), np.array([9])),
}


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("cost", ["sse", "median", "cellular", "rank"])
def test_groups_on_disk_are_those_in_memory(name: str, cost: Any, tmp_path: Any) -> None:
    x, w = NUMBERS[name]
    on_disk = ranked(x, w, tmp_path)
    for k in (1, 3, 9):
        for publish in ("mean", "median", "midrange", "interval"):
            memory = tf.microaggregate_1d("x", pa.array(x), w, k=k, cost=cost, publish=publish)  # type: ignore[arg-type]
            assert tf.microaggregate_1d("x", on_disk, k=k, cost=cost, publish=publish) == memory  # type: ignore[arg-type]
    assert tf.microaggregate_1d("x", on_disk, k=2, decimals=1) == tf.microaggregate_1d("x", pa.array(x), w, k=2, decimals=1)


@settings(max_examples=30)
@given(st.lists(st.tuples(st.integers(-40, 40), st.integers(1, 6)), min_size=1, max_size=60), st.integers(1, 12))
def test_quantiles_and_coding_on_disk_are_those_in_memory(pairs: list[tuple[int, int]], size: int) -> None:
    counts: Counter[int] = Counter()
    for value, times in pairs:
        counts[value] += times
    x = np.array(list(counts), np.float64) / 4
    w = np.array(list(counts.values()), np.int64)
    with tempfile.TemporaryDirectory() as folder:
        on_disk = ranked(x, w, Path(folder))
        for make in (
            lambda *v: tf.quantile_transform("x", *v, k=size),
            lambda *v: tf.quantile_transform("x", *v, groups=size),
            lambda *v: tf.top_bottom("x", *v, people=size),
            lambda *v: tf.top_bottom("x", *v, share=size / 30),
            lambda *v: tf.microaggregate_1d("x", *v, k=size),
        ):
            assert said(make, on_disk) == said(make, pa.array(x), w)


def said(make: Any, *values: Any) -> Any:
    try:
        return make(*values)
    except (DataError, UsageError) as error:
        return str(error)


def test_texts_of_one_number_are_one_value(tmp_path: Any) -> None:
    counted = [(["1", "2.0"], [1, 2]), (["1.0", "-0.0"], [3, 4]), (["2", "0"], [5, 6])]
    found = Ranked.spilled("x", counted, spill.Spill(tmp_path))
    x, w = (np.concatenate(parts) for parts in zip(*found.parts(), strict=True))
    assert (x.tolist(), w.tolist()) == ([0.0, 1.0, 2.0], [10, 4, 7])
    assert (found.values, found.records, found.low, found.high) == (3, 21, 0.0, 2.0)
    assert found.at_ranks([1, 10, 11, 14, 15, 21]) == [0.0, 0.0, 1.0, 1.0, 2.0, 2.0]
    assert (found.up_to([-1, 0, 0.5, 2]), found.below([0, 0.5, 2, 3])) == ([0, 10, 10, 21], [0, 10, 14, 21])


@settings(max_examples=40)
@given(st.lists(st.lists(st.integers(-9, 9), max_size=8), max_size=8), st.integers(0, 30), st.integers(0, 20))
def test_all_numbers_are_counted_however_many_are_held(batches: list[list[int]], room: int, most: int) -> None:
    counts = Counter(v / 4 for batch in batches for v in batch)
    expected = [sorted(counts), [counts[v] for v in sorted(counts)]]
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranking, "AT_ONCE", 3)
        numbers = (np.array(batch) / 4 for batch in batches)
        found, records = sorted_numbers("x", numbers, spill.Spill(Path(folder), 200), room, most)
        if counts.total() > room or len(counts) > most:
            assert records is None
            parts = list(found.parts())
            assert [[v for p in parts for v in p[i].tolist()] for i in (0, 1)] == expected
            assert (found.values, found.records) == (len(counts), counts.total())
        else:
            assert [found.to_pylist(), records.tolist()] == expected  # type: ignore[union-attr]


def test_infinite_numbers_are_told_whichever_way_they_are_sorted(tmp_path: Any) -> None:
    for x in ([np.inf, 1.0, 2.0], [1.0, -np.inf, 2.0]):
        with pytest.raises(DataError, match="'x' must hold numbers; 1 of"):
            sorted_numbers("x", iter([np.array(x)]), spill.Spill(tmp_path), 9, 1)


def test_what_a_plan_cannot_name_is_refused(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    on_disk = ranked(*NUMBERS["different"], tmp_path)
    monkeypatch.setattr(spilled, "MOST_GROUPS", 50)
    assert tf.quantile_transform("x", on_disk, groups=50).kind == "centres"
    with pytest.raises(DataError, match="51 groups: more than a plan can name"):
        tf.quantile_transform("x", on_disk, groups=51)
    assert len(tf.quantile_transform("x", on_disk, k=3).points) == 49  # type: ignore[attr-defined]
    with pytest.raises(DataError, match="75 groups"):
        tf.quantile_transform("x", on_disk, k=2)
    with pytest.raises(DataError, match="too many for groups by cost 'center'"):
        tf.microaggregate_1d("x", on_disk, k=3, cost="center")
    with pytest.raises(UsageError, match="far apart"):
        tf.microaggregate_1d("x", ranked(np.array([-1e308, 1e308]), np.array([5, 5]), tmp_path), k=3)


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
            for most in (1_000_000, 5):
                monkeypatch.setattr(plans, "MOST_HELD", most)
                monkeypatch.setattr(plans, "MOST_SORTED", most)
                monkeypatch.setattr(distinct, "MOST_NUMBERS", most)
                monkeypatch.setattr(distinct, "MOST_TEXTS", most)
                done = shoal.transform(FRAME, {"steps": [{"column": column, **step}]}, tmp_path / "o.csv")
                made.append(((tmp_path / "o.csv").read_bytes(), done.done.changed))  # type: ignore[union-attr]
            assert made[0] == made[1], step


def test_the_limit_of_what_is_held(monkeypatch: pytest.MonkeyPatch) -> None:
    used: list[bool] = []
    real = Ranked.spilled
    monkeypatch.setattr(Ranked, "spilled", lambda *words: used.append(True) or real(*words))
    for most in (50, 49):
        monkeypatch.setattr(plans, "MOST_HELD", most)
        with shoal.open(pa.table({"x": [*range(50), None, 3]})) as table:
            plans.plan_for(table, {"steps": [{"column": "x", "top_bottom": {"people": 2}}]})
        assert bool(used) == (most < 50)


@settings(max_examples=30)
@given(st.lists(st.one_of(st.none(), st.sampled_from("abcdefg")), max_size=40), st.integers(1, 4))
def test_rare_values_are_hidden_exactly(cells: list[str | None], least: int) -> None:
    counts = Counter(cells)
    expected = [c if c is None or counts[c] >= least else "*" for c in cells]
    table = pa.table({"t": pa.array(cells, pa.string())})
    assert tf.Rare("t", min_count=least).run(table, 0)["t"].to_pylist() == expected
    with tempfile.TemporaryDirectory() as folder:
        rows = lambda: iter([table.slice(i, 3) for i in range(0, max(len(cells), 1), 3)])  # noqa: E731
        made = tf.Rare("t", min_count=least).streamed(rows, spill.Spill(Path(folder), 60), 0)
        assert [v for t in made for v in t["t"].to_pylist()] == expected


def test_values_with_one_hash_are_told_apart(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    """By the second hash, also where their rows go on from table to table."""
    real = rare.text_hashes
    monkeypatch.setattr(
        rare, "text_hashes", lambda texts: real(texts) if str(texts[0])[:1] == "=" else real(texts) & np.uint64(1)
    )
    cells = [f"v{i % 11}" for i in range(60)] + [f"w{i}" for i in range(9)]
    table = pa.table({"t": cells})
    made = tf.Rare("t", min_count=6).streamed(lambda: iter([table]), spill.Spill(tmp_path, 60), 0)
    counts = Counter(cells)
    assert [v for t in made for v in t["t"].to_pylist()] == [c if counts[c] >= 6 else "*" for c in cells]


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
