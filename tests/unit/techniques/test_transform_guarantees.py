"""Each guarantee with what would refute it: missing values, codes that stand for missing ones, the choice by loss."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
import shoal.techniques as tf
from shoal.errors import DataError
from shoal.techniques.group.near import lost_share, near_groups


def combinations(table):
    return Counter(zip(*(table[c].to_pylist() for c in table.column_names), strict=True))


def test_missing_values_leave_no_small_combination():
    table = pa.table({"x": [1.0, 2, 3, None, 5, 6, 7, 8], "y": [1.0, None, 3, 4, 5, 6, 7, 8]})
    after = tf.apply(tf.Microaggregate("x", ("y",), k=3), table).table
    assert min(combinations(after).values()) >= 3


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(*[st.one_of(st.none(), st.integers(0, 9))] * 2), min_size=8, max_size=30),
    st.integers(2, 4),
    st.sampled_from(["mdav", "v-mdav"]),
)
def test_at_least_k_records_share_each_combination(rows, k, method):
    table = pa.table({"x": pa.array([r[0] for r in rows], pa.float64()), "y": pa.array([r[1] for r in rows], pa.float64())})
    if sum(r != (None, None) for r in rows) < k:
        return
    after = tf.apply(tf.Microaggregate("x", ("y",), k=k, method=method), table).table
    assert min(combinations(after).values()) >= k


def test_exactly_k_records_without_a_value_need_no_group():
    step = tf.Microaggregate("x", k=2)
    values = [1.0, 1.0, 9.0, 9.0]
    assert tf.apply(step, pa.table({"x": [*values, None, None]})).table["x"].to_pylist() == [*values, None, None]
    assert tf.apply(step, pa.table({"x": [*values, None]})).table["x"].null_count == 3


@pytest.mark.parametrize("seed", range(9))
def test_v_mdav_never_loses_more_than_mdav(seed):
    points = np.random.default_rng(seed).normal(size=(2, 90))
    plain, variable = near_groups(points, 3), near_groups(points, 3, method="v-mdav")
    assert lost_share(points, variable) <= lost_share(points, plain)
    assert np.bincount(variable).min() >= 3


def test_a_long_tail_does_not_make_the_limits_coarse():
    values = np.random.default_rng(3).lognormal(8, 2, 2000).round(2)
    step = tf.top_bottom("pay", [str(v) for v in values.tolist()], np.ones(len(values), int), people=20)
    coded = [(values <= step.low).sum(), (values >= step.high).sum()]
    assert min(coded) >= 20
    assert max(coded) <= 30


def test_texts_with_a_time_of_day_are_shifted_and_keep_it(monkeypatch):
    monkeypatch.setenv("SHIFT_KEY", "a long secret with many letters 0123456789")
    texts = ["2024-03-01T08:30:00Z", "2024-03-03 23:59", "2024-03-04", None]
    step = tf.DateShift("d", unit="p", key="env:SHIFT_KEY")
    out = tf.apply(step, pa.table({"d": texts, "p": ["a"] * 4})).table["d"].to_pylist()
    assert [out[0][10:], out[1][10:], out[2][10:], out[3]] == ["T08:30:00Z", " 23:59", "", None]
    days = np.array([t[:10] for t in out[:3]], dtype="datetime64[D]")
    assert (days - days[0]).astype(int).tolist() == [0, 2, 3]
    assert out[0][:10] != texts[0][:10]
    with pytest.raises(DataError, match="must hold dates"):
        tf.apply(step, pa.table({"d": ["2024-03-01 8 o'clock"], "p": ["a"]}))


def test_dates_do_not_leave_the_calendar(monkeypatch):
    monkeypatch.setenv("SHIFT_KEY", "a long secret with many letters 0123456789")
    step = tf.DateShift("d", unit="p", key="env:SHIFT_KEY", days=1)
    people = [f"p{i}" for i in range(40)]
    with pytest.raises(DataError, match="years 1 to 9999"):
        tf.apply(step, pa.table({"d": ["0001-01-01"] * 40, "p": people}))
    assert min(tf.apply(step, pa.table({"d": ["0001-01-02"] * 40, "p": people})).table["d"].to_pylist()) == "0001-01-01"
    assert max(tf.apply(step, pa.table({"d": ["9999-12-30"] * 40, "p": people})).table["d"].to_pylist()) == "9999-12-31"


@pytest.mark.parametrize("step", ["groups", "quantiles", "top_bottom", "interval"])
def test_whole_numbers_beyond_two_to_the_53_do_not_leave_their_group(tmp_path, step):
    """Doubles stand for several of them: cut points on such a double left groups of fewer than k."""
    values = [2**53 + 1001 * (i // 2) for i in range(24)]
    words = {"people": 3} if step == "top_bottom" else {"k": 4} | ({"publish": "interval"} if step == "interval" else {})
    kind = "groups" if step == "interval" else step
    shoal.transform(pa.table({"n": values}), {"steps": [{"column": "n", kind: words}]}, tmp_path / "o.parquet")
    found = sorted(Counter(pq.read_table(tmp_path / "o.parquet")["n"].to_pylist()).items())
    if step == "top_bottom":
        assert min(found[0][1], found[-1][1]) >= 3
    else:
        assert min(n for _, n in found) >= 4


def test_groups_that_no_double_parts_are_refused():
    assert tf.optimal_groups([2.0**53, 2.0**53 + 4], 1).points().tolist() == [2.0**53 + 2]
    with pytest.raises(DataError, match="last digit"):
        tf.optimal_groups([2.0**53, 2.0**53 + 2], 1).points()
    assert tf.optimal_groups([2.0**52, 2.0**52 + 1], 1).points().tolist() == [2.0**52 + 1]
