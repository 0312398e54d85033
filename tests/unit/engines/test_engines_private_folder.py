"""Private folders go with their engine, and after a crash with the next process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from shoal.disk import scratch as folders
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


def test_what_a_killed_process_leaves_is_removed_by_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "tmp"
    place.mkdir()
    file = tmp_path / "t.csv"
    file.write_bytes(f"a;b\n{SECRET};1\n".encode("utf-16"))
    environment = {**os.environ, "TMPDIR": str(place)}
    ended = subprocess.run([sys.executable, "-c", CHILD, str(file)], env=environment, check=False)
    assert ended.returncode == -signal.SIGKILL
    (left,) = inside(place)
    assert any(SECRET in p.read_text(encoding="utf-8") for p in left.glob("*.csv"))
    assert left.stat().st_mode & 0o077 == 0

    monkeypatch.setattr("tempfile.tempdir", str(place))
    folders._sweep.cache_clear()
    with open_table(file):
        assert left in inside(place), "a young folder may belong to a process that is just beginning"
        (mine,) = [p for p in inside(place) if p != left]
        for folder in (left, mine):
            os.utime(folder, (0, 0))
        folders._sweep.cache_clear()
        folders._sweep(str(place))
        assert inside(place) == [mine], "the folder of the dead process goes, that of a living one stays"
    assert inside(place) == []
