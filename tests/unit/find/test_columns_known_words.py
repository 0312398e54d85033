"""Rules that round 20 of first sight showed to be missing; the tables are generated."""

from __future__ import annotations

import random

import numpy as np
import pytest

import shoal
from shoal.find.columns import find_columns
from shoal.find.finding import ColumnFacts
from shoal.find.topics import topic_of

N = 240
R = random.Random(20)


def roles(table: dict[str, list]) -> dict[str, str]:
    return {c.name: c.role.value for c in shoal.inspect(table).columns}


def pick(*values: object, rows: int = N) -> list:
    return [R.choice(values) for _ in range(rows)]


def test_a_place_that_stands_first_is_a_place() -> None:
    """The polling place is known to neighbours; a vote is not."""
    assert topic_of("Lieu de vote").key == "place"  # type: ignore[union-attr]
    assert topic_of("Intention de vote").key == "politics"  # type: ignore[union-attr]
    places = pick("ECOLE BRK", "ECOLE EKK", "ECOLE UMM", "ECOLE OLT", "ECOLE ARN", "ECOLE WUB")
    assert roles({"Lieu de vote": places})["Lieu de vote"] == "quasi"


def test_departments_are_no_amounts() -> None:
    departments = pick("sales", "accounting", "hr", "technical", "marketing", "IT", "product management")
    assert roles({"sales": departments, "x": departments}) == {"sales": "quasi", "x": "quasi"}
    words = pick("brk", "ekk", "umm", "olt", "arn", "wub")
    assert roles({"spending": words})["spending"] == "undecided"
    assert roles({"spending": pick("low", "medium", "high")})["spending"] == "sensitive"
    assert roles({"spending": pick("brk", "ekk", "umm", "olt", "arn")})["spending"] == "sensitive"


def test_a_birth_weight_that_only_the_label_names_is_no_survey_weight() -> None:
    values = [f"{2 + i / 100:.2f}" for i in range(150)]
    for label, role in (("Birth weight (kg)", "quasi"), ("Base weight", "insensitive")):
        (finding,) = find_columns([ColumnFacts("BWEIGHT", "float", values, np.ones(150, dtype=np.int64), 150, label=label)])
        assert finding.role.value == role


def test_blood_groups_are_known_by_their_form() -> None:
    for groups in (("0 Rh+", "A Rh+", "B Rh-", "AB Rh+"), ("A+", "O-", "AB-", "B+")):
        assert roles({"brk": pick(*groups)})["brk"] == "sensitive"
    assert roles({"brk": pick("A", "B", "AB", "C")})["brk"] != "sensitive"


def test_days_with_the_same_marks_are_answers() -> None:
    days = {f"dia_{i:02}": pick("P", "F") for i in range(1, 11)}
    assert set(roles({**days, "dia_11": pick("P", "F", "FJ")}).values()) == {"sensitive"}
    assert roles(dict(list(days.items())[:9]))["dia_01"] != "sensitive"
    tasks = {f"questao{i}_{c}": pick("0", "1", "n.d.") for i in range(1, 7) for c in "ab"}
    assert set(roles(tasks).values()) == {"sensitive"}
    assert "sensitive" not in roles({**days, "dia_13": pick(*"ABCDEFGH")}).values()


def test_many_ratings_of_one_range_are_opinions() -> None:
    words = "brakel ekkeno ummira oltaren arnevo wubisk tolvan pelgun".split()
    rated = {word: pick(1, 2, 3, 4, 5) for word in words}
    assert set(roles(rated).values()) == {"sensitive"}
    assert "sensitive" not in roles(dict(list(rated.items())[:7])).values()


def test_a_question_about_a_candidate_is_not_answered_with_names() -> None:
    name = "Qu’attendez-vous en priorité d’un candidat ?"
    wishes = pick(*(f"brk {a} ekk {b}" for a in "abcd" for b in "efgh"))
    assert roles({name: wishes})[name] != "direct"


@pytest.mark.parametrize("letters", ["ᎠᎡᎢᎣᎤᎥᎦᎧᎨᎩᎪᎫᎬᎭᎮ", "កខគឃងចឆជឈញដឋឌឍណ", "කඛගඝඞචඡජඣඤටඨඩඪණ"])
@pytest.mark.parametrize("name", ["c3", "brakel"])
def test_words_in_a_script_that_no_list_has_are_asked_about(letters: str, name: str) -> None:
    for most in (5, 120):
        words = ["".join(R.choices(letters, k=6)) for _ in range(most)]
        assert roles({name: pick(*words)})[name] == "undecided"


def test_a_flag_that_follows_from_an_amount_is_asked_about() -> None:
    income = [R.randrange(900, 9000) for _ in range(400)]
    table = {"age": [R.randrange(20, 70) for _ in range(400)], "income": income}
    found = roles({**table, "brakel": [int(v > 5000) for v in income], "ekkeno": [v // 3000 for v in income]})
    assert (found["brakel"], found["ekkeno"]) == ("undecided", "sensitive")


@pytest.mark.parametrize(
    ("name", "topic"),
    [
        ("Blutgruppe", "lab"),
        ("Kan grubu", "lab"),
        ("血液型", "lab"),
        ("Alergias", "diagnosis"),
        ("過敏", None),
        ("过敏史", "diagnosis"),
        ("Třída", "group"),
        ("Класс", "group"),
        ("الشعبة", "group"),
        ("Versicherungsstatus", "insurance"),
        ("内線番号", "phone"),
        ("내선번호", "phone"),
        ("Zůstatek", "credit"),
        ("Скидка", "spending"),
        ("Betaald", "spending"),
        ("Số tiền", "spending"),
        ("الغياب", "marks"),
        ("Şirket", "industry"),
    ],
)
def test_headers_in_wide_use(name: str, topic: str | None) -> None:
    said = topic_of(name)
    assert (said.key if said else None) == topic


@pytest.mark.parametrize(
    ("name", "topic"),
    [
        ("Behandlungsort", "place"),
        ("Behandlung", "care"),
        ("Unterkunftskosten_EUR", "spending"),
        ("Kinderbetreuungskosten", "spending"),
        ("microeconomics", None),
        ("transport", None),
    ],
)
def test_the_head_of_a_joined_name_stands_last(name: str, topic: str | None) -> None:
    """A place of treatment is a place: others know it, the treatment they do not."""
    said = topic_of(name)
    assert (said.key if said else None) == topic
