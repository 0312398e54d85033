"""Laws of predictions as property tests, each against an independent slow definition where there is one."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import predict_limits as limits
from shoal import predict
from shoal.errors import UsageError
from shoal.prediction import Distribution
from shoal.prediction.group import moments as _moments
from shoal.prediction.group import tilt as _tilt
from shoal.prediction.group.singletons import expected_cells
from shoal.prediction.summaries.kappa import largest_possible_mean

weights = st.lists(st.integers(0, 50), min_size=1, max_size=6).filter(lambda w: sum(w) > 0)
floats = st.lists(st.floats(1e-6, 1.0), min_size=2, max_size=40)
quick = settings(max_examples=60, deadline=None)


def normal(w: Any) -> Distribution:
    p = np.asarray(w, dtype=float)
    return Distribution.of(p / p.sum())


def enumerated(w: list[int], k: int) -> dict[int, Fraction]:
    """The law of S in rational arithmetic, by listing all N^k outcomes."""
    p = [Fraction(x, sum(w)) for x in w]
    law: dict[int, Fraction] = Counter()
    for draw in itertools.product(range(len(p)), repeat=k):
        chance = math.prod((p[i] for i in draw), start=Fraction(1))
        law[sum(c == 1 for c in Counter(draw).values())] += chance
    return law


@quick
@given(weights, st.integers(0, 5))
def test_everything_equals_enumeration_in_rational_numbers(w: list[int], k: int) -> None:
    law = enumerated(w, k)
    d, s = normal(w), predict.singletons(normal(w), k)
    mean = sum(x * q for x, q in law.items())
    variance = sum(x * x * q for x, q in law.items()) - mean * mean
    assert s.mean.value == pytest.approx(float(mean), abs=1e-12)
    assert s.variance.value == pytest.approx(float(variance), abs=1e-12)
    assert s.p_none.value == pytest.approx(float(law.get(0, 0)), abs=1e-12)
    assert predict.uniqueness(d, k).value == pytest.approx(float(law.get(k, 0)), abs=1e-12)
    got = s.pmf()
    assert got.sum() == pytest.approx(1, abs=1e-12)
    for j, q in law.items():
        if j < got.size:
            assert got[j] == pytest.approx(float(q), abs=1e-12)
        else:
            assert q == 0


@quick
@given(floats, st.integers(2, 400))
def test_variance_equals_the_quadratic_pair_sum(w: list[float], k: int) -> None:
    d = normal(w)
    p = d.expanded()
    mean = k * float((p * (1 - p) ** (k - 1)).sum())
    pairs = np.multiply.outer(p, p) * np.maximum(1 - np.add.outer(p, p), 0) ** (k - 2)
    np.fill_diagonal(pairs, 0)
    slow = mean + k * (k - 1) * float(pairs.sum()) - mean**2
    got = _moments.mean_and_variance(d, k)
    assert got[0] == pytest.approx(mean, rel=1e-10, abs=1e-300)
    assert got[1] == pytest.approx(slow, rel=1e-8, abs=1e-11 * max(1, mean * mean))


@quick
@given(floats, st.data())
def test_tilted_inversion_equals_the_recursion(w: list[float], data: st.DataObject) -> None:
    d = normal(w)
    k = data.draw(st.integers(2, d.occupied)) if d.occupied > 2 else 2
    assume(k < d.occupied)
    slow = float(predict.uniqueness(d, k).value)
    tilt = _tilt.solve(d, _tilt.AT_MOST_ONE, k)
    fast = tilt.log_base + _tilt.log_probability(tilt, _tilt.AT_MOST_ONE, k)
    assume(slow > 1e-280)
    assert fast == pytest.approx(math.log(slow), abs=1e-9)


@quick
@given(floats, st.integers(2, 120))
def test_nobody_unique_equals_the_nonnegative_convolution(w: list[float], k: int) -> None:
    d = normal(w)
    slow = predict.no_singleton(d, k, method="convolution")
    assert predict.no_singleton(d, k).log_value == pytest.approx(slow.log_value, abs=1e-9)


@quick
@given(floats, st.integers(2, 60))
def test_the_law_of_singletons_has_the_exact_mean_and_variance(w: list[float], k: int) -> None:
    s = predict.singletons(normal(w), k)
    law = s.pmf()
    j = np.arange(law.size)
    mean = float((j * law).sum())
    assert law.sum() == pytest.approx(1, abs=1e-10)
    assert mean == pytest.approx(s.mean.value, abs=1e-9)
    assert float(((j - mean) ** 2 * law).sum()) == pytest.approx(s.variance.value, abs=1e-7)
    assert law[0] == pytest.approx(s.p_none.value, abs=1e-12)


@quick
@given(floats, st.integers(1, 60))
def test_shares_of_people_and_cells_sum_to_one(w: list[float], k: int) -> None:
    d = normal(w)
    s = predict.singletons(d, k)
    groups = [s.in_groups_of(j) for j in range(k + 1)]
    assert sum(g.value for g in groups) == pytest.approx(1, abs=1e-9)
    assert sum(g.details["share_of_cells"] for g in groups) == pytest.approx(1, abs=1e-9)
    assert k * groups[1].value == pytest.approx(s.mean.value, rel=1e-9)


@quick
@given(floats, st.integers(1, 30), st.randoms())
def test_order_of_cells_and_empty_cells_change_nothing_but_n(w: list[float], k: int, random: Any) -> None:
    d = normal(w)
    mixed = list(d.expanded())
    random.shuffle(mixed)
    more = Distribution.of([*mixed, 0.0, 0.0], normalize=True)
    assert more.cells == d.cells + 2
    for a, b in ((predict.singletons(d, k), predict.singletons(more, k)),):
        assert a.mean.value == pytest.approx(b.mean.value, rel=1e-9)
        assert a.p_none.value == pytest.approx(b.p_none.value, rel=1e-8, abs=1e-300)
    assert predict.uniqueness(d, k).value == pytest.approx(predict.uniqueness(more, k).value, rel=1e-9)


@quick
@given(floats, st.integers(2, 30))
def test_the_uniform_maximises_uniqueness_and_joining_cells_lowers_it(w: list[float], k: int) -> None:
    d = normal(w)
    got = predict.uniqueness(d, k).value
    assert got <= predict.uniqueness(d.occupied, k).value * (1 + 1e-9)
    p = d.expanded()
    joined = Distribution.of(np.append(p[2:], p[0] + p[1]), normalize=True)
    assert predict.uniqueness(joined, k).value <= got * (1 + 1e-9)
    assert predict.singletons(joined, k).mean.value <= predict.singletons(d, k).mean.value * (1 + 1e-9)
    assert joined.entropy <= d.entropy + 1e-12


@quick
@given(floats, st.integers(1, 300))
def test_no_distribution_beats_the_largest_possible_mean(w: list[float], k: int) -> None:
    d = normal(w)
    assert predict.singletons(d, k).mean.value <= largest_possible_mean(d.cells, k) * (1 + 1e-9)


shapes = st.one_of(
    st.tuples(st.just("two levels"), st.floats(0.0, 0.8), st.floats(0.02, 0.5)),
    st.tuples(st.just("gamma"), st.floats(2.0, 30.0), st.floats(0, 1)),
    st.tuples(st.just("power"), st.floats(0.3, 6.0), st.floats(0, 3)),
    st.tuples(st.just("spikes"), st.floats(1.0, 3.5), st.floats(0.005, 0.1)),
    st.tuples(st.just("spikes"), st.floats(5.0, 500.0), st.floats(0.005, 0.6)),
    st.tuples(st.just("two levels"), st.just(0.0), st.floats(0.02, 0.9)),
    st.tuples(st.just("gamma"), st.floats(0.05, 2.0), st.floats(0, 1)),
)


def shaped(kind: str, a: float, b: float, n: int, seed: int) -> Distribution:
    x = (np.arange(n) + 0.5) / n
    w = {
        "two levels": lambda: np.where(x < b, a, 1.0),
        "gamma": lambda: np.random.default_rng(seed).gamma(a, size=n),
        "power": lambda: 0.3 + b * x**a,
        "spikes": lambda: np.where(x < b, a, 1.0),
    }[kind]()
    w[-1] = w[-1] or 1.0  # two cells below the cut: somebody must be somewhere
    return Distribution.of(w, normalize=True)


@settings(max_examples=40, deadline=None)
@given(shapes, st.integers(2, 400), st.integers(0, 9), st.booleans(), st.data())
def test_what_kappa_proves_holds_for_every_distribution(
    shape: Any, n: int, seed: int, largest: bool, data: st.DataObject
) -> None:
    d = shaped(*shape, n=n, seed=seed)
    p_max = d.p_max if largest else None
    k = data.draw(st.integers(1, n))
    all_unique = predict.uniqueness_from_kappa(d.kappa, d.cells, k, p_max=p_max)
    exact = predict.uniqueness(d, k).value
    assert all_unique.low <= exact * (1 + 1e-8) + 1e-300
    assert exact <= all_unique.high * (1 + 1e-8)
    k = data.draw(st.integers(1, 3 * n))
    s = predict.singletons(d, k)
    mean = predict.singletons_from_kappa(d.kappa, d.cells, k, p_max=p_max)
    spread = predict.variance_from_kappa(d.kappa, d.cells, k, p_max=p_max)
    assert mean.low - 1e-9 * k <= s.mean.value <= mean.high + 1e-9 * k
    assert spread.low - 1e-8 * k <= s.variance.value <= spread.high + 1e-8 * k


def two_levels(kappa: float, n: int, heavy: int) -> Distribution | None:
    """``heavy`` cells above the average, the others equal below, with exactly this kappa; None where there is none."""
    from scipy.optimize import brentq

    def gap(x: float) -> float:
        rest = (n - heavy * x) / (n - heavy)
        return (heavy * x * math.log(x) + (n - heavy) * (rest * math.log(rest) if rest > 0 else 0.0)) / n - kappa

    if gap(n / heavy) <= 0:
        return None
    x = brentq(gap, 1.0, n / heavy, xtol=1e-14)
    return Distribution.of(np.array([x] * heavy + [(n - heavy * x) / (n - heavy)] * (n - heavy)), normalize=True)


@pytest.mark.parametrize(("kappa", "n", "k"), [(0.05, 300, 150), (0.01, 95, 30), (0.2, 300, 60), (0.5, 200, 40)])
def test_what_kappa_proves_is_nearly_reached(kappa: float, n: int, k: int) -> None:
    """Distributions of two levels alone fill most of the range: it is not merely wide."""
    found = [d for heavy in range(1, n) if (d := two_levels(kappa, n, heavy)) is not None]
    means = [predict.singletons(d, k).mean.value for d in found]
    logs = [predict.uniqueness(d, k).log_value for d in found]
    mean, all_unique = predict.singletons_from_kappa(kappa, n, k), predict.uniqueness_from_kappa(kappa, n, k)
    assert 0.75 * (mean.high - mean.low) <= max(means) - min(means) <= mean.high - mean.low
    width = math.log(all_unique.high) - math.log(all_unique.low)
    assert 0.6 * width <= max(logs) - min(logs) <= width


def test_kappa_intervals_that_were_too_narrow_once() -> None:
    """Small tables where fitted intervals missed: two cells, and five equal cells beside an empty one."""
    d = Distribution.of([0.4, 0.6])
    spread = predict.variance_from_kappa(d.kappa, 2, 3, p_max=0.6)
    assert spread.low <= predict.singletons(d, 3).variance.value <= spread.high
    d = Distribution.of([0.2] * 5 + [0.0])
    all_unique = predict.uniqueness_from_kappa(d.kappa, 6, 2)
    assert all_unique.low <= 0.8 <= all_unique.high


@pytest.mark.parametrize("p_max", [math.nan, 0.001, 3.0, -1.0, 0.0106])
def test_a_largest_cell_that_cannot_be_is_refused(p_max: float) -> None:
    with pytest.raises(UsageError, match="no cell can have the largest probability"):
        predict.uniqueness_from_kappa(0.1, 95, 5, p_max=p_max)


@quick
@given(st.lists(st.integers(1, 30), min_size=1, max_size=60), st.integers(1, 2000))
def test_population_estimates_are_numbers_or_reasons(classes: list[int], factor: int) -> None:
    r = predict.population(classes, sum(classes) * factor)
    for m in r.models:
        assert (m.uniques is None) == bool(m.failed)
        if m.uniques is not None:
            assert 0 <= m.uniques <= r.population * (1 + 1e-9)
    if r.match is not None:
        assert 0 <= r.match.low <= r.match.value <= r.match.high <= 1
    if r.uniques is not None:
        assert r.uniques.low <= r.uniques.value <= r.uniques.high


@quick
@given(
    st.lists(st.floats(0.1, 10), min_size=1, max_size=5),
    st.lists(st.integers(1, 200), min_size=5, max_size=5),
    st.integers(1, 100_000),
)
def test_splits_stay_within_caps_and_budget(w: list[float], caps: list[int], cells: int) -> None:
    caps = caps[: len(w)]
    real = predict.split(w, caps, cells)
    assert np.all(real >= 1)
    assert np.all(real <= caps)
    assert float(np.prod(real)) <= cells * (1 + 1e-9)
    for d in (predict.integer_split(w, caps, cells), predict.greedy_split(w, caps, cells)):
        assert all(1 <= x <= c for x, c in zip(d, caps, strict=True))
        assert math.prod(d) <= cells
        assert limits.split_cost(w, d) >= limits.split_cost(w, real) * (1 - 1e-9)
    exact, greedy = (limits.split_cost(w, split(w, caps, cells)) for split in (predict.integer_split, predict.greedy_split))
    assert exact <= greedy + 1e-9


@quick
@given(st.integers(2, 400), st.integers(1, 30), st.floats(0.001, 0.5))
def test_the_cell_budget_is_the_largest_that_keeps_the_promise(n: int, k: int, beta: float) -> None:
    assume(k <= n)
    cells = predict.cell_budget(n, k, beta).cells
    if cells > 1:
        assert float(predict.cell_failure(n, k, 1 / cells)) <= beta
    assert float(predict.cell_failure(n, k, 1 / (cells + 1))) > beta
    assert predict.cell_budget(n, k, beta, all_cells=True).cells <= cells


@quick
@given(st.integers(2, 12), st.floats(0.0, 2.5), st.integers(1, 4), st.integers(2, 500))
def test_zipf_share_equals_listing_all_cells(d: int, c: float, s: int, n: int) -> None:
    z = predict.Zipf(c, d)
    p = z.distribution.p
    cells = p
    for _ in range(s - 1):
        cells = np.multiply.outer(cells, p).ravel()
    assert predict.expected_share(z, n, s).value == pytest.approx(float((cells * (1 - cells) ** (n - 1)).sum()), abs=1e-10)
    if c > 0.01:
        rank = predict.threshold_rank(z, n, s)
        products = np.arange(1, d + 1)
        for _ in range(s - 1):
            products = np.multiply.outer(products, np.arange(1, d + 1)).ravel()
        assume(np.abs(products / rank - 1).min() > 1e-6)
        got = predict.share_below(z, rank, s)
        slow = float(cells[products > rank].sum())
        assert got.low - 1e-9 <= slow <= got.high + 1e-9


@quick
@given(
    st.lists(st.lists(st.floats(0.05, 1), min_size=2, max_size=5), min_size=2, max_size=4),
    st.integers(2, 300),
    st.integers(0, 3),
)
def test_meter_equals_listing_and_its_range_holds_for_any_dependence(margins: list[list[float]], n: int, seed: int) -> None:
    shares = [np.array(m) / sum(m) for m in margins]
    q = predict.Questionnaire(population=10**6, respondents=n)
    for i, p in enumerate(shares):
        q.add(f"q{i}", shares=p)
    cells = shares[0]
    for p in shares[1:]:
        cells = np.multiply.outer(cells, p)
    slow = float((cells * (1 - cells) ** (n - 1)).sum())
    unique = q.meter().unique
    assert unique.value == pytest.approx(slow, abs=1e-9)
    # another joint law with the same margins: start from random cells and fit the margins
    joint = np.random.default_rng(seed).gamma(0.3, size=cells.shape) + 1e-9
    from shoal.prediction.attributes.correlation import fit_margins

    for _ in range(30):
        joint = fit_margins(joint, shares)
    tied = float((joint * (1 - np.minimum(joint, 1)) ** (n - 1)).sum())
    assert unique.low - 1e-6 <= tied <= unique.high + 1e-6


@quick
@given(
    st.lists(st.floats(0.01, 1), min_size=2, max_size=6),
    st.lists(st.floats(0.01, 1), min_size=2, max_size=6),
    st.floats(-0.99, 0.99),
)
def test_copula_keeps_margins_and_kappa_adds_up(x: list[float], y: list[float], rho: float) -> None:
    a, b = np.array(x) / sum(x), np.array(y) / sum(y)
    joint = predict.gaussian_copula([a, b], rho)
    assert np.abs(joint.sum(axis=1) - a).max() < 1e-12
    assert np.abs(joint.sum(axis=0) - b).max() < 1e-12
    kappas = [Distribution.of(p).kappa for p in (a, b)]
    total = Distribution.of(joint.ravel(), normalize=True).kappa
    assert total == pytest.approx(sum(kappas) + predict.mutual_information(joint), abs=1e-9)


@quick
@given(floats, st.integers(0, 20), st.integers(0, 20))
def test_expected_cells_counts_all_cells(w: list[float], k: int, j: int) -> None:
    d = normal(w)
    p = d.expanded()
    slow = math.comb(k, j) * float((p**j * (1 - p) ** (k - j)).sum()) if j <= k else 0.0
    assert expected_cells(d, k, j) == pytest.approx(slow, rel=1e-9, abs=1e-300)


@pytest.mark.parametrize("a", [0.5, 1.0, 2.0])
def test_exact_sums_tend_to_the_limit_of_large_groups(a: float) -> None:
    """k = aN people on N cells, half of them with half and half with one and a half times the average."""
    alpha, share = (0.5, 1.5), (0.5, 0.5)
    gaps = []
    for n in (200, 2_000, 20_000):
        d = Distribution.of(np.repeat(np.array(alpha) / n, n // 2), normalize=True)
        s = predict.singletons(d, round(a * n))
        gaps.append(
            (
                abs(s.mean.value / n - limits.mean_limit(a, alpha, share)),
                abs(s.variance.value / n - limits.variance_limit(a, alpha, share)),
            )
        )
    for coarse, fine in itertools.pairwise(np.array(gaps)):
        assert bool((fine < coarse / 5).all())
    assert max(gaps[-1]) < 1e-4
