"""The different values of a column in little memory: the same as by codes, and refused where they are too many."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
import shoal.techniques as tf
from shoal.engines import table as tables
from shoal.engines.count import sql as distinct
from shoal.errors import DataError

VALUES: dict[str, Any] = {
    "whole": pa.array([3, None, 3, -7, 3, 1], pa.int16()),
    "huge": pa.array([2**64 - 1, 5, None, 5, 5, 2**63], pa.uint64()),
    "number": pa.array([0.5, float("nan"), -0.0, 0.0, None, 0.5]),
    "money": pa.array([Decimal("1.50"), Decimal("1.50"), None, Decimal("-2.00"), Decimal("0.10"), Decimal("0.10")]),
    "text": pa.array(["b", "a", "b", None, "", "ä"]),
    "day": pa.array([dt.date(2024, 1, 2), None, dt.date(2024, 1, 2), dt.date(1900, 1, 1), None, None]),
    "nano": pa.array([1_000_000_001, 1_000_000_002, 5, None, 5, 10**18], pa.timestamp("ns")),
    "clock": pa.array([1_000_000_001, 1_000_000_002, 5, None, 5, 7], pa.time64("ns")),
    "zoned": pa.array([0, 0, None, 10**15, 5, 5], pa.timestamp("us", tz="Europe/Amsterdam")),
    "truth": pa.array([True, False, None, True, True, None]),
    "bytes": pa.array([b"a", b"\x00", None, b"a", b"", b""]),
    "list": pa.array([[1], [1], None, [], [2], [2]]),
    "nothing": pa.nulls(6, pa.int32()),
}


@pytest.mark.parametrize("least", [1, 2, 3])
def test_spilled_values_are_those_by_codes(tmp_path: Any, monkeypatch: pytest.MonkeyPatch, least: int) -> None:
    pq.write_table(pa.table(VALUES), tmp_path / "in.parquet")
    for source in (pa.table(VALUES), tmp_path / "in.parquet"):
        with shoal.open(source) as table:
            for name in VALUES:
                found = []
                for short in (6, 5):  # six rows: short, and one too many
                    monkeypatch.setattr(tables, "SHORT", short)
                    values, counts = table.few_values(name, least=least)
                    found.append(list(zip(values.to_pylist(), counts.tolist(), strict=True)))
                    assert values.null_count == 0
                assert found[0] == found[1], name
                values, counts = table.values(name)
                everything = zip(values.to_pylist(), counts.tolist(), strict=True)
                assert found[0] == [(v, n) for v, n in everything if n >= least and v is not None]


@pytest.mark.parametrize(("column", "limit"), [("n", "MOST_NUMBERS"), ("t", "MOST_TEXTS")])
@pytest.mark.parametrize("short", [9, 10])
def test_too_many_values_are_refused_in_words(monkeypatch: pytest.MonkeyPatch, column: str, limit: str, short: int) -> None:
    monkeypatch.setattr(tables, "SHORT", short)
    with shoal.open(pa.table({"n": list(range(10)), "t": [f"t{i}" for i in range(10)]})) as table:
        monkeypatch.setattr(distinct, limit, 10)
        assert len(table.few_values(column)[0]) == 10
        monkeypatch.setattr(distinct, limit, 9)
        with pytest.raises(DataError, match=rf"column '{column}' has more than 9 different values"):
            table.few_values(column)
        assert len(table.few_values(column, least=2)[0]) == 0  # what is rare need not be held


def test_a_plan_from_a_long_file_is_that_from_a_short_one(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    frame = pa.table({"x": rng.integers(0, 60, 300), "t": rng.choice(list("abcdef"), 300, p=[0.5, 0.3, 0.1, 0.08, 0.01, 0.01])})
    spec: dict[str, list[dict[str, Any]]] = {
        "x": [{"groups": {"k": 9}}, {"quantiles": {"k": 9}}, {"top_bottom": {"people": 9}}, {"generalize": {"at_most": 3}}],
        "t": [{"rare": {"min_count": 9}}, {"pram": {"keep": 0.7}}, {"generalize": {"at_most": 2}}],
    }
    for column, steps in spec.items():
        for step in steps:
            plans = []
            for short in (300, 299):
                monkeypatch.setattr(tables, "SHORT", short)
                plans.append(shoal.transform(frame, {"steps": [{"column": column, **step}]}).plan)
            assert plans[0] == plans[1]


def test_a_matrix_of_too_many_categories_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"c{i}" for i in range(2001)]
    with pytest.raises(DataError, match="2,001 categories"):
        tf.pram("c", names, keep=0.5)
    assert len(tf.pram("c", names, [5, 5] + [1] * 1999, keep=0.5, min_count=2).categories) == 2


RULES: list[tuple[str, Any]] = [
    ("x", {"intervals": [5, 10]}),
    ("x", {"intervals": [0.5, 1], "top": 50}),
    ("y", {"intervals": [5, 10]}),
    ("n", {"intervals": [5, 10]}),
    ("t", {"mask": {}}),
    ("t", {"mask": {"keep": [2, 1]}}),
]


@pytest.mark.parametrize(("column", "hierarchy"), RULES, ids=str)
def test_a_stated_level_does_not_hold_the_values(monkeypatch: pytest.MonkeyPatch, column: str, hierarchy: Any) -> None:
    """The same step from the ends of a long column, however many values there are; a level that is searched needs them all."""
    rng = np.random.default_rng(1)
    x = rng.integers(-30, 60, 300)
    y = np.where(np.arange(300) == 150, 7.25, np.where(np.arange(300) == 7, np.nan, x))
    texts = ["9" * int(i % 7 + 1) for i in range(300)]
    frame = pa.table({"x": x, "y": y, "n": [str(v) for v in x], "t": texts})
    spec = {"steps": [{"column": column, "generalize": {"hierarchy": hierarchy, "level": 2}}]}
    plain = shoal.transform(frame, spec).plan
    monkeypatch.setattr(distinct, "MOST_NUMBERS", 2)
    monkeypatch.setattr(distinct, "MOST_TEXTS", 2)
    monkeypatch.setattr(tables, "SHORT", 299)
    assert shoal.transform(frame, spec).plan == plain
    searched = {"steps": [{"column": column, "generalize": {"hierarchy": hierarchy, "at_most": 3}}]}
    with pytest.raises(DataError, match="more than 2 different values"):
        shoal.transform(frame, searched)
