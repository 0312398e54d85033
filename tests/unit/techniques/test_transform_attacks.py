"""Attacks that need no seed at all: fixed exchanges, noise that rounding takes off, rows in an order that tells their origin."""

from __future__ import annotations

import math

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
import shoal.techniques as tf
from shoal.errors import DataError, PolicyError, UsageError
from shoal.kernels.order import row_hashes
from shoal.model.plan import Plan
from shoal.techniques.perturb.noise import Noise, Precision, decimals_of, own_decimals, rounded


def swapped(n, run=0, percent=5.0):
    return tf.apply(tf.RankSwap("x", percent), pa.table({"x": np.arange(n)}), seed=10**16 + run).table["x"].to_numpy()


@pytest.mark.parametrize("n", [6, 10, 20, 39])
def test_rank_swapping_of_few_records_is_not_the_same_every_time(n):
    """5 % of fewer than 40 records is one rank: neighbours changed places, and anyone could change them back."""
    runs = [swapped(n, run) for run in range(12)]
    assert len({tuple(r.tolist()) for r in runs}) > 1
    neighbours = np.arange(n) ^ 1
    assert np.mean([(r == neighbours).mean() for r in runs]) < 0.7
    assert max(np.abs(r - np.arange(n)).max() for r in runs) <= 5


def test_rank_swapping_needs_five_values():
    assert sorted(swapped(5).tolist()) == [0, 1, 2, 3, 4]
    with pytest.raises(DataError, match="4 values"):
        swapped(4)


@pytest.mark.parametrize(("n", "farthest"), [(100, 5), (119, 5), (120, 6)])
def test_the_window_is_five_ranks_or_the_percentage(n, farthest):
    assert max(int(np.abs(swapped(n, run) - np.arange(n)).max()) for run in range(60)) == farthest


CENTS = np.round(np.random.default_rng(1).normal(3000, 400, 300), 2)


@pytest.mark.parametrize(("scale", "fine"), [(0.005, True), (0.00499, False)])
def test_a_stated_scale_below_half_a_cent_is_refused_for_cents(tmp_path, scale, fine):
    table = pa.table({"pay": CENTS})
    plan = {"steps": [{"column": "pay", "noise": {"scale": scale}}]}
    if fine:
        shoal.transform(table, plan, tmp_path / "out.parquet")
        tf.apply(tf.Noise("pay", scale), table)
        return
    with pytest.raises(PolicyError, match="half a step"):
        shoal.transform(table, plan, tmp_path / "out.parquet")
    with pytest.raises(PolicyError, match="half a step"):
        tf.apply(tf.Noise("pay", scale), table)
    assert not list(tmp_path.iterdir())


def test_a_stated_scale_is_rounded_to_the_columns_own_decimals(tmp_path):
    shoal.transform(pa.table({"pay": CENTS}), {"steps": [{"column": "pay", "noise": {"scale": 0.02}}]}, tmp_path / "o.parquet")
    out = pq.read_table(tmp_path / "o.parquet")["pay"].to_numpy()
    assert decimals_of(out) == 2
    own = tf.apply(tf.Noise("pay", 0.02, decimals=4), pa.table({"pay": CENTS})).table["pay"].to_numpy()
    assert decimals_of(own) == 4


@pytest.mark.parametrize(("scale", "fine"), [(0.25, True), (0.2499, False)])
def test_multiplicative_noise_that_rounding_takes_off_is_refused(scale, fine):
    table = pa.table({"n": [2, 2, -2, 2]})  # root of the mean square: 2, steps of 1
    step = tf.Noise("n", scale, mode="multiplicative")
    if fine:
        assert tf.apply(step, table).table["n"].type == pa.int64()
        return
    with pytest.raises(PolicyError, match="half a step"):
        tf.apply(step, table)


def test_what_multiplicative_noise_leaves_is_said():
    step = tf.Noise("n", 0.5, mode="multiplicative")
    after = tf.apply(step, pa.table({"n": [0, 0, 100]})).table["n"].to_pylist()
    assert after[:2] == [0, 0]
    assert "0 stays 0" in tf.guarantee(step).loses
    assert "0 stays 0" not in tf.guarantee(tf.Noise("n", 0.5)).loses


def test_a_column_without_values_has_no_step_to_be_too_small_for(tmp_path):
    look = Precision(tf.Noise("x", 1e-9))
    look.add(pa.table({"x": pa.array([None, None], pa.float64())}))
    assert look.step().decimals is None


@given(st.lists(st.lists(st.sampled_from([1.0, 2.5, 0.25, 1e6, -3.125]), max_size=4), max_size=4))
def test_decimals_of_parts_are_those_of_the_whole(parts):
    found = 0
    for part in parts:
        found = decimals_of(np.array(part), found)
    assert found == decimals_of(np.array([v for part in parts for v in part]))


# -- the order of the rows -------------------------------------------------------------------------------------------

N = 400
PEOPLE = pa.table({"id": [f"P{i:04d}" for i in range(N)], "pay": np.random.default_rng(5).integers(0, 10_000, N)})


@pytest.mark.parametrize("step", [{"noise": {"scale": 900}}, {"permute": {}}, {"microaggregate": {"k": 3}}], ids=str)
@pytest.mark.parametrize("shuffle", [True, False])
def test_the_order_of_the_rows_does_not_tell_the_original_values(tmp_path, step, shuffle):
    """Rows stood in the order of a hash of the original row: a guess of a value could be checked by the place it gives."""
    spec = {"steps": [{"column": "pay", **step}], "shuffle": shuffle}
    shoal.transform(PEOPLE, spec, tmp_path / "out.parquet", seed=10**16 + 3)
    ids = pq.read_table(tmp_path / "out.parquet")["id"].to_pylist()
    place = {name: i for i, name in enumerate(ids)}
    ranks = np.argsort(np.argsort(row_hashes(PEOPLE.columns, N, 0)))
    found = np.corrcoef(ranks, [place[n] for n in PEOPLE["id"].to_pylist()])[0, 1]
    assert abs(found) < 0.25  # was 1; five deviations of chance
    if not shuffle:
        assert ids == PEOPLE["id"].to_pylist()


def test_rows_go_back_to_their_order_through_the_disk_too(tmp_path, monkeypatch):
    monkeypatch.setattr("shoal.engines.recode.write.HELD", 500)
    plan = Plan((tf.Noise("pay", 900.0), tf.Permute("id")), shuffle=False)
    with shoal.open(PEOPLE.append_column("row", pa.array(range(N)))) as table:
        table.recode(plan, tmp_path / "out.parquet")
    assert pq.read_table(tmp_path / "out.parquet")["row"].to_pylist() == list(range(N))


# -- top and bottom coding -------------------------------------------------------------------------------------------


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.floats(-1e6, 1e6),
            st.integers(-5, 5).map(float),
            st.floats(0, 1e-13),
            st.sampled_from([0.1 * 3, 0.3, 1e-15, 1e12]),
        ),
        min_size=6,
        max_size=60,
    ),
    st.integers(1, 3),
)
def test_at_least_so_many_people_lie_at_each_limit(values, people):
    try:
        step = tf.top_bottom("x", [repr(v) for v in values], people=people)
    except DataError:
        return
    x = np.array(values)
    assert (x <= step.low).sum() >= people
    assert (x >= step.high).sum() >= people
    coded = tf.apply(step, pa.table({"x": x})).table["x"].to_numpy()
    assert (coded == step.low).sum() >= people
    assert (coded == step.high).sum() >= people


@pytest.mark.parametrize("scale", [1e-15, 1e-300, 1.0, 1e15])
def test_limits_keep_the_size_of_the_numbers(scale):
    x = np.arange(1, 200) * scale
    step = tf.top_bottom("x", [repr(v) for v in x.tolist()], people=5)
    assert 5 <= (x <= step.low).sum() <= 8
    assert 5 <= (x >= step.high).sum() <= 8
    assert math.isfinite(step.low)


PERMUTED_ALONE = [
    pytest.param([1], [], 1, id="one record"),
    pytest.param([], [], 0, id="no record"),
    pytest.param([1, 2], [], 0, id="two records"),
    pytest.param([1, 2, 3], ["a", "a", "b"], 1, id="one alone"),
    pytest.param([1, 2, 3, 4], ["a", None, None, "a"], 0, id="missing is a stratum"),
    pytest.param([1, 2, 3, 4, 5], ["a", "b", "c", "d", "d"], 3, id="three alone"),
]


@pytest.mark.parametrize(("values", "strata", "alone"), PERMUTED_ALONE)
def test_a_record_that_has_nobody_to_exchange_with_is_not_published_as_it_was(tmp_path, values, strata, alone):
    table = pa.table({"x": pa.array(values, pa.int64()), "s": pa.array(strata or ["a"] * len(values), pa.string())})
    within = ("s",) if strata else ()
    in_memory = lambda: tf.apply(tf.Permute("x", within=within), table, seed=10**16)  # noqa: E731
    streamed = lambda: shoal.transform(table, Plan((tf.Permute("x", within=within),)), tmp_path / "o.csv")  # noqa: E731
    for run in (in_memory, streamed):
        if not alone:
            run()
            continue
        where = " within 's': " if strata else ": "
        with pytest.raises(DataError, match=rf"^{alone} record\(s\) are alone{where}"):
            run()


@pytest.mark.parametrize(
    ("value", "size", "expected"),
    [
        pytest.param(1.23456, 0.5, 1.235, id="three digits of the noise"),
        pytest.param(1234.56, 50.0, 1234.6, id="noise of tens: one decimal"),
        pytest.param(1.23456, 0.0, 1.23456, id="no noise, nothing to hide"),
        pytest.param(999_999_999_999.9375, 0.5, 999_999_999_999.938, id="the last number whose digits a double has"),
        pytest.param(1_000_000_000_000.0625, 0.5, 1_000_000_000_000.0625, id="beyond them it stays"),
        pytest.param(1_010_000_000_000.0625, 0.5, 1_010_000_000_000.0625, id="and a little later too"),
    ],
)
def test_noise_is_rounded_to_three_of_its_digits(value: float, size: float, expected: float) -> None:
    assert rounded(np.array([value]), None, np.array([size]))[0] == expected


def test_a_type_with_decimals_has_them_and_others_do_not() -> None:
    kinds = (pa.int64(), pa.uint8(), pa.decimal128(10, 2), pa.decimal128(10, 0), pa.float64(), pa.string())
    assert [own_decimals(kind) for kind in kinds] == [0, 0, 2, 0, None, None]


def test_stated_decimals_stay_and_others_are_those_of_the_column() -> None:
    for step, decimals in ((Noise("x", 5.0, decimals=3), 3), (Noise("x", 5.0), 2)):
        look = step.look()
        assert look.step() == step  # nothing was seen
        look.add(pa.table({"x": [1.25, 3.5]}))
        assert look.step().decimals == decimals


def test_rows_of_a_database_have_no_order_of_their_own_and_are_shuffled_all_the_same(tmp_path):
    """Neither the order in which the database gave them nor that of a hash of the original row is published."""
    with duckdb.connect(tmp_path / "file.db") as place:
        place.register("given", PEOPLE)
        place.execute("CREATE TABLE people AS SELECT * FROM given")
    with shoal.open(f"duckdb://{tmp_path / 'file.db'}::people") as table:
        done = table.recode(Plan((tf.Noise("pay", 900.0),), shuffle=False), tmp_path / "out.parquet")
    place_of_id = {name: i for i, name in enumerate(pq.read_table(tmp_path / "out.parquet")["id"].to_pylist())}
    places = [place_of_id[name] for name in PEOPLE["id"].to_pylist()]
    for order in (np.arange(N), np.argsort(np.argsort(row_hashes(PEOPLE.columns, N, 0)))):
        assert abs(np.corrcoef(order, places)[0, 1]) < 0.25
    assert done.records_out == N


# -- values that change owners ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("percent", "fine"), [(0, False), (1e-9, True), (100, True), (100.5, False), (-1, False)])
def test_a_window_is_a_percentage_above_zero(percent, fine):
    if fine:
        assert tf.RankSwap("x", percent=percent).percent == percent
    else:
        with pytest.raises(PolicyError, match="percentage"):
            tf.RankSwap("x", percent=percent)


@pytest.mark.parametrize(("values", "fine"), [(5, True), (4, False)])
def test_five_values_are_needed_and_missing_ones_are_none(values, fine):
    table = pa.table({"x": pa.array([float(i) if i < values else None for i in range(20)])})
    if fine:
        out = tf.RankSwap("x").run(table, 1)["x"].to_pylist()
        assert sorted(out[:5]) == [0.0, 1.0, 2.0, 3.0, 4.0]
        assert out[5:] == [None] * 15
    else:
        with pytest.raises(DataError, match="has 4 values"):
            tf.RankSwap("x").run(table, 1)


def test_which_of_equal_numbers_is_swapped_does_not_follow_from_their_place():
    """At the border of two numbers, records from anywhere change, not those that stand next to it in the file."""
    out = np.array(tf.RankSwap("x", percent=5).run(pa.table({"x": [1] * 200 + [2] * 200}), 1)["x"])
    changed = np.flatnonzero(out != np.repeat([1, 2], 200))
    assert len(changed) > 0
    assert changed.min() < 150
    assert changed.max() >= 250


def test_no_two_steps_draw_the_same():
    """Another column, window or purpose has other draws of the same seed: one published table tells nothing about another."""
    steps = [tf.RankSwap("x"), tf.RankSwap("y"), tf.RankSwap("x", percent=6)]
    assert len({key for step in steps for key in step._keys(1)}) == 6
    assert len({step._key(1) for step in (tf.Permute("x"), tf.Permute("x", others=("y",)), tf.Permute("x", within=("y",)))}) == 3


@pytest.mark.parametrize(("sexes", "alone"), [("ffmm", 0), ("ffm", 1), ("fm", 2)])
def test_nobody_is_alone_in_a_group_that_is_permuted(sexes, alone):
    table = pa.table({"x": [*range(len(sexes))], "sex": [*sexes]})
    if not alone:
        assert sorted(tf.Permute("x", within=("sex",)).run(table, 1)["x"].to_pylist()) == [0, 1, 2, 3]
        return
    with pytest.raises(DataError, match=rf"{alone} record\(s\) are alone within 'sex'"):
        tf.Permute("x", within=("sex",)).run(table, 1)


def test_groups_of_two_columns_are_their_combinations_and_missing_is_a_value():
    table = pa.table({"x": [*range(8)], "sex": ["f", "f", "m", "m", None, None, "f", "f"], "town": [*"aaaaaabb"]})
    for seed in range(20):
        out = tf.Permute("x", within=("sex", "town")).run(table, seed)["x"].to_pylist()
        assert [set(out[i : i + 2]) for i in range(0, 8, 2)] == [{0, 1}, {2, 3}, {4, 5}, {6, 7}]


def coded(values, **limits):
    made = tf.top_bottom("x", [str(v) for v in dict.fromkeys(values)], [values.count(v) for v in dict.fromkeys(values)], **limits)
    return made.low, made.high


def test_a_share_of_the_people_is_at_least_that_many():
    ten = list(range(10))
    assert coded(ten, share=0.05)[0] == coded(ten, people=1)[0] == 0
    assert coded(ten, share=0.11) == coded(ten, people=2) != coded(ten, people=1)
    with pytest.raises(UsageError, match="at least one record"):
        coded(ten, share=0.0)
    with pytest.raises(UsageError, match="needs low="):
        tf.top_bottom("x")


def test_limits_are_rounded_to_a_twentieth_of_the_range():
    """0 to 1000: to tens, not to hundreds, although at most half as many again would be coded with these."""
    assert coded(list(range(1001)), people=310) == (310, 690)


@pytest.mark.parametrize(("beside", "low"), [(2, 4.0), (3, 3.5)])
def test_half_as_many_again_may_be_coded_and_no_more(beside, low):
    values = [0, 1, 2, 3.5] + [3.9] * beside + [30 + i / 2 for i in range(21)]
    assert coded(values, people=4)[0] == low


def test_a_middle_of_one_number_is_left_and_one_of_none_is_refused():
    assert coded([5] * 10, people=5) == (5, 5)
    with pytest.raises(DataError, match="too narrow"):
        coded([0] + [10.2] * 4 + [10.4] * 2 + [20] * 3, people=5)


def test_a_limit_of_zero_has_no_sign():
    low, _ = coded([-20, -10, -5, -0.3, *(5 + i for i in range(16))], people=4)
    assert (low, math.copysign(1, low)) == (0, 1)


@pytest.mark.parametrize(("least", "shown"), [(1, ("a", "b")), (2, ("b",)), (3, ())])
def test_a_value_of_exactly_so_many_records_is_named(least, shown):
    assert tf.suppress_rare("x", ["a", "b"], [1, 2], min_count=least).keys == shown
    out = tf.Rare("x", min_count=least).run(pa.table({"x": ["a", "b", "b", None]}), 0)["x"].to_pylist()
    assert out == [v if v in shown or v is None else "*" for v in ("a", "b", "b", None)]


def test_a_count_of_records_is_a_whole_number_of_at_least_one():
    with pytest.raises(UsageError, match="at least 1"):
        tf.suppress_rare("x", ["a"], [1], min_count=0)
    for wrong in (0, True, 2.0):
        with pytest.raises(PolicyError, match="whole number of at least 1"):
            tf.Rare("x", min_count=wrong)


def test_one_limit_may_be_stated_and_both_ends_have_as_many_people():
    assert (tf.top_bottom("x", high=90).low, tf.top_bottom("x", high=90).high) == (None, 90)
    assert coded(list(range(10)), people=2) == (1, 8)
    assert coded([0] * 3 + [5] * 4 + [9] * 3, people=3) == (0, 9)
