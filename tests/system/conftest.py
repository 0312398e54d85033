"""A real browser for the tests that look at pages; one start per file."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium, headless; in CI it must be there, elsewhere a test without it is skipped."""
    spec = importlib.util.spec_from_file_location("shoal_tools_programs", ROOT / "tools" / "programs.py")
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    path = tool.find("chromium")
    if path is None:
        if os.environ.get("SHOAL_CI") == "1":
            pytest.fail("in CI a browser must be there")
        pytest.skip("no Chromium is installed")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=path, args=list(tool.FLAGS))
        yield opened
        opened.close()
