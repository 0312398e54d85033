"""The count decides with the name: a column that finds people by itself is never taken for harmless."""

from __future__ import annotations

import numpy as np
import pytest

import shoal
from shoal.find import ColumnFacts, find_column
from shoal.find.roles.decide import FEW_FOUND
from shoal.model.roles import Role

DRAW = np.random.default_rng(11)
ROWS = 400
INCOMES = np.unique((np.exp(DRAW.normal(9.4, 0.5, 4 * ROWS))).astype(int))[:ROWS]


@pytest.mark.parametrize("name", ["rb030", "column01", "pincpl"])
def test_a_whole_number_of_its_own_in_every_row_is_direct(name: str) -> None:
    """Numbers of people that lie unevenly, as where households are numbered in blocks: rb030 of a survey of incomes."""
    numbers = DRAW.permutation(np.cumsum(DRAW.integers(1, 90, ROWS) ** 2) + 100)
    found = shoal.inspect({name: numbers.tolist(), "age": DRAW.integers(18, 90, ROWS).tolist()})
    assert found.columns[0].role is Role.DIRECT


def test_amounts_that_say_so_are_not_keys() -> None:
    found = shoal.inspect({"income": INCOMES.tolist(), "age": DRAW.integers(18, 90, ROWS).tolist()})
    assert found.columns[0].role is Role.SENSITIVE
    assert found.columns[0].singled_out == 1.0


def test_fractions_that_find_people_are_known() -> None:
    found = shoal.inspect({"gizmo": DRAW.normal(5, 2, ROWS).round(3).tolist(), "age": DRAW.integers(18, 90, ROWS).tolist()})
    assert found.columns[0].role is Role.QUASI
    assert "the only ones with their value" in found.columns[0].reason


@pytest.mark.parametrize(("alone", "role"), [(10, Role.UNDECIDED), (11, Role.QUASI)])
def test_the_limit_is_a_few_percent(alone: int, role: Role) -> None:
    assert FEW_FOUND == 0.05
    counts = [1] * alone + [(200 - alone) // 6] * 6
    counts[-1] += 200 - sum(counts)
    values = [f"q{chr(97 + i % 26)}{'xyz'[i // 26]}" for i in range(len(counts))]
    assert find_column(ColumnFacts("gizmo", "text", values, np.array(counts), 200)).role is role


def test_the_share_of_a_sample_of_values_is_that_of_the_column() -> None:
    facts = ColumnFacts("gizmo", "text", ["a", "b"], np.array([1, 3]), 100, distinct=50)
    assert facts.singled_out == 0.25
