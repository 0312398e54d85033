"""Headers of clubs, courts, payrolls, libraries, rents and insurance, which round 22 of first sight showed to be missing."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import shoal
from shoal.cli._releases import write_draft
from shoal.find.topics import topic_of
from shoal.model.roles import Role

R = random.Random(22)


@pytest.mark.parametrize(
    "name",
    [
        "Mitgliedsnummer",
        "Policennummer",
        "Spendername",
        "Angeklagter",
        "numero_poliza",
        "doador",
        "imputado",
        "prevenu",
        "donatore",
        "autista",
        "poliţă",
        "police_no",
        "polisnummer",
        "policenummer",
        "会員番号",
        "taxpayer",
        "account holder",
        "player_name",
        "id_jugador",
        "Spieler-ID",
    ],
)
def test_people_of_clubs_courts_and_contracts_are_identifiers(name: str) -> None:
    topic = topic_of(name)
    assert topic is not None
    assert topic.role is Role.DIRECT


@pytest.mark.parametrize(
    "name",
    [
        "Verein",
        "club",
        "Clube",
        "kulüp",
        "俱乐部",
        "drużyna",
        "Wahlkreis",
        "kód_obce",
        "setor_exercicio.sigla",
        "arrest location",
    ],
)
def test_clubs_constituencies_and_units_are_known_to_others(name: str) -> None:
    topic = topic_of(name)
    assert topic is not None
    assert topic.role is Role.QUASI


@pytest.mark.parametrize(
    "name", ["peine", "trestný čin", "罚款", "składka", "iuran", "yellow cards", "votos", "tip_accidentare", "forma_pago", "加班"]
)
def test_sentences_fees_and_points_are_sensitive(name: str) -> None:
    topic = topic_of(name)
    assert topic is not None
    assert topic.role is Role.SENSITIVE


@pytest.mark.parametrize(
    ("name", "topic"), [("num_players", None), ("driver_age", "age"), ("roster", None), ("Tag", None), ("judge_fee", "credit")]
)
def test_a_word_for_people_inside_a_name_does_not_make_it_their_name(name: str, topic: str | None) -> None:
    said = topic_of(name)
    assert (said.key if said else None) == topic


def test_a_draft_of_identifiers_and_sensitive_columns_only_says_what_is_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table, policy = tmp_path / "paid.csv", tmp_path / "policy.yml"
    rows = [f"M{1000 + i},{R.choice((1000, 2000, 3000))}" for i in range(60)]
    table.write_text("\n".join(["member_id,salary", *rows]), encoding="utf-8")
    assert shoal.inspect(table).quasi == ()
    write_draft(str(table), policy, {}, {}, as_json=False)
    assert "name at least one under quasi" in capsys.readouterr().out
    assert "member_id" in policy.read_text(encoding="utf-8")


def test_numbers_of_equal_length_that_repeat_are_not_published_in_groups() -> None:
    """A number that a person has in several rows finds all of them, also when five rows share it."""
    given = R.sample(range(12_000, 90_000), 50)
    seen = shoal.inspect({"zqx": [n for n in given for _ in range(R.randint(2, 9))]})
    assert seen.columns[0].role is Role.DIRECT
    few = shoal.inspect({"zqx": [n for n in given[:49] for _ in range(4)]})
    assert few.columns[0].role is Role.UNDECIDED
    round_ = shoal.inspect({"zqx": [n // 1000 * 1000 + 10_000 for n in given for _ in range(4)]})
    assert round_.columns[0].role is not Role.DIRECT


def test_codes_of_people_that_end_with_a_number_may_hold_words() -> None:
    codes = [f"DIP_{R.choice(('SAN JOSE', 'LA PAZ', 'RIO'))}_{n:03d}" for n in range(120)]
    seen = shoal.inspect({"id_candidato": [c for c in codes for _ in range(2)]})
    assert seen.columns[0].role is Role.DIRECT


@pytest.mark.parametrize(("filled", "role"), [(20, Role.DIRECT), (19, Role.UNDECIDED)])
def test_long_numbers_that_a_program_wrote_with_a_fraction_are_keys(filled: int, role: Role, tmp_path: Path) -> None:
    """Bands of numbers of people would show the numbers at their ends."""
    given = [f"{R.randint(10**9, 10**11 - 1)}.0" for _ in range(filled)] + [""] * 60
    table = tmp_path / "paid.csv"
    table.write_text("\n".join(["zqx,place", *(f"{v},Ulm" for v in given)]), encoding="utf-8")
    assert shoal.inspect(table).columns[0].role is role


@pytest.mark.parametrize(("empty", "mark"), [(60, "unit"), (61, "")])
def test_a_column_that_is_mostly_empty_names_no_people_with_several_rows(empty: int, mark: str) -> None:
    given = [f"P{10_000 + n % 40}" for n in range(60)]
    seen = shoal.inspect({"patient_id": [*given, *[None] * empty], "age": [R.randint(20, 60) for _ in range(60 + empty)]})
    assert (seen.columns[0].role, seen.columns[0].mark) == (Role.DIRECT, mark)


def test_short_codes_that_most_rows_have_of_their_own_are_identifiers_and_so_is_the_one_of_the_head() -> None:
    codes = R.sample([f"{a}{b}-{n}" for a in "AB" for b in "CDE" for n in range(10, 60)], 30)
    table = {"zqcode": codes, "zqhead": [codes[n % 4] for n in range(30)]}
    assert [c.role for c in shoal.inspect(table).columns] == [Role.DIRECT, Role.DIRECT]
    few = {"zqcode": [codes[n // 2] for n in range(30)]}  # nobody has a code of their own
    assert shoal.inspect(few).columns[0].role is not Role.DIRECT
    half = {"zqcode": [*codes[:15], *[codes[15 + n // 3] for n in range(15)]]}  # exactly half of the rows
    assert shoal.inspect(half).columns[0].role is Role.DIRECT
    less = {"zqcode": [*codes[:14], *[codes[15 + n // 4] for n in range(16)]]}
    assert shoal.inspect(less).columns[0].role is Role.QUASI


def test_a_column_that_names_other_people_of_the_table_is_an_identifier() -> None:
    people = [f"{given} {family}" for given in ("Anna", "Bernd", "Clara", "David") for family in ("Meyer", "Huber", "Wagner")]
    table = {
        "name": people,
        "zq": [R.choice(people[:3]) for _ in people],
        "city": [R.choice(("Ulm", "Bonn", "Kiel")) for _ in people],
    }
    assert [c.role.value for c in shoal.inspect(table).columns][:2] == ["direct", "direct"]
    assert shoal.inspect(table).columns[2].role is Role.QUASI
