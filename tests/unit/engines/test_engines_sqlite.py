"""Tables of SQLite files: types by what the cells hold, classes byte for byte, one state, and no silent loss."""

from __future__ import annotations

import datetime as dt
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import shoal
from engines import awkward
from shoal.engines.files import sqlite as reader
from shoal.errors import DataError, ShoalError, UnreadableError, UsageError
from shoal.model.plan import Plan

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
    limit = reader.EXACT
    assert counted(made(tmp_path / "a.db", "a", [(limit,), (limit - 1,), (0.5,)]), "a") == {0.5: 1, limit - 1.0: 1, limit: 1}
    source = made(tmp_path / "b.db", "a", [(limit + 1,), (limit,), (0.5,)])
    with pytest.raises(DataError, match="some would become equal"):
        shoal.open(source)
    assert counted(source, "a", types={"a": "text"}) == {"0.5": 1, str(limit): 1, str(limit + 1): 1}


def test_types_that_are_asked_for(tmp_path: Path) -> None:
    source = made(tmp_path / "t.db", "a TEXT, b", [("1", b"\x0a"), (None, "z")])
    assert counted(source, "a", types={"a": "integer"}) == {1: 1, None: 1}
    assert counted(source, "b") == {"0a": 1, "z": 1}
    with pytest.raises(DataError, match="holds values that are no integer") as caught:
        shoal.open(source, types={"b": "integer"})
    assert "z" not in caught.value.message.replace("'b'", "")
    for wrong, words in (({"nowhere": "text"}, "nowhere"), ({"a": "colour"}, "cannot be read as")):
        with pytest.raises(UsageError, match=words):
            shoal.open(source, types=wrong)


def test_parts_are_joined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "ROWS", 3)
    for rows in (2, 3, 4, 6, 7):
        assert sum(counted(made(tmp_path / f"{rows}.db", "a INT", [(i,) for i in range(rows)]), "a").values()) == rows


def test_text_that_is_not_utf_8_is_refused_without_a_value(tmp_path: Path) -> None:
    source = made(tmp_path / "u.db", "a TEXT", [("x",)], more="UPDATE t SET a = CAST(x'41ff' AS TEXT)")
    with pytest.raises(DataError, match="not UTF-8"):
        shoal.open(source)


# -- which table ------------------------------------------------------------------------------------------------------------


def test_one_table_needs_no_name_and_several_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "Clinic.gpkg"
    made(file, "a INT", [(1,)], "My ta::ble")
    with shoal.open(str(file)) as one, shoal.open(f"sqlite://{file}::My ta::ble") as two:
        assert one.n_rows() == two.n_rows() == 1
    made(file, "a INT", [(1,), (2,)], "patients", more='CREATE VIEW v AS SELECT a AS "B" FROM patients')
    with pytest.raises(UsageError, match="holds 3 tables") as caught:
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
    with pytest.raises(UsageError, match="there twice"):
        shoal.open(f"sqlite://{file}::t")
    with shoal.open(f"sqlite:///{file}::t") as table:
        assert table.n_rows() == 1


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"", "no SQLite file"), (b"SQLite format 3\x00" + b"x" * 500, "no SQLite file|broken"), (None, "exist")],
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
    file = tmp_path / "s.db"
    source = made(file, "age INT, sex TEXT", [(20 + i % 2, "fm"[i % 2]) for i in range(40)])
    with closing(sqlite3.connect(file)) as writer:
        writer.execute(f"PRAGMA journal_mode = {mode}")
        with shoal.open(source) as table:
            release = shoal.anonymize(table, quasi=["age", "sex"], k=3)
            with writer:
                writer.execute("INSERT INTO t VALUES (71, 'f')")
            release.write(tmp_path / "release")
        found = release.certificate.to_json()["input"]
        assert found["records"] == 40
        assert found["snapshot"].startswith("sqlite ")
        assert len(found["keyed_hash"]) == 64
        with shoal.open(source) as table:
            assert table.n_rows() == 41


def test_a_file_that_somebody_writes_to_is_called_locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "PATIENCE", 0.01)
    file = tmp_path / "s.db"
    source = made(file, "a INT", [(1,)])
    with closing(sqlite3.connect(file, isolation_level=None)) as writer:
        writer.execute("BEGIN EXCLUSIVE")
        with pytest.raises(UnreadableError, match="somebody writes to it"):
            shoal.open(source)


def test_other_errors_of_sqlite_are_told_by_their_name_alone(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "v.db")) as con, con:
        con.execute("CREATE TABLE t (a)")
        con.execute("CREATE VIEW broken AS SELECT secret FROM t")
    with pytest.raises(UnreadableError, match=r"cannot be read \(SQLITE_ERROR\)") as caught:
        shoal.open(f"sqlite://{tmp_path / 'v.db'}::broken")
    assert "secret" not in str(caught.value)


def test_nothing_is_written_into_a_copy(tmp_path: Path) -> None:
    """A new table beside the source would be gone with the copy."""
    source = made(tmp_path / "s.db", "age INT", [(20,)] * 10)
    file = tmp_path / "f.csv"
    file.write_text("age\n20\n20\n20\n")
    for one in (source, str(file)):
        with shoal.open(one) as table:
            with pytest.raises(UsageError, match="needs a table in a database"):
                table.recode(Plan(), "::published")
            with pytest.raises(UsageError, match="needs a table in a database"):
                shoal.anonymize(table, quasi=["age"], k=2, to_table="published").write(tmp_path / "release")
    assert not (tmp_path / "release").exists()
