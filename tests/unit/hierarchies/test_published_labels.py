"""What published labels stand for: each way of writing, exactly at its ends."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.hierarchies.published_labels import Values, read_labels
from shoal.model.hierarchy import Hierarchy

AGES = Values(["18", "20", "29", "30", "85", "90"], np.array([18.0, 20, 29, 30, 85, 90]))
CODES = Values(["1234", "1299", "129", "2000", "a, b"], missing=True)


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        ("20", [1]),
        ("20.0", [1]),
        ("20-29", [1, 2]),
        ("[20, 30)", [1, 2]),
        ("[20-30)", [1, 2]),
        ("[20, 30]", [1, 2, 3]),
        ("(20, 30]", [2, 3]),
        ("<20", [0]),
        ("<=20", [0, 1]),
        ("under 20", [0]),
        ("up to 20", [0, 1]),
        (">85", [5]),
        (">=85", [4, 5]),
        ("85+", [4, 5]),
        ("20..30", [1, 2, 3]),
        ("{18, 90}", [0, 5]),
        ("{18..20, 90}", [0, 1, 5]),
        ("*", [0, 1, 2, 3, 4, 5]),
    ],
)
def test_numbers(label: str, expected: list[int]) -> None:
    (found,) = read_labels(AGES, [label])
    assert found is not None
    assert found.tolist() == expected


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        ("12**", [0, 1]),
        ("12*", [2]),
        ("2*", [3]),
        ("{1234, missing}", [0, 5]),
        ("a, b", [4]),
        ("*", [0, 1, 2, 3, 4, 5]),
    ],
)
def test_codes(label: str, expected: list[int]) -> None:
    (found,) = read_labels(CODES, [label])
    assert found is not None
    assert found.tolist() == expected


@pytest.mark.parametrize("label", ["blue", "30-20", "95+", "{18, 19}", "30..20", "7*", ""])
def test_what_cannot_be_read_is_not_guessed(label: str) -> None:
    assert read_labels(AGES, [label]) == [None]


def test_bands_say_nothing_about_texts() -> None:
    assert read_labels(CODES, ["1000-1999"]) == [None]


def test_dates_by_years() -> None:
    dates = Values(["2019-05-01", "2020-01-01", "2024-12-31"], np.array([1.0, 2, 3]), np.array([2019, 2020, 2024]))
    (found,) = read_labels(dates, ["2020-2024"])
    assert found is not None
    assert found.tolist() == [1, 2]


def test_levels_come_first_and_a_name_of_several_levels_stands_for_all() -> None:
    tree = Hierarchy.from_rows("x", [["a", "(other)", "(other)"], ["b", "b", "(other)"], ["c", "c", "c"]])
    found = read_labels(Values(["a", "b", "c"]), ["b", "(other)", "c"], [tree])
    assert [f.tolist() for f in found if f is not None] == [[1], [0, 1], [2]]


def test_the_rest_is_what_no_other_label_stands_for() -> None:
    found = read_labels(Values(["a", "b", "c"]), ["c", "other", "*"])
    assert [f.tolist() for f in found if f is not None] == [[2], [0, 1], [0, 1, 2]]
    assert read_labels(Values(["a", "b", "c"]), ["c", "other", "odd"])[1] is None


@pytest.mark.parametrize(
    ("label", "read"),
    [
        ("menor de 25", ["18"]),
        ("hasta 25", ["18", "25"]),
        ("più di 31", ["90"]),
        ("a partir de 31", ["31", "90"]),
        ("mindestens 31", ["31", "90"]),
        ("älter als 31", ["90"]),
        ("25 até 31", None),
        ("25 until 31", ["25", "31"]),
    ],
)
def test_bands_are_read_in_the_words_of_the_list(label: str, read: list[str] | None) -> None:
    values = Values(["18", "25", "31", "90"], np.array([18.0, 25.0, 31.0, 90.0]))
    (places,) = read_labels(values, [label])
    assert (None if places is None else [values.texts[i] for i in places]) == read
