"""The developer's mutation tool: which changes it makes, and that a survivor and a kill are told apart."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

TOOLS = Path(__file__).parents[3] / "tools"


def changes(text: str, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    monkeypatch.syspath_prepend(str(TOOLS))
    mutants = importlib.import_module("mutants")
    return {mutant.source(text) for mutant in mutants.mutants_of(Path("m.py"), text)}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a < b", {"a <= b", "a >= b"}),
        ("a >= b", {"a > b", "a < b"}),
        ("a == 3", {"a != 3", "a == 4", "a == 2"}),
        ("a is not b", {"a is b"}),
        ("a not in b", {"a in b"}),
        ("n + 1", {"n - 1", "n + 2", "n + 0"}),
        ("é(x) and y", {"é(x) or y"}),
        ("not x", {"(x)"}),
        ("min(a)", {"max(a)"}),
        ("a.any()", {"a.all()"}),
        ("x[0:]", {"x[1:]", "x[(-1):]"}),
        ("def f():\n    return True", {"def f():\n    return False"}),
        ("def f() -> bool:\n    return g()", {"def f() -> bool:\n    return True", "def f() -> bool:\n    return False"}),
        ("if x:\n    y", {"if (not (x)):\n    y"}),
        ("raise E(a < b)", set()),
        ("'a' + b", set()),
    ],
)
def test_changes(text: str, expected: set[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert changes(text, monkeypatch) == expected


def test_tolerances_are_dropped_scaled_and_moved(monkeypatch: pytest.MonkeyPatch) -> None:
    found = changes("bound >= total - EPSILON", monkeypatch)
    assert {"bound >= (total)", "bound >= (total - EPSILON) * 0.98", "bound >= total + EPSILON"} <= found
    assert {"E = 0.0", "E = (1e-9 * 1e6)"} == changes("E = 1e-9", monkeypatch)


def test_a_kill_and_a_survivor(tmp_path: Path) -> None:
    """On a tree of its own: a test at the limit kills ``<=``; without it the mutant survives; the tree stays as it was."""
    (tmp_path / "tools").mkdir()
    for name in ("mutate.py", "mutants.py"):
        (tmp_path / "tools" / name).write_text((TOOLS / name).read_text())
    code = tmp_path / "src" / "small.py"
    code.parent.mkdir()
    code.write_text("def below(a, b):\n    return a < b\n")
    (tmp_path / "test_far.py").write_text("from small import below\n\ndef test():\n    assert below(1, 5) and not below(5, 1)\n")
    (tmp_path / "test_at.py").write_text("from small import below\n\ndef test():\n    assert not below(5, 5)\n")
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)

    def mutate(*tests: str) -> str:
        command = [sys.executable, "tools/mutate.py", "src/small.py:2", "--tests", *tests]
        return subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True).stdout

    far = mutate("test_far.py")
    assert "SURVIVED  src/small.py:2  <  →  <=" in far
    assert "killed    src/small.py:2  <  →  >=" in far
    assert "1 of 2 killed (50.0%)" in far
    assert "2 of 2 killed (100.0%)" in mutate("test_far.py", "test_at.py")
    assert code.read_text() == "def below(a, b):\n    return a < b\n"


def test_a_mutant_that_a_conftest_cannot_import_is_killed_and_one_that_skips_all_tests_survives(tmp_path: Path) -> None:
    (tmp_path / "tools").mkdir()
    for name in ("mutate.py", "mutants.py"):
        (tmp_path / "tools" / name).write_text((TOOLS / name).read_text())
    (tmp_path / "small.py").write_text("LEAST = 1 == 1\n")
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    command = [sys.executable, "tools/mutate.py", "small.py", "--tests", "test_small.py"]
    for conftest, test, share in (
        ("import small\nassert small.LEAST\n", "def test():\n    pass\n", "(100.0%)"),
        ("", "import small\nif small.LEAST:\n    def test():\n        pass\n", "(0.0%)"),
    ):
        (tmp_path / "conftest.py").write_text(conftest)
        (tmp_path / "test_small.py").write_text(test)
        done = subprocess.run(
            command, cwd=tmp_path, capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": "."}
        )
        assert share in done.stdout


def test_tests_that_fail_by_themselves_are_shown(tmp_path: Path) -> None:
    (tmp_path / "tools").mkdir()
    for name in ("mutate.py", "mutants.py"):
        (tmp_path / "tools" / name).write_text((TOOLS / name).read_text())
    (tmp_path / "small.py").write_text("LEAST = 1 + 1\n")
    (tmp_path / "test_small.py").write_text("def test_sums():\n    assert 1 == 2\n")
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    command = [sys.executable, "tools/mutate.py", "small.py", "--tests", "test_small.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1
    assert "test_sums" in done.stderr
    assert "do not pass without any change" in done.stderr
