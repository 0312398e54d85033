"""What an administrator demands: statements that end in time, and nothing but aggregates."""

from __future__ import annotations

import base64
import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import shoal
from engines.targets import DuckDBTarget, MariaDBTarget, PostgresTarget, Target
from shoal.engines.core.limits import limit_every_statement, limit_of, seconds_of
from shoal.errors import EngineError, ShoalWarning, UsageError
from shoal.model.plan import Plan

pytestmark = pytest.mark.engine

ROWS = [{"name": f"Zoë-{i}", "age": 20 + i % 3, "ill": "ab"[i % 2]} for i in range(60)]
TYPES = {"name": "text", "age": "integer", "ill": "text"}
KINDS: dict[str, Any] = {"postgres": PostgresTarget, "mariadb": MariaDBTarget, "duckdb": DuckDBTarget}


ENDLESS = (
    "CREATE VIEW {v} AS WITH RECURSIVE g(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM g) "
    "SELECT i AS id, i % 7 AS age, 'f' AS sex, 'x' AS place, 'n' AS name FROM g"
)
"""A table that nobody reads to its end."""


@pytest.fixture(scope="session", params=KINDS)
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Target:
    handle = None if request.param == "duckdb" else request.getfixturevalue(f"{request.param}_server")
    made: Target = KINDS[request.param](request.param, handle, tmp_path_factory.mktemp("limits"))
    return made


def test_check_and_hierarchy_read_aggregates_of_named_columns(server: Target) -> None:
    source = server.load(ROWS, TYPES)
    asked: dict[str, Any] = {"quasi": ["age"], "sensitive": ["ill"], "direct": ["name"]}
    with shoal.open(source, only_aggregates=True) as table:
        assert shoal.check(table, **asked, k=20).facts.k == 20
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
    slow = server.fresh("slow")
    if server.name == "duckdb":
        many = "range(1000000)"
        server.execute(f"CREATE VIEW {slow} AS SELECT (a.i * b.i) % 1000003 AS age FROM {many} AS a(i), {many} AS b(i)")
        with shoal.open(server.source(slow), statement_timeout="200ms", quasi=["age"]) as table:
            for work in (table.count, lambda: list(table.scan()), lambda: table.recode(Plan(()), "::new")):
                with pytest.raises(EngineError, match=r"stopped the query(?s:.)*--statement-timeout"):
                    work()
        assert "new" not in server.tables()
        with shoal.open(source, statement_timeout="1h", quasi=["age"]) as table:
            assert table.count().n_records == len(ROWS) == sum(len(b) for b in table.scan())
        return
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


def test_statements_of_files_are_not_limited_and_that_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from shoal.cli import main

    file = tmp_path / "a.csv"
    file.write_text("a\n1\n1\n")
    with pytest.raises(UsageError, match="only statements of databases can be limited"):
        shoal.open(file, statement_timeout="1s")

    def told(*words: str) -> str:
        with pytest.raises(SystemExit) as ended:
            main([*words, "--quasi", "a", "--json"])
        assert ended.value.code == 0
        return str(capsys.readouterr().err)

    note = "Note: the limit on statements (--statement-timeout) is for databases; files are read without one."
    for words in (["measure", str(file)], ["compare", str(file), str(file)]):
        assert told(*words, "--statement-timeout", "1s").count(note) == 1
        assert "Note:" not in told(*words)
        assert told(*words, "--statement-timeout", "1s", "--quiet") == ""


def test_tables_released_together_are_refused_in_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from shoal.cli import main

    policy = tmp_path / "policy.yml"
    policy.write_text("tables:\n  person: {table: nowhere.csv, roles: {quasi: [age]}}\nrequire: {k: 2}\n")
    for option, words in (("--preview", "cannot be previewed"), ("--only-aggregates", "a release consists of rows")):
        with pytest.raises(SystemExit) as ended:
            main(["anonymize", "--policy", str(policy), "--out", str(tmp_path / "out"), option])
        assert ended.value.code == 2
        assert words in capsys.readouterr().err


@pytest.mark.parametrize("wrong", ["", "0", "-1", "soon", "0.0009", "1d", "inf"])
def test_times_that_are_none(wrong: str) -> None:
    with pytest.raises(UsageError, match="not a duration"):
        seconds_of(wrong)


def test_the_shortest_time_is_a_millisecond() -> None:
    assert (seconds_of("1ms"), seconds_of("0.001"), seconds_of("24h")) == (0.001, 0.001, 86_400.0)


COMMANDS = {
    "inspect": "inspect {t}",
    "measure": "measure {t} --quasi age",
    "measure of events": "measure {t} --unit id --place place",
    "check": "check {t} --quasi age --k 2 --rest drop",
    "hierarchy": "hierarchy {t} --column age",
    "study": "study {t} --quasi age,sex",
    "table": "table {t} --rows age --columns sex",
    "transform": "transform {t} --plan {plan} --out {out}.csv",
    "anonymize": "anonymize {t} --quasi age,sex --k 2 --out {out} --rest drop",
    "compare": "compare {t} {t} --quasi age",
    "compare, the second": "compare {file} {t} --quasi age",
    "attack": "attack {file} --original {t} --control {file}",
    "link": "link {file} {t}",
    "encode": "encode {t} --id id --key-file {key} --out {out}",
    "predict": "predict quasi --table {t} --quasi age,sex",
    "predict zipf": "predict zipf --table {t}:place --people 10",
    "design": "design --pilot {t} --quasi age,sex --population 5000 --respondents 10",
    "registry publish": "registry publish {t} --quasi age=age/years --population NL@2021 --dry-run",
}


def test_every_command_that_reads_tables_ends_its_statements_in_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from shoal.cli import main

    server = DuckDBTarget("duckdb", None, tmp_path)
    server.execute(ENDLESS.format(v="endless"))
    files = {name: tmp_path / name for name in ("file", "plan", "key")}
    files["file"] = files["file"].with_suffix(".csv")
    files["file"].write_text("id,age,sex,place,name\n" + "".join(f"{i},{i % 7},f,x,n\n" for i in range(40)))
    files["plan"].write_text('{"steps": [{"column": "age", "round": {"base": 5}}]}')
    files["key"].write_bytes(base64.b64encode(hashlib.sha256(b"key").digest()))
    files["key"].chmod(0o600)
    for what, line in COMMANDS.items():
        spoken = line.format(t=server.source("endless"), out=tmp_path / "never", **files)
        with pytest.raises(SystemExit) as ended:
            main([*spoken.split(), "--statement-timeout", "1ms"])
        told = capsys.readouterr()
        assert (ended.value.code, "time limit" in told.err) == (3, True), f"{what}: {told.err}"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["contract.duckdb", "file.csv", "key", "plan"]
    with pytest.raises(SystemExit) as ended:
        main(["compare", str(files["file"]), str(files["file"]), "--quasi", "age", "--statement-timeout", "soon"])
    assert ended.value.code == 2
    with pytest.raises(SystemExit) as ended:  # the limit of one command is not that of the next
        main(["compare", str(files["file"]), str(files["file"]), "--quasi", "age", "--json"])
    assert limit_of(None, in_database=True) is None


def test_the_limit_of_every_statement_is_for_databases() -> None:
    limit_every_statement("2s")
    try:
        assert limit_of(None, in_database=True) == 2.0
        with pytest.warns(ShoalWarning, match="files are read without one"):
            assert limit_of(None, in_database=False) is None
        assert limit_of("2s", in_database=False) is None, "said once"
        assert (limit_of("3s", in_database=True), limit_of("3s", in_database=False)) == (3.0, 3.0)
    finally:
        limit_every_statement(None)
