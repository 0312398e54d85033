"""Signed checksums hold for the files that were signed, and for nothing else."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def tool() -> Any:
    spec = importlib.util.spec_from_file_location("checksums", ROOT / "tools" / "checksums.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_only_what_was_signed_holds(tool: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dist, key = tmp_path / "dist", tmp_path / "key"
    dist.mkdir()
    (dist / "a.whl").write_bytes(b"one")
    assert tool.main([str(dist), "--key-file", str(key)]) == 0
    public = capsys.readouterr().out.strip()
    assert os.name == "nt" or key.stat().st_mode & 0o777 == 0o600
    assert tool.sign(dist, key) == public  # the key is kept
    assert tool.main([str(dist), "--check", public]) == 0
    other = "0" * len(public)
    changes = [
        lambda: (dist / "a.whl").write_bytes(b"two"),
        lambda: (dist / "b.whl").write_bytes(b"more"),
        lambda: (dist / "a.whl").unlink(),
        lambda: (dist / tool.SUMS).write_text(tool.sums(dist) + " "),
        lambda: (dist / tool.SIGNATURE).write_text("00"),
    ]
    assert not tool.check(dist, other)
    for change in changes:
        change()
        assert tool.main([str(dist), "--check", public]) == 1
        (dist / "b.whl").unlink(missing_ok=True)
        (dist / "a.whl").write_bytes(b"one")
        tool.sign(dist, key)
        assert tool.check(dist, public)
