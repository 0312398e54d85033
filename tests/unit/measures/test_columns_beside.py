"""Names read beside the other names of their table, and the column of a person among keys of events."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.measures.columns.find import find_column, find_columns
from shoal.measures.columns.finding import ColumnFacts, Scale
from shoal.measures.columns.names.beside import topics_beside
from shoal.measures.columns.values.bands import band_order
from shoal.measures.columns.values.schooling import schooling_order
from shoal.model.roles import Role


def facts(name: str, values: list[str], kind: str = "integer", each: int = 20) -> ColumnFacts:
    return ColumnFacts(name, kind, values, np.full(len(values), each, dtype=np.int64), each * len(values))


def topics(*names: str) -> list[str]:
    return [t.key if t else "" for t in topics_beside([(n, "") for n in names])]


def test_a_relative_is_known_as_the_person_is() -> None:
    assert topics("age", "ht", "dage", "dht") == ["age", "body", "age", "body"]
    assert topics("dage", "dht") == ["", ""]  # no such column beside them
    assert topics("age", "husage", "agew", "hus_age") == ["age", "age", "age", "age"]
    assert topics("age", "xage", "agex") == ["age", "", ""]  # no letter of a relative
    assert topics("age", "wage") == ["age", "income"]  # a word of its own
    assert topics("salary", "dsalary")[1] != "age"


def test_only_what_others_know_is_taken_over() -> None:
    assert topics("glucose", "dglucose")[1] == ""


def key(name: str, each: int = 2) -> ColumnFacts:
    return facts(name, [f"2022{n * 7919 % 10**8:08d}" for n in range(1, 61)], "text", each)


@pytest.mark.parametrize(
    ("name", "unit"), [("Num_Acc", None), ("accident_id", None), ("patient_id", "unit"), ("case_id", "unit")]
)
def test_the_number_of_an_accident_is_no_person(name: str, unit: str | None) -> None:
    sex = facts("sexe", ["1", "2"], each=60)
    seen = find_columns([key(name), sex])
    assert seen[0].role is Role.DIRECT
    assert seen[0].mark == (unit or "")


def test_years_are_dates_however_few() -> None:
    assert find_column(facts("Year", ["2009", "2010", "2011"])).scale is Scale.DATE
    assert find_column(facts("yearVeh", [str(y) for y in range(1980, 1999)])).scale is Scale.DATE
    assert find_column(facts("Level", ["2009", "2010", "2011"])).scale is not Scale.DATE
    assert find_column(facts("years", ["9", "10", "11"])).scale is not Scale.DATE
    assert find_column(facts("birth_mo", [str(m) for m in range(1, 13)])).scale is Scale.DATE


def test_scores_are_no_occupations() -> None:
    scores = [f"{20 + n}.{(n * 7919) % 1000 + 1001:04d}"[:7] for n in range(50)]
    assert find_column(facts("pcs", scores, "float")).role is Role.SENSITIVE
    assert find_column(facts("pcs", [str(n) for n in range(10, 70)])).role is Role.QUASI
    assert find_column(facts("occupation", [f"{n}.25" for n in range(10, 60)], "float")).role is Role.QUASI  # two decimals


def test_bands_with_a_rate_and_schooling_in_short() -> None:
    rates = ["20-29 per day", "never", "1-4 per day", "60+ per day"]
    assert band_order(rates) == ("never", "1-4 per day", "20-29 per day", "60+ per day")
    assert band_order(["55+", "1-9km/h", "25-39", "10-24"]) == ("1-9km/h", "10-24", "25-39", "55+")
    assert schooling_order(["Univ", "<HS", "Grad", "HS"]) == ("<HS", "HS", "Univ", "Grad")


@pytest.mark.parametrize(
    ("name", "role"), [("vehicleSearch", Role.SENSITIVE), ("TRTA", Role.INSENSITIVE), ("vehicle", Role.QUASI)]
)
def test_what_a_search_and_a_trial_arm_are(name: str, role: Role) -> None:
    assert find_column(facts(name, ["A", "B", "C"], "text")).role is role
