"""Whole numbers beyond 2⁵³ are rounded exactly: in memory, by codes and in SQL alike."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Context, Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import shoal
import shoal.techniques as tf
from shoal.errors import UsageError
from shoal.kernels.numbers import nearest_multiple, to_whole_multiple
from shoal.model.plan import Plan, Suppression
from shoal.model.roles import Column
from shoal.steps import Clamp, Round

EDGES = [0, 2**53 - 1, 2**53, 2**53 + 1, 2**60 + 4, 2**60 + 9, 2**62, 2**63 - 8, 2**63 - 7, 2**63 - 1]
NUMBERS = [*EDGES, *(-n for n in EDGES), -(2**63), 5, 15, 25, -5, -14, -15]
whole = st.integers(-(2**63), 2**63 - 1)


def by_definition(x: int, base: int) -> int:
    """Halves away from zero in decimals; without a multiple in int64, the last one that it has."""
    quotient = Context(prec=60).divide(Decimal(x), Decimal(base))
    out = int(quotient.to_integral_value(ROUND_HALF_UP)) * base
    return out if -(2**63) <= out < 2**63 else out - base * (1 if out > 0 else -1)


@given(st.lists(whole, min_size=1), st.integers(1, 2**63 - 1) | st.integers(1, 1000))
@example(NUMBERS, 10)
@example(NUMBERS, 1)
@example(NUMBERS, 2**62)
@example(NUMBERS, 2**63 - 1)
def test_rounding_of_whole_numbers_is_that_of_decimals(numbers: list[int], base: int) -> None:
    expected = [by_definition(n, base) for n in numbers]
    assert to_whole_multiple(np.array(numbers), base).tolist() == expected
    assert [nearest_multiple(n, base) for n in numbers] == expected


@pytest.mark.parametrize("base", [1.0, 7.0, 10.0, 2.0**40, 1.5 * 2.0**62])
@pytest.mark.parametrize("scope", ["none", "cells"], ids=["by codes", "in SQL"])
def test_a_file_holds_the_exact_multiples_and_the_share_that_changed(base: float, scope: str, tmp_path: Path) -> None:
    table = pa.table({"n": NUMBERS, "g": [1] * len(NUMBERS)})
    expected = [by_definition(n, int(base)) for n in NUMBERS]
    moved = sum(a != b for a, b in zip(NUMBERS, expected, strict=True)) / len(NUMBERS)
    plan = Plan((Round("n", base),), Suppression(2, ("g",), scope), shuffle=False)  # type: ignore[arg-type]
    done = shoal.open(table).recode(plan, tmp_path / "o.parquet")
    assert sorted(pq.read_table(tmp_path / "o.parquet")["n"].to_pylist()) == sorted(expected)
    assert done.changed["n"] == pytest.approx(moved)
    held = tf.apply(Round("n", base), table)
    assert held.table["n"].to_pylist() == expected
    assert held.changed["n"] == pytest.approx(moved)


@pytest.mark.parametrize("scope", ["none", "cells"], ids=["by codes", "in SQL"])
def test_a_clamped_number_next_to_its_limit_is_counted_as_changed(scope: str, tmp_path: Path) -> None:
    table = pa.table({"n": [2**53 + 1, 2**53, 0, 0], "g": [1] * 4})
    plan = Plan((Clamp("n", high=2.0**53),), Suppression(2, ("g",), scope))  # type: ignore[arg-type]
    assert shoal.open(table).recode(plan, tmp_path / "o.parquet").changed["n"] == 0.25


def test_unsigned_numbers_that_all_fit_in_int64_may_round_beyond_it(tmp_path: Path) -> None:
    table = pa.table({"n": pa.array([2**63 - 1, 2**63 - 4], pa.uint64()), "g": [1, 1]})
    for scope in ("none", "cells"):
        plan = Plan((Round("n", 10.0),), Suppression(2, ("g",), scope))  # type: ignore[arg-type]
        shoal.open(table).recode(plan, tmp_path / "o.parquet")
        back = pq.read_table(tmp_path / "o.parquet")["n"]
        assert (back.type, sorted(back.to_pylist())) == (pa.uint64(), [2**63 - 8, 2**63 + 2])


def test_negative_decimals_of_whole_numbers_are_rounded_as_such() -> None:
    values = pa.array([Decimal(-25), Decimal(2**64)], pa.decimal128(38, 0))
    assert Round("n", 10.0).arrow(values, Column("n", "integer")).to_pylist() == [-30, 2**64 + 4]


def test_a_base_of_two_to_the_63_is_refused_for_whole_numbers() -> None:
    with pytest.raises(UsageError, match="must lie below 2⁶³"):
        Round("n", 2.0**63).check(Column("n", "integer"))
    Round("n", 2.0**62).check(Column("n", "integer"))
    Round("x", 2.0**63).check(Column("x", "float"))
