"""Closeness of texts: by the order that their words or a person say, never by the alphabet."""

from __future__ import annotations

import itertools

import pyarrow as pa
import pytest

import shoal
from shoal.errors import UsageError

WORDS = ["low", "medium", "high"]
TABLE = pa.table({"ward": list("AAABBB"), "pain": ["low", "low", "medium", "medium", "high", "high"]})


def by_hand(table: pa.Table, column: str, order: list[str | None]) -> float:
    """Largest Σ |P − Q| over cumulative shares / (m − 1), class by class."""
    rows = table.to_pylist()
    places = [order.index(r[column]) for r in rows]
    m, worst = len(order), 0.0
    for ward in {r["ward"] for r in rows}:
        mine = [p for p, r in zip(places, rows, strict=True) if r["ward"] == ward]
        gaps = [abs(sum(p <= i for p in mine) / len(mine) - sum(p <= i for p in places) / len(places)) for i in range(m)]
        worst = max(worst, sum(gaps) / (m - 1))
    return worst


def closeness(table: object, column: str = "pain", **asked: object) -> tuple[float, str]:
    found = shoal.measure(table, quasi=["ward"], sensitive=[column], **asked).closeness[column]  # type: ignore[call-overload]
    return found.t, found.distance


def test_words_that_have_an_order_are_taken_in_it() -> None:
    wanted = pytest.approx(by_hand(TABLE, "pain", WORDS))
    assert wanted != by_hand(TABLE, "pain", sorted(WORDS))  # the alphabet would say something else
    for asked in ({}, {"distances": {"pain": "ordered"}}, {"order": {"pain": WORDS}}):
        assert closeness(TABLE, **asked) == (wanted, "ordered")
    assert closeness(shoal.open(TABLE, scale={"pain": "ordered"})) == (wanted, "ordered")


def test_a_stated_order_stands_above_the_words() -> None:
    for order in itertools.permutations(WORDS):
        assert closeness(TABLE, order={"pain": order}) == (pytest.approx(by_hand(TABLE, "pain", list(order))), "ordered")


def test_a_stated_scale_stands_above_words_and_numbers() -> None:
    coded = TABLE.set_column(1, "pain", pa.array([1, 1, 2, 2, 3, 3]))
    for table in (TABLE, coded):
        assert closeness(shoal.open(table, scale={"pain": "nominal"})) == (pytest.approx(1 / 3), "equal")
        assert closeness(shoal.open(table, scale={"pain": "nominal"}), distances={"pain": "ordered"})[1] == "ordered"
    assert closeness(coded)[1] == "ordered"


def test_bands_are_ordered_by_their_ends() -> None:
    bands = ["5-17", "18-64", "65+"]
    table = pa.table({"ward": list("AAABBB"), "age": [bands[i] for i in (0, 0, 1, 1, 2, 2)]})
    assert closeness(table, "age") == (pytest.approx(by_hand(table, "age", bands)), "ordered")


@pytest.mark.parametrize(("values", "refused"), [(["x", "y", "z"], True), (["x", "y", None], True), (["x", "y", "y"], False)])
def test_an_order_that_nobody_knows_is_asked_for(values: list[str | None], refused: bool) -> None:
    table = pa.table({"ward": list("AAABBB"), "pain": values * 2})
    assert closeness(table)[1] == "equal"
    if refused:
        with pytest.raises(UsageError, match="needs the order of its values"):
            closeness(table, distances={"pain": "ordered"})
    else:
        assert closeness(table, distances={"pain": "ordered"}) == (pytest.approx(closeness(table)[0]), "ordered")


def test_a_search_asks_for_the_order_too() -> None:
    table = pa.table({"ward": list("AAABBB"), "pain": ["x", "y", "z"] * 2})
    policy = {
        "roles": {"quasi": {"ward": {}}, "sensitive": {"pain": {}}},
        "require": {"k": 2, "closeness": {"pain": {"t": 0.5, "distance": "ordered"}}},
    }
    with pytest.raises(UsageError, match="needs the order of its values"):
        shoal.anonymize(table, policy)
