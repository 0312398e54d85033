"""The small changes that mutation testing makes to a module: one comparison, number, operator or condition at a time.

Takes    the text of a module
Returns  every :class:`Mutant` of it that still compiles
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

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
        return f"{self.path}:{self.line}  {' '.join(self.old.split())}  →  {' '.join(self.new.split())}   in: {self.code}"


class Mutator(ast.NodeVisitor):
    """Collects the mutants of one file. Messages of errors, assertions, annotations and texts for people are left alone."""

    def __init__(self, path: Path, text: str) -> None:
        self.path, self.text = path, text
        self.found: set[Mutant] = set()
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
        self.found.add(Mutant(self.path, line, start, end, new, self.text[start:end], self._raw[line - 1].decode().strip()))

    def _replace(self, node: ast.expr, new: str) -> None:
        self._add(node.lineno, *self._span(node), new)

    def _between(self, left: ast.expr, right: ast.expr, pattern: str, others: Sequence[str]) -> None:
        """Exchange the operator between two operands."""
        start, end = self._span(left)[1], self._span(right)[0]
        if found := re.search(pattern, self.text[start:end]):
            for other in others:
                self._add(left.end_lineno or left.lineno, start + found.start(), start + found.end(), other)

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
    return sorted(m for m in mutator.found if _compiles(m.source(text)))


def _compiles(source: str) -> bool:
    try:
        compile(source, "mutant", "exec")
    except (SyntaxError, ValueError):
        return False
    return True
