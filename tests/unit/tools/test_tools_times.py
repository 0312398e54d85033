"""Times of new test files are added to the list; what is gone leaves it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import test_times as tool


def test_new_files_are_added_and_gone_ones_leave(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A test is slow if it takes longer than the quickest slow one: 0.2 s for all its cases is not."""
    monkeypatch.setattr(tool, "ROOT", tmp_path)
    monkeypatch.setattr(tool, "TIMES", tmp_path / "times.txt")
    tool.TIMES.write_text(
        f"{tool.HEAD}     0.3 test_old.py\n     2.0 test_gone.py\n"
        "     0.2 test_old.py::test_slow\n     0.1 test_old.py::test_gone\n     9.0 test_old.py::TestAll::test_slow\n"
    )
    (tmp_path / "test_old.py").write_text("def test_slow():\n    pass\n")
    for name in ("test_new.py", "test_heavy.py"):
        (tmp_path / name).write_text("")
    lines = [("new.py::test_a[x]", 0.1), ("new.py::test_a[y]", 0.1), ("new.py::test_b", 0.21), ("heavy.py::test_c", 0.3)]
    record = tmp_path / "record"
    record.write_text("".join(json.dumps([f"test_{name}", seconds]) + "\n" for name, seconds in lines))
    tool.add_times(record)
    assert tool.TIMES.read_text() == (
        f"{tool.HEAD}    -1.0 test_heavy.py\n     0.2 test_new.py\n     0.3 test_old.py\n"
        "     0.3 test_heavy.py::test_c\n     0.2 test_new.py::test_b\n"
        "     9.0 test_old.py::TestAll::test_slow\n     0.2 test_old.py::test_slow\n"
    )
