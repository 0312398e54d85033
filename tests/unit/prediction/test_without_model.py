"""The parts of the model-free ranges and of the fit check, each against a slow definition of its own."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom, chi2, poisson, t

from shoal.prediction.population import fit_check
from shoal.prediction.population import without_model as wm
from shoal.prediction.population.class_size_models import SampledClasses
from shoal.prediction.population.design import Design
from shoal.prediction.population.fit_check import seen_moments
from shoal.prediction.population.models import Shares
from shoal.prediction.population.sample import Sample


def counted(numbers: dict[int, int], population: int) -> SampledClasses:
    people = sum(size * n for size, n in numbers.items())
    sizes, many = np.array(list(numbers)), np.array(list(numbers.values()))
    return SampledClasses(sizes, many, people, sum(numbers.values()), numbers.get(1, 0), numbers.get(2, 0), population)


@pytest.mark.parametrize(
    ("pairs", "threes", "c"),
    [(1, 0, 3.0), (2, 1, 8.0), (9, 6, 40.0), (10, 6, 40.0), (30, 60, 40.0), (30, 61, 40.0), (400, 90, 6.0)],
)
def test_lookalikes_are_the_wider_of_two_ways(pairs: int, threes: int, c: float) -> None:
    tail = 0.025
    student = t.ppf(1 - tail, max(pairs - 1, 1)) * math.sqrt(1 / pairs + 1 / (c * pairs) + 1.5 * threes / pairs**2)
    low, high = wm.poisson_limits(pairs, tail / 2)
    each = 1 + 1.5 * c * threes / pairs if pairs < 10 or threes == 61 else 1  # lookalikes come in groups
    least = min(each * poisson.ppf(tail / 2, c * low / each), c * pairs * math.exp(-student))
    most = max(each * poisson.ppf(1 - tail / 2, c * high / each), c * pairs * math.exp(student))
    assert wm.lookalikes(pairs, threes, c, tail) == pytest.approx((least, most))


@pytest.mark.parametrize(
    ("pairs", "threes", "few"), [(9, 0, True), (10, 0, False), (10, 7, True), (30, 60, False), (30, 61, True)]
)
def test_pairs_are_few_if_they_vary_like_fewer_than_ten_groups(pairs: int, threes: int, few: bool) -> None:
    assert wm.few_pairs(pairs, threes) is few


def test_without_pairs_there_may_be_no_lookalike_and_the_most_is_bounded() -> None:
    least, most = wm.lookalikes(0, 0, 4.0, 0.025)
    assert least == 0.0
    assert most == poisson.ppf(1 - 0.0125, -4.0 * math.log(0.0125))
    assert wm.lookalikes(0, 2, 4.0, 0.025)[1] == 13 * poisson.ppf(1 - 0.0125, -4.0 * math.log(0.0125) / 13)


@pytest.mark.parametrize("tail", [0.025, 0.0125])
@pytest.mark.parametrize("count", [0, 1, 7, 300])
def test_poisson_limits_leave_the_tail_on_each_side(count: int, tail: float) -> None:
    low, high = wm.poisson_limits(count, tail)
    assert poisson.cdf(count, high) == pytest.approx(tail)
    assert poisson.sf(count - 1, low) == pytest.approx(tail if count else 1.0)


def test_uniques_range_combines_two_limits_each_with_half_of_its_tail() -> None:
    s = counted({1: 120, 2: 25}, 340)
    ones, twos = wm.poisson_limits(120, 0.0125), wm.poisson_limits(25, 0.0125)
    assert wm.uniques_range(s) == pytest.approx(((ones[0] - 2 * twos[1]) / 0.5, wm.poisson_limits(120, 0.025)[1] / 0.5))
    assert wm.uniques_range(s, level=0.8)[1] == pytest.approx(wm.poisson_limits(120, 0.1)[1] / 0.5)


def test_nobody_beyond_the_sample_can_be_more_unique_than_there_are_people() -> None:
    assert wm.uniques_range(counted({1: 8, 2: 1}, 12))[1] == 12 - 10 + 8


@pytest.mark.parametrize("rate", [0.02, 0.5, 0.97])
def test_the_moments_of_wrong_matches(rate: float) -> None:
    sizes = np.arange(1.0, 30.0)
    means, variances = wm._wrong_matches(sizes, rate, 1 - (1 - rate) ** sizes)
    for size, mean, variance in zip(sizes, means, variances, strict=True):
        f = np.arange(int(size) + 1)
        wrong, chance = np.where(f > 0, 1 - f / size, 0.0), binom.pmf(f, int(size), rate)
        assert mean == pytest.approx(wrong @ chance, abs=1e-12)
        assert variance == pytest.approx(wrong**2 @ chance - (wrong @ chance) ** 2, abs=1e-12)


def test_classes_are_counted_by_size_and_those_beyond_five_together() -> None:
    assert wm.seen_numbers(counted({1: 9, 2: 8, 4: 7, 5: 6, 6: 5, 70: 4}, 10_000)) == [9, 8, 0, 7, 6, 9]


@pytest.mark.parametrize("count", [1, 6, 250])
def test_one_count_alone_has_its_exact_limits(count: int) -> None:
    """Tangents touch the likelihood, scaled on each side so that it has fallen by ``DROP`` at the exact limit."""

    def fallen(mean: float) -> float:
        limit = wm.poisson_limits(count, 0.025)[int(mean >= count)]
        return float(wm.DROP * (poisson.logpmf(count, mean) - peak) / (peak - poisson.logpmf(count, limit)))

    peak = poisson.logpmf(count, count)
    lines = wm._tangents(count)
    assert len(lines) == 15
    for height, slope, at in lines:
        assert height == pytest.approx(fallen(at), abs=1e-9)
        if at != count:
            step = 1e-6 * at
            assert slope == pytest.approx((fallen(at + step) - fallen(at - step)) / (2 * step), rel=1e-3, abs=1e-6)


def test_a_count_of_nothing_falls_evenly_to_its_limit() -> None:
    ((height, slope, at),) = wm._tangents(0)
    assert height == at == 0.0
    assert slope * wm.poisson_limits(0, 0.025)[1] == pytest.approx(-wm.DROP)


def test_ranges_hold_where_the_population_is_known_exactly() -> None:
    """All but a handful were asked: the rare class that hides somebody is still allowed for."""
    s = counted({1: 900, 2: 50}, 1_010)
    found = wm.model_free_ranges(s)
    assert found.alone[0] < 900 == found.alone[1]
    assert found.alone[0] > 870
    assert found.uniques[1] <= 1_010 - 1_000 + 900


@pytest.mark.parametrize("drawn", [False, True])
def test_the_moments_of_the_numbers_of_classes(drawn: bool) -> None:
    rng = np.random.default_rng(4)
    shares = rng.dirichlet(np.full(300, 0.7))
    fitted = Shares(shares, shares, np.ones(300), drawn=drawn)
    expected, spread = seen_moments(200, fitted, 1.5)
    seen = rng.poisson(rng.gamma(1.5, 200 * shares / 1.5, size=(40_000, 300)))
    numbers = np.array([(seen == j).sum(axis=1) for j in range(1, 6)])
    assert expected == pytest.approx(numbers.mean(axis=1), rel=0.01)
    if not drawn:
        assert np.abs(spread - np.cov(numbers)).max() < 0.02 * spread.max()
        return
    # Drawn: the sum over the draws is itself an estimate, and its variance comes on top.
    chance = np.array([[(seen[:, i] == j).mean() for i in range(300)] for j in range(1, 6)])
    assert np.abs(spread - np.cov(numbers) - 300 * np.cov(chance)).max() < 0.05 * spread.max()


def test_of_pairs_one_is_alone_in_a_half_with_the_chance_one_half() -> None:
    low, high = wm.unique_share_range(counted({2: 500}, 1_002), 501)
    assert 0.45 < low <= 0.5 <= high < 0.51


def drawn_classes(singles: int, pairs: int, fours: int) -> tuple[np.ndarray, SampledClasses]:
    """The class of each person of a sample at a rate of about a half, and its sizes."""
    sizes = np.repeat([1, 2, 4], [singles, pairs, fours])
    s = counted({size: n for size, n in ((1, singles), (2, pairs), (4, fours)) if n}, 2 * int(sizes.sum()))
    return np.repeat(np.arange(sizes.size), sizes), s


@pytest.mark.parametrize("double", [0, 3])
@pytest.mark.parametrize(
    "bounds",
    [
        [(20.0, 30.0), (40.0, 50.0), (200.0, 400.0), (5.0, 9.0)],
        [(0.0, 90.0), (2.0, 90.0), (0.0, 2_000.0), (0.0, 1.0)],
        [(1.0, 9.0), (10.0, 80.0), (950.0, 2_000.0), (0.5, 0.5)],
        [(50.0, 55.0), (20.0, 25.0), (3.0, 30.0), (0.0, 0.0)],
    ],
)
def test_chance_is_added_to_the_bounds_of_the_means(bounds: list[wm.Range], double: int, monkeypatch: pytest.MonkeyPatch) -> None:
    s = counted({1: 60, 2: 30, 4: 5}, 1_000)  # 140 people in 95 classes
    sizes, asked = np.arange(1.0, 9.0), []
    seen = wm.Seen(np.ones(6), np.array([2.0, 1, 1.5, 1, 1, 3]), 0.14, 1_000.0, sizes, wm.seen_chances(sizes, 0.14), double)
    monkeypatch.setattr(wm.Seen, "of", lambda *_: seen)
    monkeypatch.setattr(wm.Seen, "extremes", lambda _, targets: asked.extend(targets) or bounds)
    found = wm.model_free_ranges(s)
    (mistaken_low, mistaken_high), (wrong_low, wrong_high), (low, high), (_, varies) = bounds
    assert found.alone == pytest.approx(
        (
            max(60 - 2 * poisson.ppf(0.9875, mistaken_high / 2), 0),
            60 - max(2 * poisson.ppf(0.0125, mistaken_low / 2) - double, 0),
        )
    )
    chance = 2.24 * math.sqrt(3 * varies)
    assert found.matches == pytest.approx((max(95 - wrong_high - chance, found.alone[0]), 95 - max(wrong_low - chance, 0)))
    households = wm.poisson_limits(3, 0.0125)[1] / 0.14 if double else 0.0
    assert found.uniques == pytest.approx((min(max(low - households, 0), high, 920), min(high, 920)))
    assert asked[0] * sizes == pytest.approx([0.0, *binom.pmf(1, sizes[1:], 0.14)])
    assert (asked[2] * sizes).tolist() == [1.0] + [0.0] * 7
    wrong, variance = wm._wrong_matches(sizes, 0.14, 1 - 0.86**sizes)
    assert asked[1] * sizes == pytest.approx(wrong)
    assert asked[3] * sizes == pytest.approx(variance, abs=1e-12)


@pytest.mark.parametrize("uniques", [(0.0, 1e6), (100.0, 130.0), (900.0, 950.0), (0.0, 1.0)])
@pytest.mark.parametrize("numbers", [(90, 12, 9), (40, 1, 30), (0, 30, 20), (60, 15, 0), (60, 0, 0), (9, 20, 0)])
def test_with_unequal_chances_lookalikes_bound_every_range(numbers: tuple[int, int, int], uniques: wm.Range) -> None:
    of_class, s = drawn_classes(*numbers)
    weight = 1 + np.arange(of_class.size) % 5 / 4
    design = Design.of(of_class, s.population, weight=weight)
    found = wm._from_lookalikes(s, design, uniques)
    unseen = wm.lookalikes(*design.pairs(), 0.025)[1]
    heavy = design.weight.max()
    crowd = design.unseen(2, each=True)
    more = crowd.sum() + 2.24 * math.sqrt(design.variance(crowd) + heavy**2)
    large = s.classes - s.n1
    named = sum(n * n / (n + others) for n, others in ((s.n1, unseen), (large, more)) if n)
    assert found.alone == pytest.approx((max(s.n1 - unseen, 0), s.n1))
    assert found.matches == pytest.approx((max(named - 1.12 * math.sqrt(s.classes), found.alone[0], 0), s.classes))
    ones = np.bincount(of_class, weights=design.weight) * (np.bincount(of_class) == 1)
    middle, wide = ones.sum(), 2.24 * math.sqrt((ones**2).sum() + heavy**2)
    number, each = design.as_count(design.unseen(1, 1, times_rest=True), 2 * heavy**2)
    ends = middle - wide - each * wm.poisson_limits(number, 0.0125)[1], middle + wide
    assert found.uniques == pytest.approx(tuple(np.clip(ends, *uniques)))


@pytest.mark.parametrize(("equal", "which"), [(True, "ranges"), (False, "lookalikes")])
def test_the_number_of_lookalikes_alone_is_used_where_chances_differ(
    equal: bool, which: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = np.arange(1.0, 5.0)
    seen = wm.Seen(np.ones(6), np.ones(6), 0.5, 100.0, sizes, wm.seen_chances(sizes, 0.5), 0)
    monkeypatch.setattr(wm.Seen, "of", lambda *_: seen)
    monkeypatch.setattr(wm.Seen, "extremes", lambda *_: [(1.0, 2.0)] * 4)
    monkeypatch.setattr(wm, "_from_lookalikes", lambda *_: "lookalikes")
    design: Any = SimpleNamespace(equal=equal)
    found = wm.model_free_ranges(counted({1: 10, 2: 5}, 100), design)
    assert (found == "lookalikes") is (which == "lookalikes")


def test_a_design_is_counted_by_units_at_the_least_rate() -> None:
    """Three households of two, of which one has a class for itself, and four people by themselves."""
    cluster = [0, 0, 1, 1, 2, 2, 3, 4, 5, 6]
    of_class = [0, 0, 1, 2, 2, 3, 3, 4, 4, 5]
    weight = np.array([2.0, 2, 2, 2, 1, 1, 4, 4, 2, 2])
    design = Design.of(of_class, 22, weight=weight, cluster=cluster)
    s = SampledClasses(np.array([1, 2]), np.array([2, 4]), 10, 6, 2, 4, 22)
    seen = wm.Seen.of(s, design)
    assert (seen.double, seen.rate, seen.total) == (1, pytest.approx(1 / 4), pytest.approx(22 * 9 / 10))
    assert seen.counts.tolist() == design.seen(5)[0].tolist()


@pytest.mark.parametrize("others", [1, 7, 40, 100])
@pytest.mark.parametrize("numbers", [{1: 30, 2: 20, 3: 10}, {1: 98, 2: 1}, {2: 50}, {1: 2, 7: 14}])
def test_a_smaller_group_of_the_sample_by_looking_at_each_class(numbers: dict[int, int], others: int) -> None:
    s = counted(numbers, 10_000)
    part = others / 100
    chance = {j: j * (1 - part) ** (j - 1) if j else 0.0 for j in range(8)}
    middle = sum(n * chance[j] for j, n in numbers.items()) / 100
    linear = sum(n * j * (chance[j] - chance[j - 1]) for j, n in numbers.items())
    here = (sum(n * chance[j] ** 2 for j, n in numbers.items()) - linear**2 / 100) / 100**2
    ones, twos = numbers.get(1, 0), numbers.get(2, 0)
    again = (ones - (ones - 2 * twos) ** 2 / 100) / 100 / others
    wide = 1.96 * math.sqrt(max(here, 0) + max(again, 0) + 1.92 / 100**2 + 1.92 / others**2)
    assert wm.rarefied_share(s, others) == pytest.approx((max(middle - wide, 0), middle, min(middle + wide, 1)), abs=1e-12)


def test_sizes_of_classes_reach_the_population() -> None:
    assert wm.possible_sizes(7).tolist() == [1, 2, 3, 4, 5, 6, 7]
    assert wm.possible_sizes(41).tolist() == list(range(1, 42))
    assert wm.possible_sizes(5_000)[[0, 39, 40, -1]].tolist() == [1, 40, 41, 5_000]


def test_the_least_and_most_of_two_counts_by_trying_every_mix() -> None:
    means, counts, total = np.array([[0.5, 0.1, 0.0], [0.1, 0.3, 0.2]]), [30.0, 20.0], 110.0
    mixes = np.array([(a, b, 200 - a - b) for a in range(201) for b in range(201 - a)]) / 200
    fits = np.zeros(len(mixes))
    for mean, count in zip(means, counts, strict=True):
        expected = total * mixes @ mean
        fits += np.minimum(0, np.min([h + slope * (expected - at) for h, slope, at in wm._tangents(count)], axis=0))
    plausible = mixes[fits >= fits.max() - wm.DROP]
    targets = [np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.5])]
    for target, (low, high) in zip(targets, wm.extremes(means, counts, targets, total), strict=True):
        tried = total * plausible @ target
        assert low - 1e-6 <= tried.min() < low + 1.5
        assert high - 1.5 < tried.max() <= high + 1e-6


@pytest.mark.parametrize(("count", "lines"), [(math.nextafter(wm.FEW, 0), 1), (wm.FEW, 15)])
def test_a_count_of_next_to_nothing(count: float, lines: int) -> None:
    """Below it, one line; from there on the lower limit is no number that can be stored, and 10⁻³⁰⁰ instead."""
    found = wm._tangents(count)
    assert len(found) == lines
    if lines == 1:
        assert found == [(0.0, -wm.DROP / wm.poisson_limits(count, 0.025)[1], 0.0)]
    else:
        height, _, at = found[0]
        lowest = count * math.log(1e-300 / count) - (1e-300 - count)
        assert at == pytest.approx(0.01 * count)
        assert height == pytest.approx(-wm.DROP / lowest * (count * math.log(at / count) - (at - count)), rel=1e-9)


# --- the fit check -------------------------------------------------------------------------------------------------------


def sample_of(pairs: dict[tuple[int, int], int], population: int = 1_000) -> Sample:
    """A sample of two columns, with the number of people of each pair of values."""
    first, second = zip(*pairs, strict=True)
    return Sample.of([np.array(first), np.array(second)], list(pairs.values()), population)


def fitted(**facts: Any) -> Any:
    return SimpleNamespace(every=None, shape=1.0, population=SimpleNamespace(draw=lambda *_: None, share=lambda _: None), **facts)


def test_the_distance_of_numbers_of_classes_by_hand() -> None:
    s = sample_of({(0, 0): 1, (0, 1): 1, (1, 0): 2, (1, 1): 7})
    expected, spread = np.array([1.5, 3.0, 0.25, 0.5, 0.1]), np.diag([1.0, 2.0, 0.5, 0.25, 0.1])
    gap = [0.5, -2.0, -0.25, -0.5, -0.1]
    by_hand = sum(g * g / (v + 0.5) for g, v in zip(gap, np.diag(spread), strict=True))
    assert fit_check._distance(s, expected, spread) == pytest.approx(by_hand)


def test_a_distance_refutes_from_the_one_percent_point_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sample has 3 classes of one person and 1 of three; three would be 5 deviations away, one 2, four 1.7."""
    s = sample_of({(0, 0): 1, (0, 1): 1, (1, 0): 1, (1, 1): 3})
    moments = np.array([7.0, 0.5, 9.0, 1_700.0, 0.0]), np.diag([3.5, 0.1, 2.06, 1e6, 0.5])
    monkeypatch.setattr(fit_check, "seen_moments", lambda *_: moments)
    monkeypatch.setattr(fit_check, "_refuted_by_pairs", lambda *_: "by pairs")
    for far, said in (
        (fit_check.FAR, "by pairs"),
        (
            math.nextafter(fit_check.FAR, 99),
            "the fitted population would give 9 classes of three people in such a sample; 1 were observed",
        ),
    ):
        monkeypatch.setattr(fit_check, "_distance", lambda *_, far=far: far)
        assert fit_check.refutation(s, fitted()) == said


def test_the_class_sizes_that_refute_are_those_most_deviations_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the half of a class, size one would be farther; with plus for minus, size two would be."""
    s = sample_of({(0, 0): 1, (0, 1): 2, (1, 0): 2, (1, 1): 2})
    moments = np.array([1.9, 3.0, 0.0, 0.0, 2.0]), np.diag([0.1, 1.0, 0.0, 0.0, 1.5])
    monkeypatch.setattr(fit_check, "seen_moments", lambda *_: moments)
    monkeypatch.setattr(fit_check, "_distance", lambda *_: 99.0)
    assert "2 classes of five people in such a sample; 0 were" in fit_check.refutation(s, fitted())


@pytest.mark.parametrize(("nearer", "ruled_out"), [(5.9, False), (6.0, True)])
def test_people_of_rare_combinations_who_never_meet_are_seen_once(
    nearer: float, ruled_out: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Combinations of up to one person on average show nobody twice; of 1.25 they may."""
    s, mean = sample_of({(0, 0): 6, (1, 1): 4}), np.array([0.25, 1.0, 1.25, 50.0])
    every = Shares(mean[:2] / 1_000, mean / 1_000, np.array([8.0, 4.0, 2.0, 1.0]), drawn=False)
    fit, seen = fitted(), []
    fit.every, fit.shape = every, 2.0
    monkeypatch.setattr(
        fit_check, "_distance", lambda _, expected, spread: seen.append(expected) or (nearer + 1, 1)[len(seen) - 1]
    )
    more = fit_check.never_meet(s, fit, 500)
    met = [1 - (1 + 500 * m / 1_000 / 2) ** -3 for m in (0.25, 1.0, 1.25)]
    by_hand = sum(n * m * part * x for n, m, part, x in zip((8, 4, 2), mean, (1, 1, 0.6), met, strict=False)) / 1_000
    assert more == (0 if ruled_out else pytest.approx(by_hand))
    often = seen_moments(10, Shares(mean[:0], mean[2:] / 1_000, np.array([2.0, 1.0]), drawn=False), 2.0)[0]
    assert seen[0] == pytest.approx(often + np.array([10 * (8 * 0.25 + 4) / 1_000, 0, 0, 0, 0]))
    assert seen[1] == pytest.approx(seen_moments(10, every, 2.0)[0])


@pytest.mark.parametrize(
    ("kinds", "share", "refuted"), [(1, math.inf, False), (2, 1.001, True), (2, 1.0, False), (4, 1.001, True)]
)
def test_the_one_percent_is_shared_by_the_tables_of_two_columns(
    kinds: int, share: float, refuted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    s = Sample.of([np.arange(4)] * 3, [1, 2, 3, 4], 100)
    limit = float(chi2.ppf(1 - 0.01 / 3, kinds - 1)) if kinds > 1 else 1.0
    far = {(0, 1): (limit, kinds), (0, 2): (limit * 0.999, kinds), (1, 2): (limit * share, kinds)}
    monkeypatch.setattr(fit_check, "pair_distance", lambda *facts: far[facts[-1]])
    reason = fit_check._refuted_by_pairs(s, fitted())
    assert reason == ("columns 2 and 3 occur together in other numbers than in samples of the fitted population" * refuted)


def test_the_distance_of_two_columns_by_hand() -> None:
    """Of 40 draws ten, five, and less than the five people: exactly five expected people stand for themselves."""
    s = sample_of({(0, 0): 7, (0, 1): 3, (1, 0): 1, (1, 1): 2, (0, 2): 7})
    drawn = np.array([(0, 0)] * 20 + [(0, 1)] * 10 + [(1, 0)] * 6 + [(1, 1)] * 2 + [(1, 2)] * 2)
    share = np.arange(1.0, 41.0) / 2_000
    found, kinds = fit_check.pair_distance(s, 1.5, drawn, share, (0, 1))
    groups = [((7,), range(20)), ((3,), range(20, 30)), ((1, 2, 7, 0), range(30, 40))]
    distance = 0.0
    for observed, draws in groups:
        expected = 20 * len(draws) / 40
        extra = 20**2 * sum(share[i] for i in draws) / 40 / 1.5
        distance += (sum(observed) - expected) ** 2 / (expected * (1 + 20 / 40) + extra + 0.5)
    assert (found, kinds) == (pytest.approx(distance), 3)


@pytest.mark.parametrize("drawn", [False, True])
def test_the_moments_of_the_numbers_of_classes_by_their_formula(drawn: bool) -> None:
    """Gamma-mixed Poisson counts, from their density: Γ(j + a) / (j! Γ(a)) · (a / (a + m))ᵃ · (m / (a + m))ʲ."""
    shares, times, a = np.array([0.1, 0.02, 0.005]), np.array([3.0, 10.0, 100.0]), 1.5
    mean = 200 * shares
    chance = np.array(
        [
            math.gamma(j + a) / math.factorial(j) / math.gamma(a) * (a / (a + mean)) ** a * (mean / (a + mean)) ** j
            for j in range(1, 6)
        ]
    )
    expected, spread = seen_moments(200, Shares(shares, shares, times, drawn=drawn), a)
    assert expected == pytest.approx(chance @ times)
    independent = np.diag(chance @ times) - (chance * times) @ chance.T
    assert spread == pytest.approx(independent + (3 * np.cov(chance * times) if drawn else 0))
