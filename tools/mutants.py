"""Mutation testing: change one token of the code, run the tests, and see whether they notice.

    python tools/mutants.py                                the gate: every module of tests/mutants.toml, a sample of each
    python tools/mutants.py --all                          the gate with every mutant
    python tools/mutants.py --changed main                 the gate, only on lines that differ from a commit
    python tools/mutants.py src/shoal/model/roles.py:12 --tests tests/unit/model      one module, or one line of it

Reads    tests/mutants.toml (modules and the tests that must notice) and tests/mutants-alive.txt (known survivors)
Prints   one line per mutant that survives, then the share that was killed
Fails    if a survivor is not in tests/mutants-alive.txt, if that file grew since the commit of --changed, or if fewer than
         95 % of a module are killed. Survivors below a comment "# Equivalent: …" make no difference and do not count

Modules that share their tests are tried in one process that loads everything once. A first fork of it notes which test executes
which line. Each mutant then runs in a fork where the code of the changed functions is replaced, only with the tests that execute
its line, the best killers first, until one fails. What an import executes (constants, defaults) is tried in a process that has
not imported the module yet. The tree stays as it is. A mutant on a line that no test executes survives; a test that hangs counts
as failed. Mutants that take more than 30 seconds are named. Kernels run without numba, whose cache goes by file.
"""

from __future__ import annotations

import argparse
import ast
import builtins
import contextlib
import functools
import gc
import importlib
import inspect
import itertools
import json
import os
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
import traceback
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, TextIO

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
TOLERANCE = re.compile(r"(?<![a-z])(eps|tol(?!d)|slack)", re.IGNORECASE)
"""Not in steps or told."""
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
                    if _has_tolerance(side, self._code(side)) and not _is_zero(side):
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


def _is_zero(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value == 0


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _is_tolerance(node: ast.expr, code: str) -> bool:
    if isinstance(node, ast.Constant):
        return isinstance(node.value, float) and node.value < TINY
    return isinstance(node, ast.Name | ast.Attribute) and bool(TOLERANCE.search(code))


def _has_tolerance(node: ast.expr, code: str) -> bool:
    return bool(TOLERANCE.search(code)) or any(isinstance(n, ast.Constant) and type(n.value) is float for n in ast.walk(node))


@functools.cache  # one line after another of a module asks for all of them
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


NOTE = "__note_line_of_mutant__"


def noting(path: Path, text: str) -> CodeType:
    """The code of a file, where each statement first notes its line: cheaper than a trace, which slows all other code too."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        for name in ("body", "orelse", "finalbody"):
            statements = getattr(node, name, None)
            if isinstance(statements, list):
                setattr(node, name, [s for i, old in enumerate(statements) for s in _noted(str(path), old, i == 0)])
    return compile(ast.fix_missing_locations(tree), str(ROOT / path), "exec", dont_inherit=True)


def _noted(path: str, statement: ast.stmt, first: bool) -> list[ast.stmt]:
    if isinstance(statement, ast.ImportFrom) and statement.module == "__future__":
        return [statement]
    if first and isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):  # a docstring
        return [statement]
    call = ast.Call(ast.Name(NOTE, ast.Load()), [ast.Constant(path), ast.Constant(statement.lineno)], [])
    return [ast.copy_location(ast.Expr(call), statement), statement]


def load_instead(codes: Mapping[str, CodeType]) -> None:
    """From now on, imports of these files execute this code."""
    read_code = SourceFileLoader.get_code

    def get_code(self: SourceFileLoader, fullname: str) -> CodeType | None:
        return codes[self.path] if self.path in codes else read_code(self, fullname)

    SourceFileLoader.get_code = get_code  # type: ignore[assignment]


class LineTrace:
    """Notes which lines of some files each test executes; those of an import belong to no test ("")."""

    def __init__(self, texts: Mapping[Path, str]) -> None:
        self.current = ""
        self.lines: dict[str, dict[str, set[int]]] = {str(path): {"": set()} for path in texts}
        setattr(builtins, NOTE, self.note)
        load_instead({str(ROOT / path): noting(path, text) for path, text in texts.items()})

    def note(self, path: str, line: int) -> None:
        self.lines[path].setdefault(self.current, set()).add(line)


def run_forked(work: Callable[[], int], timeout: float | None = None) -> tuple[int | None, str]:
    """Run ``work`` in a child process and its own process group; its exit code (None: timeout) and what it printed."""
    with tempfile.TemporaryFile() as out:
        child = os.fork()
        if child == 0:
            os.setsid()
            os.dup2(out.fileno(), 1)
            os.dup2(out.fileno(), 2)
            code = 70
            try:
                if timeout is not None:
                    limit_time(timeout)
                code = work()
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)  # processes that its tests started
        out.seek(0)
        return None if -code in (signal.SIGXCPU, signal.SIGALRM) else code, out.read().decode(errors="replace")


def limit_time(seconds: float) -> None:
    """End this process after so many seconds of processor time from now, or when it waits for ten times as long."""
    spent, hard = time.process_time(), resource.getrlimit(resource.RLIMIT_CPU)[1]
    resource.setrlimit(resource.RLIMIT_CPU, (int(spent + seconds) + 1, hard))
    signal.setitimer(signal.ITIMER_REAL, 10 * seconds)


QUICK: list[str] = []
"""More arguments of pytest."""
QUICK_SECONDS = 10.0
"""Processor time of the tests that each mutant gets with --quick."""


def run_pytest(arguments: Sequence[str], plugins: Sequence[object] = ()) -> int:
    import pytest

    # Plain assertions: pytest would load shoal's own modules for rewriting, past the replaced source. Of the installed plugins
    # only Hypothesis is loaded: importing the others takes a second for every mutant.
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    options = ["-q", "-x", "--no-header", "--assert=plain", "-p", "_hypothesis_pytestplugin", "--hypothesis-seed=0"]
    return int(pytest.main([*options, *QUICK, *arguments], plugins=list(plugins)))


def preload() -> None:
    """Import once what every child needs and no mutant changes; not hypothesis, whose plugin pytest wants to import itself."""
    for name in ("pytest", "numpy", "pyarrow", "duckdb", "cryptography", "sqlglot"):
        try:
            __import__(name)
        except ImportError:
            continue


def nested_codes(code: CodeType) -> list[CodeType]:
    return [c for c in code.co_consts if isinstance(c, CodeType)]


def shell(code: CodeType) -> tuple[object, ...]:
    """What a code object does by itself, without the functions that it contains and without positions in the text."""
    constants = ["" if isinstance(c, CodeType) else repr(c) for c in code.co_consts]
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    return code.co_name, code.co_flags, code.co_code, constants, names, code.co_exceptiontable


def changed_codes(old: CodeType, new: CodeType) -> list[tuple[CodeType, CodeType]] | None:
    """The functions whose code a mutant changes, as pairs; None if it changes what an import executes."""
    inner, replaced = nested_codes(old), nested_codes(new)
    if len(inner) != len(replaced):
        return None
    pairs: list[tuple[CodeType, CodeType]] = []
    for one, other in zip(inner, replaced, strict=True):
        changed = changed_codes(one, other)
        if changed is None:
            return None
        pairs += changed
    if shell(old) != shell(new) or pairs:
        if old.co_flags & inspect.CO_OPTIMIZED:
            return [(old, new), *pairs]
        if shell(old) != shell(new):
            return None
    return pairs


def code_key(code: CodeType) -> tuple[object, ...]:
    """The place of a function; of a lambda also the column, since a line may have several."""
    column = list(code.co_positions())[-1] if code.co_name.startswith("<") else None
    return code.co_filename, code.co_qualname, code.co_firstlineno, column


def live_functions(files: Container[str]) -> dict[tuple[object, ...], list[FunctionType]]:
    """The functions of some files that exist now, by the place of their code."""
    out: dict[tuple[object, ...], list[FunctionType]] = {}
    gc.unfreeze()
    for thing in gc.get_objects():
        if type(thing) is FunctionType and thing.__code__.co_filename in files:
            out.setdefault(code_key(thing.__code__), []).append(thing)
    gc.freeze()
    return out


class WarmRun:
    """A pytest plugin: loads everything once, and runs the tests of each mutant in a fork of this process.

    A first fork notes which test executes which line and which modules the tests load; these are then imported here. A fork
    for a mutant replaces the code of the functions that it changes. Mutants of lines that an import executes are left to a
    process that has not imported the module ("?").
    """

    def __init__(self, mutants: Sequence[Mutant], answers: TextIO, until: float | None) -> None:
        self.mutants, self.answers, self.until = mutants, answers, until
        self.paths = sorted({m.path for m in mutants})
        self.texts = {path: (ROOT / path).read_text(encoding="utf-8") for path in self.paths}
        self.codes = {path: compile(text, str(ROOT / path), "exec", dont_inherit=True) for path, text in self.texts.items()}
        self.trace = LineTrace(self.texts)
        self.failure = ""
        self.kills: dict[str, int] = {}
        self.sound: dict[str, bool] = {}
        """Tests that killed a mutant, and whether they pass in a fork without one."""

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self.failure = f"{report.nodeid}\n{report.longreprtext}"

    def pytest_runtestloop(self, session: Any) -> bool:
        """Instead of pytest's own loop."""
        if session.testsfailed:
            return True
        self.session, self.items = session, {item.nodeid: item for item in session.items}
        folder = Path(tempfile.gettempdir())
        self.folder, self.kept = folder, set(folder.rglob("*"))
        facts = self.traced()
        if facts is None:
            session.testsfailed = 1
            return True
        self.seconds: dict[str, float] = facts["seconds"]
        self.import_modules(facts["modules"])
        self.lines = {path: {test: set(numbers) for test, numbers in of.items()} for path, of in facts["lines"].items()}
        for path, lines in self.trace.lines.items():
            self.lines[path][""] |= lines[""]
        self.functions = live_functions({str(ROOT / path) for path in self.paths})
        self.forget_lines()
        self.statements = {path: statement_lines(text) for path, text in self.texts.items()}
        for number, mutant in enumerate(self.mutants):
            if self.until is not None and time.monotonic() > self.until:
                break
            start = time.monotonic()
            tests, imported = self.covering(mutant)
            killer = self.try_mutant(mutant, tests, imported)
            answer: dict[str, object] = {"number": number, "killer": killer, "seconds": time.monotonic() - start}
            if killer == "?":
                answer |= {"tests": tests, "limit": 30 + 5 * sum(self.seconds[test] for test in tests or self.items)}
            self.answer(answer)
        return True

    def answer(self, value: object) -> None:
        self.answers.write(json.dumps(value) + "\n")
        self.answers.flush()

    def clean(self) -> None:
        """Remove files that a fork left behind."""
        for path in sorted(set(self.folder.rglob("*")) - self.kept, reverse=True):
            with contextlib.suppress(OSError):
                path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()

    def traced(self) -> dict[str, Any] | None:
        """Run every test once, unchanged, in a fork: lines, seconds and modules. None if one fails."""
        with tempfile.TemporaryDirectory() as place:
            answer = Path(place) / "trace.json"

            def work() -> int:
                seconds = {}
                for item, following in itertools.zip_longest(self.session.items, self.session.items[1:]):
                    start = time.process_time()
                    self.trace.current = item.nodeid
                    self.run_item(item, following)
                    seconds[item.nodeid] = time.process_time() - start
                    if self.session.testsfailed:
                        print(self.failure)
                        return 1
                lines = {path: {test: sorted(v) for test, v in of.items()} for path, of in self.trace.lines.items()}
                modules = [name for name, module in sys.modules.items() if getattr(module, "__spec__", None)]
                answer.write_text(json.dumps({"lines": lines, "seconds": seconds, "modules": modules}))
                return 0

            code, printed = run_forked(work)
            facts = json.loads(answer.read_text()) if code == 0 else None
            if facts is None:
                self.answer(printed[-3000:])
        self.clean()
        return facts

    def import_modules(self, names: Sequence[str]) -> None:
        """Import what the tests load while they run; lines that this executes belong to the import."""
        for name in names:
            if name not in sys.modules and not name.startswith("_"):
                with contextlib.suppress(Exception):
                    importlib.import_module(name)

    def forget_lines(self) -> None:
        """Give all functions their own code back, which notes no lines."""
        codes = list(self.codes.values())
        for code in codes:  # grows
            codes += nested_codes(code)
            for function in self.functions.get(code_key(code), ()):
                function.__code__ = code

    def run_item(self, item: Any, following: Any) -> None:
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)

    def run_until_failure(self, tests: Sequence[str], pairs: Sequence[tuple[CodeType, CodeType]]) -> str:
        """The first of these tests that fails, hangs or crashes in a fork with changed code; "" if none does."""
        with tempfile.TemporaryDirectory() as place:
            current = Path(place) / "test"

            def work() -> int:
                for old, new in pairs:
                    for function in self.functions.get(code_key(old), ()):
                        function.__code__ = new
                with current.open("w") as note:
                    for test, following in itertools.zip_longest(tests, tests[1:]):
                        note.seek(0)
                        note.write(f"{test}\n")
                        note.flush()
                        limit_time(5 + 5 * self.seconds.get(test, 0.0))
                        self.run_item(self.items[test], self.items.get(following))
                        if self.session.testsfailed:
                            return 1
                return 0

            code, _ = run_forked(work)
            killer = current.read_text().partition("\n")[0] if code != 0 else ""
        self.clean()
        return killer

    def covering(self, mutant: Mutant) -> tuple[list[str], bool]:
        """The tests that execute the statement of a mutant, those that killed others first; whether an import executes it."""
        near = self.statements[mutant.path].get(mutant.line, {mutant.line})
        lines = self.lines[str(mutant.path)]
        covering = [t for t in lines if t and lines[t] & near]
        file_seconds: dict[str, float] = {}
        for test in covering:
            file = test.partition("::")[0]
            file_seconds[file] = file_seconds.get(file, 0.0) + self.seconds[test]
        files = sorted(covering, key=lambda t: (file_seconds[t.partition("::")[0]], t.partition("::")[0], self.seconds[t]))
        best = sorted((t for t in covering if t in self.kills), key=lambda t: (-self.kills[t] / (0.1 + self.seconds[t]), t))[:3]
        ordered = [*best, *(t for t in files if t not in best)]
        if QUICK:
            spent = itertools.accumulate(self.seconds[t] for t in ordered)
            ordered = [t for t, seconds in zip(ordered, spent, strict=True) if seconds < QUICK_SECONDS] or ordered[:1]
        return ordered, bool(lines[""] & near)

    def try_mutant(self, mutant: Mutant, tests: Sequence[str], imported: bool) -> str:
        """The test that notices a mutant, "" if none does, "?" if only a process that imports the changed module can tell."""
        if not tests:
            return "?" if imported else ""
        new = compile(mutant.source(self.texts[mutant.path]), str(ROOT / mutant.path), "exec", dont_inherit=True)
        pairs = changed_codes(self.codes[mutant.path], new)
        if not pairs or not self.can_replace(pairs):
            return "?"
        while killer := self.run_until_failure(tests, pairs):
            if killer not in self.sound:
                self.sound[killer] = not self.run_until_failure([killer], [])
                if not self.sound[killer]:
                    print(f"{killer} fails in a warm process without any change", file=sys.stderr)
            if self.sound[killer]:
                self.kills[killer] = self.kills.get(killer, 0) + 1
                return killer
            tests = [test for test in tests if test != killer]
            imported = True
        return "?" if imported else ""

    def can_replace(self, pairs: Sequence[tuple[CodeType, CodeType]]) -> bool:
        """Whether the outermost functions exist, and the new code fits to what they enclose."""
        if not any(code_key(old) in self.functions for old, _ in pairs):
            return False
        return all(old.co_freevars == new.co_freevars for old, new in pairs)


def outcomes(mutants: Sequence[Mutant], tests: Sequence[str], until: float | None = None) -> Iterator[tuple[Mutant, str, float]]:
    """Each mutant that was tried before the time ``until``, the test that noticed it ("" for none) and the seconds it took."""
    read, write = os.pipe()
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as printed:
        child = os.fork()
        if child == 0:
            code = 70
            try:
                os.close(read)
                os.dup2(printed.fileno(), 1)
                os.dup2(printed.fileno(), 2)
                os.environ["TMPDIR"] = tempfile.tempdir = folder
                with os.fdopen(write, "w") as answers:
                    code = run_pytest(tests, [WarmRun(mutants, answers, until)])
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code)
        os.close(write)
        failure, cold = "", []
        with os.fdopen(read) as answers:
            for line in answers:
                answer = json.loads(line)
                if isinstance(answer, str):
                    failure = answer
                elif answer["killer"] == "?":
                    cold.append(answer)
                else:
                    yield mutants[answer["number"]], answer["killer"], answer["seconds"]
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        printed.seek(0)
        text = printed.read().decode(errors="replace")
        for line in text.splitlines():
            if line.endswith("fails in a warm process without any change"):
                print(line, flush=True)
    if code not in (0, 5):
        names = ", ".join(str(path) for path in sorted({m.path for m in mutants}))
        raise SystemExit(f"{failure or text[-3000:]}\nThe tests of {names} do not pass without any change.")
    for answer in cold:
        if until is not None and time.monotonic() > until:
            return
        start, mutant = time.monotonic(), mutants[answer["number"]]
        text = (ROOT / mutant.path).read_text(encoding="utf-8")
        killed = is_killed(mutant, text, answer["tests"] or tests, answer["limit"])  # without tests: any of them may notice
        yield mutant, "a fresh process" if killed else "", time.monotonic() - start


def is_killed(mutant: Mutant, text: str, tests: Sequence[str], timeout: float) -> bool:
    """Whether one of the tests fails, crashes or hangs in a fresh process with the mutant in place of the module's source."""
    file, source = str(ROOT / mutant.path), mutant.source(text)

    def work() -> int:
        load_instead({file: compile(source, file, "exec", dont_inherit=True)})
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
        if isinstance(node, ast.Try):  # what is caught is decided after the body
            for handler in node.handlers:
                out |= {line: {node.lineno} for line in range(handler.lineno, handler.body[0].lineno)}
    return out


SLOW = 30.0
VERBOSE: list[bool] = []


def survivors(mutants: Sequence[Mutant], tests: Sequence[str], until: float | None = None) -> tuple[list[Mutant], list[Mutant]]:
    """The mutants that no test notices, and all that were tried before the time ``until``."""
    alive, tried = [], []
    for mutant, killer, seconds in outcomes(mutants, tests, until):
        tried.append(mutant)
        if not killer:
            alive.append(mutant)
            print(f"SURVIVED  {mutant}", flush=True)
        elif VERBOSE:
            print(f"killed  {seconds:.1f} s  {mutant}   {killer}", flush=True)
        if seconds > SLOW:
            print(f"SLOW  {seconds:.0f} s  {mutant}   {killer or 'survived'}", flush=True)
    return alive, tried


# --- the gate --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Target:
    """Lines of a module (None: all of it) and the tests that must notice a change in them."""

    path: Path
    lines: frozenset[int] | None
    tests: tuple[str, ...]

    def has(self, mutant: Mutant) -> bool:
        return mutant.path == self.path and (self.lines is None or mutant.line in self.lines)

    def mutants(self) -> list[Mutant]:
        text = (ROOT / self.path).read_text(encoding="utf-8")
        return [m for m in mutants_of(self.path, text) if self.has(m)]

    def some(self, most: int | None, seed: int) -> list[Mutant]:
        """A sample of its mutants; all without ``most``."""
        mutants = self.mutants()
        return mutants if most is None or len(mutants) <= most else sorted(random.Random(seed).sample(mutants, most))


def read_table() -> dict[str, tuple[str, ...]]:
    """Module → tests that must notice, from tests/mutants.toml."""
    table = tomllib.loads(TABLE.read_text(encoding="utf-8"))
    return {module: tuple(part["tests"]) for part in table.values() for module in part["modules"]}


def read_alive(text: str) -> dict[str, str]:
    """Known survivors, and the comment above each group of them: the reason."""
    out, reason, above = {}, "", False
    for line in text.splitlines():
        if line.startswith("#"):
            reason = f"{reason} {line[1:].strip()}" if above else line[1:].strip()
        elif line.strip():
            out[line] = reason
        else:
            reason = ""
        above = line.startswith("#")
    return out


def is_equivalent(reason: str) -> bool:
    """Whether a change makes no difference that a test could notice: these do not count."""
    return reason.startswith("Equivalent: ")


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
    """Survivors in the list that the commit does not have, without equivalents; none if the commit has no list yet."""
    before = subprocess.run(["git", "show", f"{base}:{ALIVE.relative_to(ROOT)}"], cwd=ROOT, capture_output=True, text=True)
    if before.returncode:
        return []
    known = read_alive(before.stdout)
    now = read_alive(ALIVE.read_text(encoding="utf-8"))
    return [line for line, reason in now.items() if line not in known and not is_equivalent(reason)]


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
    parser.add_argument(
        "--quick",
        action="store_true",
        help="only quick tests, ten seconds of them for each mutant: try its survivors again without",
    )
    parser.add_argument("--verbose", action="store_true", help="also print the mutants that were killed, and by which test")
    parser.add_argument("--update", action="store_true", help="remove killed mutants from tests/mutants-alive.txt")
    parser.add_argument("--list", action="store_true", help="print the mutants and run nothing")
    options = parser.parse_args(arguments)
    VERBOSE.extend([True] if options.verbose else [])
    QUICK.extend(["-m", "not slow"] if options.quick else [])
    os.chdir(ROOT)
    os.environ |= {"SHOAL_NO_NUMBA": "1", "PYTHONPATH": os.pathsep.join(filter(None, ["src", os.environ.get("PYTHONPATH")]))}
    sys.path.insert(0, str(ROOT / "src"))
    targets = list(named_targets(options.modules, options.tests) if options.modules else gate_targets(options.changed))
    until = None if options.seconds is None else time.monotonic() + options.seconds
    known = read_alive(ALIVE.read_text(encoding="utf-8")) if ALIVE.is_file() else {}
    shares: list[Share] = []
    alive: list[Mutant] = []
    seen: set[str] = set()
    chosen = {target: target.some(None if options.all else options.sample, options.seed) for target in targets}
    if options.list:
        print("\n".join(str(mutant) for mutants in chosen.values() for mutant in mutants))
        return 0
    preload()
    for tests, group in itertools.groupby((target for target in targets if chosen[target]), key=lambda target: target.tests):
        if until is not None and time.monotonic() > until:
            break
        guarded = list(group)
        remaining, tried = survivors([m for target in guarded for m in chosen[target]], tests, until)
        alive += remaining
        seen |= {m.key for m in tried}
        for target in guarded:
            shares.append(Share.of(target, tried, remaining, known))
            print(shares[-1], flush=True)
    return judge(shares, alive, seen, known, options)


@dataclass(frozen=True)
class Share:
    """How many mutants of a module were tried, how many the tests killed, and how many can make no difference."""

    module: str
    tried: int
    killed: int
    equivalent: int = 0

    @classmethod
    def of(cls, target: Target, tried: Sequence[Mutant], alive: Sequence[Mutant], known: dict[str, str]) -> Share:
        mine, survived = ([m for m in mutants if target.has(m)] for mutants in (tried, alive))
        equivalent = sum(is_equivalent(known.get(m.key, "")) for m in survived)
        return cls(str(target.path), len(mine), len(mine) - len(survived), equivalent)

    @property
    def share(self) -> float:
        return self.killed / (self.tried - self.equivalent) if self.tried > self.equivalent else 1.0

    def __str__(self) -> str:
        harmless = f", {self.equivalent} equivalent" if self.equivalent else ""
        return f"{self.module}: {self.killed} of {self.tried} killed{harmless} ({self.share:.1%})"


def judge(
    shares: Sequence[Share], alive: Sequence[Mutant], seen: set[str], known: dict[str, str], options: argparse.Namespace
) -> int:
    """Print the share of killed mutants; 1 if the gate fails."""
    total = Share("all", *(sum(getattr(s, name) for s in shares) for name in ("tried", "killed", "equivalent")))
    print(f"{total.killed} of {total.tried} mutants killed ({total.share:.1%})")
    new = [m for m in alive if m.key not in known]
    for mutant in new:
        print(f"not in {ALIVE.name}: {mutant.key}")
    stale = sorted(key for key in known if key in seen and key not in {m.key for m in alive})
    if stale and options.update:
        lines = ALIVE.read_text(encoding="utf-8").splitlines()
        ALIVE.write_text("\n".join(line for line in lines if line not in stale) + "\n", encoding="utf-8")
    elif stale:
        print(f"{len(stale)} lines of {ALIVE.name} are killed now: remove them with --update")
        print(*stale, sep="\n")
    grown = added_survivors(options.changed) if options.changed and ALIVE.is_file() else []
    for line in grown:
        print(f"{ALIVE.name} may only shrink; new line: {line}")
    low = [s for s in shares if s.share < LEAST_KILLED] if not (options.modules or options.changed) else []
    for share in low:
        print(f"below {LEAST_KILLED:.0%}: {share}")
    unlisted = bool(new) and not options.modules
    return 1 if unlisted or grown or low else 0


if __name__ == "__main__":
    sys.exit(main())
