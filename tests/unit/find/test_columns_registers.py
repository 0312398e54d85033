"""Rules found on registers of arrests, hospital stays, accidents, loans and tests: each at its limit and one step beside it."""

from __future__ import annotations

import numpy as np
import pytest

import shoal
from shoal.find import ColumnFacts, ColumnFinding, Scale, find_column, find_columns
from shoal.find.bands import FEWEST, written_amounts
from shoal.find.identifiers import phone
from shoal.find.missing_values import (
    BELOW,
    FAR_BELOW,
    FAR_FEW,
    FAR_ROWS,
    LONE_SHARE,
    LONE_VALUES,
    missing_spellings,
    no_days,
    number_codes,
)
from shoal.find.scales import LONG_RUN
from shoal.find.topics import speaks_of_crime, topic_of
from shoal.find.value_topics import CODES, spoken_of
from shoal.model.roles import Role


def facts(name: str, counts: dict[str, int], kind: str = "integer") -> ColumnFacts:
    return ColumnFacts(name, kind, list(counts), np.array(list(counts.values()), dtype=np.int64), sum(counts.values()))


def codes(*values: object, rows: int = 60) -> dict[str, int]:
    return {str(v): rows for v in values}


def found(name: str, counts: dict[str, int], kind: str = "integer") -> ColumnFinding:
    return find_column(facts(name, counts, kind))


@pytest.mark.parametrize(
    ("counts", "missing"),
    [
        ({"1": 90, "2": 400, "98": FAR_ROWS}, ["98"]),
        ({"1": 90, "2": 400, "98": FAR_ROWS - 1}, []),  # too few rows, and no other column uses it
        ({"1": 90, "2": 400, "97": 30, "99": 3}, ["97", "99"]),
        ({"1": 90, "2": 40, "3": 40, "4": 9, "97": 30}, ["97"]),
        ({**codes(*range(1, FAR_FEW + 1)), "96": 60}, ["96"]),
        ({**codes(*range(1, FAR_FEW + 2)), "96": 60}, []),  # one of many values
        ({**codes(*range(1, FAR_FEW + 2)), "666": 60}, ["666"]),
    ],
)
def test_codes_beside_ninety_nine_mean_no_value_above_few_others(counts: dict[str, int], missing: list[str]) -> None:
    assert number_codes(facts("x", counts)) == missing


def test_a_rare_code_that_other_columns_share_means_no_value() -> None:
    assert number_codes(facts("x", {"1": 90, "2": 400, "98": 1}), {"98"}) == ["98"]
    assert number_codes(facts("x", {"1": 90, "2": 400, "98": 1}), {"97"}) == []


@pytest.mark.parametrize(("columns", "missing"), [(BELOW, ("-1",)), (BELOW - 1, ())])
def test_minus_one_that_several_columns_share_means_no_value(columns: int, missing: tuple[str, ...]) -> None:
    table = [facts(f"actp{i}", codes(-1, 0, 1, 2, "A"), "text") for i in range(columns)]
    assert [f.missing_values for f in find_columns(table)] == [missing] * columns


def test_minus_one_beside_other_negative_values_is_one_of_them() -> None:
    table = [facts(f"pay{i}", codes(-2, -1, 0, 1, 2)) for i in range(5)]
    assert all(f.missing_values == () for f in find_columns(table))


def test_whole_codes_of_floats_are_spelled_as_whole_numbers() -> None:
    """SPSS has doubles only: its 9 was shown as 9.0. Texts stay as they are spelled, since they are compared so."""
    for kind, spelled in (("float", ("9", "9.5")), ("text", ("9.0", "9.5"))):
        counts = codes("1.0", "2.0", "9.0", "9.5")
        said = ColumnFacts("trip", kind, list(counts), np.array(list(counts.values())), 240, declared_missing=("9.0", "9.5"))
        assert find_column(said).missing_values == spelled


def test_nine_is_a_code_where_minus_one_means_no_value() -> None:
    table = [facts(f"trip{i}", codes(-1, 0, 1, 2, 3, 4, 5, 9)) for i in range(3)]
    assert all(f.missing_values == ("-1",) for f in find_columns(table))
    assert number_codes(facts("trip", codes(0, 1, 2, 3, 4, 5, 9, rows=60))) == ["9"]
    assert number_codes(facts("trip", codes(-1, 1, 2, 3, 99)), {"-1"}) == ["-1", "99"]


@pytest.mark.parametrize(
    ("least", "rows", "missing"),
    [
        (FAR_BELOW, FAR_ROWS, ["-1"]),
        (FAR_BELOW - 1, FAR_ROWS, []),
        (FAR_BELOW, FAR_ROWS - 1, []),
    ],
)
def test_minus_one_far_below_amounts_means_no_value(least: int, rows: int, missing: list[str]) -> None:
    assert number_codes(facts("income", {"-1": rows, str(least): 9, "50000": 9})) == missing


def far_above(values: int, rows: int, top: int) -> ColumnFacts:
    return facts("days", {**codes(*range(-values, 0), rows=10), str(top): rows})


def test_one_value_far_outside_all_others_means_no_value() -> None:
    n = LONE_VALUES
    share = round(LONE_SHARE * 10 * n / (1 - LONE_SHARE)) + 1
    far = 3 * (n - 1) - 1  # three ranges above the highest, which is -1
    assert number_codes(far_above(n, share, far)) == [str(far)]
    assert number_codes(far_above(n, share, far - 1)) == []  # nearer
    assert number_codes(far_above(n, share - 2, far)) == []  # rarer
    assert number_codes(far_above(n - 1, share, far)) == []  # among few
    births = {**codes(*range(1900, 2000), rows=10), "0": 100}
    assert number_codes(facts("year", births)) == []  # nothing is something


@pytest.mark.parametrize(
    ("day", "none"),
    [
        ("9999-99-99", True),
        ("99/99/9999", True),
        ("00.00.0000", True),
        ("0000-00-00", True),
        ("9999-12-31", True),
        ("12/31/9999", True),
        ("99999999", True),
        ("1999-12-31", False),
        ("99-12-31", False),
        ("0001-01-01", False),
        ("12/31/1999", False),
    ],
)
def test_days_of_no_calendar_mean_no_value(day: str, none: bool) -> None:
    died = facts("died", {"2020-05-01": 5, day: 9}, "text")
    assert no_days(died) == ([day] if none else [])
    assert missing_spellings(died) == ((day,) if none else ())


def test_the_place_of_an_event_is_a_place() -> None:
    for name in ("ARREST_PRECINCT", "arrest_boro", "offense_county"):
        assert topic_of(name).key == "place", name  # type: ignore[union-attr]
    assert topic_of("arrest").key == "crime"  # type: ignore[union-attr]
    assert topic_of("county_crime").key == "crime"  # type: ignore[union-attr]
    assert topic_of("Health Service Area").key == "place"  # type: ignore[union-attr]


def test_a_table_of_arrests_is_no_census() -> None:
    assert speaks_of_crime("ARREST_DATE")
    assert not speaks_of_crime("REST_DATE")
    names = ("arrest_date", "arrest_hour", "arrest_county", "sex", "race", "age", "somewhat")
    table = find_columns([facts(name, codes(1, 2, 3)) for name in names])
    assert table[-1].role is Role.UNDECIDED
    plain = find_columns([facts(name.replace("arrest", "visit"), codes(1, 2, 3)) for name in names])
    assert plain[-1].role is Role.QUASI


def test_numbers_below_zero_number_nobody() -> None:
    days = {str(-7 * i): 1 for i in range(1, 61)}
    assert found("days_id_publish", days).role is not Role.DIRECT
    assert found("days_id_publish", days).scale is Scale.NUMBER
    assert found("days_id_publish", {str(7 * i): 1 for i in range(60)}).role is Role.DIRECT
    assert found("patient_id", {**days, "5": 1}).role is not Role.DIRECT
    assert found("patient_id", codes(*range(-9_999_999, 9_000_000, 500_000))).role is not Role.DIRECT
    assert found("patient_id", codes(*range(-10_000_000, 9_000_000, 500_000))).role is Role.DIRECT  # a hash with a sign


def test_the_weight_of_a_newborn_is_no_survey_weight() -> None:
    grams = found("Birth Weight", {"0": 500, **codes(*range(2000, 4000, 100), rows=3)})
    assert grams.role is Role.SENSITIVE
    assert grams.mark == ""


def test_moments_with_hyphens_are_no_telephones() -> None:
    assert not phone("2012-06-28-20-30")
    assert not phone("2012-06-28-20-30-05")
    assert phone("020-79-46-01-23")
    assert phone("06-12-34-56-78")
    calls = {f"06-{i:02d}-34-{3 * i % 60:02d}-{7 * i % 60:02d}": 1 for i in range(1, 28)}
    assert found("x", calls, "text").role is Role.DIRECT
    online = {f"2012-06-{d:02d}-{h:02d}-{5 * d % 60:02d}": 1 for d in range(1, 29) for h in (8, 20)}
    assert found("last_online", online, "text").scale is Scale.DATE


def test_amounts_about_a_place_are_numbers_and_yes_or_no_is_nominal() -> None:
    assert found("city_development_index", codes("0.92", "0.77", "0.61", "0.55"), "decimal").scale is Scale.NUMBER
    assert found("city_code", codes(11, 12, 21, 35)).scale is Scale.PLACE
    assert found("reg_city_not_live_city", codes(0, 1)).scale is Scale.NOMINAL
    assert found("region", codes(1, 2)).scale is Scale.PLACE


STATES = ("AL", "CA", "TX", "NY", "OR", "WA", "FL", "VT", "ZZ")


def test_states_are_known_by_their_letters() -> None:
    assert spoken_of(STATES[:8], "text")[0] == "place"  # type: ignore[index]
    assert spoken_of(STATES[:7], "text") is None  # seven: two letters may be anything
    assert spoken_of((*STATES, "QQ"), "text") is None  # below nine in ten
    assert spoken_of(("SP", "RJ", "MG", "BA", "RS", "PR", "PE", "CE"), "text")[0] == "place"  # type: ignore[index]


def test_every_state_has_its_code() -> None:
    usa, brazil = (next(v for v in CODES if v.what == what).pattern for what in ("states of the USA", "states of Brazil"))
    every = "al ak az ar ca co ct de fl ga hi id il in ia ks ky la me md ma mi mn ms mo mt ne nv nh nj nm ny nc nd oh ok or pa ri"
    every += " sc sd tn tx ut vt va wa wv wi wy dc pr"
    assert all(usa.fullmatch(s) for s in every.split())
    assert len(every.split()) == 52
    ufs = "ac al ap am ba ce df es go ma mt ms mg pa pb pr pe pi rj rn rs ro rr sc sp se to"
    assert all(brazil.fullmatch(s) for s in ufs.split())
    assert len(ufs.split()) == 27
    assert not any(usa.fullmatch(s) for s in ("zz", "xx", "qc", "on"))
    assert not any(brazil.fullmatch(s) for s in ("ny", "tx"))


def test_values_tell_of_crimes_and_languages() -> None:
    assert found("ofns_desc", codes("ROBBERY", "PETIT LARCENY", "FORGERY"), "text").role is Role.SENSITIVE
    spoken = found("x_desc", codes("english", "english, french", "german (poorly)"), "text")
    assert (spoken.role, spoken.topic) == (Role.QUASI, "language")


@pytest.mark.parametrize(
    ("values", "missing"),
    [
        ((-2, 1, 2, 3), ("-2",)),
        ((-5, -2, -1, 1, 2), ("-5", "-2", "-1")),
        ((-2, -1, 0, 1), ()),  # one of a row of numbers: months ahead, no debt, months behind
        ((-2, 0, 1, 2), ("-2",)),
        ((-10, 1, 2, 3), ()),  # two digits
        ((-2, 1), ()),  # one value beside it
    ],
)
def test_negative_digits_below_codes_mean_no_value_where_columns_share_them(
    values: tuple[int, ...], missing: tuple[str, ...]
) -> None:
    table = [facts(f"b{i}_x", codes(*values)) for i in range(BELOW)]
    assert [f.missing_values for f in find_columns(table)] == [missing] * BELOW
    assert all(f.missing_values == () for f in find_columns(table[:-1]))


def test_a_series_of_four_questions_is_asked_in_order() -> None:
    def questions(n: int) -> tuple[ColumnFinding, ...]:
        return find_columns([facts(f"pt0{i}", codes(*range(1, 8))) for i in range(1, n + 1)])

    assert all(f.scale is Scale.ORDERED and f.role is Role.SENSITIVE for f in questions(4))
    assert all(f.scale is Scale.NOMINAL and f.role is Role.QUASI for f in questions(3))


def test_no_is_never_among_answers_of_how_often() -> None:
    often = found("CAEC", codes("Sometimes", "no", "Always", "Frequently"), "text")
    assert often.order == ("no", "Sometimes", "Frequently", "Always")
    assert found("CAEC", codes("no", "yes"), "text").scale is Scale.NOMINAL


def test_a_supervisor_of_yes_and_no_is_an_answer() -> None:
    assert found("supervisor", codes("Yes", "No", "Some of them"), "text").role is not Role.QUASI
    assert found("supervisor", codes("A. Lee", "No", "B. Kim"), "text").role is not Role.INSENSITIVE
    assert found("supervisor", codes("Yes", "No", "a", "b", "c", "d"), "text").topic == "facility"  # more than a question has


def test_acronyms_in_the_plural_are_one_word() -> None:
    assert topic_of("STDs").key == "diagnosis"  # type: ignore[union-attr]
    assert topic_of("STDs:HIV").key == "diagnosis"  # type: ignore[union-attr]
    assert topic_of("IDSocio") is None or topic_of("IDSocio").key != "diagnosis"  # type: ignore[union-attr]


def test_ages_at_an_event_are_numbers_and_steps_of_a_town_are_ordered() -> None:
    assert found("First sexual intercourse", codes(*range(5, 18), rows=9)).scale is Scale.NUMBER
    assert found("First sexual intercourse", codes(*range(4, 17), rows=9)).scale is Scale.NOMINAL  # begins where codes may
    assert found("First sexual intercourse", codes(*range(5, 17), rows=9)).scale is Scale.NOMINAL  # twelve
    assert found("Time since first diagnosis", codes(*range(1, 9), rows=9)).scale is Scale.NUMBER
    assert found("Time since first diagnosis", codes(*range(1, 8), rows=9)).scale is not Scale.NUMBER
    assert found("town_size", codes(*range(1, 13), rows=9)).scale is Scale.ORDERED
    assert found("town_size", codes(*range(1, 14), rows=9)).scale is Scale.PLACE


@pytest.mark.parametrize("name", ["column3", "attribute7", "Var12", "field_4", "feature9", "Spalte2", "V3"])
def test_codes_under_a_name_that_only_counts_columns_are_treated_with_care(name: str) -> None:
    assert found(name, codes(0, 1, 2, 3, 4)).role is Role.QUASI


def written(form: str, n: int = FEWEST) -> list[str]:
    return [form.format(i) for i in range(11, 11 + n)]


@pytest.mark.parametrize(
    ("values", "amounts"),
    [
        (written("{}.65%"), True),
        (written("${},234.50"), True),
        (written("{},234.50"), True),  # no sign, but marks between thousands
        (written("€ {}"), True),
        (written("{} kg"), True),
        (written("({},000)"), True),
        (written("{}.65%", FEWEST - 1), False),
        (written("{}"), False),
        (written("{},5"), False),  # a decimal comma is no mark
        (written("{}A"), False),
        (written("{} Main"), False),
        (written("{}th"), False),
        ([*written("{}%", 19), "none"], True),
        ([*written("{}%", 18), "none", "few"], False),
        ([*written("{}%", 19), "20 kg"], True),
        ([*written("{}%", 18), "20 kg", "21 kg"], False),
        ([*written("{}", 16), "<1", "<2", "<3", "<4"], True),
        ([*written("{}", 15), "<1", "<2", "<3", "<4", "<5"], False),
    ],
)
def test_numbers_with_a_sign_or_unit_are_amounts(values: list[str], amounts: bool) -> None:
    assert written_amounts(values) is amounts


def test_inspect_says_that_numbers_with_signs_are_texts() -> None:
    wages = [f"${n},250.00" for n in range(1, 41)]
    seen = shoal.inspect({"paid": wages, "age": list(range(20, 60))})
    assert {c.name: c.scale for c in seen.columns}["paid"] is Scale.NUMBER
    assert any("'paid'" in note and "plain numbers" in note for note in seen.notes)
    assert not any("plain numbers" in note for note in shoal.inspect({"age": list(range(20, 60))}).notes)
    release = shoal.anonymize({"paid": wages, "age": [20, 30] * 20}, quasi=["age"], sensitive=["paid"], k=5)
    assert sorted(release.to_pandas()["paid"]) == sorted(wages)  # as they were written


def people_twice(numbers: list[int], times: list[int]) -> tuple[ColumnFinding, ...]:
    keys = facts("patient_id", {f"S_{1000 + i}": n for i, n in enumerate(times)}, "text")
    other = facts("roster", {str(v): n for v, n in zip(numbers, reversed(times), strict=True)})
    return find_columns([keys, other])


def test_numbers_that_repeat_as_the_key_does_are_another_number_of_people() -> None:
    times = [1 + i % 4 for i in range(20)]
    numbers = [3 * i + 7 for i in range(20)]
    key, other = people_twice(numbers, times)
    assert key.mark == "unit"
    assert (other.role, other.scale) == (Role.DIRECT, Scale.ID)
    assert other.reason.startswith("its values repeat exactly")
    apart = find_columns(
        [
            facts("patient_id", {f"S_{1000 + i}": n for i, n in enumerate(times)}, "text"),
            facts("roster", {str(v): n for v, n in zip(numbers, [*times[:-1], times[-1] + 1], strict=True)}),
        ]
    )
    assert apart[1].role is not Role.DIRECT  # as many values, other repetitions
    assert people_twice(numbers[:19], times[:19])[1].role is not Role.DIRECT  # too few to tell
    assert people_twice(numbers, [2] * 20)[1].role is not Role.DIRECT  # all alike: any design repeats so


def test_parts_of_an_address_are_places() -> None:
    assert topic_of("addr_state").key == "place"  # type: ignore[union-attr]
    assert topic_of("address_zip").key == "postcode"  # type: ignore[union-attr]
    assert topic_of("address_city").key == "place"  # type: ignore[union-attr]
    assert topic_of("address").key == "street"  # type: ignore[union-attr]
    assert topic_of("state_address").key == "street"  # type: ignore[union-attr]


def test_titles_are_forms_of_address_where_one_is_among_them() -> None:
    assert found("title", codes("Mr.", "Mrs.", "Countess"), "text").topic == "title"
    assert found("title", codes("car", "bike", "pool"), "text").topic != "title"
    assert found("title", codes("1", "2", "3")).topic == "title"


def test_amounts_of_a_nominal_topic_are_numbers_where_they_seldom_repeat() -> None:
    pay = {str(v): 1 for v in (*range(90, 100, 2), *range(100, 1000, 37), *range(1000, 3000, 170))}
    assert len(pay) > LONG_RUN
    assert found("converted", pay).scale is Scale.NUMBER
    assert found("converted", dict.fromkeys(pay, 2)).scale is Scale.NOMINAL  # every second row repeats
    assert found("converted", {v: 1 for v in pay if len(v) > 2}).scale is Scale.NOMINAL  # two lengths only


def test_words_before_and_behind_are_read() -> None:
    assert topic_of("PTEDUCAT").key == "education"  # type: ignore[union-attr]
    assert topic_of("YearsCodePro").key == "tenure"  # type: ignore[union-attr]
    assert topic_of("years_smoked").key == "habits"  # type: ignore[union-attr]
    assert found("PositionID", codes(*range(1, 31), rows=10)).role is Role.QUASI
    assert found("casualty_reference", {"1": 100, "2": 60, "3": 20}).role is Role.INSENSITIVE
    assert found("SpecialProjectsCount", codes(*range(9))).role is not Role.QUASI
    assert found("throat_pain", codes(*range(8))).scale is Scale.ORDERED
    order = found(
        "JobSat", codes("Slightly satisfied", "Very dissatisfied", "Slightly dissatisfied", "Very satisfied"), "text"
    ).order
    assert order == ("Very dissatisfied", "Slightly dissatisfied", "Slightly satisfied", "Very satisfied")
