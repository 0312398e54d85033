"""Modules that import each other, counted by every import: at the top, inside functions and for types only.

import-linter keeps the rooms apart; inside a room two modules may still need each other, which an import inside a function or
under ``TYPE_CHECKING`` hides. The list below is what is left. It may only shrink.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[3] / "src"
LEFT: list[set[str]] = []
"""Circles that remain, without ``shoal.`` in front."""


def modules(source: Path) -> dict[str, Path]:
    """Every module of a source folder by its full name."""
    files = sorted(source.rglob("*.py"))
    return {".".join(f.relative_to(source).with_suffix("").parts).removesuffix(".__init__"): f for f in files}


def imports(files: dict[str, Path]) -> dict[str, set[str]]:
    """For each module the modules among ``files`` that it imports anywhere."""
    found: dict[str, set[str]] = {}
    for name, file in files.items():
        named: set[str] = set()
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                named |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module is not None:
                inner = {f"{node.module}.{alias.name}" for alias in node.names}
                named |= {name if name in files else node.module for name in inner}
        found[name] = (named & files.keys()) - {name}
    return found


def reached(start: str, graph: dict[str, set[str]]) -> set[str]:
    seen: set[str] = set()
    waiting = [start]
    while waiting:
        new = graph[waiting.pop()] - seen
        seen |= new
        waiting += new
    return seen


def circles(graph: dict[str, set[str]]) -> list[set[str]]:
    """Sets of modules that all reach each other, in the order of their first names."""
    behind = {name: reached(name, graph) for name in graph}
    groups = {frozenset(other for other in behind[name] if name in behind[other]) for name in graph if name in behind[name]}
    return [set(group) for group in sorted(groups, key=min)]


def test_no_new_circle_and_every_one_that_is_gone_leaves_the_list() -> None:
    found = circles(imports(modules(SOURCE)))
    assert [{name.removeprefix("shoal.") for name in circle} for circle in found] == LEFT


@pytest.mark.parametrize(
    "hidden",
    [
        "from house.b import there",
        "def inside():\n    from house.b import there",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import house.b",
        "from house import b",
    ],
)
def test_a_hidden_import_is_seen(tmp_path: Path, hidden: str) -> None:
    room = tmp_path / "house"
    room.mkdir()
    (room / "__init__.py").write_text("")
    (room / "a.py").write_text(hidden)
    (room / "b.py").write_text("import house.c")
    (room / "c.py").write_text("import house.a")
    (room / "d.py").write_text("import house.a")
    assert circles(imports(modules(tmp_path))) == [{"house.a", "house.b", "house.c"}]
