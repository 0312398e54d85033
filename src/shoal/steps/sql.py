"""What a step's SQL is made of. This module loads sqlglot: steps import it when SQL is asked for."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from shoal.kernels.codes import number_ranges
from shoal.model.roles import NUMBERS, Column


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
    of = exp.to_identifier(table, quoted=True) if table else None
    return exp.column(exp.to_identifier(name, quoted=True), table=of, copy=False)


def aliased(relation: exp.Expr, alias: str) -> exp.Expr:
    """``relation AS alias``."""
    return exp.alias_(relation.copy(), exp.to_identifier(alias, quoted=True), table=True, copy=False)


def subquery(query: exp.Expr, alias: str) -> exp.Expr:
    """``(query) AS alias``."""
    return exp.alias_(exp.Subquery(this=query), exp.to_identifier(alias, quoted=True), table=True, copy=False)


def select(terms: Iterable[exp.Expr], source: exp.Expr) -> exp.Select:
    """``SELECT terms FROM source`` of the expressions themselves: copies of thousands of columns take seconds."""
    return exp.Select(expressions=list(terms)).from_(source, copy=False)


def named(value: exp.Expr, name: str) -> exp.Expr:
    """``value AS name``, the name quoted."""
    return exp.alias_(value, name, quoted=True, copy=False)


def call(function: str, *arguments: exp.Expr) -> exp.Expr:
    """A function of the engine's own, by its name."""
    return exp.Anonymous(this=function, expressions=list(arguments))


def when(test: exp.Expr, then: exp.Expr, otherwise: exp.Expr | None = None) -> exp.Case:
    """``CASE WHEN test THEN then ELSE otherwise END``; NULL without ``otherwise``."""
    return exp.Case(ifs=[exp.If(this=test, true=then)], default=otherwise)


def count_all() -> exp.Expr:
    """``COUNT(*)``."""
    return exp.Count(this=exp.Star())


def unless_missing(value: exp.Expr, then: exp.Expr, missing: str | None = None) -> exp.Expr:
    """``then``; where ``value`` is missing, the text ``missing``, or NULL."""
    instead = exp.Null() if missing is None else string(missing)
    return when(is_null(value), instead, then)


def is_null(value: exp.Expr) -> exp.Expr:
    """``value IS NULL``."""
    return exp.Is(this=value.copy(), expression=exp.Null())


def code_test(value: exp.Expr, column: Column) -> exp.Expr | None:
    """Whether ``value`` is a code that the file declares missing; None where the column has none."""
    if column.kind == "text":
        texts = [string(d) for d in column.user_missing if isinstance(d, str)]
        return exp.In(this=value.copy(), expressions=texts) if texts else None
    if column.kind not in NUMBERS:
        return None
    tests = []
    for low, high in number_ranges(column.user_missing):
        x = value if column.kind == "integer" else cast(value, "DOUBLE")
        ends: list[exp.Expr] = [] if math.isinf(low) else [exp.GTE(this=x.copy(), expression=_bound_of(low, column, math.ceil))]
        ends += [] if math.isinf(high) else [exp.LTE(this=x.copy(), expression=_bound_of(high, column, math.floor))]
        tests.append(exp.and_(*ends) if ends else exp.Not(this=is_null(value)))
    return exp.or_(*tests) if tests else None


def _bound_of(limit: float, column: Column, inwards: Any) -> exp.Expr:
    """A limit in the type of the column: a range of whole numbers has whole ends."""
    return number(inwards(limit), whole=True) if column.kind == "integer" and abs(limit) < 2**53 else number(limit)


def apart(expression: Expression, test: exp.Expr, own: exp.Expr) -> Expression:
    """The expression, but codes as they are; where a value map must cover every value, codes that it does not name."""
    if expression.lookup is None:
        return Expression(when(test, own, expression.value))
    if expression.lookup.gap is None:
        return expression
    spared = exp.and_(expression.lookup.gap.copy(), test)
    lookup = Lookup(
        expression.lookup.table, expression.lookup.on, exp.and_(expression.lookup.gap, exp.Not(this=exp.Paren(this=test.copy())))
    )
    return Expression(when(spared, own, expression.value), lookup)


if TYPE_CHECKING:
    from sqlglot import exp as exp
else:

    class _Later:
        """Stands for the module ``sqlglot.exp``."""

        def __getattr__(self, name: str) -> Any:
            from sqlglot import exp as module

            value = getattr(module, name)
            setattr(self, name, value)
            return value

    exp = _Later()
