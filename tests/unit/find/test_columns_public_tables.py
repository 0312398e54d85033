"""Rules found on public tables (accident reports, trials, loans, hospital files), each at its limit and one step beside it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from shoal.find import ColumnFacts, ColumnFinding, Scale, find_column, find_columns
from shoal.find.bands import band_order, open_numbers
from shoal.find.columns import FEWEST_PHONES
from shoal.find.missing_values import missing_spellings
from shoal.find.roles.keys import in_a_block
from shoal.find.topics import topic_of
from shoal.model.roles import Role


def facts(name: str, counts: dict[str, int], kind: str = "integer") -> ColumnFacts:
    return ColumnFacts(name, kind, list(counts), np.array(list(counts.values()), dtype=np.int64), sum(counts.values()))


def codes(*values: object, rows: int = 60) -> dict[str, int]:
    return {str(v): rows for v in values}


def found(name: str, counts: dict[str, int], kind: str = "integer") -> ColumnFinding:
    return find_column(facts(name, counts, kind))


def table(*names: str) -> tuple[ColumnFinding, ...]:
    return find_columns([facts(name, codes(1, 2, 3)) for name in names])


def test_a_table_of_patients_is_no_census() -> None:
    known = ["age", "sex", "region", "education", "marital", "race"]
    assert table(*known, "diagnosis", "somewhat")[-1].role is Role.QUASI  # six that others know for one about health
    assert table(*known[:-1], "diagnosis", "somewhat")[-1].role is not Role.QUASI


@pytest.mark.parametrize(("n", "role"), [(FEWEST_PHONES, Role.DIRECT), (FEWEST_PHONES - 1, Role.INSENSITIVE)])
def test_a_few_codes_of_ten_digits_are_no_telephones(n: int, role: Role) -> None:
    numbers = codes(*(f"03{i * 7919 % 10**8:08d}" for i in range(1, n + 1)))
    assert found("proc_rea_x", numbers, "text").role is not Role.DIRECT or n == FEWEST_PHONES
    assert found("telefono", numbers, "text").role is (Role.DIRECT if n > 12 else role)


@pytest.mark.parametrize(
    "counts",
    [
        {str(v): 60 for v in (1, 2, 3, 4)},  # as frequent as each other: people with several rows
        {"3": 300, "10": 200, "15": 100},  # some left out
        {"2": 300, "3": 200, "4": 100},
        {"1": 200, "2": 300, "3": 50},
    ],
)
@pytest.mark.parametrize("name", ["RECORD_NO", "subject", "participant", "casualty_reference"])
def test_numbers_that_do_not_count_up_may_name_people(name: str, counts: dict[str, int]) -> None:
    assert found(name, counts).role in (Role.DIRECT, Role.QUASI, Role.UNDECIDED)


def test_an_abbreviation_is_no_evidence_that_a_column_is_harmless() -> None:
    assert topic_of("checksum").role is Role.INSENSITIVE  # type: ignore[union-attr]
    assert topic_of("checks") is None
    assert found("checks", codes(0, 1, 2, 3)).role is not Role.INSENSITIVE


def test_the_weight_of_newborns_is_no_survey_weight() -> None:
    pounds = {f"{v / 16:.2f}": 3 for v in range(60, 160)}
    assert found("weight", pounds, "float").role is Role.QUASI
    assert found("weight", {f"{v / 100:.2f}": 3 for v in range(30, 250)}, "float").mark == "weight"


@pytest.mark.parametrize(
    ("middle", "most", "newborn"), [(1.5, 5, True), (1.49, 5, False), (12, 20, True), (12.01, 20, False), (12, 20.01, False)]
)
def test_where_weights_of_newborns_begin_and_end(middle: float, most: float, newborn: bool) -> None:
    spread = [0.5, 0.6, 0.7, middle, most - 0.2, most - 0.1, most]
    assert (find_column(facts("weight", {str(v): 9 for v in spread}, "float")).role is Role.QUASI) == newborn


def test_a_weight_that_some_do_not_have_is_no_survey_weight() -> None:
    counts = {str(v): 4 for v in range(41, 125)}
    whole = facts("repwt", counts)
    assert find_column(whole).mark == "weight"
    assert find_column(replace(whole, rows=whole.rows + 1, missing=1)).mark == ""


def test_a_number_behind_a_word_counts_inside_a_group() -> None:
    counted = {"0": 300, "1": 200, "2": 80, "3": 40}
    assert found("VEH_NO", counted).role is Role.INSENSITIVE
    assert found("PER_NO", {str(i + 1): n for i, n in enumerate((90, 80, 60, 60, 45))}).role is Role.INSENSITIVE
    assert found("PER_NO", {str(i + 1): n for i, n in enumerate((90, 80, 60, 60, 46))}).role is not Role.INSENSITIVE  # not half
    assert found("VEH_NO", {"0": 90, "1": 50, "2": 35, "3": 20}).role is Role.QUASI  # fewer than fifty rows each
    assert found("vehicles", codes(0, 1, 2, 3)).role is Role.QUASI


@pytest.mark.parametrize(
    ("values", "scale"),
    [
        ((6, 7, 12, 22, 31, 36, 37, 49, 98), Scale.NOMINAL),
        ((0, 11, 13, 21, 23), Scale.NOMINAL),
        ((0, 10, 20, 50), Scale.NUMBER),  # round amounts
        ((1, 14, 27, 33, 41, 48, 52, 61, 69, 73, 84, 92), Scale.NOMINAL),
        ((1, 14, 27, 33, 41, 48, 52, 61, 69, 73, 84, 92, 99), Scale.NUMBER),  # thirteen
    ],
)
def test_few_numbers_with_gaps_are_codes(values: tuple[int, ...], scale: Scale) -> None:
    assert found("somewhat", codes(*values)).scale is scale


def test_codes_of_an_amount_are_codes() -> None:
    assert found("COD_IDADE", codes(2, 3, 4)).scale is Scale.NOMINAL
    assert found("IDADE", codes(*range(2, 60))).scale is Scale.NUMBER


def test_performance_scales_are_ordered() -> None:
    assert found("ph.karno", codes(50, 60, 70, 80, 90, 100)).scale is Scale.ORDERED
    assert found("ph.ecog", codes(0, 1, 2, 3)).scale is Scale.ORDERED


def test_codes_beside_nines_mean_no_value() -> None:
    ages = codes(*range(96), rows=4)
    assert missing_spellings(facts("AGE", ages | {"998": 5})) == ("998",)
    assert missing_spellings(facts("AGE", ages | {"994": 5})) == ()
    assert missing_spellings(facts("ALC", codes(*range(333), rows=4) | {"996": 40})) == ("996",)  # three times 332
    assert missing_spellings(facts("ALC", codes(*range(334), rows=4) | {"996": 40})) == ()


def test_two_numbered_answers_have_no_order() -> None:
    assert found("health", {"1. Yes": 60, "2. No": 60}, "text").scale is Scale.NOMINAL
    assert found("health", {"1. Poor": 60, "2. Fair": 60, "3. Good": 60}, "text").scale is Scale.ORDERED


def test_numbers_with_a_unit_and_one_open_end_are_bands() -> None:
    assert band_order(["10+ years", "2 years", "< 1 year", "1 year"]) == ("< 1 year", "1 year", "2 years", "10+ years")
    assert band_order(["10+", "2", "3", "1"]) == ()
    assert band_order(["1 year", "2 years", "3 years"]) == ()


def test_numbers_beside_a_spelling_of_missing_are_measured() -> None:
    values = {str(i): 2 for i in range(70)} | {"?": 40}
    finding = found("protime", values, "text")
    assert finding.scale is Scale.NUMBER
    assert finding.role is Role.UNDECIDED


def test_titles_of_things_are_no_forms_of_address() -> None:
    assert found("title", {"Mr": 60, "Mrs": 60, "Mademoiselle": 60}, "text").topic == "title"
    assert found("title", {"Debt consolidation": 60, "My wedding day": 60, "Car": 60}, "text").topic != "title"


@pytest.mark.parametrize("name", ["patienthealthsystemstayid", "mycustomerid", "hospitalvisitid"])
def test_joined_names_that_end_with_a_number_of_somebody(name: str) -> None:
    held = {str(128_919 + 3 * i): 1 + i % 2 for i in range(400)}
    assert found(name, held).role is Role.DIRECT


def test_ages_cut_at_an_open_end_are_in_order() -> None:
    ages = {str(a): 3 for a in range(18, 90)} | {"> 89": 9}
    made = found("age", ages, "text")
    assert (made.scale, made.order[0], made.order[-2:]) == (Scale.ORDERED, "18", ("89", "> 89"))
    few = [str(a) for a in range(80, 89)]
    assert open_numbers([*few, "90+"]) == ()  # nine numbers
    assert open_numbers([*few, "89", "90+"])[-1] == "90+"
    assert open_numbers([*few, "89", "<81"]) == ()  # inside the rest
    assert open_numbers([*few, "89", "<80"])[0] == "<80"
    assert open_numbers([*few, "89", "<80", "90+", "95+"]) == ()


def test_negative_numbers_are_no_codes() -> None:
    assert found("hospitaladmitoffset", codes(*range(-1200, 13, 100))).scale is Scale.NUMBER  # thirteen values


def test_degrees_are_ordered() -> None:
    assert found("religiousness", codes(1, 2, 3, 4, 5)).scale is Scale.ORDERED
    assert found("religion", codes(1, 2, 3, 4, 5)).scale is Scale.NOMINAL


@pytest.mark.parametrize(
    ("values", "rows", "scale"),
    [
        ((1, 2, 3), 40, Scale.ORDERED),
        ((1, 2, 3), 39, Scale.NUMBER),
        ((1, 2, 3, 4, 5), 40, Scale.ORDERED),
        ((1, 2, 3, 4, 5, 6), 40, Scale.NUMBER),
        ((2, 3, 4), 40, Scale.NUMBER),
    ],
)
def test_levels_of_a_test(values: tuple[int, ...], rows: int, scale: Scale) -> None:
    assert found("cholesterol", codes(*values, rows=rows)).scale is scale


def block(low: int, step: int, n: int) -> ColumnFacts:
    return facts("somewhat", {str(low + step * i): 2 for i in range(n)})


def test_numbers_in_a_block_far_from_zero_are_keys() -> None:
    assert in_a_block(block(100_000, 1, 20))
    assert not in_a_block(block(99_999, 1, 20))
    assert not in_a_block(block(100_000, 1, 19))
    assert in_a_block(block(1_000_000, 21, 20))  # 19 steps of 21 are less than twenty for each number
    assert not in_a_block(block(1_000_000, 22, 20))
    assert not in_a_block(block(100_000, 19, 5_500))  # reaches twice its lowest
    assert find_column(block(500_000, 3, 40)).role is Role.DIRECT


def test_a_block_that_repeats_is_the_unit() -> None:
    made = find_columns([facts("NUMHC", {str(100_000 + i): 2 for i in range(40)}), facts("sexo", codes(1, 2, rows=40))])
    assert made[0].mark == "unit"


def test_few_negative_codes_mean_no_value() -> None:
    above = codes(*range(20, 30), rows=9)
    assert missing_spellings(facts("age", above | {"-32": 3})) == ("-32",)
    assert missing_spellings(facts("age", above | {"-32": 2})) == ()
    assert missing_spellings(facts("age", codes(*range(20, 29), rows=9) | {"-32": 3})) == ()  # nine values above
    assert set(missing_spellings(facts("age", above | {"-32": 3, "-10": 3, "-11": 3}))) == {"-32", "-10", "-11"}
    assert missing_spellings(facts("age", above | {"-32": 3, "-10": 3, "-11": 3, "-12": 3})) == ()
    assert missing_spellings(facts("balance", above | {"-100": 3})) == ()


def test_never_one_two_and_more_are_in_order() -> None:
    assert band_order([">4", "1", "2", "3", "4", "never"]) == ("never", "1", "2", "3", "4", ">4")
    assert band_order([">4", "1", "never"]) == ()


@pytest.mark.parametrize(("first", "scale"), [(0, Scale.NUMBER), (1, Scale.NUMBER), (2, Scale.NOMINAL)])
def test_amounts_of_a_medicine_are_numbers(first: int, scale: Scale) -> None:
    assert found("insulin", codes(first, *range(10, 400, 9), rows=3)).scale is scale
