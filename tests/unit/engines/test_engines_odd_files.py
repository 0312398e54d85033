"""Files as they are found: blanks between fields, two heading rows, doubled names, rare delimiters, encodings, long numbers."""

from __future__ import annotations

from pathlib import Path

import openpyxl
import pytest

import shoal
from shoal.engines.files.layout import second_heading
from shoal.errors import AmbiguousColumnError, UnreadableError


def rows(path: Path, **options: object) -> list[dict[str, object]]:
    with shoal.open(path, **options) as table:  # type: ignore[arg-type]
        return [row for batch in table.scan() for row in batch.to_pylist()]


@pytest.mark.parametrize("blank", [" ", "   "])
def test_blanks_between_fields(tmp_path: Path, blank: str) -> None:
    file = tmp_path / "t.txt"
    lines = [("age", "sex", "town"), *((str(20 + i), "f", "x") for i in range(5))]
    file.write_text("\n".join(blank.join(line) for line in lines) + "\n")
    assert rows(file)[1] == {"age": 21, "sex": "f", "town": "x"}


def test_fields_in_columns_of_different_width(tmp_path: Path) -> None:
    file = tmp_path / "t.txt"
    file.write_text("  age   sex  income\n   9     f     10\n 100     m  20000\n")
    assert rows(file) == [{"age": 9, "sex": "f", "income": 10}, {"age": 100, "sex": "m", "income": 20000}]


def test_a_single_column_of_words_is_not_cut_at_its_blanks(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("full name\nAnna Smit\nPiet Bos\nEva Vos\n")
    assert rows(file)[0] == {"full name": "Anna Smit"}


@pytest.mark.parametrize("sign", ["^", ":", "~", "|"])
def test_rare_delimiters(tmp_path: Path, sign: str) -> None:
    file = tmp_path / "t.csv"
    file.write_text("\n".join(sign.join(line) for line in (("a", "b", "c"), ("1", "x", "2"), ("3", "y", "4"))) + "\n")
    assert rows(file)[1] == {"a": 3, "b": "y", "c": 4}


def test_times_are_not_cut_at_their_colons(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("in,out\n10:15:00,11:15:00\n12:00:00,13:30:00\n")
    assert rows(file)[0] == {"in": "10:15:00", "out": "11:15:00"}


def workbook(path: Path, *lines: tuple[object, ...]) -> Path:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    for line in lines:
        sheet.append(line)
    book.save(path)
    return path


def test_two_heading_rows_of_a_workbook_codes_above_names(tmp_path: Path) -> None:
    file = workbook(tmp_path / "t.xlsx", (None, "X1", "X2"), ("ID", "AGE", "SEX"), (1, 30, "f"), (2, 40, "m"), (3, 50, "f"))
    assert rows(file)[0] == {"ID": 1, "AGE": 30, "SEX": "f"}
    with shoal.open(file) as table:
        assert [c.note for c in table.schema.columns] == ["", "X1", "X2"]
        assert table.source["heading_rows"] == 2


def test_two_heading_rows_names_above_labels(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("age,income\nHow old are you?,What do you earn?\n30,100\n41,200\n50,300\n")
    assert rows(file) == [{"age": a, "income": i} for a, i in ((30, 100), (41, 200), (50, 300))]
    with shoal.open(file) as table:
        assert table.schema["age"].note == "How old are you?"


def test_one_heading_row_over_words_stays_one(tmp_path: Path) -> None:
    file = workbook(tmp_path / "t.xlsx", ("name", "town"), ("Anna", "X"), ("Piet", "Y"), ("Eva", "Z"))
    assert len(rows(file)) == 3
    assert not second_heading([["a", "b", "c"], ["x", "y", "z"], ["1", "u", "v"], ["2", "u", "w"]])  # one column of three
    assert second_heading([["a", "b"], ["p", "q"], ["1", "u"], ["2", "w"]])  # one of two, below bare letters


def test_doubled_names_are_numbered_unless_they_shall_be_refused(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("age,sex,age,age\n1,f,2,3\n4,m,5,6\n")
    with pytest.raises(AmbiguousColumnError, match="--rename-duplicates"):
        shoal.open(file, rename_duplicates=False)
    assert rows(file)[0] == {"age": 1, "sex": "f", "age_2": 2, "age_3": 3}
    book = workbook(tmp_path / "t.xlsx", ("age", "age"), (1, 2), (3, 4))
    assert rows(book, rename_duplicates=True)[1] == {"age": 3, "age_2": 4}


def test_polish_and_french_letters(tmp_path: Path) -> None:
    for encoding, name in (
        ("cp1250", "Łódź"),
        ("cp1250", "Gdańsk, Żółć"),
        ("latin-1", "Évreux"),
        ("utf-16", "Zoë"),
        ("cp1252", "5 €"),
    ):
        file = tmp_path / "t.csv"
        file.write_bytes(f'town;n\n"{name}";1\n"{name}";2\n'.encode(encoding))
        assert rows(file)[0]["town"] == name, encoding


def test_numbers_of_sixteen_digits_stay_numbers(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    values = [54.10419389926588, -2.8971411570770482, 0.1, 48858.520000000004]
    file.write_text("x\n" + "\n".join(map(repr, values)) + "\n")
    assert [r["x"] for r in rows(file)] == values


def test_numbers_that_floats_would_merge_stay_text(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("x\n0.12345678901234567\n0.123456789012345678\n1.5\n")
    assert rows(file)[0] == {"x": "0.12345678901234567"}


def test_a_late_number_that_a_float_would_change_is_told(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    body = "54.10419389926588\n1.5\n" * 10_000 + "0.123456789012345678\n"
    file.write_text("x\n" + body)
    with shoal.open(file) as table, pytest.raises(UnreadableError, match="1 record"):
        table.values("x")
