"""Names of people by their values, numbers that name people by their shape, and the column that names a person."""

from __future__ import annotations

import numpy as np
import pytest

import shoal
from shoal.find import ColumnFacts, ColumnFinding, find_column, find_columns
from shoal.find.people import full_names_share, names_share
from shoal.find.topics import topic_of
from shoal.model.roles import Role

PEOPLE = {
    "en": ["Grace Whitfield", "Harry Ashdown", "Nigel Thornbury"],
    "de": ["Jürgen Wittmann", "Sabine Oberländer", "Heike Vollrath"],
    "fr": ["Hélène Charpentier", "Jean-Pierre Lacombe", "Aurélie Vasseur"],
    "es": ["Iñaki Zabala", "Rocío Peñalver", "Álvaro Quiroga"],
    "nl": ["J. de Vries", "Marijke van der Zanden", "P.J. Hoogland"],
    "pt": ["João Figueiredo", "Conceição Brandão", "Thiago Vasconcelos"],
    "it": ["Dott. Benvenuti", "Giuseppe Mastroianni", "BRAMBILLA, GIULIA"],
}


def facts(name: str, values: list[str], *, kind: str = "text", each: int = 20, missing: int = 0) -> ColumnFacts:
    return ColumnFacts(name, kind, values, np.full(len(values), each), each * len(values) + missing, missing)


def found(name: str, values: list[str], *, kind: str = "text", each: int = 20, missing: int = 0) -> ColumnFinding:
    return find_column(facts(name, values, kind=kind, each=each, missing=missing))


@pytest.mark.parametrize("language", PEOPLE)
@pytest.mark.parametrize("name", ["manager_name", "Betreuer", "col7", "Référent social"])
def test_few_full_names_are_names_of_people(language: str, name: str) -> None:
    finding = found(name, PEOPLE[language])
    assert (finding.role.value, finding.hipaa, finding.scale.value) == ("direct", 1, "id")


@pytest.mark.parametrize(
    "values",
    [
        ["San Juan", "Santa Rosa", "Saint Martin", "Porto Alegre"],
        ["Garcia GmbH", "Smith Ltd", "Rossi SpA"],
        ["Very good", "Rather bad", "No opinion"],
        ["April", "May", "June", "August"],
        ["White", "Black", "Brown", "Green"],
        ["St Mary Hospital", "Garcia Clinic"],
        ["mary jones", "peter smith", "anna weber"],
    ],
)
def test_places_firms_answers_and_colours_are_no_people(values: list[str]) -> None:
    assert full_names_share(values) == 0
    assert names_share(values) < 0.3 or values[0][0].islower()


@pytest.mark.parametrize(("named", "role"), [(4, "direct"), (3, "undecided")])
def test_four_in_ten_full_names_are_enough(named: int, role: str) -> None:
    known = ["Mary Jones", "Ruth King", "John Hall", "Susan Ward"][:named]
    assert found("xyzzy", [*known, *(f"Qix{c} Zuv" for c in "abcdefghij")][:10]).role.value == role


def test_a_topic_of_places_or_firms_keeps_names_from_being_people() -> None:
    values = ["John Lewis", "Hugo Boss", "Giorgio Armani"]
    assert found("employer", values).role.value == "quasi"
    assert found("officer", values).role.value == "direct"


@pytest.mark.parametrize(
    ("name", "topic"),
    [
        ("Nom de naissance", "person_name"),
        ("Lieu de naissance", "birth_place"),
        ("N° dossier", "patient_number"),
        ("Nombre d'enfants à charge", "family"),
        ("subj_last", "person_name"),
        ("customer", "person_number"),
        ("citizen", "nationality"),
        ("child", "family"),
        ("observaciones", "text"),
        ("turno", None),
        ("situacao_final", None),
        ("member_status", None),
    ],
)
def test_small_words_signs_and_beginnings_in_names(name: str, topic: str | None) -> None:
    said = topic_of(name)
    assert (said.key if said else None) == topic


def test_postcodes_are_places_where_every_row_has_its_own() -> None:
    values = [f"{10000 + 37 * n}" for n in range(60)]
    for name in ("Postal Code", "Code postal", "PLZ"):
        finding = found(name, values, each=1)
        assert (finding.role.value, finding.scale.value) == ("quasi", "place"), name


def numbers(digits: int, n: int) -> list[str]:
    return sorted({str(10 ** (digits - 1) + 7919 * i * (i + 3) + i % 9 + 1) for i in range(n)})


@pytest.mark.parametrize(("digits", "n", "role"), [(9, 20, "direct"), (8, 20, "sensitive"), (9, 19, "sensitive")])
def test_long_numbers_that_repeat_are_keys(digits: int, n: int, role: str) -> None:
    values = numbers(digits, n)
    assert len(values) == n
    assert (found("zzz", values, kind="integer", each=40).role.value == "direct") == (role == "direct")


def test_codes_with_leading_zeros_and_long_codes_are_no_amounts() -> None:
    assert found("xyzzy", ["0100", "0300", "1500", "2400"]).scale.value == "nominal"
    assert found("xyzzy", ["100", "300", "1500", "2400"], kind="integer").scale.value == "number"
    assert found("zzz", ["12345673", "10938177", "13967583"], kind="integer").scale.value == "nominal"


@pytest.mark.parametrize(("gap", "direct"), [(0, True), (1, False)])
def test_numbers_without_a_gap_number_the_rows(gap: int, direct: bool) -> None:
    values = [str(n) for n in range(1, 40)] + [str(40 + gap)]
    assert ("numbers the rows" in found("progress", values, kind="integer", each=1).reason) == direct


def test_seconds_since_1970_are_times() -> None:
    values = [str(1_700_000_000 + 977 * n) for n in range(50)]
    assert found("ts", values, kind="integer", each=1).scale.value == "date"


def test_one_value_beside_blanks_is_a_mark_that_its_name_explains() -> None:
    assert found("death_flag", ["Y"], missing=80).role.value == "sensitive"
    assert found("death_flag", ["Y"]).role.value == "insensitive"
    assert found("xyzzy", ["Y"], missing=80).role.value == "undecided"


@pytest.mark.parametrize(("n", "empty", "unit"), [(69, 0, "email"), (70, 0, None), (69, 1, None)])
def test_an_address_is_the_unit_where_people_repeat(n: int, empty: int, unit: str | None) -> None:
    mails = [f"p{i}@x.org" for i in range(n)]
    counts = np.ones(n, dtype=np.int64)
    counts[: 100 - n] += 1
    made = find_columns([ColumnFacts("email", "text", mails, counts, 100 + empty, empty), facts("sex", ["f", "m"], each=50)])
    assert next((f.name for f in made if f.mark == "unit"), None) == unit


def test_a_census_treats_unknown_codes_with_care() -> None:
    known = [facts(n, ["a1", "b2", "c3"]) for n in ("sex", "marital_status", "occupation")]
    unknown = facts("xyzzy", ["q", "r", "s"])
    assert find_columns([*known, unknown])[-1].role.value == "quasi"


@pytest.mark.parametrize(
    ("name", "topic"),
    [
        ("cigsPerDay", "habits"),
        ("Average/day", None),
        ("y", "leaving"),
        ("y1", None),
        ("Partner", "marital"),
        ("Month of absence", "event_date"),
    ],
)
def test_rates_numbered_letters_and_parts_of_dates(name: str, topic: str | None) -> None:
    said = topic_of(name)
    assert (said.key if said else None) == topic


def test_amounts_are_no_internet_addresses_whatever_their_name_ends_with() -> None:
    amounts = [str(n) for n in range(100, 9000, 77)]
    assert found("MEDREIMB_IP", amounts, kind="integer").role.value != "direct"
    assert found("host_ip", [f"10.0.0.{n}" for n in range(30)]).role.value == "direct"


@pytest.mark.parametrize(("low", "high", "scale"), [(1, 25, "nominal"), (1, 26, "number"), (0, 20, "number")])
def test_codes_of_a_question_without_a_name_begin_at_one(low: int, high: int, scale: str) -> None:
    assert found("e6a", [str(n) for n in range(low, high + 1)], kind="integer").scale.value == scale


def test_words_for_above_and_below_order_bands() -> None:
    finding = found("age_cat", ["25 - 45", "Greater than 45", "Less than 25"])
    assert finding.order == ("Less than 25", "25 - 45", "Greater than 45")


def test_the_only_time_of_a_table_of_events_is_the_event() -> None:
    who, where = facts("u_id", [str(n) for n in range(10)], kind="integer"), facts("grid_id", [str(n) for n in range(50)], each=4)
    when = ColumnFacts("created_at", "timestamp", ["2014-03-05 14:44:11", "2014-03-06 08:00:00"], np.array([100, 100]), 200)
    made = find_columns([who, when, where])
    assert [(f.name, f.role.value, f.scale.value, f.mark) for f in made] == [
        ("u_id", "direct", "id", "unit"),
        ("created_at", "quasi", "date", ""),
        ("grid_id", "quasi", "place", ""),
    ]
    birth = ColumnFacts("dob", "date", ["1980-01-01", "1990-01-01"], np.array([100, 100]), 200)
    assert find_columns([who, when, birth])[1].role.value == "insensitive"
    assert find_columns([when, where])[0].role.value == "insensitive"


@pytest.mark.parametrize("name", ["first", "last"])
@pytest.mark.parametrize(
    ("values", "role"),
    [
        (["Anna", "Dirk", "Femke"], "direct"),
        (["Anna", "Dirk"], "undecided"),  # two words are answers or kinds
        (["Anna", "Qixa", "Zuva", "Vuxe"], "undecided"),  # one of four is a known name
        (["Anna", "Qixa", "Zuva"], "direct"),  # one of three
        (["April", "May", "June", "August"], "undecided"),
    ],
)
def test_a_part_of_a_name_is_direct_however_few_its_names(name: str, values: list[str], role: str) -> None:
    assert found(name, values).role.value == role


@pytest.mark.parametrize("name", ["pain", "Pijn", "Schmerzen", "douleur", "dolor", "dolore", "dor"])
def test_pain_is_nobodys_business_in_any_language(name: str) -> None:
    assert topic_of(name) is not None
    assert found(name, ["none", "low", "high"]).role.value == "sensitive"


def test_the_other_part_of_names_is_found_beside_given_names() -> None:
    given = ["Anna", "Peter", "Maria", "Thomas", "Eva", "Paul", "Laura", "Martin", "Julia", "David", "Sara", "Simon"]
    ends = [b + c for b in ("pel", "dor", "gan") for c in ("ix", "oza", "und", "ek", "iz")]
    other = [a + end for a in ("Wum", "Zib", "Kro", "Plon") for end in ends]
    table = {"j": given * 10, "p": other * 2, "b": ["Zibdor", "Plonix", "Wumek"] * 40}
    found = {c.name: c.role for c in shoal.inspect(table).columns}
    assert found["j"] is found["p"] is Role.DIRECT
    assert found["b"] is not Role.DIRECT
    alone = {c.name: c.role for c in shoal.inspect({"p": other * 3, "b": table["b"][:90] * 2}).columns}
    assert alone["p"] is not Role.DIRECT


def test_titles_alone_are_not_people() -> None:
    found = shoal.inspect({"title": ["Prof. Dr.", "Dr.", "Dr."] * 20}).columns[0]
    assert found.role is Role.QUASI


def test_people_are_counted_and_not_numbered() -> None:
    found = shoal.inspect({"cat_num_people": [1, 2, 3, 4] * 40, "age": list(range(20, 60)) * 4})
    assert found.unit is None
    assert found.columns[0].role is Role.QUASI


def test_weights_at_birth_are_not_survey_weights() -> None:
    grams = [round(1500 + 37.35 * i, 2) for i in range(80)]
    assert shoal.inspect({"geboortegewicht": grams}).columns[0].role is not Role.INSENSITIVE


def test_marks_are_called_like_notes() -> None:
    assert shoal.inspect({"nota": [4.5, 6.0, 7.5, 9.0] * 10}).columns[0].role is Role.SENSITIVE


def test_unique_numbers_of_a_name_that_ends_with_no() -> None:
    table = {f"zork{i}": [1_000_000 + 977 * (i + n) ** 2 for n in range(60)] for i in range(3)}
    found = shoal.inspect({**table, "cusno": [400_000 + 31 * n * n for n in range(60)]})
    assert found.columns[-1].role is Role.DIRECT
