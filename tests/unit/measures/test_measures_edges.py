"""Hard input: one row, all alike, all unique, one sensitive value, missing values, many categories, wrong arguments."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

import shoal
from recoding_oracle import ColumnRecoding, Recoding
from shoal.errors import DataError, EmptyTableError, HierarchyGapError, UsageError
from shoal.measures.classes import anonymity, closeness, diversity, individual, risk
from shoal.measures.classes.anonymity import k_anonymity
from shoal.measures.classes.missing import crowds, drop_missing
from shoal.measures.observer.posterior import PosteriorTable
from shoal.measures.result.figures import Figures
from shoal.measures.subsets.column_sets import all_subsets, subset_count
from shoal.measures.subsets.suda import suda
from shoal.measures.utility import class_losses as loss
from shoal.measures.utility.analyses import compare
from shoal.model.counts.classes import ClassCounts, PeopleCounts, SensitiveCounts
from shoal.model.hierarchy import Hierarchy
from shoal.model.roles import MissingPolicy


def with_secret(matrix: list[list[int]], categories: object = None) -> ClassCounts:
    return ClassCounts(
        [sum(r) for r in matrix],
        columns=("q",),
        codes=(list(range(len(matrix))),),
        sensitive={"s": SensitiveCounts.from_dense("s", matrix, categories)},
    )


def finite_numbers(value: object) -> None:
    """No NaN anywhere in a JSON result."""
    if isinstance(value, dict):
        for v in value.values():
            finite_numbers(v)
    elif isinstance(value, list):
        for v in value:
            finite_numbers(v)
    elif isinstance(value, float):
        assert not math.isnan(value)


@pytest.mark.parametrize(
    "matrix",
    [
        pytest.param([[1]], id="one row"),
        pytest.param([[7]], id="all alike"),
        pytest.param([[1, 0], [0, 1], [1, 0]], id="all unique"),
        pytest.param([[3], [4]], id="one sensitive value"),
        pytest.param([[5, 5], [5, 5]], id="perfectly even"),
    ],
)
def test_every_number_is_defined(matrix: list[list[int]]) -> None:
    m = Figures(with_secret(matrix))
    finite_numbers(m.to_json())
    assert 0 < m.risk.max <= 1
    assert m.explain()


def test_constant_numeric_sensitive_column_has_t_zero() -> None:
    c = with_secret([[3], [4]], pa.array([1.5]))
    assert closeness.t_closeness(c, "s") == 0.0
    assert closeness.delta_disclosure(c, "s") == 0.0
    assert closeness.basic_beta_likeness(c, "s") == 0.0


def test_an_empty_table_is_refused_not_safe() -> None:
    with pytest.raises(EmptyTableError):
        ClassCounts([])
    for function in (risk.marketer, risk.journalist_max, risk.presence_max):
        with pytest.raises(DataError, match="no risk is defined"):
            function([], [])


def test_population_smaller_than_the_release_is_refused_with_counts_only() -> None:
    with pytest.raises(DataError, match=r"in 1 classes \(3 records\)") as caught:
        risk.marketer([3, 1], [2, 5])
    assert caught.value.exit_code == 3


def test_a_missing_sensitive_value_is_a_value() -> None:
    s = SensitiveCounts("s", np.array([0, 0]), np.array([-1, 0]), np.array([2, 2]), pa.array(["flu"]))
    c = ClassCounts((4,), sensitive={"s": s})
    assert diversity.distinct_diversity(c, "s") == 2
    assert diversity.entropy_diversity(c, "s") == pytest.approx(2.0)


def test_a_missing_value_hangs_under_the_root_of_a_hierarchy() -> None:
    tree = Hierarchy.from_rows("s", [["a", "ab", "*"], ["b", "ab", "*"]])
    s = SensitiveCounts("s", np.array([0, 1]), np.array([-1, 0]), np.array([2, 2]), pa.array(["a"]))
    assert closeness.t_closeness(ClassCounts((2, 2), sensitive={"s": s}), "s", hierarchy=tree) == pytest.approx(0.5)


def test_hierarchy_gap_tells_numbers_not_values() -> None:
    tree = Hierarchy.from_rows("s", [["a", "*"], ["b", "*"]])
    c = with_secret([[1, 3]], pa.array(["a", "canary"]))
    with pytest.raises(HierarchyGapError, match=r"1 of its values \(3 records\)") as caught:
        closeness.t_closeness(c, "s", hierarchy=tree)
    assert "canary" not in str(caught.value)


def test_a_million_categories_cost_no_dense_matrix() -> None:
    n = 1_000_000
    s = SensitiveCounts("s", np.arange(n) // 2, np.arange(n), np.ones(n, int), pa.array(np.arange(n)))
    c = ClassCounts(np.full(n // 2, 2), sensitive={"s": s})
    m = Figures(c)
    assert m.closeness["s"].distance == "ordered"
    assert 0.49 < m.closeness["s"].t <= 0.5
    assert m.diversity["s"].distinct == 2


@pytest.mark.parametrize(
    "call",
    [
        lambda c: diversity.distinct_diversity(c, "t"),
        lambda c: closeness.t_closeness(c, "s", distance="cosine"),  # type: ignore[arg-type]
        lambda c: closeness.t_closeness(c, "s", distance="hierarchical"),
        lambda c: diversity.recursive_diversity(c, "s", c=math.nan),
        lambda c: diversity.least_c(c, "s", l=0),
        lambda c: risk.members_above(c, 2.0),
        lambda c: loss.average_class_size(c, k=0),
        lambda c: all_subsets(c, up_to=0),
        lambda c: suda(c, up_to=0),
        lambda c: suda(c, sampling_fraction=0.0),
        lambda c: suda(c, scores="other"),  # type: ignore[arg-type]
        lambda c: suda(ClassCounts((1, 2))),
        lambda c: individual.individual_risk(c),
        lambda c: anonymity.subpopulations(c, "town"),
    ],
)
def test_wrong_arguments_are_told(call: object) -> None:
    with pytest.raises(UsageError) as caught:
        call(with_secret([[1, 2], [2, 1]]))  # type: ignore[operator]
    assert caught.value.hint


def test_too_many_subsets_are_refused_with_their_number() -> None:
    names = [f"c{i}" for i in range(200)]
    c = ClassCounts((1,), columns=names, codes=[[0]] * 200)
    with pytest.raises(UsageError, match="1,333,500 subsets"):
        all_subsets(c, up_to=3)
    with pytest.raises(UsageError, match="sets to search"):
        suda(c)


def test_every_row_missing_leaves_nothing_under_drop() -> None:
    c = ClassCounts((2, 3), columns=("a",), codes=([-1, -1],))
    with pytest.raises(EmptyTableError, match="nothing is left"):
        drop_missing(c)
    m = Figures(c)
    assert m.missing["drop"]["k"] is None
    assert k_anonymity(crowds(c, MissingPolicy.WILDCARD)) == 5


def test_unit_in_several_classes_is_said_and_bounded() -> None:
    once = PeopleCounts([1, 2], [1, 1], [1, 2])
    c = ClassCounts((1, 2, 2), columns=("a",), codes=([0, 1, -1],), unit="person", n_people=3, records=(2, 2, 3), people=once)
    own, wild = Figures(c), Figures(c, policy=MissingPolicy.WILDCARD)
    assert (own.people, own.records, own.k) == (3, 7, 1)
    assert any("several classes" in n for n in own.notes)
    assert wild.k == 1, "without knowing who is where, no crowd is taken to be larger than the class"
    assert wild.missing["wildcard"]["bound"].startswith("lower bound")
    assert any("lower bound" in n for n in wild.notes)
    finite_numbers(own.to_json())
    assert own.to_json()["worst_subsets"] == []  # without the table subsets of people are unknown, not guessed
    with pytest.raises(UsageError, match="cannot be added up"):
        all_subsets(c)
    with pytest.raises(UsageError, match="several classes"):
        suda(c)


def test_sampling_weights_below_one_are_refused() -> None:
    with pytest.raises(DataError, match="1 class adds up to fewer people"):
        individual.benedetti_franconi([2, 1], [1.5, 4.0])
    with pytest.raises(DataError, match="2 classes add up") as relative:
        individual.benedetti_franconi([2, 1, 3], [1.5, 0.5, 4.0])
    assert "population ÷ sample" in str(relative.value.hint), "weights of mean 1 are shares"
    with pytest.raises(DataError, match="1 class adds") as other:
        individual.benedetti_franconi([2, 1, 3], [1.5, 1.0, 4.0])
    assert "population ÷ sample" not in str(other.value.hint)
    with pytest.raises(DataError, match="must be numbers"):
        individual.benedetti_franconi([1], [math.nan])


def test_individual_risk_equals_its_series_for_all_sizes() -> None:
    mpmath = pytest.importorskip("mpmath")
    for f in (1, 2, 3, 4, 10, 29, 30, 200, 5000):
        for p in (1e-6, 1e-3, 0.2, 0.9, 0.985, 0.9999, 1.0):
            exact = mpmath.mpf(p) / f * mpmath.hyp2f1(1, 1, f + 1, 1 - mpmath.mpf(p)) if p < 1 else mpmath.mpf(1) / f
            found = individual.benedetti_franconi([f], [f / p])[0]
            assert found == pytest.approx(float(exact), rel=1e-9), (f, p)


def test_individual_risk_is_the_mean_of_a_negative_binomial() -> None:
    f, p = 4, 0.25
    total = sum(math.comb(n - 1, f - 1) * p**f * (1 - p) ** (n - f) / n for n in range(f, 400))
    assert individual.benedetti_franconi([f], [f / p])[0] == pytest.approx(total, rel=1e-9)


def test_recoding_must_hold_the_original_value() -> None:
    from shoal.errors import InternalError

    with pytest.raises(InternalError, match="without the original value"):
        ColumnRecoding.from_sets("x", [0], [0], [[1, 2]], 3)


def test_local_recoding_and_suppression() -> None:
    import recoding_oracle as r

    local = ColumnRecoding.from_sets("x", [0, 1, 2], [0, 1, 1], [[0, 1], [1, 2]], 3)
    whole = Recoding([1, 1, 2], [local])
    assert r.certainty_penalty(whole) == pytest.approx(0.5)
    gone = Recoding([1, 1, 2], [local], [True, True, True])
    for metric in (r.granularity, r.certainty_penalty, r.arx_loss):
        assert metric(gone) == pytest.approx(1.0)
    assert r.mutual_information_utility(gone) == 0.0
    assert r.mutual_information_loss(gone) == pytest.approx(1.5)
    with pytest.raises(UsageError, match="needs hierarchy levels"):
        r.precision(whole)
    with pytest.raises(UsageError, match="sensitive"):
        r.private_information_loss(whole)


def test_identity_recoding_loses_nothing() -> None:
    import recoding_oracle as r

    same = Recoding([3, 1], [ColumnRecoding.from_groups("x", [0, 1], [0, 1], height=0.0)])
    losses = (r.granularity, r.certainty_penalty, r.arx_loss, r.monotone_entropy, r.nonuniform_entropy, r.mutual_information_loss)
    assert [f(same) for f in losses] == [0.0] * 6
    assert r.precision(same) == 1.0


def test_sum_of_squares() -> None:
    assert loss.relative_sum_of_squares([1.0, 1.0], [1.0, 1.0]) == 0.0
    with pytest.raises(DataError, match="all alike"):
        loss.relative_sum_of_squares([1.0, 1.0], [1.0, 2.0])
    with pytest.raises(DataError, match="not finite"):
        loss.sum_of_squares([math.nan], [1.0])
    with pytest.raises(UsageError, match="not equally many"):
        loss.sum_of_squares([1.0], [1.0, 2.0])


def test_analyses_before_and_after() -> None:
    before = {"x": [1.0, 2.0, None, 4.0], "s": ["a", "a", "b", None], "y": [1.0, 2.1, 2.9, 4.2]}
    after = {"x": [1.5, 1.5, None, 4.0], "s": ["a", "b", "b", None], "y": [1.0, 2.1, 2.9, 4.2]}
    assert compare("mean:x", before, after).change == pytest.approx(0.0)
    assert compare("table:s", before, after).change == pytest.approx(0.25)
    moved = compare("regression:y~x", before, after)
    assert moved.change > 0
    assert moved.to_json()["coefficients_before"].keys() == {"constant", "x"}
    for wrong in ("median:x", "mean:", "regression:y"):
        with pytest.raises(UsageError, match="not understood"):
            compare(wrong, before, after)
    with pytest.raises(DataError, match="does not hold numbers"):
        compare("mean:s", before, after)
    with pytest.raises(DataError, match="cannot tell apart"):
        compare("regression:y~x+x", before, after)
    with pytest.raises(UsageError, match="'z' is not in table"):
        compare("mean:z", before, after)


def test_posterior_refuses_what_is_no_distribution() -> None:
    with pytest.raises(DataError, match="not a distribution"):
        PosteriorTable.from_likelihood([0.5, 0.6], [[1, 1]])
    with pytest.raises(DataError, match="add up to 1"):
        PosteriorTable.from_likelihood([0.5, 0.5], [[1, 0.5]])
    with pytest.raises(DataError, match="impossible"):
        PosteriorTable.of_observation([0.5, 0.5], [0, 0])
    t = PosteriorTable.from_likelihood([0.5, 0.5, 0.0], [[1, 0, 0], [0, 1, 1]])
    assert t.mutual_information() == pytest.approx(1.0)
    with pytest.raises(UsageError, match="numbered from 0 to 2"):
        t.range([5])


@pytest.mark.parametrize("missing", [0, 1, 7])
def test_a_flat_hierarchy_is_the_equal_distance_also_with_missing_values(missing):
    flat = Hierarchy.from_rows("s", [["a", "*"], ["b", "*"], ["c", "*"]])
    values = ["a", "a", "b", "b", "c", "c"] * 5 + [None] * missing
    table = pa.table({"q": [v == "a" for v in values], "s": pa.array(values, pa.string())})
    equal = shoal.measure(table, qi=["q"], sensitive=["s"], distances={"s": "equal"})
    tree = shoal.measure(table, qi=["q"], sensitive=["s"], distances={"s": "hierarchical"}, hierarchies={"s": flat})
    assert tree.closeness["s"].t == pytest.approx(equal.closeness["s"].t, abs=1e-12)


def test_one_value_and_missing_ones_are_one_apart():
    one = Hierarchy.from_rows("s", [["a"]])
    table = pa.table({"q": [0, 0, 1, 1], "s": pa.array(["a", "a", None, None], pa.string())})
    found = shoal.measure(table, qi=["q"], sensitive=["s"], distances={"s": "hierarchical"}, hierarchies={"s": one})
    assert found.closeness["s"].t == pytest.approx(0.5)


@pytest.mark.parametrize("largest", [1, 2, 3, 9])  # members of a class: counted one by one, or added up
@pytest.mark.parametrize("width", [3, 70])  # 70 columns have more keys than a word holds
def test_subsets_by_members_and_by_sizes_are_those_of_the_definition(largest: int, width: int) -> None:
    rng = np.random.default_rng(largest)
    rows = np.unique(rng.integers(-1, 2, (60, width)), axis=0)
    sizes = rng.integers(1, largest + 1, len(rows))
    names = [f"c{j}" for j in range(width)]
    counts = ClassCounts(sizes, columns=names, codes=list(rows.T.astype(np.int32)))
    people = [tuple(row) for row, n in zip(rows.tolist(), sizes.tolist(), strict=True) for _ in range(n)]
    for columns in (names[:1], names[:2], names[1:]):
        at = [names.index(c) for c in columns]
        classes = Counter(tuple(row[j] for j in at) for row in people)
        found = subset_count(counts, columns)
        assert (found.classes, found.k) == (len(classes), min(classes.values()))
        assert found.unique == sum(n == 1 for n in classes.values())
