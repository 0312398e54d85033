"""``--preview``: the statements that a run sends, and none of them sent; the servers' own logs tell which were."""

from __future__ import annotations

import datetime as dt
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import shoal
from engines.targets import DuckDBTarget, MariaDBTarget, PostgresTarget, Target
from shoal.api.preview import preview
from shoal.errors import MissingColumnError, UsageError

pytestmark = pytest.mark.engine

ROWS = [{"id": i, "age": 20 + i % 3, "sex": "fm"[i % 2], "ill": f"d{i % 5}"} for i in range(120)]
TYPES = {"id": "integer", "age": "integer", "sex": "text", "ill": "text"}
ROLES: dict[str, Any] = {"direct": ["id"], "quasi": ["age", "sex"], "sensitive": ["ill"]}
VERBS: dict[str, dict[str, Any]] = {
    "measure": {"quasi": ["age"], "sensitive": ["ill"], "direct": ["id"]},
    "hierarchy": {"column": "age"},
    "check": ROLES | {"k": 3},
    "inspect": {},
    "anonymize": ROLES | {"k": 3},
}


@pytest.fixture(scope="session", params=["postgres", "mariadb"])
def server(request: pytest.FixtureRequest) -> Target:
    kinds: dict[str, Callable[..., Target]] = {"postgres": PostgresTarget, "mariadb": MariaDBTarget}
    return kinds[request.param](request.param, request.getfixturevalue(f"{request.param}_server"))


def logged(server: Target, table: str, run: Callable[[str], Any], also: str = "") -> list[str]:
    """What the server says that it applied to a table (and ``also`` another) while ``run`` worked with it."""
    if server.name == "postgres":
        log = Path(server.handle.folder) / "log"
        before = log.stat().st_size
        run(f"{server.handle.url}?options=-clog_statement%3Dall::{table}")
        text = log.read_bytes()[before:].decode()
        found = re.findall(r"LOG:  (?:execute [^:]*|statement): (.*)", text)
        found = [re.sub(r"^COPY \((.*)\) TO STDOUT \(FORMAT binary\)$", r"\1", s) for s in found]
        return [s for s in found if f'"{table}"' in s or f'"{also}"' in s]
    server.execute("SET GLOBAL log_output = 'TABLE'", "TRUNCATE mysql.general_log", "SET GLOBAL general_log = 1")
    try:
        run(server.source(table))
    finally:
        server.execute("SET GLOBAL general_log = 0")
    with server.connect() as con, con.cursor() as cursor:  # type: ignore[attr-defined]
        text = "SELECT CONVERT(argument USING utf8mb4) FROM mysql.general_log"
        cursor.execute(f"{text} WHERE command_type = 'Query' ORDER BY event_time")
        return [s for (s,) in cursor.fetchall() if f"`{table}`" in s]


def carried_out(verb: str, source: str, folder: Path) -> None:
    with shoal.open(source) as table:
        made: Any = getattr(shoal, verb)(table, **VERBS[verb])
        if verb == "anonymize":
            made.write(folder / "release")


def bare(statement: str) -> str:
    """A statement; of the one that writes the release what it reads, since levels follow from what is counted."""
    found = re.search(r"""\(SELECT ["`]t["`][^()]*\)""", statement)
    return found[0] if re.match(r"""SELECT ["`]f["`]""", statement) and found else statement


@pytest.mark.parametrize("verb", VERBS)
def test_a_preview_tells_what_a_run_sends_and_sends_nothing(server: Target, verb: str, tmp_path: Path) -> None:
    name = server.load(ROWS, TYPES).rpartition("::")[2]
    found: Any = None

    def ask(source: str) -> None:
        nonlocal found
        found = preview(verb, source, **VERBS[verb])

    assert logged(server, name, ask) == []
    assert found.complete
    predicted = [s.sql for s in found.statements if name in s.sql]
    sent = logged(server, name, lambda source: carried_out(verb, source, tmp_path))
    assert [bare(s) for s in predicted] == [bare(s) for s in sent]
    rows = {"measure": 1, "inspect": 1, "anonymize": 3}
    assert [s.returns for s in found.statements].count("rows") == rows.get(verb, 0)


NAMED = {"first_name": "text", "surname": "text", "dob": "date", "place": "text"}
PEOPLE = [
    {**row, "first_name": f"n{i}", "surname": f"s{i % 50}", "dob": dt.date(1950 + i % 60, 1 + i % 12, 1), "place": f"p{i % 9}"}
    for i, row in enumerate(ROWS)
]
OTHERS: dict[str, tuple[str, dict[str, Any], int]] = {  # the verb, its words, statements that return rows (of two tables)
    "compare": ("compare", {"release": "OTHER", "quasi": ["age", "sex"], "models": False}, 2),
    "attack": ("attack", {"original": "OTHER", "key": "id", "numbers": ["age"]}, 4),
    "attack a release": ("attack", {"with_": "OTHER"}, 2),
    "encode": ("encode", {"id": "id", "key": bytes(range(32))}, 1),
    "predict quasi": ("predict", {"question": "quasi", "columns": ["age", "sex"]}, 0),
    "predict zipf": ("predict", {"question": "zipf", "column": "place", "unit": "id"}, 0),
    "publish": ("publish", {"columns": ["age", "sex"], "unit": "id"}, 0),
}


def carried_out_on(verb: str, first: Any, words: dict[str, Any]) -> None:
    if verb == "predict":
        column = words.pop("column", None)
        shoal.predict(words.pop("question"), table=first if column is None else (first, column), **words)
    elif verb == "publish":
        first.count(**words)
    else:
        getattr(shoal, verb)(first, **words)


@pytest.mark.parametrize("case", OTHERS)
def test_commands_of_two_tables_and_predictions_are_previewed(case: str, postgres_server: Any, tmp_path: Path) -> None:
    server = PostgresTarget("postgres", postgres_server)
    verb, words, rows = OTHERS[case]
    sources = [server.load(PEOPLE, TYPES | NAMED) for _ in range(2)]
    tables = [s.rpartition("::")[2] for s in sources]
    folder = tmp_path / "release"
    if "release" in case:
        with shoal.open({n: [r[n] for r in PEOPLE] for n in ("age", "sex")}) as table:
            shoal.anonymize(table, quasi=["age", "sex"], k=3).write(folder)
    found: Any = None

    def ask(source: str) -> None:
        nonlocal found
        given = {n: source.replace(*tables) if v == "OTHER" else v for n, v in words.items()}
        found = preview(verb, str(folder) if "release" in case else source, **given)

    def run(source: str) -> None:
        with shoal.open(source) as one, shoal.open(source.replace(*tables)) as two:
            given = {n: two if v == "OTHER" else v for n, v in words.items()}
            carried_out_on(verb, str(folder) if "release" in case else one, given)

    assert logged(server, tables[0], ask, tables[1]) == []
    assert found.complete
    assert [s.returns for s in found.statements].count("rows") == rows
    predicted = [s.sql for s in found.statements if any(f'"{t}"' in s.sql for t in tables)]
    assert [bare(s) for s in predicted] == [bare(s) for s in logged(server, tables[0], run, tables[1])]


def commands(group: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, f"{path}{name} ")
        else:
            yield f"{path}{name}", command


WITHOUT = {
    "doctor": "asks for a table's columns only",
    "studio": "a service",
    "vault": "one SELECT of the columns that are named, inside a session that is logged",
}
"""Commands that read tables and have no preview, and why."""


def test_every_command_that_can_read_a_database_has_a_preview() -> None:
    import typer

    from shoal.cli import build

    found = set()
    for name, command in commands(typer.main.get_command(build())):
        takes = {p.name for p in command.params} & {
            "table",
            "tables",
            "original",
            "control",
            "external",
            "left",
            "right",
            "pilot",
        }
        says = any("ENGINE-URL" in (getattr(p, "help", None) or "") for p in command.params)
        if (takes or says) and name.split()[0] not in WITHOUT:
            assert "preview" in {p.name for p in command.params}, f"shoal {name} reads tables and has no --preview"
            found.add(name)
        if (takes or says) and name.split()[0] != "studio":
            assert "statement_timeout" in {p.name for p in command.params}, (
                f"shoal {name} reads tables without --statement-timeout"
            )
    assert {"measure", "compare", "attack", "link", "encode", "verify", "design", "predict zipf", "registry publish"} <= found


def test_previews_of_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each command hands its words on: on DuckDB, which answers without a server."""
    from shoal.cli import main

    target = DuckDBTarget("duckdb", None, tmp_path)
    one, two = (target.load(PEOPLE, TYPES | NAMED) for _ in range(2))
    runs = {
        f"compare {one} {two} --quasi age": 2,
        f"attack {one} --original {two} --key id --numbers age": 4,
        f"attack {one} --original {one} --control {two}": 3,
        f"link {one} {two}": 2,
        f"encode {one} --id id --key-file nowhere --out {tmp_path}/never": 1,
        f"predict quasi --table {one} --quasi age,sex": 0,
        f"predict population --population 5000 --table {one} --quasi age,sex": 0,
        f"predict zipf --table {one}:place --people 10": 0,
        f"design --pilot {one} --quasi age,sex --population 5000 --respondents 10": 0,
        f"registry publish {one} --quasi age=age/years --population NL@2021 --ledger {tmp_path}/never": 0,
    }
    for line, rows in runs.items():
        with pytest.raises(SystemExit) as ended:
            main([*line.split(), "--preview", "--json"])
        assert ended.value.code == 0, line
        found = json.loads(capsys.readouterr().out)
        assert found["complete"], line
        assert [s["returns"] for s in found["statements"]].count("rows") == rows, line
        assert found["statements"], line
    assert [p.name for p in tmp_path.iterdir()] == [target.file.name]


def test_no_database_is_needed_to_be_a_server(tmp_path: Path) -> None:
    target = DuckDBTarget("duckdb", None, tmp_path)
    source = target.load(ROWS, TYPES)
    command = [sys.executable, "-m", "shoal", "anonymize", source, "--quasi", "age,sex", "--direct", "id", "--sensitive", "ill"]
    command += ["--k", "3", "--preview", "--out", str(tmp_path / "release"), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    told = json.loads(done.stdout)
    assert told["complete"]
    assert [s["returns"] for s in told["statements"]].count("rows") == 3
    assert [p.name for p in tmp_path.iterdir()] == [target.file.name]


def test_lists_that_no_made_up_value_is_on_end_the_walk_but_not_the_preview(server: Target, tmp_path: Path) -> None:
    levels = tmp_path / "sex.csv"
    levels.write_text("f;*\nm;*\n")
    asked = ROLES | {"quasi": {"age": {}, "sex": {"hierarchy": str(levels)}}, "k": 3}
    found = preview("anonymize", server.load(ROWS, TYPES), **asked)
    assert not found.complete
    assert "What follows depends on the data" in found.note
    assert found.statements[-1].returns == "rows"


def test_a_new_table_is_foretold_and_not_made(server: Target) -> None:
    name = server.fresh("published")
    found = preview("anonymize", server.load(ROWS, TYPES), to_table=name, **VERBS["anonymize"])
    assert any(s.sql.startswith("CREATE TABLE") and name in s.sql for s in found.statements)
    assert name not in server.tables()


def test_what_cannot_be_previewed_is_said(server: Target, tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("a\n1\n")
    with pytest.raises(UsageError, match="only tables in databases"):
        preview("inspect", str(file))
    with pytest.raises(UsageError, match="has no preview"):
        preview("serve", str(file))
    with pytest.raises(MissingColumnError):
        preview("measure", server.load(ROWS, TYPES), quasi=["nowhere"])
