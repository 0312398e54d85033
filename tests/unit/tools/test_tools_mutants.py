"""The mutation gate: which changes it makes, which survive, and when it fails."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import tomllib
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
        ("told.steps > b", {"told.steps >= b", "told.steps <= b"}),
        ("a < 0.0", {"a <= 0.0", "a >= 0.0"}),
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
    made = changes("bound >= total - EPSILON", monkeypatch)
    assert {"bound >= (total)", "bound >= (total - EPSILON) * 0.98", "bound >= total + EPSILON"} <= made
    assert {"E = 0.0", "E = (1e-9 * 1e6)"} == changes("E = 1e-9", monkeypatch)


class Tree:
    """A small checkout with the tool, one module and its tests."""

    def __init__(self, root: Path, code: str, **tests: str) -> None:
        self.root = root
        for folder in ("tools", "src", "tests"):
            (root / folder).mkdir()
        (root / "tools" / "mutants.py").write_text((TOOLS / "mutants.py").read_text())
        self.module = root / "src" / "small.py"
        self.module.write_text(code)
        for name, text in tests.items():
            (root / f"{name}.py").write_text(text)
        subprocess.run(["git", "init", "-q"], cwd=root, check=True)

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        env = {**os.environ, "PYTHONPATH": ""}
        return subprocess.run(
            [sys.executable, "tools/mutants.py", *arguments], cwd=self.root, capture_output=True, text=True, env=env
        )


CODE = "def below(a, b):\n    return a < b\n"
FAR = "from small import below\n\ndef test():\n    assert below(1, 5) and not below(5, 1)\n"
AT = "from small import below\n\ndef test():\n    assert not below(5, 5)\n"


def test_a_kill_and_a_survivor(tmp_path: Path) -> None:
    """A test at the limit kills ``<=``; without it the mutant survives; the tree stays as it was."""
    tree = Tree(tmp_path, CODE, test_far=FAR, test_at=AT)
    far = tree.run("src/small.py:2", "--tests", "test_far.py").stdout
    assert "SURVIVED  src/small.py:2  <  →  <=" in far
    assert "1 of 2 mutants killed (50.0%)" in far
    assert "2 of 2 mutants killed (100.0%)" in tree.run("src/small.py:2", "--tests", "test_far.py", "test_at.py").stdout
    assert tree.module.read_text() == CODE


def test_a_line_that_no_test_executes_survives(tmp_path: Path) -> None:
    tree = Tree(tmp_path, CODE + "def equal(a, b):\n    return a == b\n", test_at=AT)
    printed = tree.run("src/small.py:2", "src/small.py:4", "--tests", "test_at.py").stdout
    assert "SURVIVED  src/small.py:4" in printed
    assert "2 of 3 mutants killed (66.7%)" in printed


def test_a_mutant_that_cannot_be_imported_is_killed_and_one_that_leaves_no_test_survives(tmp_path: Path) -> None:
    for number, (conftest, test, share) in enumerate((
        ("import small\nassert small.LEAST\n", "def test():\n    pass\n", "(100.0%)"),
        ("", "import small\nif small.LEAST:\n    def test():\n        pass\n", "(0.0%)"),
    )):  # fmt: skip
        (tmp_path / str(number)).mkdir()
        tree = Tree(tmp_path / str(number), "LEAST = 1 == 1\n", conftest=conftest, test_small=test)
        assert share in tree.run("src/small.py", "--tests", "test_small.py").stdout


def test_modules_with_the_same_tests_are_traced_in_one_run(tmp_path: Path) -> None:
    checks = "assert not below(5, 5) and below(1, 5) and above(2, 1)"
    test = f"from small import below\nfrom wide import above\n\ndef test():\n    open('ran', 'a').write('.')\n    {checks}\n"
    tree = Tree(tmp_path, CODE, test_both=test)
    (tmp_path / "src" / "wide.py").write_text("def above(a, b):\n    return a > b\n")
    said = tree.run("src", "--tests", "test_both.py").stdout
    assert "src/small.py: 2 of 2 killed" in said
    assert "SURVIVED  src/wide.py:2  >  →  >=" in said
    assert "src/wide.py: 1 of 2 killed" in said
    assert len((tmp_path / "ran").read_text()) == 1 + 4 + 1, "the trace of both, each mutant, the killer without any change"


LATE = """
class Counter:
    start = 2 + 1

    def __init__(self):
        self.below = lambda n: n < 3

    @property
    def least(self):
        return min(n for n in (4, 5) if n > 3)

def outer(limit=1 + 1):
    def inner(n):
        return n < limit
    return inner

def hang(flag):
    while flag:
        flag = not flag
    return flag

kept = outer()
"""
CHECKS = """
import json, os

def test_late():
    import late
    counter = late.Counter()
    assert counter.start == 3 and counter.below(2) and not counter.below(3) and not counter.below(4) and counter.least == 4
    assert late.kept(1) and not late.kept(2) and not late.kept(3) and not late.hang(True)
"""


def test_code_in_classes_closures_and_defaults_is_replaced(tmp_path: Path) -> None:
    """Also in modules that only a test imports, in functions that an import made, and in what an import computes."""
    tree = Tree(tmp_path, CODE, test_late=CHECKS)
    (tmp_path / "src" / "late.py").write_text(LATE)
    done = tree.run("src/late.py", "--tests", "test_late.py", "--all").stdout
    survivors = [line.split("  ", 2)[2].partition("   in")[0] for line in done.splitlines() if line.startswith("SURVIVED")]
    assert survivors == [">  →  >=", "3  →  2"], "of n > 3 for 4 and 5"


def test_a_killer_must_pass_without_any_change(tmp_path: Path) -> None:
    """A test that fails in every warm process says nothing of a mutant: a fresh process decides."""
    check = "assert 'colorsys' not in sys.modules\n    import colorsys\n    below(1, 5)"
    test = f"import sys\nfrom small import below\n\ndef test():\n    {check}\n"
    said = Tree(tmp_path, CODE, test_small=test).run("src/small.py", "--tests", "test_small.py").stdout
    assert "test_small.py::test fails in a warm process without any change" in said
    assert "src/small.py: 0 of 2 killed" in said


def test_tests_that_fail_by_themselves_are_shown(tmp_path: Path) -> None:
    tree = Tree(tmp_path, "LEAST = 1 + 1\n", test_small="def test_sums():\n    assert 1 == 2\n")
    done = tree.run("src/small.py", "--tests", "test_small.py")
    assert done.returncode == 1
    assert "test_sums" in done.stderr
    assert "do not pass without any change" in done.stderr


def test_the_gate_needs_95_percent_and_a_list_of_survivors_that_only_shrinks(tmp_path: Path) -> None:
    code = "def below(a, b):\n    return a < b\n\ndef yes():\n    return True\n"
    checks = "assert small.below(1, 5) and not small.below(5, 1) and small.yes()"
    tree = Tree(tmp_path, code, test_small=f"import small\n\ndef test():\n    {checks}\n")
    tool = tmp_path / "tools" / "mutants.py"
    assert tool.read_text().count("LEAST_KILLED = 0.95\n") == 1
    tool.write_text(tool.read_text().replace("LEAST_KILLED = 0.95\n", "LEAST_KILLED = 2 / 3\n"))  # 3 mutants, 1 survives
    (tmp_path / "tests" / "mutants.toml").write_text('[small]\nmodules = ["src/small.py"]\ntests = ["test_small.py"]\n')
    alive = tmp_path / "tests" / "mutants-alive.txt"
    done = tree.run()
    assert done.returncode == 1
    key = "src/small.py: <  →  <=   in: return a < b"
    assert f"not in mutants-alive.txt: {key}" in done.stdout
    alive.write_text(f"# survivors\n{key}\n")
    assert tree.run().returncode == 0
    assert "src/small.py: 2 of 3 killed (66.7%)" in tree.run().stdout
    tool.write_text(tool.read_text().replace("LEAST_KILLED = 2 / 3", "LEAST_KILLED = 0.67"))
    done = tree.run()
    assert done.returncode == 1, "too few are killed, although the survivor is listed"
    assert "below 67%: src/small.py: 2 of 3 killed" in done.stdout
    alive.write_text(f"# survivors\n\n# Equivalent: no test calls it\n# with equal numbers.\n{key}\n")
    done = tree.run()
    assert done.returncode == 0, "what makes no difference does not count"
    assert "src/small.py: 2 of 3 killed, 1 equivalent (100.0%)" in done.stdout
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run([*git, "add", "-A"], cwd=tmp_path, check=True)
    subprocess.run([*git, "commit", "-qm", "one"], cwd=tmp_path, check=True)
    assert "0 of 0 mutants killed" in tree.run("--changed", "HEAD").stdout  # nothing changed
    tree.module.write_text(code.replace("a < b", "b > a"))
    alive.write_text(f"{key}\nsrc/small.py: >  →  >=   in: return b > a\n")
    done = tree.run("--changed", "HEAD")
    assert done.returncode == 1
    assert "1 of 2 mutants killed" in done.stdout
    assert "may only shrink" in done.stdout


def test_the_table_names_files_that_exist() -> None:
    table = tomllib.loads((TOOLS.parent / "tests" / "mutants.toml").read_text(encoding="utf-8"))
    missing = [f for part in table.values() for f in [*part["modules"], *part["tests"]] if not (TOOLS.parent / f).exists()]
    assert missing == []
