"""Exact predictions against seeded simulation on many distributions: too low and too high are both rejected."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shoal import predict
from shoal.prediction import Distribution

RUNS = 4000


def _made() -> dict[str, tuple[np.ndarray[Any, Any], int]]:
    out: dict[str, tuple[np.ndarray[Any, Any], int]] = {}

    def put(name: str, w: Any, *sizes: int) -> None:
        p = np.asarray(w, dtype=float)
        for k in sizes:
            out[f"{name}, {k} people"] = (p / p.sum(), k)

    i95 = np.arange(95)
    put("uniform 95", np.ones(95), 10, 29, 95, 300)
    put("uniform 365", np.ones(365), 23, 100, 365)
    put("uniform 3", np.ones(3), 2, 7)
    for g in (0.5, 1, 2):
        put(f"linear {g}", 1 + g * ((i95 + 0.5) / 95 - 0.5), 15, 95)
    put("age pyramid", np.where(i95 < 65, 1.0, (95 - i95) / 30), 20, 95, 300, 500)
    put("ages 0-79", np.where(np.arange(80) < 65, 1.0, (95 - np.arange(80)) / 30), 20, 300)
    for r in (0.97, 0.93, 0.7):
        put(f"geometric {r}", r**i95, 12, 95)
    for c in (0.5, 1.0, 2.0):
        put(f"Zipf {c}", np.arange(1, 301.0) ** -c, 15, 150, 1000)
    put("two groups", np.repeat([0.5, 1.5], 48), 12, 96)
    put("ten rare, ten common", np.repeat([0.025, 0.075], 10), 20, 40, 60)
    put("one spike", np.append(np.ones(94), 20.0), 20, 95)
    put("one heavy cell", np.append(np.ones(50), 200.0), 30, 400)
    put("point mass and dust", np.append(np.full(20, 1e-4), 1.0), 50, 2000)
    put("five small cells", [0.4, 0.3, 0.15, 0.1, 0.05], 2, 3, 5, 12)
    put("with empty cells", np.append(np.ones(30), np.zeros(20)), 10, 60)
    put("log-normal", np.exp(np.random.default_rng(5).normal(size=400)), 30, 400)
    return out


MADE = _made()


def simulate(p: Any, k: int, seed: int) -> dict[str, tuple[float, float]]:
    """Mean and standard error of what is predicted."""
    rng = np.random.default_rng([seed, k, p.size])
    cells = rng.multinomial(k, p, size=RUNS)
    single = (cells == 1).sum(axis=1).astype(float)
    pairs = 2.0 * (cells == 2).sum(axis=1) / k
    deviation = (single - single.mean()) ** 2
    columns = {
        "mean": single,
        "variance": deviation * RUNS / (RUNS - 1),
        "nobody unique": (single == 0).astype(float),
        "all unique": (single == k).astype(float),
        "people in pairs": pairs,
    }
    return {name: (float(x.mean()), float(x.std(ddof=1)) / math.sqrt(RUNS)) for name, x in columns.items()}


def predicted(p: Any, k: int) -> dict[str, float]:
    s = predict.singletons(p, k)
    return {
        "mean": s.mean.value,
        "variance": s.variance.value,
        "nobody unique": s.p_none.value,
        "all unique": predict.uniqueness(p, k).value,
        "people in pairs": s.in_groups_of(2).value,
    }


def distance(got: float, seen: tuple[float, float], *, chance: bool) -> float:
    """How many standard errors apart; for a probability the error comes from the prediction, which may be tiny."""
    mean, error = seen
    if chance:
        error = math.sqrt(max(got * (1 - got), 1e-12) / RUNS)
    if abs(got - mean) < 1e-9:
        return 0.0
    return abs(got - mean) / max(error, 1e-12)


def check(p: Any, k: int, seed: int) -> dict[str, float]:
    seen, got = simulate(p, k, seed), predicted(p, k)
    out = {}
    for name in got:
        chance = name.endswith("unique")
        if chance and got[name] * RUNS < 10:  # too rare to be seen: at most a handful of hits
            assert seen[name][0] * RUNS < 35, name
            continue
        out[name] = distance(got[name], seen[name], chance=chance)
    return out


@pytest.mark.parametrize("name", list(MADE))
def test_exact_answers_lie_within_three_standard_errors(name: str) -> None:
    p, k = MADE[name]
    far = {what: z for what, z in check(p, k, 2026).items() if z > 3}
    assert not far


def test_there_are_at_least_fifty_distributions() -> None:
    assert len(MADE) >= 50


def test_the_comparison_rejects_answers_that_are_too_low_and_too_high() -> None:
    """The same comparison applied to wrong answers: the literature's approximations and shifted values."""
    p, k = MADE["uniform 95, 29 people"]
    seen = simulate(p, k, 2026)
    poisson = predict.uniqueness(p, k, method="poisson").value  # three times too high
    assert distance(poisson, seen["all unique"], chance=True) > 3
    p, k = MADE["linear 2, 95 people"]
    seen, got = simulate(p, k, 2026), predicted(p, k)
    for factor in (0.97, 1.03):
        assert distance(factor * got["mean"], seen["mean"], chance=False) > 3
    for factor in (0.8, 1.2):
        assert distance(factor * got["variance"], seen["variance"], chance=False) > 3
    printed = k * math.exp(-1) * (1 - math.exp(-1))  # the source's homogeneous limit has another shape
    assert distance(printed, seen["variance"], chance=False) > 3


def _uk(folder: Path) -> list[tuple[str, Any]]:
    with (folder / "pop_uk_la" / "uk_mid2019_area_sex_age.csv").open(encoding="utf-8") as source:
        rows = list(csv.reader(source))
    ages = [i for i, head in enumerate(rows[0]) if head.isdigit()]
    skip = ("K02", "K03", "K04", "E92", "W92", "S92", "N92", "E12", "E13", "E10", "E11")
    local = [r for r in rows[1:] if not r[0].startswith(skip)]
    assert len(local) == 758  # 379 local authorities, two sexes
    totals = {}
    for r in local:
        totals.setdefault(r[0], np.zeros(len(ages)))
        totals[r[0]] += np.array([float(r[i]) for i in ages])
    return sorted(totals.items())


@pytest.mark.data
def test_ages_in_british_local_authorities(shared_data: Path) -> None:
    areas = _uk(shared_data)
    worst = 0.0
    for i, (code, counts) in enumerate(areas[::48]):
        p = counts / counts.sum()
        z = check(p, (20, 60, 150, 400)[i % 4], 7)
        worst = max(worst, *z.values())
        assert max(z.values()) < 3.5, (code, z)
    assert worst > 0.5  # the comparison is alive


@pytest.mark.data
def test_kappa_of_british_ages_stays_in_the_published_range(shared_data: Path) -> None:
    kappas = [Distribution.counts(counts).kappa for _, counts in _uk(shared_data)]
    assert 0.02 < min(kappas) < max(kappas) < 0.35


@pytest.mark.data
def test_ages_in_dutch_municipalities(shared_data: Path) -> None:
    with (shared_data / "pop_nl_postcode" / "nl_2021_gemeente_age5_sex.csv").open(encoding="utf-8") as source:
        rows = list(csv.DictReader(source))
    towns: dict[str, list[float]] = {}
    for row in rows:
        towns.setdefault(row["gemeente"], []).extend((float(row["inwoners_man"]), float(row["inwoners_vrouw"])))
    chosen = sorted(towns)[::45]
    assert len(chosen) >= 7
    for i, name in enumerate(chosen):
        p = np.array(towns[name]) / sum(towns[name])
        z = check(p, (10, 25, 60, 120)[i % 4], 8)
        assert max(z.values()) < 3.5, i


@pytest.mark.parametrize("name", list(MADE))
def test_kappa_only_answers_keep_their_interval_or_say_that_they_are_outside(name: str) -> None:
    """Attack A14: a prediction from kappa holds the exact value in its interval; outside validity it is graded C."""
    p, k = MADE[name]
    d = Distribution.of(p)
    for p_max in (d.p_max, None):
        got = predict.uniqueness_from_kappa(d.kappa, d.cells, k, p_max=p_max)
        exact = predict.uniqueness(d, k).value
        assert got.low - 1e-12 <= exact <= got.high + 1e-12
        mean = predict.singletons_from_kappa(d.kappa, d.cells, k, p_max=p_max)
        assert mean.low - 1e-9 <= predict.singletons(d, k).mean.value <= mean.high + 1e-9
        spread = predict.variance_from_kappa(d.kappa, d.cells, k, p_max=p_max)
        assert spread.low - 1e-9 <= predict.singletons(d, k).variance.value <= spread.high + 1e-9
        outside = d.kappa > 0.2 or d.cells * d.p_max > 3 or k > d.cells / 3
        if outside and not got.method.startswith("more"):
            assert got.grade == "C"
            assert got.notes


def test_gaussian_copula_of_three_attributes_against_simulation() -> None:
    margins = [[0.5, 0.3, 0.2], [0.6, 0.4], [0.25, 0.25, 0.25, 0.25]]
    corr = np.array([[1, 0.5, 0.2], [0.5, 1, 0.4], [0.2, 0.4, 1]])
    joint = predict.gaussian_copula(margins, corr)
    rng = np.random.default_rng(11)
    n = 400_000
    from scipy.stats import norm

    x = rng.multivariate_normal(np.zeros(3), corr, size=n)
    index = [np.searchsorted(norm.ppf(np.cumsum(m)[:-1]), x[:, i]) for i, m in enumerate(margins)]
    seen = np.zeros((3, 2, 4))
    np.add.at(seen, tuple(index), 1 / n)
    z = np.abs(seen - joint) / np.sqrt(joint * (1 - joint) / n)
    assert z.max() < 4
    assert np.abs(joint.sum(axis=(1, 2)) - margins[0]).max() < 1e-12


def test_three_rounded_normals_against_simulation() -> None:
    corr = np.array([[1, 0.5, 0.2], [0.5, 1, 0.4], [0.2, 0.4, 1]])
    k, runs = 30, 6000
    x = np.floor(np.random.default_rng(9).multivariate_normal(np.zeros(3), corr, size=(runs, k))).astype(int)
    code = (x[..., 0] + 20) * 10_000 + (x[..., 1] + 20) * 100 + x[..., 2] + 20
    seen = np.array([np.count_nonzero(np.unique(row, return_counts=True)[1] == 1) for row in code])
    mean = predict.singletons(predict.multivariate_normal(corr, [1, 1, 1]), k).mean.value
    assert abs(seen.mean() - mean) < 3 * seen.std() / math.sqrt(runs)


def test_smallest_group_against_simulation() -> None:
    q = predict.Questionnaire(population=10_000, respondents=300)
    q.add("a", shares=[0.5, 0.3, 0.2]).add("b", shares=[0.4, 0.3, 0.2, 0.1])
    p = np.multiply.outer([0.5, 0.3, 0.2], [0.4, 0.3, 0.2, 0.1]).ravel()
    cells = np.random.default_rng(3).multinomial(300, p, size=20_000)
    smallest = np.where(cells == 0, 10**6, cells).min(axis=1)
    got = q.meter().smallest_group
    assert got.value == pytest.approx(smallest.mean(), rel=0.05)
    low, high = np.quantile(smallest, [0.05, 0.95])
    assert got.grade == "C"  # the answers are taken as independent: the range allows for any dependence
    assert got.low <= low <= high <= got.high
