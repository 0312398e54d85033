"""Approximations by name never claim more than they hold; intervals of odd laws and samples; wrong input has a clear answer."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from shoal import predict
from shoal.errors import UsageError

SIZES = [(2, 3), (10, 3), (40, 13), (95, 29), (365, 4), (365, 60), (5000, 5)]


def inside(found, exact) -> bool:
    return found.low * (1 - 1e-9) <= exact.value <= found.high * (1 + 1e-9)


@pytest.mark.parametrize("method", ["poisson", "saddlepoint"])
@pytest.mark.parametrize(("cells", "group"), SIZES)
def test_nobody_unique_by_name_holds_the_exact_value(cells, group, method):
    p = np.linspace(1, 1.2, cells)
    exact = predict.no_singleton(p / p.sum(), group)
    found = predict.no_singleton(p / p.sum(), group, method=method)
    assert inside(found, exact)
    assert (found.grade == "B") == (abs(found.log_value - exact.log_value) <= math.log(1.05))


@pytest.mark.parametrize("method", ["poisson", "saddlepoint", "kappa", "kappa-limit", "chi", "collisions"])
@pytest.mark.parametrize(("cells", "group"), SIZES)
def test_everybody_unique_by_name_holds_the_exact_value(cells, group, method):
    p = np.linspace(0.3, 2, cells)
    exact = predict.uniqueness(p / p.sum(), group)
    found = predict.uniqueness(p / p.sum(), group, method=method)
    assert inside(found, exact)
    if found.grade == "B":
        assert found.value == pytest.approx(exact.value, rel=0.051)


@pytest.mark.parametrize("group", [10**6, 10**9, 10**12])
def test_nobody_unique_keeps_its_digits_in_huge_groups(group):
    rare = 1 / group
    found = predict.no_singleton([0.5, 0.5 - rare, rare], group)
    assert found.value == pytest.approx(-math.expm1((group - 1) * math.log1p(-rare)), abs=1e-8)


def test_a_sample_on_a_decimal_grid_keeps_its_values_apart():
    assert predict.rounded(np.round(np.arange(0, 1.01, 0.1), 1), 0.1).occupied == 11
    nine = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]
    assert predict.interval_singletons(nine, 0.1, 3).value == pytest.approx(3 * (8 / 9) ** 2)


def test_discrete_laws_off_the_whole_numbers():
    half = stats.rv_discrete(values=([0.5, 1, 1.5], [0.3, 0.3, 0.4]))
    assert predict.rounded(half, 0.5).p.tolist() == pytest.approx([0.3, 0.3, 0.4])
    shifted = predict.rounded(stats.poisson(3, loc=0.5), 1)
    assert shifted.p[:3].tolist() == pytest.approx(stats.poisson(3).pmf([0, 1, 2]).tolist())
    assert predict.rounded(stats.binom(3, 0.5), 1).p.tolist() == pytest.approx([0.125, 0.375, 0.375, 0.125])


@pytest.mark.parametrize(
    "law", [stats.cauchy(), stats.t(2), stats.levy(), stats.lognorm(2)], ids=["cauchy", "t2", "levy", "lognorm"]
)
def test_far_tails_are_bounded_not_refused(law):
    found = predict.interval_singletons(law, 1.0, 50)
    rng = np.random.default_rng(5)
    draws = np.floor(law.rvs(size=(4000, 50), random_state=rng))
    unique = [int((np.unique(row, return_counts=True)[1] == 1).sum()) for row in draws]
    error = 4 * np.std(unique) / math.sqrt(len(unique))
    assert found.low - error <= np.mean(unique) <= found.high + error
    assert found.high - found.low <= 0.1


def test_an_expansion_without_its_integral_is_refused():
    with pytest.raises(UsageError, match="does not exist"):
        predict.interval_singletons(stats.gamma(0.6), 0.001, 10, method="second")
    first = predict.interval_singletons(stats.gamma(0.6), 0.001, 10, method="first")
    assert inside(first, predict.interval_singletons(stats.gamma(0.6), 0.001, 10))


@pytest.mark.parametrize("law", [stats.uniform(0.137, 1.3), stats.beta(2, 2), stats.truncnorm(-0.5, 2)])
@pytest.mark.parametrize("method", ["integral", "first", "second"])
def test_expansions_hold_the_exact_value(law, method):
    exact = predict.interval_singletons(law, 0.1126, 200)
    found = predict.interval_singletons(law, 0.1126, 200, method=method)
    assert inside(found, exact)
    assert found.grade == "C"


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: predict.interval_singletons("abc", 1, 10),
        lambda: predict.interval_singletons([1.0], 1, 10, method="third"),
        lambda: predict.sd_from_singletons(0.01, 10, 1),
        lambda: predict.mutual_information([0.5, 0.5]),
        lambda: predict.mutual_information([[5, 0], [0, 5]]),
        lambda: predict.mutual_information([[0.6, -0.1], [0, 0.5]]),
        lambda: predict.cell_budget(10**6, 10, 0.1, bound="xx", all_cells=True),
        lambda: predict.uniform_records(100, 1000, goal="share", level=1.0),
        lambda: predict.uniform_records(100, 1000, goal="all", level=0),
    ],
)
def test_wrong_input_is_refused_in_words(wrong):
    with pytest.raises(UsageError):
        wrong()


def test_small_limits_are_defined():
    assert predict.cell_budget(1, 1, 0.1, member=True).cells == 1
    assert [e.value for e in predict.groups_from_kappa(0.1, 80, 0, 1)] == [0.0, 0.0]
    width, share = predict.width_for([3.0] * 10, 40, 0.1)
    assert width > 0
    assert share == 0.0
    assert (
        predict.cell_budget(10**6, 10, 0.1, all_cells=True, bound="poisson").cells
        <= predict.cell_budget(10**6, 10, 0.1, all_cells=True).cells
    )


def test_no_cheaper_combination_of_changes_reaches_the_target():
    from itertools import product

    from shoal.prediction.questionnaire import suggest

    rng = np.random.default_rng(8)
    for _ in range(8):
        n = int(rng.integers(30, 800))
        q = predict.Questionnaire(population=10**6, respondents=n, target=float(rng.choice([0.3, 0.1, 0.05])))
        for i in range(3):
            k = int(rng.integers(2, 16))
            q.add(
                f"q{i}", shares=rng.dirichlet(np.full(k, 2.0)), ordered=bool(i % 2), band=1, weight=float(rng.choice([0.5, 1, 3]))
            )
        found = q.suggest()
        assert found.reached
        assert found.proven
        for chosen in product(*([None, *suggest.changes_of(x)] for x in q.questions.values())):
            if suggest.total_cost([c for c in chosen if c]) < found.cost - 1e-9:
                p = np.ones(1)
                for x, c in zip(q.questions.values(), chosen, strict=True):
                    share = x.p if c is None else np.ones(1) if c.groups is None else np.bincount(c.groups, weights=x.p)
                    p = np.multiply.outer(p, share).ravel()
                assert float((p * (1 - p) ** (n - 1)).sum()) > q.target * (1 - 1e-6)


@pytest.mark.parametrize("size", [0, 1, 2, 5])
def test_groups_from_kappa_hold_every_distribution_and_say_when_they_leave_their_validity(size):
    rng = np.random.default_rng(size)
    for _ in range(12):
        p = rng.dirichlet(np.full(int(rng.integers(20, 200)), rng.choice([1.0, 8.0, 60.0])))
        d, k = predict.Distribution.of(p, normalize=True), int(rng.integers(10, 150))
        share = float(np.mean(stats.binom.pmf(size, k, p)))
        people, cells = predict.groups_from_kappa(d.kappa, d.cells, k, size)
        assert cells.low <= share * (1 + 1e-9) + 1e-12
        assert share <= cells.high * (1 + 1e-9) + 1e-12
        assert people.low <= size * share * d.cells / k + 1e-9 <= people.high + 2e-9
        assert cells.grade == "C" or d.kappa <= 0.05


@pytest.mark.parametrize("group_size", [5, 29, 100, 300, 700])
def test_no_interval_holds_what_a_note_calls_impossible(group_size: int) -> None:
    from shoal.prediction.summaries.kappa_bounds import singletons_range

    found = predict("singletons", kappa=0.0914, cells=95, group_size=group_size).answer
    low, high = singletons_range(0.0914, 95, group_size)
    said = [note for note in found.notes if "the formula gives" in note]
    assert bool(said) == (group_size == 300)
    assert (found.low, found.high) == (low, high)
    assert low <= found.value <= high
    assert all(f"only {low:.6g} to {high:.6g} are possible" in note for note in said)
    assert found.grade == "C" or not said


def test_the_printed_form_of_a_source_stays_as_it_is() -> None:
    from shoal.prediction import singletons_from_kappa

    found = singletons_from_kappa(0.0914, cells=95, group_size=60, limit=True)
    assert found.value == pytest.approx(29.3847839905)
    assert found.low == found.value
    assert any("the formula gives 29.3848" in note for note in found.notes)


def test_a_method_is_not_ignored_beside_a_second_value() -> None:
    asked = {"group_size": 100, "normal": 10.0, "width": 1.0, "second": (5.0, 1.0, 0.5)}
    with pytest.raises(UsageError, match="method 'first' is for one value"):
        predict("interval", method="first", **asked)
    assert predict("interval", method="exact", **asked).answer == predict("interval", **asked).answer
