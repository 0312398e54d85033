"""Every block of the documentation runs and prints what the page shows; every command is documented."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import docs_pages

ELSEWHERE = [p for p in docs_pages.PAGES if p not in docs_pages.TUTORIALS]
"""Tutorials run in environments of their own (``test_tutorials``)."""


@pytest.mark.parametrize("page", ELSEWHERE, ids=lambda p: str(p.relative_to(docs_pages.ROOT)))
def test_code_blocks_run(page: Path, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    needs = docs_pages.NEEDS.search(page.read_text(encoding="utf-8"))
    docs_pages.check(page, tmp_path, request.getfixturevalue("shared_data") if needs else None)


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
