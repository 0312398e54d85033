"""One state of the data per run: what changes between COUNT and RECODE is not seen, or the release is refused in true words."""

from __future__ import annotations

import hashlib
import hmac
import os
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

import shoal
from engines.targets import DuckDBTarget, MariaDBTarget, PostgresTarget, Target
from release_forging import plain_certificate
from shoal.errors import DataError, EngineError, ShoalError, VerificationError

pytestmark = pytest.mark.engine

ROWS = [{"age": 20 + i % 30, "sex": "fm"[i % 2], "ill": None if i % 10 == 0 else f"d{i % 3}"} for i in range(120)]
TYPES = {"age": "integer", "sex": "text", "ill": "text"}
ASKED: dict[str, Any] = {
    "quasi": {"age": {"hierarchy": {"intervals": [10, 20]}}, "sex": {}},
    "sensitive": ["ill"],
    "k": 3,
    "allow": {"loss": 1, "suppress": 0.5},
}
KINDS = {"postgres": PostgresTarget, "mariadb": MariaDBTarget}
CHANGES = {
    "insert": "INSERT INTO {t} VALUES (71, 'f', 'd0')",
    "update": "UPDATE {t} SET age = 71 WHERE age = 20",
    "delete": "DELETE FROM {t} WHERE age < 25",
}


@pytest.fixture(scope="session", params=["postgres", "mariadb"])
def server(request: pytest.FixtureRequest) -> Target:
    made: Target = KINDS[request.param](request.param, request.getfixturevalue(f"{request.param}_server"))
    return made


def certificate(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = plain_certificate(folder)
    return found


def outside(rows: list[dict[str, Any]], private: bytes, names: Iterable[str] = TYPES) -> str:
    """The keyed digest of rows by its definition, with nothing of Shoal."""
    secret = hashlib.sha256(b"shoal keyed hash|input|" + private).digest()
    total = 0
    for row in rows:
        cells = ["n" if row[c] is None else f"v{len(str(row[c]))}:{row[c]}" for c in names]
        total += int.from_bytes(hmac.new(secret, "\x1f".join(cells).encode(), "sha256").digest(), "big")
    return hmac.new(secret, f"{len(rows)}:{total % 2**256:064x}".encode(), "sha256").hexdigest()


@pytest.mark.parametrize("change", CHANGES)
def test_changes_between_count_and_recode_are_not_seen(server: Target, change: str, tmp_path: Path) -> None:
    source = server.load(ROWS, TYPES)
    name = source.rpartition("::")[2]
    with shoal.open(source) as table:
        release = shoal.anonymize(table, **ASKED)
        server.execute(CHANGES[change].format(t=server.quote(name)))
        found = certificate(release.write(tmp_path / "release"))
        assert found["input"]["records"] == found["before"]["records"] == 120
        assert found["input"]["snapshot"].startswith({"postgres": "postgres ", "mariadb": "mysql "}[server.name])
        again = certificate(shoal.anonymize(table, **ASKED).write(tmp_path / "again"))
    assert again["input"]["records"] == {"insert": 121, "update": 120, "delete": 100}[change]  # a new run, a new state
    assert again["input"]["keyed_hash"] != found["input"]["keyed_hash"]


@pytest.mark.parametrize("change", ["DROP TABLE {t}", "ALTER TABLE {t} DROP COLUMN ill"])
def test_a_table_that_is_read_is_not_dropped_or_altered_under_the_run(server: Target, change: str, tmp_path: Path) -> None:
    source = server.load(ROWS, TYPES)
    name = server.quote(source.rpartition("::")[2])
    wait = "SET lock_timeout = 200" if server.name == "postgres" else "SET lock_wait_timeout = 1"
    with shoal.open(source) as table:
        release = shoal.anonymize(table, **ASKED)
        with pytest.raises(Exception, match=r"(?i)lock"):
            server.execute(wait, change.format(t=name))
        assert certificate(release.write(tmp_path / "release"))["input"]["records"] == 120
    server.execute(change.format(t=name))  # and can be, once the table is closed


def test_the_one_transaction_of_a_run_can_write_nothing(server: Target, tmp_path: Path) -> None:
    source = server.load(ROWS, TYPES)
    name = server.quote(source.rpartition("::")[2])
    with shoal.open(source) as table:
        shoal.anonymize(table, **ASKED)
        engine: Any = table._engine
        with pytest.raises(EngineError, match="read-only"):
            engine._run(f"INSERT INTO {name} VALUES (71, 'f', 'd0')")
    assert len(server.read(source.rpartition("::")[2])) == len(ROWS)


def test_the_digest_of_the_source_follows_from_its_definition(server: Target, tmp_path: Path) -> None:
    file, private = signing_key(tmp_path)
    source = server.load(ROWS, TYPES)
    with shoal.open(source) as table:
        found = certificate(shoal.anonymize(table, key_file=file, **ASKED).write(tmp_path / "release"))
    assert found["input"]["keyed_hash"] == outside(server.read(source.rpartition("::")[2])[::-1], private)


def test_a_table_without_transactions_is_refused_when_it_changed(mariadb_server: Any, tmp_path: Path) -> None:
    server = MariaDBTarget("mariadb", mariadb_server)
    for change in CHANGES.values():
        source = server.load(ROWS, TYPES)
        name = server.quote(source.rpartition("::")[2])
        server.execute(f"ALTER TABLE {name} ENGINE = MyISAM")
        with shoal.open(source) as table:
            release = shoal.anonymize(table, **ASKED)
            server.execute(change.format(t=name))
            with pytest.raises(DataError, match="the table changed"):
                release.write(tmp_path / "release")
    assert list(tmp_path.iterdir()) == []


def test_a_release_is_not_carried_out_on_another_state_than_was_counted(server: Target, tmp_path: Path) -> None:
    source = server.load(ROWS, TYPES)
    with shoal.open(source) as table:
        first = shoal.anonymize(table, **ASKED)
        server.execute(CHANGES["insert"].format(t=server.quote(source.rpartition("::")[2])))
        shoal.anonymize(table, **ASKED)
        with pytest.raises(DataError, match="snapshot that was counted has ended"):
            first.write(tmp_path / "release")
        third = shoal.anonymize(table, **ASKED)
        server.execute(_end_connections(server, table))
        with pytest.raises((EngineError, DataError), match=r"broke off|has ended"):
            third.write(tmp_path / "release")
    assert list(tmp_path.iterdir()) == []


CONNECTIONS = {
    "postgres": "SELECT pid FROM pg_stat_activity WHERE application_name = 'shoal'",
    "mariadb": "SELECT id FROM information_schema.processlist WHERE id <> connection_id()",
}


def test_a_run_has_one_connection_so_no_snapshot_need_be_exported(server: Target, tmp_path: Path) -> None:
    source = server.load(ROWS, TYPES)
    seen: list[set[int]] = []
    with server.connect() as watch, watch.cursor() as cursor:  # type: ignore[attr-defined]

        def look(*_: object) -> None:
            cursor.execute(CONNECTIONS[server.name])
            seen.append({int(row[0]) for row in cursor.fetchall()})

        look()
        with shoal.open(source) as table:
            look()
            shoal.anonymize(table, progress=look, **ASKED).write(tmp_path / "release", progress=look)
            look()
    new = [found - seen[0] for found in seen[1:]]
    assert len(new) > 5, "looked at in the middle of the run"
    assert {frozenset(n) for n in new} == {frozenset(new[0])}
    assert len(new[0]) == 1


def _end_connections(server: Target, table: Any) -> str:
    if server.name == "mariadb":
        return f"KILL {table._engine._rows('SELECT connection_id()')[0][0]}"
    return f"SELECT pg_terminate_backend({table._engine._run('SELECT pg_backend_pid()').column(0)[0].as_py()})"


def test_a_new_table_in_the_same_transaction_is_there_for_others(server: Target, tmp_path: Path) -> None:
    source = server.load(ROWS, TYPES)
    name = server.fresh("published")
    with shoal.open(source) as table:
        shoal.anonymize(table, to_table=name, **ASKED).write(tmp_path / "release")
        assert len(server.read(name)) == certificate(tmp_path / "release")["after"]["records"]


def passing_tables(server: Target) -> list[str]:
    with server.connect() as connection, connection.cursor() as cursor:  # type: ignore[attr-defined]
        cursor.execute("SELECT table_name FROM information_schema.tables WHERE table_name LIKE 'shoal!_%' ESCAPE '!'")
        return [str(row[0]) for row in cursor.fetchall()]


def test_a_table_is_replaced_in_one_step(server: Target, tmp_path: Path) -> None:
    """Others read the old rows until the new ones are there; a failure leaves the old table and nothing else."""
    source, name = server.load(ROWS, TYPES), server.fresh("published")
    with shoal.open(source) as table:
        shoal.anonymize(table, to_table=name, **ASKED).write(tmp_path / "first")
    old, seen = server.read(name), []
    few = {**ASKED, "k": 30}
    with shoal.open(source) as table:
        made = shoal.anonymize(table, to_table=name, replace=True, **few)
        made.write(tmp_path / "second", progress=lambda *_: seen.append(len(server.read(name))))
    assert len(seen) > 5
    assert set(seen) == {len(old)}
    assert made.certificate.data.table == name
    assert server.read(name) != old
    new = server.read(name)
    with shoal.open(source) as table, pytest.MonkeyPatch.context() as patch:
        run = table._engine._run
        patch.setattr(table._engine, "_run", lambda sql, *more: _refuse_rename(sql) or run(sql, *more))
        with pytest.raises(EngineError, match="no right"):
            shoal.anonymize(table, to_table=name, replace=True, **ASKED).write(tmp_path / "third")
    assert server.read(name) == new
    assert not (tmp_path / "third").exists()
    assert passing_tables(server) == []


def _refuse_rename(sql: str) -> None:
    if ("RENAME TABLE" in sql and "_old" in sql) or "ALTER TABLE" in sql or "INSERT INTO" in sql:
        raise EngineError("no right.")


def test_rights_indexes_and_views_of_a_replaced_table_stay(server: Target, tmp_path: Path) -> None:
    source, name = server.load(ROWS, TYPES), server.fresh("published")
    asked = {**ASKED, "quasi": {"age": {**ASKED["quasi"]["age"], "min_level": 1}, "sex": {}}}
    with shoal.open(source) as table:
        shoal.anonymize(table, to_table=name, **asked).write(tmp_path / "first")
    quoted, old = server.quote(name), server.read(name)
    if server.name == "postgres":
        server.execute(f"CREATE INDEX ON {quoted} (sex)", f"GRANT SELECT ON {quoted} TO PUBLIC")
        server.execute(f'CREATE VIEW "{name}_view" AS SELECT count(*) AS n FROM {quoted}')
        granted = f"(SELECT count(*) FROM pg_class WHERE relname = '{name}' AND relacl IS NOT NULL)"
        kept = f"SELECT count(*), {granted} FROM pg_indexes WHERE tablename = '{name}'"
    else:
        server.execute(f"CREATE INDEX by_sex ON {quoted} (sex(3))")
        kept = f"SELECT count(*), 1 FROM information_schema.statistics WHERE table_name = '{name}'"
    server.execute(f"DELETE FROM {server.quote(source.rpartition('::')[2])} WHERE ill = 'd0'")
    with shoal.open(source) as table:
        made = shoal.anonymize(table, to_table=name, replace=True, **asked)
        made.write(tmp_path / "second")
    with server.connect() as connection, connection.cursor() as cursor:  # type: ignore[attr-defined]
        cursor.execute(kept)
        assert tuple(cursor.fetchone()) == (1, 1)
    assert len(server.read(name)) == made.certificate.after.records < len(old)
    with shoal.open(source) as table:
        assert shoal.verify(tmp_path / "second", table=table.neighbour(name)).ok
    new = server.read(name)
    with shoal.open(source) as table, pytest.MonkeyPatch.context() as patch:
        run = table._engine._run
        patch.setattr(table._engine, "_run", lambda sql, *more: _refuse_rename(sql) or run(sql, *more))
        with pytest.raises(EngineError, match="no right"):
            shoal.anonymize(table, to_table=name, replace=True, **asked).write(tmp_path / "third")
    assert server.read(name) == new, "rows that were deleted are there again"
    assert passing_tables(server) == []


def test_a_table_is_not_replaced_if_something_of_it_would_be_lost(server: Target, tmp_path: Path) -> None:
    """Other columns and an index; a trigger, which could change the rows that are certified."""
    source, name = server.load(ROWS, TYPES), server.load([{"x": 1}], {"x": "integer"}).rpartition("::")[2]
    quoted = server.quote(name)
    server.execute(f"CREATE INDEX by_x ON {quoted} (x)")

    def replaced(folder: str) -> None:
        with shoal.open(source) as table:
            shoal.anonymize(table, to_table=name, replace=True, **ASKED).write(tmp_path / folder)

    with pytest.raises(EngineError, match="would be lost"):
        replaced("a")
    assert server.read(name) == [{"x": 1}]
    server.execute(f"DROP TABLE {quoted}")
    replaced("b")
    before = server.read(name)
    if server.name == "postgres":
        server.execute("CREATE OR REPLACE FUNCTION shoal_nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'")
        server.execute(f"CREATE TRIGGER t BEFORE INSERT ON {quoted} FOR EACH ROW EXECUTE FUNCTION shoal_nothing()")
    else:
        server.execute(f"CREATE TRIGGER t_{name} BEFORE INSERT ON {quoted} FOR EACH ROW SET NEW.sex = 'f'")
    with pytest.raises(EngineError, match="would be lost"):
        replaced("c")
    assert server.read(name) == before
    assert not (tmp_path / "c").exists()
    assert passing_tables(server) == []


def test_last_nights_table_is_compared_with_tonights_before_it_is_replaced(server: Target, tmp_path: Path) -> None:
    source, name = server.load(ROWS, TYPES), server.fresh("published")
    with shoal.open(source) as table:
        shoal.anonymize(table, to_table=name, **ASKED).write(tmp_path / "first")
    old = server.read(name)
    with shoal.open(source) as table:
        same = shoal.anonymize(table, to_table=name, replace=True, previous=[tmp_path / "first"], **ASKED)
        same.write(tmp_path / "second")
    compared = [a for a in same.certificate.attacks if a.name.startswith("intersection")]
    assert {a.verdict for a in compared} == {"holds"}
    assert not [a for a in same.certificate.attacks if a.verdict == "not run" and a.name.startswith("intersection")]
    assert sorted(map(str, server.read(name))) == sorted(map(str, old))
    server.execute(f"DELETE FROM {server.quote(name)} WHERE sex = 'f'")  # the table is no longer the one of the certificate
    with shoal.open(source) as table, pytest.raises(VerificationError):
        shoal.anonymize(table, to_table=name, replace=True, previous=[tmp_path / "second"], **ASKED).write(tmp_path / "third")


# -- tables released together ----------------------------------------------------------------------------------------------

VISITS = [{"pid": i % 120, "ward": "AB"[i % 2]} for i in range(240)]


def signing_key(folder: Path) -> tuple[Path, bytes]:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    private, file = Ed25519PrivateKey.generate(), folder / "key.pem"
    file.write_bytes(private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    file.chmod(0o600)
    return file, private.private_bytes_raw()


def linked(server: Target) -> tuple[dict[str, Any], list[Any], list[str]]:
    people = [{"id": i, **row} for i, row in enumerate(ROWS)]
    sources = [server.load(people, {"id": "integer", **TYPES}), server.load(VISITS, {"pid": "integer", "ward": "text"})]
    tables = [shoal.open(source) for source in sources]
    policy = {
        "tables": {
            "person": {"table": tables[0], "roles": {"quasi": {"age": ASKED["quasi"]["age"], "sex": {}}, "sensitive": ["ill"]}},
            "visits": {"table": tables[1], "roles": {"quasi": ["ward"]}},
        },
        "links": {"visits.pid": "person.id"},
        "require": {"k": 3},
        "allow": {"suppress": 0.5},
    }
    return policy, tables, [server.quote(s.rpartition("::")[2]) for s in sources]


def test_tables_released_together_are_read_in_one_state(server: Target, tmp_path: Path) -> None:
    """Somebody joins both tables while they are read: neither release knows of it, though each table was opened by itself."""
    policy, tables, (people, visits) = linked(server)
    key, private = signing_key(tmp_path)
    before = [server.read(source.strip('`"')) for source in (people, visits)]
    made = shoal.anonymize_tables(policy, key_file=key)
    server.execute(f"INSERT INTO {people} VALUES (900, 71, 'f', 'd0')", f"INSERT INTO {visits} VALUES (900, 'A'), (1, 'A')")
    server.execute(f"DELETE FROM {visits} WHERE pid = 2")
    made.write(tmp_path / "release")
    found = certificate(tmp_path / "release")
    assert [t["records_in"] for t in found["tables"]] == [120, 240]
    assert [t["keyed_hash"] for t in found["tables"]] == [outside(rows, private, rows[0]) for rows in before]
    states = {t["snapshot"] for t in found["tables"]}
    assert len(states) == 1, "one transaction for both"
    assert states.pop().startswith({"postgres": "postgres ", "mariadb": "mysql "}[server.name])
    assert shoal.verify(tmp_path / "release").ok
    assert tables[1].n_rows() == 240 + 2 - 2, "its own connection saw what was written meanwhile"
    for table in tables:
        table.close()


def test_tables_without_transactions_are_not_released_together_when_one_changed(mariadb_server: Any, tmp_path: Path) -> None:
    server = MariaDBTarget("mariadb", mariadb_server)
    for change in ("INSERT INTO {v} VALUES (1, 'A')", "UPDATE {v} SET ward = 'B' WHERE pid = 4"):
        policy, tables, names = linked(server)
        server.execute(*(f"ALTER TABLE {name} ENGINE = MyISAM" for name in names))
        made = shoal.anonymize_tables(policy)
        server.execute(change.format(v=names[1]))
        with pytest.raises(DataError, match="the table changed"):
            made.write(tmp_path / "release")
        for table in tables:
            table.close()
    assert list(tmp_path.iterdir()) == []


def test_an_event_release_names_its_state_and_digest(server: Target, tmp_path: Path) -> None:
    key, private = signing_key(tmp_path)
    visits = [{"who": f"p{i % 20}", "place": "AB"[i % 2]} for i in range(80)]
    source = server.load(visits, {"who": "text", "place": "text"})
    name = source.rpartition("::")[2]
    asked: dict[str, Any] = {
        "events": {"unit": "who", "place": "place"}, "require": {"known": {"records": 1, "k": 2}}, "allow": {"suppress": 1}
    }  # fmt: skip
    with shoal.open(source) as table:
        made: Any = shoal.anonymize(table, asked, key_file=key)
        server.execute(f"INSERT INTO {server.quote(name)} VALUES ('late', 'A')")
        made.write(tmp_path / "release")
    found = certificate(tmp_path / "release")
    assert found["cost"]["records"] == 80
    assert found["keyed_hash"] == outside(visits, private, visits[0])
    assert found["snapshot"].startswith({"postgres": "postgres ", "mariadb": "mysql "}[server.name])
    assert shoal.verify(tmp_path / "release").ok


# -- DuckDB and files -----------------------------------------------------------------------------------------------------


def test_a_duckdb_file_opens_twice_and_nobody_writes_to_it_meanwhile(tmp_path: Path) -> None:
    import duckdb

    target = DuckDBTarget("duckdb", None, tmp_path)
    source = target.load(ROWS, TYPES)
    write = f"import duckdb; duckdb.connect({str(target.file)!r}).execute('DROP TABLE t')"
    with shoal.open(source) as one, shoal.open(source, memory="2GB") as two:
        assert (one.n_rows(), two.count(["sex"]).sizes.tolist()) == (120, [60, 60])
        release = shoal.anonymize(one, **ASKED)
        done = subprocess.run([sys.executable, "-c", write], capture_output=True, text=True, check=False)
        assert "lock" in done.stderr
        found = certificate(release.write(tmp_path / "release"))
    assert found["input"]["keyed_hash"]
    assert found["input"]["snapshot"].startswith("duckdb ")
    with duckdb.connect(str(target.file)), pytest.raises(EngineError, match="open for writing in this process"):
        shoal.open(source)


def _between(monkeypatch: pytest.MonkeyPatch, change: Any) -> list[int]:
    """Have the table changed between the parts of a measurement, and count its rows then."""
    rows = []

    def changed(table: Any, besides: Any = ()) -> None:
        change()
        rows.append(table.n_rows())

    monkeypatch.setattr("shoal.api.measure.repeating_ids", changed)
    return rows


def test_a_measurement_sees_one_state(server: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    source = server.load(ROWS, TYPES)
    insert = CHANGES["insert"].format(t=server.quote(source.rpartition("::")[2]))
    rows = _between(monkeypatch, lambda: server.execute(insert))
    with shoal.open(source) as table:
        found = shoal.measure(table, quasi=["age", "sex"])
        assert found.records == 120 == rows[0]
        assert str(found.to_json()["state"]).startswith({"postgres": "postgres ", "mariadb": "mysql "}[server.name])
        assert table.n_rows() == 121  # the state ends with the measurement
        with table.one_state() as state:
            assert shoal.measure(table, quasi=["age"]).state == state


def test_a_file_that_changes_while_it_is_measured_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = _csv(tmp_path / "people.csv")
    rows = _between(monkeypatch, lambda: _rewritten_and_dated_back(file))
    with pytest.raises(DataError, match="the table changed while it was measured"):
        shoal.measure(file, quasi=["age", "sex"])
    assert rows == [120]


def _same_size_and_time(file: Path) -> None:
    before = file.stat()
    other = file.with_name("other.csv")
    other.write_bytes(file.read_bytes().replace(b"20,f", b"49,f"))
    os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    other.replace(file)


def _rewritten_and_dated_back(file: Path) -> None:
    before = file.stat()
    time.sleep(0.02)  # clocks of file systems go in steps
    file.write_bytes(file.read_bytes().replace(b"20,f", b"49,f"))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.parametrize(
    "change",
    [
        lambda f: f.write_bytes(f.read_bytes() + b"71,f,d0\n"),
        lambda f: f.write_bytes(f.read_bytes().replace(b"20,f", b"49,f")),
        lambda f: f.unlink(),
        _same_size_and_time,
        _rewritten_and_dated_back,
    ],
    ids=["longer", "same length", "gone", "put in its place", "dated back"],
)
@pytest.mark.parametrize("folder", [False, True])
def test_files_that_change_are_noticed(change: Any, folder: bool, tmp_path: Path) -> None:
    place = tmp_path / "in"
    place.mkdir()
    with shoal.open(_csv(place / "people.csv")) as plain:
        if folder:
            from shoal.model.plan import Plan

            plain.recode(Plan(shuffle=False), place / "p.parquet")
    file = place / "people.csv"
    if folder:
        file.unlink()
        file = place / "p.parquet"
    with shoal.open(place if folder else file) as table:
        release = shoal.anonymize(table, **ASKED)
        if folder and change is not _same_size_and_time:
            file.unlink()
        else:
            change(file)
        with pytest.raises(ShoalError, match=r"the table changed|not there any more"):
            release.write(tmp_path / "release")
    assert not (tmp_path / "release").exists()


def _csv(file: Path) -> Path:
    lines = [",".join("" if v is None else str(v) for v in row.values()) for row in ROWS]
    file.write_text("\n".join([",".join(TYPES), *lines]) + "\n")
    return file
