"""Numbers that mean no value: which texts are numbers, and how long they may be."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pytest

import shoal
from shoal.engines.core.properties import LONGEST_NUMBER, _number


@pytest.mark.parametrize(
    ("text", "number"),
    [
        (" -9 ", Decimal(-9)),
        ("9.0", Decimal(9)),
        ("nan", None),
        ("inf", None),
        ("?", None),
        (f"1e{LONGEST_NUMBER - 1}", Decimal(10) ** (LONGEST_NUMBER - 1)),
        (f"1e{LONGEST_NUMBER}", None),
        (f"1e-{LONGEST_NUMBER - 1}", Decimal(10) ** (1 - LONGEST_NUMBER)),
        (f"1e-{LONGEST_NUMBER}", None),
    ],
)
def test_what_is_looked_for(text, number):
    assert _number(text) == number


def test_a_word_said_of_numbers_takes_nothing_away():
    table = shoal.open(pa.table({"x": [1.0, 9.0]})).described(missing_values={"x": ["refused"]})
    assert table.values("x")[0].to_pylist() == [1.0, 9.0]


def test_texts_are_compared_as_they_are_written():
    table = shoal.open(pa.table({"x": ["9", "9.0"]})).described(missing_values={"x": ["9"]})
    assert table.values("x")[0].to_pylist() == ["9.0", None]


def test_numbers_are_taken_away_however_they_are_spelled():
    table = shoal.open(pa.table({"x": [1.0, 9.0]})).described(missing_values={"x": ["9", "refused"]})
    assert table.values("x")[0].to_pylist() == [1.0, None]
