"""Servers that refuse, vanish or die: a plain sentence, no password, no data value, nothing half-written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import shoal
from engines.targets import MariaDBTarget, PostgresTarget, Target
from servers import need_server, tools
from shoal.errors import DataError, DependencyError, EngineError
from shoal.model.plan import Plan, Suppression
from shoal.steps import Cut, MapValues
from shoal.techniques import Permute

pytestmark = pytest.mark.engine

ROWS = [{"a": "rare value", "n": i % 5} for i in range(50)]
TYPES = {"a": "text", "n": "integer"}
SERVERS = ("postgres", "mariadb")
STARTS = {"postgres": (tools.start_postgres, PostgresTarget), "mariadb": (tools.start_mariadb, MariaDBTarget)}


@pytest.fixture(scope="session", params=SERVERS)
def server(request: pytest.FixtureRequest) -> Target:
    handle = request.getfixturevalue(f"{request.param}_server")
    made: Target = STARTS[request.param][1](request.param, handle)
    return made


@pytest.fixture(scope="session")
def reader_url(server: Target) -> str:
    """The URL of a user who may read one table and nothing else."""
    table = "readable"
    server.load(ROWS, TYPES, table=table)
    if server.name == "postgres":
        server.execute("CREATE USER reader PASSWORD 'reader-pw'", "REVOKE ALL ON SCHEMA public FROM PUBLIC",
                       "REVOKE TEMPORARY ON DATABASE postgres FROM PUBLIC", "GRANT USAGE ON SCHEMA public TO reader",
                       f"GRANT SELECT ON {table} TO reader")  # fmt: skip
    else:
        server.execute("CREATE USER reader IDENTIFIED BY 'reader-pw'", f"GRANT SELECT ON shoal.{table} TO reader")
    url: str = server.handle.url_for("reader", "reader-pw")
    return f"{url}::{table}"


def test_a_user_who_may_only_read_can_count(reader_url: str) -> None:
    cut = Cut("n", (2.0,), ("low", "high"))
    step = MapValues("a", ("rare value",), (0,), ("x",))
    with shoal.open(reader_url) as table:
        assert table.n_rows() == 50
        assert table.count(["a", "n"], sensitive=["n"], unit="n", weight="n").n_records == 50
        assert table.count(["a", "n"], through={"a": step, "n": cut}).sizes.tolist() == [30, 20]


def test_a_user_who_may_only_read_can_recode_to_a_file_but_not_to_a_table(
    server: Target, reader_url: str, tmp_path: Path
) -> None:
    plan = Plan((MapValues("a", ("rare value",), (0,), ("x",)),), Suppression(5, ("a", "n")))
    with shoal.open(reader_url) as table:
        assert table.recode(plan, tmp_path / "x.csv").records_out == 50
        before = server.tables()
        with pytest.raises(EngineError, match=r"may not|read-only"):
            table.recode(plan, "::mine")
        with pytest.raises(EngineError, match=r"may not|read-only"):  # loaded row by row, not made by a query
            table.recode(Plan((Permute("a"),)), "::mine")
    assert server.tables() == before


def test_a_table_that_this_user_may_not_read(server: Target, reader_url: str) -> None:
    source = server.load(ROWS, TYPES)
    url, _, table = source.rpartition("::")
    reader = reader_url.rpartition("::")[0]
    assert url != reader
    with pytest.raises(EngineError, match=f"'{table}'.*may not read"):
        shoal.open(f"{reader}::{table}")


def test_a_table_that_is_not_there(target: Target) -> None:
    target.load(ROWS, TYPES)
    with pytest.raises((EngineError, DataError), match="no_such_table"):
        shoal.open(target.source("no_such_table"))


def test_a_table_that_vanishes(target: Target, tmp_path: Path) -> None:
    if target.name == "sqlite":
        pytest.skip("SQLite tables are copied, never written")
    source = target.load(ROWS, TYPES)
    name = source.rpartition("::")[2]
    if target.name == "duckdb":
        pytest.skip("an open DuckDB file is locked: nobody can drop the table")
    with shoal.open(source) as table:
        target.execute(f"DROP TABLE {target.quote(name)}")
        for ask in (lambda: table.count(["a"]), table.n_rows, lambda: table.recode(Plan(), tmp_path / "x.csv")):
            with pytest.raises(EngineError) as caught:
                ask()
            assert "rare value" not in str(caught.value)
            assert "not there" in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_nobody_answers_at_the_port(server: Target) -> None:
    url = server.handle.url.replace(f":{server.handle.port}/", f":{tools.free_port()}/")
    with pytest.raises(EngineError, match=r"no .* server answers at") as caught:
        shoal.open(f"{url}::t")
    assert server.handle.password not in repr(caught.value) + str(caught.value)


def test_a_wrong_password_is_not_repeated(server: Target) -> None:
    url = server.handle.url.replace(server.handle.password, "wr0ng-s3cret")
    with pytest.raises(EngineError, match="refuses user 'shoal'") as caught:
        shoal.open(f"{url}::t")
    text = str(caught.value) + repr(caught.value) + repr(caught.value.__context__ or "") + repr(caught.value.__cause__ or "")
    assert "wr0ng-s3cret" not in str(caught.value) + repr(caught.value)
    assert caught.value.__cause__ is None
    assert "wr0ng-s3cret" not in text


def test_the_password_may_come_from_the_environment(server: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    source = server.load(ROWS, TYPES).replace(f":{server.handle.password}@", "@")
    with pytest.raises(EngineError, match="refuses user"):
        shoal.open(source)
    monkeypatch.setenv("PGPASSWORD" if server.name == "postgres" else "MYSQL_PWD", server.handle.password)
    with shoal.open(source) as table:
        assert server.handle.password not in repr(table) + repr(table.source) + repr(vars(table._engine))
        assert table.n_rows() == 50


def test_there_is_no_such_database(server: Target) -> None:
    url = server.handle.url.rpartition("/")[0] + "/nowhere"
    with pytest.raises(EngineError, match="does not exist"):
        shoal.open(f"{url}::t")


@pytest.mark.parametrize("name", SERVERS)
def test_a_server_that_dies_in_the_middle(name: str, tmp_path: Path) -> None:
    start, kind = STARTS[name]
    handle = need_server(start)
    try:
        target: Any = kind(name, handle)
        source = target.load([{"a": f"v{i}", "n": i} for i in range(3000)], TYPES)
        with shoal.open(source) as table:
            batches = table.scan(batch_size=10)
            next(batches)
            handle.kill()
            out = tmp_path / "x.parquet"
            asks: list[Any] = [lambda: table.count(["a"]), table.n_rows, lambda: table.recode(Plan(), out)]
            for ask in asks:
                with pytest.raises(EngineError) as caught:
                    ask()
                words = str(caught.value)
                assert "broke off" in words or "no MySQL or MariaDB server answers" in words
                assert "v17" not in words
        assert list(tmp_path.iterdir()) == []
    finally:
        handle.stop()


def test_a_server_that_dies_while_rows_are_written(tmp_path: Path) -> None:
    """The file under its final name never appears, and neither does a passing one stay."""
    handle = need_server(tools.start_postgres)
    try:
        target = PostgresTarget("postgres", handle)
        target.execute("CREATE TABLE big AS SELECT i AS n, repeat('x', 200) AS a FROM generate_series(1, 300000) AS g(i)")
        stopped = []

        def progress(share: float, what: str) -> None:
            if what == "writing" and not stopped:
                stopped.append(share)
                handle.kill()

        with shoal.open(target.source("big")) as table, pytest.raises(EngineError, match="broke off"):
            table.recode(Plan(shuffle=False), tmp_path / "x.parquet", progress=progress)
        assert stopped
        assert stopped[0] < 1
        assert list(tmp_path.iterdir()) == []
    finally:
        handle.stop()


@pytest.mark.parametrize("scheme", ["postgresql", "mysql", "spark"])
def test_a_missing_driver_is_named(scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib.util
    import sys

    packages = {"postgresql": "adbc_driver_postgresql", "mysql": "pymysql", "spark": "pyspark"}
    package = packages[scheme]
    for module in [m for m in sys.modules if m == package or m.startswith(package + ".")]:
        monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setitem(sys.modules, package, None)
    real = importlib.util.find_spec
    monkeypatch.setattr("shoal.engines.spark.session.find_spec", lambda name, *a: None if name == package else real(name, *a))
    url = "spark::t" if scheme == "spark" else f"{scheme}://u:p@127.0.0.1:1/d::t"
    with pytest.raises(DependencyError, match=f"pip install .*{package.replace('_', '-')}"):
        shoal.open(url)
