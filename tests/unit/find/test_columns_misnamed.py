"""Names that say something else than they seem to: an address of numbers, a frequency at a store, a weight of newborns."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest

import shoal
from shoal.find import ColumnFacts, find_column, find_columns
from shoal.find.topics import topic_of
from shoal.model.roles import Role

ROWS = 400


def found(name, make, label=""):
    rng = random.Random(name)
    counted = Counter(str(make(rng)) for _ in range(ROWS))
    kind = "integer" if all(v.isdigit() for v in counted) else "text"
    return find_column(
        ColumnFacts(name, kind, sorted(counted), np.array([counted[v] for v in sorted(counted)]), ROWS, label=label)
    )


@pytest.mark.parametrize("label", ["", "Years at current address"])
def test_an_address_of_numbers_is_not_a_street(label):
    column = found("address", lambda rng: rng.randint(0, 40), label)
    assert (column.role, column.topic) == (Role.QUASI, "moved")


def test_a_frequency_is_not_a_place_because_its_label_names_one():
    assert found("frequency", lambda rng: rng.randint(1, 5), "How often do you visit the store").topic != "facility"
    assert found("frequency", lambda rng: rng.choice(["weekly", "never"]), "store").topic != "facility"


@pytest.mark.parametrize("make", [lambda rng: rng.randint(0, 1), lambda rng: rng.choice(["college grad", "not college grad"])])
def test_a_college_graduate_is_not_a_place(make):
    assert found("collgrad", make, "College graduate").topic == "education"


def test_grams_of_newborns_are_not_a_survey_weight():
    newborn = found("PESO", lambda rng: round(rng.gauss(3200, 350)))
    assert (newborn.role, newborn.mark) == (Role.QUASI, "")
    assert found("weight", lambda rng: round(rng.lognormvariate(8, 0.7))).mark == "weight"


@pytest.mark.parametrize(
    ("name", "low", "high", "topic"),
    [
        ("IDADEMAE", 14, 48, "age"),
        ("IDADEPAI", 16, 70, "age"),
        ("ESCMAE", 1, 5, "education"),
        ("ESTCIVMAE", 1, 5, "marital"),
        ("RACACORMAE", 1, 5, "race"),
        ("CODOCUPMAE", 110_001, 530_010, "occupation"),
        ("QTDFILVIVO", 0, 6, "family"),
        ("DTNASCMAE", 1_011_975, 28_121_999, "birth_date"),
    ],
)
def test_columns_of_mother_and_father_in_portuguese(name, low, high, topic):
    column = found(name, lambda rng: rng.randint(low, high))
    assert (column.role, column.topic) == (Role.QUASI, topic)


def test_names_outrank_a_header_that_would_publish_them() -> None:
    families = "Tremblay Gagnon Roy Bouchard Martin Simard Dubois Lefebvre Moreau Girard Petit Durand Leroy Lambert Bernard"
    names = [*families.split(), "Richard", "Robert", "Fontaine", "Rousseau", "Vincent", "Muller", "Mercier", "Blanc"]
    found = {c.name: c for c in shoal.inspect({"opinion_zork": names * 10, "NOM_CANDIDAT": names * 10}).columns}
    assert found["opinion_zork"].role is Role.DIRECT
    assert found["NOM_CANDIDAT"].role is Role.DIRECT


def test_sexes_outrank_a_header_that_would_publish_them() -> None:
    table = {"opinion_zork": ["male", "female"] * 40, "diagnosis_zork": ["male", "male", "female", "female"] * 20}
    found = {c.name: c.role for c in shoal.inspect(table).columns}
    assert found["opinion_zork"] is Role.QUASI
    assert found["diagnosis_zork"] is Role.SENSITIVE  # what it says of health must be protected too


def test_a_harmless_word_in_a_question_says_nothing() -> None:
    table = {"did the record of your first year reach them": ["yes", "no"] * 40, "record_flag": ["yes", "no"] * 40}
    assert shoal.inspect(table).columns[0].role is Role.UNDECIDED


def test_many_films_are_not_harmless() -> None:
    films = [f"Zork {chr(65 + i % 26)}{i}" for i in range(90)] * 8
    assert shoal.inspect({"favourite_film": films}).columns[0].role is Role.QUASI
    assert shoal.inspect({"favourite_film": films[:12] * 40}).columns[0].role is not Role.QUASI


def test_words_of_two_scripts_are_two_words() -> None:
    table = {"社員ID": [str(10_000 + i % 390) for i in range(400)]}
    assert shoal.inspect(table).columns[0].role is Role.DIRECT


def test_signs_that_look_like_digits_are_texts() -> None:
    assert shoal.inspect({"zork": ["¹", "none", "2", "1", "3"] * 20}).columns[0].role is Role.UNDECIDED


def test_ratings_under_sentences_are_answers() -> None:
    names = ("The course was of use", "I would recommend it to others", "The zorks were frob enough", "It was worth its price")
    table = {name: np.random.default_rng(i).integers(1, 6, 120).tolist() for i, name in enumerate(names)}
    assert {c.role for c in shoal.inspect(table).columns} == {Role.SENSITIVE}
    short = {f"{name[4:8].strip()}_zork": values for name, values in table.items()}
    assert Role.SENSITIVE not in {c.role for c in shoal.inspect(short).columns}


SYLLABLES = [a + b for a in "bdfgjklmnprstvz" for b in "aeiou"]


def _word(rng):
    return "".join(rng.choice(SYLLABLES) for _ in range(3)).capitalize()


@pytest.mark.parametrize("name", ["v4", "elected", "ใคร", "entry"])
@pytest.mark.parametrize("words", [1, 2])
def test_words_of_their_own_in_most_rows_may_be_names_that_no_list_has(name, words):
    assert found(name, lambda rng: " ".join(_word(rng) for _ in range(words))).role is Role.DIRECT


@pytest.mark.parametrize(("different", "role"), [(ROWS // 2, Role.DIRECT), (ROWS // 2 - 1, Role.QUASI)])
def test_words_that_more_than_two_rows_share_are_not_of_their_own(different, role):
    rng = random.Random(3)
    words = sorted({_word(rng) + _word(rng) for _ in range(2 * ROWS)})[:different]
    counts = np.array([ROWS // different + (i < ROWS % different) for i in range(different)])
    assert find_column(ColumnFacts("v4", "text", words, counts, ROWS)).role is role


@pytest.mark.parametrize("cell", ["ask {}@example.org", "see www.{}.example.org", "call +31 20 123 4567 {}"])
def test_an_answer_that_contains_an_address_is_not_published_as_an_answer(cell):
    answers = ["very satisfied", "satisfied", "neutral", "not satisfied"]
    seldom = found("satisfaction", lambda rng: cell.format(_word(rng)) if rng.random() < 0.005 else rng.choice(answers))
    assert seldom.role is Role.UNDECIDED or seldom.role is Role.DIRECT
    often = found("satisfaction", lambda rng: cell.format(_word(rng)) if rng.random() < 0.5 else rng.choice(answers))
    assert often.role is Role.DIRECT
    assert found("satisfaction", lambda rng: rng.choice(answers)).role is Role.SENSITIVE


def test_a_label_says_more_than_a_name_that_is_harmless_alone():
    assert found("year", lambda rng: rng.randint(1990, 2002), "Year of admission").role is Role.QUASI
    assert found("year", lambda rng: rng.randint(1, 3)).topic == "technical"


@pytest.mark.parametrize(
    ("name", "topic"),
    [
        ("Tempat Lahir", "birth_place"),
        ("body temp", "lab"),
        ("Contact Info", "phone"),
        ("Recommender Contact Info (if given)", "phone"),
        ("password", "account"),
        ("Candidate", "person_name"),
        ("متوسط", ""),
        ("დაბადების ადგილი", "birth_place"),
        ("ծննդյան տարեթիվ", "birth_date"),
        ("όνομα πατέρα", "person_name"),
        ("locul nașterii", "birth_place"),
        ("mật khẩu", "account"),
        ("ngoaingu", "marks"),
        ("koliko ste stari", "age"),
    ],
)
def test_words_of_further_languages(name, topic):
    said = topic_of(name)
    assert (said.key if said else "") == topic


@pytest.mark.parametrize(
    ("name", "value", "role"),
    [
        ("patient_name", "Wumek Plonix", Role.DIRECT),
        ("Alamat", "Kampung Zibdor", Role.DIRECT),
        ("telefoon", "unknown to us", Role.DIRECT),
        ("study_name", "Shoal I", Role.INSENSITIVE),
        ("sex", "f", Role.INSENSITIVE),
    ],
)
def test_the_name_of_the_only_person_in_a_table_is_not_harmless(name, value, role):
    assert found(name, lambda rng: value).role is role


@pytest.mark.parametrize("name", ["score", "income", "satisfaction", "result", "wave"])
@pytest.mark.parametrize(
    "make",
    [
        lambda rng: rng.randint(10**10, 10**11 - 1),
        lambda rng: f"{rng.randint(40, 99)}{rng.randint(1, 12):02d}{rng.randint(1, 28):02d}-{rng.randint(1000, 9999)}",
        lambda rng: f"{rng.randint(10**8, 10**9 - 1)}X",
    ],
    ids=["eleven digits", "day and number", "digits and a letter"],
)
def test_numbers_of_people_under_another_name_are_not_published(name, make):
    assert found(name, make).role in (Role.DIRECT, Role.UNDECIDED, Role.QUASI)


def test_amounts_stay_amounts():
    assert found("income", lambda rng: rng.randint(100, 999) * 100_000).role is Role.SENSITIVE
    assert found("score", lambda rng: rng.randint(0, 100)).role is Role.SENSITIVE


def asked_alike(n, *, answers, questions):
    name = "kio estas la {} demando de tiu longa listo de demandoj"
    one = np.full(len(answers), ROWS // len(answers))
    rows = int(one.sum())
    return [f.role for f in find_columns([ColumnFacts(name.format(i), "text", answers, one, rows) for i in range(questions)])][n]


@pytest.mark.parametrize(("answers", "questions", "published"), [(3, 9, False), (3, 10, True), (7, 10, True), (8, 10, False)])
def test_the_same_unknown_words_in_a_few_questions_are_not_opinions(answers, questions, published):
    """Four questions may ask where the parents and grandparents come from; ten with few answers rate something."""
    words = ["tiel", "ankau", "kvazau", "neniam ree", "iomete pli", "multe pli", "tute ne", "eble jes"][:answers]
    role = asked_alike(2, answers=sorted(words), questions=questions)
    assert (role in (Role.SENSITIVE, Role.INSENSITIVE)) is published


def typed(*cells, rows=2):
    """A column of outcomes with some cells that people typed, each in so many rows."""
    counts = [ROWS - rows * len(cells), *[rows] * len(cells)]
    return find_column(ColumnFacts("outcome", "text", ["improved", *cells], np.array(counts), ROWS)).role


@pytest.mark.parametrize(
    ("cells", "role"),
    [
        (("left",), Role.SENSITIVE),
        (("ward 417",), Role.SENSITIVE),
        (("CHRISTIAN SCIENTIST", "Evangelical Christian"), Role.SENSITIVE),
        (("born 1934",), Role.UNDECIDED),
        (("mother Anna Smith",), Role.UNDECIDED),
        (("王秀英",), Role.UNDECIDED),
    ],
)
def test_cells_that_few_rows_have_are_read_under_any_name(cells, role):
    assert typed(*cells) is role


def test_a_text_that_a_tenth_of_the_rows_share_was_not_typed():
    assert (typed("born 1934", rows=40), typed("born 1934", rows=41)) == (Role.UNDECIDED, Role.SENSITIVE)


@pytest.mark.parametrize(
    ("numbers", "role"),
    [
        (range(1_000, 3_000, 13), Role.UNDECIDED),
        (range(999, 2_999, 13), Role.SENSITIVE),
        (range(1_900, 1_939), Role.SENSITIVE),
        (range(1_900, 1_940), Role.UNDECIDED),
    ],
    ids=["own numbers", "begun lower", "few years", "years"],
)
def test_numbers_of_people_and_years_are_not_results(numbers, role):
    values = [str(n) for n in numbers]
    rows = 1 if len(values) > 50 else 9
    column = ColumnFacts("lab result", "integer", values, np.full(len(values), rows), rows * len(values))
    assert find_column(column).role is role
