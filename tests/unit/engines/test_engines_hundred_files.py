"""A hundred odd files with what each should give: the records as their owner sees them, or a question; never other records."""

from __future__ import annotations

import datetime as dt
import decimal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import openpyxl
import pytest

import shoal
from shoal.errors import UnreadableError

NAMES = ["name", "town", "age", "sex", "income", "born"]
PEOPLE = [
    ["Anna", "Utrecht", "34", "f", "21000.50", "1990-05-01"],
    ["Piet", "Delft", "51", "m", "32500.25", "1973-11-12"],
    ["Eva", "Leiden", "29", "f", "40125.00", "1995-02-28"],
    ["Jan", "Gouda", "62", "m", "32750.75", "1962-07-30"],
    ["Mia", "Breda", "45", "f", "28300.10", "1979-09-09"],
    ["Tom", "Ede", "38", "m", "51200.00", "1986-12-01"],
]
TYPED = [[n, t, int(a), s, float(i), dt.date.fromisoformat(b)] for n, t, a, s, i, b in PEOPLE]
TOTAL = ["Total", "", "259", "", "205876.60", ""]
Rows = Sequence[Sequence[Any]]


def text(rows: Rows, delimiter: str = ",", end: str = "\n") -> str:
    return "".join(delimiter.join(row) + end for row in rows)


def plain(value: Any) -> str | None:
    """A value as a text that does not depend on its type: 21000.50 and 21000.5 are the same."""
    if value in (None, ""):
        return None
    if isinstance(value, int | float | decimal.Decimal):
        return f"{float(value):.10g}"
    try:
        return f"{float(value):.10g}"
    except (TypeError, ValueError):
        return str(value)


def opened(path: Path, **options: Any) -> tuple[list[str], list[list[str | None]], list[str]]:
    with shoal.open(path, **options) as table:
        names = list(table.schema.names)
        rows = [[plain(row[n]) for n in names] for batch in table.scan() for row in batch.to_pylist()]
        return names, rows, list(table.source.get("repairs", ()))


def with_town(town: str) -> list[list[str]]:
    return [[n, town if t == "Delft" else t, *rest] for n, t, *rest in PEOPLE]


BASE = text([NAMES, *PEOPLE])
NUMBERED = [[str(i), *row] for i, row in enumerate(PEOPLE, start=1)]
COMMAS = [[*row[:4], row[4].replace(".", ","), row[5]] for row in PEOPLE]
LABELS = ["Your name", "Where do you live?", "How old are you?", "Your sex", "Income", "Date of birth"]
IDS = [f'"{{""ImportId"":""QID{i}""}}"' for i in range(6)]

RIGHT: dict[str, str] = {
    # delimiters
    "semicolons": text([NAMES, *PEOPLE], ";"),
    "semicolons and decimal commas": text([NAMES, *COMMAS], ";"),
    "tabs": text([NAMES, *PEOPLE], "\t"),
    "bars": text([NAMES, *PEOPLE], "|"),
    "tildes": text([NAMES, *PEOPLE], "~"),
    "carets": text([NAMES, *PEOPLE], "^"),
    "colons": text([NAMES, *PEOPLE], ":"),
    "two bars": text([NAMES, *PEOPLE], "||"),
    "two colons": text([NAMES, *PEOPLE], "::"),
    "blanks behind commas": text([NAMES, *PEOPLE], ", "),
    "blanks around commas": text([NAMES, *PEOPLE], " , "),
    "blanks around tabs": text([NAMES, *PEOPLE], " \t "),
    "columns of blanks": "\n".join("".join(c.ljust(12) for c in r).rstrip() for r in [NAMES, *PEOPLE]) + "\n",
    # quotes
    "all in quotes": text([[f'"{c}"' for c in r] for r in [NAMES, *PEOPLE]]),
    "all in single quotes": text([[f"'{c}'" for c in r] for r in [NAMES, *PEOPLE]]),
    "texts in quotes": text([[f'"{c}"' if i in (0, 1, 3) else c for i, c in enumerate(r)] for r in [NAMES, *PEOPLE]]),
    "whole lines in quotes": text([['"' + ",".join(r) + '"'] for r in [NAMES, *PEOPLE]]),
    "whole lines in quotes, fields too": text([['"' + ",".join(f'""{c}""' for c in r) + '"'] for r in [NAMES, *PEOPLE]]),
    "formulas": text([NAMES, *([f'="{c}"' for c in r] for r in PEOPLE)]),
    # lines
    "Windows": text([NAMES, *PEOPLE], end="\r\n"),
    "old Mac": text([NAMES, *PEOPLE], end="\r"),
    "two returns": text([NAMES, *PEOPLE], end="\r\r\n"),
    "an empty line after each": text([NAMES, *PEOPLE], end="\n\n"),
    "no last end": BASE[:-1],
    "blanks in the last line": BASE + "   \n",
    "empty lines above": "\n\n\n" + BASE,
    "an empty line inside": text([NAMES, *PEOPLE[:3]]) + "\n" + text(PEOPLE[3:]),
    "a delimiter behind every record": text([NAMES]) + text(PEOPLE, end=",\n"),
    "a delimiter behind the names": text([NAMES], end=",\n") + text(PEOPLE),
    "two marks": "\ufeff\ufeff" + BASE,
    "a mark and a delimiter line": "\ufeffsep=,\n" + BASE,
    "the end of a DOS file": BASE + "\x1a",
    # above and below
    "a title": "Patients of 2024\n" + BASE,
    "a title with commas": "Patients,,,,,\nof 2024,,,,,\n" + BASE,
    "keys and values above": "Report,Patients\nDate,2024-01-01\nBy,Jan\n\n" + BASE,
    "comments": "# made by a program\n# version 3\n" + BASE,
    "numbers of columns above": text([[str(i) for i in range(1, 7)], NAMES, *PEOPLE]),
    "numbers of columns below": text([NAMES, [str(i) for i in range(1, 7)], *PEOPLE]),
    "units": text([NAMES, ["-", "-", "years", "-", "EUR", "-"], *PEOPLE]),
    "types": text([NAMES, ["text", "text", "int", "text", "float", "date"], *PEOPLE]),
    "import ids": text([NAMES, LABELS, IDS, *PEOPLE]),
    "import ids without labels": text([NAMES, IDS, *PEOPLE]),
    "labels of two lines and import ids": text([NAMES, ['"Your\nname"', *LABELS[1:]], IDS, *PEOPLE]),
    "names again": text([NAMES, *PEOPLE[:3], NAMES, *PEOPLE[3:]]),
    "a total": text([NAMES, *PEOPLE, TOTAL]),
    "a total first": text([NAMES, TOTAL, *PEOPLE]),
    "a total in another column": text([NAMES, *PEOPLE, ["", *TOTAL[:1], *TOTAL[2:]]]),
    "a line and a total": text([NAMES, *PEOPLE, ["-----"] * 6, TOTAL]),
    "a total and statistics": text([NAMES, *PEOPLE, TOTAL, ["SD", "", "11", "", "9000", ""], ["Min", "", "29", "", "21000", ""]]),
    "a total in Japan": text([NAMES, *PEOPLE, ["合　計", *TOTAL[1:]]]),
    "sums without a label": text([NAMES, *PEOPLE, ["", "", "259", "", "205876.60", ""]]),
    "means without a label": text([NAMES, *PEOPLE, ["", "", "43.17", "", "34312.77", ""]]),
    "empty rows below": BASE + ",,,,,\n" * 5,
    "page feet": text([NAMES, *PEOPLE[:3]]) + "Page 1 of 2\n" + text([NAMES, *PEOPLE[3:]]),
    "output of a database": text([NAMES], " | ") + "+".join(["-----"] * 6) + "\n" + text(PEOPLE, " | ") + "(6 rows)\n",
    "a source": BASE + "Source: the hospital\n",
    "a quoted source": BASE + '"Source: CBS, 2024"\n',
    "a star": BASE + "* provisional figures\n",
    "letters of notes": BASE + "a) provisional\nb) estimated\n",
    "letters of notes and empty cells": BASE + "a) provisional,,,,,\nb) estimated,,,,,\n",
    "a table of a page of text": text([["", *r, ""] for r in [NAMES, *PEOPLE]], "|"),
}


@pytest.mark.parametrize("name", RIGHT)
def test_text_files_that_are_read_right(tmp_path: Path, name: str) -> None:
    (tmp_path / "t.csv").write_text(RIGHT[name], encoding="utf-8", newline="")
    names, rows, _ = opened(tmp_path / "t.csv")
    if name == "a delimiter behind every record":
        names, rows = names[:6], [row[:6] for row in rows]
    assert (names, rows) == (NAMES, [[plain(c) for c in r] for r in PEOPLE])


@pytest.mark.parametrize(
    "name",
    [
        *("two bars", "whole lines in quotes", "blanks in the last line", "numbers of columns below", "import ids"),
        *("a line and a total", "a total and statistics", "sums without a label", "means without a label"),
    ],
)
def test_repairs_are_said(tmp_path: Path, name: str) -> None:
    (tmp_path / "t.csv").write_text(RIGHT[name], encoding="utf-8", newline="")
    assert opened(tmp_path / "t.csv")[2]


TOWNS = {
    "a quote inside": 'Delft 5"',
    "quotes three times": '"""Delft"""',
    "a delimiter in quotes": '"Delft, NL"',
    "a line break in quotes": '"Del\nft"',
    "a return in quotes": '"Del\rft"',
    "a Windows line break in quotes": '"Del\r\nft"',
    "blanks before quotes": ' "Delft, NL"',
    "blanks behind quotes": '"Delft, NL" ',
    "a line separator": "Del\u2028ft",
    "a next line": "Del\x85ft",
    "a form feed": "Del\x0cft",
    "a mark": "Del\ufeffft",
    "html": "Del&amp;ft",
    "an apostrophe": "'Delft",
}


@pytest.mark.parametrize("name", TOWNS)
def test_one_odd_text_in_a_record(tmp_path: Path, name: str) -> None:
    (tmp_path / "t.csv").write_text(text([NAMES, *with_town(TOWNS[name])]), encoding="utf-8", newline="")
    read = TOWNS[name].strip(" ")
    if read[0] == read[-1] == '"':
        read = read[1:-1].replace('""', '"')
    assert opened(tmp_path / "t.csv")[1][1][1] == read


ASKED: dict[str, tuple[str, str]] = {
    "a record that is too short": (text([NAMES, *PEOPLE[:2], PEOPLE[2][:5], *PEOPLE[3:]]), "line 4"),
    "a record that is too long": (text([NAMES, *PEOPLE[:2], [*PEOPLE[2], "x"], *PEOPLE[3:]]), "line 4"),
    "a comma in one town": (text([NAMES, *with_town("Delft, NL")]), "line 3"),
    "a comma in every town": (text([NAMES, *([r[0], r[1] + ", NL", *r[2:]] for r in PEOPLE)]), "line 2"),
    "an escaped comma": (text([NAMES, *with_town("Delft\\, NL")]), "line 3"),
    "escaped quotes": (text([NAMES, *with_town('"De \\"Oude\\" Stad"')]), "line 3"),
    "a quote that is not closed": (text([NAMES, *with_town('"t Delft')]), "line 3"),
    "typographic quotes": (text([NAMES, *with_town("“Delft, NL”")]), "line 3"),
    "headings of groups": (
        text([NAMES, ["Ward A"] + [""] * 5, *PEOPLE[:3], ["Ward B"] + [""] * 5, *PEOPLE[3:]]),
        "groups=set-aside",
    ),
    "no names, texts only": (text([[r[0], r[1], r[3]] for r in PEOPLE]), "header=false"),
    "words below the names": (text([NAMES, LABELS, *PEOPLE]), "units=set-aside"),
    "dashes below the names": (text([NAMES, ["----"] * 6, *PEOPLE]), "units=set-aside"),
    "a total like a record": (text([NAMES, *PEOPLE, ["Total", "all", "5", "f", "7", "2000-01-01"]]), "totals=set-aside"),
    "a count": (text([NAMES, *PEOPLE, ["Count", "6", "6", "6", "6", "6"]]), "totals=set-aside"),
    "an n": (text([NAMES, *PEOPLE, ["N", "", "6", "", "6", ""]]), "totals=set-aside"),
    "another table": (BASE + "\nward,head,beds,open,site,cost\nA,Eva,12,y,N,900\nB,Jan,8,n,S,750\n", "several tables"),
    "a sign of another kind": (text([NAMES, *PEOPLE], "§"), "delimiter=SIGN"),
    "wide gaps": ("\n".join("".join(c.ljust(16) for c in r) for r in [NAMES, *with_town("Den Haag")]) + "\n", "delimiter=SIGN"),
    "keys and values": ("name: Anna\nage: 34\n\nname: Piet\nage: 51\n", "delimiter=SIGN"),
    "a comment like the names": ("# made by x\n#" + BASE, "comment="),
    "columns in rows": (text(zip(*[NAMES, *PEOPLE], strict=True)), "tables=keep if each row is a record"),
    "columns in rows, records numbered": ("age,1,2,3,4\npay,2100,3250,4012,3275\nlength,160,180,170,175\n", "look like columns"),
    "columns in rows, records named": (
        "id,P1,P2,P3\nage,34,51,29\nsex,f,m,f\nborn,1990-05-01,1973-11-12,1995-02-28\n",
        "look like columns",
    ),
    "one record in rows": ("name,Anna\nage,34\ntown,Utrecht\nsex,f\nincome,2100\n", "look like columns"),
    "columns in rows, all numbers": (
        "age,34,51,29,62,45\npay,2100,3250,4012,3275,2830\nx1,1600,1800,1700,1750,1680\nx2,61,80,70,75,66\n",
        "look like columns",
    ),
    "columns in rows, numbers of named records": (
        "id,P1,P2,P3\nage,34,51,29\npay,2100,3250,4012\nlength,160,180,170\n",
        "look like columns",
    ),
    "columns in rows, all words": (
        "name,Anna,Piet,Eva\nsex,f,m,f\ntown,Utrecht,Delft,Leiden\njob,nurse,baker,clerk\n",
        "look like columns",
    ),
    "columns in rows, answers": (
        "who,Anna,Piet,Eva,Jan\nsmokes,yes,no,no,yes\nlikes,tea,tea,milk,milk\nfrom,Ede,Goes,Breda,Weert\n",
        "look like columns",
    ),
    "headings of groups, the first missing": (
        text([NAMES, *PEOPLE[:2], ["Ward B"] + [""] * 5, *PEOPLE[2:4], ["Ward C"] + [""] * 5, *PEOPLE[4:]]),
        "groups=set-aside",
    ),
    "fixed width, no blanks between": (
        "Anna 34Utrecht21000\nPiet 51Delft  32500\nEva  29Leiden 40125\nJan  62Gouda  32750\n",
        "fixed width",
    ),
    "fixed width, names": (
        "NAME AGETOWN   PAY  \nAnna 34 Utrecht21000\nPiet 51 Delft  32500\nEva  29 Leiden 40125\nJan  62 Gouda  32750\n",
        "fixed width",
    ),
    "fixed width, digits only": (
        "\n".join(f"{i:04d}198{i}0131{i * 37:06d}21000{i}02500" for i in range(1, 6)) + "\n",
        "fixed width",
    ),
    "settings": ("[person]\nname = Anna\nage = 34\n\n[other]\nname = Piet\n", "holds settings"),
    "settings with commas": ("name=Smit, Anna\nage=34\ntown=Utrecht, NL\n", "holds settings"),
    "yaml": ("name: Anna\nage: 34\n---\nname: Piet\nage: 51\n", "holds settings"),
    "the rest of a file": ("recht,34,f,21000.50,1990-05-01\n" + text(PEOPLE[1:]), "line 2"),
    "the rest of a record": ("0.50,1990-05-01\n" + text(PEOPLE[1:]), "header=false"),
    "a table above": ("ward,beds,open\nA,3,yes\nB,4,no\n\n" + BASE, "tables=keep"),
    "another table above, no empty line": (
        "measure,n,mean,sd,min,max\nage,6,43,11,29,62\nincome,6,34312,9000,21000,51200\n" + BASE,
        "tables=keep",
    ),
    "names in the middle": (text([*PEOPLE[:3], NAMES, *PEOPLE[3:]]), "tables=keep"),
    "names at the end": (text([*PEOPLE, NAMES]), "tables=keep"),
    "one text in the last row": (text([NAMES, *PEOPLE, ["Provisional", *[""] * 5]]), "notes=set-aside"),
    "a Korean total": ("경찰서,수\n부산강서,9\n부산금정,5\n부산남부,7\n총 합계,23\n", "totals=set-aside"),
    "names in two rows": (
        ",,town,town,town\n,,A,B,C\n1,people,566,626,491\n2,places,22,26,12\n3,wards,4,3,2\n",
        "header=N",
    ),
    "names in two rows, and flags": (
        "Stock of cars\n,Cars,,Lorries,\n,number,,number,\n2001-01-01,374,e,437,e\n2002-01-01,381,e,440,e\n",
        "header=N",
    ),
    "a drawn table": ("+------+-----+\n| name | age |\n+------+-----+\n| Anna | 34  |\n+------+-----+\n", "drawn with lines"),
    "latex": ("\\begin{tabular}{ll}\nname & age \\\\\nAnna & 34 \\\\\n\\end{tabular}\n", "holds LaTeX"),
    "json": ('[{"name": "Anna"}]', "holds JSON"),
    "a page": ("<!DOCTYPE html>\n<html><body>Not found</body></html>\n", "holds HTML"),
    "a table of a page": ("<table><tr><td>name</td></tr></table>\n", "holds HTML"),
    "xml": ('<?xml version="1.0"?>\n<rows><row/></rows>\n', "holds HTML or XML"),
    "a pointer": ("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n", "git lfs pull"),
    "sql": ("INSERT INTO t VALUES (1,'Anna',34);\nINSERT INTO t VALUES (2,'Piet',51);\n", "holds SQL"),
    "cards": ("BEGIN:VCARD\nN:Anna\nEND:VCARD\nBEGIN:VCARD\nN:Piet\nEND:VCARD\n", "holds cards"),
    "arff": ("@relation p\n@attribute name string\n@data\nAnna\n", "ARFF"),
    "nothing": ("  \n \n", "is empty"),
}


VALUES: dict[str, tuple[list[str], list[Any]]] = {
    "days of East Asia": (
        ["2020年5月1日", "平成30年12月24日", "令和元年7月3日", "民國109年1月2日", "2020년 5월 6일", "昭和62年1月2日"],
        [(2020, 5, 1), (2018, 12, 24), (2019, 7, 3), (2020, 1, 2), (2020, 5, 6), (1987, 1, 2)],
    ),
    "months of East Asia": (["2020年5月", "2021年12月"], ["2020年5月", "2021年12月"]),
    "a day that does not exist": (["2020年2月30日", "2020年5月1日"], ["2020年2月30日", "2020年5月1日"]),
    "blanks between thousands": (["1 200,50", "900,00", "12 100,25"], [1200.5, 900, 12100.25]),
    "blanks inside numbers of people": (["123 456", "980 123"], ["123 456", "980 123"]),
    "crowns behind": (["1.200,50 kr", "900,00 kr"], [1200.5, 900]),
    "dollars of Hong Kong": (["HK$1,200.50", "HK$900.00"], [1200.5, 900]),
}


@pytest.mark.parametrize("name", VALUES)
def test_values_in_the_writing_of_a_country(tmp_path: Path, name: str) -> None:
    written, values = VALUES[name]
    (tmp_path / "t.csv").write_text(
        text([["who", "what"], *([f"p{i}", v] for i, v in enumerate(written))], ";"), encoding="utf-8"
    )
    with shoal.open(tmp_path / "t.csv") as table:
        found = [row["what"] for batch in table.scan() for row in batch.to_pylist()]
    assert [
        (v.year, v.month, v.day) if isinstance(v, dt.date) else float(v) if isinstance(v, decimal.Decimal) else v for v in found
    ] == values


def test_a_late_day_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    rows = [["who", "born"], *([f"p{i}", f"平成{1 + i % 30}年5月1日"] for i in range(30_000)), ["q", "平成30年2月30日"]]
    (tmp_path / "t.csv").write_text(text(rows), encoding="utf-8")
    with pytest.raises(UnreadableError, match="record 30001"):
        opened(tmp_path / "t.csv")


@pytest.mark.parametrize(
    ("what", "told"),
    [
        ("1.23E+15", "digits are lost"), ("1.23e+15", ""), ("1.23E+03", ""), ("a\0b", "zero bytes"), ("M\ufffdnchen", "is lost"),
        ("MÃ¼nchen", "wrong encoding"), ("Donâ€™t", "wrong encoding"), ("NÃO", ""), ("Âge", ""), ("crâne", ""), ("12 °C", ""),
    ],
)  # fmt: skip
def test_what_texts_have_lost_is_told(tmp_path: Path, what: str, told: str) -> None:
    (tmp_path / "t.csv").write_text(text([NAMES, *with_town(what)]), encoding="utf-8", newline="")
    repairs = opened(tmp_path / "t.csv")[2]
    assert (told in " ".join(repairs)) if told else not repairs


@pytest.mark.parametrize(
    ("wards", "told"),
    [(["A", "", "", "B", ""], True), (["A", "", "B", "C", "", ""], True), (["A", "", "A", ""], False),
     (["", "A", "", "B"], False), (["A", "B", "C", ""], False), (["1", "", "2", ""], False)],
)  # fmt: skip
@pytest.mark.parametrize("ending", [".csv", ".xlsx"])
def test_words_that_stand_for_the_rows_below_are_told(tmp_path: Path, wards: list[str], told: bool, ending: str) -> None:
    rows = [["ward", "who", "beds"], *([ward, f"p{i}", str(i)] for i, ward in enumerate(wards))]
    path = tmp_path / f"t{ending}"
    if ending == ".csv":
        path.write_text(text(rows), encoding="utf-8")
    else:
        book = openpyxl.Workbook()
        for row in rows:
            book.active.append([c or None for c in row])
        book.save(path)
    _, read, repairs = opened(path)
    assert (len(read), "once above rows" in " ".join(repairs)) == (len(wards), told)


def test_signs_without_a_width_around_names_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("\u202bالاسم\u202c,\u200bage,a\u200bb\nآنا,34,x\nليلى,29,y\n", encoding="utf-8")
    assert opened(tmp_path / "t.csv")[0] == ["الاسم", "age", "a\u200bb"]


TABLES = {
    "years of towns": ("town,2019,2020,2021\nEde,100,101,102\nGoes,900,905,910\nBreda,40,42,41\n", 3),
    "months of towns": ("town,jan,feb,mar\nEde,100,101,102\nGoes,900,905,910\nBreda,40,42,41\n", 3),
    "numbers without names": ("Anna,34,160,61,7\nPiet,51,180,80,6\nEva,29,170,70,8\n", 3),
    "answers of people": ("who,a,b,c,d\nAnna,yes,no,no,yes\nPiet,no,no,yes,yes\nEva,yes,yes,no,no\n", 3),
    "different words of people": ("name,town,job,pet\nAnna,Ede,nurse,cat\nPiet,Goes,baker,dog\nEva,Breda,clerk,fish\n", 3),
    "questions about names": ("question,kind,length,unit\nage,number,3,year\nsex,choice,1,none\ntown,text,40,none\n", 3),
    "records without values": (text([NAMES, PEOPLE[0], *([n] + [""] * 5 for n in ("Bo", "Cy", "Di")), *PEOPLE[1:]]), 9),
    "records with few values": (
        text([NAMES, *PEOPLE[:2], ["Bo"] + [""] * 5, PEOPLE[2], ["Cy", "", "5", "", "", ""], *PEOPLE[3:]]),
        8,
    ),
    "codes in one column": ("code\nAB 12345 X\nCD 67890 Y\nEF 13579 Z\nGH 24680 Q\n", 4),
    "sentences in one column": ("said\nI have 2 cats\nI am 51 years\nWe were 3 all\nYou ate 9 now\n", 4),
    "long numbers in one column": ("".join(f"NL91ABNA04171643{i:02d}\n" for i in range(5)), 4),
}
"""Tables that have something of a strange shape, and their records."""


@pytest.mark.parametrize("name", TABLES)
def test_tables_that_are_not_asked_about(tmp_path: Path, name: str) -> None:
    content, records = TABLES[name]
    (tmp_path / "t.csv").write_text(content, encoding="utf-8", newline="")
    assert len(opened(tmp_path / "t.csv")[1]) == records


@pytest.mark.parametrize("name", ASKED)
def test_text_files_that_are_asked_about(tmp_path: Path, name: str) -> None:
    content, words = ASKED[name]
    (tmp_path / "t.csv").write_text(content, encoding="utf-8", newline="")
    with pytest.raises(UnreadableError, match=words):
        opened(tmp_path / "t.csv")


@pytest.mark.parametrize(
    ("name", "options", "records"),
    [
        ("headings of groups", {"groups": "set-aside"}, 6),
        ("headings of groups", {"groups": "keep"}, 8),
        ("no names, texts only", {"header": False}, 6),
        ("no names, texts only", {"header": 1}, 5),
        ("columns in rows", {"tables": "keep"}, 5),
        ("a table above", {"tables": "keep"}, 6),
        ("one text in the last row", {"notes": "set-aside"}, 6),
        ("an n", {"totals": "keep"}, 7),
        ("an n", {"totals": "set-aside"}, 6),
        ("a sign of another kind", {"delimiter": "§"}, 6),
        ("a sign of another kind", {"delimiter": ","}, 6),
    ],
)
def test_answers_to_questions(tmp_path: Path, name: str, options: dict[str, Any], records: int) -> None:
    (tmp_path / "t.csv").write_text(ASKED[name][0], encoding="utf-8")
    assert len(opened(tmp_path / "t.csv", **options)[1]) == records


def test_names_of_rows_and_years_as_names(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text(text([NAMES, *NUMBERED]))
    assert opened(file)[0] == ["column1", *NAMES]
    file.write_text("town,2001,2002,2003\nA,1,2,3\nB,4,5,6\n")
    assert opened(file)[0] == ["town", "2001", "2002", "2003"]
    file.write_text("Anna,f,1990\nPiet,m,1985\nEva,f,1971\n")
    assert len(opened(file)[1]) == 3


def test_a_box_that_was_ticked_has_its_name_as_value(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("who,tea,milk\nAnna,tea,\nPiet,,milk\nEva,tea,milk\n")
    assert len(opened(file)[1]) == 3


def test_tabs_are_not_taken_for_granted_by_the_ending(tmp_path: Path) -> None:
    (tmp_path / "t.tsv").write_text(BASE)
    assert opened(tmp_path / "t.tsv")[0] == NAMES


def test_one_zero_byte_in_a_short_text_is_not_utf_16(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b"who,x\nP0,a\x00b\nP1,c\n")
    with pytest.raises(UnreadableError, match="not a text file"):
        opened(tmp_path / "t.csv")


FIRST = ["Ward A", None, None, None, None, None]
SHEETS: dict[str, tuple[Rows, str]] = {
    "as it is": ([NAMES, *TYPED], ""),
    "an empty column before": ([[None, *r] for r in [NAMES, *TYPED]], ""),
    "empty rows before": ([[], [], NAMES, *TYPED], ""),
    "a title": ([["Patients of 2024"], NAMES, *TYPED], ""),
    "an empty row inside": ([NAMES, *TYPED[:3], [], *TYPED[3:]], ""),
    "names again": ([NAMES, *TYPED[:3], NAMES, *TYPED[3:]], ""),
    "units": ([NAMES, ["-", "-", "years", "-", "EUR", "-"], *TYPED], ""),
    "numbers of columns": ([NAMES, [1, 2, 3, 4, 5, 6], *TYPED], ""),
    "import ids": ([NAMES, LABELS, [c.replace('""', '"')[1:-1] for c in IDS], *TYPED], ""),
    "import ids below bare names": ([NAMES, LABELS, [c.replace('""', '"')[1:-1] for c in IDS], *TYPED], ""),
    "a total": ([NAMES, *TYPED, ["Total", None, 259, None, 205876.6, None]], ""),
    "sums without a label": ([NAMES, *TYPED, [None, None, 259, None, 205876.6, None]], ""),
    "headings of groups": ([NAMES, FIRST, *TYPED[:3], ["Ward B"], *TYPED[3:]], "groups=set-aside"),
    "a legend below": ([NAMES, *TYPED, [], ["Legend"], ["f", "female"], ["m", "male"]], "notes=set-aside"),
    "a count below": ([NAMES, *TYPED, ["n =", 6]], "notes=set-aside"),
    "columns in rows": ([list(r) for r in zip(*[NAMES, *TYPED], strict=True)], "look like columns"),
    "a table above": ([["ward", "beds", "open"], ["A", 3, "yes"], ["B", 4, "no"], [], NAMES, *TYPED], "tables=keep"),
    "no names, texts only": ([[r[0], r[3]] for r in TYPED], "header=false"),
    "lines of a text file": ([[",".join(r)] for r in [NAMES, *PEOPLE]], "several fields each"),
    "nothing": ([], "is empty"),
}


@pytest.mark.parametrize("name", SHEETS)
def test_workbooks(tmp_path: Path, name: str) -> None:
    lines, question = SHEETS[name]
    book = openpyxl.Workbook()
    for line in lines:
        book.active.append(list(line))  # type: ignore[union-attr]
    book.save(tmp_path / "t.xlsx")
    if question:
        with pytest.raises(UnreadableError, match=question):
            opened(tmp_path / "t.xlsx")
    else:
        assert opened(tmp_path / "t.xlsx")[:2] == (NAMES, [[plain(c) for c in r] for r in PEOPLE])


def test_the_answer_for_a_legend_and_durations_beyond_a_day(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    for line in [["name", "stay"], ["Anna", dt.timedelta(hours=30)], ["Piet", dt.timedelta(hours=2)]]:
        book.active.append(line)  # type: ignore[union-attr]
    book.save(tmp_path / "t.xlsx")
    assert [r[1] for r in opened(tmp_path / "t.xlsx")[1]] == ["30:00:00", "02:00:00"]
    book = openpyxl.Workbook()
    for line in SHEETS["a legend below"][0]:
        book.active.append(list(line))  # type: ignore[union-attr]
    book.save(tmp_path / "t.xlsx")
    assert len(opened(tmp_path / "t.xlsx", notes="set-aside")[1]) == 6
    assert len(opened(tmp_path / "t.xlsx", notes="keep")[1]) == 9


@pytest.mark.parametrize(
    ("below", "merged", "asked"),
    [
        ([[], ["These figures are provisional and will be revised."]], ["A9:F9"], ""),
        ([[], ["These figures are provisional and will be revised."], ["Source: the ward."]], ["A9:F9", "A10:F10"], ""),
        ([["These figures are provisional and will be revised."]], ["A8:F9"], ""),
        ([["Provisional"]], ["A8:F8"], "notes=set-aside"),
        ([[], ["Note", "a: provisional"], [None, "b: estimated"]], ["B9:F9", "B10:F10"], "notes=set-aside"),
        ([["Bo", "Ede", 30, "m", 1000.5]], ["B7:B8"], "merged cells below its names"),
    ],
)
def test_merged_cells_in_notes(tmp_path: Path, below: Rows, merged: list[str], asked: str) -> None:
    book = openpyxl.Workbook()
    for row in [NAMES, *TYPED, *below]:
        book.active.append(row)
    for cells in merged:
        book.active.merge_cells(cells)
    book.save(tmp_path / "t.xlsx")
    if asked:
        with pytest.raises(UnreadableError, match=asked):
            opened(tmp_path / "t.xlsx")
    else:
        assert len(opened(tmp_path / "t.xlsx")[1]) == 6
