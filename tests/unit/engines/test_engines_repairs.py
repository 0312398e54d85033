"""Files that people send: what the reader mends, what it says of that, and what it asks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import shoal
from shoal.cli import main
from shoal.engines.files.csv import encodings, sniff
from shoal.engines.files.csv import read as csv_read
from shoal.errors import PolicyError, ShoalError, UnreadableError
from shoal.release.policy.policy import Policy

HEAD = "name,town,age,sex,ward,income"
BODY = ["Anna,Utrecht,34,f,A,21000", "Piet,Delft,51,m,B,32500", "Eva,Leiden,29,f,A,40125", "Jan,Gouda,62,m,C,32750"]


def read(path: Path, **options: Any) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    with shoal.open(path, **options) as table:
        return [row for batch in table.scan() for row in batch.to_pylist()], table.source


def csv(tmp_path: Path, *lines: str, encoding: str = "utf-8", end: str = "\n") -> Path:
    file = tmp_path / "t.csv"
    file.write_bytes((end.join(lines) + end).encode(encoding))
    return file


LONG = [f"P{i},Utrecht,{20 + i % 60},{'fm'[i % 2]},A,{20000 + i}" for i in range(400)]
"""More than the sample of the reader, which is made short here."""


@pytest.fixture(autouse=True)
def _short_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (csv_read, sniff, encodings):
        monkeypatch.setattr(module, "SAMPLE_BYTES", 2048)


@pytest.mark.parametrize("body", [BODY, LONG], ids=["short", "long"])
@pytest.mark.parametrize(
    ("last", "sort"),
    [
        ("Total,,,,,126375", "totals"),
        ("Total:,,44,,,126375", "totals"),
        (",,,,Grand total,126375", "totals"),
        ("Итого,,,,,126375", "totals"),
        ("合計,,,,,126375", "totals"),
        ("Average,,44,,,31593.75", "totals"),
        ("Source: Ministry of Health,,,,,", "notes"),
        ("Source: Ministry of Health", "notes"),
        ("* estimated by the ward, see the manual", "notes"),
        ("\nPrepared by the statistics office", "notes"),
    ],
)
def test_rows_below_the_records_are_set_aside_and_counted(tmp_path: Path, body: list[str], last: str, sort: str) -> None:
    rows, source = read(csv(tmp_path, HEAD, *body, last))
    assert len(rows) == len(body)
    assert isinstance(rows[0]["age"], int)
    assert isinstance(rows[0]["income"], int)
    assert source["set_aside"] == {sort: 1}
    kept = read(csv(tmp_path, HEAD, *body, last), totals="keep", notes="keep") if sort == "totals" else None
    assert kept is None or len(kept[0]) == len(body) + 1


@pytest.mark.parametrize("body", [BODY, LONG], ids=["short", "long"])
@pytest.mark.parametrize("units", ["-,-,years,-,-,EUR", ",,[y],,,(EUR)", "text,text,years,m/f,code,€"])
def test_a_row_of_units_is_set_aside(tmp_path: Path, body: list[str], units: str) -> None:
    rows, source = read(csv(tmp_path, HEAD, units.replace("m/f", "text"), *body))
    assert rows[0]["age"] == int(body[0].split(",")[2])
    assert len(rows) == len(body)
    assert source["set_aside"] == {"units": 1}


@pytest.mark.parametrize("units", ["-,years,-,EUR", "-,cm,-,cm"])
def test_units_are_not_labels_even_if_two_columns_have_the_same(tmp_path: Path, units: str) -> None:
    rows, source = read(csv(tmp_path, "name,age,town,cost", units, "Anna,34,Delft,120", "Piet,51,Gouda,80"))
    assert (len(rows), source["set_aside"]) == (2, {"units": 1})


def test_totals_units_and_notes_at_once(tmp_path: Path) -> None:
    lines = ["Patients of ward A", "", HEAD, "-,-,years,-,-,EUR", *BODY, "Total,,,,,126375", "", "Source: the hospital"]
    rows, source = read(csv(tmp_path, *lines))
    assert [r["name"] for r in rows] == ["Anna", "Piet", "Eva", "Jan"]
    assert source["set_aside"] == {"notes": 2, "units": 1, "totals": 1}
    assert len(source["repairs"]) == 4


@pytest.mark.parametrize(
    ("line", "option"),
    [
        ("Total,Utrecht,40,m,C,1250", "totals"),
        ("see the ward list,,,,,", "notes"),
    ],
)
def test_a_row_that_may_be_a_record_is_asked_about(tmp_path: Path, line: str, option: str) -> None:
    file = csv(tmp_path, HEAD, *BODY, line)
    with pytest.raises(UnreadableError, match=f"{option}=keep") as caught:
        read(file)
    assert "Utrecht" not in str(caught.value)
    assert len(read(file, **{option: "keep"})[0]) == 5
    rows, source = read(file, **{option: "set-aside"})
    assert (len(rows), source["set_aside"]) == (4, {option: 1})


def test_words_above_numbers_are_asked_about(tmp_path: Path) -> None:
    file = csv(tmp_path, HEAD, "who,where,how old,which,unit,how much", *BODY)
    with pytest.raises(UnreadableError, match="units=set-aside"):
        read(file)
    assert len(read(file, units="keep")[0]) == 5
    assert read(file, units="set-aside")[0][0]["age"] == 34


@pytest.mark.parametrize(
    "line",
    [
        "Totalenfels,Delft,40,m,C,1250",
        "Tom,Total,40,m,C,",
        "Eve,,,,,",
        "Mean,Delft,40,m,C,",
    ],
)
def test_people_stay_records(tmp_path: Path, line: str) -> None:
    file = csv(tmp_path, HEAD, *BODY, line, *BODY)
    rows, source = read(file)
    assert len(rows) == 9
    assert "set_aside" not in source


def test_a_category_that_is_called_total_stays(tmp_path: Path) -> None:
    lines = ["scope,n", "total,3", "partial,4", "total,5", "partial,1", "total,2"]
    assert len(read(csv(tmp_path, *lines))[0]) == 5


def test_a_record_that_was_cut_off_is_not_a_note(tmp_path: Path) -> None:
    file = csv(tmp_path, HEAD, *BODY, "Anna Maria de Vries")
    with pytest.raises(UnreadableError, match="bad_lines=set-aside"):
        read(file)


@pytest.mark.parametrize("body", [BODY, LONG], ids=["short", "long"])
@pytest.mark.parametrize(
    ("above", "options"),
    [
        (["Report of the ward", "", "second quarter"], {}),
        (["Report of the ward,,,,,", ",,,,,", "second quarter,,,,,"], {}),
        (["Hospital:,St Mary", "Printed:,2024-05-01"], {}),
        (["# made by a program", "# version 3"], {}),
        (["a,b,c,d,e,f", "x,y,z,u,v,w", "1,2,3,4,5,6"], {"skip": 3}),
        (["a,b,c,d,e,f", "x,y,z,u,v,w", "1,2,3,4,5,6"], {"header": 4}),
        (["sep=,"], {}),
    ],
)
def test_lines_above_the_names(tmp_path: Path, body: list[str], above: list[str], options: dict[str, Any]) -> None:
    rows, source = read(csv(tmp_path, *above, HEAD, *body), **options)
    assert list(rows[0]) == HEAD.split(",")
    assert len(rows) == len(body)
    assert rows[0]["age"] == int(body[0].split(",")[2])
    assert source.get("repairs") or above == ["sep=,"]


def test_no_names_below_skipped_lines(tmp_path: Path) -> None:
    rows, _ = read(csv(tmp_path, "a note", "another", *BODY), skip=2, header=False)
    assert (len(rows), rows[0]["column3"]) == (4, 34)


def test_comments_between_records(tmp_path: Path) -> None:
    file = csv(tmp_path, HEAD, BODY[0], "# checked", *BODY[1:])
    rows, source = read(file)
    assert (len(rows), source["set_aside"]) == (4, {"comments": 1})
    file = csv(tmp_path, HEAD, *BODY, "% checked")
    assert read(file, comment="%")[1]["set_aside"] == {"comments": 1}


def test_a_comment_that_may_be_a_record_is_asked_about(tmp_path: Path) -> None:
    file = csv(tmp_path, HEAD, BODY[0], "# checked", "#Kim,Delft,40,m,C,1250", *BODY[1:])
    with pytest.raises(UnreadableError, match="comment=#"):
        read(file)
    assert len(read(file, comment="#")[0]) == 4
    lines = ["#id,age", "#1,30", "#2,40"]
    assert len(read(csv(tmp_path, *lines))[0]) == 2  # no line is shorter: the sign is part of the ids


@pytest.mark.parametrize("body", [BODY, LONG], ids=["short", "long"])
@pytest.mark.parametrize("bad", ["Kim,Delft,40", "Kim,Delft,40,m,C,1250,7,8"])
def test_one_bad_line_is_set_aside_on_demand(tmp_path: Path, body: list[str], bad: str) -> None:
    file = csv(tmp_path, HEAD, *body[:3], bad, *body[3:])
    with pytest.raises(UnreadableError, match="line 5") as caught:
        read(file)
    assert "--read bad_lines=set-aside" in str(caught.value)
    rows, source = read(file, bad_lines="set-aside")
    assert (len(rows), source["set_aside"]) == (len(body), {"bad lines": 1})


@pytest.mark.parametrize("body", [BODY, LONG], ids=["short", "long"])
def test_quoted_empty_fields_are_missing_where_every_field_is_quoted(tmp_path: Path, body: list[str]) -> None:
    lines = [HEAD + ",left", *(f"{line},2024-05-{i % 28 + 1:02d}" if i % 2 else line + "," for i, line in enumerate(body))]
    quoted = [",".join(f'"{cell}"' for cell in line.split(",")) for line in lines]
    file = csv(tmp_path, *quoted)
    rows, source = read(file)
    assert [rows[0]["left"], str(rows[1]["left"])] == [None, "2024-05-02"]
    assert source["quoted_empty"] == "missing"
    assert read(file, quoted_empty="text")[0][0]["left"] == ""


def test_a_quoted_empty_text_beside_a_missing_one_stays_a_text(tmp_path: Path) -> None:
    rows, _ = read(csv(tmp_path, "name,born,note", 'Anna,2001-02-03,""', 'Piet,"",', "Eva,2003-01-01,x"))
    assert [r["note"] for r in rows] == ["", None, "x"]
    assert rows[1]["born"] is None
    assert str(rows[0]["born"]) == "2001-02-03"


def test_doubled_names_are_numbered_and_reported(tmp_path: Path) -> None:
    rows, source = read(csv(tmp_path, "age,sex,age,age_2", "1,f,2,3", "4,m,5,6"))
    assert list(rows[0]) == ["age", "sex", "age_3", "age_2"]
    assert source["renamed"] == {"age_3": "age"}
    with pytest.raises(ShoalError, match="have the same name"):
        read(csv(tmp_path, "age,age", "1,f"), rename_duplicates=False)


def test_blanks_around_names_are_not_part_of_them(tmp_path: Path) -> None:
    rows, _ = read(csv(tmp_path, "name , age, sex", "Anna , 34, f", "Piet , 51, m"))
    assert rows[0] == {"name": "Anna", "age": 34, "sex": "f"}


@pytest.mark.parametrize("word", ["totals=maybe", "bad_lines=yes", "skip=-1", "header=0", "skip=x", "header=maybe"])
def test_what_the_options_do_not_have(tmp_path: Path, word: str) -> None:
    from shoal.cli._shell.options import read_table
    from shoal.errors import UsageError

    with pytest.raises(UsageError):
        read(csv(tmp_path, HEAD, *BODY), **read_table([word]))


def test_the_certificate_counts_what_was_set_aside(tmp_path: Path) -> None:
    rows = [f"{20 + i % 2},{'fm'[i % 2]},{'xyz'[i % 3]}" for i in range(12)]
    file = csv(tmp_path, "age,sex,diagnosis", *rows, "Total,,126")
    release = shoal.anonymize(file, quasi=["age", "sex"], sensitive=["diagnosis"], k=2)
    assert release.to_arrow().num_rows == 12
    assert "Not read as records: 1 row of totals." in release.certificate.limits


def _messy(tmp_path: Path, name: str, people: int, total: bool = True) -> Path:
    lines = ["Пациенты отделения", "", "имя;возраст;пол;город;диагноз"]
    lines += [f"П{i};{30 + i % 2};{'жм'[i % 2]};Тверь;{'абв'[i % 3]}" for i in range(people)]
    lines += ["Итого;;;;" + str(people)] if total else []
    file = tmp_path / name
    file.write_bytes(("\n".join(lines) + "\n").encode("cp1251"))
    return file


def run(words: list[str]) -> None:
    try:
        main(words)
    except SystemExit as stop:
        if stop.code:
            raise


def test_the_reading_plan_of_a_draft_reads_the_file_of_tomorrow(tmp_path: Path) -> None:
    file = _messy(tmp_path, "today.csv", 24)
    run(["anonymize", str(file), "--draft", str(tmp_path / "p.yml"), "--json"])
    policy = Policy.load(tmp_path / "p.yml")
    assert policy.read == {"delimiter": ";", "encoding": "cp1251", "notes": "set-aside", "totals": "set-aside"}
    with shoal.open(_messy(tmp_path, "tomorrow.csv", 30, total=False), **policy.read) as table:
        assert table.n_rows() == 30
    with pytest.raises(PolicyError, match="delimiter=;"):
        shoal.check(shoal.open(csv(tmp_path, HEAD, *BODY)), policy)
    release = shoal.anonymize(
        _messy(tmp_path, "third.csv", 36),
        {"roles": {"quasi": ["пол"], "sensitive": ["диагноз"], "rest": "drop"}, "require": {"k": 3}, "read": dict(policy.read)},
    )
    assert release.to_arrow().num_rows == 36


def test_a_file_that_differs_from_the_reading_plan_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    people = [f"{20 + i % 2},{'fm'[i % 2]},{1000 + i % 3}" for i in range(60)]
    today, plan = csv(tmp_path, "age,sex,pay", "years,-,EUR", *people, "Total,,60060"), str(tmp_path / "p.yml")
    run(["anonymize", str(today), "--draft", plan, "--json"])
    told = []
    (tmp_path / "later.csv").write_text("\n".join(["age,sex,pay", *people]).replace(",", ";"), encoding="utf-8")
    for file in (today, tmp_path / "later.csv"):
        capsys.readouterr()
        with pytest.raises(SystemExit):  # 1: the draft leaves columns out
            main(["check", str(file), "--policy", plan])
        told.append(capsys.readouterr().err)
    assert "expects some" not in told[0]
    assert "reading plan" not in told[0]
    for words in ("No row of units found", "No row of totals found", "Not in the policy's reading plan: delimiter=;."):
        assert words in told[1]


def test_inspect_reports_the_plan_before_the_first_number(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = _messy(tmp_path, "today.csv", 24)
    run(["inspect", str(file)])
    out = capsys.readouterr().out
    assert out.index("1 row of totals (totals=set-aside)") < out.index("24 records (2 lines set aside)")
    run(["inspect", str(file), "--json"])
    assert json.loads(capsys.readouterr().out)["read"]["plan"]["encoding"] == "cp1251"


@pytest.mark.parametrize(
    ("texts", "numbers"),
    [
        (["1\u2009250", "980", "12\u2009000"], [1250, 980, 12000]),
        (["1\u202f250,50", "980,25"], [1250.5, 980.25]),
        (["(12.50)", "3.10", "0.00"], [-12.5, 3.1, 0]),
        (["12.50-", "3.10", "0.00"], [-12.5, 3.1, 0]),
        (["−1’250", "3", "980"], [-1250, 3, 980]),
        (["1’250", "98"], [1250, 98]),
        (["1'250'000", "98"], [1250000, 98]),
        (["(1)", "(2)"], ["(1)", "(2)"]),
        (["06 12", "07 13"], ["06 12", "07 13"]),
        (["1\u20092500", "98"], ["1\u20092500", "98"]),
        (["012\u2009345", "98"], ["012\u2009345", "98"]),
    ],
)
def test_marks_between_thousands_and_brackets(tmp_path: Path, texts: list[str], numbers: list[Any]) -> None:
    rows, _ = read(csv(tmp_path, "who;amount", *(f"x{i};{t}" for i, t in enumerate(texts))))
    assert [r["amount"] if isinstance(r["amount"], str) else float(r["amount"]) for r in rows] == numbers


def test_blanks_around_delimiters_and_brackets(tmp_path: Path) -> None:
    rows, _ = read(csv(tmp_path, "who , pay , big ", *(f"x{i} , {p} , {b} " for i, (p, b) in enumerate(BRACKETS))))
    assert [float(r["pay"]) for r in rows] == [-12.5, 3.1, 7.25]
    assert [int(r["big"]) for r in rows] == [1250, 980, 12000]


BRACKETS = [("(12.50)", "1\u2009250"), ("3.10", "980"), ("7.25", "12\u2009000")]


def test_a_comment_does_not_change_the_plan_of_other_repairs(tmp_path: Path) -> None:
    _, source = read(csv(tmp_path, "# made by x", HEAD, *BODY, "", "Source: the ward"))
    assert source["plan"] == {"notes": "set-aside", "comment": "#"}


def test_a_late_number_with_other_marks_is_reported(tmp_path: Path) -> None:
    file = csv(tmp_path, "who;amount", *(f"x{i};1\u2009{i % 900 + 100}" for i in range(20_001)), "y;1\u200912")
    with shoal.open(file) as table, pytest.raises(UnreadableError, match="1 record"):
        table.values("amount")


def test_numbers_beside_na_are_not_told_to_have_signs() -> None:
    ages = [str(20 + i % 50) if i % 4 else "NA" for i in range(120)]
    notes = " ".join(shoal.inspect({"age": ages, "sex": ["f", "m"] * 60}).notes)
    assert "a sign, a unit" not in notes
    assert "may mean 'no value' are texts here ('age')" in notes


@pytest.mark.parametrize("word", ["―", "不明", "нет данных", "미상"])
def test_words_of_other_languages_for_no_value(word: str) -> None:
    towns = ["Osaka", "Tokyo", "Kyoto", word]
    found = shoal.inspect({"town": towns * 30, "sex": ["f", "m"] * 60})
    assert found.columns[0].missing_values == (word,)


@pytest.mark.parametrize("word", ["NA", "unknown", "?", "―", "secret"])
def test_a_first_record_whose_number_is_missing_is_not_a_heading(tmp_path: Path, word: str) -> None:
    rows, _ = read(csv(tmp_path, "name,income", f"Anna,{word}", "Piet,3", "Eva,4", "Jan,5"))
    assert len(rows) == 4


def test_a_file_with_a_title_may_lack_the_end_of_its_last_line(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_bytes("\r\n".join(["Members of 2024,,,,,", HEAD, *BODY]).encode())
    rows, source = read(file)
    assert [r["name"] for r in rows] == ["Anna", "Piet", "Eva", "Jan"]
    assert source["repairs"]


def test_titles_of_parts_under_the_same_names_are_not_people(tmp_path: Path) -> None:
    parts = ["First term,,,,,", HEAD, *BODY, "Second term,,,,,", HEAD, *BODY[:3], "Mia,,,,,", BODY[3]]
    rows, _ = read(csv(tmp_path, *parts))
    assert [r["name"] for r in rows] == ["Anna", "Piet", "Eva", "Jan", "Anna", "Piet", "Eva", "Mia", "Jan"]


def test_a_title_below_the_line_that_names_the_delimiter(tmp_path: Path) -> None:
    lines = [line.replace(",", ";") for line in (HEAD, *BODY)]
    rows, _ = read(csv(tmp_path, "sep=;", "Members", *lines))
    assert [r["age"] for r in rows] == [34, 51, 29, 62]


def test_a_delimiter_behind_the_names_only_is_left_out(tmp_path: Path) -> None:
    rows, source = read(csv(tmp_path, HEAD + ",", *BODY))
    assert (len(rows), list(rows[0])) == (4, HEAD.split(","))
    assert sniff.BEHIND_NAMES in source["repairs"]


def test_a_blank_name_above_records_that_have_the_field_is_a_column(tmp_path: Path) -> None:
    rows, source = read(csv(tmp_path, HEAD + ",", *(f"{line},x" for line in BODY)))
    assert list(rows[0])[-1] == "column7"
    assert sniff.BEHIND_NAMES not in source.get("repairs", [])


@pytest.mark.parametrize("body", [BODY, LONG], ids=["short", "long"])
def test_fields_written_as_formulas_are_read_as_what_they_show(tmp_path: Path, body: list[str]) -> None:
    wrapped = [",".join(f'="{cell}"' for cell in line.split(",")) for line in body]
    rows, source = read(csv(tmp_path, HEAD, *wrapped))
    assert [row["age"] for row in rows[:2]] == [int(line.split(",")[2]) for line in body[:2]]
    assert (len(rows), sniff.FORMULAS in source["repairs"]) == (len(body), True)


def test_a_formula_that_shows_a_delimiter_stays_one_field(tmp_path: Path) -> None:
    rows, _ = read(csv(tmp_path, "name,age", '="Vries, Anna",34', '="007",51', "=A1,29"))
    assert [row["name"] for row in rows] == ["Vries, Anna", "007", "=A1"]


def test_labels_below_the_names_may_be_the_same_twice(tmp_path: Path) -> None:
    with shoal.open(csv(tmp_path, "Q1a,Q1b,Q2", "other,other,How old are you?", *(f"{i % 3},1,{20 + i}" for i in range(9)))) as t:
        assert [c.note for c in t.schema.columns] == ["other", "other", "How old are you?"]
        assert t.schema["Q2"].kind == "integer"


@pytest.mark.parametrize("empty", ["", ",,,,,"], ids=["blank line", "row of empty cells"])
def test_a_second_table_below_the_first_is_asked_about(tmp_path: Path, empty: str) -> None:
    path = csv(tmp_path, HEAD, *BODY, empty, "ward,head,beds,open,site,cost", "A,Eva,12,y,N,900", "B,Jan,8,n,S,750")
    with pytest.raises(UnreadableError, match="several tables"):
        read(path)
    assert len(read(path, tables="keep")[0]) >= len(BODY) + 3


@pytest.mark.parametrize(
    "below",
    [
        ["Ann,Breda,33,f,A,100", "Bob,Breda,34,m,B,200"],  # a group of records
        ["Ann,Breda,unknown,f,A,-", "Bob,Breda,34,m,B,200", "Cas,Breda,36,m,B,250"],  # missing numbers
        [HEAD, "Bob,Breda,34,m,B,200", "Cas,Breda,36,m,B,250"],  # the same names again
    ],
)
def test_records_below_a_blank_line_are_not_another_table(tmp_path: Path, below: list[str]) -> None:
    rows, _ = read(csv(tmp_path, HEAD, *BODY, "", *below))
    assert len(rows) >= len(BODY) + 2


@pytest.mark.parametrize(
    ("lines", "left"),
    [
        (["ward,beds,staff", "Total,60,90", "A,10,20", "B,20,30", "C,30,40"], 3),
        (["ward,beds,staff", "A,10,20", "Subtotal,10,20", "B,20,30", "C,30,40"], 3),
        (["place,party,votes", *(f"{i // 2},{'xy'[i % 2]},{i}" for i in range(60)), "Total,x,870", "Total,y,900", "31,x,4"], 61),
    ],
)
def test_totals_that_are_filled_like_records_are_asked_about_anywhere(tmp_path: Path, lines: list[str], left: int) -> None:
    lines = [lines[0], *(line if line[0].isalpha() else f"p{line}" for line in lines[1:])]
    file = csv(tmp_path, *lines)
    with pytest.raises(UnreadableError, match="labelled as a total"):
        read(file)
    assert len(read(file, totals="keep")[0]) == len(lines) - 1
    rows, source = read(file, totals="set-aside")
    assert (len(rows), source["set_aside"]) == (left, {"totals": len(lines) - 1 - left})


def test_a_code_of_a_state_is_not_a_label_of_totals(tmp_path: Path) -> None:
    assert len(read(csv(tmp_path, "state,people", "MS,3", "SD,2", "TX,9"))[0]) == 3


@pytest.mark.parametrize("line", [",,spans,,,", "-,-,spans,-,-,gulden", ",,,,,gulden"])
def test_units_that_no_list_knows_are_asked_about(tmp_path: Path, line: str) -> None:
    with pytest.raises(UnreadableError, match="units=set-aside"):
        read(csv(tmp_path, HEAD, line, *BODY))


def test_names_below_numbers_from_zero_are_the_names(tmp_path: Path) -> None:
    rows, _ = read(csv(tmp_path, ",".join(map(str, range(HEAD.count(",") + 1))), HEAD, *BODY))
    assert (len(rows), "age" in rows[0]) == (4, True)
    assert len(read(csv(tmp_path, "a,b,c", "0,1,2", "x,1,2", "y,3,4"))[0]) == 3, "a record"


def test_a_table_of_which_most_columns_have_no_name_is_asked_about(tmp_path: Path) -> None:
    with pytest.raises(UnreadableError, match="do not stand in one row"):
        read(csv(tmp_path, "ward,,", "A,,", ",B,", ",,C", ",,D"))
    assert len(read(csv(tmp_path, ",age,sex", "1,3,f", "2,4,m"))[0]) == 2


def test_a_first_record_without_values_is_no_heading_if_its_name_recurs(tmp_path: Path) -> None:
    assert len(read(csv(tmp_path, HEAD, "Anna,,,,,", *BODY))[0]) == 5
    with pytest.raises(UnreadableError, match="groups=set-aside"):
        read(csv(tmp_path, HEAD, "Mia,,,,,", *BODY))


@pytest.mark.parametrize("second", ["class,sex,,,,", "class,sex,,,grade,"])
def test_names_that_go_on_in_the_next_row_are_asked_about(tmp_path: Path, second: str) -> None:
    rows = ["1st,m,3,5,118,57", "2nd,f,1,4,140,2", "3rd,m,2,9,12,8"]
    with pytest.raises(UnreadableError, match="do not stand in one row"):
        read(csv(tmp_path, ",,child,young,adult,old", second, *rows))
    assert len(read(csv(tmp_path, ",,child,young,adult,old", *rows))[0]) == 3


def test_years_above_columns_that_begin_empty_are_names(tmp_path: Path) -> None:
    file = csv(tmp_path, "country,code,1960,1961,2001", "A,x,,,12", "B,y,,,14", "C,z,,3,19")
    assert list(read(file)[0][0]) == ["country", "code", "1960", "1961", "2001"]


@pytest.mark.parametrize(("tags", "left"), [("#adm1,#adm2 +code,#affected+f", 3), ("#adm1,,", 4), ("#1,#2,#3", 4)])
def test_a_row_of_tags_below_the_names_is_no_record(tmp_path: Path, tags: str, left: int) -> None:
    rows, source = read(csv(tmp_path, "region,place,people", tags, "A,x,5", "B,y,6", "C,z,7"), units=None, groups="keep")
    assert len(rows) == left
    assert source.get("set_aside", {}) == ({"units": 1} if left == 3 else {})
