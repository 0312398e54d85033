"""The estimate where no record exists: ranks, its level, and what can never be exceeded."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from shoal.model.estimate import Estimate
from shoal.registry.answer.estimate import BY_RANK, LEVEL, interval, most_alone


def exact(values):
    return [Estimate(float(v), float(v), float(v)) for v in values]


def test_ranks_from_thirty_nine_neighbours_on():
    values = np.linspace(0.1, 0.9, BY_RANK)
    assert interval(exact(values)) == (pytest.approx(0.1), pytest.approx(0.9), LEVEL)
    more = np.linspace(0.1, 0.9, 79)  # 2.5 % of 80 ranks are two
    assert interval(exact(more))[:2] == (pytest.approx(more[1]), pytest.approx(more[-2]))
    fewer = interval(exact(np.linspace(0.1, 0.9, BY_RANK - 1)))
    assert fewer[0] < 0.1
    assert fewer[1] > 0.9


def test_rounding_widens_and_nothing_leaves_zero_to_one():
    wide = [Estimate(v, max(0.0, v - 0.02), min(1.0, v + 0.02)) for v in np.linspace(0.0, 1.0, 45)]
    assert interval(wide)[:2] == (0.0, 1.0)
    low, high, _ = interval([Estimate(0.3, 0.28, 0.32)] * 5)
    assert (low, high) == (pytest.approx(0.28), pytest.approx(0.32))
    low, high, _ = interval([Estimate(0.0, 0.0, 0.01)] * 6)
    assert low == 0.0
    assert 0.01 <= high < 0.02


@pytest.mark.parametrize("neighbours", [5, 12, 38, 39, 60])
def test_places_like_their_neighbours_are_covered_at_the_level_and_not_idly(neighbours):
    rng = np.random.default_rng(neighbours)
    runs, inside, width = 1500, 0, 0.0
    for _ in range(runs):
        shares = 1 / (1 + np.exp(-rng.normal(-2, 0.3, neighbours + 1)))
        low, high, _ = interval(exact(shares[1:]))
        inside += low <= shares[0] <= high
        width += high - low
    assert inside >= stats.binom.ppf(0.0001, runs, LEVEL)
    assert width / runs < (0.35 if neighbours == 5 else 0.2)


@pytest.mark.parametrize(("cells", "group", "share"), [(19, 18, 1.0), (19, 19, 1.0), (19, 20, 0.95), (float("inf"), 10, 1.0)])
def test_in_so_many_cells_so_many_can_be_alone(cells, group, share):
    assert most_alone(cells, group) == share
