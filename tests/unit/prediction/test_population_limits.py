"""What is stated of a population holds: ranges without a model, and where a fitted model may state its own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace as Namespace

import numpy as np
import pytest
from scipy.stats import nbinom, poisson

import shoal
from shoal.errors import UsageError
from shoal.model.estimate import Estimate
from shoal.prediction import population_risk
from shoal.prediction.population import calibration, crowd, model_choice, risk
from shoal.prediction.population.class_size_models import SampledClasses
from shoal.prediction.population.design import Design
from shoal.prediction.population.model_choice import choose
from shoal.prediction.population.sample import Sample
from shoal.prediction.population.without_model import model_free_ranges, unique_share_range

POPULATIONS = {
    "all in pairs": np.full(2_000, 2),
    "all in threes": np.full(1_500, 3),
    "everybody alone": np.full(3_000, 1),
    "half alone, half in one crowd": np.array([1] * 2_000 + [2_000]),
    "alone and in fifties": np.array([1] * 500 + [50] * 60),
    "a heavy tail": np.maximum((3_000 / np.arange(1, 1_200) ** 1.1).astype(int), 1),
    "crowds only": np.full(40, 120),
}


def sampled(sizes: np.ndarray, rate: float, seed: int) -> tuple[SampledClasses, np.ndarray, np.ndarray]:
    """A sample's classes as counted, with the people of each in sample and population."""
    n = round(rate * int(sizes.sum()))
    f = np.random.default_rng(seed).multivariate_hypergeometric(sizes, n)
    seen = f > 0
    found, numbers = np.unique(f[seen], return_counts=True)
    ones, twos = (int((f == j).sum()) for j in (1, 2))
    return SampledClasses(found, numbers, n, int(seen.sum()), ones, twos, int(sizes.sum())), f[seen], sizes[seen]


@pytest.mark.parametrize("name", POPULATIONS)
def test_ranges_without_a_model_hold_whatever_the_population(name: str) -> None:
    """How often, in hundreds of samples: ``benchmarks/coverage_board``."""
    missed = []
    for rate, seed in ((0.02, 0), (0.02, 1), (0.2, 0), (0.2, 1), (0.7, 0), (0.7, 1)):
        s, f, whole = sampled(POPULATIONS[name], rate, seed)
        found = model_free_ranges(s)
        truths = (((f == 1) & (whole == 1)).sum(), (f / whole).sum(), (POPULATIONS[name] == 1).sum())
        missed += [not low - 1e-6 <= true <= high + 1e-6 for (low, high), true in zip(found, truths, strict=True)]
    assert sum(missed) <= 1


def test_ranges_without_a_model_are_not_empty_words() -> None:
    """Where the sample tells much, they are narrow."""
    s, f, whole = sampled(POPULATIONS["crowds only"], 0.7, 1)
    low, high = model_free_ranges(s).matches
    assert low > 0.6 * (f / whole).sum()
    assert high < 1.5 * (f / whole).sum()
    s, _, _ = sampled(POPULATIONS["everybody alone"], 0.7, 1)
    assert model_free_ranges(s).alone[0] > 0.98 * s.n1


@pytest.mark.parametrize(("m", "n"), [(400, 100), (400, 400), (400, 1_200)])
def test_the_share_of_others_lies_in_the_range_without_a_model(m: int, n: int) -> None:
    """Slow definition: E(1-p)^(n-1) over people of made-up populations."""
    missed = 0
    for seed in range(6):
        rng = np.random.default_rng([seed, m, n])
        p = rng.dirichlet(np.full(600, 0.3))
        f = rng.multinomial(m, p)
        sizes, numbers = np.unique(f[f > 0], return_counts=True)
        s = SampledClasses(sizes, numbers, m, int((f > 0).sum()), int((f == 1).sum()), int((f == 2).sum()), 10**6)
        low, high = unique_share_range(s, n)
        missed += not low <= float((p * (1 - p) ** (n - 1)).sum()) <= high
        assert high - low < 0.3
    assert missed <= 1


def test_no_one_of_a_kind_is_said_with_a_range_above_nobody() -> None:
    low, high = unique_share_range(SampledClasses(np.array([25]), np.array([2]), 50, 2, 0, 0, 10**6), 500)
    assert low == pytest.approx(0.0, abs=1e-9)
    assert 0.02 < high < 0.1


def places(n: int, seed: int) -> np.ndarray:
    """People of very many places: most places have few of any sample."""
    rng = np.random.default_rng(seed)
    size = rng.lognormal(0, 1.2, 900)
    age = rng.integers(0, 18, n)
    return np.stack([rng.choice(900, n, p=size / size.sum()), age, rng.integers(0, 2, n)], axis=1)


def classes_of(rows: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
    found, sizes = np.unique(rows, axis=0, return_counts=True)
    return list(found.T), sizes


def test_the_intervals_hold_where_most_values_have_few_people() -> None:
    """Dutch postcodes at 2 % in small: the model halves the uniques, and what is stated must hold all the same."""
    everybody = places(40_000, 1)
    _, of, sizes = np.unique(everybody, axis=0, return_inverse=True, return_counts=True)
    of = of.ravel()
    for seed in (1, 2):
        chosen = np.random.default_rng(seed).choice(40_000, 800, replace=False)
        codes, f = classes_of(everybody[chosen])
        r = population_risk(codes, f, 40_000)
        classes, counts = np.unique(of[chosen], return_counts=True)
        true = sizes[classes]
        told = (
            (r.sample_uniques_alone, ((counts == 1) & (true == 1)).sum()),
            (r.right_matches, (counts / true).sum()),
            (r.population_uniques, (sizes == 1).sum()),
        )
        for e, truth in told:
            assert e.low <= truth <= e.high
            assert e.grade == "C"
            assert any(risk.OUTSIDE in note for note in e.notes)


@pytest.mark.parametrize(
    ("people", "values", "grade"),
    [
        pytest.param(500, 100, "B", id="enough people, five per value"),
        pytest.param(499, 40, "C", id="one person too few"),
        pytest.param(500, 101, "C", id="fewer than five per value"),
    ],
)
def test_a_model_states_its_own_interval_exactly_inside_its_limits(people: int, values: int, grade: str) -> None:
    one = np.arange(people) % values
    s = Sample.of(*_two(one, one % 5), 10 * people)
    found = choose(s, "tree")
    assert model_choice.grade_of(s, found) == grade


def _two(a: np.ndarray, b: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
    return classes_of(np.stack([a, b], axis=1))


def test_independence_is_a_model_of_one_column_only() -> None:
    values = np.arange(600) % 20
    alone = population_risk([np.arange(20)], np.bincount(values), 6_000, model="independent")
    assert alone.right_matches.grade == "B"
    codes, sizes = _two(values, values % 3)
    assert population_risk(codes, sizes, 6_000, model="independent").right_matches.grade == "C"


def test_values_that_one_person_has_leave_the_model_outside_its_limits() -> None:
    """At most a tenth of those who are alone may have a value of their own, exactly."""
    for own, grade in ((3, "B"), (4, "C")):
        one = np.concatenate((np.tile(np.arange(30), 20), 30 + np.arange(own), np.arange(30 - own)))
        two = np.concatenate((np.repeat(np.arange(2), 300), np.zeros(own, int), np.full(30 - own, 2)))
        s = Sample.of(*_two(one, two), 63_000)
        alone, shared = int((s.sizes == 1).sum()), model_choice.rare(s)
        assert (alone, int(shared.sum()), int(s.sizes[shared].sum())) == (30, own, own)
        assert model_choice.rare_share(s) == own / 30
        assert model_choice.grade_of(s, replace(choose(s, "tree"), shape=model_choice.FIRM)) == grade


@pytest.mark.parametrize(
    ("shape", "gain", "grade"),
    [
        (model_choice.FIRM, 0.0, "B"),
        (model_choice.FIRM - 0.01, 0.0, "C"),
        (model_choice.OPEN, model_choice.GAIN, "B"),
        (model_choice.OPEN, model_choice.GAIN - 0.001, "C"),
        (model_choice.OPEN - 0.01, 5.0, "C"),
    ],
)
def test_a_model_must_leave_little_open_or_do_better_than_independence(shape: float, gain: float, grade: str) -> None:
    one = np.arange(500) % 50
    s = Sample.of(*_two(one, one % 5), 5_000)
    fit = replace(choose(s, "tree"), shape=shape, scores={"independent": -gain, "tree": 0.0})
    assert model_choice.grade_of(s, fit) == grade
    assert model_choice.grade_of(s, replace(fit, scores={"tree": 0.0})) == ("B" if shape >= model_choice.FIRM else "C")


def test_the_intervals_hold_for_amounts_with_a_long_tail() -> None:
    """Rounded incomes: most of those who are alone have an amount of their own, which a model takes for too common."""
    rng = np.random.default_rng(3)
    everybody = np.stack([np.round(np.exp(rng.normal(3, 1, 40_000))).astype(int), rng.integers(0, 2, 40_000)], axis=1)
    _, of, sizes = np.unique(everybody, axis=0, return_inverse=True, return_counts=True)
    of = of.ravel()
    chosen = rng.choice(40_000, 2_000, replace=False)
    codes, f = classes_of(everybody[chosen])
    r = population_risk(codes, f, 40_000, model="tree")
    classes, counts = np.unique(of[chosen], return_counts=True)
    true = sizes[classes]
    for e, truth in (
        (r.sample_uniques_alone, ((counts == 1) & (true == 1)).sum()),
        (r.right_matches, (counts / true).sum()),
        (r.population_uniques, (sizes == 1).sum()),
    ):
        assert e.low <= truth <= e.high
        assert e.grade == "C"
    assert (r.crowd_low <= true)[true == 1].all()


def test_a_model_outside_the_range_without_one_does_not_state_its_own() -> None:
    one = np.arange(500) % 50
    s = Sample.of(*_two(one, one % 5), 5_000)  # fifty classes of ten, nobody alone
    near = [Estimate(x, x, x, grade="B") for x in (0.0, 5.0, 0.0)]
    told, refuted = risk._without_contradiction(s, True, "", *near)
    assert [(e.value, e.grade) for e in told] == [(0.0, "B"), (5.0, "B"), (0.0, "B")]
    assert not refuted
    assert {e.grade for e in risk._without_contradiction(s, False, "", *near)[0]} == {"C"}
    far = [*near[:2], Estimate(900.0, 800.0, 1_000.0)]
    told, refuted = risk._without_contradiction(s, True, "", *far)
    assert [e.grade for e in told] == ["C", "C", "C"]
    assert told[2].value == told[2].high < 100
    assert "outside the range" in refuted
    assert refuted in told[0].notes[0]


@pytest.mark.parametrize("mean", [0.2, 2.0, 9.0])
def test_plausible_counts_are_the_quantiles_of_a_count(mean: float) -> None:
    low, high = risk._plausible_counts(mean, mean, 1.0)
    assert (low, high) == (poisson.ppf(0.025, mean), poisson.ppf(0.975, mean))
    narrow = risk._plausible_counts(mean, mean, 0.2)
    assert low <= narrow[0] <= narrow[1] <= high
    assert risk._plausible_counts(3.0, 3.0, 0.0) == (3.0, 3.0)
    assert risk._plausible_counts(0.0, 0.0, 0.5) == (0.0, 0.0)


def test_kappa_alone_is_drawn_beside_equally_likely_cells(tmp_path: Path) -> None:
    for question in ("singletons", "uniqueness"):
        found = shoal.predict(question, group_size=20, kappa=0.3, cells=100)
        file = found.plot(tmp_path / f"{question}.svg")
        drawn = Path(file).read_text(encoding="utf-8")
        assert "this κ" in drawn
        assert "100 equally likely cells" in drawn
        even = shoal.predict(question, group_size=20, kappa=0.0, cells=100).plot(tmp_path / "even.svg")
        assert "equally likely" not in Path(even).read_text(encoding="utf-8")


# --- intervals that are widened to what subsamples need -----------------------------------------------------------------------


def between(value: float, low: float, high: float, grade: str = "B") -> Estimate:
    return Estimate(value, low, high, level=0.95, method="by hand", grade=grade)  # type: ignore[arg-type]


def test_how_far_a_truth_is_from_an_interval() -> None:
    e = between(10, 8, 14)
    assert [calibration._gap(e, truth) for truth in (10, 12, 14, 9, 8, 4)] == [0, 0.5, 1, 0.5, 1, 3]
    point = between(10, 10, 10)
    assert [calibration._gap(point, truth) for truth in (10, 11, 9)] == [0, 1e9, 1e9]


def test_an_interval_is_widened_within_what_is_possible() -> None:
    def told(e: Estimate, factor: float, *, most: float = 100, held: bool = True) -> tuple[object, ...]:
        wide = calibration._widened(e, factor, most, held=held)
        return wide.low, wide.high, wide.grade, len(wide.notes)

    assert told(between(10, 8, 14), 2) == (6, 18, "B", 1)
    assert told(between(10, 8, 14), 1) == (8, 14, "B", 0)
    assert told(between(10, 8, 14), 9, most=20) == (0, 20, "B", 1)
    assert told(between(10, 8, 14), 2, most=9) == (6, 10, "B", 1), "never below the value"
    assert told(between(10, 8, 14), 2, held=False) == (6, 18, "C", 1)
    assert told(between(10, 8, 14, "C"), 2) == (8, 14, "C", 0), "a range without a model stays"


def calibrated(monkeypatch: pytest.MonkeyPatch, people: int = 500, *, refits: object = None, **more: object) -> Namespace:
    """A risk of people who are half alone and half in pairs; subsamples are fitted by hand."""
    sizes = np.array([1] * (people // 2) + [2] * (people // 4))
    first = Namespace(
        sizes=sizes, people=people, population=5000, model="fitted", sample_uniques_alone=between(100, 90, 110),
        right_matches=between(100, 90, 110), population_uniques=between(100, 90, 110),
    )  # fmt: skip
    vars(first).update(more)
    monkeypatch.setattr(calibration, "replace", lambda old, **new: Namespace(**vars(old) | new))
    if refits is not None:
        monkeypatch.setattr(calibration, "population_risk", refits)
    return calibration.calibrate([np.arange(sizes.size)], first, rates=(0.1,), draws=2, seed=3)  # type: ignore[arg-type, return-value]


def test_subsamples_are_held_against_what_the_sample_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Right matches lie 4 and then 2 half-widths away; all pairs of people count, and who is alone in both."""
    truths: list[tuple[float, ...]] = []

    def refit(codes: list[np.ndarray], f: np.ndarray, people: int, **_: object) -> Namespace:
        of = np.where(codes[0] < 250, 1, 2)
        assert (int(f.sum()), people, int(f.min())) == (50, 500, 1)
        alone, right = float((of[f == 1] == 1).sum()), float((f / of).sum())
        truths.append((alone, right, 250.0))
        far = 4 if len(truths) == 1 else 2
        return Namespace(
            sample_uniques_alone=between(alone, alone - 1, alone + 1), right_matches=between(right - far, 0, right - far + 1),
            population_uniques=between(249, 248, 250),
        )  # fmt: skip

    for enough, grade in ((4 / 6, "B"), (4 / 6 + 1e-9, "C")):
        truths.clear()
        monkeypatch.setattr(calibration, "ENOUGH", enough)
        found = calibrated(monkeypatch, refits=refit)
        assert found.calibration.held == {0.1: (4, 6)}
        assert found.calibration.factors == pytest.approx(dict(zip(calibration.NAMES, (1.0, 4.0, 1.0), strict=True)))
        assert (found.right_matches.low, found.right_matches.high) == (pytest.approx(60), pytest.approx(140))
        assert (found.population_uniques.low, found.population_uniques.high) == (90, 110)
        assert {found.right_matches.grade, found.sample_uniques_alone.grade, found.population_uniques.grade} == {grade}
        assert len(truths) == 2


def test_a_small_sample_and_a_counted_population_are_not_calibrated(monkeypatch: pytest.MonkeyPatch) -> None:
    refused = lambda *_, **__: pytest.fail("nothing is fitted")  # noqa: E731
    assert not hasattr(calibrated(monkeypatch, 492, refits=refused), "calibration"), "49 of 492 people are too few"
    assert not hasattr(calibrated(monkeypatch, refits=refused, model="counted"), "calibration")
    fine = lambda *_, **__: Namespace(**dict.fromkeys(calibration.NAMES, between(10, 0, 5000)))  # noqa: E731
    assert hasattr(calibrated(monkeypatch, 500, refits=fine), "calibration"), "50 are enough"


# --- how many share a combination ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("a", [0.3, 4.0])
@pytest.mark.parametrize("f", [1, 2, 5])
def test_a_crowd_is_what_negative_binomial_counts_of_others_make_it(a: float, f: int) -> None:
    """Others of the population: index a + f, mean (a + f) c / (a + λ) with c = λ (1 − π) / π, added up one by one."""
    mean, rate = 1.5, 0.2
    b, c = a + mean, mean * (1 - rate) / rate
    others = nbinom(a + f, b / (b + c))
    j = np.arange(20_000)
    given = a, np.array([mean]), np.array([f]), rate
    assert crowd.unique_chance(*given)[0] == pytest.approx(others.pmf(0))
    assert crowd.match_chance(*given)[0] == pytest.approx((others.pmf(j) / (f + j)).sum(), rel=1e-6)
    assert crowd.expected_crowd(*given)[0] == pytest.approx(f + others.mean())
    low, high = (float(x[0]) for x in crowd.crowd_range(*given, 0.9))
    assert (low, high) == (f + others.ppf(0.05), f + others.ppf(0.95))


def test_of_a_whole_population_the_crowd_is_counted() -> None:
    mean, f = np.array([1.5, 1.5]), np.array([1, 4])
    assert crowd.unique_chance(2.0, mean, f, 1.0).tolist() == [1.0, 1.0]
    assert crowd.match_chance(2.0, mean, f, 1.0).tolist() == [1.0, 0.25]
    assert [x.tolist() for x in crowd.crowd_range(2.0, mean, f, 1.0, 0.9)] == [[1.0, 4.0], [1.0, 4.0]]
    assert crowd.expected_crowd(2.0, mean, f, 1.0).tolist() == [1.0, 4.0]


# --- a sample as counted ------------------------------------------------------------------------------------------------------


def test_a_sample_is_kept_in_the_order_of_its_codes() -> None:
    made = Sample.of([[5, 5, 2], [-1, 7, 7]], [1, 2, 3], 6)
    assert (made.codes.tolist(), made.sizes.tolist(), made.order.tolist()) == ([[0, 1], [1, 0], [1, 1]], [3, 1, 2], [2, 0, 1])
    assert (made.levels, made.people, made.rate, made.cells) == ((2, 2), 6, 1.0, 4.0)
    assert made.pair(0, 1).tolist() == [[0, 3], [1, 2]]
    wide = Sample.of([[0, 1, 2, 2], [0, 1, 0, 1]], [1, 2, 3, 4], 10)
    assert wide.pair(0, 1).tolist() == [[1, 0], [0, 2], [3, 4]]
    assert made.without(np.array([1, 1, 0])).sizes.tolist() == [2, 0, 2]
    assert made.rates.tolist() == [1.0] * 3


def test_a_sample_that_cannot_be_one() -> None:
    for sizes, population, why in (([], 5, "empty"), ([1, 0], 5, "empty"), ([3, 3], 5, "larger than the population")):
        with pytest.raises(UsageError, match=why):
            Sample.of([list(range(len(sizes)))], sizes, population)
    with pytest.raises(UsageError, match="at least one column"):
        Sample.of([], [1], 5)
    assert Sample.of([[0]], [5], 5).rate == 1.0


def test_shares_of_values_are_drawn_a_little_towards_equal_ones() -> None:
    one, two = Sample.of([[0, 0], [0, 1]], [90, 10], 1000).margins
    assert one.tolist() == [1.0]
    assert 0.5 < two[0] < 0.9
    assert two.sum() == pytest.approx(1.0)


def test_people_of_one_value_are_sampled_as_often_as_their_weights_say() -> None:
    """Ten of value 0 stand for two each, ten of value 1 for eight each."""
    design = Design.of([0] * 10 + [1] * 10, 100, weight=[2.0] * 10 + [8.0] * 10)
    made = Sample.of([[0, 1]], [10, 10], 100, design)
    assert made.rates == pytest.approx([1 / 2, 1 / 8], rel=0.01)
    assert made.without(np.array([1, 0])).design is None
    turned = Sample.of([[1, 0]], [10, 10], 100, design)
    assert turned.rates == pytest.approx([1 / 8, 1 / 2], rel=0.01), "in the order of the codes"
