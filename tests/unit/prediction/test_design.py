"""Weights and clusters in the estimates of a population: each part against a slow definition, and truths that are known."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import pytest

import shoal
from shoal.errors import UsageError
from shoal.prediction import population_risk
from shoal.prediction.population.class_size_models import SampledClasses
from shoal.prediction.population.design import Design
from shoal.prediction.population.sample import Sample
from shoal.prediction.population.uniques import match_by_design, match_probability, sampled_classes
from shoal.prediction.population.without_model import Seen, lookalikes, model_free_ranges, rarefied_share

CELLS = np.array([0, 0, 0, 1, 1, 2, 2, 2, 2, 3])
"""The class of each of ten people."""
HOMES = np.array([0, 1, 1, 0, 2, 3, 3, 4, 5, 5])
CHANCE = np.array([0.2, 0.5, 0.5, 0.2, 0.9, 0.3, 0.3, 0.6, 0.4, 0.4])


def samples():
    """Every sample of whole households, with its probability."""
    for homes in itertools.product((False, True), repeat=6):
        taken = np.array(homes)
        chance = np.array([CHANCE[h == HOMES][0] for h in range(6)])
        yield np.flatnonzero(taken[HOMES]), float(np.where(taken, chance, 1 - chance).prod())


@pytest.mark.parametrize(("least", "most"), [(1, 1), (2, 9), (3, 3)])
def test_the_people_not_sampled_are_estimated_without_bias(least: int, most: int) -> None:
    """Over all samples of households with unequal chances, the estimate and the truth have the same mean."""
    estimated = real = 0.0
    for rows, chance in samples():
        if not rows.size:
            continue
        classes, place = np.unique(CELLS[rows], return_inverse=True)
        key = np.unique(np.stack([place, HOMES[rows]]), axis=1, return_counts=True)
        weight = np.array([1 / CHANCE[h == HOMES][0] for h in key[0][1]])
        design = Design(key[0][0], key[0][1], key[1], weight, classes.size)
        estimated += chance * design.unseen(least, most).sum()
        for c in classes:
            f = int((CELLS[rows] == c).sum())
            real += chance * ((c == CELLS).sum() - f) * (least <= f <= most)
    assert estimated == pytest.approx(real)


def test_thinned_counts_are_those_of_every_thinning() -> None:
    """Ten people with weights, each kept with its weight over the largest: classes of one, two and more, listed."""
    design = Design.of(CELLS, 40, weight=1 / CHANCE)
    kept = design.weight / design.weight.max()
    numbers = np.zeros(3)
    for chosen in itertools.product((0, 1), repeat=10):
        taken = np.array(chosen, dtype=bool)
        chance = np.where(taken, kept, 1 - kept).prod()
        sizes = np.bincount(design.of_class[taken], minlength=4)
        numbers += chance * np.array([(sizes == 1).sum(), (sizes == 2).sum(), (sizes > 2).sum()])
    assert design.seen(2)[0] == pytest.approx(numbers)


def test_the_variance_adds_the_products_of_classes_that_share_a_unit() -> None:
    design = Design.of(CELLS, 40, cluster=HOMES)
    parts = np.array([1.0, 2.0, 0.0, 5.0])
    homes = [set(HOMES[c == CELLS]) for c in range(4)]
    slow = sum(parts[a] * parts[b] for a in range(4) for b in range(4) if homes[a] & homes[b])
    assert design.variance(parts) == pytest.approx(slow)
    assert Design.of(CELLS, 40).variance(parts) == pytest.approx(30.0)


def test_a_design_of_equal_people_is_a_simple_sample() -> None:
    rng = np.random.default_rng(2)
    rows = np.stack([rng.integers(0, 12, 900), rng.integers(0, 9, 900), rng.geometric(0.4, 900)])
    classes, place, f = np.unique(rows, axis=1, return_inverse=True, return_counts=True)
    design = Design.of(place.ravel(), 9_000, weight=np.full(900, 3.0))
    seen = sampled_classes(f, 9_000)
    assert design.equal
    assert design.effect == 1.0
    assert np.ravel(model_free_ranges(seen, design)) == pytest.approx(np.ravel(model_free_ranges(seen)))
    n1, n2, n3 = (int((f == j).sum()) for j in (1, 2, 3))
    plain, found = match_probability(n1, n2, 0.1, n3=n3), match_by_design(n1, design)
    assert (found.value, found.low, found.high) == pytest.approx((plain.value, plain.low, plain.high))
    a, b = (population_risk(list(classes), f, 9_000, model="tree", design=d) for d in (None, design))
    assert a.risk == pytest.approx(b.risk)


def test_twins_of_one_household_are_not_a_pair() -> None:
    """Two people with one combination in one household say nothing of how many others look like somebody unique."""
    twins = np.repeat(np.arange(50), 2)
    together = Design.of(twins, 1_000, cluster=twins)
    assert together.pairs()[0] == 0.0
    assert together.mixed
    assert Design.of(twins, 1_000).pairs()[0] == pytest.approx(50)
    s = SampledClasses(np.array([2]), np.array([50]), 100, 50, 0, 50, 1_000)
    assert Seen.of(s, together).double == 50
    assert Seen.of(s, together).counts[0] == 50


@pytest.mark.parametrize(("twins", "mixed"), [(5, False), (6, True)])
def test_five_percent_with_a_twin_at_home_is_the_limit(twins: int, mixed: bool) -> None:
    """Pairs of one household among 200 people: ten people are not above 5 %, twelve are."""
    of_class = np.append(np.repeat(np.arange(twins), 2), np.arange(twins, 200 - twins))
    home = np.append(np.repeat(np.arange(twins), 2), 10_000 + np.arange(200 - 2 * twins))
    assert Design.of(of_class, 4_000, cluster=home).mixed is mixed


def test_clusters_larger_than_households_are_refused() -> None:
    """Villages of which some people were asked: those who look alike there and were not asked would not be counted."""
    assert Design.of(np.arange(24), 100, cluster=np.arange(24) % 2).effect == 12
    with pytest.raises(UsageError, match=r"clusters have 12\.5 people on average, more than households have") as refused:
        Design.of(np.arange(25), 100, cluster=np.arange(25) % 2)
    assert "two-stage samples" in str(refused.value.hint)


def test_different_weights_in_one_cluster_and_odd_weights_are_refused() -> None:
    with pytest.raises(UsageError, match="different weights"):
        Design.of([0, 1], 10, weight=[1.0, 2.0], cluster=[7, 7])
    for odd in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(UsageError, match="positive numbers"):
            Design.of([0, 1], 10, weight=[1.0, odd])


def test_the_rate_of_a_class_follows_its_columns_and_not_one_person() -> None:
    rng = np.random.default_rng(5)
    region = rng.integers(0, 2, 4_000)
    weight = np.where(region == 1, 30.0, 6.0) * rng.choice([0.5, 1.5], 4_000)
    age = rng.integers(0, 900, 4_000)
    classes, place, f = np.unique(np.stack([region, age]), axis=1, return_inverse=True, return_counts=True)
    people = int(weight.sum())
    s = Sample.of(list(classes), f, people, Design.of(place.ravel(), people, weight=weight))
    rates = [1 / s.rates[s.codes[:, 0] == r] for r in (0, 1)]
    assert [float(np.median(x)) for x in rates] == pytest.approx([6.0, 30.0], rel=0.15)


def surveyed(seed: int) -> tuple[dict[str, np.ndarray], dict[str, float]]:
    """Families of three who share a town; a town of odd number is sampled five times as often. Truth beside the sample."""
    rng = np.random.default_rng(seed)
    home = np.repeat(np.arange(4_000), 3)
    town = np.repeat(rng.integers(0, 40, 4_000), 3)
    rows = np.stack([town, rng.integers(0, 30, 12_000), rng.integers(0, 2, 12_000)])
    chance = np.where(town[::3] % 2 == 1, 0.25, 0.05)
    taken = (rng.random(4_000) < chance)[home]
    of = np.unique(rows, axis=1, return_inverse=True)[1].ravel()
    size, here = np.bincount(of), np.bincount(of[taken], minlength=of.max() + 1)
    ones = here == 1
    names = ("town", "age", "sex", "w", "home")
    columns = (*rows[:, taken], 1 / chance[home[taken]], home[taken])
    return dict(zip(names, columns, strict=True)), {
        "match": ones.sum() / size[ones].sum(),
        "alone": float((size[ones] == 1).sum()),
        "matches": float((here / size).sum()),
        "uniques": float((size == 1).sum()),
    }


def test_weights_and_families_hold_where_a_simple_sample_does_not() -> None:
    held = {"design": 0, "simple": 0}
    for seed in range(8):
        table, truth = surveyed(seed)
        rows = np.stack([table[c] for c in ("town", "age", "sex")])
        _, place, f = np.unique(rows, axis=1, return_inverse=True, return_counts=True)
        design = Design.of(place.ravel(), 12_000, weight=table["w"], cluster=table["home"])
        seen = sampled_classes(f, 12_000)
        ranges = model_free_ranges(seen, design)
        assert ranges.alone[0] <= truth["alone"] <= ranges.alone[1]
        assert ranges.matches[0] <= truth["matches"] <= ranges.matches[1]
        assert ranges.uniques[0] <= truth["uniques"] <= ranges.uniques[1]
        n3 = int((f == 3).sum())
        for name, e in (
            ("design", match_by_design(seen.n1, design)),
            ("simple", match_probability(seen.n1, seen.n2, f.sum() / 12_000, n3=n3)),
        ):
            held[name] += e.low <= truth["match"] <= e.high
    assert held["design"] == 8
    assert held["simple"] <= 4


def test_the_command_takes_weights_and_clusters(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from shoal.cli import main

    table, truth = surveyed(3)
    path = tmp_path / "people.csv"
    rows = "".join(",".join(str(x) for x in row) + "\n" for row in zip(*table.values(), strict=True))
    path.write_text(",".join(table) + "\n" + rows)
    words = ["predict", "population", "--table", str(path), "--quasi", "town,age,sex", "--population", "12000", "--model", "tree"]
    with pytest.raises(SystemExit) as stop:
        main([*words, "--weight", "w", "--cluster", "home", "--json"])
    assert not stop.value.code
    found = json.loads(capsys.readouterr().out)
    assert found["low"] <= truth["match"] <= found["high"]
    assert found["fitted"]["population_uniques"]["low"] <= truth["uniques"] <= found["fitted"]["population_uniques"]["high"]
    assert found["models"] == {}
    assert "one over 'w'" in found["notes"][0]
    assert "'home'" in found["notes"][0]


def test_what_a_design_cannot_be_used_with_is_refused() -> None:
    table, _ = surveyed(1)
    asked = {"table": table, "columns": ["town", "age", "sex"], "population": 12_000}
    with pytest.raises(UsageError, match="subsamples"):
        shoal.predict("population", **asked, model="independent", weight="w", calibrate=True)
    with pytest.raises(UsageError, match="one row per person"):
        shoal.predict("population", **asked, weight="w", unit="home")
    with pytest.raises(UsageError, match="table only"):
        shoal.predict("population", frequencies={1: 5}, population=100, cluster="home")
    with pytest.raises(UsageError, match="does not contain numbers"):
        shoal.predict("population", **{**asked, "table": {**table, "w": np.full(table["w"].size, "x")}}, weight="w")


def test_fewer_respondents_than_a_pilot_has_are_counted_in_its_parts() -> None:
    """The chance of a person to be unique in a random part, against every part of six people."""
    sizes = [1, 2, 3]
    s = sampled_classes(sizes, 1_000)
    owner = np.repeat(np.arange(3), sizes)
    kept = [np.bincount(owner[np.array(part, dtype=bool)], minlength=3) for part in itertools.product((0, 1), repeat=6)]
    slow = np.mean([(k == 1).sum() for k in kept]) / 3  # each person with a half: three people on average
    assert rarefied_share(s, 3)[1] == pytest.approx(slow)
    low, middle, high = rarefied_share(s, 6)
    assert (low, middle) == (0.0, pytest.approx(1 / 6))
    assert high > middle


def test_the_interval_of_a_second_survey_of_the_same_size_holds() -> None:
    rng = np.random.default_rng(8)
    shares = rng.dirichlet(np.full(700, 0.6))
    held = 0
    for _ in range(200):
        first, second = (rng.multinomial(600, shares) for _ in range(2))
        low, _, high = rarefied_share(sampled_classes(first[first > 0], 10**6), 600)
        held += low <= (second == 1).sum() / 600 <= high
    assert 188 <= held <= 199
    assert lookalikes(0.0, 0.0, 4.0, 0.025)[0] == 0.0
