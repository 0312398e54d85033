"""Files as they are found: blanks between fields, two heading rows, doubled names, rare delimiters, encodings, long numbers."""

from __future__ import annotations

import gzip
import io
import zipfile
from decimal import Decimal
from pathlib import Path

import openpyxl
import pytest

import shoal
from shoal.engines.files.layout import labels_apart, lay_out, second_heading
from shoal.engines.files.shape import strange_shape
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


PEOPLE = [["name", "age", "town"], *([f"P{i}", str(20 + i % 50), "Gouda"] for i in range(40))]


def text(lines: list[list[str]], delimiter: str = ",", end: str = "\n") -> str:
    return "".join(delimiter.join(line) + end for line in lines)


def zipped(*names: str) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        for name in names:
            file.writestr(name, text(PEOPLE))
    return out.getvalue()


READ_RIGHT = {
    "utf-16-le.csv": text(PEOPLE).encode("utf-16-le"),
    "utf-16-be.csv": text(PEOPLE, "\t").encode("utf-16-be"),
    "sep.csv": ("sep=;\r\n" + text(PEOPLE, ";", "\r\n")).encode(),
    "sep quoted.csv": ('"sep=;"\r\n' + text(PEOPLE, ";", "\r\n")).encode(),
    "tabs.csv": text(PEOPLE, "\t").encode(),
    "ends.csv": "".join(",".join(line) + ("\r\n", "\n")[i % 2] for i, line in enumerate(PEOPLE)).encode(),
    "old mac.csv": text(PEOPLE, ",", "\r").encode(),
    "delimiters behind.csv": "".join(",".join(line) + ","[: i % 2] + "\n" for i, line in enumerate(PEOPLE)).encode(),
    "packed.csv.gz": gzip.compress(text(PEOPLE).encode()),
    "packed without a name.csv": gzip.compress(text(PEOPLE).encode()),
    "mac.zip": zipped("people.csv", "__MACOSX/._people.csv"),
    "totals inside.csv": text([*PEOPLE[:20], ["Total", "900", ""], *PEOPLE[20:], ["Total", "900", ""]]).encode(),
    "subtotals.csv": text([*PEOPLE[:20], ["Subtotal A", "900", ""], *PEOPLE[20:], ["Zwischensumme B", "900", ""]]).encode(),
    "two marks.csv": b"\xef\xbb\xbf\xef\xbb\xbf" + text(PEOPLE).encode(),
    "put together.csv": (text(PEOPLE[:21]) + "\ufeff" + text([PEOPLE[0], *PEOPLE[21:]])).encode(),
}


@pytest.mark.parametrize("name", READ_RIGHT)
def test_files_that_new_users_bring(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(READ_RIGHT[name])
    seen = rows(tmp_path / name)
    assert seen == [{"name": p, "age": int(a), "town": t} for p, a, t in PEOPLE[1:]]


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("two.zip", zipped("a.csv", "b.csv"), "holds 2 files"),
        ("lines.csv", b'{"name": "a", "age": 3}\n' * 9, "holds JSON"),
        ("page.xls", b"<html><table><tr><td>name</td></tr></table></html>", "holds HTML or XML, no Excel workbook"),
    ],
)
def test_files_that_are_refused_in_words(tmp_path: Path, name: str, content: bytes, words: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UnreadableError, match=words):
        rows(tmp_path / name)


def test_utf_16_of_greek_letters_without_a_mark(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(text([["όνομα", "ηλικία"], *[["Άννα", "34"], ["Γιάννης", "51"]] * 20]).encode("utf-16-le"))
    assert rows(tmp_path / "t.csv")[1] == {"όνομα": "Γιάννης", "ηλικία": 51}


@pytest.mark.parametrize(
    ("pay", "other", "read"),
    [
        (["1.250", "950", "2.000"], "5", "1.250"),  # thousands, or three decimals
        (["1.250", "950", "2.000"], "0.5", Decimal("1.250")),  # another column shows that points are decimal marks
        (["1.250", "0.950", "2.000"], "5", Decimal("1.250")),
        (["1.250,00", "950,00", "2.000,50"], "5", Decimal("1250.00")),
        (["1,250", "950", "2,000"], "5", "1,250"),
        (["1,250", "950", "2,000"], "0,5", Decimal("1.250")),
    ],
)
def test_marks_that_may_stand_between_thousands(tmp_path: Path, pay: list[str], other: str, read: object) -> None:
    (tmp_path / "t.csv").write_text(text([["pay", "other"], *([p, other] for p in pay)], ";"))
    assert rows(tmp_path / "t.csv")[0]["pay"] == read
    assert rows(tmp_path / "t.csv", decimal=".", types={"pay": "text"})[0]["pay"] == pay[0]


def test_dates_that_may_be_read_in_two_ways_stay_text(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(text([["name", "born"], *([f"P{i}", f"0{1 + i % 9}/0{1 + i % 7}/1990"] for i in range(30))]))
    assert rows(tmp_path / "t.csv")[0]["born"] == "01/01/1990"


OTHER = [["ward", "code", "beds"], *([f"W{i}", f"c{i}", str(i)] for i in range(1, 40))]


@pytest.mark.parametrize("blank", ["\n", ",,\n"])
@pytest.mark.parametrize("before", [1_000, 30_000])
def test_another_table_in_the_middle_of_a_long_file_is_asked_about(tmp_path: Path, blank: str, before: int) -> None:
    people = [[f"P{i}", "red", "Gouda"] for i in range(before)]
    after = text([[f"W{i}", "c", str(i)] for i in range(30_000)])
    (tmp_path / "t.csv").write_text(text([["name", "colour", "town"], *people]) + blank + text(OTHER) + after)
    with pytest.raises(UnreadableError, match="holds several tables"):
        rows(tmp_path / "t.csv")


def test_empty_lines_inside_texts_of_a_long_file_are_no_other_table(tmp_path: Path) -> None:
    lines = [[f"P{i}", '"came, went\n\nward,code,beds\nand left"', str(i)] for i in range(9_000)]
    (tmp_path / "t.csv").write_text(text([["name", "note", "days"], *lines]))
    assert len(rows(tmp_path / "t.csv")) == 9_000


def test_signs_of_windows_far_below_in_a_long_file(tmp_path: Path) -> None:
    lines = [[f"Zoë {i}", ("naïve", "café", "müde")[i % 3]] for i in range(30_000)]
    (tmp_path / "t.csv").write_bytes(text([["name", "note"], *lines, ["Eva", "5 – 6"]]).encode("cp1252"))
    with shoal.open(tmp_path / "t.csv") as table:
        assert table.source["encoding"] == "cp1252"
    assert rows(tmp_path / "t.csv")[-1] == {"name": "Eva", "note": "5 – 6"}


def test_a_code_of_three_letters_labels_no_totals_but_four_do() -> None:
    def asked(word: str) -> tuple[int, ...]:
        body = [[f"town {chr(97 + i)}", "x", str(i)] for i in range(12)]
        body.insert(5, [word, "99", "912"])
        return lay_out(body, body, 3, whole=True).labels

    assert [asked(word) for word in ("Sum", "Suma", "Total")] == [(), (0,), (0,)]


@pytest.mark.parametrize(("records", "totals", "asks"), [(10, 1, True), (20, 2, True), (19, 2, False), (31, 4, False)])
def test_a_label_of_totals_in_at_most_a_tenth_of_the_rows_is_asked_about(records: int, totals: int, asks: bool) -> None:
    body = [[f"town {chr(97 + i)}", "x", str(i)] for i in range(records - totals)]
    body[3:3] = [["Total", "99", str(900 + i)] for i in range(totals)]
    body.append(["town z", "y", "7"])  # the last row is judged by itself
    assert bool(lay_out(body, body, 3, whole=True).labels) is asks


def test_more_than_half_of_the_columns_without_names_is_asked_about() -> None:
    body = [["a", "1", "x", "4"], ["b", "2", "y", "5"], ["c", "3", "z", "6"]]
    assert strange_shape(["n", "", "", "m"], body, body, [], whole=True) == ""
    assert strange_shape(["n", "", "", ""], body, body, [], whole=True) == "heading"


def test_labels_stand_between_names_and_import_ids_only_if_there_is_a_row_between() -> None:
    names, labels, ids, record = ["q1", "q2"], ["Age", "Sex"], ['{"ImportId":"a"}', '{"ImportId":"b"}'], ["34", "f"]
    assert labels_apart([names, ids, record], ids=True, two=False) == ((), [names, record], 1)
    assert labels_apart([names, labels, ids, record], ids=True, two=False) == (("Age", "Sex"), [names, record], 2)
    assert labels_apart([names, ids, record], ids=False, two=False) == ((), [names, ids, record], 0)


@pytest.mark.parametrize(("width", "asked"), [(2, False), (3, True)])
def test_headings_of_groups_are_looked_for_where_records_have_more_than_two_cells(width: int, asked: bool) -> None:
    heading = ["Amsterdam", *[""] * (width - 1)]
    records = [[f"r{i}", *[str(i + j) for j in range(width - 1)]] for i in range(8)]
    layout = lay_out([heading, *records], [heading, *records], width, whole=True)
    assert ("groups" in layout.doubtful) is asked
