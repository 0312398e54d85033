"""Risk of each record in the population: against slow definitions, against populations that are known, and its laws."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from scipy import integrate
from scipy.stats import nbinom

import shoal
from shoal.errors import UsageError
from shoal.prediction import population_risk
from shoal.prediction.population import crowd, models
from shoal.prediction.population.model_choice import FEWEST, deal, log_likelihood
from shoal.prediction.population.sample import Sample


def classes_of(rows: np.ndarray) -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
    found, of, sizes = np.unique(rows, axis=0, return_inverse=True, return_counts=True)
    return list(found.T), sizes, of.ravel()


def people(n: int, seed: int = 3) -> np.ndarray:
    """Three columns that depend on each other: age, education by age, town."""
    rng = np.random.default_rng(seed)
    age = np.minimum((rng.gamma(4, 6, n)).astype(int), 60)
    school = np.minimum((age // 12 + rng.integers(0, 4, n)), 7)
    town = np.minimum(rng.geometric(0.15, n), 25)
    return np.stack([age, school, town], axis=1)


@pytest.fixture(scope="module")
def drawn() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A population of 12,000, a sample of 1,200, and how many of the population share each sampled combination."""
    population = people(12_000)
    chosen = np.random.default_rng(5).choice(12_000, 1_200, replace=False)
    _, of, sizes = np.unique(population, axis=0, return_inverse=True, return_counts=True)
    return population[chosen], sizes[of.ravel()[chosen]], sizes


@pytest.mark.parametrize("a", [0.3, 4.0, 1e4])
@pytest.mark.parametrize("f", [1, 2, 5, 40])
@pytest.mark.parametrize("mean", [0.02, 1.5, 30.0])
@pytest.mark.parametrize("rate", [0.01, 0.5])
def test_risks_are_those_of_the_negative_binomial_law(a: float, f: int, mean: float, rate: float) -> None:
    b, c = a + mean, mean * (1 - rate) / rate
    law = nbinom(a + f, b / (b + c))
    j = np.arange(0, int(law.ppf(1 - 1e-13)) + 2)
    one, many = np.array([mean]), np.array([f])
    assert crowd.unique_chance(a, one, many, rate)[0] == pytest.approx(law.pmf(0), rel=1e-6, abs=1e-14)
    assert crowd.match_chance(a, one, many, rate)[0] == pytest.approx(float((law.pmf(j) / (f + j)).sum()), rel=1e-6)
    assert crowd.expected_crowd(a, one, many, rate)[0] == pytest.approx(f + law.mean(), rel=1e-9)
    low, high = crowd.crowd_range(a, one, many, rate, 0.95)
    assert law.cdf(low[0] - f - 1) <= 0.025 <= law.cdf(low[0] - f) + 1e-12
    assert law.cdf(high[0] - f) >= 0.975 - 1e-12 > law.cdf(high[0] - f - 1) - 1e-12


def test_poisson_is_the_limit_of_the_shape() -> None:
    """Skinner & Holmes: P(F=1|f=1) = exp(-m), E[1/F|f=1] = (1-exp(-m))/m, m = mean (1-rate)/rate."""
    m = 0.8 * 0.9 / 0.1
    one, f = np.array([0.8]), np.array([1])
    assert crowd.unique_chance(1e9, one, f, 0.1)[0] == pytest.approx(np.exp(-m), rel=1e-5)
    assert crowd.match_chance(1e9, one, f, 0.1)[0] == pytest.approx((1 - np.exp(-m)) / m, rel=1e-5)
    slow = integrate.quad(lambda t: t**2 * np.exp(m * (t - 1)), 0, 1)[0]
    assert crowd.match_chance(1e9, one, np.array([3]), 0.1)[0] == pytest.approx(slow, rel=1e-5)


def test_two_way_effects_keep_every_smoothed_pair_and_no_third_order_interaction() -> None:
    codes, sizes, _ = classes_of(people(500) % np.array([4, 3, 3]))
    s = Sample.of(codes, sizes, 5_000)
    table = _listed(s)
    assert table.sum() == pytest.approx(1.0)
    for i, j in itertools.combinations(range(3), 2):
        rest = tuple(k for k in range(3) if k not in (i, j))
        assert np.abs(table.sum(axis=rest) - models.smoothed(s, i, j)).max() < 1e-5
    odds = np.log(table[:-1, :-1] * table[1:, 1:] / (table[:-1, 1:] * table[1:, :-1]))
    assert np.ptp(odds, axis=2).max() < 1e-6  # the odds ratio of two columns is the same at every value of the third


def _listed(s: Sample) -> np.ndarray:
    """The whole table of the two-way model, asked combination by combination."""
    cells = np.array(list(itertools.product(*(range(k) for k in s.levels))))
    inside = {tuple(c): n for c, n in zip(s.codes.tolist(), s.sizes.tolist(), strict=True)}
    sizes = np.array([inside.get(tuple(c), 0) for c in cells.tolist()])
    whole = Sample(cells, sizes, s.levels, s.population, np.arange(len(cells)))
    return models.two_way(whole).share(cells).reshape(s.levels)


def test_a_tree_is_the_product_of_its_pairs_over_the_shared_columns() -> None:
    codes, sizes, _ = classes_of(people(800) % np.array([5, 4, 3]))
    s = Sample.of(codes, sizes, 8_000)
    edges = models.spanning_tree(s)
    slow = []
    for c in s.codes:
        share = s.margins[edges[0][0]][c[edges[0][0]]]
        for a, b in edges:
            share *= models.smoothed(s, a, b)[c[a], c[b]] / s.margins[a][c[a]]
        slow.append(share)
    found = models.Shares.of(models.tree(s), s, np.random.default_rng(0))
    assert found.observed == pytest.approx(slow, rel=1e-12)
    assert (found.numbers * found.at).sum() == pytest.approx(1.0)


def test_listed_shares_keep_their_sum_and_number() -> None:
    every = np.random.default_rng(0).dirichlet(np.full(5_000, 0.3))
    found = models.Shares.listed(every[:5], every)
    assert found.numbers.sum() == np.count_nonzero(every)
    assert (found.numbers * found.at).sum() == pytest.approx(1.0)
    slow = np.log1p(900 * every).sum()
    assert (found.numbers * np.log1p(900 * found.at)).sum() == pytest.approx(slow, rel=1e-5)


def test_the_likelihood_of_left_out_counts_is_that_of_all_combinations() -> None:
    every = np.array([0.4, 0.3, 0.2, 0.1])
    counts, a = np.array([3, 0, 1]), 1.7
    found = log_likelihood(a, models.Shares(every[:3], every, np.ones(4)), counts)
    slow = sum(float(nbinom.logpmf(n, a, a / (a + 4 * p))) for n, p in zip([3, 0, 1, 0], every, strict=True))
    assert found == pytest.approx(slow)


def test_dealing_leaves_nobody_out_and_parts_are_equal() -> None:
    sizes = np.array([7, 1, 1, 30, 4])
    parts = deal(sizes, np.random.default_rng(1))
    assert np.sum(parts, axis=0).tolist() == sizes.tolist()
    assert {int(p.sum()) for p in parts} == {8, 9}


def test_values_and_intervals_on_a_population_that_is_known(drawn: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
    sample, truth, everybody = drawn
    codes, sizes, of = classes_of(sample)
    r = population_risk(codes, sizes, 12_000)
    here = np.zeros(sizes.size)
    here[of] = truth
    for e, true in (
        (r.sample_uniques_alone, ((sizes == 1) & (here == 1)).sum()),
        (r.right_matches, (sizes / here).sum()),
        (r.population_uniques, (everybody == 1).sum()),
    ):
        assert e.low <= true <= e.high
        assert 0.75 < e.value / true < 1.3
    held = (r.crowd_low <= here) & (here <= r.crowd_high)
    assert (sizes * held).sum() / sizes.sum() > 0.9
    own = population_risk(codes, sizes, 12_000, limits=False).right_matches
    assert own.low <= (sizes / here).sum() <= own.high
    assert own.high - own.low < 0.5 * own.value  # and the model's own says something
    assert (1 / here)[r.risk > 0.8].mean() > 0.7 > 0.3 > (1 / here)[r.risk < 0.2].mean()


def test_columns_that_repeat_each_other_are_not_taken_as_independent() -> None:
    """Two copies of a column: independence calls nearly everybody unique; nobody is."""
    rng = np.random.default_rng(2)
    a = rng.integers(0, 60, 600)
    codes, sizes, _ = classes_of(np.stack([a, a], axis=1))
    r = population_risk(codes, sizes, 60_000)
    assert r.model == "average"
    assert (r.weights or {}).get("independent", 0.0) == 0.0
    assert r.max < 0.05
    naive = population_risk(codes, sizes, 60_000, model="independent")
    assert naive.sample_uniques_alone.grade == "C"


def test_the_order_of_classes_and_the_names_of_codes_change_nothing() -> None:
    codes, sizes, _ = classes_of(people(400))
    r = population_risk(codes, sizes, 9_000)
    order = np.random.default_rng(9).permutation(sizes.size)
    again = population_risk([2 * c[order] + 7 for c in codes], sizes[order], 9_000)
    assert again.risk == pytest.approx(r.risk[order])
    assert again.to_json() == r.to_json()


def test_the_whole_population_is_counted() -> None:
    codes, sizes, _ = classes_of(people(200))
    r = population_risk(codes, sizes, 200)
    assert r.model == "counted"
    assert r.right_matches.grade == "A"
    assert r.risk.tolist() == (1 / sizes).tolist()
    assert r.sample_uniques_alone.value == (sizes == 1).sum()
    assert r.above[0.5] == int(sizes[sizes <= 2].sum())


def test_limits_of_a_fit() -> None:
    codes, sizes, _ = classes_of(people(FEWEST))
    assert population_risk(codes, sizes, 10_000).right_matches.grade == "C"
    codes, sizes, _ = classes_of(people(FEWEST - 1))
    with pytest.raises(UsageError, match="49 people are too few"):
        population_risk(codes, sizes, 10_000)
    codes, sizes, _ = classes_of(people(120))
    with pytest.raises(UsageError, match="model 'loglin' does not exist"):
        population_risk(codes, sizes, 10_000, model="loglin")
    with pytest.raises(UsageError, match="larger than the population"):
        population_risk(codes, sizes, 119)
    with pytest.raises(UsageError, match="one column has no pairs"):
        population_risk(codes[:1], np.ones(codes[0].size, dtype=int), 10_000, model="tree")


def test_one_column_everybody_alike_and_everybody_alone() -> None:
    alike = population_risk([np.array([3])], [80], 1_000)
    assert alike.max < 0.02
    assert alike.sample_uniques_alone.value == 0
    alone = population_risk([np.arange(80), np.arange(80)], np.ones(80, dtype=int), 1_000)
    assert 0 <= alone.right_matches.low <= alone.right_matches.value <= alone.right_matches.high <= 80


def test_a_table_gives_risk_per_row_without_a_value(tmp_path: Path) -> None:
    rows = people(300)
    table = {"age": rows[:, 0].tolist(), "school": [f"s{x}" for x in rows[:, 1]], "home": [i // 2 for i in range(300)]}
    table["age"][4] = None
    found = shoal.predict("population", table=table, columns=["age", "school"], population=3_000)
    risk = found.fitted.per_record()
    keys = list(zip(table["age"], table["school"], strict=True))
    for i, j in itertools.combinations(range(60), 2):
        if keys[i] == keys[j]:
            assert risk[i] == risk[j]
    sizes = found.fitted.per_record(found.fitted.sizes)
    assert sizes.tolist() == [keys.count(key) for key in keys]
    assert found.fitted.right_matches.value == pytest.approx(risk.sum())
    homes = found.fitted.households("home")
    assert homes.per_record[0] == pytest.approx(1 - (1 - risk[0]) * (1 - risk[1]))
    lines = found.fitted.write(tmp_path / "r.csv").read_text().splitlines()
    assert len(lines) == 301
    assert lines[0].startswith("row,in_sample,risk,unique,crowd")
    assert [float(x.split(",")[2]) for x in lines[1:]] == pytest.approx(risk.tolist(), rel=1e-5)
    assert "s3" not in str(found.to_json())
    assert "s3" not in "\n".join(lines)
    with pytest.raises(UsageError, match="classes cannot be used with table"):
        shoal.predict("population", table=table, classes=[1, 2], population=3_000)
    with pytest.raises(UsageError, match="model says something about a table only"):
        shoal.predict("population", frequencies={1: 3}, model="tree", population=3_000)
