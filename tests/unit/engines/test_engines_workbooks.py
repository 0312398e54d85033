"""Workbooks as people keep them: a sheet of notes first, totals below, empty texts, other formats than .xlsx."""

from __future__ import annotations

import datetime
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import openpyxl
import pytest

import shoal
from shoal.errors import ShoalError, UnreadableError

pytest.importorskip("python_calamine")

HEAD = ["name", "town", "age", "sex", "left", "income"]
DAY = datetime.date(2024, 5, 1)
BODY: list[list[Any]] = [
    ["Anna", "Utrecht", 34, "f", None, 21000],
    ["Piet", "Delft", 51, "m", DAY, 32500.5],
    ["Eva", "Leiden", 29, "f", None, 40125],
    ["Jan", "Gouda", 62, "m", DAY, 32750],
]


def book(path: Path, **sheets: list[list[Any]]) -> Path:
    made = openpyxl.Workbook()
    made.remove(made.worksheets[0])
    for name, rows in sheets.items():
        sheet = made.create_sheet(name)
        for row in rows:
            sheet.append(row)
    made.save(path)
    return path


def read(path: Path, **options: Any) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    with shoal.open(path, **options) as table:
        return [row for batch in table.scan() for row in batch.to_pylist()], table.source


README = [["About this file"], ["It lists the patients of the ward."], [], ["Ask the office for details."]]


def test_the_sheet_that_holds_the_table_is_read_and_the_others_are_named(tmp_path: Path) -> None:
    path = book(tmp_path / "t.xlsx", ReadMe=README, data=[HEAD, *BODY], Notes=README)
    rows, source = read(path)
    assert (len(rows), source["sheet"]) == (4, "data")
    assert "'ReadMe', 'Notes'" in source["repairs"][0]
    assert read(path, sheet=1)[1]["sheet"] == "ReadMe"


def test_several_tables_are_asked_about_unless_the_first_is_the_longest(tmp_path: Path) -> None:
    path = book(tmp_path / "t.xlsx", old=[HEAD, *BODY[:2]], new=[HEAD, *BODY])
    with pytest.raises(UnreadableError, match=r"several sheets with tables: 'old', 'new'"):
        read(path)
    assert len(read(path, sheet="new")[0]) == 4
    rows, source = read(book(tmp_path / "t.xlsx", new=[HEAD, *BODY], old=[HEAD, *BODY[:2]]))
    assert (len(rows), "'old'" in source["repairs"][0]) == (4, True)


def test_units_totals_and_notes_of_a_workbook(tmp_path: Path) -> None:
    units = [None, None, "years", None, None, "EUR"]
    lines = [
        ["Patients of ward A"],
        [],
        HEAD,
        units,
        *BODY,
        ["Total", None, None, None, None, 126375.5],
        [],
        ["Source: the hospital"],
    ]
    rows, source = read(book(tmp_path / "t.xlsx", data=lines))
    assert [r["name"] for r in rows] == ["Anna", "Piet", "Eva", "Jan"]
    assert source["set_aside"] == {"units": 1, "totals": 1, "notes": 2}
    assert isinstance(rows[0]["age"], int)
    kept = read(book(tmp_path / "t.xlsx", data=lines), units="keep", totals="keep", notes="keep")[0]
    assert len(kept) == 7


def test_a_row_of_a_workbook_that_may_be_a_record_is_asked_about(tmp_path: Path) -> None:
    path = book(tmp_path / "t.xlsx", data=[HEAD, *BODY, ["Total", "Delft", 40, "m", DAY, 5]])
    with pytest.raises(UnreadableError, match="totals=keep"):
        read(path)
    assert len(read(path, totals="keep")[0]) == 5


def test_empty_texts_of_a_workbook_are_missing(tmp_path: Path) -> None:
    rows, _ = read(book(tmp_path / "t.xlsx", data=[HEAD, *[["" if c is None else c for c in row] for row in BODY]]))
    assert [r["left"] for r in rows] == [None, DAY, None, DAY]
    assert [type(r["income"]) for r in rows] == [float] * 4


def test_a_table_that_does_not_begin_in_the_first_cell(tmp_path: Path) -> None:
    rows, _ = read(book(tmp_path / "t.xlsx", data=[[], [], *[[None, None, *row] for row in [HEAD, *BODY]]]))
    assert list(rows[0]) == HEAD
    path = book(tmp_path / "t.xlsx", data=[["a", "b"], ["x", "y"], ["name", "age"], ["Anna", 3], ["Piet", 4]])
    assert read(path, header=3)[0][0] == {"name": "Anna", "age": 3}
    assert read(path, skip=3, header=False)[0][0] == {"column1": "Anna", "column2": 3}


def test_doubled_names_days_moments_and_errors(tmp_path: Path) -> None:
    at = datetime.datetime(2024, 5, 1, 12, 30)
    path = book(tmp_path / "t.xlsx", data=[["a", "a", "when"], [1, "x", DAY], [2, "#N/A", at]])
    rows, source = read(path)
    assert rows == [{"a": 1, "a_2": "x", "when": datetime.datetime(2024, 5, 1)}, {"a": 2, "a_2": None, "when": at}]
    assert source["renamed"] == {"a_2": "a"}
    assert any("1 cell with an Excel error" in line for line in source["repairs"])


ODS = (
    '<?xml version="1.0"?><office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" '
    'xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0">'
    '<office:body><office:spreadsheet><table:table table:name="data">{rows}</table:table></office:spreadsheet></office:body>'
    "</office:document-content>"
)


def cell(value: Any) -> str:
    kind = "string" if isinstance(value, str) else f'float" office:value="{value}'
    return f'<table:table-cell office:value-type="{kind}"><text:p>{value}</text:p></table:table-cell>'


def test_open_document(tmp_path: Path) -> None:
    rows = [["name", "age"], ["Anna", 34], ["Piet", 51], ["Total", 85]]
    with zipfile.ZipFile(tmp_path / "t.ods", "w") as packed:
        packed.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        made = "".join(f"<table:table-row>{''.join(map(cell, row))}</table:table-row>" for row in rows)
        packed.writestr("content.xml", ODS.format(rows=made))
        packed.writestr("META-INF/manifest.xml", "<manifest/>")
    found, source = read(tmp_path / "t.ods")
    assert found == [{"name": "Anna", "age": 34}, {"name": "Piet", "age": 51}]
    assert source["set_aside"] == {"totals": 1}


def test_old_excel() -> None:
    path = Path(__file__).parents[1] / "api" / "forms" / "form.xls"
    rows, source = read(path, sheet="survey")
    assert rows
    assert source["format"] == "excel"


def test_a_broken_old_workbook_is_refused(tmp_path: Path) -> None:
    (tmp_path / "t.xls").write_bytes(b"\xd0\xcf\x11\xe0" + b"x" * 600)
    with pytest.raises(ShoalError, match="not a readable Excel workbook"):
        read(tmp_path / "t.xls")


def test_a_sheet_without_names_keeps_its_first_record(tmp_path: Path) -> None:
    rows, source = read(book(tmp_path / "t.xlsx", data=BODY))
    assert (len(rows), rows[0]["column1"], source["header"]) == (4, "Anna", False)
    assert any("column1" in line for line in source["repairs"])
    rows, source = read(tmp_path / "t.xlsx", header=1)
    assert (len(rows), source["header"]) == (3, True)


@pytest.mark.parametrize("names", [["town", 2019, 2020], ["town", "age", "1"]], ids=["years", "a word above numbers"])
def test_names_with_numbers_among_them_stay_names(tmp_path: Path, names: list[Any]) -> None:
    rows, source = read(book(tmp_path / "t.xlsx", data=[names, ["Delft", 4, 5], ["Gouda", 7, 8]]))
    assert (len(rows), source["header"]) == (2, True)


def test_a_row_of_days_below_a_heading_holds_the_names(tmp_path: Path) -> None:
    days = [datetime.date(2024, 6, n) for n in (1, 8, 15, 22)]
    sheet = [["who", "hours", None, None, None], [None, *days], ["Anna", 1, 2, 3, 4], ["Piet", 5, 6, 7, 8]]
    rows, source = read(book(tmp_path / "t.xlsx", data=sheet))
    assert (len(rows), source["header"]) == (2, True)


def test_a_second_table_in_the_same_sheet_is_asked_about(tmp_path: Path) -> None:
    path = book(tmp_path / "t.xlsx", data=[HEAD, *BODY, [], ["ward", "beds"], ["A", 12], ["B", 8]])
    with pytest.raises(UnreadableError, match="several tables"):
        read(path)
    assert len(read(path, tables="keep")[0]) == 7


def test_a_table_beside_another_is_asked_about(tmp_path: Path) -> None:
    """The second table was read as two more columns of the first people."""
    for counts, two in ((1, True), (2, False), (4, False)):  # half as many rows may be columns that are seldom filled
        beside = [[None, "town", "people"], *([None, f"town {i % 2}", i] for i in range(counts)), *[[None] * 3] * (4 - counts)]
        path = book(tmp_path / "t.xlsx", data=[a + b for a, b in zip([HEAD, *BODY], beside, strict=True)])
        if two:
            with pytest.raises(UnreadableError, match="beside an empty column"):
                read(path)
            assert len(read(path, tables="keep")[0]) == 4
        else:
            assert len(read(path)[0]) == 4


def test_numbers_of_the_columns_above_their_names_are_not_names(tmp_path: Path) -> None:
    rows, source = read(book(tmp_path / "t.xlsx", data=[[1, 2, 3, 4, 5, 6], HEAD, *BODY]))
    assert (len(rows), list(rows[0])) == (4, HEAD)
    assert "1 note above the names" in source["repairs"][0]
    (tmp_path / "t.csv").write_text("(1),(2),(3)\nname,age,town\nAnna,34,Delft\nEva,29,Gouda\n", encoding="utf-8")
    assert list(read(tmp_path / "t.csv")[0][0]) == ["name", "age", "town"]


def test_hidden_rows_are_read_and_named(tmp_path: Path) -> None:
    path = book(tmp_path / "t.xlsx", data=[HEAD, *BODY])
    assert "repairs" not in read(path)[1]
    made = openpyxl.load_workbook(path)
    for row in (3, 4, 900):  # the last holds nothing
        made["data"].row_dimensions[row].hidden = True
    made.save(path)
    rows, source = read(path)
    assert (len(rows), source["repairs"]) == (4, ["Read 2 hidden rows too. Delete them if they shall not be part of the table."])


PEOPLE = [["name", "age", "town"], ["Anna", 34, "Utrecht"], ["Piet", 51, "Delft"], ["Eva", 29, "Leiden"]]


def filled_book(path: Path, rows: list[list[Any]], more: Callable[[Any], None], at: int = 1, column: int = 1) -> Path:
    book = openpyxl.Workbook()
    for i, row in enumerate(rows):
        for j, value in enumerate(row):
            book.active.cell(at + i, column + j, value)
    more(book.active)
    book.save(path)
    return path


def test_hidden_columns_are_read_and_told(tmp_path: Path) -> None:
    def hide(sheet: Any) -> None:
        for letter in "BZ":  # the second is beside the table
            sheet.column_dimensions[letter].hidden = True

    with shoal.open(filled_book(tmp_path / "t.xlsx", PEOPLE, hide)) as table:
        assert "1 hidden column too" in " ".join(table.source["repairs"])
        assert table.schema.names == ("name", "age", "town")


@pytest.mark.parametrize(("at", "column"), [(1, 1), (3, 2)])
def test_numbers_that_are_shown_with_zeros_keep_them(tmp_path: Path, at: int, column: int) -> None:
    rows = [["name", "code", "n"], ["Anna", 1234, 1], ["Piet", 501, 2], ["Eva", 123456, 3], ["Jan", "X7", 4]]

    def show(sheet: Any) -> None:
        for i in range(4):
            sheet.cell(at + i, column + 1).number_format = "00000"
            sheet.cell(at + i, column + 2).number_format = "0.00"

    with shoal.open(filled_book(tmp_path / "t.xlsx", rows, show, at, column)) as table:
        read = [row for batch in table.scan() for row in batch.to_pylist()]
    assert [(r["code"], r["n"]) for r in read] == [("01234", 1), ("00501", 2), ("123456", 3), ("X7", 4)]


def test_plain_numbers_among_dates_are_told(tmp_path: Path) -> None:
    rows = [["name", "born"], ["Anna", datetime.date(1990, 12, 31)], ["Piet", 31079], ["Eva", datetime.date(1999, 6, 15)]]
    with shoal.open(filled_book(tmp_path / "t.xlsx", rows, lambda sheet: None)) as table:
        assert "'born' are dates, others plain numbers" in " ".join(table.source["repairs"])
    with shoal.open(filled_book(tmp_path / "u.xlsx", [*rows[:2], rows[3]], lambda sheet: None)) as table:
        assert "repairs" not in table.source


def test_merged_cells_above_names_are_asked_about(tmp_path: Path) -> None:
    def merge(sheet: Any) -> None:
        sheet["A1"], sheet["C1"] = "Person", "Place"
        sheet.merge_cells("A1:B1")

    path = filled_book(tmp_path / "t.xlsx", PEOPLE, merge, at=2)
    with pytest.raises(UnreadableError, match="header=N"):
        shoal.open(path).schema  # noqa: B018
    with shoal.open(path, header=2) as table:
        assert (table.schema.names, table.n_rows()) == (("name", "age", "town"), 3)


def test_a_table_of_as_many_rows_beside_the_first_is_asked_about(tmp_path: Path) -> None:
    def beside(kinds: list[str]) -> Callable[[Any], None]:
        def fill(sheet: Any) -> None:
            for i, row in enumerate([["ward", "beds"], *([kind, 3 + n] for n, kind in enumerate(kinds))], start=1):
                sheet.cell(i, 5, row[0])
                sheet.cell(i, 6, row[1])

        return fill

    with pytest.raises(UnreadableError, match="tables=keep"):
        shoal.open(filled_book(tmp_path / "t.xlsx", PEOPLE, beside(["A", "B", "C"])))
    with shoal.open(filled_book(tmp_path / "u.xlsx", PEOPLE, beside(["A", "B", "A"]))) as table:
        assert table.n_rows() == 3


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"\xef\xbb\xbf<html><table><tr><td>name</td></tr></table></html>", "holds HTML"),
        (b"name\tage\nAnna\t34\n", "format=csv"),
        (b"\x00\x01\n\x02" * 40, "not a readable"),
    ],
)
def test_other_files_under_the_name_of_a_workbook(tmp_path: Path, content: bytes, says: str) -> None:
    (tmp_path / "t.xls").write_bytes(content)
    with pytest.raises(UnreadableError, match=says):
        shoal.open(tmp_path / "t.xls")


def test_names_below_numbered_names_are_asked_about(tmp_path: Path) -> None:
    """A query that did not take the first row as names writes Column1, Column2, in the language of its user."""
    rows = [["Stolpec1", "Stolpec2"], ["drzava", "mesto"], ["Italija", "Rim"], ["Malta", "Valletta"]]
    with pytest.raises(UnreadableError, match="header=N"):
        read(book(tmp_path / "t.xlsx", data=rows))
    assert read(tmp_path / "t.xlsx", header=2)[0] == [
        {"drzava": "Italija", "mesto": "Rim"},
        {"drzava": "Malta", "mesto": "Valletta"},
    ]
    records = [["Column1", "Column2"], ["f", "yes"], ["m", "no"], ["f", "no"]]
    assert len(read(book(tmp_path / "u.xlsx", data=records))[0]) == 3
    numbers = [["Column1", "Column2", "Column3"], ["name", "age", "pay"], ["Anna", 34, 10], ["Eva", 29, 20]]
    assert list(read(book(tmp_path / "v.xlsx", data=numbers))[0][0]) == ["name", "age", "pay"]
