"""On a terminal of 80 columns: one next step after every command, nothing wider, no exponent, no word cut."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from shoal.cli import main
from shoal.cli._shared import LONGEST, _least, _parts, console, progress, shown, table_of
from shoal.model.display import LEAST, written

WIDE = "how_often_somebody_in_the_household_used_the_local_swimming_pool_last_year"
TOWNS = ("Llanfairpwllgwyngyllgogerychwyrndrobwllllantysiliogogogoch", "Bath", "York", "Newcastle upon Tyne")
WALK = """
inspect people.csv
measure people.csv --quasi age,sex,town --sensitive income
measure people.csv --quasi age,sex --population 1000000 --sensitive diagnosis
measure people.csv --quasi age --by town
measure visits.csv --unit card --time at --place stop
check people.csv --quasi sex --k 2
check people.csv --quasi age,town --k 50
hierarchy people.csv --column income
hierarchy people.csv --column town
hierarchy people.csv --column age --out levels.csv
anonymize few.csv --draft policy.yml
anonymize people.csv --quasi age,sex --sensitive diagnosis --rest drop --k 5 --out release
verify release
attack release
attack release --with people.csv
attack people.csv --original people.csv --control others.csv
compare people.csv release
transform people.csv --plan plan.yml --out changed.csv
predict uniqueness --uniform 3650 --group-size 500
predict uniqueness --uniform 100000000 --group-size 90000
predict singletons --uniform 190 --group-size 100
predict interval --normal 12 --width 5 --group-size 1000
predict quasi --values 100,2,4000 --people 20000
predict quasi --table people.csv --quasi age,sex
predict population --population 100000000 --table people.csv --quasi age,sex
predict population --population 1000000 --frequencies 1=120,2=25,3=10
predict zipf --exponent 1 --places 2497 --people 42598300 --limit 0.05
design questions.yml --population 17.5M --respondents 500
design --pilot people.csv --quasi age,sex,town --population 17.5M --respondents 1200
study people.csv --sets sets.txt --by sex
study people.csv --quasi age,sex,town --up-to 2
table people.csv --rows town --columns sex
table people.csv --rows age --columns town --method round --out counts.csv
observe dining --players 4 --bias 0.6 --insiders 1
observe threshold-mix --messages 20 --attacker 5
observe pool-mix --messages 10 --pool 5 --rounds 30
observe crowds --members 20 --corrupt 3 --forward 0.75 --paths 2
link people.csv --fields name=given,town=text
"""


pytestmark = pytest.mark.xdist_group("tests/system/test_terminal_words.py")  # later commands read what earlier ones wrote


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("walk")
    for name, start in (("people", 0), ("others", 240)):
        rows = ["name,age,sex,town,income,diagnosis," + WIDE]
        for i in range(start, start + 240):
            cells = (f"{'Anna Ben Carla Dirk'.split()[i % 4]}{'xyz'[i % 3]}", 20 + i % 5, "fm"[i % 2], TOWNS[i % 3])
            rows.append(",".join(map(str, (*cells, 1_234_567 + 1000 * (i % 11), "flu cold ok".split()[i % 3], i % 4))))
        (folder / f"{name}.csv").write_text("\n".join(rows) + "\n")
    (folder / "few.csv").write_text("age,sex\n" + "\n".join(f"{20 + i % 5},{'fm'[i % 2]}" for i in range(60)) + "\n")
    trips = [f"{i % 12},2024-01-{1 + i % 28:02d} 08:{i % 60:02d}:00,{i % 9}" for i in range(300)]
    (folder / "visits.csv").write_text("card,at,stop\n" + "\n".join(trips) + "\n")
    (folder / "plan.yml").write_text("steps:\n- {column: age, round: {base: 10}}\n- {column: town, pram: {keep: 0.9}}\n")
    (folder / "questions.yml").write_text("questions:\n  age: {range: [18, 97], band: 1}\n  sex: {shares: [0.5, 0.5]}\n")
    (folder / "sets.txt").write_text("age,sex\nage,town\n")
    return folder


@pytest.mark.parametrize("words", [pytest.param(w, id=w[:60].replace(" ", "-")) for w in WALK.strip().splitlines()])
def test_a_terminal(place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: str) -> None:
    monkeypatch.chdir(place)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    with pytest.raises(SystemExit) as ended:
        main(words.split())
    told = capsys.readouterr()
    both = told.out + told.err
    assert ended.value.code in (0, 1), both
    assert both.count("Next: ") == 1, both
    assert [line for line in told.out.splitlines() if len(line) > 80 and not line.startswith("Next: ")] == []
    assert re.findall(r"\S*\d[eE][+-]?\d+\b", re.sub(r"\b[0-9a-f]{4}(-[0-9a-f]{4})+\b", "", both)) == []
    assert re.findall(r"0\.0{9,}\d*", both) == []


def test_words_and_numbers_of_a_table_are_not_cut(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("TERM", "dumb")
    heads = ["school", *(f"married-spouse-{i}" for i in range(4))]
    title, rows = "A title longer than its table", [["bachelors", *["30,162"] * 4]]
    console().print(table_of(title, heads, rows, right=range(1, 5)))
    told = capsys.readouterr().out
    assert title in told
    assert max(map(len, told.splitlines())) <= 40
    for whole, times in (("30,162", 4), ("bachelors", 4), ("school", 4), ("married-spouse-3", 1)):
        assert told.count(whole) == times, told


def test_a_table_is_parted_where_it_does_not_fit() -> None:
    # 18 letters and 4 blanks around them
    assert list(_parts([6, 6, 6], 22)) == [(0, 1, 2)]
    assert list(_parts([6, 6, 6], 21)) == [(0, 1), (0, 2)]
    assert list(_parts([6, 6, 6], 5)) == [(0, 1), (0, 2)]
    assert list(_parts([6], 5)) == [(0,)]


def test_a_longest_word_may_be_cut() -> None:
    assert [_least(["a", "x" * n], whole=False) for n in (LONGEST - 1, LONGEST, LONGEST + 1)] == [LONGEST - 1, LONGEST, LONGEST]
    assert _least(["a head", "1,000,000"], whole=True) == 9


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.0, "0"),
        (9.9e-13, "0"),
        (-9.9e-13, "0"),
        (1e-12, LEAST),
        (9.9e-10, LEAST),
        (1e-9, "0.000000001"),
        (999.96, "1,000"),
        (1000.0, "1,000"),
        (1e22, "10,000,000,000,000,000,000,000"),
    ],
)
def test_numbers_are_written_out(number: float, text: str) -> None:
    assert shown(number) == text


@pytest.mark.parametrize("digits", [1, 2, 3, 4, 6])
def test_written_is_the_number_with_its_digits(digits: int) -> None:
    for power in range(-8, 16):
        for lead in (1.0, 1.5, 9.994, 9.996, 3.14159265):
            x = lead * 10.0**power
            text = written(x, digits)
            assert "e" not in text
            assert abs(float(text.replace(",", "")) - x) <= 0.500001 * 10.0 ** (power + 1 - digits) + (
                0.5 if power >= digits else 0
            )


def test_a_bar_shows_names_of_columns_as_they_are(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A name may look like the markup of the terminal's library, or hold the terminal's own commands."""
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    told = []
    for name in ("[/b]ill[red]", "a\x1b]0;title\x07b"):
        with progress("attacking") as tell:
            tell(0.5, f"attacking: homogeneity: {name}: holds")
        told.append(capsys.readouterr().err)
    assert "[/b]ill[red]: holds" in told[0]
    assert "\x1b]0;" not in told[1]
    assert "homogeneity: a" in told[1]
