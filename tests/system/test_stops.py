"""Stops: whatever ends a run, no rows stay behind, or the next run removes them; exit codes are kept."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

import nursery
import shoal
from servers import postgres_server
from shoal.disk.atomic import YOUNG, passing_name, sweep

__all__ = ["postgres_server"]

MATRIX = """
import atexit, json, os, resource, runpy, signal, sys, tempfile, time
from pathlib import Path
import shoal.api.transform

def hidden(place):
    return [[p.name, p.stat().st_mode & 0o777] for d in (place, place / "tmp") for p in d.glob(".shoal-*")]

def stop_when_rows_are_written(number):
    sync = os.fsync
    def synced(handle):
        if os.fstat(handle).st_size > 1000:  # not a seed
            os.kill(os.getpid(), number)
        sync(handle)
    os.fsync = synced

def stop_when_a_table_is_made(number):
    from shoal.engines import connect
    from importlib import import_module
    for module, name in set(connect.SERVERS.values()):
        if "spark" in module:
            continue
        engine = getattr(import_module(module), name)
        for way in ("create_table", "load_table"):
            def made(self, *given, before=getattr(engine, way)):
                before(self, *given)
                os.kill(os.getpid(), number)
                time.sleep(0.001)  # here the signal is seen
            setattr(engine, way, made)

def run(place, words, end):
    child = os.fork()
    if child == 0:
        os.environ["TMPDIR"] = tempfile.tempdir = str(place / "tmp")
        out = os.open(place / "said", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(out, 1), os.dup2(out, 2)
        if end == "full disk":
            resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        elif end:
            stop = stop_when_a_table_is_made if "--to-table" in words else stop_when_rows_are_written
            stop(signal.Signals[end])
        sys.argv = ["shoal", *words]
        try:
            runpy.run_module("shoal", run_name="__main__")
        except SystemExit as stopped:
            atexit._run_exitfuncs(), sys.stdout.flush(), sys.stderr.flush()
            os._exit(int(stopped.code or 0))
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

found = []
for name, words, end in json.loads(sys.argv[2]):
    place = Path(sys.argv[1]) / f"{name} {end}"
    (place / "tmp").mkdir(parents=True)
    words = [w.replace("OUT", str(place / "out")).replace("NEW", f"new_{len(found)}") for w in words]
    code, left, made = run(place, words, end), hidden(place), [p.name for p in place.glob("out*")]
    again = run(place, words, "") if end == "SIGKILL" else 0
    said = (place / "said").read_text() if end == "full disk" else ""
    after = [p.name for p in place.glob("out*")]
    found.append({"case": [name, end], "code": code, "left": left, "made": made, "said": said, "again": again, "after": after,
                  "still": hidden(place)})
json.dump(found, sys.stdout)
"""
CODES = {"SIGINT": 130, "SIGTERM": 143, "SIGHUP": 129, "SIGKILL": -9}
WRITING = """
import os, signal, sys
from pathlib import Path
from shoal.disk.atomic import atomic
with atomic(Path(sys.argv[1])) as part:
    part.write_text("rows")
    os.kill(os.getpid(), signal.SIGKILL)
"""


MEASURED = ["measure", "-", "--quasi", "age", "--json"]


@contextmanager
def waiting(place: Path) -> Iterator[nursery.Child]:
    """A command that has begun to copy its table into a private file, and waits for the rest of it."""
    read, write = os.pipe()
    with open(os.devnull, "wb") as out, os.fdopen(write, "wb") as rows:
        streams = [read, out.fileno(), out.fileno()]
        started = nursery.Child(nursery.COMMAND, place, {**os.environ, "TMPDIR": str(place)}, streams, arguments=MEASURED)
        os.close(read)
        rows.write(b"age\n" + b"31\n" * 100_000)
        rows.flush()
        until = time.monotonic() + 600
        while not any(p.stat().st_size for p in place.glob(".shoal-stage-*/stdin.csv")):
            assert time.monotonic() < until
            time.sleep(0.02)
        yield started


def test_signals_leave_nothing_or_the_next_run_removes_it(tmp_path: Path) -> None:
    for name, code in CODES.items():
        place = tmp_path / name
        place.mkdir()
        with waiting(place) as started:
            started.send(signal.Signals[name])
            assert started.wait() == code
        left = [p.name for p in place.iterdir() if p.name.startswith(".shoal-stage-")]
        assert (len(left) == 1) == (name == "SIGKILL"), name
    killed = tmp_path / "SIGKILL"
    command = [sys.executable, "-m", "shoal", *MEASURED]
    subprocess.run(command, input=b"age\n1\n", env={**os.environ, "TMPDIR": str(killed)}, check=True, capture_output=True)
    assert list(killed.glob(".shoal-*")) == []


RELEASE = ["--policy", "POLICY"]
POLICY = "roles: {direct: [name], quasi: [age, sex]}\nrequire: {k: 3}\nmethod: lattice\n"
"""One method: how a plan is found has no part in how its writing is ended."""
ROWS = [(f"N{i}", 20 + i % 20, "fm"[i % 2]) for i in range(400)]


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("stops") / "people.csv"
    file.write_text("name,age,sex\n" + "".join(f"{name},{age},{sex}\n" for name, age, sex in ROWS))
    return file


def ended(cases: list[tuple[str, list[str], str]], folder: Path) -> list[dict[str, Any]]:
    """What is left of each command when it is ended where rows are written, or its table is made; and after another run."""
    policy = folder / "policy.yml"
    policy.write_text(POLICY)
    cases = [(name, [str(policy) if w == "POLICY" else w for w in words], end) for name, words, end in cases]
    code, out, told = nursery.run(MATRIX, folder, os.environ, arguments=[str(folder / "run"), json.dumps(cases)])
    assert code == 0, told
    found: list[dict[str, Any]] = json.loads(out)
    assert [tuple(f["case"]) for f in found] == [(name, end) for name, _, end in cases]
    for f in found:
        name, end = f["case"]
        assert f["code"] == (CODES | {"full disk": 3})[end], f
        assert f["made"] == [], "whole or not at all"
        assert bool(f["left"]) == (end == "SIGKILL"), f
        assert all(mode in (0o600, 0o700) for _, mode in f["left"]), "what a killed process leaves is private"
        assert f["still"] == [], f
        assert end != "full disk" or "disk is full" in f["said"] or "not enough disk space for " in f["said"], f
        assert "N17" not in f["said"]
        if name not in NOT_IN_ONE:
            assert f["again"] == 0, f
            written = {"transform": "out.csv", "attack": ""}.get(name, "out")
            assert (written in f["after"] or not written) == (end == "SIGKILL" or not written), f
    return found


NOT_IN_ONE = ("table of DuckDB",)
"""A new table of DuckDB is there before its certificate: one that a killed process left must be dropped by hand."""


def test_whatever_ends_a_command_that_writes_rows(people: Path, tmp_path: Path) -> None:
    """Stopped where rows lie on the disk: nothing stays but after kill -9, private then, and the next run removes it."""
    import duckdb

    plan, database, lite = tmp_path / "plan.yml", tmp_path / "people.duckdb", tmp_path / "people.sqlite"
    plan.write_text("steps:\n  - {column: age, noise: {scale: 5}}\n")
    with duckdb.connect(str(database)) as con:
        con.execute("CREATE TABLE t (name VARCHAR, age INTEGER, sex VARCHAR)")
        con.executemany("INSERT INTO t VALUES (?, ?, ?)", ROWS)
    with closing(sqlite3.connect(lite)) as file:
        file.execute("CREATE TABLE t (name TEXT, age INTEGER, sex TEXT)")
        file.executemany("INSERT INTO t VALUES (?, ?, ?)", ROWS)
        file.commit()
    shoal.anonymize(shoal.open(people), direct=["name"], quasi=["age", "sex"], k=3).write(tmp_path / "first")
    some = ["SIGTERM", "SIGKILL", "full disk"]
    to_table = [*RELEASE, "--to-table", "NEW", "--out", "OUT"]
    commands = {
        "release": (["anonymize", str(people), *RELEASE, "--out", "OUT"], [*CODES, "full disk"]),
        "transform": (["transform", str(people), "--plan", str(plan), "--out", "OUT.csv"], some),
        "release of DuckDB": (["anonymize", f"duckdb://{database}::t", *RELEASE, "--out", "OUT"], some[1:]),
        "release in Delta": (["anonymize", str(people), *RELEASE, "--format", "delta", "--out", "OUT"], some[1:]),
        "release after another": (
            ["anonymize", str(people), *RELEASE, "--previous", str(tmp_path / "first"), "--out", "OUT"],
            ["SIGKILL"],
        ),
        "attack": (["attack", str(tmp_path / "first"), "--with", str(people)], some),
        "table of DuckDB": (["anonymize", f"duckdb://{database}::t", *to_table], some),
        "release of SQLite": (["anonymize", f"sqlite:///{lite}::t", *RELEASE, "--out", "OUT"], some[1:]),
    }
    cases = [(name, words, end) for name, (words, ends) in commands.items() for end in ends]
    found = ended(cases, tmp_path)
    killed = {f["case"][0]: f"new_{i}" for i, f in enumerate(found) if f["case"][1] == "SIGKILL"}
    with duckdb.connect(str(database)) as con:
        assert {r[0] for r in con.execute("SHOW TABLES").fetchall()} == {"t", killed["table of DuckDB"]}


@pytest.mark.engine
def test_whatever_ends_a_release_into_a_server(postgres_server: Any, tmp_path: Path) -> None:
    """Stopped when the table is made: it is gone, with its transaction or because it is dropped."""
    import psycopg

    words = ["anonymize", f"{postgres_server.url}::stops", *RELEASE, "--to-table", "NEW", "--out", "OUT"]
    with psycopg.connect(postgres_server.url, autocommit=True) as con:
        con.execute("CREATE TABLE stops (name text, age int, sex text)")
        with con.cursor() as cursor:
            cursor.executemany("INSERT INTO stops VALUES (%s, %s, %s)", ROWS)
        ended([("table", words, end) for end in ("SIGTERM", "SIGKILL", "full disk")], tmp_path)
        names = {r[0] for r in con.execute("SELECT tablename FROM pg_tables WHERE tablename LIKE 'new%'").fetchall()}
        assert names == {"new_1"}, "of the run after the killed one"
        con.execute("DROP TABLE stops, new_1")


LOSING = """
import os, signal, sys, time
import shoal.__main__ as command, shoal.cli
command.AGAIN = 3.0

class Loses:
    def __del__(self):
        os.kill(os.getpid(), getattr(signal, sys.argv[1]))
        time.sleep(0.001)

def run():
    Loses()
    time.sleep(600)

shoal.cli.main = run
command.main()
"""


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_an_end_that_foreign_code_loses_is_raised_again(name: str) -> None:
    """An exception inside ``__del__`` goes no further, as in a callback of a library."""
    ended, _, told = nursery.run(LOSING, Path.cwd(), os.environ, arguments=[name])
    assert ended == CODES[name], told


LATE = """
import os, signal, sys
import shoal.cli, shoal.__main__ as command

class Late:
    def __del__(self, kill=os.kill, number=os.getpid(), end=signal.Signals[sys.argv[1]]):
        kill(number, end)

late = Late()  # names of the main module go last
shoal.cli.main = lambda: None
command.main()
"""


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_an_end_that_comes_when_all_is_done_does_not_change_the_exit_code(name: str) -> None:
    done = subprocess.run([sys.executable, "-c", LATE, name], capture_output=True, timeout=300, check=False)
    assert done.returncode == 0


def test_a_file_that_a_killed_process_was_writing_is_removed_by_the_next(tmp_path: Path) -> None:
    target = tmp_path / "people.csv"
    ended = subprocess.run([sys.executable, "-c", WRITING, str(target)], check=False)
    assert ended.returncode == -signal.SIGKILL
    (left,) = tmp_path.iterdir()
    assert left.name.startswith(".shoal-part-")
    assert left.stat().st_mode & 0o077 == 0
    from shoal.disk.atomic import atomic, write_text

    with atomic(target) as mine:
        assert not left.exists()
        os.utime(mine, (0, 0))
        write_text(tmp_path / "other.txt", "x")
        assert mine.exists(), "a file in use stays, however old"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["other.txt", "people.csv"]


def test_a_seed_that_a_killed_process_kept_goes_with_its_output(tmp_path: Path) -> None:
    from shoal.engines.recode.write import keep_seed, kept_beside, place_of, read_seed

    def left(seed: int, output: str) -> None:
        hidden = tmp_path / f".shoal-kept-{2**22 + 1}-{seed:016x}"  # no process has this number
        keep_seed(hidden, seed, output)
        os.utime(hidden, ns=(10, 10))

    for name, written in (("there.csv", 10), ("older.csv", 9), ("named.csv", 11)):
        (tmp_path / name).write_text("x")
        os.utime(tmp_path / name, ns=(written, written))
    keep_seed(place_of(tmp_path / "named.csv"), 5, "named.csv")
    left(1, "there.csv")
    left(2, "older.csv")
    left(3, "nowhere.csv")
    left(4, "named.csv")
    with kept_beside(tmp_path / "new.csv", None):
        pass
    assert read_seed(place_of(tmp_path / "there.csv")) == 1
    assert read_seed(place_of(tmp_path / "named.csv")) == 5
    assert len(list(tmp_path.glob("*.private.json"))) == 2
    assert list(tmp_path.glob(".shoal-*")) == []


@pytest.mark.parametrize(("age", "stays"), [(YOUNG - 50, True), (YOUNG + 5, False)])
def test_a_free_file_of_a_living_number_stays_while_it_is_young(age: float, stays: bool, tmp_path: Path) -> None:
    left = tmp_path / passing_name("part", ".csv")
    left.write_text("x")
    os.utime(left, (time.time() - age, time.time() - age))
    sweep(tmp_path, "part")
    assert left.exists() == stays


def test_names_of_others_are_never_swept(tmp_path: Path) -> None:
    for name in (".shoal-part-1-xyz.csv", ".shoal-part-notes.csv", f".shoal-part-{2**22 + 1}-{'0' * 15}.csv"):
        (tmp_path / name).write_text("x")
    sweep(tmp_path, "part")
    assert len(list(tmp_path.iterdir())) == 3
