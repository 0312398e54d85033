"""Seven people reach their goal: an empty environment, the built wheel, the ``pip install`` line and commands of their page."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

import docs_pages
import packaging_support as packaging

INSTALL = re.compile(r"^pip install '?\.(?:\[([\w,]+)\])?", re.MULTILINE)


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path | None]:
    """The Python of an environment with these extras; None where nothing can be installed: then the tests' own is used."""
    folder = tmp_path_factory.mktemp("tutorials")
    packaging.build(packaging.ROOT, folder, "wheel")
    (wheel,) = folder.glob("*.whl")
    silent: list[str] = []

    @cache
    def made(extras: str) -> Path | None:
        try:
            return None if silent else packaging.empty_environment(wheel, folder / f"env-{extras or 'core'}", extras)
        except packaging.NoRegistry as why:
            silent.append(str(why))
            return None

    return made


@pytest.mark.parametrize("page", docs_pages.TUTORIALS, ids=lambda p: p.stem)
def test_a_tutorial_reaches_its_goal(
    page: Path, tmp_path: Path, environment: Callable[[str], Path | None], request: pytest.FixtureRequest
) -> None:
    text = page.read_text(encoding="utf-8")
    data = request.getfixturevalue("shared_data") if docs_pages.NEEDS.search(text) else None
    needed = INSTALL.search(text)
    assert needed is not None, "a tutorial begins with its line of pip install"
    docs_pages.check(page, tmp_path, data, environment(needed.group(1) or ""))


def test_there_is_one_for_each_of_seven_people() -> None:
    assert len(docs_pages.TUTORIALS) == 7
