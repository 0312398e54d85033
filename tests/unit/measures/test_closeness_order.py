"""Closeness of texts: by the order that their words or a person say, never by the alphabet."""

from __future__ import annotations

import itertools

import pyarrow as pa
import pytest

import shoal
from shoal.errors import UsageError
from shoal.measures.classes.closeness import spoken_order
from shoal.model.counts.classes import SensitiveCounts

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


@pytest.mark.parametrize(("values", "spoken"), [(2, False), (3, True), (60, True), (61, False)])
def test_an_order_is_looked_for_among_three_to_sixty_texts(values: int, spoken: bool) -> None:
    bands = [f"{10 * i}-{10 * i + 9}" for i in range(values)]
    for kind in (pa.string(), pa.large_string()):
        made = SensitiveCounts.from_dense("age", [[1] * values], pa.array(bands, kind))
        assert spoken_order(made) == (tuple(bands) if spoken else ())


def test_numbers_and_bare_codes_speak_no_order() -> None:
    assert spoken_order(SensitiveCounts.from_dense("x", [[1, 1, 1]])) == ()
    assert spoken_order(SensitiveCounts.from_dense("x", [[1, 1, 1]], pa.array([1, 2, 3]))) == ()
    assert spoken_order(SensitiveCounts.from_dense("x", [[1] * 2], pa.array(["1", "2"]).dictionary_encode())) == ()
