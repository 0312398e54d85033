"""A field of a CSV file becomes a number or a date only where nothing of its text is lost; else its column is told."""

from __future__ import annotations

import re
from decimal import Decimal
from pathlib import Path

import duckdb
import pytest

import shoal
from shoal.engines.files.csv.types import SHORTEST, Field, _number_type, converted
from shoal.errors import UnreadableError

TEXTS = [
    None,
    "1.5",
    "0.1",
    "-2.50",
    "1e3",
    "1e400",
    "-1e400",
    "1e-400",
    "-1.5E-999",
    "0e-400",
    "1e-300",
    "1.2345678901234e-05",  # 14 digits
    "1.23456789012345E-05",  # 15 digits
    "1.234567890123456e-05",  # 16 digits, and the shortest text of its number
    "1.234567890123456E-05",  # the same, as other programs spell it
    "0.00001234567890123456",
    "0.000012345678901234561",
    "1234567890123456000",
    "9007199254740993",  # 16 digits of no float: it would become …992
    "1234567890123456789.0",
    "inf",
    "-Infinity",
    "nan",
    "abc",
    "",
    "12345678.123456",  # 15 characters
    "123456789.123456",  # 15 digits
    "1234567890.123456",  # 16 digits, and the shortest text of its number
    "0.1234567890123456",
    "0.10000000000000001",  # all 17 digits of a number
    "0.100000000000000012",  # another text of it
    "0000000000000012.5",
    "123456789012345678",
]


def taken(field: Field, texts: list[str | None]) -> list[object]:
    """What a text becomes, alone in its column; ``error`` where it stops the query."""
    out: list[object] = []
    for text in texts:
        with duckdb.connect() as connection:
            source = converted("(SELECT $1::VARCHAR AS f0)", [field])
            try:
                out.append(connection.execute(f"SELECT {field.expression()} FROM {source}", [text]).fetchall()[0][0])
            except duckdb.InvalidInputException as error:
                out.append("error" if "shoal:type:0" in str(error) else str(error))
    return out


def number(text: str | None, *, shortest: bool) -> object:
    """The rule, by Python's own numbers."""
    if text is None:
        return None
    try:
        found = float(text)
    except ValueError:
        return "error"
    if abs(found) == float("inf") and "inf" not in text.lower():
        return "error"
    bare = text.lower().split("e")[0]
    if found == 0 and re.search("[1-9]", bare):
        return "error"
    digits = len(re.sub("[^0-9]", "", bare).lstrip("0"))
    spelled = Decimal(text) in (Decimal(repr(found)), Decimal(f"{found:.17g}")) if digits > 15 else True
    return found if spelled or not shortest else "error"


@pytest.mark.parametrize("shortest", [False, True])
def test_decimals(shortest: bool) -> None:
    wanted = [number(t, shortest=shortest) for t in TEXTS]
    assert repr(taken(Field(0, "x", "DOUBLE", shortest=shortest), TEXTS)) == repr(wanted)
    assert wanted.count("error") == (10 if shortest else 6)


def test_whole_numbers_and_dates_are_written_as_their_texts() -> None:
    texts = [None, "7", "-7", "07", "+7", " 7", "7.0", "1e3", "9223372036854775807", "9223372036854775808", "x"]
    found = taken(Field(0, "x", "BIGINT", exact=True), texts)
    assert found == [None, 7, -7, *["error"] * 5, 2**63 - 1, "error", "error"]
    days = taken(Field(0, "x", "DATE", exact=True), ["2024-02-29", "2024-2-29", "2023-02-29", None])
    assert [str(d) for d in days] == ["2024-02-29", "error", "error", "None"]


def test_marks_blanks_and_forms() -> None:
    assert taken(Field(0, "x", "DOUBLE", comma=True), ["1,5", "1.5"]) == [1.5, 1.5]
    assert taken(Field(0, "x", "BIGINT", exact=True, padded=True), [" 7 ", "\t7"]) == [7, "error"]
    days = taken(Field(0, "x", "DATE", form="%d.%m.%Y"), ["29.02.2024", "2024-02-29"])
    assert [str(d) for d in days] == ["2024-02-29", "error"]
    assert taken(Field(0, "x"), ["07", None]) == ["07", None]


@pytest.mark.parametrize(
    ("values", "sql_type"),
    [
        (["-1.00", "2.00"], "DECIMAL(18, 2)"),
        (["-0.00", "1.00"], "DOUBLE"),  # a decimal has no minus zero
        (["1.50e+02", "2.00e+02"], "DOUBLE"),
        (["123456789012345.67"], "DECIMAL(18, 2)"),  # 17 digits
        (["1234567890123456.78"], "DECIMAL(38, 2)"),  # 18
        (["12345678901234.5", "1"], "DOUBLE"),  # 15 digits
        (["1234567890123.456", "1"], SHORTEST),  # 16
        (["85.728957930000007", "1.5", "-3.673900000080721e-4"], SHORTEST),  # all 17 digits of a float
        (["85.728957930000008", "1.5"], "VARCHAR"),  # no float is written so
    ],
)
def test_the_type_of_numbers_changes_where_digits_would_be_lost(values: list[str], sql_type: str) -> None:
    assert _number_type(values)[0] == sql_type


AMOUNTS = {
    "both marks": (["1.001,50", "12,00", "-7,25"], [1001.5, 12.0, -7.25], ""),
    "euro behind": (["1.001,50 €", "12,00 €", "3.400.000,10 €"], [1001.5, 12.0, 3400000.1], "€"),
    "dollar before": (["$1,200,300", "$15", "$2,000"], [1200300, 15, 2000], "$"),
    "percent": (["5%", "12%", "100%"], [5, 12, 100], "%"),
    "percent with decimals": (["5,5 %", "12,0 %", "99,9 %"], [5.5, 12.0, 99.9], "%"),
    "words": (["zł 5", "zł 12", "zł 0"], [5, 12, 0], "zł"),
}


@pytest.mark.parametrize("name", AMOUNTS)
def test_amounts_that_are_all_written_alike_are_numbers(name: str, tmp_path: Path) -> None:
    texts, numbers, sign = AMOUNTS[name]
    file = tmp_path / "t.csv"
    file.write_text("a;b\n" + "".join(f"x;{t}\n" for t in texts) + "y;\n", encoding="utf-8")
    with shoal.open(file) as table:
        read = [row["b"] for batch in table.scan() for row in batch.to_pylist()]
        assert [float(v) for v in read[:-1]] == numbers
        assert read[-1] is None
        assert table.source.get("signs", {}) == ({"b": sign} if sign else {})


@pytest.mark.parametrize("last", ["n/a", "5 $", "1.001,5,0 €", "1.0015 €", "12", "€ 12", "007 €"])
def test_amounts_that_are_not_all_written_alike_stay_texts(last: str, tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text(f"a;b\nx;1.001,50 €\nx;12,00 €\nx;{last}\n", encoding="utf-8")
    with shoal.open(file) as table:
        assert [row["b"] for batch in table.scan() for row in batch.to_pylist()] == ["1.001,50 €", "12,00 €", last]


@pytest.mark.parametrize(
    "texts", [["1.001", "2.500"], ["12.345.678", "9.876.543"], ["1.001 €", "2.500 €"], ["12.03.2020", "01.02.2021"]]
)
def test_numbers_that_may_be_something_else_stay_as_they_were(texts: list[str], tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("a;b\n" + "".join(f"x;{t}\n" for t in texts), encoding="utf-8")
    with shoal.open(file) as table:
        assert [str(row["b"]) for batch in table.scan() for row in batch.to_pylist()] == texts
        assert "signs" not in table.source


def test_an_amount_written_otherwise_far_below_is_reported(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("a;b\n" + "x;1.001,50 €\nx;2,00 €\n" * 30_000 + "x;12\n", encoding="utf-8")
    with shoal.open(file) as table, pytest.raises(UnreadableError, match="record 60001"):
        list(table.scan())


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["0." + "0" * 36 + "1", "0.5"], "DOUBLE, shortest"),  # 38 digits
        (["0." + "0" * 330 + "1", "0.5"], "VARCHAR"),  # a float would be zero
        (["1.5e+309", "2.5"], "VARCHAR"),
        (["1.5e+308", "2.5"], "DOUBLE"),
    ],
)
def test_numbers_that_no_float_can_hold_stay_texts(values: list[str], kind: str) -> None:
    assert _number_type(values)[0] == kind


def test_all_seventeen_digits_of_a_float_are_a_number_and_other_digits_are_not() -> None:
    field = Field(0, "x", "DOUBLE", shortest=True)
    written = ["85.728957930000007", "85.72895793", "8.5728957930000007e1", "-3.673900000080721e-4", "85.728957930000008"]
    assert taken(field, written) == [85.72895793, 85.72895793, 85.72895793, -3.673900000080721e-4, "error"]
