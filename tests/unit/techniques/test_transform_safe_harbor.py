"""HIPAA safe harbor: one test per class of the rule."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pytest

from shoal.errors import MissingColumnError, UsageError
from shoal.model.roles import Column, Schema
from shoal.steps import Drop
from shoal.techniques import apply, safe_harbor
from shoal.techniques.safe_harbor import ITEMS, suggest

REMOVED = [
    ("A", "name", "patient_name"),
    ("A", "name", "LastName"),
    ("A", "name", "givenname"),
    ("A", "name", "employer"),
    ("B", "geography", "street_address"),
    ("B", "geography", "City"),
    ("B", "geography", "county"),
    ("B", "geography", "municipality"),
    ("B", "geography", "county_fips"),
    ("B", "geography", "neighborhood"),
    ("D", "phone", "home_phone"),
    ("E", "fax", "fax_number"),
    ("F", "email", "E-Mail"),
    ("G", "ssn", "SSN"),
    ("H", "record", "MRN"),
    ("I", "plan", "health plan"),
    ("I", "plan", "medicare_no"),
    ("J", "account", "account_no"),
    ("K", "licence", "driver_licence"),
    ("L", "vehicle", "license_plate"),
    ("M", "device", "device_serial"),
    ("N", "url", "personal_url"),
    ("O", "ip", "ip_address"),
    ("P", "biometric", "fingerprint"),
    ("Q", "photo", "photo_file"),
    ("R", "code", "patient_id"),
    ("R", "code", "free_text_notes"),
    ("R", "code", "visit_id"),
]


def run(column: Column, values, **settings):
    done = safe_harbor(Schema((column, Column("kept"))), {"kept": None}, reference="2024-06-30", **settings)
    table = pa.table({column.name: values, "kept": ["x"] * len(values)})
    return apply(done.steps[0], table).table


@pytest.mark.parametrize(("letter", "item", "name"), REMOVED, ids=[f"{a}-{c}" for a, _, c in REMOVED])
def test_identifiers_are_removed(letter, item, name):
    found = suggest(Column(name))
    assert found is not None
    assert next(i for i in ITEMS if i.name == found).letter == letter
    done = safe_harbor(Schema((Column(name), Column("kept"))), {name: item, "kept": None})
    assert done.steps == (Drop(name),)
    assert done.items == {name: item}


def test_b_zip_codes_keep_three_digits_where_more_than_20000_people_live():
    out = run(Column("zip"), ["10001", "03601", "94110-1234", None, "garbage"])
    assert out["zip"].to_pylist() == ["100", "000", "941", None, "*"]


def test_b_zip_codes_by_a_population_table():
    people = {"10001": 20_000, "94110": 20_001}
    assert run(Column("zip"), ["10001", "94110"], population=people)["zip"].to_pylist() == ["000", "941"]


def test_c_dates_keep_the_year():
    days = pa.array([dt.date(2019, 12, 31), dt.date(2020, 1, 1), None])
    assert run(Column("admission_date", "date"), days)["admission_date"].to_pylist() == ["2019", "2020", None]
    stamp = pa.array([dt.datetime(2019, 12, 31, 23, 59)])
    assert run(Column("discharged", "timestamp"), stamp)["discharged"].to_pylist() == ["2019"]
    assert run(Column("death_date"), ["2020-05-06", "06/05/2020"])["death_date"].to_pylist() == ["2020", "*"]


def test_c_dates_as_numbers_go_and_years_stay():
    assert safe_harbor(Schema((Column("visit_date", "integer"), Column("x"))), {"x": None}).steps == (Drop("visit_date"),)
    assert safe_harbor(Schema((Column("admission_year", "integer"),))).steps[0].kind == "keep"


def test_c_ages_over_89_are_one_group():
    out = run(Column("age", "integer"), [0, 42, 89, 90, 103, None])
    assert out["age"].to_pylist() == ["0", "42", "89", "90+", "90+", None]


def test_c_years_of_birth_do_not_reveal_ages_over_89():
    born = pa.array([dt.date(1934, 6, 30), dt.date(1934, 12, 31), dt.date(1935, 1, 1), dt.date(2001, 2, 3)])
    out = run(Column("dob", "date"), born)["dob"].to_pylist()
    assert out == ["1934 or earlier", "1934 or earlier", "1935", "2001"]
    assert run(Column("birth_year", "integer"), [1920, 1935])["birth_year"].to_pylist() == ["1934 or earlier", "1935"]


def test_eighteen_classes():
    assert sorted({i.letter for i in ITEMS}) == list("ABCDEFGHIJKLMNOPQR")
    assert len({i.letter for i in ITEMS}) == 18


def test_what_is_left_is_listed_and_the_rest_of_the_rule_is_said():
    done = safe_harbor(Schema((Column("diagnosis"), Column("name"), Column("systolic", "integer"))))
    assert done.kept == ("diagnosis", "systolic")
    assert "nobody knows" in done.notes[0]


@pytest.mark.parametrize("name", ["diagnosis", "sex", "race", "state", "systolic", "length_of_stay", "income", "hba1c"])
def test_harmless_columns_are_left_alone(name):
    assert suggest(Column(name)) is None


def test_binary_columns_are_taken_for_photographs():
    assert suggest(Column("blob", "binary")) == "photo"


def test_mistakes_are_named():
    with pytest.raises(UsageError, match="Did you mean 'name'"):
        safe_harbor(Schema((Column("n"),)), {"n": "nam"})
    with pytest.raises(MissingColumnError):
        safe_harbor(Schema((Column("n"),)), {"m": "name"})
    with pytest.raises(UsageError, match="dates of birth as text"):
        safe_harbor(Schema((Column("dob"),)))


@pytest.mark.parametrize("name", ["month", "birth_month", "admission_week", "weekday", "quarter"])
def test_c_parts_of_dates_other_than_the_year_go(name):
    assert suggest(Column(name, "integer")) == "date"
    done = safe_harbor(Schema((Column(name, "integer"), Column("kept"))), {"kept": None})
    assert done.steps == (Drop(name),)


def test_c_years_of_birth_read_as_fractions_do_not_reveal_ages_over_89():
    """pandas makes whole numbers with a gap floats: the rule holds for them as well."""
    for name in ("birth_year", "yob"):
        assert run(Column(name, "float"), [1930.0, 1935.0, None])[name].to_pylist() == ["1934 or earlier", "1935", None]
