"""The estimate where no record exists: ranks, its level, and what can never be exceeded."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from registry_support import make
from shoal.model.estimate import Estimate
from shoal.registry.answer.estimate import BY_RANK, FOR_A_LINE, LEVEL, estimate, interval, most_alone
from shoal.registry.answer.query import Registry
from shoal.registry.keep.store import Store
from shoal.registry.records.population import Population


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


@pytest.mark.parametrize("neighbours", [5, 38, 39])
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


def by_size(sizes, rng, noise=0.2):
    """Shares that rise with the size: a line in log-odds, with noise around it."""
    return 1 / (1 + np.exp(-(0.8 * (np.log(sizes) - np.log(10_000)) + rng.normal(0, noise, len(sizes)))))


@pytest.mark.parametrize(
    ("size", "used"),
    [(None, False), (2000, True), (1999, False), (64_000, True), (64_001, False)],
)
def test_a_size_is_used_only_among_those_of_the_neighbours(size, used):
    sizes = np.geomspace(2000, 64_000, 12).round().astype(int)
    near = exact(by_size(sizes, np.random.default_rng(1)))
    found = estimate(near, sizes.tolist(), size)
    assert found.by_size is used
    if not used:
        assert (found.low, found.high) == interval(near)[:2]
        assert found.value == np.median([e.value for e in near])


@pytest.mark.parametrize("neighbours", [FOR_A_LINE - 1, FOR_A_LINE])
def test_a_line_needs_so_many_neighbours(neighbours):
    sizes = np.geomspace(2000, 64_000, neighbours).round().astype(int)
    found = estimate(exact(by_size(sizes, np.random.default_rng(2), 0.05)), sizes.tolist(), 5000)
    assert found.by_size is (neighbours == FOR_A_LINE)


def test_a_size_that_tells_nothing_is_left_aside():
    sizes = [1000, 2000] * 10
    flat = exact([0.3, 0.31, 0.31, 0.3] * 5)
    assert not estimate(flat, sizes, 1500).by_size
    assert not estimate(flat, [1000] * 20, 1000).by_size
    alone = [1000] * 19 + [2000]  # one place alone would decide the line
    assert not estimate(exact([0.3] * 19 + [0.6]), alone, 1500).by_size


@pytest.mark.parametrize("neighbours", [8, 38, 39])
def test_with_the_size_known_places_are_covered_at_the_level_by_narrower_intervals(neighbours):
    rng = np.random.default_rng(100 + neighbours)
    runs, inside, width, plain, used = 600, 0, 0.0, 0.0, 0
    for _ in range(runs):
        sizes = np.exp(rng.uniform(np.log(2000), np.log(64_000), neighbours + 1)).round()
        shares = by_size(sizes, rng)
        near, others = exact(shares[1:]), sizes[1:].astype(int).tolist()
        found = estimate(near, others, int(sizes[0]))
        inside += found.low <= shares[0] <= found.high
        used += found.by_size
        low, high, _ = interval(near)
        width, plain = width + found.high - found.low, plain + high - low
    assert inside >= stats.binom.ppf(0.0001, runs, LEVEL)
    assert used > runs / 2
    assert width < 0.8 * plain


def test_the_size_comes_from_the_asker_or_from_another_record_of_the_place():
    """Larger towns have more of the same answers: shares fall as towns grow."""
    store, everybody = Store(), []
    for i in range(9):
        many = 4 + 3 * i
        everybody.append([500 * (i + 1)] * many)
        store.submit(make(everybody[-1], codes=("x/quarter",), cells=60, population=Population.parse(f"NL/T{i}@2021")))
    store.submit(
        make([c for town in everybody for c in town], codes=("x/quarter",), cells=300, population=Population.parse("NL@2021"))
    )
    ask = (["x/quarter"], "NL/New@2021")
    unknown = Registry(store).query(*ask).unique_share(20)
    given = Registry(store).query(*ask, size=30_000).unique_share(20)
    store.submit(make([15_000, 15_000], codes=("sex",), cells=2, population=Population.parse("NL/New@2021")))
    known = Registry(store).query(*ask).unique_share(20)
    store.close()
    assert (given.value, given.low, given.high) == (known.value, known.low, known.high)
    assert given.high - given.low < unknown.high - unknown.low
    assert any("from its size" in note for note in given.notes)
    assert not any("from its size" in note for note in unknown.notes)
    assert {e.grade for e in (unknown, given, known)} == {"C"}
