"""Insert, update, delete, drop and alter between COUNT and RECODE, wherever tables are: refused in true words, or not seen.

PostgreSQL and MariaDB (InnoDB) are in :mod:`engines.test_snapshots`.
"""

from __future__ import annotations

import re
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import shoal
from engines.targets import DuckDBTarget, MariaDBTarget, SparkTarget, SQLiteTarget, Target
from release_forging import plain_certificate
from shoal.errors import DataError, EngineError

pytestmark = pytest.mark.engine

ROWS = [{"age": 20 + i % 30, "sex": "fm"[i % 2], "ill": None if i % 10 == 0 else f"d{i % 3}"} for i in range(120)]
TYPES = {"age": "integer", "sex": "text", "ill": "text"}
ASKED: dict[str, Any] = {
    "quasi": {"age": {"hierarchy": {"intervals": [10, 20]}}, "sex": {}}, "sensitive": ["ill"], "k": 3,
    "allow": {"loss": 1, "suppress": 0.5},
}  # fmt: skip
CHANGES = {
    "insert": "INSERT INTO {t} VALUES (71, 'f', 'd0')",
    "update": "UPDATE {t} SET age = 71 WHERE age = 20",
    "delete": "DELETE FROM {t} WHERE age < 25",
    "drop": "DROP TABLE {t}",
    "alter": "ALTER TABLE {t} DROP COLUMN ill",
}
TRUE = r"the table changed|not there|not what they were|has ended|cannot be read"


def is_refused(write: Callable[[], Any], folder: Path) -> bool:
    """Whether a release is refused, in true words and without a trace."""
    try:
        write()
    except (DataError, EngineError) as error:
        told = str(error)
    else:
        return False
    assert re.search(TRUE, told), told
    assert "suppress" not in told
    assert not folder.exists()
    return True


def outcome(source: Any, change: Callable[[], Any], folder: Path) -> str:
    """What comes of a release when ``change`` happens after the count: ``refused`` in true words, or ``not seen``."""
    with shoal.open(source) as table:
        release: Any = shoal.anonymize(table, **ASKED)
        change()
        if is_refused(lambda: release.write(folder), folder):
            return "refused"
    found = plain_certificate(folder)
    assert found["input"]["records"] == found["before"]["records"] == len(ROWS)
    assert found["input"]["keyed_hash"]
    assert shoal.verify(folder).ok
    return "not seen"


@pytest.mark.parametrize("change", CHANGES)
def test_a_table_without_transactions(mariadb_server: Any, change: str, tmp_path: Path) -> None:
    server = MariaDBTarget("mariadb", mariadb_server)
    source = server.load(ROWS, TYPES)
    name = server.quote(source.rpartition("::")[2])
    server.execute(f"ALTER TABLE {name} ENGINE = MyISAM")
    statement = CHANGES[change].format(t=name)

    def write() -> None:
        if change not in ("drop", "alter"):
            server.execute(statement)
            return
        with pytest.raises(Exception, match=r"(?i)lock"):  # the run's transaction keeps the table itself in place
            server.execute("SET lock_wait_timeout = 1", statement)

    expected = "not seen" if change in ("drop", "alter") else "refused"
    assert outcome(source, write, tmp_path / "release") == expected


@pytest.mark.parametrize("mode", ["WAL", "DELETE"])
def test_an_sqlite_file(mode: str, tmp_path: Path) -> None:
    """The table is copied when it is opened: others write to the file, and nothing of it is seen."""
    server = SQLiteTarget("sqlite", None, tmp_path)
    server.execute(f"PRAGMA journal_mode = {mode}")
    for change, statement in CHANGES.items():
        source = server.load(ROWS, TYPES)
        done = statement.format(t=server.quote(source.rpartition("::")[2]))

        def write(done: str = done) -> None:
            with closing(sqlite3.connect(server.file, timeout=0, isolation_level=None)) as con:
                con.execute(done)

        assert outcome(source, write, tmp_path / change) == "not seen"


PEOPLE = [{"id": i, **row} for i, row in enumerate(ROWS)]
VISITS = [{"pid": i % 120, "ward": "AB"[i % 2]} for i in range(240)]
TRIPS = [{"who": f"p{i % 20}", "place": "AB"[i % 2]} for i in range(80)]
EVENTS: dict[str, Any] = {
    "events": {"unit": "who", "place": "place"}, "require": {"known": {"records": 1, "k": 2}}, "allow": {"suppress": 1}
}  # fmt: skip


def together(one: str, two: str, change: Callable[[], Any], folder: Path) -> str:
    """As :func:`outcome`, of two tables that are released together."""
    policy = {
        "tables": {
            "person": {"table": one, "roles": {"quasi": {"age": ASKED["quasi"]["age"], "sex": {}}, "sensitive": ["ill"]}},
            "visits": {"table": two, "roles": {"quasi": ["ward"]}},
        },
        "links": {"visits.pid": "person.id"},
        "require": {"k": 3},
        "allow": {"suppress": 0.5},
    }
    made = shoal.anonymize_tables(policy)
    change()
    if is_refused(lambda: made.write(folder), folder):
        made.close()
        return "refused"
    made.close()
    found = plain_certificate(folder)["tables"]
    assert [t["records_in"] for t in found] == [120, 240]
    assert len({t["snapshot"] for t in found}) == 1
    return "not seen"


def trips(source: str, change: Callable[[], Any], folder: Path) -> str:
    """As :func:`outcome`, of an event table."""
    with shoal.open(source) as table:
        made: Any = shoal.anonymize(table, EVENTS)
        change()
        if is_refused(lambda: made.write(folder), folder):
            return "refused"
    found = plain_certificate(folder)
    assert found["cost"]["records"] == len(TRIPS)
    assert found["keyed_hash"]
    return "not seen"


def test_linked_and_event_tables_of_an_sqlite_file(tmp_path: Path) -> None:
    server = SQLiteTarget("sqlite", None, tmp_path)
    server.execute("PRAGMA journal_mode = WAL")
    one, two = server.load(PEOPLE, {"id": "integer", **TYPES}), server.load(VISITS, {"pid": "integer", "ward": "text"})
    first, second = (server.quote(s.rpartition("::")[2]) for s in (one, two))
    changes = (
        f"INSERT INTO {first} VALUES (900, 71, 'f', 'd0')",
        f"DELETE FROM {second} WHERE pid = 2",
        f"DROP TABLE {second}",
    )
    assert together(one, two, lambda: server.execute(*changes), tmp_path / "linked") == "not seen"
    source = server.load(TRIPS, {"who": "text", "place": "text"})
    insert = f"INSERT INTO {server.quote(source.rpartition('::')[2])} VALUES ('late', 'A')"
    assert trips(source, lambda: server.execute(insert), tmp_path / "events") == "not seen"


FILE_CHANGES: dict[str, Callable[[list[dict[str, Any]]], list[dict[str, Any]] | None]] = {
    "insert": lambda rows: [*rows, rows[0]],
    "update": lambda rows: [{**rows[0], list(rows[0])[1]: rows[2][list(rows[0])[1]]}, *rows[1:]],
    "delete": lambda rows: rows[5:],
    "alter": lambda rows: [dict(list(row.items())[:-1]) for row in rows],
    "drop": lambda rows: None,
}


def _csv(file: Path, rows: list[dict[str, Any]] | None) -> str:
    if rows is None:
        file.unlink()
    else:
        lines = [list(rows[0]), *([("" if v is None else v) for v in row.values()] for row in rows)]
        file.write_text("".join(",".join(map(str, line)) + "\n" for line in lines))
    return str(file)


def test_linked_and_event_files_that_change_are_refused(tmp_path: Path) -> None:
    for number, (change, do) in enumerate(FILE_CHANGES.items()):
        one, two, three = (tmp_path / f"{name}-{change}.csv" for name in ("people", "visits", "trips"))
        sources = _csv(one, PEOPLE), _csv(two, VISITS)
        file, rows = (one, PEOPLE) if number % 2 else (two, VISITS)
        write = lambda file=file, rows=rows, do=do: _csv(file, do(rows))  # noqa: E731
        assert together(*sources, write, tmp_path / f"linked-{change}") == "refused", change
        write = lambda file=three, do=do: _csv(file, do(TRIPS))  # noqa: E731
        assert trips(_csv(three, TRIPS), write, tmp_path / f"events-{change}") == "refused", change


def test_a_duckdb_file_of_this_process(tmp_path: Path) -> None:
    """Another process cannot write at all (:mod:`engines.test_snapshots`); this one neither, while the table is open."""
    import duckdb

    target: Target = DuckDBTarget("duckdb", None, tmp_path)
    source = target.load(ROWS, TYPES)
    for change, statement in CHANGES.items():

        def write(done: str = statement.format(t=target.quote(source.rpartition("::")[2]))) -> None:
            with pytest.raises(duckdb.Error):
                target.execute(done)

        assert outcome(source, write, tmp_path / change) == "not seen"


def test_a_delta_table_stays_at_its_version(tmp_path: Path) -> None:
    lake = pytest.importorskip("deltalake")
    changes: dict[str, tuple[Callable[[str], Any], str]] = {
        "insert": (lambda p: lake.write_deltalake(p, pa.Table.from_pylist(ROWS[:1]), mode="append"), "not seen"),
        "update": (lambda p: lake.DeltaTable(p).update(updates={"age": "71"}, predicate="age = 20"), "not seen"),
        "delete": (lambda p: lake.DeltaTable(p).delete("age < 25"), "not seen"),
        "alter": (lambda p: lake.DeltaTable(p).alter.add_columns([lake.Field("more", "string")]), "not seen"),
        "drop": (shutil.rmtree, "refused"),
    }
    for change, (do, expected) in changes.items():
        place = str(tmp_path / f"lake-{change}")
        lake.write_deltalake(place, pa.Table.from_pylist(ROWS))
        assert outcome(place, lambda do=do, place=place: do(place), tmp_path / change) == expected, change  # type: ignore[misc]


@pytest.mark.xdist_group("spark")
@pytest.mark.parametrize("change", ["insert", "update", "delete", "drop", "alter"])
def test_a_table_of_spark(spark_session: Any, change: str, tmp_path: Path) -> None:
    """Parquet tables have no UPDATE and DELETE: their rows are written anew."""
    server = SparkTarget("spark", spark_session)
    source = server.load(ROWS, TYPES)
    name = server.quote(source.rpartition("::")[2])
    kept = server.frame([r | {"age": 71 if change == "update" and r["age"] == 20 else r["age"]} for r in ROWS
                         if change != "delete" or r["age"] >= 25], TYPES)  # fmt: skip

    def write() -> None:
        if change in ("update", "delete"):
            kept.write.mode("overwrite").format("parquet").saveAsTable(source.rpartition("::")[2])
        elif change == "alter":
            server.execute(f"DROP TABLE {name}")
            server.frame([{"age": r["age"], "sex": r["sex"]} for r in ROWS], {"age": "integer", "sex": "text"}).write.format(
                "parquet"
            ).saveAsTable(source.rpartition("::")[2])
        else:
            server.execute(CHANGES[change].format(t=name))

    assert outcome(source, write, tmp_path / "release") == "refused"


@pytest.mark.xdist_group("spark")
def test_an_event_table_of_spark(spark_session: Any, tmp_path: Path) -> None:
    server = SparkTarget("spark", spark_session)
    source = server.load(TRIPS, {"who": "text", "place": "text"})
    insert = f"INSERT INTO {server.quote(source.rpartition('::')[2])} VALUES ('late', 'A')"
    assert trips(source, lambda: server.execute(insert), tmp_path / "events") == "refused"
