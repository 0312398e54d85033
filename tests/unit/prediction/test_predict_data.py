"""Predictions on real tables: heights and weights, railway stations, a sample of a population."""

from __future__ import annotations

import csv
import math
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from shoal import predict
from shoal.prediction import Distribution


def _socr(folder: Path) -> np.ndarray:
    return np.genfromtxt(folder / "socr" / "hw_25000.csv", delimiter=",", skip_header=1)[:, 1:]


@pytest.mark.data
def test_heights_and_weights_follow_the_normal_formulas(shared_data: Path) -> None:
    table = _socr(shared_data) * [2.54, 0.45359237]  # to centimetres and kilograms
    rho = float(np.corrcoef(table.T)[0, 1])
    assert rho == pytest.approx(0.5029, abs=5e-4)
    for column in range(2):
        values = table[:, column]
        mean, sd = float(values.mean()), float(values.std())
        assert sd == pytest.approx((4.830, 5.289)[column], abs=0.01)
        for k, width in ((5, 1), (10, 0.5), (10, 1), (20, 1), (40, 1), (10, 5)):
            real = predict.interval_singletons(values, width, k).value
            normal = predict.interval_singletons(stats.norm(mean, sd), width, k).value
            assert real == pytest.approx(normal, rel=0.02), (column, k, width)
            quick = predict.interval_singletons(stats.norm(mean, sd), width, k, method="second")
            if quick.grade == "B":
                assert quick.low <= real <= quick.high
    sds = (float(table[:, 0].std()), float(table[:, 1].std()))
    for k, w in ((10, 1.0), (10, 2.0), (40, 1.0)):
        cells = np.floor(table / w).astype(np.int64)
        _, counts = np.unique(cells, axis=0, return_counts=True)
        real = predict.singletons(Distribution.counts(counts), k).mean.value
        normal = predict.singletons(predict.bivariate_normal(sds, rho, (w, w)), k).mean.value
        assert real == pytest.approx(normal, rel=0.01), (k, w)


@pytest.mark.data
def test_drawing_people_from_the_table_agrees(shared_data: Path) -> None:
    values = _socr(shared_data)[:, 1] * 0.45359237
    rng = np.random.default_rng(4)
    k, runs = 40, 4000
    seen = []
    for _ in range(runs):
        _, counts = np.unique(np.floor(rng.choice(values, k)), return_counts=True)
        seen.append(np.count_nonzero(counts == 1))
    s = predict.singletons(predict.rounded(values, 1), k)
    assert abs(np.mean(seen) - s.mean.value) < 3 * np.std(seen) / math.sqrt(runs)
    assert np.var(seen) == pytest.approx(s.variance.value, rel=0.08)


@pytest.mark.data
def test_jr_east_stations_follow_zipf(shared_data: Path) -> None:
    with (shared_data / "rail_jr_east" / "jr_east_top100_1999_2012.csv").open(encoding="utf-8") as source:
        rows = [r for r in csv.DictReader(source) if r["year"] == "2012"]
    counts = [float(r["daily_boardings"]) for r in rows]
    fit = predict.fit_zipf(counts, method="least-squares")
    assert fit.places == 100
    assert fit.c == pytest.approx(0.632, abs=0.001)
    assert fit.r2 > 0.97
    mle = predict.fit_zipf(counts)
    assert mle.c == pytest.approx(fit.c, abs=0.1)
    assert mle.ks < 0.05


@pytest.mark.data
def test_british_stations_are_no_single_zipf_law(shared_data: Path) -> None:
    with (shared_data / "rail_uk_orr" / "uk_station_entries_exits.csv").open(encoding="utf-8") as source:
        counts = [float(r["entries_exits"]) for r in csv.DictReader(source) if r["year"] == "2019" and r["entries_exits"]]
    whole = predict.fit_zipf(counts, method="least-squares")
    top = predict.fit_zipf(sorted(counts)[-100:], method="least-squares")
    assert whole.c == pytest.approx(1.81, abs=0.01)
    assert top.c == pytest.approx(0.76, abs=0.01)
    assert top.r2 > 0.95
    assert whole.ks > 5 * top.ks  # the goodness of fit shows it
    # the expected share does not need the law: counts themselves give it
    people, real = 100_000, Distribution.counts(counts)
    share = predict.expected_share(real, people, 1).value
    assert share == pytest.approx(predict.singletons(real, people).mean.value / people, rel=1e-9)
    assert 0 < share < 0.05


def test_zipf_fit_recovers_a_known_exponent_and_rejects_another_law() -> None:
    rng = np.random.default_rng(6)
    p = predict.Zipf(0.632, 500).distribution.p
    counts = rng.multinomial(10**6, p)
    fit = predict.fit_zipf(counts, simulate=99, rng=rng)
    assert fit.c == pytest.approx(0.632, abs=0.01)
    assert fit.p_value is not None
    assert fit.p_value > 0.05
    bent = 0.97 ** np.arange(500) * 1e5 + 10
    assert predict.fit_zipf(bent, simulate=19, rng=rng).p_value == pytest.approx(0.05)


def _sampled(population: np.ndarray, rate: float, seed: int) -> tuple[np.ndarray, int, float]:
    rng = np.random.default_rng(seed)
    sample = rng.binomial(population, rate)
    single = sample == 1
    pairs_in_population = (population[single]).sum()
    return sample[sample > 0], int((population == 1).sum()), float(single.sum() / pairs_in_population)


@pytest.mark.parametrize("rate", [0.05, 0.2, 0.5])
@pytest.mark.parametrize("law", ["zipf 1", "zipf .6", "log-normal", "uniform"])
def test_match_probability_is_reliable_and_the_models_spread_is_shown(law: str, rate: float) -> None:
    rng = np.random.default_rng(12)
    w = {
        "zipf 1": np.arange(1, 100_001.0) ** -1.0,
        "zipf .6": np.arange(1, 100_001.0) ** -0.6,
        "log-normal": np.exp(1.5 * rng.normal(size=60_000)),
        "uniform": np.ones(100_000),
    }[law]
    population = rng.multinomial(200_000, w / w.sum())
    classes, uniques, right = _sampled(population, rate, 13)
    r = predict.population(classes, int(population.sum()))
    assert r.match is not None
    assert r.match.value == pytest.approx(right, rel=0.12)  # never more than about 8 % off in the published study
    assert r.uniques is not None
    assert r.uniques.low <= r.uniques.value <= r.uniques.high
    found = [m.uniques for m in r.models if m.uniques is not None]
    assert len(found) >= 2  # Pitman at its boundary is Ewens and counts once
    assert min(found) / 8 < uniques < max(found) * 8


def test_failed_models_say_why_and_are_never_zero() -> None:
    r = predict.population([1, 1, 1, 1], 100)
    assert r.model("ewens").uniques is None
    assert "one person" in r.model("ewens").failed
    assert r.model("pitman").uniques is None
    none = predict.population([2, 3, 4], 100)
    assert none.match is None
    assert none.notes
    assert none.model("zayatz").uniques is None
    whole = predict.population([1, 1, 2], 4)
    assert whole.match is not None
    assert whole.match.grade == "A"
    assert whole.uniques is not None
    assert whole.uniques.value == 2


@pytest.mark.parametrize(
    ("people", "records", "says"),
    [(42_598_300, 2, "beyond rank 1,459 with 2 records"), (42_598_300, 1, "at no rank"), (1000, 6, "at every rank")],
)
def test_the_zipf_plot_shows_its_threshold(people: int, records: int, says: str) -> None:
    from shoal import predict
    from shoal.report import plots

    law = predict.Zipf(0.632, 2497)
    rank = predict.threshold_rank(law, people, records) ** (1 / records)
    chart = plots.zipf_ranks(None, law, threshold=rank, records=records)
    assert any(says in mark.words for mark in chart.marks)
