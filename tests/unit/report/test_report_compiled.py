"""Templates are compiled once and kept; a broken, foreign or missing file is no harm."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import jinja2
import pytest
from jinja2 import DictLoader, Environment

from shoal.report.compiled import KeptCode
from shoal.report.pages import environment


@pytest.fixture(autouse=True)
def writes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(sys, "pycache_prefix", None)


def said(folder: Path, text: str = "{{ word }}!", monkeypatch: pytest.MonkeyPatch | None = None) -> str:
    """What a new environment renders; with ``monkeypatch`` it may not compile."""
    made = Environment(loader=DictLoader({"t": text}), autoescape=True, bytecode_cache=KeptCode(folder))
    if monkeypatch is not None:
        monkeypatch.setattr(made, "compile", lambda *_: pytest.fail("compiled again"))
    return made.get_template("t").render(word="<a>")


def kept(folder: Path) -> list[Path]:
    return sorted((folder / "__pycache__").iterdir()) if (folder / "__pycache__").exists() else []


def test_what_was_compiled_is_not_compiled_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert said(tmp_path) == "&lt;a&gt;!"
    assert len(kept(tmp_path)) == 1
    assert said(tmp_path, monkeypatch=monkeypatch) == "&lt;a&gt;!"


def test_a_changed_template_is_compiled_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said(tmp_path)
    assert said(tmp_path, "{{ word }}?") == "&lt;a&gt;?"
    assert said(tmp_path, "{{ word }}?", monkeypatch) == "&lt;a&gt;?"


def test_another_version_of_the_compiler_compiles_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said(tmp_path)
    before = kept(tmp_path)[0].read_bytes()
    monkeypatch.setattr(jinja2, "__version__", "0")
    assert said(tmp_path) == "&lt;a&gt;!"
    assert kept(tmp_path)[0].read_bytes() != before


@pytest.mark.parametrize("content", [b"", b"nonsense", b"i\x01\x00\x00\x00", b"\xa9\x02NN"])
def test_a_broken_file_is_compiled_again(tmp_path: Path, content: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    said(tmp_path)
    kept(tmp_path)[0].write_bytes(content)
    assert said(tmp_path) == "&lt;a&gt;!"
    assert said(tmp_path, monkeypatch=monkeypatch) == "&lt;a&gt;!"


def test_where_nothing_can_be_written_nothing_is_kept(tmp_path: Path) -> None:
    (tmp_path / "__pycache__").write_text("a file, not a folder")
    assert said(tmp_path) == "&lt;a&gt;!"
    assert [p.name for p in tmp_path.iterdir()] == ["__pycache__"]


def test_nothing_is_written_where_python_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    assert said(tmp_path) == "&lt;a&gt;!"
    assert kept(tmp_path) == []


def test_pages_keep_their_code() -> None:
    cache: Any = environment().bytecode_cache
    assert isinstance(cache, KeptCode)
    assert any(cache.folder.glob("*.j2"))
