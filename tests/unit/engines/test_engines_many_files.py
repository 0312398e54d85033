"""Odd files and what each should give: read as its owner sees it, or asked about. None is read wrongly without a word."""

from __future__ import annotations

import csv
import gzip
import io
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import shoal
from shoal.errors import ShoalError

HEAD = ["name", "age", "sex", "town", "seen", "cost"]
ROWS: list[list[Any]] = [
    ["Anna", 34, "f", "Utrecht", date(2024, 5, 1), 120],
    ["Piet", 51, "m", "Delft", date(2024, 5, 3), 80],
    ["Eva", 29, "f", "Leiden", date(2024, 6, 7), 95],
    ["Jan", 62, "m", "Gouda", date(2024, 7, 9), 310],
    ["Kim", 44, "f", "Delft", date(2024, 8, 2), 45],
]
TEXTS = [[str(c) for c in row] for row in ROWS]


def text(rows: list[list[str]] = TEXTS, head: list[str] | None = HEAD, delimiter: str = ",", **how: Any) -> str:
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter, lineterminator=how.pop("end", "\n"), **how)
    writer.writerows([*([head] if head else []), *rows])
    return out.getvalue()


class Odd(NamedTuple):
    """A file: its bytes or text, options of reading, and how many records it has; None if the reader must ask."""

    content: str | bytes
    records: int | None = 5
    read: dict[str, Any] = {}  # noqa: RUF012
    columns: list[str] = HEAD


PLAIN = text()
QUOTED = text(quoting=csv.QUOTE_ALL)
GAPS = [[*row[:4], "" if i % 2 else row[4], row[5]] for i, row in enumerate(TEXTS)]
TOTAL = "Total,,,,,650\n"
RU = ["имя", "возраст", "пол", "город", "дата", "цена"]
TOWNS = ["Тверь", "Омск", "Псков", "Тула", "Ржев"]
RUSSIAN = text([["Иванов", *r[1:3], town, *r[4:]] for r, town in zip(TEXTS, TOWNS, strict=True)], RU)
CZECH = text([[f"Řehoř {i}", *r[1:3], "Děčín", *r[4:]] for i, r in enumerate(TEXTS)])
GREEK = text([[f"Γιώργος {i}", *r[1:3], "Άργος", *r[4:]] for i, r in enumerate(TEXTS)])
CHINESE = text([[f"王伟{i}", *r[1:3], "北京", *r[4:]] for i, r in enumerate(TEXTS)])
JAPANESE = text([[f"田中{i}", *r[1:3], "大阪", *r[4:]] for i, r in enumerate(TEXTS)])
FRENCH = text([[f"Hélène {i}", *r[1:3], "Besançon", *r[4:]] for i, r in enumerate(TEXTS)])

FILES: dict[str, Odd] = {
    "plain": Odd(PLAIN),
    "CRLF": Odd(text(end="\r\n")),
    "BOM": Odd("\ufeff" + PLAIN),
    "UTF-16": Odd(PLAIN.encode("utf-16")),
    "semicolons": Odd(text(delimiter=";")),
    "tabs": Odd(text(delimiter="\t")),
    "bars": Odd(text(delimiter="|")),
    "carets": Odd(text(delimiter="^")),
    "sep line": Odd("sep=;\n" + text(delimiter=";")),
    "fully quoted": Odd(QUOTED),
    "fully quoted with empties": Odd(text(GAPS, quoting=csv.QUOTE_ALL)),
    "empties": Odd(text(GAPS)),
    "no last line break": Odd(PLAIN.rstrip("\n")),
    "blank line at the end": Odd(PLAIN + "\n\n"),
    "blank line in the middle": Odd(PLAIN.replace("Eva", "\nEva")),
    "packed": Odd(gzip.compress(PLAIN.encode(), mtime=0)),
    "packed with totals": Odd(gzip.compress((PLAIN + TOTAL).encode(), mtime=0)),
    "totals": Odd(PLAIN + TOTAL),
    "totals in CRLF": Odd((PLAIN + TOTAL).replace("\n", "\r\n")),
    "totals and a blank line": Odd(PLAIN + "\n" + TOTAL + "\n"),
    "totals in semicolons": Odd(text(delimiter=";") + TOTAL.replace(",", ";")),
    "totals with a count": Odd(PLAIN + "Total (n=5),220,,,,650\n"),
    "totals in the second column": Odd(PLAIN + ",Total,,,,650\n"),
    "totals in German": Odd(PLAIN + "Summe,,,,,650\n"),
    "totals in French": Odd(PLAIN + "Total général,,,,,650\n"),
    "totals in capitals": Odd(PLAIN + "TOTAL:,,,,,650\n"),
    "totals in UTF-16": Odd((PLAIN + TOTAL).encode("utf-16")),
    "totals and averages": Odd(PLAIN + TOTAL + "Average,44,,,,130\n"),
    "subtotals": Odd(text(TEXTS[:3]) + "Subtotal,,,,,295\n" + text(TEXTS[3:], None) + TOTAL),
    "totals without values": Odd(PLAIN + "Total,,,,,\n"),
    "totals that may be a person": Odd(PLAIN + "Total,40,m,Delft,2024-01-01,5\n", None),
    "totals kept": Odd(PLAIN + TOTAL, 6, {"totals": "keep"}),
    "units": Odd(text([["-", "years", "-", "-", "-", "EUR"], *TEXTS])),
    "units in brackets": Odd(text([["", "[years]", "", "", "(date)", "(€)"], *TEXTS])),
    "units, types": Odd(text([["text", "integer", "text", "text", "date", "integer"], *TEXTS])),
    "units above two records": Odd(text([["-", "years", "-", "-", "-", "EUR"], *TEXTS[:2]]), 2),
    "words above numbers": Odd(text([["who", "how old", "which", "where", "when", "how much"], *TEXTS]), None),
    "a first record without numbers": Odd(text([["Bo", "NA", "m", "Delft", "2024-01-01", "NA"], *TEXTS]), 6),
    "title": Odd("Patients of the ward\n" + PLAIN),
    "title and blank line": Odd("Patients of the ward\n\n" + PLAIN),
    "padded title": Odd("Patients of the ward,,,,,\n" + PLAIN),
    "padded title and blank": Odd("Patients of the ward,,,,,\n,,,,,\n" + PLAIN),
    "key and value above": Odd("Hospital:,St Mary\nPrinted:,2024-05-01\n\n" + PLAIN),
    "title with a quote": Odd('Patients of "ward A"\n' + PLAIN),
    "group names above": Odd(",,Person,,,\n" + PLAIN),
    "comments above": Odd("# made by a program\n# version 2\n" + PLAIN),
    "comments between": Odd(PLAIN.replace("Eva", "# checked\nEva")),
    "comments that may be records": Odd(PLAIN.replace("Eva", "# checked\n#Eva"), None),
    "ids with a hash": Odd(text([["#" + r[0], *r[1:]] for r in TEXTS])),
    "semicolon comments": Odd("; made by a program\n" + PLAIN, 5, {"comment": ";"}),
    "source below": Odd(PLAIN + "\nSource: Ministry of Health\n"),
    "source below, padded": Odd(PLAIN + "Source: Ministry of Health,,,,,\n"),
    "note with commas below": Odd(PLAIN + "Note: costs in EUR, rounded\n"),
    "footnote": Odd(PLAIN + "* estimated by the ward\n"),
    "totals, blank cells, source": Odd(PLAIN + TOTAL + ",,,,,\nSource: the hospital,,,,,\n"),
    "a note that may be a record": Odd(PLAIN + "see the ward list,,,,,\n", None),
    "a record cut off": Odd(PLAIN + "Anna Maria de Vries\n", None),
    "a record with one value": Odd(PLAIN + "Bo,,,,,\n", 6, {"notes": "keep"}),
    "a record or a note": Odd(PLAIN + "Bo,,,,,\n", None),
    "a short line": Odd(PLAIN.replace("Eva,29", "Eva"), None),
    "a long line": Odd(PLAIN.replace("Eva,29", "Eva,29,30"), None),
    "a short line set aside": Odd(PLAIN.replace("Eva,29", "Eva"), 4, {"bad_lines": "set-aside"}),
    "skipped lines": Odd("a,b,c,d,e,f\ng,h,i,j,k,l\n" + PLAIN, 5, {"skip": 2}),
    "names in line 3": Odd("a,b,c,d,e,f\ng,h,i,j,k,l\n" + PLAIN, 5, {"header": 3}),
    "no names": Odd(text(head=None), 5, {}, [f"column{i}" for i in range(1, 7)]),
    "blanks around names": Odd(PLAIN.replace("name,age", "name , age")),
    "blanks behind commas": Odd("\n".join(", ".join(r) for r in [HEAD, *TEXTS]) + "\n"),
    "doubled names": Odd(text(head=[*HEAD[:5], "age"]), 5, {}, [*HEAD[:5], "age_2"]),
    "doubled names, one taken": Odd(text(head=["age_2", *HEAD[1:5], "age"]), 5, {}, ["age_2", *HEAD[1:5], "age_3"]),
    "names in other case": Odd(text(head=[*HEAD[:5], "Age"]), 5, {}, [*HEAD[:5], "Age_2"]),
    "names that look alike": Odd(text(head=[*HEAD[:5], "n\u0430me"]), None),
    "unnamed column": Odd(text(head=["", *HEAD[1:]]), 5, {}, ["column1", *HEAD[1:]]),
    "cp1251": Odd(RUSSIAN.encode("cp1251"), 5, {}, RU),
    "koi8-r": Odd(RUSSIAN.encode("koi8-r"), 5, {}, RU),
    "cp866": Odd(RUSSIAN.encode("cp866"), 5, {}, RU),
    "cp1250": Odd(CZECH.encode("cp1250")),
    "iso-8859-2": Odd(CZECH.encode("iso-8859-2")),
    "cp1253": Odd(GREEK.encode("cp1253")),
    "gbk": Odd(CHINESE.encode("gbk")),
    "shift-jis": Odd(JAPANESE.encode("shift-jis")),
    "mac-roman": Odd(FRENCH.encode("mac-roman")),
    "cp1252": Odd(FRENCH.encode("cp1252")),
    "latin-1 with totals": Odd((FRENCH + TOTAL).encode("latin-1")),
    "a workbook named .csv": Odd(b"PK\x03\x04" + bytes(range(256)), None),
    "a picture named .csv": Odd(b"\x89PNG\r\n\x1a\n" + bytes(range(200)), None),
    "zeros": Odd(b"\x00" * 400, None),
    "empty": Odd("", None),
    "rows of empty cells at the end": Odd(PLAIN + ",,,,,\n,,,,,\n"),
    "rows of empty cells kept": Odd(PLAIN + ",,,,,\n", 6, {"notes": "keep"}),
    "the end mark of DOS": Odd(PLAIN + "\x1a"),
    "the end mark of DOS after CRLF": Odd(text(end="\r\n") + "\x1a"),
    "two files in one": Odd(text(TEXTS[:3]) + text(TEXTS[3:])),
    "lines that end in two ways": Odd(PLAIN.replace("\n", "\r\n", 3)),
    "JSON named .csv": Odd('{"name": "x", "age": 3}\n' * 5, None),
    "an open quote": Odd(PLAIN.replace("Eva", '"Eva'), None),
}
VALUES = {"cp1251": "Тверь", "koi8-r": "Тверь", "cp866": "Тверь", "cp1250": "Děčín", "iso-8859-2": "Děčín", "cp1253": "Άργος"}
VALUES |= {"gbk": "北京", "shift-jis": "大阪", "mac-roman": "Besançon", "cp1252": "Besançon", "latin-1 with totals": "Besançon"}


def test_a_first_column_that_the_names_leave_out_is_called_column1(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    head, *body = PLAIN.splitlines()
    file.write_text("\n".join([head, *(f"{i},{line}" for i, line in enumerate(body))]) + "\n")
    with shoal.open(file) as table:
        rows = [row for batch in table.scan() for row in batch.to_pylist()]
        assert any("column1" in line for line in table.source["repairs"])
    assert list(rows[0]) == ["column1", *HEAD]
    assert [row["column1"] for row in rows] == list(range(len(body)))
    file.write_text("\n".join([head, *(f"{i},{line}" for i, line in enumerate(body[:-1])), body[-1]]) + "\n")
    with pytest.raises(ShoalError, match="fields"), shoal.open(file) as table:
        list(table.scan())


@pytest.mark.parametrize("name", FILES)
def test_no_file_is_read_wrongly_without_a_word(tmp_path: Path, name: str) -> None:
    odd = FILES[name]
    file = tmp_path / ("t.csv.gz" if name.startswith("packed") else "t.csv")
    file.write_bytes(odd.content.encode() if isinstance(odd.content, str) else odd.content)
    if odd.records is None:
        with pytest.raises(ShoalError) as caught, shoal.open(file, **odd.read) as table:
            list(table.scan())
        assert not any(cell in str(caught.value) for row in TEXTS for cell in (row[0], row[3]))
        return
    with shoal.open(file, **odd.read) as table:
        rows = [row for batch in table.scan() for row in batch.to_pylist()]
        kinds = {c.name: c.kind for c in table.schema.columns}
    assert list(rows[0]) == odd.columns
    assert len(rows) == odd.records
    cells = list(rows[0].values())
    if name not in ("totals kept", "a first record without numbers"):
        numbers = [row for row in rows if list(row.values())[1] is not None]
        assert list(kinds.values())[1] == "integer"
        assert [list(row.values())[1] for row in numbers] == [row[1] for row in ROWS if row[0] != "Eva" or odd.records != 4][
            : odd.records
        ]
        assert list(kinds.values())[4] == "date"
    if name in VALUES:
        assert cells[3] == VALUES[name]
