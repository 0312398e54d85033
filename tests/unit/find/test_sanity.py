"""Values that cannot be: exactly at their limits and one step beside, in every spelling of dates; counted, never shown."""

from __future__ import annotations

import datetime
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import shoal
from shoal.cli import build
from shoal.errors import MissingColumnError, UsageError
from shoal.find.sanity import meaning_of, read_day, start_and_end

TODAY = datetime.date(2026, 11, 16)
FINE = 12


def found(table: dict, **words) -> dict[tuple[str, ...], dict[str, int]]:
    """What was found, by columns."""
    sanity = shoal.inspect(table, today=TODAY, **words).sanity
    assert sanity is not None
    out: dict[tuple[str, ...], dict[str, int]] = {}
    for one in sanity.found:
        out.setdefault(one.columns, {})[one.what] = one.records
    return out


@pytest.mark.parametrize(
    ("name", "fine", "wrong"),
    [
        ("age", [0, 120], [-1, 121]),
        ("Alter", [0.0, 119.5], [-0.5, 120.5]),
        ("birth_month", [1, 12], [0, 13]),
        ("pct_female", [0, 100], [-1, 101]),
        ("share (%)", [0.0, 100.0], [-0.1, 100.1]),
        ("latitude", [-90.0, 90.0], [-90.1, 90.1]),
        ("lon", [-180.0, 180.0], [-180.1, 180.1]),
        ("birth_year", [1906, 2026], [1905, 2027]),
    ],
)
def test_limits_of_single_columns(name: str, fine: list[float], wrong: list[float]) -> None:
    assert found({name: fine * FINE}) == {}
    told = found({name: fine * FINE + wrong})
    assert sum(n for counts in told.values() for n in counts.values()) == len(wrong)
    assert set(told) == {(name,)}


def test_dates_of_birth_and_death_in_the_future_and_long_ago() -> None:
    fine = [TODAY, datetime.date(1950, 1, 1)] * FINE
    tomorrow, old = TODAY + datetime.timedelta(days=1), datetime.date(1906, 1, 1)
    assert found({"dob": fine}) == {}
    assert found({"dob": [*fine, tomorrow, old]}) == {("dob",): {"in the future": 1, "more than 120 years ago": 1}}
    assert found({"visit_date": [*fine, tomorrow]}) == {}  # appointments may lie ahead
    assert found({"death_date": [*fine, tomorrow]}) == {("death_date",): {"in the future": 1}}


def test_impossible_combinations_with_the_same_day_allowed() -> None:
    day = datetime.date
    table = {
        "birth_date": [day(1980, 5, 1)] * 6,
        "admission": [day(2020, 1, 10)] * 6,
        "discharge": [day(2020, 1, 10)] * 5 + [day(2020, 1, 9)],
        "death_date": [None] * 4 + [day(2020, 1, 10), day(1980, 4, 30)],
    }
    assert found(table) == {
        ("birth_date", "death_date"): {"death before birth": 1},
        ("admission", "discharge"): {"discharge before admission": 1},
        ("admission", "death_date"): {"death before admission": 1},
    }
    whole = shoal.inspect(table, today=TODAY).sanity
    assert whole is not None
    assert (whole.records, whole.rate) == (1, 1 / 6)  # one record, three errors


def test_age_against_the_date_of_birth() -> None:
    day = datetime.date
    alone = {"age": [36, 36, 37, 39], "birth_date": [day(1990, 11, 16)] * 4}
    assert found(alone) == {("birth_date", "age"): {"birth and age lie in the future": 2}}
    at = {**alone, "admission": [day(2020, 11, 20)] * 4, "age": [30, 29, 31, 33]}
    assert found(at) == {("birth_date", "admission", "age"): {"age and birth differ by over a year": 1}}


def test_days_that_do_not_exist_in_texts_and_digits() -> None:
    fine = ["2020-02-28", "2020-02-29"] * FINE
    assert found({"seen": fine}) == {}
    assert found({"seen": [*fine, "2021-02-29", "2020-13-01"]}) == {("seen",): {"no such day": 2}}
    assert found({"dob": [19800101, 19991231] * FINE + [19801301]}) == {("dob",): {"no such day": 1}}
    assert found({"dob": [19800101, 19991231] * FINE + [20270101]}) == {("dob",): {"in the future": 1}}
    assert read_day("30.02.2020") == pytest.approx((float("nan"), True), nan_ok=True)
    assert read_day("12/31/1970")[0] == 364.0
    assert read_day("05/05/1970")[0] == 124.0  # the same day in either order


def test_spellings_of_no_value_and_misleading_names_are_no_errors() -> None:
    assert found({"age": [30 + i % 40 for i in range(60)] + [999] * 8}) == {}
    assert found({"lat": [1000.0 + i for i in range(30)]}) == {}  # another system of coordinates
    assert found({"age": [200, 201, 30, 31]}) == {("age",): {"below 0 or above 120": 2}}  # half is not most
    assert found({"age": [200, 201, 202, 31]}) == {}
    assert found({"age_months": [200, 300, 400]}) == {}


def test_rules_that_somebody_states() -> None:
    table = {"height": [150, 180, 300, None], "low": [1.0, 2.0, 3.0, 4.0], "high": [2.0, 2.0, 2.0, None]}
    assert found(table, rules=["height<=180", "low<=high"]) == {
        ("height",): {"not height <= 180": 1},
        ("low", "high"): {"not low <= high": 1},
    }
    assert found(table, rules=["height<180"]) == {("height",): {"not height < 180": 2}}
    assert found(table, rules=["180>=height", "low == low"]) == {("height",): {"not 180 >= height": 1}}
    days = {"seen": [datetime.date(2020, 1, 1), datetime.date(2020, 1, 2)]}
    assert found(days, rules=["seen<=2020-01-01"]) == {("seen",): {"not seen <= 2020-01-01": 1}}
    with pytest.raises(UsageError, match="compares two sides"):
        found(table, rules=["height"])
    with pytest.raises(UsageError, match="not a column of numbers or dates"):
        found(table, rules=["weight<=3"])
    with pytest.raises(MissingColumnError):
        found(table, rules=["1<=3"])
    with pytest.raises(UsageError, match="numbers with dates"):
        found({**days, "n": [1, 2]}, rules=["n<=seen"])


def test_nothing_to_check_and_many_batches() -> None:
    assert found({"colour": ["red", "blue"]}) == {}
    n = 200_000
    table = shoal.open({"age": [30] * n + [-1]}, quasi=["age"])
    sanity = shoal.inspect(table, today=TODAY).sanity
    assert sanity is not None
    assert [(one.what, one.records) for one in sanity.found] == [("below 0 or above 120", 1)]
    assert sanity.rate == 1 / (n + 1)


def test_names() -> None:
    nothing = ("birthplace", "death_cause", "admission type", "percent_change", "agegroup")
    assert [meaning_of(n) for n in nothing] == [""] * 5
    assert meaning_of("Breitengrad") == "latitude"
    assert start_and_end(["contract_start", "contract_end", "von", "bis", "end_of_tax"]) == [
        ("contract_start", "contract_end"),
        ("von", "bis"),
    ]


def test_the_command_counts_and_shows_no_value(tmp_path: Path) -> None:
    rows = "\n".join(f"{30 + i % 50},{1 + i % 12}" for i in range(40))
    (tmp_path / "t.csv").write_text(f"age,month\n{rows}\n-37,5\n", encoding="utf-8")
    told = CliRunner().invoke(build("inspect"), ["inspect", str(tmp_path / "t.csv"), "--rule", "month<=11"]).stdout
    assert "Values that cannot be: 4 of 41 records (9.8 %)" in told
    assert "-37" not in told.replace(str(tmp_path), "")
    said = CliRunner().invoke(build("inspect"), ["inspect", str(tmp_path / "t.csv"), "--json"]).stdout
    assert json.loads(said)["sanity"]["found"] == [{"what": "below 0 or above 120", "columns": ["age"], "records": 1}]
    assert "-37" not in said.replace(str(tmp_path), "")
