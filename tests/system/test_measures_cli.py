"""The commands ``measure`` and ``inspect``: one JSON object on stdout, words on stderr, exit codes, nothing guessed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shoal.cli import main

ROWS = "name,age,sex,town,ill\n" + "".join(
    f"canary{i},{20 + i % 4},{'fm'[i % 2]},{'canaryville' if i < 3 else 'b'},{'canaryflu' if i % 3 else 'hiv'}\n"
    for i in range(24)
)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    file = tmp_path / "people.csv"
    file.write_text(ROWS, encoding="utf-8")
    return file


def run(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        main([str(w) for w in words])
    out = capsys.readouterr()
    return int(stop.value.code or 0), out.out, out.err


def test_measure_json_is_one_object(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(
        capsys, "measure", table, "--qi", "age,sex", "--sensitive", "ill", "--population", "1k", "--suda", "--json"
    )
    found = json.loads(out)
    assert code == 0
    assert (found["records"], found["classes"], found["k"], found["unique"]) == (24, 4, 6, 0)
    assert found["population"] == 1000
    assert found["suda"]["msus"] == 0
    assert "canary" not in out


def test_without_quasi_identifiers_nothing_is_guessed(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (("--json",), ()):
        code, out, err = run(capsys, "measure", table, *words)
        assert code == 2
        assert "none is guessed" in err
        if words:
            assert json.loads(out)["error"]["exit_code"] == 2
        else:
            assert out == ""


def test_measure_for_people_to_read(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--qi", "age,sex", "--sensitive", "ill", "--by", "town", "--explain")
    code, out, _ = run(capsys, "measure", table, *words)
    assert code == 0
    for part in ("None of 24 records is one of a kind on age + sex", "Group sizes", "Columns that together identify", "Formula:"):
        assert part in out
    assert "canary" not in out


def test_requirement_decides_the_exit_code(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "measure", table, "--qi", "age,sex", "--require", "k>=6")[0] == 0
    code, out, _ = run(capsys, "measure", table, "--qi", "age,sex", "--require", "k>=7", "--json")
    assert code == 1
    sentence = "every class has at least 7 members"
    found = {"requirement": "k", "sentence": sentence, "asked": 7, "found": 6, "met": False}
    assert json.loads(out)["requirement"] == found
    for nonsense in ("k>=-5", "k>=0"):
        assert run(capsys, "measure", table, "--qi", "age,sex", "--require", nonsense)[0] == 2
    assert run(capsys, "measure", table, "--qi", "age,sex", "--require", "kk>=7")[0] == 2


def test_report_is_written(table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "r.html"
    code, _, err = run(capsys, "measure", table, "--qi", "age,sex", "--sensitive", "ill", "--report", file)
    assert code == 0
    assert "Report written" in err
    assert "canary" not in file.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--qi", "agee"), 2, "Did you mean 'age'"),
        (("--qi", "age,age"), 2, "named twice"),
        (("--qi", "age", "--sensitive", "age"), 2, "both quasi-identifier and sensitive"),
        (("--qi", "age", "--missing", "never"), 2, "Rules: own, wildcard, drop"),
        (("--qi", "age", "--population", "5"), 2, "smaller than the table"),
        (("--qi", "age", "--hierarchy", "ill"), 2, "COLUMN=FILE"),
        (("--qi", "age", "--unit", "age"), 2, "names people"),
    ],
)
def test_mistakes_are_told(table: Path, words: tuple[str, ...], code: int, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    found, out, err = run(capsys, "measure", table, *words)
    assert (found, out) == (code, "")
    assert said in err
    assert "canary" not in err


def test_empty_and_missing_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    empty = tmp_path / "empty.csv"
    empty.write_text("age,sex\n", encoding="utf-8")
    code, out, err = run(capsys, "measure", empty, "--qi", "age", "--json")
    assert code == 3
    assert json.loads(out)["error"]["type"] == "EmptyTableError"
    assert "no rows" in err
    assert run(capsys, "measure", tmp_path / "none.csv", "--qi", "age")[0] in (2, 3)


def test_inspect(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "inspect", table, "--json")
    found = json.loads(out)
    assert code == 0
    assert found["suggested"]["direct"] == ["name"]
    assert found["suggested"]["quasi"] == ["age", "sex", "town"]  # what others may know; illness is not
    assert found["columns"][4]["role"] == "sensitive"  # 'ill' names an illness
    assert all(c["reason"] and 0 < c["confidence"] <= 1 for c in found["columns"])
    code, shown, _ = run(capsys, "inspect", table)
    assert code == 0
    assert "Next: shoal measure" in shown
    assert "canary" not in out + shown


def test_columns_named_like_terminal_codes_are_inert(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "evil.csv"
    file.write_text('"a[red]","b\x1b[2Jx"\n1,2\n1,2\n', encoding="utf-8")
    code, out, _ = run(capsys, "inspect", file)
    assert code == 0
    assert "\x1b" not in out
    assert "a[red]" in out


def test_how_a_text_file_is_read_is_shown_and_can_be_overruled(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "semi.csv"
    file.write_bytes("leeftijd;loon\n30;1,5\n41;2,5\n30;NA\n".encode("latin-1"))
    code, out, _ = run(capsys, "inspect", file)
    assert code == 0
    assert "Read as CSV: delimiter ';'" in out
    code, out, _ = run(capsys, "inspect", file, "--json", "--read", "null=NA", "--read", "encoding=cp1252")
    found = json.loads(out)
    assert (found["read"]["encoding"], found["read"]["decimal"]) == ("cp1252", ",")
    assert [(c["kind"], c["missing"]) for c in found["columns"]] == [("integer", 0), ("decimal", 1)]
    code, _, err = run(capsys, "measure", file, "--qi", "leeftijd", "--read", "types=leeftijd:text")
    assert code == 0
    assert "Read as CSV" in err
    for wrong in ("delimiter", "header=maybe", "types=x", "colour=red"):
        assert run(capsys, "measure", file, "--qi", "leeftijd", "--read", wrong)[0] == 2


def test_a_broken_line_of_json_is_named_by_number(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "x.jsonl"
    file.write_text('{"a": "canary1"}\n{"a": "canary2"\n{"a": "canary3"}\n')
    code, out, err = run(capsys, "measure", file, "--qi", "a")
    assert code == 3
    assert "line 2" in err
    assert "canary" not in out + err


def test_an_inspection_fits_eighty_columns_and_says_what_matters_first(tmp_path):
    """A wide table with long names and texts: no line of a table is longer, whatever the names are."""
    import os
    import re
    import subprocess
    import sys

    file = tmp_path / "wide.csv"
    long = "a_rather_long_name_of_a_column_that_nobody_would_type_twice"
    names = ["patient_nbr", "sex", "age", long, *(f"q{i}" for i in range(70))]
    codes = [[str(i // 7 % 4)] * 70 for i in range(80)]  # none follows from the age
    rows = [",".join([str(1000 + i // 2), "fm"[i % 2], str(20 + i % 60), "x", *codes[i]]) for i in range(80)]
    file.write_text("\n".join([",".join(names), *rows]) + "\n")
    words = [sys.executable, "-m", "shoal.cli", "inspect", str(file)]
    env = {**os.environ, "COLUMNS": "80", "NO_COLOR": "1", "FORCE_COLOR": "1"}
    out = subprocess.run(words, capture_output=True, text=True, check=True, env=env).stdout
    assert not re.search(r"\x1b\[[0-9;]*3[0-9]", out), "no colour, as was asked"
    lines = re.sub(r"\x1b\[[0-9;]*m", "", out).splitlines()
    assert lines[1].startswith("wide: 80 records, 74 columns: ")
    assert "one of a kind" in lines[1]
    tables = [line for line in lines[2:] if not line.startswith(("•", "Next:"))]
    assert max(map(len, tables)) <= 80
    assert "  … and 10 more; --json lists all." in lines
    assert lines[-1].startswith("Next: shoal measure ")


def test_the_group_sizes_are_drawn(table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "measure", table, "--qi", "age,sex", "--plot", tmp_path / "sizes.svg")
    drawn = (tmp_path / "sizes.svg").read_text(encoding="utf-8")
    assert code == 0
    assert "Plot written to" in err
    assert "24" in drawn
    assert "canary" not in drawn


def test_inspect_counts_people_where_it_finds_that_they_have_several_rows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rows that are one of a kind are not people: the 30 patients here have four such rows each."""
    file = tmp_path / "visits.csv"
    rows = [f"P{1000 + i // 4},{20 + i},{'fm'[i % 2]}\n" for i in range(120)]
    file.write_text("patient_id,age,sex\n" + "".join(rows), encoding="utf-8")
    _, out, _ = run(capsys, "inspect", file, "--json")
    found = json.loads(out)
    assert found["unique"] == 30
    _, out, _ = run(capsys, "inspect", file)
    assert "30 people of 'patient_id' are one of a kind" in out
