"""Predictions at the ends of what is possible: kappa of one cell, samples without pairs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from shoal import predict
from shoal.predict.population.class_size_models import SampledClasses
from shoal.predict.population.uniques import poisson_limits, uniques_range
from shoal.predict.summaries.kappa import groups_from_kappa, singletons_from_kappa, uniqueness_from_kappa, variance_from_kappa


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
