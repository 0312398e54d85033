"""The steps of HIPAA's safe harbor rule for ZIP codes, dates, dates of birth and ages."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pytest

from shoal.errors import UsageError
from shoal.model.roles import Column
from shoal.steps import Drop
from shoal.techniques import apply
from shoal.techniques.safe_harbor import step_for

DAY = "2024-06-30"


def run(column: Column, kind, values):
    return apply(step_for(column, kind, reference=DAY), pa.table({column.name: values})).table[column.name].to_pylist()


def test_b_zip_codes_keep_three_digits_where_more_than_20000_people_live():
    codes = ["10001", "03601", "94110-1234", None, "garbage"]
    assert run(Column("zip"), "zip", codes) == ["100", "000", "941", None, "*"]


def test_c_dates_keep_the_year():
    days = pa.array([dt.date(2019, 12, 31), dt.date(2020, 1, 1), None])
    assert run(Column("admission_date", "date"), "date", days) == ["2019", "2020", None]
    stamp = pa.array([dt.datetime(2019, 12, 31, 23, 59)])
    assert run(Column("discharged", "timestamp"), "date", stamp) == ["2019"]
    assert run(Column("death_date"), "date", ["2020-05-06", "06/05/2020"]) == ["2020", "*"]


@pytest.mark.parametrize("name", ["visit_date", "month", "birth_month", "admission_week"])
def test_c_dates_as_numbers_and_parts_of_dates_are_removed(name):
    assert step_for(Column(name, "integer"), "date", reference=DAY) == Drop(name)


@pytest.mark.parametrize("name", ["admission_year", "admissionYear"])
def test_c_years_as_numbers_stay(name):
    assert step_for(Column(name, "integer"), "date", reference=DAY).kind == "keep"


def test_c_ages_over_89_are_one_group():
    ages = [0, 42, 89, 90, 103, None]
    assert run(Column("age", "integer"), "age", ages) == ["0", "42", "89", "90+", "90+", None]


def test_c_years_of_birth_do_not_reveal_ages_over_89():
    born = pa.array([dt.date(1934, 6, 30), dt.date(1934, 12, 31), dt.date(1935, 1, 1), dt.date(2001, 2, 3)])
    assert run(Column("dob", "date"), "birth", born) == ["1934 or earlier", "1934 or earlier", "1935", "2001"]
    assert run(Column("birth_year", "integer"), "birth", [1920, 1935]) == ["1934 or earlier", "1935"]


def test_c_years_of_birth_read_as_fractions_do_not_reveal_ages_over_89():
    """pandas makes whole numbers with a gap floats: the rule holds for them as well."""
    assert run(Column("yob", "float"), "birth", [1930.0, 1935.0, None]) == ["1934 or earlier", "1935", None]


def test_dates_of_birth_as_text_are_refused():
    with pytest.raises(UsageError, match="dates of birth as text"):
        step_for(Column("dob"), "birth", reference=DAY)
