"""Summaries: right numbers, and one person never shows."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.errors import DataError, UsageError
from shoal.registry.answer.analyse import combine, everybody_unique, expected_crowd, smallest_group, unique_share
from shoal.registry.records.summary import GROUP_SIZES, STATISTICS, largest_moves, statistics, summarize


def share(p: np.ndarray, k: int) -> float:
    return float((p * (1 - p) ** (k - 1)).sum())


populations = st.lists(st.integers(1, 400), min_size=3, max_size=60).map(lambda c: [x + 1000 // len(c) for x in c])
skewed = st.builds(
    lambda exponent, cells, people: (
        np.maximum(1, np.round(people * np.arange(1, cells + 1) ** -exponent)).astype(int).tolist() + [1000]
    ),
    st.floats(0, 1.5),
    st.integers(5, 300),
    st.integers(50, 3000),
)


def slow_statistics(counts: list[int]) -> dict[str, float]:
    p = [c / sum(counts) for c in counts if c]
    out = {"kappa": sum(x * math.log(x) for x in p), "hmin": -math.log(max(p))}
    for r in range(2, 7):
        out[f"h{r}"] = -math.log(sum(x**r for x in p)) / (r - 1)
    for k in GROUP_SIZES:
        out[f"unique_{k}"] = sum(x * (1 - x) ** (k - 1) for x in p)
    return out


@given(populations)
@settings(max_examples=50, deadline=None)
def test_statistics_equal_their_definitions(counts):
    fast, slow = statistics(counts), slow_statistics(counts)
    for name in STATISTICS:
        assert fast[name] == pytest.approx(slow[name], rel=1e-9, abs=1e-12)


@given(st.one_of(populations, skewed))
@settings(max_examples=30, deadline=None)
def test_largest_move_is_the_largest_over_every_person_and_cell(counts):
    moves, here = largest_moves(counts), slow_statistics(counts)
    changed = [[*counts, 1]]
    for i in sorted({counts.index(c) for c in counts}):
        changed.append([*counts[:i], counts[i] + 1, *counts[i + 1 :]])
        changed.append([*counts[:i], counts[i] - 1, *counts[i + 1 :]])
    neighbours = [slow_statistics(c) for c in changed]
    for name in STATISTICS:
        worst = max(abs(n[name] - here[name]) for n in neighbours)
        assert moves[name] == pytest.approx(worst, rel=1e-6, abs=1e-9)


@given(st.one_of(populations, skewed), st.data())
@settings(max_examples=150, deadline=None)
def test_one_person_more_or_less_changes_nothing_that_is_published(counts, data):
    before = summarize(counts)
    i = data.draw(st.integers(0, len(counts)))
    if i == len(counts):
        after = [*counts, 1]
    else:
        step = data.draw(st.sampled_from([1, -1]))
        after = [*counts[:i], counts[i] + step, *counts[i + 1 :]]
    if sum(after) < 1000:
        return
    assert summarize(after, previous=before) == before


@given(st.one_of(populations, skewed))
@settings(max_examples=60, deadline=None)
def test_one_person_moves_every_number_by_at_most_half_its_step(counts):
    moves = largest_moves(counts)
    for name, rounded in summarize(counts).statistics.items():
        assert rounded.step >= 0.01
        assert moves[name] <= rounded.step / 2


@given(st.one_of(populations, skewed), st.integers(1, 3_000_000))
@settings(max_examples=150, deadline=None)
def test_the_interval_holds_the_exact_share(counts, k):
    p = np.array(counts) / sum(counts)
    found = unique_share(summarize(counts), k)
    exact = share(p, k)
    assert found.low - 1e-12 <= exact <= found.high + 1e-12


@given(st.one_of(populations, skewed), st.one_of(populations, skewed), st.integers(2, 100_000), st.floats(0, 1))
@settings(max_examples=80, deadline=None)
def test_margins_bound_the_joint_whatever_the_dependence(first, second, k, mix):
    n = min(len(first), len(second))
    a, b = np.array(first[:n], dtype=float), np.array(second[:n], dtype=float)
    if a.sum() < 1000 or b.sum() < 1000:
        return
    together = mix * np.outer(a / a.sum(), b / b.sum()) + (1 - mix) * np.diag(a / a.sum())
    joint = np.round(together * 10**7).astype(int)
    rows, columns = joint.sum(axis=1), joint.sum(axis=0)
    if (rows == 0).any() or (columns == 0).any():
        return
    exact = share(joint[joint > 0] / joint.sum(), k)
    found = combine([summarize(rows, cells=n), summarize(columns, cells=n)], k)
    assert found.grade == "C"
    assert found.low - 1e-12 <= exact <= found.high + 1e-12


def test_expected_crowd_by_hand():
    found = expected_crowd(summarize([100] * 50), 51)
    assert found.low <= 1 + 50 / 50 <= found.high


def test_everybody_unique_is_near_the_exact_value_inside_its_validity():
    from shoal.prediction.group.uniqueness import uniqueness

    counts = [300] * 65 + [10 * (95 - i) for i in range(65, 95)]
    exact = uniqueness(np.array(counts) / sum(counts), group_size=10).value
    found = everybody_unique(summarize(counts, cells=95), 10)
    assert found.value == pytest.approx(exact, rel=0.05)


def test_smallest_group_sentences():
    assert smallest_group(unique_share(summarize([10] * 500), 400), 400)[0] == 1
    size, sentence = smallest_group(unique_share(summarize([5000] * 2), 1000), 1000)
    assert (size, "may be one of a kind" in sentence) == (
        1,
        True,
    )  # two cells: at most 0.74 people, so nobody is promised company
    assert smallest_group(unique_share(summarize([5000] * 2), 1_000_000), 1_000_000)[0] == 1


def test_refusals():
    with pytest.raises(DataError, match="fewer than 1,000"):
        summarize([500, 499])
    with pytest.raises(UsageError, match="whole numbers"):
        summarize([0.5, 1000.0])
    with pytest.raises(UsageError, match="occupied"):
        summarize([1000] * 5, cells=4)
    with pytest.raises(UsageError, match="whole number"):
        unique_share(summarize([1000] * 5), 0)


@pytest.mark.parametrize(("lonely", "crowd"), [(5000, 40), (1000, 1), (2000, 20_000)])
def test_a_group_that_is_much_of_the_population(lonely, crowd):
    """People asked without return: the whole village is asked, and everybody who is alone in their cell is unique."""
    counts = [1] * lonely + [crowd]
    n = lonely + crowd
    summary = summarize(counts)
    found = unique_share(summary, summary.fewest)
    assert found.low <= lonely / n * 1.0 <= found.high
    assert found.grade == "B"
    assert found.value >= 0.9 * lonely / n
    assert unique_share(summary, n * 2).grade == "C"


def test_codings_know_how_many_values_they_can_have():
    from shoal.registry.records.vocabulary import CHAINS, MOST_VALUES

    assert set(MOST_VALUES) == {code for chain in CHAINS for code in chain}
    for chain in CHAINS:
        sizes = [MOST_VALUES[code] for code in chain]
        assert sizes == sorted(sizes, reverse=True)


@pytest.mark.parametrize(("age", "alone"), [(0, 0.614156), (70, 0.666423), (85, 0.850589), (94, 0.983977)])
def test_one_person_in_the_age_pyramid(age, alone):
    """Reference values of METHODS §6: group of 40, ages 0–94."""
    from shoal.registry.answer.analyse import one_person

    weights = np.array([1.0 if i < 65 else (95 - i) / 30 for i in range(95)])
    assert one_person(weights[age] / weights.sum(), 40)["alone"] == pytest.approx(alone, abs=5e-7)
