"""Mutation testing: change one token of the code, run the tests, and see whether they notice.

    python tools/mutants.py                                the gate: every module of tests/mutants.toml, a sample of each
    python tools/mutants.py --all                          the gate with every mutant
    python tools/mutants.py --changed main                 the gate, only on lines that differ from a commit
    python tools/mutants.py src/shoal/model/roles.py:12 --tests tests/unit/model      one module, or one line of it

Reads    tests/mutants.toml (modules and the tests that must notice) and tests/mutants-alive.txt (known survivors)
Prints   one line per mutant that survives, then the share that was killed
Fails    if a survivor is not in tests/mutants-alive.txt, if that file grew since the commit of --changed, or if fewer than
         95 % are killed

A first run notes which test executes which line of the modules that share these tests. Each mutant then runs in a forked process,
only with the tests that execute its line and until the first failure. The module's source is replaced in memory, so the tree
stays as it is. A mutant on a line that no test executes survives; a timeout counts as killed. Kernels run without numba, whose
cache goes by file.
"""

from __future__ import annotations

import argparse
import ast
import itertools
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "tests" / "mutants.toml"
ALIVE = ROOT / "tests" / "mutants-alive.txt"
LEAST_KILLED = 0.95

COMPARISONS: dict[type[ast.cmpop], tuple[str, tuple[str, ...]]] = {
    ast.Lt: (r"<", ("<=", ">=")),
    ast.LtE: (r"<=", ("<", ">")),
    ast.Gt: (r">", (">=", "<=")),
    ast.GtE: (r">=", (">", "<")),
    ast.Eq: (r"==", ("!=",)),
    ast.NotEq: (r"!=", ("==",)),
    ast.In: (r"\bin\b", ("not in",)),
    ast.NotIn: (r"\bnot\s+in\b", ("in",)),
    ast.Is: (r"\bis\b", ("is not",)),
    ast.IsNot: (r"\bis\s+not\b", ("is",)),
}
ORDERS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
TWINS = {"min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum", "any": "all", "all": "any"}  # fmt: skip
TOLERANCE = re.compile(r"eps|tol|slack", re.IGNORECASE)
SMALL = 100
"""Whole numbers up to this are moved by one."""
TINY = 1e-3
"""Decimal numbers below this are taken for tolerances."""
UNTESTED = {"__repr__", "__str__", "_repr_html_"}


@dataclass(frozen=True, order=True)
class Mutant:
    """The text between two offsets of a file, replaced."""

    path: Path
    line: int
    start: int
    end: int
    new: str
    old: str
    code: str

    def source(self, text: str) -> str:
        return text[: self.start] + self.new + text[self.end :]

    def __str__(self) -> str:
        return f"{self.path}:{self.line}  {self.change}"

    @property
    def change(self) -> str:
        return f"{' '.join(self.old.split())}  →  {' '.join(self.new.split())}   in: {self.code}"

    @property
    def key(self) -> str:
        """Name in the list of survivors: without the line number, so that edits elsewhere in the file do not matter."""
        return f"{self.path}: {self.change}"


class Mutator(ast.NodeVisitor):
    """Collects the mutants of one file. Messages of errors, assertions, annotations and texts for people are left alone."""

    def __init__(self, path: Path, text: str) -> None:
        self.path, self.text = path, text
        self.mutants: set[Mutant] = set()
        lengths = [len(line) for line in text.splitlines(keepends=True)]
        self._lines = [sum(lengths[:i]) for i in range(len(lengths) + 1)]
        self._raw = [line.encode() for line in text.splitlines(keepends=True)]

    def _at(self, line: int, column: int) -> int:
        return self._lines[line - 1] + len(self._raw[line - 1][:column].decode())

    def _span(self, node: ast.expr) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self._at(node.lineno, node.col_offset), self._at(node.end_lineno, node.end_col_offset)

    def _add(self, line: int, start: int, end: int, new: str) -> None:
        self.mutants.add(Mutant(self.path, line, start, end, new, self.text[start:end], self._raw[line - 1].decode().strip()))

    def _replace(self, node: ast.expr, new: str) -> None:
        self._add(node.lineno, *self._span(node), new)

    def _between(self, left: ast.expr, right: ast.expr, pattern: str, others: Sequence[str]) -> None:
        """Exchange the operator between two operands."""
        start, end = self._span(left)[1], self._span(right)[0]
        if operator := re.search(pattern, self.text[start:end]):
            for other in others:
                self._add(left.end_lineno or left.lineno, start + operator.start(), start + operator.end(), other)

    def _code(self, node: ast.expr) -> str:
        start, end = self._span(node)
        return self.text[start:end]

    def visit_Raise(self, node: ast.Raise) -> None:
        """Messages are tested where they are read."""

    visit_Assert = visit_AnnAssign = visit_Raise  # type: ignore[assignment]

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        if node.name in UNTESTED:
            return
        for default in [*node.args.defaults, *(d for d in node.args.kw_defaults if d is not None)]:
            self.visit(default)
        for statement in node.body:
            self.visit(statement)
        if isinstance(node.returns, ast.Name) and node.returns.id == "bool":
            for inner in ast.walk(node):
                if isinstance(inner, ast.Return) and inner.value is not None and not isinstance(inner.value, ast.Constant):
                    self._replace(inner.value, "True")
                    self._replace(inner.value, "False")

    def visit_Compare(self, node: ast.Compare) -> None:
        operands = [node.left, *node.comparators]
        for left, op, right in zip(operands, node.ops, operands[1:], strict=False):
            self._between(left, right, *COMPARISONS[type(op)])
            if isinstance(op, ORDERS):
                for side in (left, right):
                    if _has_tolerance(side, self._code(side)):
                        self._replace(side, f"({self._code(side)}) * 0.98")
                        self._replace(side, f"({self._code(side)}) * 1.02")
        self._integers(operands)
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        if not any(_is_text(side) for side in (node.left, node.right)):
            if isinstance(node.op, ast.Add | ast.Sub):
                sign, other = ("+", "-") if isinstance(node.op, ast.Add) else ("-", "+")
                self._between(node.left, node.right, re.escape(sign), (other,))
                if _is_tolerance(node.right, self._code(node.right)):
                    self._replace(node, f"({self._code(node.left)})")
            self._integers([node.left, node.right])
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        word, other = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        for left, right in zip(node.values, node.values[1:], strict=False):
            self._between(left, right, rf"\b{word}\b", (other,))
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.Not | ast.Invert):
            self._replace(node, f"({self._code(node.operand)})")
        self.generic_visit(node)

    def visit_If(self, node: ast.If) -> None:
        if "TYPE_CHECKING" in self._code(node.test):
            return
        self._negate(node.test)
        self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self._negate(node.test)
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        called = node.func
        if isinstance(called, ast.Name) and called.id in TWINS:
            self._replace(called, TWINS[called.id])
        elif isinstance(called, ast.Attribute) and called.attr in TWINS:
            self._replace(called, self._code(called.value) + "." + TWINS[called.attr])
        if isinstance(called, ast.Name) and called.id == "range":
            self._integers(node.args)
        self.generic_visit(node)

    def visit_Slice(self, node: ast.Slice) -> None:
        self._integers([part for part in (node.lower, node.upper) if part is not None])
        self.generic_visit(node)

    def visit_Return(self, node: ast.Return) -> None:
        if isinstance(node.value, ast.Constant) and isinstance(node.value.value, bool):
            self._replace(node.value, str(not node.value.value))
        self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        if any(isinstance(t, ast.Name) and t.id == "__all__" for t in node.targets):
            return
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, float) and 0.0 < node.value < TINY:
            self._replace(node, "0.0")
            self._replace(node, f"({self._code(node)} * 1e6)")

    def _negate(self, test: ast.expr) -> None:
        if not isinstance(test, ast.Compare | ast.BoolOp | ast.UnaryOp):
            self._replace(test, f"(not ({self._code(test)}))")

    def _integers(self, operands: Sequence[ast.expr]) -> None:
        for node in operands:
            if isinstance(node, ast.Constant) and type(node.value) is int and 0 <= node.value <= SMALL:
                self._replace(node, str(node.value + 1))
                self._replace(node, str(node.value - 1) if node.value else "(-1)")


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _is_tolerance(node: ast.expr, code: str) -> bool:
    if isinstance(node, ast.Constant):
        return isinstance(node.value, float) and node.value < TINY
    return isinstance(node, ast.Name | ast.Attribute) and bool(TOLERANCE.search(code))


def _has_tolerance(node: ast.expr, code: str) -> bool:
    return bool(TOLERANCE.search(code)) or any(isinstance(n, ast.Constant) and type(n.value) is float for n in ast.walk(node))


def mutants_of(path: Path, text: str) -> list[Mutant]:
    """Every mutant of a file that still compiles, in order."""
    mutator = Mutator(path, text)
    mutator.visit(ast.parse(text))
    return sorted(m for m in mutator.mutants if _compiles(m.source(text)))


def _compiles(source: str) -> bool:
    try:
        compile(source, "mutant", "exec")
    except (SyntaxError, ValueError):
        return False
    return True


# --- running the tests -----------------------------------------------------------------------------------------------------


class LineTrace:
    """A pytest plugin that notes which lines of some files each test executes; those of an import belong to every test ("")."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self.current = ""
        self.lines: dict[str, dict[str, set[int]]] = {str(path): {"": set()} for path in paths}
        self.seconds: dict[str, float] = {}
        self._of_file = {str(ROOT / path): self.lines[str(path)] for path in paths}

    def trace(self, frame: FrameType, event: str, _argument: object) -> Callable[..., Any] | None:
        lines = self._of_file.get(frame.f_code.co_filename)
        if lines is None:
            return None
        if event in ("line", "call"):
            lines.setdefault(self.current, set()).add(frame.f_lineno)
        return self.trace

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.current = nodeid
        self.seconds[nodeid] = -time.process_time()

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        self.seconds[nodeid] += time.process_time()
        self.current = ""


def run_forked(work: Callable[[], int], timeout: float | None) -> tuple[int | None, str]:
    """Run ``work`` in a child process and its own process group; its exit code (None: timeout) and what it printed."""
    with tempfile.TemporaryFile() as out:
        child = os.fork()
        if child == 0:
            os.setsid()
            os.dup2(out.fileno(), 1)
            os.dup2(out.fileno(), 2)
            code = 70
            try:
                code = work()
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code)
        code, deadline = None, None if timeout is None else time.monotonic() + timeout
        while code is None and (deadline is None or time.monotonic() < deadline):
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                code = os.waitstatus_to_exitcode(status)
            else:
                time.sleep(0.01)
        if code is None:
            os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
        out.seek(0)
        return code, out.read().decode(errors="replace")


def run_pytest(arguments: Sequence[str], plugins: Sequence[object] = ()) -> int:
    import pytest

    # Plain assertions: pytest would load shoal's own modules for rewriting, past the replaced source. Of the installed plugins
    # only Hypothesis is loaded: importing the others takes a second for every mutant.
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    options = ["-q", "-x", "--no-header", "--assert=plain", "-p", "_hypothesis_pytestplugin", "--hypothesis-seed=0"]
    return int(pytest.main([*options, *arguments], plugins=list(plugins)))


def preload() -> None:
    """Import once what every child needs and no mutant changes; not hypothesis, whose plugin pytest wants to import itself."""
    for name in ("pytest", "numpy", "pyarrow", "duckdb", "cryptography", "sqlglot"):
        try:
            __import__(name)
        except ImportError:
            continue


@dataclass(frozen=True)
class Trace:
    """Of each module the lines that each test executes, and the seconds that each test takes."""

    lines: dict[str, dict[str, set[int]]]
    seconds: dict[str, float]


def traced(paths: Sequence[Path], tests: Sequence[str]) -> Trace:
    """Run the tests once, unchanged, for all modules that they guard. They must pass."""
    with tempfile.NamedTemporaryFile("r", suffix=".json") as answer:

        def work() -> int:
            plugin = LineTrace(paths)
            threading.settrace(plugin.trace)
            sys.settrace(plugin.trace)
            code = run_pytest(tests, [plugin])
            sys.settrace(None)
            lines = {path: {test: sorted(v) for test, v in of.items()} for path, of in plugin.lines.items()}
            Path(answer.name).write_text(json.dumps([lines, plugin.seconds]))
            return code

        code, printed = run_forked(work, None)
        if code != 0:
            names = ", ".join(map(str, paths))
            raise SystemExit(f"{printed[-3000:]}\nThe tests of {names} do not pass without any change.")
        lines, seconds = json.loads(answer.read())
    return Trace({path: {test: set(numbers) for test, numbers in of.items()} for path, of in lines.items()}, seconds)


def is_killed(mutant: Mutant, text: str, tests: Sequence[str], timeout: float) -> bool:
    """Whether one of the tests fails, crashes or hangs with the mutant in place of the module's source."""
    file, source = str(ROOT / mutant.path), mutant.source(text)

    def work() -> int:
        read_code = SourceFileLoader.get_code

        def get_code(self: SourceFileLoader, fullname: str) -> CodeType | None:
            return compile(source, file, "exec", dont_inherit=True) if self.path == file else read_code(self, fullname)

        SourceFileLoader.get_code = get_code  # type: ignore[method-assign]
        return run_pytest(tests)

    return run_forked(work, timeout)[0] not in (0, 5)  # 5: no test was left to notice


def statement_lines(text: str) -> dict[int, set[int]]:
    """The lines of the innermost statement that each line belongs to: a trace names only some lines of a long statement."""
    out: dict[int, set[int]] = {}
    for node in ast.walk(ast.parse(text)):  # breadth first: inner statements overwrite outer ones
        if isinstance(node, ast.stmt):
            last = node.end_lineno or node.lineno
            if isinstance(node, ast.If | ast.For | ast.While | ast.With | ast.Try | ast.FunctionDef | ast.ClassDef):
                last = max(node.lineno, node.body[0].lineno - 1)
            for line in range(node.lineno, last + 1):
                out[line] = set(range(node.lineno, last + 1))
    return out


def survivors(
    path: Path, mutants: Sequence[Mutant], tests: Sequence[str], trace: Trace, until: float | None = None
) -> tuple[list[Mutant], int]:
    """The mutants of one module that no test notices, and how many were tried before the time ``until``."""
    text = (ROOT / path).read_text(encoding="utf-8")
    lines, seconds = trace.lines[str(path)], trace.seconds
    statements, alive, tried = statement_lines(text), [], 0
    for mutant in mutants:
        if until is not None and time.monotonic() > until:
            break
        tried += 1
        near = statements.get(mutant.line, {mutant.line})
        covering = sorted((t for t in lines if t and lines[t] & near), key=lambda t: seconds.get(t, 0.0))
        if not covering and lines[""] & near:  # executed by the import only: any test may notice
            covering = list(tests)
        limit = 20 + 5 * sum(seconds.get(t, 0.0) for t in covering)
        if not covering or not is_killed(mutant, text, covering, limit):
            alive.append(mutant)
            print(f"SURVIVED  {mutant}", flush=True)
    return alive, tried


# --- the gate --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Target:
    """Lines of a module (None: all of it) and the tests that must notice a change in them."""

    path: Path
    lines: frozenset[int] | None
    tests: tuple[str, ...]

    def mutants(self) -> list[Mutant]:
        text = (ROOT / self.path).read_text(encoding="utf-8")
        return [m for m in mutants_of(self.path, text) if self.lines is None or m.line in self.lines]

    def some(self, most: int | None, seed: int) -> list[Mutant]:
        """A sample of its mutants; all without ``most``."""
        mutants = self.mutants()
        return mutants if most is None or len(mutants) <= most else sorted(random.Random(seed).sample(mutants, most))


def read_table() -> dict[str, tuple[str, ...]]:
    """Module → tests that must notice, from tests/mutants.toml."""
    table = tomllib.loads(TABLE.read_text(encoding="utf-8"))
    return {module: tuple(part["tests"]) for part in table.values() for module in part["modules"]}


def read_alive(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip() and not line.startswith("#")]


def changed_lines(base: str) -> dict[str, frozenset[int]]:
    """Lines of each file that differ from a commit."""
    difference = subprocess.run(
        ["git", "diff", "-U0", base, "--", "src"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    out: dict[str, set[int]] = {}
    name = ""
    for line in difference.splitlines():
        if line.startswith("+++ "):
            name = line[6:]
        elif match := re.match(r"@@ \S+ \+(\d+)(?:,(\d+))?", line):
            first, count = int(match[1]), int(match[2] or 1)
            out.setdefault(name, set()).update(range(first, first + count))
    return {name: frozenset(lines) for name, lines in out.items()}


def added_survivors(base: str) -> list[str]:
    """Lines of the list of survivors that the commit does not have; none if the commit has no list yet."""
    before = subprocess.run(["git", "show", f"{base}:{ALIVE.relative_to(ROOT)}"], cwd=ROOT, capture_output=True, text=True)
    if before.returncode:
        return []
    known = read_alive(before.stdout)
    return [line for line in read_alive(ALIVE.read_text(encoding="utf-8")) if line not in known]


def named_targets(names: Sequence[str], tests: Sequence[str]) -> Iterator[Target]:
    table = read_table() if TABLE.is_file() else {}
    for name in names:
        path, _, line = name.partition(":")
        full = (ROOT / path).resolve()
        for file in sorted(full.rglob("*.py")) if full.is_dir() else [full]:
            relative = file.relative_to(ROOT)
            chosen = tuple(tests) or table.get(str(relative), ())
            if not chosen:
                raise SystemExit(f"{relative} is not in {TABLE.name}: pass the tests that should notice with --tests.")
            yield Target(relative, frozenset({int(line)}) if line else None, chosen)


def gate_targets(base: str | None) -> Iterator[Target]:
    changed = changed_lines(base) if base else {}
    for module, tests in read_table().items():
        if base is None or module in changed:
            yield Target(Path(module), changed.get(module), tests)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("modules", nargs="*", help="modules, folders or module.py:LINE; without any, those of tests/mutants.toml")
    parser.add_argument("--tests", nargs="+", default=[], help="test files or folders that should notice")
    parser.add_argument("--changed", metavar="COMMIT", help="only lines that differ from this commit")
    parser.add_argument("--all", action="store_true", help="try every mutant")
    parser.add_argument("--sample", type=int, default=40, help="mutants per module (default 40)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, help="stop after this time")
    parser.add_argument("--update", action="store_true", help="remove killed mutants from tests/mutants-alive.txt")
    parser.add_argument("--list", action="store_true", help="print the mutants and run nothing")
    options = parser.parse_args(arguments)
    os.chdir(ROOT)
    os.environ |= {"SHOAL_NO_NUMBA": "1", "PYTHONPATH": os.pathsep.join(filter(None, ["src", os.environ.get("PYTHONPATH")]))}
    sys.path.insert(0, str(ROOT / "src"))
    targets = list(named_targets(options.modules, options.tests) if options.modules else gate_targets(options.changed))
    until = None if options.seconds is None else time.monotonic() + options.seconds
    known = read_alive(ALIVE.read_text(encoding="utf-8")) if ALIVE.is_file() else []
    total, alive, seen = 0, [], set()
    chosen = {target: target.some(None if options.all else options.sample, options.seed) for target in targets}
    if options.list:
        print("\n".join(str(mutant) for mutants in chosen.values() for mutant in mutants))
        return 0
    preload()
    for tests, group in itertools.groupby((target for target in targets if chosen[target]), key=lambda target: target.tests):
        guarded = list(group)
        trace = None
        for target in guarded:
            if until is not None and time.monotonic() > until:
                break
            trace = trace or traced([t.path for t in guarded], tests)
            found, tried = survivors(target.path, chosen[target], tests, trace, until)
            alive += found
            total += tried
            seen |= {m.key for m in chosen[target][:tried]}
            print(f"{target.path}: {tried - len(found)} of {tried} killed", flush=True)
    return judge(total, alive, seen, known, options)


def judge(total: int, alive: Sequence[Mutant], seen: set[str], known: Sequence[str], options: argparse.Namespace) -> int:
    """Print the share of killed mutants; 1 if the gate fails."""
    share = 1.0 if not total else (total - len(alive)) / total
    print(f"{total - len(alive)} of {total} mutants killed ({share:.1%})")
    new = [m for m in alive if m.key not in known]
    for mutant in new:
        print(f"not in {ALIVE.name}: {mutant.key}")
    stale = sorted(key for key in known if key in seen and key not in {m.key for m in alive})
    if stale and options.update:
        lines = ALIVE.read_text(encoding="utf-8").splitlines()
        ALIVE.write_text("\n".join(line for line in lines if line not in stale) + "\n", encoding="utf-8")
    elif stale:
        print(f"{len(stale)} lines of {ALIVE.name} are killed now: remove them with --update")
    grown = added_survivors(options.changed) if options.changed and ALIVE.is_file() else []
    for line in grown:
        print(f"{ALIVE.name} may only shrink; new line: {line}")
    unlisted = bool(new) and not options.modules
    low = share < LEAST_KILLED and not (options.modules or options.changed)
    return 1 if unlisted or grown or low else 0


if __name__ == "__main__":
    sys.exit(main())
