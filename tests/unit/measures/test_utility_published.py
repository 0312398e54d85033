"""Losses from labels alone: equal to the losses of matched records, to slow definitions, and to scipy and scikit-learn."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recoding_oracle import ColumnRecoding, Recoding, recoding_losses
from shoal.measures.utility.analyses import (
    Learned,
    _auc,
    _without,
    contingency,
    correlations,
    cramers_v,
    model_scores,
    ranks,
    table_distance,
)
from shoal.measures.utility.distances import (
    FLOOR,
    PublishedColumn,
    Queried,
    _error,
    column_losses,
    hellinger,
    kolmogorov_smirnov,
    private_information,
    propensity,
    query_errors,
    total_variation,
    wasserstein,
)
from shoal.model.counts.classes import SensitiveCounts


@st.composite
def recoded(draw: st.DrawFn) -> tuple[list[int], list[list[int]], list[int], int, list[int]]:
    """Values of records, overlapping sets, the set of each record (holding its value), left-out records, sensitive values."""
    n_values = draw(st.integers(1, 5))
    values = draw(st.lists(st.integers(0, n_values - 1), min_size=1, max_size=12))
    sets = [[v] for v in range(n_values)] + [list(range(n_values))]
    sets += draw(st.lists(st.lists(st.integers(0, n_values - 1), min_size=1, unique=True).map(sorted), max_size=3))
    chosen = [draw(st.sampled_from([i for i, s in enumerate(sets) if v in s])) for v in values]
    gone = draw(st.integers(0, len(values) - 1))
    return values, sets, chosen, gone, draw(st.lists(st.integers(0, 2), min_size=len(values), max_size=len(values)))


def column_of(values: list[int], sets: list[list[int]], chosen: list[int], gone: int) -> PublishedColumn:
    size = max(max(s) for s in sets) + 1
    kept = chosen[gone:]
    return PublishedColumn(
        np.bincount(values, minlength=size),
        np.bincount(kept, minlength=len(sets)),
        np.array([x for s in sets for x in s]),
        np.concatenate(([0], np.cumsum([len(s) for s in sets]))),
        gone,
    )


@settings(max_examples=80, deadline=None)
@given(recoded())
def test_labels_alone_tell_what_matched_records_tell(case: tuple[list[int], list[list[int]], list[int], int, list[int]]) -> None:
    values, sets, chosen, gone, secret = case
    c = column_of(values, sets, chosen, gone)
    out = np.arange(len(values)) < gone
    y = SensitiveCounts("y", np.arange(len(values)), np.array(secret), np.ones(len(values), np.int64))
    aligned = ColumnRecoding.from_sets("x", values, chosen, sets, c.n_values)
    expected = recoding_losses(Recoding(np.ones(len(values), np.int64), [aligned], out, y))
    found = column_losses(c)
    for name in ("granularity", "certainty_penalty", "monotone_entropy", "mutual_information_utility"):
        assert found[name] == pytest.approx(expected[name], abs=1e-9), name
    assert found["mutual_information_loss"] == pytest.approx(expected["mutual_information_loss"], abs=1e-9)
    assert found["nonuniform_entropy"] == pytest.approx(expected["nonuniform_entropy"], abs=1e-6)
    before, after = np.zeros((c.n_values, 3)), np.zeros((len(sets), 3))
    np.add.at(before, (values, secret), 1)
    np.add.at(after, (chosen[gone:], secret[gone:]), 1)
    told = private_information(c, before, after)
    assert told is not None
    assert told == pytest.approx((expected["private_information_utility"], expected["private_information_loss"]), abs=1e-9)


@settings(max_examples=50, deadline=None)
@given(recoded())
def test_entropies_equal_their_cell_by_cell_definition(
    case: tuple[list[int], list[list[int]], list[int], int, list[int]],
) -> None:
    values, sets, chosen, gone, _ = case
    n = len(values)
    p = {v: values.count(v) / n for v in set(values)}
    everything = list(range(max(max(s) for s in sets) + 1))
    monotone = loss = utility = 0.0
    for i, (v, s) in enumerate(zip(values, chosen, strict=True)):
        inside = everything if i < gone else sets[s]
        mass = sum(p.get(x, 0.0) for x in inside)
        monotone += -mass * sum(p[x] / mass * math.log2(p[x] / mass) for x in inside if x in p)
        loss -= math.log2(p[v] / mass)
        utility -= math.log2(mass)
    found = column_losses(column_of(values, sets, chosen, gone))
    assert found["monotone_entropy"] == pytest.approx(monotone / n, abs=1e-9)
    assert found["mutual_information_loss"] == pytest.approx(loss / n, abs=1e-9)
    assert found["mutual_information_utility"] == pytest.approx(utility / n, abs=1e-9)


def test_numbers_lose_by_width_and_a_blank_cell_everything() -> None:
    """[30, 39] in [17, 90] is .1232877 of METHODS; a label with a missing value among its numbers counts values."""
    values = np.array([17.0, 30.0, 39.0, 90.0])
    c = PublishedColumn(
        np.array([1, 1, 1, 1]), np.array([0, 1, 0]), np.array([0, 1, 2, 3]), np.array([0, 1, 3, 4]), numbers=values
    )
    assert column_losses(c)["granularity"] == pytest.approx(9 / 73)
    blank = PublishedColumn(np.array([1, 1]), np.array([2]), np.array([0, 1]), np.array([0, 2]), numbers=np.array([5.0, np.nan]))
    assert column_losses(blank)["granularity"] == 1.0
    one = PublishedColumn(np.array([4]), np.array([3]), np.array([0]), np.array([0, 1]), lost=1)
    assert (column_losses(one)["granularity"], column_losses(one)["certainty_penalty"]) == (0.0, 0.0)


def test_what_cannot_be_the_original_recoded_has_no_information_loss() -> None:
    """A value more often than in the original, another number of records, a value that never was: drawn anew, not recoded."""
    sets = {"members": np.array([0, 1]), "starts": np.array([0, 1, 2])}
    same = PublishedColumn(np.array([2, 2]), np.array([2, 2]), **sets)
    assert column_losses(same)["mutual_information_loss"] == 0.0
    for before, after in (([2, 2], [3, 1]), ([2, 2], [2, 3]), ([2, 2], [2, 1])):
        found = column_losses(PublishedColumn(np.array(before), np.array(after), **sets))
        assert found["mutual_information_loss"] is None
        assert found["nonuniform_entropy"] is None
    never = PublishedColumn(np.array([4, 0]), np.array([3, 1]), **sets)
    assert column_losses(never)["mutual_information_utility"] is None
    assert private_information(same, np.array([[2, 0], [0, 2]]), np.array([[1, 1], [1, 1]])) is None


def test_apart_and_blank_at_their_limits() -> None:
    def made(*sets: list[int]) -> PublishedColumn:
        starts = np.concatenate(([0], np.cumsum([len(s) for s in sets])))
        return PublishedColumn(np.ones(3, np.int64), np.ones(len(sets), np.int64), np.array([x for s in sets for x in s]), starts)

    assert made([0, 1], [2]).apart
    assert not made([0, 1], [1, 2]).apart
    assert made([0, 1], [2], [0, 1, 2]).apart, "blank cells do not make groups overlap"
    assert made([0, 1], [0, 1, 2]).blank.tolist() == [False, True]
    assert made([0, 1], [2]).spread().tolist() == pytest.approx([0.25, 0.25, 0.5])


numbers = st.lists(st.integers(-3, 3).map(float), min_size=1, max_size=15)


@settings(max_examples=30, deadline=None)
@given(numbers, numbers)
def test_distances_equal_scipy(a: list[float], b: list[float]) -> None:
    from scipy import stats

    x, y = np.array(a), np.array(b)
    assert kolmogorov_smirnov(x, y) == pytest.approx(_ks(x, y))
    assert wasserstein(x, y) == pytest.approx(stats.wasserstein_distance(x, y))
    assert ranks(x).tolist() == stats.rankdata(x).tolist()


def _ks(x: np.ndarray, y: np.ndarray) -> float:
    return max(abs((x <= t).mean() - (y <= t).mean()) for t in np.concatenate((x, y)))


def test_distances_by_hand_and_missing_numbers_left_out() -> None:
    assert total_variation(np.array([0.2, 0.8]), np.array([0.5, 0.5])) == pytest.approx(0.3)
    assert hellinger(np.array([0.36, 0.64]), np.array([0.64, 0.36])) == pytest.approx(math.sqrt(0.04))
    gone = np.array([np.nan, 1.0])
    assert (kolmogorov_smirnov(gone, np.array([1.0])), wasserstein(gone, np.array([3.0]))) == (0.0, 2.0)
    assert kolmogorov_smirnov(np.array([np.nan]), np.array([1.0])) == 0.0


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), min_size=2, max_size=30))
def test_cramers_v_equals_scipy(rows: list[tuple[int, int]]) -> None:
    from scipy.stats.contingency import association, crosstab

    x, y = np.array([r[0] for r in rows]), np.array([r[1] for r in rows])
    found = cramers_v(contingency(x, y, 4), 4)
    if len(set(x.tolist())) < 2 or len(set(y.tolist())) < 2:
        assert math.isnan(found)
        return
    expected = association(crosstab(x, y).count, method="cramer", correction=False)
    assert found == pytest.approx(expected)


def test_contingency_is_the_same_in_both_ways_of_counting() -> None:
    rng = np.random.default_rng(2)
    x, y = rng.integers(0, 5, 50), rng.integers(0, 7, 50)
    dense = contingency(x, y, 7)
    sparse = contingency(x, y, 10_000_000)
    assert dense[1].tolist() == sparse[1].tolist()
    assert table_distance(dense, dense) == 0.0
    slow = sum(abs(((x == i) & (y == j)).mean() - ((y % 5 == i) & (x == j)).mean()) for i in range(5) for j in range(7)) / 2
    assert table_distance(dense, contingency(y % 5, x, 7)) == pytest.approx(slow)


def test_correlations_equal_numpy_over_records_that_have_both() -> None:
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=40), rng.normal(size=40)
    b[:5] = np.nan
    found = correlations([a, b, np.ones(40)])
    assert found[0, 1] == pytest.approx(np.corrcoef(a[5:], b[5:])[0, 1])
    assert math.isnan(found[0, 2])


def test_propensity_equals_scikit_learn_and_has_the_expected_value_of_chance() -> None:
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(5)
    a, b = rng.normal(size=(300, 2)), rng.normal(0.4, 1.0, size=(200, 2))
    found = propensity(a, b)
    x, y = np.vstack((a, b)), np.repeat([0, 1], (300, 200))
    scores = LogisticRegression(C=np.inf, tol=1e-8).fit(x, y).predict_proba(x)[:, 1]
    assert found.pmse == pytest.approx(((scores - 0.4) ** 2).mean(), rel=1e-3)
    assert found.most == pytest.approx(0.24)
    ratios = []
    for _ in range(60):
        original = rng.normal(size=(250, 3))
        ratios.append(propensity(original, original[rng.integers(0, 250, 250)]).ratio)
    assert 0.75 < np.mean(ratios) < 1.25, "1 on average for records drawn anew from the original"


def test_propensity_with_columns_that_do_not_vary_or_repeat() -> None:
    rng = np.random.default_rng(6)
    x = rng.normal(size=(100, 1))
    wide = np.hstack((x, 2 * x + 1, np.ones((100, 1))))
    assert propensity(wide, wide + [5.0, 10.0, 0.0]).parameters == 2
    assert propensity(wide, wide).pmse == 0.0


def test_query_answers_by_hand() -> None:
    """Values 0 0 1 2 as {0, 1} thrice and {2}: asked for 0, a reader says 1.5 where 2 is right."""
    c = PublishedColumn(np.array([2, 1, 1]), np.array([3, 1]), np.array([0, 1, 2]), np.array([0, 2, 3]))
    asked = Queried(c, np.array([0, 0, 1, 2]), np.array([0, 0, 0, 1]))
    assert _error([asked], [np.array([1.0, 0.0, 0.0])]) == pytest.approx(0.25)
    assert _error([asked], [np.array([0.0, 0.0, 1.0])]) == 0.0
    assert _error([asked, asked], [np.array([1.0, 0, 0]), np.array([0, 1.0, 0])]) == pytest.approx(0.75 / (FLOOR * 4))
    assert query_errors([asked], queries=20, seed=1) == query_errors([asked], queries=20, seed=1)


def test_test_rows_are_taken_out_of_the_release_as_often_as_they_are_there() -> None:
    before, after = [np.array([0, 0, 1])], [np.array([0, 0, 0, 1, 2])]
    rest = _without(before, after, np.array([0, 1]), np.random.default_rng(0))
    assert sorted(after[0][rest].tolist()) == [0, 1, 2]
    assert len(_without(before, after, np.array([2]), np.random.default_rng(0))) == 4


def test_auc_equals_scikit_learn() -> None:
    from sklearn.metrics import roc_auc_score

    rng = np.random.default_rng(4)
    y = rng.integers(0, 3, 60).astype(float)
    chances = rng.dirichlet(np.ones(3), 60).round(1)
    expected = np.mean([roc_auc_score(y == c, chances[:, int(c)]) for c in range(3)])
    assert _auc(chances, np.arange(3.0), y) == pytest.approx(expected)


def test_a_copy_is_as_good_as_the_original_and_noise_is_worth_nothing() -> None:
    rng = np.random.default_rng(8)
    x = rng.integers(0, 3, (600, 2)).astype(float)
    y = (x[:, 0] + rng.integers(0, 2, 600) > 1.5).astype(float)
    keys = [x[:, 0].astype(int), x[:, 1].astype(int), y.astype(int)]
    copy = model_scores("y", Learned(x, x, x, y, y, (keys, keys), False), seed=1)
    assert {(s.model, s.score) for s in copy} >= {("logistic regression", "accuracy"), ("random forest", "AUC")}
    for s in copy:
        assert abs(s.before - s.after) < 0.06, s
    shuffled = rng.permutation(y)
    noise = model_scores("y", Learned(x, x, x, y, shuffled, (keys, [*keys[:2], shuffled.astype(int)]), False), seed=1)
    for s in noise:
        assert s.after < s.before - 0.1, s
