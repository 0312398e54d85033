"""Predictions at the ends of what is possible: kappa of one cell, samples without pairs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from shoal import predict
from shoal.errors import UsageError
from shoal.model.estimate import Estimate
from shoal.prediction.population.class_size_models import SampledClasses
from shoal.prediction.population.without_model import poisson_limits, uniques_range
from shoal.prediction.questionnaire.meter import Meter
from shoal.prediction.summaries.kappa import (
    groups_from_kappa,
    singletons_from_kappa,
    uniqueness_formula,
    uniqueness_from_kappa,
    variance_from_kappa,
)
from shoal.prediction.summaries.kappa_bounds import smallest_kappa


@pytest.mark.parametrize("cells", [2, 95])
def test_the_largest_kappa_puts_everybody_into_one_cell(cells: int) -> None:
    kappa = math.log(cells)
    for k in (2, 23):
        assert uniqueness_from_kappa(kappa, cells, min(k, cells)).value == 0.0
        assert singletons_from_kappa(kappa, cells, k).value == 0.0
        assert variance_from_kappa(kappa, cells, k).value == 0.0
        assert [groups_from_kappa(kappa, cells, k, j)[0].value for j in (0, 1, k)] == [0.0, 0.0, 1.0]
        assert [groups_from_kappa(kappa, cells, k, j)[1].value for j in (0, 1, k)] == [1 - 1 / cells, 0.0, 1 / cells]
    assert uniqueness_from_kappa(kappa, cells, 1).value == singletons_from_kappa(kappa, cells, 1).value == 1.0
    assert uniqueness_from_kappa(kappa, cells, 2).grade == "A"
    assert uniqueness_from_kappa(kappa - 0.01, cells, 2).grade == "C"


def test_shares_of_groups_stay_shares() -> None:
    people, cells = groups_from_kappa(4.541426341706042, 95, 23, 2)
    assert people.value <= people.high <= 1.0
    assert cells.value <= 23 / 95 / 2
    assert any("more groups than there are people" in note for note in people.notes)
    for kappa in (0.01, 0.5, 2.0, 4.0, 4.5):
        for j in range(12):
            of_people, of_cells = groups_from_kappa(kappa, 95, 23, j)
            assert 0 <= of_people.low <= of_people.value <= of_people.high <= 1
            assert 0 <= of_cells.low <= of_cells.value <= of_cells.high <= 1


@pytest.mark.parametrize("count", [0, 1, 3, 25])
@pytest.mark.parametrize("tail", [0.025, 0.1])
def test_poisson_limits_have_exactly_their_tail(count: int, tail: float) -> None:
    low, high = poisson_limits(count, tail)
    assert stats.poisson.cdf(count, high) == pytest.approx(tail)
    assert stats.poisson.sf(count - 1, low) == pytest.approx(tail) if count else low == 0.0


def test_a_sample_without_pairs_does_not_prove_uniques() -> None:
    """1,200 sample uniques of 240,000: 40,000 triples of the population would show no pair with a good chance."""
    found = predict.population({1: 1200}, 240_000)
    assert found.uniques is not None
    assert (found.uniques.low, found.uniques.grade) == (0.0, "C")
    assert found.uniques.high <= 240_000


@pytest.mark.parametrize("pairs", [0.3, 1.0, 3.0, 10.0])
def test_the_lower_limit_holds_when_pairs_are_few(pairs: float) -> None:
    """A population of pairs only: no unique at all, so every lower limit above 0 is a miss (2.5 % at most, and some noise)."""
    rng = np.random.default_rng(11)
    people = 200_000
    rate = math.sqrt(2 * pairs / people)  # so many sampled pairs are expected
    missed, runs = 0, 2_000
    for _ in range(runs):
        both = rng.binomial(people // 2, rate * rate)
        one = rng.binomial(people // 2 - both, 2 * rate * (1 - rate) / (1 - rate * rate))
        n = one + 2 * both
        if one == 0:
            continue
        s = SampledClasses(np.array([1, 2]), np.array([one, both]), n, one + both, one, both, people)
        missed += uniques_range(s)[0] > 0
    assert missed <= runs * 0.025 + 3 * math.sqrt(runs * 0.025)


# --- validity limits: at the limit the answer is still graded B -----------------------------------------------------------


def broken(kappa: float, cells: int, k: int, p_max: float | None) -> list[str]:
    return uniqueness_formula(kappa, cells, k, p_max, limit=False)[2]


def test_limits_of_the_kappa_formula() -> None:
    assert broken(0.2, 90, 30, 3 / 90) == []
    assert len(broken(0.2001, 90, 30, 3 / 90)) == 1
    assert len(broken(0.2, 90, 31, 3 / 90)) == 1
    assert len(broken(0.2, 90, 30, 3.01 / 90)) == 1
    assert len(broken(0.2001, 90, 31, 3.01 / 90)) == 3
    assert broken(0.0, 2, 1, 0.5) == []  # one person may be more than a third of the cells
    enough = smallest_kappa(90, 3 / 90)  # the kappa up to which no cell can hold three times the average
    assert broken(enough, 90, 30, None) == []
    assert len(broken(enough * 1.001, 90, 30, None)) == 1


def test_singletons_from_kappa_are_graded_up_to_two_people_per_cell() -> None:
    assert singletons_from_kappa(0.01, 95, 190).grade == "B"
    assert singletons_from_kappa(0.01, 95, 191).grade == "C"
    assert singletons_from_kappa(0.05, 95, 95, p_max=3 / 95).grade == "B"
    assert singletons_from_kappa(0.0501, 95, 95, p_max=3 / 95).grade == "C"


def test_kappa_lies_between_nothing_and_ln_n() -> None:
    assert uniqueness_from_kappa(0.0, 95, 10).value == pytest.approx(predict.uniqueness(95, 10).value)
    assert uniqueness_from_kappa(0.1, 95, 95).value >= 0.0
    assert uniqueness_from_kappa(0.1, 95, 96).value == 0.0
    for kappa in (-1e-6, math.log(95) + 1e-6):
        with pytest.raises(UsageError):
            uniqueness_from_kappa(kappa, 95, 10)
    for p_max in (0.9 / 95, 1.1):
        with pytest.raises(UsageError):
            uniqueness_from_kappa(0.0, 95, 10, p_max=p_max)


# --- samples --------------------------------------------------------------------------------------------------------------


def test_a_match_is_graded_from_ten_classes_of_one_and_of_two() -> None:
    assert [predict.match_probability(a, b, 0.1, n3=5).grade for a, b in ((10, 10), (9, 10), (10, 9), (10, 0))] == list("BCCC")
    assert predict.match_probability(10, 0, 0.1).value == 1.0
    assert predict.match_probability(10, 10, 1.0).grade == "A"
    with pytest.raises(UsageError):
        predict.match_probability(10, 10, 0.0)


def test_the_rule_of_dankar_changes_above_a_tenth() -> None:
    classes = {1: 120, 2: 25, 3: 10, 4: 6, 5: 3, 8: 2, 15: 1, 30: 1}  # 300 people
    for population, rule in ((3000, "pitman"), (2999, "zayatz")):
        found = predict.population(classes, population)
        assert found.uniques is not None
        assert rule in found.uniques.method or (rule == "zayatz" and "snb" in found.uniques.method)
    assert "pitman" not in found.uniques.method


def test_a_sample_may_be_its_population_but_not_more() -> None:
    assert predict.population([1, 2, 3], 6).uniques.value == 1.0
    assert predict.population([1, 2, 3, 0], 7).sample_size == 6
    for classes in ([1, 2, 4], [-1, 2], [0], [1.5]):
        with pytest.raises(UsageError):
            predict.population(classes, 6)
    assert predict.population({2: 3, 3: 1}, 100).match is None  # nobody is unique in the sample


# --- the meter ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("share", "grade", "light"),
    [
        (0.05, "B", "green"),
        (0.05, "C", "amber"),
        (0.0501, "A", "amber"),
        (0.1, "A", "amber"),
        (0.1001, "A", "red"),
    ],
)
def test_the_light_at_its_limits(share: float, grade: str, light: str) -> None:
    unique = Estimate(share, share, share, method="given", grade=grade)
    meter = Meter(unique, unique, unique, 1.0, (), (), (), (), 0.05, 1.0)
    assert meter.light == light
    assert meter.reached is (share <= 0.05)
