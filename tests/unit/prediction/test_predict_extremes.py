"""Predictions at the ends of the range: one cell that holds nearly everybody, groups of 2^40, counts that cannot be listed."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from shoal import predict
from shoal.errors import PolicyError, ShoalError, UsageError
from shoal.forms.files import parse_target, read_questionnaire
from shoal.prediction import Distribution
from shoal.prediction.group.tilt import binomial
from shoal.prediction.population.class_size_models import SampledClasses
from shoal.prediction.population.without_model import uniques_range


def law_of_singletons(p: list[float], k: int) -> list[Fraction]:
    """P(S = s) in rational numbers, cell by cell."""
    exact = [Fraction(x) for x in p]
    total = sum(exact)
    ways: dict[tuple[int, int], Fraction] = {(0, 0): Fraction(1)}
    for x in exact:
        new: dict[tuple[int, int], Fraction] = {}
        for (people, alone), weight in ways.items():
            for c in range(k - people + 1):
                key = (people + c, alone + (c == 1))
                new[key] = new.get(key, Fraction(0)) + weight * (x / total) ** c / math.factorial(c)
        ways = new
    out = [Fraction(0)] * (min(k, len(p)) + 1)
    for (people, alone), weight in ways.items():
        if people == k:
            out[alone] += weight * math.factorial(k)
    return out


ONE_SIDED = (
    [1 - 1e-300, 1e-300],
    [1.0, 1e-63, 1e-148, 1e-269],
    [1.0, 1e-15],
    [0.6, 0.4 - 1e-12, 1e-12],
    [0.999999999, 1e-9, 1e-14],
    [0.25, 0.25, 0.25, 0.25],
)


@pytest.mark.parametrize("p", ONE_SIDED)
@pytest.mark.parametrize("k", [2, 3, 5])
def test_one_heavy_cell_costs_no_digits(p: list[float], k: int) -> None:
    law = law_of_singletons(p, k)
    mean = sum(i * x for i, x in enumerate(law))
    variance = sum(i * i * x for i, x in enumerate(law)) - mean * mean
    s = predict.singletons(p, k, normalize=True)
    assert s.mean.value == pytest.approx(float(mean), rel=1e-10, abs=0)
    assert s.variance.value == pytest.approx(float(variance), rel=1e-7, abs=1e-14 * float(mean))
    assert s.p_none.value == pytest.approx(float(law[0]), rel=1e-10)
    total = sum(Fraction(x) for x in p)
    for j in range(1, k + 1):
        cells = sum(math.comb(k, j) * (Fraction(x) / total) ** j * (1 - Fraction(x) / total) ** (k - j) for x in p)
        assert s.in_groups_of(j).details["cells"] == pytest.approx(float(cells), rel=1e-10, abs=0)


@pytest.mark.parametrize(
    ("cells", "people", "size", "share"),
    [
        pytest.param(2**40, 2**40, 1, math.exp(-1), id="one person per cell: e^-1 alone"),
        pytest.param(2**40, 2**40, 2, math.exp(-1), id="e^-1 in pairs"),
        pytest.param(2**30, 2**40, 1024, 0.012465931747, id="40-digit arithmetic"),
        pytest.param(1000, 2**50, 2**50 // 1000, 3.76164173371e-7, id="40-digit arithmetic, 2^50 people"),
    ],
)
def test_groups_among_very_many_people(cells: int, people: int, size: int, share: float) -> None:
    assert predict.singletons(cells, people).in_groups_of(size).value == pytest.approx(share, rel=1e-10)


def test_binomial_chances_agree_with_exact_ones() -> None:
    rng = np.random.default_rng(7)
    for _ in range(300):
        k = int(rng.integers(0, 40))
        j = int(rng.integers(0, k + 1))
        p = float(rng.choice([rng.random(), 10 ** -rng.uniform(0, 12), 1 - 10 ** -rng.uniform(0, 12)]))
        exact = math.comb(k, j) * Fraction(p) ** j * (1 - Fraction(p)) ** (k - j)
        found = float(binomial(j, k, np.array([p]), np.log1p(-np.array([p])))[0])
        assert found == pytest.approx(float(exact), rel=1e-11, abs=1e-300)


def test_nobody_unique_among_more_people_than_can_be_listed() -> None:
    two = predict.no_singleton([0.5, 0.5], 2**50)
    assert two.value == 1.0
    many = predict.no_singleton(2**50, 2**49)
    assert many.value == 0.0
    assert many.log_value is not None
    assert -(2.0**49) < many.log_value < -1e13
    with pytest.raises(UsageError, match="too long"):
        predict.no_singleton(2**50, 2**49, method="exact")


def test_more_combinations_than_people_ever_leave_the_bound_at_one() -> None:
    """A bound from sizes may not fall below what some distribution reaches."""
    assert predict.quasi_test({"a": 2**40, "b": 2**40}, 2**33).bound.high == 1.0


def test_largest_mean_and_code_size_at_the_ends() -> None:
    assert predict.largest_mean([1.0, 5e-324]) == (1, 1.0)
    with pytest.raises(UsageError, match="at most"):
        predict.best_code_size(10**9, 10)


def test_counts_that_cannot_be_added_up_are_refused() -> None:
    with pytest.raises(UsageError, match="too large"):
        Distribution.counts([1e308, 1e308])


def test_a_class_of_2_to_40_is_one_class() -> None:
    r = predict.population({1: 5, 2: 3, 2**40: 1}, 2**45)
    assert r.model("zayatz").uniques == pytest.approx(5 * 32 * 5 / (5 + 2 * 3 * (1 - 2**-5)), rel=1e-6)


@pytest.mark.parametrize("classes", [10**5, 10**7])
def test_population_models_scale_with_the_sample(classes: int) -> None:
    """The same shape at two sizes: uniques grow in proportion (Ewens failed here from 200,000 people on)."""
    small = predict.population({1: 600, 2: 200, 3: 100, 10: 100}, 100_000)
    large = predict.population({1: 6 * classes // 10, 2: classes // 5, 3: classes // 10, 10: classes // 10}, 100 * classes)
    for m in small.models[:4]:
        assert m.uniques is not None
        assert large.model(m.name).uniques == pytest.approx(m.uniques * classes / 1000, rel=0.02), m.name


def test_population_uniques_come_with_a_range_that_needs_no_model() -> None:
    r = predict.population({1: 120, 2: 25, 3: 10, 4: 6, 5: 3, 8: 2, 15: 1, 30: 1}, 5000)
    assert r.uniques is not None
    assert r.uniques.details["spread"] == pytest.approx([152.082, 1144.207], rel=1e-5)
    assert (r.uniques.low, r.uniques.grade) == (0.0, "C")
    assert r.uniques.high == pytest.approx(stats.gamma.ppf(0.975, 121) / 0.06)
    none = predict.population([2, 3, 4, 2], 1000)  # nobody unique in a small sample proves little
    assert none.uniques is not None
    assert none.uniques.value == 0
    assert none.uniques.high > 300


def test_zayatz_with_a_large_class_follows_the_hypergeometric_law() -> None:
    classes, population = {1: 120, 2: 25, 3: 10, 20_000: 2}, 200_000
    n = sum(a * b for a, b in classes.items())
    chance = {j: float(stats.hypergeom(population, j, n).pmf(1)) for j in classes}
    expected = 120 * (120 * chance[1] / sum(classes[j] * chance[j] for j in classes)) * population / n
    assert predict.population(classes, population).model("zayatz").uniques == pytest.approx(expected, rel=1e-8)


def test_large_values_keep_their_intervals() -> None:
    """Seconds since 1970: a guard against rounding may not move whole intervals."""
    d = predict.rounded([1.7e9, 1.7e9 + 0.4, 1.7e9 + 1, 1.7e9 + 1.9], 1)
    assert d.occupied == 2
    assert d.p.tolist() == [0.5]


def test_a_discrete_law_of_large_numbers_is_not_listed() -> None:
    law = stats.poisson(1e9)
    d = predict.rounded(law, 1000)
    middle = law.cdf(10**9 + 999) - law.cdf(10**9 - 1)
    assert np.abs(d.expanded() - middle).min() < 1e-9
    assert d.expanded().sum() == pytest.approx(1.0)


def test_discrete_laws_fall_into_their_intervals() -> None:
    binomial_law = stats.binom(10, 0.3)
    assert predict.rounded(binomial_law, 3).expanded() == pytest.approx(
        [binomial_law.pmf(range(a, a + 3)).sum() for a in (0, 3, 6, 9)]
    )
    assert predict.rounded(stats.uniform(2, 1e-12), 1).occupied == 1
    with pytest.raises(UsageError, match="2\\^53"):
        predict.rounded([1e300, -1e300], 1)


@pytest.mark.parametrize(("kappa", "size"), [(1.0, 2), (0.1, 9)])
def test_shares_of_groups_are_never_negative(kappa: float, size: int) -> None:
    people, cells = predict.groups_from_kappa(kappa, 20, 4 if size == 9 else 40, size)
    assert 0 <= people.low <= people.value <= people.high <= 1
    assert 0 <= cells.low <= cells.high <= 1


def test_kappa_range_holds_with_very_many_people_per_cell() -> None:
    """Ten cells, a thousand million people: the range must hold one cell of 1e-9, which expects one person."""
    p = np.append(np.full(9, (1 - 1e-9) / 9), 1e-9)
    d = Distribution.of(p, normalize=True)
    e = predict.singletons_from_kappa(d.kappa, 10, 10**9)
    assert e.low <= predict.singletons(d, 10**9).mean.value <= e.high


def test_bad_names_and_numbers_are_refused() -> None:
    for call in (
        lambda: predict.sd_from_singletons(8, 10, 0.5, method="foo"),  # type: ignore[arg-type]
        lambda: predict.sd_from_singletons(8, 10, -1),
        lambda: predict.share_below(predict.Zipf(0.6, 100), math.nan, 2),
        lambda: predict.Zipf(0.6, 10**10),
    ):
        with pytest.raises(UsageError):
            call()


def _random_population(rng: np.random.Generator, kind: int) -> np.ndarray:
    """Sizes of the classes of a population: Zipf, log-normal, gamma, two kinds of cells, three crossed columns, uniform."""
    people, cells = int(10 ** rng.uniform(3.3, 4.7)), int(10 ** rng.uniform(2, 5))
    three = np.einsum("i,j,k->ijk", *(rng.dirichlet(np.full(n, a)) for n, a in ((60, 3.0), (25, 0.5), (20, 0.4)))).ravel()
    w = (
        np.arange(1.0, cells + 1) ** -rng.uniform(0.3, 2),
        rng.lognormal(0, rng.uniform(0.5, 3), cells),
        rng.gamma(rng.uniform(0.05, 1), 1, cells) + 1e-300,
        np.append(np.full(max(1, cells // 100), 100.0), np.full(cells, rng.uniform(0.001, 1))),
        three,
        np.ones(cells),
    )[kind]
    return rng.multinomial(people, w / w.sum())


def test_ranges_from_a_sample_hold_on_skewed_populations() -> None:
    """360 random populations sampled at 0.1 % to 50 %: ranges at 95 % may miss now and then, and must not be everything."""
    rng = np.random.default_rng(33)
    missed_uniques = missed_match = judged = narrow = 0
    for t in range(360):
        population = _random_population(rng, t % 6)
        people = int(population.sum())
        n = max(20, int(people * 10 ** rng.uniform(-3, math.log10(0.5))))
        sample = rng.multivariate_hypergeometric(population, n, method="marginals")
        n1, n2, n3 = (int((sample == j).sum()) for j in (1, 2, 3))
        low, high = uniques_range(SampledClasses(np.zeros(0), np.zeros(0), n, int((sample > 0).sum()), n1, n2, people))
        missed_uniques += not low <= (population == 1).sum() <= high
        narrow += high < 0.5 * people
        if min(n1, n2) >= 10 and n2**2 >= 15 * n3:
            judged += 1
            match, alone = predict.match_probability(n1, n2, n / people, n3=n3), sample == 1
            assert match.grade == "B"
            missed_match += not match.low <= alone.sum() / population[alone].sum() <= match.high
    assert missed_uniques <= 0.05 * 360
    assert narrow > 100
    assert judged > 100
    assert 0 < missed_match <= 0.1 * judged  # 5 % are expected, and none at all would be too wide


def test_well_known_power_sums_are_never_refused() -> None:
    """Sums of a real distribution, rounded in the sixth digit: the programme's grid cannot meet them, but there is one."""
    rng = np.random.default_rng(17)
    for t in range(60):
        d = Distribution.of(rng.lognormal(0, 2, 200) if t % 2 else np.arange(1.0, 400) ** -0.3, normalize=True)
        error = 10 ** -rng.uniform(3, 6.5)
        sums = [d.power_sum(r) * (1 + 0.99 * error * rng.uniform(-1, 1)) for r in range(2, 7)]
        k = int(rng.integers(3, 60))
        e = predict.uniqueness_from_power_sums(sums, k, error=error)
        assert e.low <= predict.uniqueness(d, k).value <= e.high


def test_a_copula_that_is_nearly_one_to_one_keeps_its_digits() -> None:
    """ρ = 1 − 1e-9: beside the diagonal lies what the two normals' distance, σ = √(2·1e-9), can carry over a cut."""
    joint = predict.gaussian_copula([[0.5, 0.5], [0.5, 0.5]], 1 - 1e-9)
    assert joint[0, 1] == pytest.approx(math.acos(1 - 1e-9) / (2 * math.pi), rel=1e-4)  # Sheppard's formula


TOO_MANY = ("zipf: {places: 1e12, exponent: 1}", "kappa: {kappa: 0.1, cells: 1e12}", "zipf: {places: 2.5, exponent: 1}")


@pytest.mark.parametrize("answers", TOO_MANY)
def test_questions_with_more_answers_than_can_be_listed_are_refused(answers: str, tmp_path: Path) -> None:
    file = tmp_path / "q.yml"
    file.write_text(f"population: 100\nquestions: {{a: {{{answers}}}}}\n", encoding="utf-8")
    with pytest.raises(ShoalError, match=r"answers of 'a'|has 1000000000000 answers"):
        read_questionnaire(file)


def test_a_target_above_one_is_a_slip() -> None:
    with pytest.raises(PolicyError, match="more than everybody"):
        parse_target("5")
    assert parse_target("5%") == 0.05


def test_a_questionnaire_is_written_out_and_links_name_questions(tmp_path: Path) -> None:
    file = tmp_path / "q.yml"
    file.write_text("population: 100\ntitle: &a [x]\nquestions: {a: {values: 3}, b: *a}\n", encoding="utf-8")
    with pytest.raises(PolicyError, match="anchor or alias"):
        read_questionnaire(file)
    q = predict.Questionnaire(population=100).add("a", values=3).add("b", values=3)
    with pytest.raises(UsageError, match="two different questions"):
        q.link(["a", "b"], correlation=0.5)  # type: ignore[arg-type]
