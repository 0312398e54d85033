"""Every command ends with one next step, beside the result; small numbers are written out."""

from __future__ import annotations

import shlex
from pathlib import Path

import duckdb
import pytest

from shoal.cli import main
from shoal.cli._predictions import short
from shoal.cli._shared import named, table_beside

ROWS = "age,sex,town\n" + "\n".join(f"{20 + i % 5},{'fm'[i % 2]},{'ab'[i % 2]}" for i in range(60)) + "\n"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    (tmp_path / "people.csv").write_text(ROWS)
    (tmp_path / "plan.yml").write_text("steps:\n- {column: age, round: {base: 10}}\n")
    return tmp_path / "people.csv"


@pytest.mark.parametrize(
    "words",
    [
        "hierarchy {t} --column age",
        "hierarchy {t} --column age --out {d}/levels.csv",
        "table {t} --rows town --columns sex",
        "transform {t} --plan {d}/plan.yml --out {d}/out.csv",
        "predict zipf --people 100 --exponent 1 --places 50",
        "measure {t} --quasi age,sex",
        "inspect {t}",
    ],
)
def test_one_next_step(table: Path, capsys: pytest.CaptureFixture[str], words: str) -> None:
    given = [w.format(t=table, d=table.parent) for w in words.split()]
    with pytest.raises(SystemExit) as ended:
        main(given)
    told = capsys.readouterr()
    assert ended.value.code == 0
    assert (told.out + told.err).count("Next: ") == 1


def test_quiet_leaves_it_out(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["-q", "hierarchy", str(table), "--column", "age"])
    told = capsys.readouterr()
    assert (told.out, told.err) == ("", "")


def test_a_url_is_not_repeated() -> None:
    assert named("postgresql://ann:secret@host/db::t") == "TABLE"
    assert named("people.csv") == "people.csv"
    assert named("my people.csv") == "'my people.csv'"


def test_small_numbers_have_no_exponent() -> None:
    assert [short(x) for x in (1.02718e-05, 1e-4, 1e-9, 9e-10, -2e-5, 0.0)] == [
        "0.0000102718",
        "0.0001",
        "0.000000001",
        "nearer to 0 than 0.000000001",
        "-0.00002",
        "0",
    ]


@pytest.mark.parametrize("out", ["::safe people", "duckdb://other.db::safe people"])
def test_the_next_step_after_a_new_table_works(
    table: Path, out: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It named '::safe people', which is no table, and with blanks that the shell takes apart."""
    monkeypatch.chdir(table.parent)
    with duckdb.connect("other.db"), duckdb.connect("people.db") as base:
        base.execute("create table people as from 'people.csv'")
    with pytest.raises(SystemExit):
        main(["transform", "duckdb://people.db::people", "--plan", "plan.yml", "--out", out])
    told = capsys.readouterr()
    said = (told.out + told.err).partition("Next: shoal ")[2].partition(" measures it")[0]
    with pytest.raises(SystemExit) as ended:
        main([*shlex.split(said.replace("a,b", "age,sex")), "--json"])
    assert ended.value.code == 0


@pytest.mark.parametrize(
    "url", ["postgresql://ann:a@b@h/db", "postgresql+psycopg://ann:s3cret@h/db", "mysql://h/db?user=ann&password=s3cret"]
)
def test_a_new_table_is_named_without_a_password(url: str) -> None:
    named_so = table_beside(f"{url}::people", "safe")
    assert "a@b" not in named_so
    assert "s3cret" not in named_so
    assert named_so.endswith("::safe")
    assert "ann" in named_so
