"""The unit is the column that names people, not the one that numbers their papers; and 8 or 9 people are not missing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import shoal

ROWS, PEOPLE, ORDERS = 2_000, 200, 900
FIRST = "Anna Bert Carl Dora Emma Fred Gina Hans Ida Jan Karl Lena Mia Nils Olga Paul Rosa Sven Tina Ute".split()
LAST = "Smith Jones Weber Rossi Garcia Novak Muller Silva Berg Costa".split()


def orders(more: bool) -> dict[str, Any]:
    draw = np.random.default_rng(4)
    names = [f"{f} {n}" for f in FIRST for n in LAST]
    buyer, order = draw.integers(0, PEOPLE, ORDERS), draw.integers(0, ORDERS, ROWS)
    lines = {"Row ID": list(range(1, ROWS + 1))} if more else {}
    return lines | {
        "Order ID": [f"ES-2014-{1_000_000 + 7919 * o % 900_000}" for o in order],
        "Customer Name": [names[buyer[o]] for o in order],
        "City": draw.choice(["Paris", "Rome", "Bonn", "Wien"], ROWS).tolist(),
    }


@pytest.mark.parametrize("more", [False, True])
def test_customers_are_the_unit_of_their_orders(more: bool) -> None:
    found = shoal.inspect(orders(more))
    assert found.unit == "Customer Name"
    reason = next(c.reason for c in found.columns if c.mark == "unit")
    assert "'Order ID' repeats too" in reason


def test_names_that_hardly_repeat_are_no_unit() -> None:
    table = orders(more=False)
    table["Customer Name"] = [f"{FIRST[i % 20]} {LAST[i % 10]}{chr(97 + i // 26 % 26)}{chr(97 + i % 26)}" for i in range(ROWS)]
    assert shoal.inspect(table).unit == "Order ID"


def answers(draw: Any) -> list[int]:
    return draw.choice([1, 2, 3, 8, 9], 3_000, p=[0.4, 0.3, 0.2, 0.05, 0.05]).tolist()


SHARES = [(25, 30, 16, 14, 8, 3, 2, 1.2, 0.8), (25, 30, 16, 14, 8, 4, 0, 2, 1), (25, 30, 20, 15, 7, 0, 0, 2, 1)]


@pytest.mark.parametrize("shares", SHARES)
def test_large_households_are_not_missing(shares: tuple[float, ...]) -> None:
    draw = np.random.default_rng(2)
    size = draw.choice(range(1, 10), 3_000, p=np.array(shares) / sum(shares)).tolist()
    found = shoal.inspect({"household_size": size, **{f"opinion{i}": answers(draw) for i in range(3)}})
    assert {c.name: c.missing_values for c in found.columns} == {
        "household_size": (),
        **{f"opinion{i}": ("8", "9") for i in range(3)},
    }
