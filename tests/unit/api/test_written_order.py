"""Amounts written with a sign or unit are measured as the numbers they are."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

import shoal

AMOUNTS = [n + 0.5 for n in random.Random(3).sample(range(800, 90_000), 120)]
CLASSES = [random.Random(i).choice("abcd") for i in range(120)]


def closeness(pay: list[object]) -> tuple[float, str]:
    found = shoal.measure({"q": CLASSES, "pay": pay}, quasi=["q"], sensitive=["pay"]).closeness["pay"]
    return found.t, found.distance


@pytest.mark.parametrize("spell", ["${:,.2f}".format, "{:.1f} kg".format, "CHF {:,.1f}".format, "{:.1f}%".format])
def test_written_amounts_are_as_close_as_numbers(spell: Callable[[float], str]) -> None:
    assert closeness([spell(x) for x in AMOUNTS]) == closeness(AMOUNTS)


def test_one_text_that_is_no_amount_leaves_categories() -> None:
    written = [f"${x:,.2f}" for x in AMOUNTS]
    assert closeness(["$?", *written[1:]])[1] == "equal"
    assert closeness([f"{x}" + "abc"[i % 3] for i, x in enumerate(AMOUNTS)])[1] == "equal"  # no common unit


def test_an_order_that_is_said_counts_before_the_numbers() -> None:
    pay = ["$1", "$20", "$3"] * 40
    table = {"q": CLASSES, "pay": pay}
    said = shoal.measure(table, quasi=["q"], sensitive=["pay"], order={"pay": ["$20", "$1", "$3"]})
    found = shoal.measure(table, quasi=["q"], sensitive=["pay"])
    assert found.closeness["pay"].distance == said.closeness["pay"].distance == "ordered"
    assert found.closeness["pay"].t != said.closeness["pay"].t
    equal = shoal.measure(table, quasi=["q"], sensitive=["pay"], distances={"pay": "equal"})
    assert equal.closeness["pay"].distance == "equal"
