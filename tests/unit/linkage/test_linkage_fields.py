"""One spelling per field, and the count of what was changed."""

from __future__ import annotations

import pytest

from shoal.errors import UsageError
from shoal.linkage import spelling
from shoal.linkage.records import CHECK_DIGITS, fields_of, records_of


@pytest.mark.parametrize(
    "text", ["9.12.1908", "09-12-1908", "1908-12-09", "1908/12/9", "19081209", "9 Dec 1908", "Dec 9th, 1908", "9 décembre 1908",
             "9. Dezember 1908", "1908-12-09 00:00:00", " 1908-12-09T12:30:00Z ", "09121908", "9 de diciembre de 1908"]
)  # fmt: skip
def test_one_date_in_many_spellings(text: str) -> None:
    assert spelling.birth(text) == "19081209"


def test_a_column_of_american_dates_is_read_month_first() -> None:
    columns = {"dob": ["3/4/1980", "12/25/1980", "4/4/1980", "31/12/1980x", "02/30/1980", None, "n/a", "5/6/1981"]}
    found = records_of(columns, fields_of({"dob": "birth"}))
    assert found.values["dob"].tolist() == ["19800304", "19801225", "19800404", None, "19800230", None, None, "19810506"]
    seen = found.changes["dob"]
    assert (seen.cells, seen.missing, seen.placeholders, seen.unreadable) == (8, 1, 1, 1)
    assert (seen.impossible, seen.ambiguous, seen.respelled) == (1, 2, 5)


def test_without_any_sign_the_day_stands_first() -> None:
    assert records_of({"d": ["3/4/1980"]}, fields_of({"d": "birth"})).values["d"].tolist() == ["19800403"]


@pytest.mark.parametrize(
    ("given", "normal"),
    [("Žofie", "zofie"), ("O’Brien", "obrien"), ("van der Berg", "berg"), ("Berg, van der", "berg"),
     ("Müller-Lüdenscheidt", "muller ludenscheidt"),
     ("Dr. von der Leyen", "leyen"), ("De", "de"), ("ÅSE", "ase"), ("Łukasz", "lukasz"), ("Иван", "иван")],
)  # fmt: skip
def test_names(given: str, normal: str) -> None:
    assert spelling.name(given) == normal
    assert spelling.name(normal) == normal


def test_a_whole_name_in_both_orders() -> None:
    assert (
        spelling.whole_name("Anna Maria van der Berg")
        == spelling.whole_name("van der Berg, Anna Maria")
        == ("anna maria", "berg")
    )


@pytest.mark.parametrize(
    ("words", "sex"), [("Male", "m"), ("V", "f"), ("weiblich", "f"), ("1", "m"), ("2", "f"), ("9", None), ("non-binary", "x")]
)
def test_sexes(words: str, sex: str | None) -> None:
    assert spelling.sex(words) == sex


GOOD = {"ahv": "7569217076985", "bsn": "111222333", "nhs": "9434765919", "luhn": "79927398713", "nir": "255081416802538"}


@pytest.mark.parametrize("rule", GOOD)
def test_every_single_wrong_digit_is_found(rule: str) -> None:
    good = GOOD[rule]
    for place in range(len(good)):
        for digit in "0123456789":
            changed = good[:place] + digit + good[place + 1 :]
            assert CHECK_DIGITS[rule](changed) == (digit == good[place])


def test_wrong_check_digits_are_counted_and_kept() -> None:
    found = records_of({"id": ["111.222.333", "111222334", ""]}, fields_of({"id": "number:bsn"}))
    assert found.values["id"].tolist() == ["111222333", "111222334", None]
    assert (found.changes["id"].wrong_check_digits, found.changes["id"].respelled) == (1, 1)


@pytest.mark.parametrize("fields", [{"a": "surename"}, {"a": "number:bns"}, {"a": "given:bsn"}])
def test_unknown_words_are_refused(fields: dict[str, str]) -> None:
    with pytest.raises(UsageError):
        fields_of(fields)


def test_columns_are_guessed_by_well_known_names_only() -> None:
    assert {c: f.kind for c, f in fields_of({}, ["Surname", "Date of birth", "ward"]).items()} == {
        "Surname": "family",
        "Date of birth": "birth",
    }
    with pytest.raises(UsageError, match="no column"):
        fields_of({}, ["ward"])
