"""Bad input ends in a clear error or a defined limit; sizes at the edges give defined answers."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest

from shoal import predict
from shoal.errors import ShoalWarning, UsageError
from shoal.prediction import Distribution


@pytest.mark.parametrize(
    ("p", "says"),
    [
        ([0.5, 0.6], "sum to 1.1"),
        ([0.5, 0.5 - 1e-8], "sum to 0.99999999"),
        ([1.2, -0.2], "negative"),
        ([0.5, math.nan], "not finite"),
        ([0.5, math.inf], "not finite"),
        ([], "no probabilities"),
        ([0.0, 0.0], "all cells are empty"),
        (["a", "b"], "not numbers"),
        (None, "not"),
        (0, "at least 1"),
        (-5, "at least 1"),
    ],
)
def test_distributions_that_make_no_sense_are_refused(p: Any, says: str) -> None:
    for face in (predict.uniqueness, predict.singletons, predict.no_singleton):
        with pytest.raises(UsageError, match=says):
            face(p, group_size=3)


@pytest.mark.parametrize("k", [-1, 1.5, "many", True, None, 2**60, math.nan, math.inf])
def test_group_sizes_that_make_no_sense_are_refused(k: Any) -> None:
    for face in (predict.uniqueness, predict.singletons, predict.no_singleton):
        with pytest.raises(UsageError, match="group_size"):
            face([0.5, 0.5], group_size=k)


def test_normalize_divides_by_the_sum() -> None:
    assert predict.uniqueness([2, 2], 2, normalize=True).value == pytest.approx(0.5)


def test_a_sum_off_by_rounding_is_accepted() -> None:
    assert predict.uniqueness([0.1] * 10, 2).value == pytest.approx(0.9, abs=1e-14)


@pytest.mark.parametrize("p", [[1.0], [0.4, 0.3, 0.3], np.full(50, 0.02), Distribution.zipf(2000, 1)])
def test_groups_of_nobody_and_of_one(p: Any) -> None:
    none, one = predict.singletons(p, 0), predict.singletons(p, 1)
    assert (none.mean.value, none.variance.value, none.p_none.value, none.pmf().tolist()) == (0, 0, 1, [1])
    assert (one.mean.value, one.variance.value, one.p_none.value, one.pmf().tolist()) == (1, 0, 0, [0, 1])
    assert predict.uniqueness(p, 0).value == predict.uniqueness(p, 1).value == 1
    assert one.in_groups_of(1).value == 1
    assert none.in_groups_of(1).value == 0


def test_a_point_mass() -> None:
    s = predict.singletons([1.0, 0.0], 5)
    assert (s.mean.value, s.variance.value, s.p_none.value) == (0, 0, 1)
    assert s.pmf().tolist() == [1, 0]
    assert s.in_groups_of(5).value == 1
    assert predict.uniqueness([1.0], 2).value == 0
    assert predict.uniqueness([1.0], 2).log_value == -math.inf


def test_more_people_than_cells_are_never_all_unique() -> None:
    assert predict.uniqueness([0.2] * 5, 6).value == 0
    assert predict.uniqueness([0.5, 0.5, 0, 0], 3).value == 0
    assert predict.uniqueness(10, 11).log_value == -math.inf


def test_zero_cells_count_in_n_only() -> None:
    d = Distribution.of([0.5, 0.5, 0.0, 0.0])
    assert d.cells == 4
    assert d.kappa == pytest.approx(math.log(2))
    assert predict.singletons(d, 3).in_groups_of(0).details["share_of_cells"] > 0.5


@pytest.mark.parametrize("k", [2, 1000, 10**6, 10**9])
def test_huge_uniform_domains_have_logarithms(k: int) -> None:
    e = predict.uniqueness(10**15, k)
    assert e.log_value == pytest.approx(-k * (k - 1) / 2 / 1e15, rel=1e-5)
    s = predict.singletons(10**15, k)
    assert s.mean.value == pytest.approx(k * math.exp(-(k - 1) / 1e15), rel=1e-12)
    assert 0 <= s.variance.value <= k
    assert s.variance.value == pytest.approx(2 * k * (k - 1) / 1e15, rel=1e-3)


def test_values_below_the_smallest_number_keep_their_logarithm() -> None:
    p = Distribution.zipf(3000, 1.0)
    e = predict.uniqueness(p, 2500)
    assert e.value == 0.0
    assert -10_000 < e.log_value < -750
    n = predict.no_singleton(p, 1200)
    assert n.log_value < -100


def test_tiny_and_underflowing_probabilities() -> None:
    p = np.full(10, 1e-200)
    d = Distribution.of(np.append(p, 1.0))
    s = predict.singletons(d, 5)
    assert s.mean.value == pytest.approx(5e-199 * 10, rel=0.2) or s.mean.value < 1e-190
    assert predict.uniqueness(d, 5).log_value < -1800
    vanishing = Distribution.of([5e-324, 2.0], normalize=True)
    assert vanishing.occupied == 1
    assert vanishing.kappa == pytest.approx(math.log(2))


def test_cells_below_every_number_are_refused_with_a_next_step() -> None:
    d = Distribution.of(np.append(np.full(10, 1e-310), 1.0))
    with pytest.raises(UsageError, match="below 1e-300"):
        predict.uniqueness(d, 5)


def test_rounding_of_discrete_far_and_shifted_distributions() -> None:
    from scipy import stats

    d = predict.rounded(stats.poisson(30), 5)
    x = np.arange(0, 200)
    slow = np.bincount(x // 5, weights=stats.poisson(30).pmf(x))
    assert np.sort(d.expanded())[::-1][:10] == pytest.approx(np.sort(slow)[::-1][:10], rel=1e-10)
    far = predict.interval_singletons(stats.norm(1e6, 5.289), 1, 10).value
    assert far == pytest.approx(predict.interval_singletons(stats.norm(0, 5.289), 1, 10).value, rel=1e-6)
    heavy = predict.rounded(stats.t(3), 1000.0)
    assert heavy.expanded().sum() == pytest.approx(1)
    with pytest.raises(UsageError, match=r"intervals|tails"):
        predict.rounded(stats.cauchy(), 1e-6)


def test_large_groups_on_few_cells() -> None:
    s = predict.singletons([0.5, 0.3, 0.2], 10**6)
    assert s.mean.value == 0.0
    assert s.p_none.value == pytest.approx(1.0)


def test_the_pmf_falls_back_with_a_warning_when_it_would_be_too_long() -> None:
    s = predict.singletons(Distribution.zipf(50_000, 0.3), 50_000)
    with pytest.warns(ShoalWarning, match="normal approximation"):
        law = s.pmf()
    assert law.sum() == pytest.approx(1)
    assert float((np.arange(law.size) * law).sum()) == pytest.approx(s.mean.value, rel=1e-6)


def test_kappa_outside_its_range_is_refused() -> None:
    for kappa in (-0.1, 5.0, math.nan):
        with pytest.raises(UsageError, match="impossible"):
            predict.uniqueness_from_kappa(kappa, 95, 10)


def test_power_sums_that_belong_to_no_distribution_are_refused() -> None:
    for sums in ([], [0.0], [1.5], [0.1, 0.2], [0.5, 0.1]):
        with pytest.raises(UsageError, match="power sums"):
            predict.uniqueness_from_power_sums(sums, 5)


def test_counts_and_groups_are_checked() -> None:
    with pytest.raises(UsageError, match="fewer than"):
        Distribution.counts([1, 2, 3], cells=2)
    with pytest.raises(UsageError, match="group sizes"):
        Distribution.grouped([1.0, 1.0], [10])
    with pytest.raises(UsageError, match="sum"):
        Distribution.grouped([1.0, 2.0], [10, 10])
    assert Distribution.counts([1, 1, 2], cells=10).cells == 10


def test_methods_that_are_not_known_are_refused() -> None:
    with pytest.raises(UsageError, match="'guess'"):
        predict.uniqueness([0.5, 0.5], 2, method="guess")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="'guess'"):
        predict.no_singleton([0.5, 0.5], 2, method="guess")  # type: ignore[arg-type]


def test_best_code_size_without_an_inner_optimum_is_refused() -> None:
    assert predict.best_code_size(95, 51.3) > 100
    with pytest.raises(UsageError, match="too high"):
        predict.best_code_size(95, 51.5)


@pytest.mark.parametrize(("p", "best"), [(365, 364), ([0.4, 0.3, 0.2, 0.1], 3), ([1.0], 1), ([0.5, 0.5], 2)])
def test_largest_mean_equals_a_scan(p: Any, best: int) -> None:
    size, mean = predict.largest_mean(p)
    scan = [predict.singletons(p, k).mean.value for k in range(1, 800)]
    assert mean == pytest.approx(max(scan), rel=1e-12)
    assert scan[size - 1] == pytest.approx(max(scan), rel=1e-12)
    assert size <= best


def test_largest_mean_finds_the_higher_of_two_peaks() -> None:
    d = Distribution.of(np.append(np.full(20, 0.04), np.full(2000, 0.2 / 2000)))
    size, mean = predict.largest_mean(d)
    assert size > 5000
    assert mean > 700


def test_saddlepoints_stay_within_their_stated_error() -> None:
    for d in (Distribution.uniform(95), Distribution.zipf(365, 1), Distribution.zipf(3000, 0.5)):
        for k in (2, 5, 20, 60, 94):
            s, exact = predict.uniqueness(d, k, method="saddlepoint"), predict.uniqueness(d, k)
            assert s.low <= exact.value <= s.high, (d.cells, k)
        for k in (100, 300, 800):
            s, exact = predict.no_singleton(d, k, method="saddlepoint"), predict.no_singleton(d, k)
            assert s.low <= exact.value <= s.high, (d.cells, k)


def test_no_warning_leaks_from_the_numerics() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for k in (2, 3, 50, 5000):
            s = predict.singletons(Distribution.zipf(500, 2.5), k)
            assert s.p_none.value >= 0
            assert s.variance.value >= 0
            predict.uniqueness(Distribution.zipf(500, 2.5), min(k, 400))


@pytest.mark.parametrize(
    "call",
    [
        lambda: predict.frechet_bounds([]),
        lambda: predict.frechet_bounds([1.5]),
        lambda: predict.gaussian_copula([[0.5, 0.5], [0.5, 0.6]], 0.1),
        lambda: predict.gaussian_copula([[0.5, 0.5], [0.5, 0.5]], 1.5),
        lambda: predict.gaussian_copula([[0.5, 0.5]] * 3, [[1, 2, 0], [2, 1, 0], [0, 0, 1]]),
        lambda: predict.rho_for_information([0.5, 0.5], [0.5, 0.5], 5.0),
        lambda: predict.interval_singletons([1.0, math.nan], 1, 5),
        lambda: predict.rounded([1.0, 2.0], 0),
        lambda: predict.sd_from_singletons(11, 10, 1),
        lambda: predict.quasi_test({}, 10),
        lambda: predict.quasi_test([0, 3], 10),
        lambda: predict.cell_budget(5, 10, 0.1),
        lambda: predict.cell_budget(100, 10, 1.0),
        lambda: predict.split([1], [2, 3], 5),
        lambda: predict.split([0], [2], 5),
        lambda: predict.population([], 100),
        lambda: predict.population([5, 5], 3),
        lambda: predict.population([1.5], 30),
        lambda: predict.fit_zipf([5]),
        lambda: predict.fit_zipf([5, -1]),
        lambda: predict.Zipf(-1, 5),
        lambda: predict.threshold_rank(predict.Zipf(0, 5), 10, 1),
        lambda: predict.person(1.5, 10),
        lambda: predict.degradation(0, [0.5]),
    ],
)
def test_other_faces_refuse_nonsense(call: Any) -> None:
    with pytest.raises(UsageError) as caught:
        call()
    assert str(caught.value)
