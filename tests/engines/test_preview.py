"""``--preview``: the statements that a run sends, and none of them sent; the servers' own logs tell which were."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import shoal
from engines.targets import DuckDBTarget, MariaDBTarget, PostgresTarget, Target
from shoal.api.preview import preview
from shoal.errors import MissingColumnError, UsageError

pytestmark = pytest.mark.engine

ROWS = [{"id": i, "age": 20 + i % 3, "sex": "fm"[i % 2], "ill": f"d{i % 4}"} for i in range(120)]
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


def logged(server: Target, table: str, run: Callable[[str], Any]) -> list[str]:
    """What the server says that it carried out on a table while ``run`` worked with it."""
    if server.name == "postgres":
        log = Path(server.handle.folder) / "log"
        before = log.stat().st_size
        run(f"{server.handle.url}?options=-clog_statement%3Dall::{table}")
        text = log.read_bytes()[before:].decode()
        found = re.findall(r"LOG:  (?:execute [^:]*|statement): (.*)", text)
        found = [re.sub(r"^COPY \((.*)\) TO STDOUT \(FORMAT binary\)$", r"\1", s) for s in found]
        return [s for s in found if f'"{table}"' in s]
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
    foretold = [s.sql for s in found.statements if name in s.sql]
    sent = logged(server, name, lambda source: carried_out(verb, source, tmp_path))
    assert [bare(s) for s in foretold] == [bare(s) for s in sent]
    rows = {"measure": 1, "inspect": 1, "anonymize": 2}
    assert [s.returns for s in found.statements].count("rows") == rows.get(verb, 0)


def test_no_database_is_needed_to_be_a_server(tmp_path: Path) -> None:
    target = DuckDBTarget("duckdb", None, tmp_path)
    source = target.load(ROWS, TYPES)
    command = [sys.executable, "-m", "shoal", "anonymize", source, "--quasi", "age,sex", "--direct", "id", "--sensitive", "ill"]
    command += ["--k", "3", "--preview", "--out", str(tmp_path / "release"), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    told = json.loads(done.stdout)
    assert told["complete"]
    assert [s["returns"] for s in told["statements"]].count("rows") == 2
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
        preview("verify", str(file))
    with pytest.raises(MissingColumnError):
        preview("measure", server.load(ROWS, TYPES), quasi=["nowhere"])
