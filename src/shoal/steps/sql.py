"""What a step's SQL is made of. This module loads sqlglot: steps import it when SQL is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from sqlglot import exp

from shoal.model.roles import Column


class Dialect(Protocol):
    """What a step must know of an engine."""

    def key(self, value: exp.Expr, column: Column) -> exp.Expr:
        """``value`` in a form that compares byte for byte."""
        ...

    def mapped(self, value: exp.Expr, column: Column) -> exp.Expr:
        """A text column of a lookup in the form that :meth:`key` gives."""
        ...

    def text(self, value: exp.Expr, column: Column) -> exp.Expr:
        """The canonical text of ``value``."""
        ...

    def char_length(self, value: exp.Expr) -> exp.Expr:
        """Characters, not bytes."""
        ...


@dataclass(frozen=True)
class Lookup:
    """A small table (pyarrow) to be joined on ``on``; ``gap`` is true where a value must be in it and is not."""

    table: Any
    on: exp.EQ
    gap: exp.Expr | None


@dataclass(frozen=True)
class Expression:
    """The new value of a column, and the lookup that it reads from."""

    value: exp.Expr
    lookup: Lookup | None = None


def string(value: str) -> exp.Expr:
    """A text literal."""
    return exp.Literal.string(value)


def number(value: float, *, whole: bool = False) -> exp.Expr:
    """A number in double precision; with ``whole``, 30.0 is the integer 30."""
    if whole and float(value).is_integer():
        return exp.convert(int(value))
    return cast(string(repr(float(value))), "DOUBLE")  # from text: the nearest double on every engine


def cast(value: exp.Expr, to: str) -> exp.Expr:
    """CAST(value AS to), ``to`` in sqlglot's words."""
    return exp.Cast(this=value.copy(), to=exp.DataType.build(to))


def column(name: str, table: str | None = None) -> exp.Column:
    """A quoted column reference."""
    return exp.column(exp.to_identifier(name, quoted=True), table=exp.to_identifier(table, quoted=True) if table else None)


def aliased(relation: exp.Expr, alias: str) -> exp.Expr:
    """``relation AS alias``."""
    return exp.alias_(relation.copy(), exp.to_identifier(alias, quoted=True), table=True)


def unless_missing(value: exp.Expr, then: exp.Expr, missing: str | None = None) -> exp.Expr:
    """``then``; where ``value`` is missing, the text ``missing``, or NULL."""
    instead = exp.Null() if missing is None else string(missing)
    return exp.Case(ifs=[exp.If(this=is_null(value), true=instead)], default=then)


def is_null(value: exp.Expr) -> exp.Expr:
    """``value IS NULL``."""
    return exp.Is(this=value.copy(), expression=exp.Null())
