"""PRAM, shifted dates and microaggregation exactly at their limits, and by hand."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from shoal.errors import DataError, PolicyError
from shoal.model.plan import SUPPRESSED
from shoal.techniques import DateShift, Microaggregate, Pram
from shoal.techniques.group import microaggregate
from shoal.techniques.kernels import draws
from shoal.techniques.perturb import pram as module
from shoal.techniques.perturb.pram import estimate_counts, invariant_matrix, pram

UNEVEN = Pram("c", ("a", "b"), ((0.9, 0.1), (0.4, 0.6)))


def published(step: Pram, values: Any, seed: int = 10**15) -> Any:
    table = pa.table({step.column: values})
    return step.start(seed)(table, draws.places(0, table.num_rows))[step.column]


# --- PRAM ---------------------------------------------------------------------------------------------------------------------


def test_a_matrix_has_a_row_of_chances_for_each_category() -> None:
    for categories, matrix in ((("a",), ()), ((), ()), (("a", "b"), ((1.0,), (1.0,))), (("a", "b"), ((2.0, -1.0), (0.0, 1.0)))):
        with pytest.raises(PolicyError):
            Pram("c", categories, matrix)
    with pytest.raises(PolicyError):
        Pram("c", (), np.zeros((0, 0)))  # type: ignore[arg-type]
    with pytest.raises(PolicyError, match="add up to 1"):
        Pram("c", ("a", "b"), ((0.9, 0.2), (0.1, 0.8)))  # the columns do


def test_deniability_by_hand() -> None:
    """Of 100 a and 900 b, 450 are published as a, 90 of them rightly, and 550 as b, 540 of them rightly."""
    assert UNEVEN.least_change == pytest.approx(0.1)
    assert UNEVEN.deniability([100, 900]) == pytest.approx(1 - 540 / 550)
    assert estimate_counts([450.0, 550.0], UNEVEN) == pytest.approx([100.0, 900.0])


def test_a_category_is_exchanged_by_its_own_row_of_the_matrix() -> None:
    step = Pram("c", ("a", "b"), ((1.0, 0.0), (0.5, 0.5)))
    found = published(step, ["a"] * 200 + ["b"] * 200).to_pylist()
    assert set(found[:200]) == {"a"}
    assert 60 < found[200:].count("a") < 140
    assert published(step, ["a", None]).to_pylist() == ["a", None]


@pytest.mark.parametrize(("number", "category"), [(0.0, "b"), (0.3, "b"), (0.6, "c"), (1 - 1e-12, "c")])
def test_a_chance_of_nothing_is_never_taken(number: float, category: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Chances 0, 0.6 and 0.4, which add up to a little less than 1; numbers are from 0 on and below 1."""
    monkeypatch.setattr(module.random, "uniforms", lambda key, rows: np.full(len(rows), number))
    row = (0.0, 0.6, 0.4 - 9e-10)
    assert published(Pram("c", ("a", "b", "c"), (row, row, row)), ["a", "b"]).to_pylist() == [category] * 2


def test_another_column_or_matrix_is_changed_by_other_draws() -> None:
    """By the same draws 1 % of the values would differ, and two files would tell more than one."""
    values = ["a", "b"] * 400
    even, other = (Pram("c", ("a", "b"), ((p, 1 - p), (1 - p, p))) for p in (0.5, 0.51))
    first = published(even, values).to_pylist()
    for step in (other, Pram("d", even.categories, even.matrix)):
        assert 300 < sum(x != y for x, y in zip(first, published(step, values).to_pylist(), strict=True)) < 500
    assert published(even, values).to_pylist() == first


def test_a_category_that_its_type_writes_otherwise_makes_texts() -> None:
    swap = Pram("c", ("1", "02"), ((0.0, 1.0), (1.0, 0.0)))
    assert published(swap, [1, 1]).to_pylist() == ["02", "02"]
    assert published(Pram("c", ("1", "2"), swap.matrix), [1, 1]).to_pylist() == [2, 2]
    open_ = Pram("c", ("1", "2"), swap.matrix, on_gap="suppress")
    assert published(open_, [1, 9]).to_pylist() == ["2", SUPPRESSED]


def test_limits_of_a_matrix_that_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    for keep in (0.0, 1.0):
        with pytest.raises(PolicyError, match="must lie between 0 and 1"):
            pram("c", ["a", "b"], [5, 5], keep=keep)
    rare = pram("c", ["a", "b", "z"], [5, 6, 4], min_count=5)
    assert (rare.categories, rare.on_gap) == (("a", "b"), "suppress")
    assert pram("c", ["a", "b"], [5, 6], min_count=5).on_gap == "error"
    with pytest.raises(DataError, match="1 categories to exchange"):
        pram("c", ["a", "b"], [5, 4], min_count=5)
    monkeypatch.setattr(module, "MOST_CATEGORIES", 2)
    assert pram("c", ["a", "b"], [5, 6]).categories == ("a", "b")
    with pytest.raises(DataError, match="3 categories"):
        pram("c", ["a", "b", "z"], [5, 6, 4])


def test_a_matrix_keeps_frequencies_where_some_are_nothing() -> None:
    assert invariant_matrix(np.eye(2), [5, 0]).tolist() == [[1.0, 0.0], [0.0, 1.0]]
    with pytest.raises(DataError, match="no category has any record"):
        invariant_matrix(np.eye(2), [0, 0])
    with pytest.raises(DataError, match="cannot be inverted"):
        estimate_counts([1, 1], Pram("c", ("a", "b"), ((0.5, 0.5), (0.5, 0.5))))


# --- dates --------------------------------------------------------------------------------------------------------------------


def test_a_shift_is_of_a_person_and_of_one_day_to_ten_years() -> None:
    for unit, days in (("", 5), ("p", 0), ("p", 3651)):
        with pytest.raises(PolicyError, match="a unit column and 1 to 3650 days"):
            DateShift("d", unit, days=days)
    assert DateShift("d", "p", days=3650).needs == ("p",)


def test_columns_of_one_domain_move_together_and_others_do_not() -> None:
    people, key = pa.array([f"p{i}" for i in range(50)]), b"k" * 32
    shifts = [DateShift(c, "p", domain=d).shifts(key, people).tolist() for c, d in (("a", "x"), ("b", "x"), ("a", ""), ("b", ""))]
    assert shifts[0] == shifts[1]
    assert len({tuple(s) for s in shifts}) == 3
    assert {abs(n) for n in DateShift("a", "p", days=1).shifts(key, people).tolist()} == {1}, "never 0"


@pytest.mark.parametrize("day", [dt.datetime(9999, 12, 30, 23, 59, 59), dt.datetime(1, 1, 2)])
def test_the_first_and_the_last_day_can_be_reached_and_no_other(day: dt.datetime) -> None:
    step, away = DateShift("d", "p"), 1 if day.year > 2000 else -1
    for values in (pa.array([day], pa.timestamp("us")), pa.array([day.date()], pa.date32())):
        moved = step._moved(values, pa.array([away]))
        assert str(moved[0].as_py())[:10] in ("9999-12-31", "0001-01-01")
        with pytest.raises(DataError, match="would leave the years 1 to 9999"):
            step._moved(values, pa.array([2 * away]))


# --- microaggregation ---------------------------------------------------------------------------------------------------------


def test_a_group_has_two_members_and_a_method_that_is_known() -> None:
    for words in ({"k": 1}, {"method": "other"}, {"publish": "mode"}):
        with pytest.raises(PolicyError):
            Microaggregate("x", **words)
    assert Microaggregate("x", k=2).k == 2


def test_too_many_records_are_cut_into_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """One column is sorted, however long; otherwise cells count, and pairs where no tree spares them."""
    monkeypatch.setattr(microaggregate, "HAVE_NUMBA", True)
    assert not Microaggregate("x").in_blocks(10**9)
    assert Microaggregate("x", method="v-mdav").in_blocks(10**9)
    two = Microaggregate("x", ("y",), k=2)
    monkeypatch.setattr(microaggregate, "MOST_CELLS", 20)
    assert [two.in_blocks(n) for n in (10, 11)] == [False, True]
    monkeypatch.setattr(microaggregate, "MOST_CELLS", 10**9)
    monkeypatch.setattr(microaggregate, "MOST_PAIRS", 50)
    few, many = (Microaggregate("x", tuple("abcdefg"[:n]), k=2) for n in (5, 6))
    assert [step.in_blocks(11) for step in (two, few, many)] == [False, False, True]
    assert [many.in_blocks(n) for n in (10, 11)] == [False, True]
    assert Microaggregate("x", ("y",), k=2, method="v-mdav").in_blocks(11)
    monkeypatch.setattr(microaggregate, "HAVE_NUMBA", False)
    assert [two.in_blocks(n) for n in (10, 11)] == [False, True]


def test_exactly_k_records_with_the_same_columns_are_a_group() -> None:
    """Three have x, three others y; nobody has both."""
    table = pa.table({"x": [1.0, 2.0, 6.0, None, None, None], "y": [None, None, None, 2.0, 4.0, 9.0]})
    made = Microaggregate("x", ("y",), k=3).run(table, 0)
    assert made["x"].to_pylist() == [3.0] * 3 + [None] * 3
    assert made["y"].to_pylist() == [None] * 3 + [5.0] * 3
    assert Microaggregate("x", ("y",), k=3).run(table.slice(0, 5), 0)["y"].to_pylist() == [None] * 5, "two are too few"
    with pytest.raises(DataError):
        Microaggregate("x", ("y",), k=6).run(table.slice(0, 5), 0)


@pytest.mark.parametrize(
    ("codes", "kept", "values"),
    [
        ([0, 0, 0, 0, 1, 1], [0, 0, 0, 0, 1, 1], [1.5, 1.5, 8.5, 8.5, None, None]),  # as many as k have the code
        ([0, 0, 0, 0, 1, 2], [0, 0, 0, 0, 0, 0], [1.5, 1.5, 8.5, 8.5, None, None]),  # one each: both become missing
        ([0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0], [1.5, 1.5, 8.5, 8.5, None, None]),  # missing, both alike
    ],
)
def test_records_with_a_code_are_grouped_by_it(codes: list[int], kept: list[int], values: list[Any]) -> None:
    own = np.array(codes)
    made = Microaggregate("x", k=2).run(pa.table({"x": [1.0, 2.0, 8.0, 9.0, None, None]}), 0, (own,))
    assert made["x"].to_pylist() == values
    assert own.tolist() == kept


def test_the_smallest_group_joins_a_record_that_would_be_missing_alone() -> None:
    """Codes 1 and 2: two records keep 1; the only one with 2 would be missing alone, so that the smallest group joins it."""
    own = np.array([0, 0, 0, 1, 1, 2])
    made = Microaggregate("x", k=2).run(pa.table({"x": [1.0, 2.0, 3.0, None, None, None]}), 0, (own,))
    assert made["x"].to_pylist() == [2.0, 2.0, 2.0, None, None, None]
    assert own.tolist() == [0] * 6
    two = np.array([0, 0, 1, 1, 1, 2])
    made = Microaggregate("x", k=2).run(pa.table({"x": [1.0, 2.0, None, None, None, None]}), 0, (two,))
    assert (made["x"].to_pylist(), two.tolist()) == ([None] * 6, [0, 0, 1, 1, 1, 0])
