"""What an administrator demands: statements that end in time, and nothing but aggregates."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import shoal
from engines.targets import DuckDBTarget, MariaDBTarget, PostgresTarget, Target
from shoal.engines.core.limits import seconds_of
from shoal.errors import EngineError, UsageError
from shoal.model.plan import Plan

pytestmark = pytest.mark.engine

ROWS = [{"name": f"Zoë-{i}", "age": 20 + i % 3, "ill": "ab"[i % 2]} for i in range(60)]
TYPES = {"name": "text", "age": "integer", "ill": "text"}
KINDS: dict[str, Any] = {"postgres": PostgresTarget, "mariadb": MariaDBTarget, "duckdb": DuckDBTarget}


@pytest.fixture(scope="session", params=KINDS)
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Target:
    handle = None if request.param == "duckdb" else request.getfixturevalue(f"{request.param}_server")
    made: Target = KINDS[request.param](request.param, handle, tmp_path_factory.mktemp("limits"))
    return made


def test_check_and_hierarchy_read_aggregates_of_named_columns(server: Target) -> None:
    source = server.load(ROWS, TYPES)
    asked: dict[str, Any] = {"quasi": ["age"], "sensitive": ["ill"], "direct": ["name"]}
    with shoal.open(source, only_aggregates=True) as table:
        assert shoal.check(table, **asked, k=20, rest="insensitive").facts.k == 20
        assert shoal.hierarchy(table, column="age").levels[0].groups == 3
        with pytest.raises(UsageError, match="every record has another value in column 'name'"):
            shoal.hierarchy(table, column="name")
        with pytest.raises(UsageError, match="a release is made of rows"):
            shoal.anonymize(table, **asked, k=3)
    some = [*ROWS[:59], ROWS[0]]
    with shoal.open(server.load(some, TYPES), only_aggregates=True) as table:  # one value twice: no identifier by its number
        assert shoal.hierarchy(table, column="name").levels[0].groups == 59


def test_only_aggregates_come_out(server: Target, tmp_path: Path) -> None:
    with shoal.open(server.load(ROWS, TYPES), only_aggregates=True, quasi=["age"], sensitive=["ill"], direct=["name"]) as table:
        assert table.n_rows() == 60
        assert table.numbers("name") == (60, 0)
        assert shoal.measure(table).k == 20
        refused: list[Any] = [
            lambda: list(table.scan()),
            lambda: table.first_rows(["age"], 1),
            lambda: table.count(["name"]),
            lambda: table.count(["age"], sensitive=["name"]),
            lambda: table.values("name"),
            lambda: table.recode(Plan(), tmp_path / "x.csv"),
            lambda: shoal.anonymize(table, quasi=["age"], sensitive=["ill"], direct=["name"], k=3).write(tmp_path / "release"),
        ]
        for ask in refused:
            with pytest.raises(UsageError, match="only aggregates are allowed"):
                ask()
        with_unit = table.with_roles(unit="name")
        assert with_unit.count(["age"]).n_people == 60
    assert list(tmp_path.iterdir()) == []


def test_a_column_without_a_role_may_hold_identifiers(server: Target) -> None:
    with shoal.open(server.load(ROWS, TYPES), only_aggregates=True) as table:
        with pytest.raises(UsageError, match="column 'age' may be identifiers"):
            table.count(["age"])
        found = shoal.inspect(table)
    assert found.records == 60
    assert {c.name: c.distinct for c in found.columns} == {"name": 60, "age": 3, "ill": 2}
    assert found.k is None
    assert any("Only aggregates were read" in note for note in found.notes)


def test_inspect_uses_the_columns_that_have_a_role(server: Target) -> None:
    source = server.load(ROWS, TYPES)
    command = [sys.executable, "-m", "shoal", "inspect", source, "--quasi", "age", "--only-aggregates", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["k"], found["suggested"]["quasi"], found["suggested"]["direct"]) == (20, ["age", "ill"], ["name"])
    assert "Zoë" not in done.stdout + done.stderr


def test_a_statement_that_takes_too_long_is_stopped(server: Target) -> None:
    source = server.load(ROWS, TYPES)
    if server.name == "duckdb":
        with pytest.raises(UsageError, match="for PostgreSQL, MySQL, MariaDB and SQLite"):
            shoal.open(source, statement_timeout="1s")
        return
    slow = server.fresh("slow")
    wait = "pg_sleep(3)::text" if server.name == "postgres" else "sleep(3)"
    name = server.quote(source.rpartition("::")[2])
    server.execute(f"CREATE VIEW {server.quote(slow)} AS SELECT age, {wait} AS w FROM {name} WHERE age = 20")
    with (
        shoal.open(server.source(slow), statement_timeout="2s", quasi=["age"]) as table,
        pytest.raises(EngineError, match=r"stopped the query(?s:.)*--statement-timeout"),
    ):
        table.count(["w"])


def test_files_have_no_aggregates(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("a\n1\n")
    with pytest.raises(UsageError, match="only tables in databases"):
        shoal.open(file, only_aggregates=True)


@pytest.mark.parametrize("wrong", ["", "0", "-1", "soon", "0.0009", "1d", "inf"])
def test_times_that_are_none(wrong: str) -> None:
    with pytest.raises(UsageError, match="no time"):
        seconds_of(wrong)


def test_the_shortest_time_is_a_millisecond() -> None:
    assert (seconds_of("1ms"), seconds_of("0.001"), seconds_of("24h")) == (0.001, 0.001, 86_400.0)
