"""Tables of SQLite files: types by cells, classes byte for byte, one state, no silent loss."""

from __future__ import annotations

import datetime as dt
import sqlite3
import subprocess
import sys
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import shoal
from engines import awkward
from shoal.engines.files import sqlite
from shoal.engines.table import hold_together
from shoal.errors import DataError, EngineError, ShoalError, UnreadableError, UsageError
from shoal.model.plan import Plan, Suppression
from shoal.steps import Cut, MapValues

TEXTS = [t for t in awkward.TEXTS if t is None or len(t) < 100]


def made(file: Path, columns: str, rows: list[tuple[Any, ...]], table: str = "t", more: str = "") -> str:
    with closing(sqlite3.connect(file)) as con, con:
        con.execute(f'CREATE TABLE "{table}" ({columns})')
        if rows:
            con.executemany(f'INSERT INTO "{table}" VALUES ({", ".join("?" for _ in rows[0])})', rows)
        if more:
            con.executescript(more)
    return f"sqlite://{file}::{table}"


def counted(source: str, column: str, **options: Any) -> dict[Any, int]:
    with shoal.open(source, **options) as table:
        values, sizes = table.values(column)
        return dict(zip(values.to_pylist(), sizes.tolist(), strict=True))


def kind(source: str, column: str = "a", **options: Any) -> str:
    with shoal.open(source, **options) as table:
        return table.schema[column].kind


def test_classes_are_those_of_the_cells_whatever_the_collation(tmp_path: Path) -> None:
    """Counted by hand from the rows; SQLite itself, asked to group, would put a, A and 'a ' together."""
    rows = [(text, text, i % 7) for i, text in enumerate(TEXTS * 3)]
    source = made(tmp_path / "p.sqlite", "a TEXT COLLATE NOCASE, b TEXT COLLATE RTRIM, n INT", rows)
    assert counted(source, "a") == counted(source, "b") == Counter(r[0] for r in rows)
    with shoal.open(source) as table:
        assert sorted(table.count(["b", "n"]).sizes.tolist()) == sorted(Counter((r[1], r[2]) for r in rows).values())


@pytest.mark.parametrize(
    ("declared", "cells", "expected"),
    [
        ("INTEGER", [1, None, -(2**63), 2**63 - 1], "integer"),
        ("INTEGER", [1, 2.5], "float"),
        ("REAL", [2, 3], "float"),
        ("", [2**53, 0.5], "float"),
        ("BOOLEAN", [0, 1, None], "boolean"),
        ("BOOLEAN", [0, 2], "integer"),
        ("DATE", ["2024-02-29", None], "date"),
        ("DATE", ["2023-02-29"], "text"),
        ("DATE", ["2024-02-29 "], "text"),
        ("DATE", [20240229], "integer"),
        ("TEXT", ["2024-02-29"], "text"),
        ("DATETIME", ["2024-02-29 10:00:00", "2024-02-29T10:00:00.000001"], "timestamp"),
        ("TIMESTAMP", ["2024-02-29 10:00"], "timestamp"),
        ("TIMESTAMP", ["2024-02-29 10:00:00+02:00"], "text"),
        ("DATETIME", ["2024-02-29 25:00:00"], "text"),
        ("", ["x", 1, 2.5, b"\x0a"], "text"),
        ("BLOB", [b"\x00", None], "binary"),
        ("INT", [None], "integer"),
        ("DOUBLE", [None], "float"),
        ("VARCHAR(9)", [], "text"),
    ],
)
def test_kinds_follow_from_what_the_cells_hold(declared: str, cells: list[Any], expected: str, tmp_path: Path) -> None:
    assert kind(made(tmp_path / "k.db", f"a {declared}", [(c,) for c in cells])) == expected


def test_values_are_read_as_they_are(tmp_path: Path) -> None:
    moment = dt.datetime(2024, 2, 29, 10, 0, 0, 500000)
    rows = [(b"\x00\xff", "2024-02-29", "2024-02-29T10:00:00.5", 1, 2.5, "x"), (None, None, None, None, None, 1.5)]
    source = made(tmp_path / "v.db", "b BLOB, d DATE, m DATETIME, o BOOL, r REAL, x", rows)
    with shoal.open(source) as table:
        found = [row for batch in table.scan() for row in batch.to_pylist()]
    assert found[0] == {"b": b"\x00\xff", "d": dt.date(2024, 2, 29), "m": moment, "o": True, "r": 2.5, "x": "x"}
    assert found[1] == dict.fromkeys("bdmor") | {"x": "1.5"}


def test_whole_numbers_that_doubles_cannot_tell_apart_are_refused_beside_fractions(tmp_path: Path) -> None:
    limit = sqlite.EXACT
    assert counted(made(tmp_path / "a.db", "a", [(limit,), (limit - 1,), (0.5,)]), "a") == {0.5: 1, limit - 1.0: 1, limit: 1}
    source = made(tmp_path / "b.db", "a", [(limit + 1,), (limit,), (0.5,)])
    with pytest.raises(DataError, match="some would become equal"):
        shoal.open(source)
    assert counted(source, "a", types={"a": "text"}) == {"0.5": 1, str(limit): 1, str(limit + 1): 1}


def test_types_that_are_asked_for(tmp_path: Path) -> None:
    source = made(tmp_path / "t.db", "a TEXT, b", [("1", b"\x0a"), (None, "z")])
    assert counted(source, "a", types={"a": "integer"}) == {1: 1, None: 1}
    assert counted(source, "b") == {"0a": 1, "z": 1}
    with pytest.raises(DataError, match="contains values that are not of type integer") as caught:
        shoal.open(source, types={"b": "integer"})
    assert "z" not in caught.value.message.replace("'b'", "")
    for wrong, words in (({"nowhere": "text"}, "nowhere"), ({"a": "colour"}, "cannot be read as")):
        with pytest.raises(UsageError, match=words):
            shoal.open(source, types=wrong)


def test_answers_come_in_parts_of_one_type(tmp_path: Path) -> None:
    """A column without a value in the first part has its type from the rest."""
    rows = [(i, None if i < 5 else f"t{i}", None, None if i < 4 else b"x", None if i < 6 else i / 2) for i in range(7)]
    source = made(tmp_path / "p.db", "a INT, b TEXT, c TEXT, d BLOB, e REAL", rows)
    for size in (1, 2, 3, 6, 7, 8):
        with shoal.open(source) as table:
            batches = list(table.scan(batch_size=size))
            found = [tuple(row.values()) for batch in batches for row in batch.to_pylist()]
        assert found == rows
        assert max(b.num_rows for b in batches) == min(size, 7)
        assert len({str(b.schema) for b in batches}) == 1


def test_text_that_is_not_utf_8_is_refused_without_a_value(tmp_path: Path) -> None:
    source = made(tmp_path / "u.db", "a TEXT", [("x",)], more="UPDATE t SET a = CAST(x'41ff' AS TEXT)")
    for place in (source, tmp_path / "u.db"):
        with pytest.raises(DataError, match="not valid UTF-8") as caught:
            shoal.open(place)
        assert "A" not in str(caught.value).replace("a text", "")
    assert counted(source, "a", types={"a": "binary"}) == {b"A\xff": 1}


# -- which table ------------------------------------------------------------------------------------------------------------


def test_one_table_needs_no_name_and_several_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "Clinic.gpkg"
    made(file, "a INT", [(1,)], "My ta::ble")
    with shoal.open(str(file)) as one, shoal.open(f"sqlite://{file}::My ta::ble") as two:
        assert one.n_rows() == two.n_rows() == 1
    made(file, "a INT", [(1,), (2,)], "patients", more='CREATE VIEW v AS SELECT a AS "B" FROM patients')
    with pytest.raises(UsageError, match="contains 3 tables") as caught:
        shoal.open(str(file))
    assert "My ta::ble, patients, v" in (caught.value.hint or "")
    monkeypatch.chdir(tmp_path)
    spelled = (f"sqlite://{file}::patients", "sqlite:///Clinic.gpkg::PATIENTS", "sqlite://Clinic.gpkg::v", f"sqlite:///{file}::v")
    for source in spelled:
        with shoal.open(source) as table:
            assert table.n_rows() == 2
    with pytest.raises(UnreadableError, match="'patient' is not in") as missed:
        shoal.open(f"sqlite://{file}::patient")
    assert "'patients'" in (missed.value.hint or "")


def test_a_path_that_is_there_twice_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "x.db"
    made(file, "a INT", [(1,)])
    monkeypatch.chdir(tmp_path)
    inside = tmp_path / str(file).lstrip("/")
    inside.parent.mkdir(parents=True)
    made(inside, "a INT", [(1,), (2,)])
    with pytest.raises(UsageError, match="exists twice"):
        shoal.open(f"sqlite://{file}::t")
    with shoal.open(f"sqlite:///{file}::t") as table:
        assert table.n_rows() == 1


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"", "not an SQLite file"), (b"SQLite format 3\x00" + b"x" * 500, "not an SQLite file|broken"), (None, "exist")],
)
def test_what_is_no_sqlite_file_is_said(content: bytes | None, words: str, tmp_path: Path) -> None:
    file = tmp_path / "n.db"
    if content is not None:
        file.write_bytes(content)
    for source in (str(file), f"sqlite://{file}::t"):
        with pytest.raises(ShoalError, match=words):
            shoal.open(source)


def test_a_duckdb_file_with_that_ending_is_told_apart(tmp_path: Path) -> None:
    import duckdb

    with duckdb.connect(str(tmp_path / "d.db")) as con:
        con.execute("CREATE TABLE t AS SELECT 1 AS a")
    with pytest.raises(UnreadableError) as caught:
        shoal.open(str(tmp_path / "d.db"))
    assert f"duckdb://{tmp_path / 'd.db'}::TABLE" in (caught.value.hint or "")


# -- one state --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["DELETE", "WAL"])
def test_what_is_written_later_is_not_in_the_release(mode: str, tmp_path: Path) -> None:
    """The table was copied when it was opened; others write to the file meanwhile."""
    file = tmp_path / "s.db"
    source = made(file, "age INT, sex TEXT", [(20 + i % 2, "fm"[i % 2]) for i in range(40)])
    with closing(sqlite3.connect(file, timeout=0, isolation_level=None)) as writer:
        writer.execute(f"PRAGMA journal_mode = {mode}")
        with shoal.open(source) as table:
            release = shoal.anonymize(table, quasi=["age", "sex"], k=3)
            writer.execute("INSERT INTO t VALUES (71, 'f')")
            release.write(tmp_path / "release")
        facts = release.certificate.to_json()["input"]
        assert facts["records"] == 40
        assert facts["snapshot"].startswith("sqlite ")
        assert len(facts["keyed_hash"]) == 64
        with shoal.open(source) as table:
            assert table.n_rows() == 41


def test_two_tables_of_one_file_are_released_from_one_state(tmp_path: Path) -> None:
    """Each is copied by itself: if the file changed in between, the run is refused."""
    file = tmp_path / "s.db"
    one, two = made(file, "a INT", [(1,)], "one"), made(file, "a INT", [(1,)], "two")
    with shoal.open(one) as first, shoal.open(two) as second:
        assert len({held.snapshot for _, held in hold_together([first, second])}) == 1
    with shoal.open(one) as first, closing(sqlite3.connect(file)) as writer, writer:
        writer.execute("INSERT INTO two VALUES (2)")
        writer.commit()
        with shoal.open(two) as second, pytest.raises(DataError, match="table changed"):
            hold_together([first, second])


def test_a_file_that_somebody_writes_to_is_called_locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "PATIENCE", 0.01)
    file = tmp_path / "s.db"
    source = made(file, "a INT", [(1,)])
    with closing(sqlite3.connect(file, isolation_level=None)) as writer:
        writer.execute("BEGIN EXCLUSIVE")
        with pytest.raises(UnreadableError, match="another program is writing to it"):
            shoal.open(source)


def test_words_of_sqlite_are_not_repeated(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "v.db")) as con, con:
        con.execute("CREATE TABLE t (a)")
        con.execute("CREATE VIEW broken AS SELECT secret FROM t")
    with pytest.raises(EngineError, match="a column does not exist") as caught:
        shoal.open(f"sqlite://{tmp_path / 'v.db'}::broken")
    assert "secret" not in str(caught.value)


def test_nothing_is_written_into_a_copy(tmp_path: Path) -> None:
    """A new table beside the source would be gone with the copy."""
    made(tmp_path / "s.db", "age INT", [(20,)] * 10)
    file = tmp_path / "f.csv"
    file.write_text("age\n20\n20\n20\n")
    for one in (tmp_path / "s.db", f"sqlite://{tmp_path / 's.db'}::t", file):
        with shoal.open(one) as table:
            with pytest.raises(UsageError, match="needs a table in a database"):
                table.recode(Plan(), "::published")
            with pytest.raises(UsageError, match="needs a table in a database"):
                shoal.anonymize(table, quasi=["age"], k=2, to_table="published").write(tmp_path / "release")
            with pytest.raises(UsageError, match="does not write them"):
                table.recode(Plan(), f"sqlite://{tmp_path / 's.db'}::published")
    assert not (tmp_path / "release").exists()


def test_texts_of_a_file_in_another_encoding_are_the_same(tmp_path: Path) -> None:
    rows = [(t, i % 3) for i, t in enumerate(TEXTS * 2)]
    for encoding in ("UTF-16le", "UTF-16be"):
        file = tmp_path / f"{encoding}.db"
        with closing(sqlite3.connect(file)) as con:
            con.execute(f"PRAGMA encoding = '{encoding}'")
            con.execute("CREATE TABLE keep (x)")
        source = made(file, "a TEXT, n INT", rows)
        assert counted(source, "a") == Counter(t for t, _ in rows)
        step = MapValues("a", ("ä", "日本"), (0, 1), ("x", "y"), "top", "other")
        with shoal.open(source) as table:
            labels = Counter({"ä": "x", "日本": "y", None: None}.get(t, "other") for t, _ in rows)
            found = table.count(["a"], through={"a": step})
        names = [None if c < 0 else found.categories[0][int(c)].as_py() for c in found.codes[0]]
        assert dict(zip(names, found.sizes.tolist(), strict=True)) == labels


def test_doubles_are_compared_and_spelled_to_the_last_bit(tmp_path: Path) -> None:
    """SQLite itself shows 15 digits: 0.3 and 0.1 + 0.2 would be one."""
    values = [0.3, 0.1 + 0.2, 1e300, 5e-324, 1e22, 123456789.123456789, float(2**53), -0.0]
    source = made(tmp_path / "d.db", "a REAL", [(v,) for v in values])
    assert counted(source, "a") == {v + 0.0: 1 for v in values}
    step = MapValues("a", tuple(repr(v) for v in values[:4]), (0, 1, 2, 3), ("p", "q", "r", "s"), "top", "other")
    with shoal.open(source) as table:
        found = table.count(["a"], through={"a": step})
        cut = table.count(["a"], through={"a": Cut("a", (0.1 + 0.2,), ("below", "from"))})
        table.recode(Plan((), Suppression(2, ("a",), "cells")), tmp_path / "x.csv")
    assert dict(zip(found.categories[0].to_pylist(), found.sizes.tolist(), strict=True)) == dict.fromkeys("pqrs", 1) | {
        "other": 4
    }
    assert cut.sizes.tolist() == [3, 5]
    assert (tmp_path / "x.csv").read_text().replace('"', "").split() == ["a", *["*"] * 8]


def test_texts_with_a_zero_are_refused(tmp_path: Path) -> None:
    source = made(tmp_path / "z.db", "a TEXT", [("x\0y",), ("x\0z",)])
    with pytest.raises(DataError, match="zero character"):
        shoal.open(source)
    with pytest.raises(DataError, match="zero character"):
        shoal.open(source, types={"a": "text"})
    assert counted(source, "a", types={"a": "binary"}) == {b"x\0y": 1, b"x\0z": 1}


STOPPED = """
import os, signal, sys
from shoal.__main__ import main
from shoal.engines.files import sqlite
sqlite._go_on = lambda: os.kill(os.getpid(), signal.{signal})
sqlite.STEPS = 100
sys.argv = ["shoal", "measure", {source!r}, "--quasi", "a"]
main()
"""


@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 129)])
def test_a_signal_in_the_middle_of_a_statement_ends_the_command(name: str, code: int, tmp_path: Path) -> None:
    """SQLite asks every so many steps whether to go on; here the signal comes at just that moment."""
    source = made(tmp_path / "s.db", "a INT", [(i,) for i in range(500)])
    script = STOPPED.format(signal=name, source=source)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, "internal" in done.stderr.lower()) == (code, False), done.stderr
