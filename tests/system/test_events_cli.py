"""Event tables through the verb and the command: numbers, words, exit codes; no value of the data in anything."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import shoal
from shoal.cli import main
from shoal.errors import DataError, RoleError, UsageError

ROWS = [  # person, time, place
    ("canary1", "2024-03-04 08:10:00", "canaryA"),
    ("canary1", "2024-03-04 08:50:00", "canaryB"),
    ("canary2", "2024-03-04 08:20:00", "canaryA"),
    ("canary2", "2024-03-05 08:20:00", "canaryC"),
    ("canary3", "2024-03-11 09:00:00", "canaryA"),
    ("canary3", "2024-03-11 09:00:00", "canaryA"),
]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    file = tmp_path / "events.csv"
    file.write_text("who,at,where\n" + "".join(",".join(r) + "\n" for r in ROWS), encoding="utf-8")
    return file


def run(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        main([str(w) for w in words])
    out = capsys.readouterr()
    return int(stop.value.code or 0), out.out, out.err


def test_numbers_by_hand(table: Path) -> None:
    m = shoal.measure(table, unit="who", place="where")
    assert (m.records, m.people, m.points) == (6, 3, 3)
    assert [k.unique.value for k in m.curve] == [pytest.approx(1 / 3), 1.0]  # nobody has three
    assert (m.curve[1].people, m.curve[1].shorter, m.curve[1].shorter_unique.value) == (2, 1, 0.0)
    assert m.curve[1].everybody.value == pytest.approx(2 / 3)
    assert (m.shared[0].k, m.found.whole.value) == (1, pytest.approx(2 / 3))
    assert any("Nobody has more than 2" in n for n in m.notes)


def test_granularities_are_a_grid_and_the_first_is_the_headline(table: Path) -> None:
    m = shoal.measure(
        table, unit="who", time="at", place="where", time_widths=["hour", "week"], place_levels=["exact", "prefix:6"]
    )
    names = [(g.time, g.place) for g in m.grid]
    assert names == [("hour", "exact"), ("week", "exact"), ("hour", "prefix:6"), ("week", "prefix:6")]
    assert [g.points for g in m.grid] == [4, 4, 3, 2]
    assert m.points == 4
    assert m.grid[0].curve == m.curve


def test_time_only_and_default_widths(table: Path) -> None:
    m = shoal.measure(table, unit="who", time="at")
    assert [g.time for g in m.grid] == ["exact", "hour", "day", "week"]
    assert m.top == ()
    assert all(g.place is None for g in m.grid)


def test_the_rows_of_a_table_that_knows_its_unit(table: Path) -> None:
    knows = shoal.open(table, unit="who")
    m = shoal.measure(knows, place="where")
    assert (m.records, m.people) == (6, 3)
    assert m.top == shoal.measure(table, unit="who", place="where").top


def test_incomplete_records_are_left_out_and_counted(tmp_path: Path) -> None:
    t = {"who": ["a", "a", "b", None, "c"], "where": ["x", None, "y", "x", None]}
    m = shoal.measure(t, unit="who", place="where")
    assert (m.records, m.people) == (5, 2)
    said = " ".join(m.notes)
    assert "2 records without a value in 'where'" in said
    assert "1 records without a person" in said
    assert "1 people have no complete record" in said
    assert "Every person has one record" in said
    with pytest.raises(DataError, match="no record has"):
        shoal.measure({"who": ["a"], "where": [None]}, unit="who", place="where")


def test_times_in_text_are_read_or_refused_by_number() -> None:
    words = {"who": [1, 2, 2], "at": ["2024-03-04T08:10:00+01:00", "2024-03-04 07:10:00.000", "2024-03-05"]}
    m = shoal.measure(words, unit="who", time="at")
    assert m.points == 2
    assert m.curve[0].unique.value == pytest.approx(0.25)
    with pytest.raises(DataError, match=r"1 of its 3 distinct values .1 records. are not times") as error:
        shoal.measure(words | {"at": [*words["at"][:2], "canary"]}, unit="who", time="at")
    assert "canary" not in str(error.value)


def test_the_order_of_rows_and_the_seed(table: Path) -> None:
    turned = {k: [r[i] for r in reversed(ROWS)] for i, k in enumerate(("who", "at", "where"))}
    assert shoal.measure(turned, unit="who", place="where").to_json() | {"table": ""} == shoal.measure(
        table, unit="who", place="where"
    ).to_json() | {"table": ""}


@pytest.mark.parametrize(
    ("words", "error", "said"),
    [
        ({"place": "where"}, UsageError, "needs a person"),
        ({"unit": "who", "place": "who"}, RoleError, "named twice"),
        ({"unit": "who", "place": "where", "time": "where"}, RoleError, "named twice"),
        ({"unit": "who", "time": "where"}, DataError, "3 of its 3 distinct values .6 records. are not times"),
        ({"unit": "who", "place": "where", "known_records": [0]}, UsageError, "at least 1"),
        ({"unit": "who", "place": "where", "known_records": [3]}, UsageError, "nobody has more than 2"),
        ({"unit": "who", "place": "where", "quasi": ["at"]}, UsageError, "not measured together"),
        ({"unit": "who", "place": "where", "time_widths": ["hour"]}, UsageError, "without a time"),
        ({"unit": "who", "quasi": ["at"], "known_records": [1]}, UsageError, "event tables"),
        ({"unit": "who", "place": "where", "place_levels": ["none"]}, UsageError, "granularities"),
        ({"unit": "who", "place": "where", "hierarchies": {"at": "x.csv"}}, UsageError, "not a place"),
    ],
)
def test_refusals(table: Path, words: dict[str, object], error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said) as found:
        shoal.measure(table, **words)  # type: ignore[call-overload]
    assert "canary" not in str(found.value)


def test_columns_of_one_name_are_numbered_in_event_tables_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "twice.csv"
    file.write_text("who,at,where,where\n" + "".join(f"p{i % 3},2024-01-0{1 + i},x{i},y\n" for i in range(6)), encoding="utf-8")
    words = ("measure", file, "--unit", "who", "--time", "at", "--place", "where", "--json")
    assert run(capsys, *words, "--read", "rename_duplicates=false")[0] != 0
    code, out, err = run(capsys, *words)
    assert code == 0, err
    assert json.loads(out)["people"] == 3


def test_the_command_shows_and_writes_no_value(table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page, plot = tmp_path / "r.html", tmp_path / "p.svg"
    words = ("measure", table, "--unit", "who", "--time", "at", "--place", "where", "--explain", "--report", page, "--plot", plot)
    code, out, err = run(capsys, *words)
    assert code == 0
    assert "What known records reveal" in out
    assert "Alone, by granularity" in out
    for text in (out, err, page.read_text(encoding="utf-8"), plot.read_text(encoding="utf-8")):
        assert "canary" not in text
        assert "2024" not in text
    m = shoal.measure(table, unit="who", time="at", place="where")
    assert "canary" not in m._repr_html_() + repr(m)


def test_the_command_as_json(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "measure", table, "--unit", "who", "--place", "where", "--known", "1-2", "--json")
    found = json.loads(out)
    assert code == 0
    assert [k["unique"]["grade"] for k in found["unicity"]] == ["A", "A"]
    assert found["records_needed"]["never"] == pytest.approx(1 / 3)
    assert "canary" not in out


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--unit", "who", "--place", "where", "--known", "9"), 2),
        (("--unit", "who", "--place", "where", "--known", "x"), 2),
        (("--unit", "who", "--place", "where", "--quasi", "at"), 2),
        (("--unit", "who", "--place", "nowhere"), 2),
        (("--unit", "who", "--time", "where"), 3),
        (("--plot", "x.svg", "--unit", "who"), 2),
    ],
)
def test_exit_codes_and_nothing_written(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], code: int
) -> None:
    page = tmp_path / "r.html"
    found, out, err = run(capsys, "measure", table, *words, "--report", page)
    assert found == code
    assert "canary" not in out + err
    assert not page.exists()


def test_real_traces_by_place(shared_data: Path) -> None:
    """100 users of traj_homelocator: unique at 1–4 known places; 2 to 4 by the slow definition of this repository's tests."""
    m = shoal.measure(shared_data / "traj_homelocator" / "tweets_100users.csv", unit="u_id", place="grid_id")
    shares = [k.unique.value for k in m.curve]
    assert shares == pytest.approx([0.03815, 0.31580, 0.53571, 0.666], abs=0.002)
    assert [k.people for k in m.curve] == [100, 97, 96, 92]
    assert (m.people, m.records) == (100, 16_300)


REQUIRED = [  # share of everybody alone with one record 1/3, with two 2/3; a place of one person only
    ("unicity[2]<=0.67", 0),
    ("unicity[2]<=0.66", 1),
    ("known[1]>=2", 1),
    ("unicity[1]<=34 %, unicity[2]<=0.5", 1),
    ("k>=5", 2),
    ("unicity<=0.5", 2),
    ("known[0]>=5", 2),
    ("known[9]>=5", 2),
]


@pytest.mark.parametrize(("text", "code"), REQUIRED)
def test_requirements_decide_the_exit_code(table: Path, capsys: pytest.CaptureFixture[str], text: str, code: int) -> None:
    found, out, err = run(capsys, "measure", table, "--unit", "who", "--place", "where", "--require", text)
    assert found == code
    assert "canary" not in out + err
    if code < 2:
        assert ("not met" in out) is (code == 1)


def test_requirements_in_the_json_and_of_what_was_measured(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "measure", table, "--unit", "who", "--place", "where", "--require", "unicity[2]<=0.5", "--json")
    parts = json.loads(out)["requirement"]["parts"]
    assert (code, parts[0]["requirement"], parts[0]["met"]) == (1, "unicity.2", False)
    assert parts[0]["found"] == pytest.approx(2 / 3)
    m = shoal.measure(table, unit="who", place="where", known_records=[2])
    with pytest.raises(UsageError, match="not all of 1 to 2 were measured"):
        m.check("known[2]>=5")
    code, _, err = run(capsys, "measure", table, "--quasi", "where", "--require", "known[2]>=5")
    assert (code, "event table" in err) == (2, True)
