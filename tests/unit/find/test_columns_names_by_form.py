"""Names of people by their endings and initials, under any name of a column; marks in letters; languages of the words."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.find import ColumnFacts, find_columns
from shoal.find.people import initials_share, names_share
from shoal.find.topics import topic_of
from shoal.find.value_topics import VOCABULARIES, _possible
from shoal.model.roles import Role

GIVEN = ("Zyrtas", "Qavda", "Wexil", "Yrsil", "Xandar", "Qestut", "Wytalas", "Zoltva")
FAMILIES = ("Petrauskas", "Balčiūtė", "Zdanavičius", "Norkaitė")


def column(name: str, values: list[str], times: int = 3) -> ColumnFacts:
    return ColumnFacts(name, "text", values, np.full(len(values), times), times * len(values))


def role(facts: ColumnFacts, *beside: ColumnFacts) -> Role:
    return find_columns([facts, *beside])[0].role


def test_names_are_known_by_their_ending_under_the_word_for_something_sensitive() -> None:
    """A "camera operator" is no operation; the given names stand in no list."""
    people = [f"{given} {family}" for given in GIVEN for family in FAMILIES]
    assert names_share(people) >= 0.9
    assert role(column("Operatorius", people)) is Role.DIRECT


def test_an_ending_is_no_name_without_letters_before_it() -> None:
    assert (names_share(["Alevna"]), names_share(["Levna"]), names_share(["Evna"])) == (1, 0, 0)


def test_words_that_end_like_names_of_places_are_none() -> None:
    assert names_share(["Genova", "Kosova", "Krakowski", "Minimalist", "Retraite", "Analyte", "Laite"]) == 0


def test_initials_before_a_name_are_people_under_the_word_for_a_course() -> None:
    teachers = [f"{letter}. {family}" for letter in "ABDG" for family in FAMILIES]
    assert initials_share(teachers) == 1
    assert role(column("Kurso vadovas", teachers)) is Role.DIRECT
    assert role(column("course", ["Law", "History", "Mathematics", "M. Sc. Biology"])) is not Role.DIRECT


def test_marks_in_letters_are_marks_under_a_code() -> None:
    marks = [column(name, ["A+", "A-", "B", "C+", "D", "E"], 20) for name in ("BM", "PQS")]
    plain = column("SNT", ["A", "C"], 20)
    assert [f.role for f in find_columns([*marks, plain])] == [Role.SENSITIVE] * 3
    assert role(plain) is not Role.SENSITIVE  # alone it may be anything


def test_blood_groups_are_not_marks() -> None:
    assert "marks" not in find_columns([column("BG", ["A+", "A-", "B+", "AB+"], 20)])[0].topic


def test_an_original_is_no_origin() -> None:
    format_of = column("original format", ["Betacam", "VHS", "DVD"], 20)
    assert find_columns([format_of])[0].topic == ""
    assert find_columns([column("origin", ["Betacam", "VHS", "DVD"], 20)])[0].topic == "nationality"


@pytest.mark.parametrize(
    ("names", "topic"),
    [
        (("Jinsi", "Хүйс", "Xénero", "Jantina"), "sex"),
        (("Yoshi", "Насны бүлэг", "Idade", "Umur", "возрасна група"), "age"),
        (("Tug‘ilgan sana", "Tug'ilgan_sana", "Төрсөн огноо", "Data de nacemento", "датум на раѓање"), "birth_date"),
        (("To‘liq ismi", "Овог нэр", "Apelidos", "Nama murid", "презиме"), "person_name"),
        (("JSHSHIR-kod", "Регистрийн дугаар", "No. kad pengenalan", "ЕМБГ"), "national_number"),
        (("Viloyat", "Аймаг", "Concello", "Mukim", "општина"), "place"),
        (("Tashxis", "Онош", "Enfermidade", "Penyakit", "дијагноза", "veikindi", "lėtinės ligos"), "diagnosis"),
        (("Maosh", "Цалин", "Gaji"), "income"),
    ],
)
def test_headers_of_further_languages_say_their_topic(names: tuple[str, ...], topic: str) -> None:
    assert {name: found.key if (found := topic_of(name)) else None for name in names} == dict.fromkeys(names, topic)


def test_a_pattern_is_asked_only_where_a_text_may_fit_and_misses_none() -> None:
    for text in ("never-married", "mother: divorced", "atheist", "male", "not male", "retired nurse", "xmale", "Ceuta"):
        fitting = [i for i, vocabulary in enumerate(VOCABULARIES) if vocabulary.pattern.match(text)]
        assert set(fitting) <= set(_possible(text))
    assert _possible("xyzzy") == []
