"""Stops: whatever ends a run, no rows stay behind, or the next run removes them; exit codes are kept."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from shoal.disk.passing import YOUNG, passing_name, sweep

MATRIX = """
import json, os, resource, runpy, signal, sys, tempfile
from pathlib import Path

import duckdb, numpy, pyarrow.csv, pyarrow.parquet, shoal.api.anonymize, shoal.api.transform, shoal.cli, shoal.report

def hidden(place):
    return [[p.name, p.stat().st_mode & 0o777] for d in (place, place / "tmp") for p in d.glob(".shoal-*")]

def stop_when_rows_are_written(number):
    sync = os.fsync
    def synced(handle):
        if os.fstat(handle).st_size > 1000:  # not a seed
            os.kill(os.getpid(), number)
        sync(handle)
    os.fsync = synced

def run(place, words, end):
    child = os.fork()
    if child == 0:
        os.environ["TMPDIR"] = tempfile.tempdir = str(place / "tmp")
        out = os.open(place / "said", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(out, 1), os.dup2(out, 2)
        if end == "full disk":
            resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        elif end:
            stop_when_rows_are_written(signal.Signals[end])
        sys.argv = ["shoal", *words]
        try:
            runpy.run_module("shoal", run_name="__main__")
        except SystemExit as stopped:
            sys.stdout.flush(), sys.stderr.flush()
            os._exit(int(stopped.code or 0))
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

found = []
for name, words, end in json.load(sys.stdin):
    place = Path(sys.argv[1]) / f"{name} {end}"
    (place / "tmp").mkdir(parents=True)
    words = [w.replace("OUT", str(place / "out")) for w in words]
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


def waiting(place: Path) -> subprocess.Popen[bytes]:
    """A command that has begun to copy its table into a private file, and waits for the rest of it."""
    environment = {**os.environ, "TMPDIR": str(place)}
    command = [sys.executable, "-m", "shoal", "measure", "-", "--quasi", "age", "--json"]
    pipe = subprocess.PIPE
    started = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env=environment)
    assert started.stdin is not None
    started.stdin.write(b"age\n" + b"31\n" * 100_000)
    started.stdin.flush()
    until = time.monotonic() + 600
    while not any(p.stat().st_size for p in place.glob(".shoal-stage-*/stdin.csv")):
        assert started.poll() is None
        assert time.monotonic() < until
        time.sleep(0.02)
    return started


def test_signals_leave_nothing_or_the_next_run_removes_it(tmp_path: Path) -> None:
    for name, code in CODES.items():
        place = tmp_path / name
        place.mkdir()
        started = waiting(place)
        started.send_signal(signal.Signals[name])
        started.wait(300)
        for stream in (started.stdin, started.stdout, started.stderr):
            assert stream is not None
            stream.close()
        assert started.returncode == code
        left = [p.name for p in place.iterdir() if p.name.startswith(".shoal-stage-")]
        assert (len(left) == 1) == (name == "SIGKILL"), name
    killed = tmp_path / "SIGKILL"
    command = [sys.executable, "-m", "shoal", "measure", "-", "--quasi", "age", "--json"]
    subprocess.run(command, input=b"age\n1\n", env={**os.environ, "TMPDIR": str(killed)}, check=True, capture_output=True)
    assert list(killed.glob(".shoal-*")) == []


def test_whatever_ends_a_command_that_writes_rows(tmp_path: Path) -> None:
    """Stopped where rows lie on the disk: nothing stays but after kill -9, private then, and the next run removes it."""
    people = tmp_path / "people.csv"
    people.write_text("name,age,sex\n" + "".join(f"N{i},{20 + i % 20},{'fm'[i % 2]}\n" for i in range(400)))
    plan = tmp_path / "plan.yml"
    plan.write_text("steps:\n  - {column: age, noise: {scale: 5}}\n")
    release = ["anonymize", str(people), "--direct", "name", "--quasi", "age,sex", "--k", "3", "--out", "OUT"]
    transform = ["transform", str(people), "--plan", str(plan), "--out", "OUT.csv"]
    ends = [*CODES, "full disk"]
    cases = [(name, words, end) for name, words in (("release", release), ("transform", transform)) for end in ends]
    done = subprocess.run(
        [sys.executable, "-c", MATRIX, str(tmp_path / "run")],
        input=json.dumps(cases),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert [tuple(f["case"]) for f in found] == [(name, end) for name, _, end in cases]
    for f in found:
        name, end = f["case"]
        assert f["code"] == (CODES | {"full disk": 3})[end], f
        assert f["made"] == [], "whole or not at all"
        assert bool(f["left"]) == (end == "SIGKILL"), f
        assert all(mode in (0o600, 0o700) for _, mode in f["left"]), "what a killed process leaves is private"
        assert (f["again"], f["still"]) == (0, []), f
        assert (("out" if name == "release" else "out.csv") in f["after"]) == (end == "SIGKILL")
        full = "no room for the rows in the temporary folder" if name == "transform" else "the disk is full"  # rows wait there
        assert end != "full disk" or full in f["said"]
        assert "N17" not in f["said"]


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
    time.sleep(60)

shoal.cli.main = run
command.main()
"""


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_an_end_that_foreign_code_loses_is_raised_again(name: str) -> None:
    """An exception inside ``__del__`` goes no further, as in a callback of a library."""
    done = subprocess.run([sys.executable, "-c", LOSING, name], capture_output=True, timeout=50, check=False)
    assert done.returncode == CODES[name]


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
    from shoal.engines.recode.seed import keep_seed, kept_beside, place_of, read_seed

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
