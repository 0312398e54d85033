"""The page of the Python names says what the docstrings say."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import shoal

ROOT = Path(__file__).resolve().parents[2]


def test_the_reference_is_up_to_date() -> None:
    spec = importlib.util.spec_from_file_location("reference", ROOT / "tools" / "reference.py")
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    page = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
    assert page == made.text(), "run: python tools/reference.py docs/reference.md"
    assert all(f"shoal.{name}" in page for name in shoal.__all__ if not name.startswith("_"))
