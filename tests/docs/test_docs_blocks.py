"""Every block of the documentation runs and prints what the page shows; every command is documented."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import docs_pages


@pytest.mark.parametrize("page", docs_pages.PAGES, ids=lambda p: str(p.relative_to(docs_pages.ROOT)))
def test_code_blocks_run(page: Path, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    text = page.read_text(encoding="utf-8")
    data = request.getfixturevalue("shared_data") if docs_pages.NEEDS.search(text) else None
    for step, printed in docs_pages.run(page, tmp_path, data):
        assert step.shown is None or docs_pages.same(step.shown, printed), f"{step.text}\n{printed}"
    for name in docs_pages.DRAWN.findall(text):
        shown, drawn = (docs_pages.drawing(folder / name) for folder in (docs_pages.PICTURES, tmp_path))
        assert "<style" not in drawn
        assert shown == drawn, f"{name} is drawn otherwise now"


@pytest.mark.parametrize(
    ("shown", "printed", "equal"),
    [
        ("a\nb\n", "a  \nb", True),
        ("a\nb\n", "a\nc\n", False),
        ("a\n…\nd\n", "a\nb\nc\nd\n", True),
        ("a\n…\nd\n", "a\nd\n", True),
        ("a\n…\nd\n", "a\nb\n", False),
        ("took … s (1)\n", "took 0.25 s (1)\n", True),
        ("took … s (1)\n", "took 0.25\ns (1)\n", False),
        ("a\n", "a\nb\n", False),
    ],
)
def test_what_is_shown_is_what_is_printed(shown: str, printed: str, equal: bool) -> None:
    assert docs_pages.same(shown, printed) is equal


def test_every_command_is_documented() -> None:
    import typer

    from shoal.cli import build

    names = sorted(typer.main.get_command(build()).commands)
    text = "\n".join(p.read_text(encoding="utf-8") for p in docs_pages.PAGES)
    missing = [n for n in names if not re.search(rf"shoal {re.escape(n)}\b", text)]
    assert names
    assert not missing, f"commands that no page mentions: {missing}"
