"""Stops: whatever ends a run, no rows stay behind, or the next run removes them; exit codes are kept."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from shoal.disk.passing import YOUNG, passing_name, sweep

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
    until = time.monotonic() + 120
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
        started.wait(60)
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


@pytest.mark.parametrize(("age", "stays"), [(YOUNG - 5, True), (YOUNG + 5, False)])
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
