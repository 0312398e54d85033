"""Exactly at a limit, and one step beside it; and sentences that a table could refute."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.errors import DataError, UsageError
from shoal.kernels.group import Memberships
from shoal.measures.classes import anonymity, closeness, diversity, entropy_risk, missing, risk
from shoal.measures.classes.individual import benedetti_franconi, impact
from shoal.measures.classes.missing import adds_up, crowds, drop_missing
from shoal.measures.classes.risk import presence
from shoal.measures.metrics import lookup
from shoal.measures.observer import entropy
from shoal.measures.result.figures import Figures
from shoal.measures.subsets import column_sets as subsets
from shoal.measures.subsets.suda import OVERLAP, suda
from shoal.model.counts.classes import ClassCounts, SensitiveCounts
from shoal.model.roles import MissingPolicy


def secret(*rows: list[int]) -> ClassCounts:
    return ClassCounts([sum(r) for r in rows], sensitive={"d": SensitiveCounts.from_dense("d", list(rows))})


# --- class sizes ------------------------------------------------------------------------------------------------------


@given(st.lists(st.integers(1, 9) | st.integers(1, 2**45), min_size=1, max_size=12))
def test_quartiles_are_those_of_numpy(sizes: list[int]) -> None:
    found = anonymity.size_table(np.array(sizes))
    assert [found.q1, found.median, found.q3] == np.quantile(sizes, (0.25, 0.5, 0.75)).tolist()
    assert [type(q) for q in (found.q1, found.median, found.q3)] == [float] * 3


@pytest.mark.parametrize("classes", [entropy_risk.FEW, entropy_risk.FEW + 1])
def test_cells_are_counted_alike_for_few_and_many_classes(classes: int) -> None:
    codes = np.arange(classes)
    counts = ClassCounts(np.ones(classes, dtype=int), columns=("a", "b"), codes=(codes % 7 - 1, codes))
    assert entropy_risk.distance_from_uniform(counts)["cells"] == 7 * classes


# --- diversity --------------------------------------------------------------------------------------------------------


def test_recursive_diversity_is_strict_at_its_limit() -> None:
    c = secret([6, 2, 1])  # r1 = 6 against c (2 + 1)
    assert diversity.recursive_diversity(c, "d", c=2.0) == 1
    assert diversity.recursive_diversity(c, "d", c=2.001) == 2
    assert diversity.recursive_diversity(c, "d", c=6.0) == 2
    assert diversity.recursive_diversity(c, "d", c=6.001) == 3
    assert diversity.least_c(c, "d", l=2) == 2.0
    assert not diversity.is_recursive_diverse(c, "d", c=2.0, l=2)
    assert diversity.is_recursive_diverse(c, "d", c=2.000000001, l=2)


def test_c_is_taken_as_written() -> None:
    """r1 / rest = 1.003 lies between two hundredths, and a long decimal is not shortened either."""
    c = secret([1003, 1000])
    assert diversity.recursive_diversity(c, "d", c=1.003) == 1
    assert diversity.recursive_diversity(c, "d", c=1.004) == 2
    assert diversity.recursive_diversity(c, "d", c=1.0030000000001) == 2
    assert diversity.recursive_diversity(c, "d", c=1.0029999999999) == 1
    with pytest.raises(UsageError):
        diversity.recursive_diversity(c, "d", c=-0.1)
    assert diversity.recursive_diversity(c, "d", c=0) == 1


def test_l_of_one_asks_for_nothing() -> None:
    """A class with one value: r1 < c · r1 fails for c of at most 1, so l = 1 is met by convention, and the words say so."""
    c = secret([4, 0], [2, 2])
    assert diversity.recursive_diversity(c, "d", c=1) == 1
    assert diversity.is_recursive_diverse(c, "d", c=1, l=1)
    assert not diversity.is_recursive_diverse(c, "d", c=1000, l=2)
    assert diversity.least_c(c, "d", l=1) == 0.0
    assert "always true" not in lookup("recursive_diversity").explained.explain()
    assert "asks for nothing" in lookup("recursive_diversity").explained.assumption
    with pytest.raises(UsageError):
        diversity.least_c(c, "d", l=0)


def test_least_c_is_infinite_where_values_lack() -> None:
    c = secret([3, 1, 0], [1, 1, 1])
    assert diversity.least_c(c, "d", l=2) == 3.0
    assert diversity.least_c(c, "d", l=3) == math.inf


def test_whole_diversity_at_its_tolerance() -> None:
    assert [diversity.whole_diversity(x) for x in (3 - 1e-10, 3 - 1e-8, 3.0, 2.0)] == [3, 2, 3, 2]


# --- closeness --------------------------------------------------------------------------------------------------------


def test_enhanced_beta_is_infinite_just_above_its_limit() -> None:
    """A value with share q may gain at most −ln q; for q = 1/2 that is 0.693: p = 0.84 is allowed, p = 0.85 is not."""
    allowed, beyond = secret([84, 16], [16, 84]), secret([85, 15], [15, 85])
    assert closeness.enhanced_beta_likeness(allowed, "d") == pytest.approx(0.68)
    assert closeness.basic_beta_likeness(allowed, "d") == pytest.approx(0.68)
    assert closeness.enhanced_beta_likeness(beyond, "d") == math.inf
    assert closeness.basic_beta_likeness(beyond, "d") == pytest.approx(0.7)


def test_delta_disclosure_is_infinite_only_where_a_value_lacks() -> None:
    assert closeness.delta_disclosure(secret([3, 1], [1, 3]), "d") == pytest.approx(math.log(2))
    assert closeness.delta_disclosure(secret([4, 0], [1, 3]), "d") == math.inf
    assert closeness.delta_disclosure(secret([4, 0], [3, 0]), "d") == 0.0


tables = st.integers(2, 4).flatmap(
    lambda m: st.lists(st.lists(st.integers(0, 6), min_size=m, max_size=m).filter(any), min_size=2, max_size=5)
)


@settings(max_examples=60, deadline=None)
@given(tables)
def test_what_the_sentences_of_t_and_beta_promise(rows: list[list[int]]) -> None:
    c = secret(*rows)
    counts = np.array(rows, dtype=float)
    p, q = counts / counts.sum(axis=1, keepdims=True), counts.sum(axis=0) / counts.sum()
    gained = np.maximum(p - q, 0).sum(axis=1).max()  # the set of values that becomes most likely
    assert gained <= closeness.t_closeness(c, "d", distance="equal") + 1e-12
    there = q > 0
    assert (p[:, there] / q[there]).max() <= 1 + closeness.basic_beta_likeness(c, "d") + 1e-12


def test_the_ordered_distance_bounds_no_gain() -> None:
    c = secret([0, 10, 0, 0, 0], [5, 5, 5, 5, 5])
    gain = 1 - 15 / 35
    assert closeness.t_closeness(c, "d", distance="ordered") < gain <= closeness.t_closeness(c, "d", distance="equal")
    assert "equal distance" in lookup("t").explained.attacker
    assert "1 + β" in lookup("basic_beta").explained.attacker


# --- classes, crowds and risk ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("members", "named"), [(9, False), (10, True), (11, True)])
def test_subpopulations_are_named_from_ten_members(members: int, named: bool) -> None:
    c = ClassCounts((20, members), columns=("town",), codes=([0, 1],))
    groups = anonymity.subpopulations(c, "town", names={0: "Delft", 1: "Urk"}).groups
    assert [g.name for g in groups] == ["Delft", "Urk" if named else None]


@pytest.mark.parametrize(
    ("threshold", "expected"), [(0.0, 16), (0.1, 16), (0.2, 5), (0.249, 5), (0.25, 1), (0.2501, 1), (0.999, 1), (1.0, 0)]
)
def test_members_above_a_threshold(threshold: float, expected: int) -> None:
    """A class of n is above where 1/n exceeds the threshold: not at it."""
    c = ClassCounts((1, 4, 5, 6))
    assert risk.members_above(c, threshold) == expected == sum(n for n in (1, 4, 5, 6) if 1 / n > threshold)


@pytest.mark.parametrize("threshold", [-0.01, 1.01, math.nan])
def test_a_threshold_is_a_chance(threshold: float) -> None:
    with pytest.raises(UsageError):
        risk.members_above(ClassCounts((1,)), threshold)


@pytest.mark.parametrize(
    ("release", "population", "says"),
    [
        ((2, -1), (3, 3), "negative"),
        ((2, 4), (3, 3), "more members"),
        ((0, 0), (3, 3), "no records"),
        ((), (), "no records"),
        ((1.5, 2.0), (3, 3), "whole numbers"),
    ],
)
def test_sizes_that_cannot_be_are_refused(release: tuple, population: tuple, says: str) -> None:
    with pytest.raises(DataError, match=says):
        risk.checked_population(release, population)


def test_a_release_may_be_its_whole_population() -> None:
    assert risk.journalist_max((2, 3), (2, 3)) == 0.5
    assert risk.marketer((2, 3)) == 0.4
    with pytest.raises(UsageError):
        risk.checked_population((1, 2), (1, 2, 3))


def test_people_who_are_left_when_rows_are_dropped() -> None:
    """Two people with a missing age, one of whom has another row too."""
    t = pa.table({"id": [1, 1, 2, 3, 3, 4], "age": [30, None, 30, 41, 50, None], "sex": list("ffmfff")})
    m = shoal.measure(t, qi=["age", "sex"], unit="id", missing="drop")
    assert (m.people, m.records, m.counts.n_members) == (3, 4, 4)
    assert shoal.measure(t, qi=["age", "sex"], unit="id").people == 4
    once = ClassCounts((2, 1), columns=("age",), codes=([0, -1],), unit="id", n_people=3)
    assert adds_up(once)
    assert drop_missing(once).n_people == 2
    twice = ClassCounts((2, 1), columns=("age",), codes=([0, -1],), unit="id", n_people=2)
    assert not adds_up(twice)
    assert drop_missing(twice).n_people is None
    assert drop_missing(twice, Memberships(np.array([0, 0, 1]), np.array([7, 8, 8]))).n_people == 2


def test_numbers_under_a_rule_for_missing_values_are_those_of_its_crowds() -> None:
    c = ClassCounts((1, 2, 1), columns=("age", "sex"), codes=([0, 0, -1], [0, 1, 1]))
    wild = Figures(c, policy=MissingPolicy.WILDCARD)
    assert (wild.k, wild.unique, wild.unique_share, wild.people_at[1], wild.people_at[5]) == (1, 1, 0.25, 1, 4)
    assert wild.risk.prosecutor.mean == pytest.approx((1 + 2 / 3 + 1 / 3) / 4)
    assert wild.risk.prosecutor.above["0.33"] == 4
    assert Figures(c, policy=MissingPolicy.DROP).unique == 1
    assert crowds(c, MissingPolicy.DROP).n_members == 3


def test_the_wildcard_rule_is_left_out_above_so_many_patterns(monkeypatch: pytest.MonkeyPatch) -> None:
    c = ClassCounts((1, 2, 1), columns=("age", "sex"), codes=([0, 0, -1], [0, 1, 1]))  # two patterns of missing columns
    monkeypatch.setattr(missing, "MOST_PATTERNS", 2)
    assert missing.under_all_policies(c)["wildcard"]["k"] == 1
    monkeypatch.setattr(missing, "MOST_PATTERNS", 1)
    assert missing.under_all_policies(c)["wildcard"]["k"] is None


def test_correlations_need_two_points_with_spread() -> None:
    assert anonymity.pearson(np.array([1.0]), np.array([1.0])) is None
    assert anonymity.pearson(np.array([1.0, 2.0]), np.array([5.0, 4.0])) == -1.0
    assert anonymity.pearson(np.array([1.0, 2.0]), np.array([3.0, 3.0])) is None
    assert anonymity.spearman(np.array([1.0, 1.0, 2.0]), np.array([1.0, 1.0, 9.0])) == pytest.approx(1.0)


def test_shares_of_the_suda_score_overlap_and_the_result_says_so() -> None:
    c = ClassCounts((1, 1, 1, 1), columns=("a", "b"), codes=([0, 0, 1, 1], [0, 1, 0, 1]))
    found = suda(c)
    assert sum(found.by_column.values()) == 2.0
    assert found.to_json()["remark"] == OVERLAP


def four_columns() -> ClassCounts:
    """Records 0, 1 and 3 are alone; two are alike, and three.

    Minimal uniques by hand: record 0 {b, c}; record 1 {a, c} and {b, c}; record 3 {a} and {b, c}. Two records or more have none.
    """
    codes = ([0, 0, 0, 1, 2], [0, 0, 1, 1, 2], [0, 1, 0, 1, 0])
    return ClassCounts((1, 1, 2, 1, 3), columns=("a", "b", "c"), codes=codes)


def test_suda_scores_by_hand() -> None:
    found = suda(four_columns())
    assert found.score.tolist() == [1.0, 2.0, 0.0, 3.0, 0.0]  # a set of one column weighs 2!, of two 1!
    assert found.by_size == {1: 1, 2: 4}
    assert found.share[[0, 1, 3]] == pytest.approx(np.array([[0, 1, 1], [1 / 2, 1 / 2, 1], [2 / 3, 1 / 3, 1 / 3]]))
    assert found.by_column == pytest.approx({"a": 3 / 6, "b": 3 / 6, "c": 4 / 6})
    told = found.to_json()
    assert (told["records_with_msu"], told["msus"], told["max_score"]) == (3, 5, 3.0)
    assert suda(four_columns(), up_to=1).score.tolist() == [0.0, 0.0, 0.0, 2.0, 0.0]
    scaled = suda(four_columns(), scores="scaled")
    assert scaled.score.tolist() == pytest.approx([1 / 3, 2 / 3, 0.0, 4 / 3, 0.0])  # (2² − 1)/3 and (2 − 1)/3


def test_dis_suda_scores_by_hand() -> None:
    """Three alone and one pair: with a tenth of the people, a unique match is right once in 0.3 / (0.3 + 2 · 0.9) = 1/7."""
    found = suda(four_columns(), sampling_fraction=0.1).dis
    power = [s**1.25 for s in (1, 2, 3)]  # 1 + (8 − 3)/20
    scale = sum(1 / p for p in power)
    assert found == pytest.approx([*(1 / (1 + 3 * 6 / (p * scale)) for p in power[:2]), 0, 1 / (1 + 18 / (power[2] * scale)), 0])
    assert suda(four_columns(), sampling_fraction=1.0).dis.tolist() == [1.0, 1.0, 0.0, 1.0, 0.0], "the table is the population"
    nobody = suda(ClassCounts((2, 2), columns=("a",), codes=([0, 1],)))
    assert (nobody.dis.tolist(), nobody.by_column) == ([0.0, 0.0], {"a": 0.0})


def test_a_missing_value_may_be_part_of_a_minimal_unique_or_not() -> None:
    c = ClassCounts((1, 1, 1), columns=("a", "b"), codes=([-1, 0, 0], [0, 0, 1]))
    assert suda(c).score.tolist() == [1.0, 1.0, 1.0]
    assert suda(c, missing="ignore").score.tolist() == [0.0, 1.0, 1.0]
    both = ClassCounts((1, 1, 1), columns=("a", "b"), codes=([-1, -1, 0], [0, 1, 0]))
    assert suda(both, missing="ignore").by_size == {1: 2}, "record 0 is alone only by its missing value"


def test_limits_of_suda(monkeypatch: pytest.MonkeyPatch) -> None:
    two = ClassCounts((1, 1), columns=("a", "b"), codes=([0, 1], [0, 1]))
    for words in ({"up_to": 0}, {"sampling_fraction": 0.0}, {"sampling_fraction": 1.01}):
        with pytest.raises(UsageError):
            suda(two, **words)
    wide = ClassCounts((1, 1), columns=[f"c{i}" for i in range(61)], codes=[[0, 1]] * 61)
    with pytest.raises(UsageError, match="61 columns have 61 sets"):
        suda(wide, up_to=1)
    monkeypatch.setattr("shoal.measures.subsets.suda.MOST_SETS", 3)
    assert suda(two).by_size == {1: 4}
    monkeypatch.setattr("shoal.measures.subsets.suda.MOST_SETS", 2)
    with pytest.raises(UsageError, match="2 columns have 3 sets"):
        suda(two)


def test_sets_of_columns_at_their_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [subsets.separation(ClassCounts(sizes)) for sizes in ((1,), (2,), (1, 1))] == [1.0, 0.0, 1.0]
    two = ClassCounts((1, 1), columns=("a", "b"), codes=([0, 1], [0, 0]))
    monkeypatch.setattr(subsets, "LARGEST_NUMBER", 3)
    assert [s.columns for s in subsets.worst_subsets(subsets.all_subsets(two, up_to=2))] == [("a",), ("a", "b"), ("b",)]
    monkeypatch.setattr(subsets, "LARGEST_NUMBER", 2)
    with pytest.raises(UsageError, match="2 columns have 3 subsets"):
        subsets.all_subsets(two, up_to=2)


def test_what_a_column_adds() -> None:
    c = ClassCounts((1, 1, 2), columns=("a", "b"), codes=([0, 0, 1], [0, 1, 1]))
    found = subsets.column_contributions(c)
    assert [(x.column, x.unique_alone, x.unique_without, x.adds) for x in found] == [("b", 1, 0, 2), ("a", 0, 1, 1)]
    for members, adds in ((1, 0), (2, 0)):
        (alone,) = subsets.column_contributions(ClassCounts((members,), columns=("a",), codes=([0],)))
        assert alone.adds == adds, "one person is alone without any column"


def test_individual_risk_at_the_edge_of_the_weights() -> None:
    assert benedetti_franconi([1, 3], [1.0, 3.0]).tolist() == [1.0, pytest.approx(1 / 3)]
    assert benedetti_franconi([2], [2 * (1 - 0.9e-9)])[0] == pytest.approx(0.5)
    with pytest.raises(DataError):
        benedetti_franconi([2], [2 * (1 - 1.1e-9)])
    with pytest.raises(DataError):
        benedetti_franconi([0], [2.0])


# --- an observer ------------------------------------------------------------------------------------------------------


def test_grades_of_reiter_and_rubin_at_their_limits() -> None:
    assert entropy.reiter_rubin([0.5, 0.5], 0) == "beyond suspicion"
    assert entropy.reiter_rubin([0.5, 0.3, 0.2], 0) == "probable innocence"
    assert entropy.reiter_rubin([0.501, 0.3, 0.199], 0) == "possible innocence"
    assert entropy.reiter_rubin([0.95, 0.03, 0.02], 0) == "possible innocence"
    assert entropy.reiter_rubin([0.951, 0.03, 0.019], 0) == "exposed"
    assert entropy.reiter_rubin([1.0], 0) == "exposed"


def test_a_subject_is_one_of_the_candidates() -> None:
    for subject in (-1, 2):
        with pytest.raises(UsageError):
            entropy.reiter_rubin([0.5, 0.5], subject)
    with pytest.raises(UsageError):
        entropy.is_totally_anonymous([0.5, 0.5], 0)
    assert entropy.is_totally_anonymous([0.4, 0.3, 0.3], 0)
    for q in (0.0, 1.01):
        with pytest.raises(UsageError):
            entropy.quantile_entropy([0.5, 0.5], q)
    assert entropy.quantile_entropy([0.5, 0.25, 0.25], 0.5) == 0.0
    assert entropy.quantile_entropy([0.5, 0.25, 0.25], 0.51) == 1.0
    assert entropy.quantile_entropy([0.5, 0.25, 0.25], 1.0) == math.log2(3)


def test_the_marketer_weighs_each_class_by_its_records_in_the_release() -> None:
    release, population = (1, 3, 2, 0), (4, 3, 10, 5)
    assert risk.marketer(release, population) == pytest.approx((1 / 4 + 3 / 3 + 2 / 10) / 6)
    assert risk.journalist_mean(release, population) == risk.marketer(release, population)
    names = (["a", "b", "c", "d"],)
    table = ClassCounts((1, 3, 2), columns=("zip",), codes=([0, 1, 2],), categories=names)
    register = ClassCounts(population, columns=("zip",), codes=([0, 1, 2, 3],), categories=names)
    found = Figures(table, presence=presence(table, register)).risk
    assert found.marketer == pytest.approx(1.45 / 6)
    assert found.journalist.max == pytest.approx(1 / 3)
    assert found.average == found.prosecutor.mean == pytest.approx(3 / 6)


# --- by plain values: what each measure takes the smallest, the largest or the mean of ------------------------------------


def classes_of(sizes: list[int], codes: list[int], texts: list[str], **more: object) -> ClassCounts:
    return ClassCounts(sizes, columns=("zip",), codes=(codes,), categories=(pa.array(texts),), **more)  # type: ignore[arg-type]


def test_only_released_classes_count_against_a_population() -> None:
    release, population = (1, 3, 2, 0), (4, 3, 10, 1)
    assert risk.journalist_max(release, population) == 1 / 3
    assert risk.marketer(release, population) == pytest.approx((1 / 4 + 3 / 3 + 2 / 10) / 6)
    assert risk.k_map(release, population) == 3
    assert risk.presence_max((3, 2), (6, 3)) == 2 / 3
    assert risk.presence_min((3, 2, 0), (6, 3, 4)) == 0
    with pytest.raises(UsageError, match="one size per class"):
        risk.journalist_max([[1]], [[1]])


def test_the_mean_risk_takes_everybody_by_their_smallest_class() -> None:
    """One of two people is also alone in a class."""
    rows = pa.table({"who": ["a", "a", "b"], "zip": ["47", "48", "47"]})
    counts = shoal.open(rows, quasi=["zip"], unit="who").count(("zip",), unit="who")
    assert risk.prosecutor_mean(counts) == (1 / 1 + 1 / 2) / 2


def test_presence_matches_values_and_missing_ones_apart() -> None:
    release = classes_of([2, 1], [-1, 0], ["47"])
    found = presence(release, classes_of([5, 4, 9], [-1, 1, 0], ["48", "47"]))
    assert (found.k_map, found.delta_min, found.delta_max) == (4, 0, 0.4)
    assert found.of_release.tolist() == [5, 4]
    assert found.to_json()["population"] == 18
    people = classes_of([5, 4, 9], [-1, 1, 0], ["48", "47"], unit="id", n_people=15)
    assert presence(release, people).people == 15, "a person in two classes is one of the population"
    with pytest.raises(UsageError, match="counts people, the population table counts rows"):
        presence(classes_of([2], [0], ["47"], unit="id", n_people=2), classes_of([5], [0], ["47"]))


def test_the_worst_class_decides_diversity() -> None:
    two = secret([3, 3], [9, 1])
    assert diversity.distinct_diversity(secret([2, 1, 1], [3, 1, 0]), "d") == 2
    assert diversity.entropy_diversity(two, "d") == pytest.approx(math.exp(-(0.9 * math.log(0.9) + 0.1 * math.log(0.1))))
    assert diversity.recursive_diversity(two, "d", c=2) == 1
    assert diversity.recursive_diversity(secret([3, 3], [6, 0]), "d", c=9) == 1
    assert diversity.alpha(secret([2, 1, 1], [3, 1, 0]), "d") == 0.75
    assert diversity.least_c(secret([8, 1, 1], [5, 5, 5]), "d", l=2) == 4


def test_a_bound_is_taken_as_it_is_written() -> None:
    assert diversity.recursive_diversity(secret([1] * 11), "d", c=0.1) == 1, "1 is not below a tenth of 10"
    assert diversity.recursive_diversity(secret([2**40, 2**40]), "d", c=1e-7) == 1, "counts times ten million go beyond 64 bits"


def test_values_outside_a_given_order_come_last() -> None:
    d = SensitiveCounts.from_dense("d", [[1, 1, 1]], pa.array(["other", "low", "high"]))
    assert diversity.natural_order(replace(d, order=("low", "high")), 4).tolist() == [0, 3, 1, 2]


def test_distances_by_hand() -> None:
    assert closeness.earth_mover((0.5, 0.5, 0), (0, 0.5, 0.5), distance="equal") == 0.5
    assert closeness.earth_mover((1, 0, 0), (0, 0, 1)) == 1
    assert closeness.delta_disclosure_present(secret([4, 0], [0, 4]), "d", base=2) == pytest.approx(1)
    gain = (11 / 12 - 0.81) / 0.81  # the other value becomes rarer by more than half, which is no gain
    assert closeness.basic_beta_likeness(secret([11, 1], [70, 18]), "d") == pytest.approx(gain)


# --- entropy of classes, and the exact figures beside it ----------------------------------------------------------------------


@given(st.lists(st.integers(1, 9), min_size=1, max_size=12))
def test_the_risk_by_entropy_is_that_of_as_many_equal_classes(sizes: list[int]) -> None:
    """2^H equal classes have the entropy H; H by its definition, in bits."""
    counts, n = ClassCounts(sizes), sum(sizes)
    bits = -sum(s / n * math.log2(s / n) for s in sizes)
    assert entropy_risk.joint_entropy(counts) == pytest.approx(bits, abs=1e-12)
    assert entropy_risk.average_value_combinations(counts) == pytest.approx(2**bits)
    assert entropy_risk.entropy_risk(counts) == pytest.approx(2**bits / n)
    assert entropy_risk.degree_of_anonymity(counts) == pytest.approx(1 - bits / math.log2(n) if n > 1 else 0, abs=1e-12)
    cells = ClassCounts(sizes, columns=("a",), codes=([*range(len(sizes))],))
    kappa = sum(s / n * math.log(s / n * len(sizes)) for s in sizes)
    assert entropy_risk.distance_from_uniform(cells) == {"cells": len(sizes), "kappa": pytest.approx(kappa, abs=1e-12)}


def test_no_rounding_leaves_the_range_of_a_risk() -> None:
    for n in range(1, 120):
        alone = ClassCounts([1] * n, columns=("a",), codes=([*range(n)],))
        assert entropy_risk.entropy_risk(alone) <= 1
        assert 0 <= entropy_risk.degree_of_anonymity(alone) < 1e-12
        kappa = entropy_risk.distance_from_uniform(alone)["kappa"]
        assert kappa is not None
        assert 0 <= kappa < 1e-12
        assert entropy_risk.entropy_risk_of(math.log2(n) + 1e-9, n) <= 1
    for unknown in (ClassCounts((2, 2)), ClassCounts((2, 2), columns=("a",))):
        assert entropy_risk.distance_from_uniform(unknown) == {"cells": None, "kappa": None}


def test_the_risk_of_one_person_is_defined_and_of_nobody_is_not() -> None:
    assert entropy_risk.entropy_risk_of(0.0, 1) == 1
    with pytest.raises(DataError, match="nobody"):
        entropy_risk.entropy_risk_of(0.0, 0)


@given(st.lists(st.integers(1, 9), min_size=1, max_size=4), st.integers(1, 4))
def test_expected_matches_and_unique_people_are_those_of_all_samples(weights: list[int], n: int) -> None:
    """Every sample of n people in turn: classes that somebody is in, and people who are alone in theirs."""
    p = [w / sum(weights) for w in weights]
    classes = unique = 0.0
    for sample in itertools.product(range(len(p)), repeat=n):
        chance = math.prod(p[c] for c in sample)
        classes += chance * len(set(sample))
        unique += chance * sum(sample.count(c) == 1 for c in sample)
    assert entropy_risk.exact_marketer_of(p, n) == pytest.approx(classes / n)
    assert entropy_risk.exact_unique_of(p, n) == pytest.approx(unique / n)


# --- individual risk ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("f", [1, 2, 3, 29, 30, 31, 200])
@pytest.mark.parametrize("p", [1e-6, 0.01, 0.3, 0.499999, 0.5, 0.500001, 0.9, 1.0])
def test_the_individual_risk_is_its_integral_by_either_way(f: int, p: float) -> None:
    """The series and the recursion, on both sides of where one takes over from the other, against the defining integral."""
    from scipy.integrate import quad

    expected = quad(
        lambda u: u ** (f - 1) * p / (p + (1 - p) * u), 0, 1, epsabs=0, epsrel=1e-11, limit=400, points=[min(p, 0.5)]
    )[0]
    (found,) = benedetti_franconi([f], [f / p])
    assert found == pytest.approx(expected, rel=1e-7)
    assert p / f <= found <= 1 / f


def test_weights_may_add_up_to_the_sample_but_not_to_less() -> None:
    assert benedetti_franconi([3], [3.0]).tolist() == [1 / 3]
    assert benedetti_franconi([3], [3.0 * (1 - 1e-10)]).tolist() == [1 / 3], "as far as rounding goes"
    for weights in ([2.999], [math.nan], [math.inf]):
        with pytest.raises(DataError):
            benedetti_franconi([3], weights)
    with pytest.raises(DataError):
        benedetti_franconi([0], [3.0])


def test_the_mean_chance_of_a_guess_is_one_of_people() -> None:
    """Two people are alike, six are not: two are sure, six have one chance in two."""
    found = impact(secret([2, 0], [3, 3]), {"d": 4})
    assert found.chances == {"d": (2 * 1 + 6 * 0.5) / 8}
    assert (found.mean, found.max, found.without, found.worth) == (4 * 0.625, 4, 4 * 5 / 8, 4)
