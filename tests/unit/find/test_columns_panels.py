"""Columns of panels and follow-ups: keys that repeat, counts, years at school, marks whose names say nothing."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.find import ColumnFacts, ColumnFinding, Scale, find_column, find_columns
from shoal.find.roles.keys import CLUSTERED, LEAST_NUMBERED, PANEL, equally_often, is_key
from shoal.find.topics import topic_of
from shoal.find.whole_numbers import COUNTED, rarer_upwards
from shoal.model.roles import Role


def facts(name: str, counts: dict[str, int], kind: str = "integer") -> ColumnFacts:
    sizes = np.array(list(counts.values()), dtype=np.int64)
    return ColumnFacts(name, kind, list(counts), sizes, int(sizes.sum()))


def keys(n: int, times: int, step: int = 7) -> dict[str, int]:
    return {str(13 + step * i + i % 3): times for i in range(n)}


@pytest.mark.parametrize(("n", "panel"), [(PANEL - 1, False), (PANEL, True)])
def test_numbers_in_equally_many_rows_are_people_of_a_panel(n: int, panel: bool) -> None:
    key = facts("qzv", keys(n, 8))
    assert equally_often(key) is panel
    other = facts("round", {str(1980 + i): n for i in range(8)})
    found = find_columns([key, other])
    assert (found[0].mark == "unit") is panel


def test_numbers_that_are_no_people_of_a_panel() -> None:
    assert not equally_often(facts("x", {str(1 + i): 8 for i in range(90)}))  # no gap: items of a test
    assert not equally_often(facts("x", {**keys(60, 8), "9999": 7}))
    assert not equally_often(facts("x", keys(60, 1)))  # once each: another rule tells rows apart
    assert not equally_often(facts("x", {str(-13 - 7 * i): 8 for i in range(60)}))
    assert find_column(facts("wage", {str(1000 + 77 * i): 8 for i in range(60)})).role is Role.SENSITIVE  # the name tells


@pytest.mark.parametrize(
    ("name", "distinct", "rows", "direct"),
    [
        ("intnum", LEAST_NUMBERED, 180, True),
        ("intnum", LEAST_NUMBERED - 1, 180, False),
        ("roster_nr", 200, int(200 / CLUSTERED), True),
        ("roster_nr", 200, int(200 / CLUSTERED) + 1, False),
        ("numcalls", 200, 400, False),
    ],
)
def test_a_word_for_number_at_the_end_of_a_name_numbers_somebody(name: str, distinct: int, rows: int, direct: bool) -> None:
    sizes = {str(3 + 5 * i): 1 for i in range(distinct)}
    sizes["3"] += rows - distinct
    assert (find_column(facts(name, sizes)).role is Role.DIRECT) is direct


def test_fractions_number_nobody() -> None:
    scores = {f"{(-1) ** i * (1.00821 + i / 997):.5f}": 1 + i % 3 for i in range(300)}
    assert not is_key(facts("statusquo", scores, "text"))
    assert find_column(facts("statusquo", scores, "text")).role is not Role.DIRECT


@pytest.mark.parametrize(
    ("counts", "number"),
    [
        ((800, 400, 200, 90, 30, 9), True),
        ((800, 400, 200, 90, 30), False),  # fewer than six
        ((800, 400, 200, 90, 30, 60), False),  # the last is not rare
        ((300, 800, 200, 90, 30, 9), False),  # 0 is not the most frequent
        ((800, 400, 200, 90, 91, 9), True),  # one rise
        ((800, 400, 200, 201, 30, 31, 9), False),  # two rises
    ],
)
def test_numbers_that_get_rarer_upwards_are_counts(counts: tuple[int, ...], number: bool) -> None:
    column = facts("emr", {str(i): n for i, n in enumerate(counts)})
    assert rarer_upwards(column) is number
    assert (find_column(column).scale is Scale.NUMBER) is number
    assert len(counts) >= COUNTED or not number


def test_codes_from_one_are_no_counts() -> None:
    assert not rarer_upwards(facts("emr", {str(i + 1): n for i, n in enumerate((800, 400, 200, 90, 30, 9))}))


@pytest.mark.parametrize(("most", "years"), [(12, True), (14, False)])
def test_years_at_school_are_no_codes_of_schools(most: int, years: bool) -> None:
    column = facts("school", {str(i): 50 + 200 * (i == most) for i in range(19)})
    found = find_column(column)
    assert found.role is Role.QUASI
    assert (found.scale is Scale.NUMBER) is years


def in_a_trial(time: str, status: str) -> ColumnFinding:
    columns = [
        facts("age", {str(i): 5 for i in range(20, 80)}),
        facts(time, {str(3 * i): 2 for i in range(150)}),
        facts(status, {"0": 150, "1": 150}),
        facts("propylac", {f"{i}.25": 2 for i in range(150)}, "float"),
    ]
    return find_columns(columns)[3]


def test_people_who_are_followed_to_an_outcome_make_a_private_table() -> None:
    assert in_a_trial("tstop", "status").role is Role.SENSITIVE
    assert in_a_trial("tstop", "colour").role is Role.UNDECIDED
    assert in_a_trial("width", "status").role is Role.UNDECIDED


@pytest.mark.parametrize(("sex", "values", "role"), [("sex", 2, "undecided"), ("sax", 2, "quasi"), ("sex", 3, "quasi")])
def test_a_yes_or_no_without_a_name_is_undecided_where_others_have_names(sex: str, values: int, role: str) -> None:
    columns = [
        facts("age", {str(i): 5 for i in range(20, 80)}),
        facts("race", {"1": 200, "2": 100}),
        facts(sex, {"1": 150, "2": 150}),
        facts("diagnosis", {"1": 150, "2": 150}),
        facts("pain", {"1": 150, "2": 150}),
        facts("fever", {"1": 150, "2": 150}),
        facts("os12m", {str(i): 300 // values for i in range(values)}),
    ]
    assert find_columns(columns)[6].role.value == role


@pytest.mark.parametrize(
    ("name", "topic"),
    [
        ("black", "race"),
        ("nonwhite", "race"),
        ("south", "place"),
        ("northing", "position"),
        ("yschool", "education"),
        ("schidkn", "facility"),
        ("FRAC", "diagnosis"),
    ],
)
def test_words_of_panels(name: str, topic: str | None) -> None:
    found = topic_of(name)
    assert (found.key if found else None) == topic


def test_one_crime_makes_a_table_private() -> None:
    people = [facts(name, {"1": 150, "2": 150}) for name in ("race", "sex", "married")]
    mark = facts("paro", {"0": 100, "1": 200})
    assert find_columns([*people, facts("arrest", {"0": 100, "1": 200}), mark])[4].role is Role.UNDECIDED
    assert find_columns([*people, facts("rested", {"0": 100, "1": 200}), mark])[4].role is Role.QUASI


@pytest.mark.parametrize(
    ("name", "scale"), [("rate_service", Scale.ORDERED), ("service_rate", Scale.NUMBER), ("religious", Scale.ORDERED)]
)
def test_what_somebody_rates_is_ordered(name: str, scale: Scale) -> None:
    assert find_column(facts(name, {str(i): 60 for i in range(1, 6)})).scale is scale


def test_censoring_is_no_census() -> None:
    assert topic_of("cens").key == "technical"  # type: ignore[union-attr]
    assert topic_of("census_tract").key == "place"  # type: ignore[union-attr]
    assert topic_of("midincome").key == "income"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("name", "distinct", "rows", "role"),
    [
        ("UTILITYID", 259, 4092, "quasi"),
        ("UTILITYID", 500, 4092, "direct"),
        ("UTILITYID", 20, 4092, "quasi"),
        ("UTILITYID", 19, 4092, None),
        ("unpaid", 259, 4092, "quasi"),
        ("thyroid2", 259, 4092, "sensitive"),
    ],
)
def test_joined_names_that_end_with_id_are_no_amounts(name: str, distinct: int, rows: int, role: str | None) -> None:
    sizes = {str(13 + 31 * i + i * i % 7): 1 for i in range(distinct)}
    sizes["13"] += rows - distinct
    found = find_column(facts(name, sizes))
    assert role is None or found.role.value == role
    assert role != "quasi" or found.scale is (Scale.NUMBER if name == "unpaid" else Scale.NOMINAL)
    assert role is not None or not found.reason.startswith("its name ends with id")
