"""The parts of the model-free ranges and of the fit check, each against a slow definition of its own."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom, poisson, t

from shoal.prediction.population import without_model as wm
from shoal.prediction.population.class_size_models import SampledClasses
from shoal.prediction.population.fit_check import seen_moments
from shoal.prediction.population.models import Shares


def counted(numbers: dict[int, int], population: int) -> SampledClasses:
    people = sum(size * n for size, n in numbers.items())
    sizes, many = np.array(list(numbers)), np.array(list(numbers.values()))
    return SampledClasses(sizes, many, people, sum(numbers.values()), numbers.get(1, 0), numbers.get(2, 0), population)


@pytest.mark.parametrize(
    ("pairs", "threes", "c"),
    [(1, 0, 3.0), (2, 1, 8.0), (9, 6, 40.0), (10, 6, 40.0), (30, 60, 40.0), (30, 61, 40.0), (400, 90, 6.0)],
)
def test_lookalikes_are_the_wider_of_two_ways(pairs: int, threes: int, c: float) -> None:
    tail = 0.025
    student = t.ppf(1 - tail, max(pairs - 1, 1)) * math.sqrt(1 / pairs + 1 / (c * pairs) + 1.5 * threes / pairs**2)
    low, high = wm.poisson_limits(pairs, tail / 2)
    each = 1 + 1.5 * c * threes / pairs if pairs < 10 or threes == 61 else 1  # lookalikes come in groups
    least = min(each * poisson.ppf(tail / 2, c * low / each), c * pairs * math.exp(-student))
    most = max(each * poisson.ppf(1 - tail / 2, c * high / each), c * pairs * math.exp(student))
    assert wm.lookalikes(pairs, threes, c, tail) == pytest.approx((least, most))


@pytest.mark.parametrize(
    ("pairs", "threes", "few"), [(9, 0, True), (10, 0, False), (10, 7, True), (30, 60, False), (30, 61, True)]
)
def test_pairs_are_few_if_they_vary_like_fewer_than_ten_groups(pairs: int, threes: int, few: bool) -> None:
    assert wm.few_pairs(pairs, threes) is few


def test_without_pairs_there_may_be_no_lookalike_and_the_most_is_bounded() -> None:
    least, most = wm.lookalikes(0, 0, 4.0, 0.025)
    assert least == 0.0
    assert most == poisson.ppf(1 - 0.0125, -4.0 * math.log(0.0125))
    assert wm.lookalikes(0, 2, 4.0, 0.025)[1] == 13 * poisson.ppf(1 - 0.0125, -4.0 * math.log(0.0125) / 13)


@pytest.mark.parametrize("tail", [0.025, 0.0125])
@pytest.mark.parametrize("count", [0, 1, 7, 300])
def test_poisson_limits_leave_the_tail_on_each_side(count: int, tail: float) -> None:
    low, high = wm.poisson_limits(count, tail)
    assert poisson.cdf(count, high) == pytest.approx(tail)
    assert poisson.sf(count - 1, low) == pytest.approx(tail if count else 1.0)


def test_uniques_range_combines_two_limits_each_with_half_of_its_tail() -> None:
    s = counted({1: 120, 2: 25}, 340)
    ones, twos = wm.poisson_limits(120, 0.0125), wm.poisson_limits(25, 0.0125)
    assert wm.uniques_range(s) == pytest.approx(((ones[0] - 2 * twos[1]) / 0.5, wm.poisson_limits(120, 0.025)[1] / 0.5))
    assert wm.uniques_range(s, level=0.8)[1] == pytest.approx(wm.poisson_limits(120, 0.1)[1] / 0.5)


def test_nobody_beyond_the_sample_can_be_more_unique_than_there_are_people() -> None:
    assert wm.uniques_range(counted({1: 8, 2: 1}, 12))[1] == 12 - 10 + 8


@pytest.mark.parametrize("rate", [0.02, 0.5, 0.97])
def test_the_moments_of_wrong_matches(rate: float) -> None:
    sizes = np.arange(1.0, 30.0)
    means, variances = wm._wrong_matches(sizes, rate, 1 - (1 - rate) ** sizes)
    for size, mean, variance in zip(sizes, means, variances, strict=True):
        f = np.arange(int(size) + 1)
        wrong, chance = np.where(f > 0, 1 - f / size, 0.0), binom.pmf(f, int(size), rate)
        assert mean == pytest.approx(wrong @ chance, abs=1e-12)
        assert variance == pytest.approx(wrong**2 @ chance - (wrong @ chance) ** 2, abs=1e-12)


def test_classes_are_counted_by_size_and_those_beyond_five_together() -> None:
    assert wm.seen_numbers(counted({1: 9, 2: 8, 4: 7, 5: 6, 6: 5, 70: 4}, 10_000)) == [9, 8, 0, 7, 6, 9]


@pytest.mark.parametrize("count", [1, 6, 250])
def test_one_count_alone_has_its_exact_limits(count: int) -> None:
    """Tangents touch the likelihood, scaled on each side so that it has fallen by ``DROP`` at the exact limit."""

    def fallen(mean: float) -> float:
        limit = wm.poisson_limits(count, 0.025)[int(mean >= count)]
        return float(wm.DROP * (poisson.logpmf(count, mean) - peak) / (peak - poisson.logpmf(count, limit)))

    peak = poisson.logpmf(count, count)
    lines = wm._tangents(count)
    assert len(lines) == 15
    for height, slope, at in lines:
        assert height == pytest.approx(fallen(at), abs=1e-9)
        if at != count:
            step = 1e-6 * at
            assert slope == pytest.approx((fallen(at + step) - fallen(at - step)) / (2 * step), rel=1e-3, abs=1e-6)


def test_a_count_of_nothing_falls_evenly_to_its_limit() -> None:
    ((height, slope, at),) = wm._tangents(0)
    assert height == at == 0.0
    assert slope * wm.poisson_limits(0, 0.025)[1] == pytest.approx(-wm.DROP)


def test_ranges_hold_where_the_population_is_known_exactly() -> None:
    """All but a handful were asked: the rare class that hides somebody is still allowed for."""
    s = counted({1: 900, 2: 50}, 1_010)
    found = wm.model_free_ranges(s)
    assert found.alone[0] < 900 == found.alone[1]
    assert found.alone[0] > 870
    assert found.uniques[1] <= 1_010 - 1_000 + 900


@pytest.mark.parametrize("drawn", [False, True])
def test_the_moments_of_the_numbers_of_classes(drawn: bool) -> None:
    rng = np.random.default_rng(4)
    shares = rng.dirichlet(np.full(300, 0.7))
    fitted = Shares(shares, shares, np.ones(300), drawn=drawn)
    expected, spread = seen_moments(200, fitted, 1.5)
    seen = rng.poisson(rng.gamma(1.5, 200 * shares / 1.5, size=(40_000, 300)))
    numbers = np.array([(seen == j).sum(axis=1) for j in range(1, 6)])
    assert expected == pytest.approx(numbers.mean(axis=1), rel=0.01)
    if not drawn:
        assert np.abs(spread - np.cov(numbers)).max() < 0.02 * spread.max()
        return
    # Drawn: the sum over the draws is itself an estimate, and its variance comes on top.
    chance = np.array([[(seen[:, i] == j).mean() for i in range(300)] for j in range(1, 6)])
    assert np.abs(spread - np.cov(numbers) - 300 * np.cov(chance)).max() < 0.05 * spread.max()


def test_of_pairs_one_is_alone_in_a_half_with_the_chance_one_half() -> None:
    low, high = wm.unique_share_range(counted({2: 500}, 1_002), 501)
    assert 0.45 < low <= 0.5 <= high < 0.51
