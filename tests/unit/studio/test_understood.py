"""Understand chooses what this table shows: the columns that give a tenth away, and a measure with something to see."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

import shoal
from shoal.studio.views import understood


def shown(table: Any, k: int = 5) -> dict[str, Any]:
    return understood.shown(shoal.measure(table, quasi=list(table)), {}, k, 5)


def test_the_headline_names_few_columns_that_single_out_a_tenth() -> None:
    rng = np.random.default_rng(3)
    table = {name: rng.integers(0, 4, 1500) for name in "abcde"}
    found = shown(table)
    measured = shoal.measure(table, quasi=list(table))
    assert measured.unique >= 150
    assert max(s.unique for s in measured.subsets(3)) < 150, "no three columns do it"
    assert "by them alone" in found["said"][1] or "together single out" in found["said"][0] + found["said"][1]
    assert found["said"][0].count(",") + 2 >= 4, "four or more are named"


def test_the_map_takes_the_first_measure_that_shows_something() -> None:
    rng = np.random.default_rng(3)
    many = {name: rng.integers(0, 30, 1500) for name in "abc"}
    assert "one of a kind when both are known" in shown(many)["pairs"]["words"]
    few = {name: rng.integers(0, 16, 1500) for name in "abc"}
    assert "in a group smaller than 5 when both are known" in shown(few)["pairs"]["words"]
    fewer = {name: rng.integers(0, 8, 1500) for name in "abcd"}
    assert "one of a kind when both and" in shown(fewer)["pairs"]["words"]
    alike = dict(zip("ab", zip(*(pair for pair in product("xy", "xy") for _ in range(50)), strict=True), strict=True))
    assert "one of a kind when both are known" in shown({c: list(v) for c, v in alike.items()})["pairs"]["words"]


def test_where_few_are_singled_out_the_headline_names_what_singles_out_half_of_them() -> None:
    rng = np.random.default_rng(5)
    table = {"a": rng.integers(0, 30, 6000), "b": rng.integers(0, 6, 6000), "c": rng.zipf(2.5, 6000) % 9}
    measured = shoal.measure(table, quasi=list(table))
    assert 0 < measured.unique < 600
    pair = max(s.unique for s in measured.subsets(2) if len(s.columns) == 2)
    assert pair < measured.unique / 2, "no two columns do it"
    found = shown(table)["said"]
    assert found[0] == "A, b and c give people away:"
    few = {**table, "d": ["x"] * 6000}
    assert shown(few)["said"][0] == "A, b and c give people away:", "a column that adds nobody is not named"
