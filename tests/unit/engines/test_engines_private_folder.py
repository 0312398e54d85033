"""Private folders go with their engine, and after a crash with the next process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from shoal.disk import atomic as folders
from shoal.engines.open import open as open_table

SECRET = "Zoë-7731"

CHILD = """
import os, signal, sys
from shoal.engines.open import open as open_table
table = open_table(sys.argv[1])
os.kill(os.getpid(), signal.SIGKILL)
"""


def inside(place: Path) -> list[Path]:
    return sorted(place.glob(folders.PREFIX + "*"))


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for temporary files of its own, that was never looked at."""
    place = tmp_path / "tmp"
    place.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(place))
    folders._sweep_once.cache_clear()
    return place


def test_what_a_killed_process_leaves_is_removed_by_the_next(tmp_path: Path, place: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_bytes(f"a;b\n{SECRET};1\n".encode("utf-16"))
    environment = {**os.environ, "TMPDIR": str(place)}
    ended = subprocess.run([sys.executable, "-c", CHILD, str(file)], env=environment, check=False)
    assert ended.returncode == -signal.SIGKILL
    (left,) = inside(place)
    assert any(SECRET in p.read_text(encoding="utf-8") for p in left.glob("*.csv"))
    assert left.stat().st_mode & 0o077 == 0

    with open_table(file):
        (mine,) = inside(place)
        assert mine != left, "the folder of the dead process goes, that of a living one stays"
        os.utime(mine, (0, 0))
        folders.sweep_scratch(place)
        assert inside(place) == [mine], "however old, a folder in use stays"
    assert inside(place) == []


def test_a_free_folder_of_a_living_process_stays_while_it_is_young(place: Path) -> None:
    """Between making a folder and locking it, only its process tells that it is in use."""
    left = place / f"{folders.PREFIX}{os.getpid()}-{'0' * 16}"
    left.mkdir()
    folders.sweep_scratch(place)
    assert left.exists()
    os.utime(left, (0, 0))
    folders.sweep_scratch(place)
    assert not left.exists(), "a process of another container, or an earlier one, had this number"


def test_a_locked_folder_of_a_number_that_does_not_live_here_stays(place: Path) -> None:
    """Another container on the same disk: its processes have numbers of their own."""
    with folders.scratch() as mine:
        theirs = mine.rename(place / f"{folders.PREFIX}{2**22 + 1}-{'0' * 16}")
        os.utime(theirs, (0, 0))
        folders.sweep_scratch(place)
        assert theirs.exists()
    folders.sweep_scratch(place)
    assert not theirs.exists()


@pytest.mark.parametrize(
    "name", ["shoal-work-x", f"{folders.PREFIX}x", f"{folders.PREFIX}12-0123", f"{folders.PREFIX}1-{'g' * 16}"]
)
def test_only_private_folders_are_swept(place: Path, name: str) -> None:
    other = place / name
    other.mkdir()
    os.utime(other, (0, 0))
    (place / "linked").mkdir()
    link = place / f"{folders.PREFIX}{2**22 + 1}-{'1' * 16}"
    link.symlink_to(place / "linked")
    folders.sweep_scratch(place)
    assert other.exists()
    assert link.is_symlink()


def test_without_locks_nothing_is_swept_and_everything_works(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fcntl", None)  # as on Windows: the import fails
    left = place / f"{folders.PREFIX}{2**22 + 1}-{'0' * 16}"
    left.mkdir()
    os.utime(left, (0, 0))
    with folders.scratch() as mine:
        assert mine.is_dir()
        assert mine.stat().st_mode & 0o077 == 0
    assert inside(place) == [left]


def test_sigterm_leaves_nothing_behind(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "shoal", "demo", "--people", "3000000"]
    process = subprocess.Popen(command, cwd=tmp_path, env={**os.environ, "TMPDIR": str(tmp_path)}, stderr=subprocess.DEVNULL)
    try:
        while not inside(tmp_path) and process.poll() is None:
            time.sleep(0.01)
        assert process.poll() is None, "it ended before it could be stopped"
        process.terminate()
        assert process.wait() == 128 + signal.SIGTERM
    finally:
        process.kill()
    assert list(tmp_path.iterdir()) == []
