"""Latent classes and the average of models: against slow definitions, on hidden groups, and the laws of both."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import digamma

from shoal.errors import UsageError
from shoal.prediction import population_risk
from shoal.prediction.population import fit_check, latent_class, model_choice, models
from shoal.prediction.population.sample import Sample


def hidden(people: int, seed: int) -> Sample:
    """Three types of people, which no column shows; any two columns are nearly independent given the type."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 3, people)
    rows = (kind[:, None] * np.array([2, 1, 2, 1]) + (rng.random((people, 4)) < 0.2)) % 6
    found, sizes = np.unique(rows, axis=0, return_counts=True)
    return Sample.of(list(found.T), sizes, 10 * people)


@pytest.fixture(scope="module")
def sample() -> Sample:
    return hidden(400, 1)


def test_shares_are_those_of_the_mixture_and_add_up_to_one(sample: Sample) -> None:
    groups = latent_class.fitted_groups(sample, np.random.default_rng(0))
    cells = models.combinations(sample.levels)
    found = groups.share(cells)
    assert found.sum() == pytest.approx(1.0)
    assert (found > 0).all()  # every combination is possible
    for cell, share in list(zip(cells, found, strict=True))[:20]:
        parts = [groups.values[j][:, :][value] for j, value in enumerate(cell)]
        assert share == pytest.approx(sum(w * np.prod([p[g] for p in parts]) for g, w in enumerate(groups.weights)))
    rng = np.random.default_rng(5)
    drawn = groups.draw(40_000, rng)
    key = np.ravel_multi_index(tuple(drawn.T), sample.levels)
    assert np.abs(np.bincount(key, minlength=len(cells)) / 40_000 - found).max() < 0.01


def test_the_same_seed_gives_the_same_numbers_and_chunks_change_nothing(sample: Sample, monkeypatch: pytest.MonkeyPatch) -> None:
    cells = models.combinations(sample.levels)
    first = latent_class.latent_class(sample, 3).share(cells)
    monkeypatch.setattr(latent_class, "CHUNK", 7)
    assert latent_class.latent_class(sample, 3).share(cells).tobytes() == first.tobytes()
    assert latent_class.latent_class(sample, 4).share(cells).tobytes() != first.tobytes()


def test_hidden_groups_are_predicted_better_than_by_pairs(sample: Sample) -> None:
    fit = model_choice.choose(sample)
    assert fit.model == "average"
    assert max(fit.weights, key=lambda name: fit.weights[name]) == "latent-class"
    assert sum(fit.weights.values()) == pytest.approx(1.0)
    best = max(score for name, score in fit.scores.items() if name != "average")
    assert fit.scores["average"] >= best - 0.01
    assert set(fit.scores) == {"average", *model_choice.MODELS}


def test_people_of_each_value_and_group_are_added_up() -> None:
    codes, belong = np.array([[2], [0], [2], [3]]), np.arange(8.0).reshape(4, 2)
    s = Sample(codes, np.ones(4, dtype=np.int64), (4,), 40, np.arange(4))
    found = latent_class._people(s, 0, np.argsort(codes[:, 0], kind="stable"), belong)
    assert found.tolist() == [[2, 3], [0, 0], [4, 6], [6, 7]]


def test_expected_logs_of_sticks_and_values() -> None:
    logs, concentration = latent_class._stick(np.array([5.0, 2.0]), 1.0)
    taken, rest = digamma(6) - digamma(9), digamma(3) - digamma(9)
    assert logs == pytest.approx([taken, rest])
    assert concentration == pytest.approx(2 / (1 - rest))
    values, pull = latent_class._values(np.array([[4.0], [0.0]]), np.array([0.5, 0.5]), 2.0)
    assert values[:, 0] == pytest.approx(digamma([5, 1]) - digamma(6))
    assert pull == pytest.approx(2.0 * 0.5 * (digamma(5) - digamma(1)) / (digamma(6) - digamma(2)))


def test_an_average_is_the_mixture_of_its_models(sample: Sample) -> None:
    one, two = models.independent(sample), models.tree(sample)
    cells = models.combinations(sample.levels)
    both = models.average([one, two], np.array([0.3, 0.7]))
    assert both.share(cells) == pytest.approx(0.3 * one.share(cells) + 0.7 * two.share(cells))
    assert both.draw(50, np.random.default_rng(1)).shape == (50, 4)
    assert models.average([one, two], np.array([0.0, 1.0])) is two


def test_weights_are_those_of_the_greatest_likelihood() -> None:
    rng = np.random.default_rng(3)
    shares, people = rng.dirichlet(np.ones(40), 2), rng.integers(1, 9, 40)
    found = model_choice.stacked(shares, people)
    likelihoods = [float(people @ np.log(w * shares[0] + (1 - w) * shares[1])) for w in np.linspace(0.001, 0.999, 999)]
    assert found[0] == pytest.approx((1 + int(np.argmax(likelihoods))) / 1000, abs=0.01)
    assert model_choice.stacked(np.stack([shares[0], shares[0] * 1e-6]), people).tolist() == [1.0, 0.0]


@pytest.mark.parametrize(("classes", "values"), [(0, 0), (1, 0), (0, 1)])
def test_limits_of_classes_and_values(sample: Sample, monkeypatch: pytest.MonkeyPatch, classes: int, values: int) -> None:
    """As many as the limit are fitted; with one more the model is refused, and the others are averaged."""
    monkeypatch.setattr(model_choice, "MOST_CLASSES", sample.sizes.size - classes)
    monkeypatch.setattr(model_choice, "MOST_VALUES", sum(sample.levels) - values)
    refused = classes or values
    assert bool(model_choice._why_not(sample, "latent-class")) is bool(refused)
    if refused:
        with pytest.raises(UsageError, match="cannot be fitted here: more than"):
            model_choice.choose(sample, "latent-class")


def test_one_column_has_no_hidden_groups() -> None:
    r = population_risk([np.arange(20)], np.full(20, 30), 6_000)
    assert r.model == "independent"
    assert (r.refused or {})["latent-class"] == "one column has no hidden groups"


def test_pair_tables_refute_a_model_of_independence() -> None:
    """Every class has thirty people, so the numbers of small classes say nothing; the pairs do."""
    codes = [np.repeat(np.arange(6), 2), np.arange(12) % 6]
    s = Sample.of(codes, np.full(12, 30), 5_000)
    wrong = replace(model_choice.choose(s, "independent"), shape=1e4)
    assert "columns 1 and 2" in fit_check._refuted_by_pairs(s, wrong)
    right = replace(model_choice.choose(s, "tree"), shape=1e4)
    assert fit_check._refuted_by_pairs(s, right) == ""


def test_pairs_of_values_with_few_people_are_taken_together() -> None:
    s = Sample.of([np.array([0, 0, 1]), np.array([0, 1, 0])], np.array([91, 5, 4]), 1_000)
    drawn = np.repeat(np.array([[0, 0], [0, 1], [1, 0]]), [9_000, 500, 500], axis=0)
    far, kinds = fit_check.pair_distance(s, 1e12, drawn, np.full(10_000, 1e-9), (0, 1))
    assert kinds == 3  # five expected people are enough
    scale = 1 + 100 / 10_000
    assert far == pytest.approx(1 / (90 * scale + 0.5) + 0.0 + 1 / (5 * scale + 0.5))
    fewer = np.repeat(np.array([[0, 0], [0, 1], [1, 0]]), [9_002, 499, 499], axis=0)
    assert fit_check.pair_distance(s, 1e12, fewer, np.full(10_000, 1e-9), (0, 1))[1] == 2


def test_combinations_are_listed_in_order() -> None:
    assert models.combinations((2, 3)).tolist() == [list(c) for c in itertools.product(range(2), range(3))]
