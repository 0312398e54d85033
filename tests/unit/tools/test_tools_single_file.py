"""The one-file build: what is left out of it."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest


def test_tests_and_headers_of_others_are_left_out_and_nothing_of_shoal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[3] / "tools"))
    left = ["numpy/core.py", "pyarrow/libarrow.so", "shoal/tests/data.txt", "shoal/find/include/words.txt", "numpy/testing/x.py"]
    gone = ["numpy/core/tests/test_x.py", "pyarrow/include/arrow.h", "pyarrow/libarrow_flight.so", "pyarrow/lib.pyx", "bin/x"]
    for name in (*left, *gone):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x", encoding="utf-8")
    importlib.import_module("single_file").trim(tmp_path)
    assert sorted(str(f.relative_to(tmp_path)) for f in tmp_path.rglob("*") if f.is_file()) == sorted(left)
