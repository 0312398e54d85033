"""Noise with draws that are given: each value that comes out, each size and type at its limit."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest

import shoal.techniques as tf
from shoal.errors import DataError, PolicyError
from shoal.techniques.perturb import noise
from shoal.techniques.perturb.noise import Spread, decimals_of, need_steps, noise_of, rounded


def test_a_spread_of_parts_is_that_of_the_whole():
    x, y = np.array([1.0, 2.0, 4.0, 8.0, 9.0]), np.array([0.25, 0.0, 0.5, 0.125, 0.25])
    parts = Spread(2)
    for part in (slice(0, 2), slice(2, 3), slice(3, 3), slice(3, 5)):
        parts.add([x[part], y[part]], [np.ones(len(x[part]), bool)] * 2)
    assert parts.n == 5
    assert parts.means == pytest.approx([x.mean(), y.mean()])
    assert parts.products == pytest.approx(np.cov(x, y) * 4)
    assert parts.covariance() == pytest.approx(np.cov(x, y), rel=1e-5)


def test_records_count_as_often_as_they_are_there():
    one, many = Spread(1), Spread(1)
    one.add([np.array([1.0, 5.0])], [np.ones(2, bool)], np.array([3.0, 1.0]))
    many.add([np.array([1.0, 1.0, 1.0, 5.0])], [np.ones(4, bool)])
    assert (one.n, one.means.tolist(), one.products.tolist()) == (many.n, many.means.tolist(), many.products.tolist())


def test_a_column_of_one_value_varies_with_no_other():
    found = Spread(2)
    found.add([np.array([1.0, 2.0, 4.0]), np.array([7.0, 7.0, 7.0])], [np.ones(3, bool)] * 2)
    assert found.covariance().tolist() == [[pytest.approx(7 / 3, rel=1e-5), 0.0], [0.0, 0.0]]


@pytest.mark.parametrize(
    ("value", "decimals"),
    [
        (0.123456789, 9),
        (0.1234567891, None),
        (0.1 + 0.2, 1),  # 0.30000000000000004
        (1.9 + 85 * 2**-52, 1),  # apart by 0.993 of the tolerance, and by 1.005
        (1.9 + 86 * 2**-52, None),
    ],
)
def test_the_decimals_that_a_number_is_written_with(value, decimals):
    assert decimals_of(np.array([value])) == decimals


def test_decimals_of_parts_never_become_fewer():
    assert decimals_of(np.array([1.5]), 3) == 3
    assert decimals_of(np.array([1.5]), None) is None


@pytest.mark.parametrize(("distribution", "variance"), [("gaussian", 4.0), ("laplace", 8.0), ("uniform", 4 / 3)])
def test_the_variance_of_noise(distribution, variance):
    assert tf.Noise("x", 2.0, distribution).variance == pytest.approx(variance)


@pytest.mark.parametrize(
    "wrong", [{"scale": 0.0}, {"scale": -1.0}, {"scale": math.inf}, {"scale": math.nan}, {"distribution": "x"}, {"mode": "x"}]
)
def test_noise_has_a_size_and_a_known_kind(wrong):
    assert tf.Noise("x", 1e-9, "uniform", "multiplicative").scale == 1e-9
    with pytest.raises(PolicyError, match="noise"):
        tf.Noise("x", **wrong)


def run(step, **columns):
    n = len(next(iter(columns.values())))
    return step.start(1)(pa.table(columns), noise.random.places(0, n))


@pytest.fixture
def given(monkeypatch):
    """The draws are these, for every key."""

    def draws(*values):
        monkeypatch.setitem(noise._DRAWS, "gaussian", lambda key, rows: np.array(values))
        monkeypatch.setattr(noise.random, "normals", lambda key, rows: np.array(values))

    return draws


def test_draws_are_added_or_multiplied(given):
    given(0.5, -0.25)
    assert run(tf.Noise("x", 10.0, decimals=2), x=[100.0, 200.0])["x"].to_pylist() == [105.0, 197.5]
    assert run(tf.Noise("x", 0.5, mode="multiplicative", decimals=2), x=[100.0, 200.0])["x"].to_pylist() == [125.0, 175.0]


def test_three_digits_of_the_noise_are_kept(given):
    given(0.111111, 0.111111)
    assert run(tf.Noise("x"), x=[1 / 3, 100 / 3])["x"].to_pylist() == [0.44, 33.44]
    assert run(tf.Noise("x", 1.0, mode="multiplicative"), x=[1 / 3, 100 / 3])["x"].to_pylist() == [0.37, 37.0]


def test_whole_numbers_stay_whole_unless_decimals_are_asked_for(given):
    given(0.26, 0.26)
    whole, doubles = pa.array([10, 20]), pa.array([10.0, 20.0])
    found = [
        run(tf.Noise("x", 10.0, decimals=d), x=x)["x"] for x, d in ((whole, None), (whole, 1), (doubles, 0), (doubles, None))
    ]
    assert [f.to_pylist() for f in found] == [[13, 23], [12.6, 22.6], [13.0, 23.0], [12.6, 22.6]]
    assert [f.type for f in found] == [pa.int64(), *[pa.float64()] * 3]


def test_correlated_noise_is_the_factor_times_the_draws(given):
    given(1.0, -2.0)
    step = tf.CorrelatedNoise("x", ("y",), ((3.0, 1.0), (0.0, 2.0)), decimals=(1, 2))
    found = run(step, x=[10.04, 20.04], y=[1.004, 2.004])
    assert (found["x"].to_pylist(), found["y"].to_pylist()) == ([14.0, 12.0], [3.0, -2.0])


def test_a_column_without_a_part_in_the_noise_stays_and_too_little_noise_is_refused(given):
    given(1.0, -2.0)
    found = run(tf.CorrelatedNoise("x", ("y",), ((0.0, 0.0), (0.0, 5.0))), x=[1, 2], y=[10, 20])
    assert (found["x"].to_pylist(), found["y"].to_pylist()) == ([1, 2], [15, 10])
    with pytest.raises(PolicyError, match="noise on 'x'"):
        run(tf.CorrelatedNoise("x", ("y",), ((0.4, 0.0), (0.0, 5.0))), x=[1, 2], y=[10, 20])


def test_too_little_noise_on_columns_that_do_not_vary_together_is_refused():
    table = pa.table({"x": [0, 0, 1, 1], "y": [0, 1, 0, 1]})
    with pytest.raises(PolicyError, match="less than half a step"):
        tf.CorrelatedNoise.fit(table, ("x", "y"), share=0.001)


@pytest.mark.parametrize(
    "factor", [((1.0, 0.0),), ((1.0, 0.0), (1.0,)), ((1.0,), (1.0, 0.0)), ((1.0, 0.0), (0.0, 1.0), (1.0, 1.0))]
)
def test_a_factor_of_another_shape_is_refused(factor):
    with pytest.raises(PolicyError, match="factor of 2 × 2"):
        tf.CorrelatedNoise("x", ("y",), factor)


def test_two_complete_records_are_enough_for_correlated_noise():
    table = pa.table({"x": [0.5, 90.25, None], "y": [7.0, 1.0, 2.0]})
    assert len(tf.CorrelatedNoise.fit(table, ("x", "y")).factor) == 2
    with pytest.raises(DataError, match="fewer than two complete records"):
        tf.CorrelatedNoise.fit(table.slice(1), ("x", "y"))


def test_noise_relative_to_no_spread_has_no_size():
    spread = Spread(1)
    spread.add([np.array([3.0, 3.0])], [np.ones(2, bool)])
    with pytest.raises(DataError, match="one value only"):
        noise_of("x", spread)


def test_half_a_step_is_enough():
    need_steps("x", 0.5, 0)
    need_steps("x", 0.005, 2)
    need_steps("x", 0.0, None)
    with pytest.raises(PolicyError, match="half a step"):
        need_steps("x", math.nextafter(0.5, 0), 0)


def test_values_without_noise_and_values_without_more_digits_stay():
    values = np.array([1e-301, 1.23456, 2.0**52 + 0.5, 1e200])  # rounding the last to hundreds of digits would change it
    assert rounded(values, None, np.array([0.0, 0.1, 0.1, 1e187])).tolist() == [1e-301, 1.235, 2.0**52 + 0.5, 1e200]


def test_correlated_noise_of_size_one_is_shown_with_two_decimals(given):
    given(1.0, -2.0)
    step = tf.CorrelatedNoise("x", ("y",), ((0.6, 0.8), (0.0, 1.0)))
    found = run(step, x=[1 / 3, 2 / 3], y=[0.0, 0.0])
    assert found["x"].to_pylist() == [1.73, -2.13]


def test_noise_relative_to_a_spread_counts_records_and_refuses_too_little():
    assert tf.noise_for("x", [1.0, 5.0], [3, 1], share=0.5) == tf.noise_for("x", [1.0, 1.0, 1.0, 5.0], share=0.5)
    assert tf.noise_for("x", [0.25, 1.25], share=1.0).scale == 0.5
    assert tf.noise_for("x", [0.0, 1.0], share=0.01, mode="multiplicative").scale == 0.005
    with pytest.raises(PolicyError, match="half a step"):
        tf.noise_for("x", [0.0, 1.0], share=0.01)
