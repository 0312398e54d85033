"""What a person says about columns beside their roles: scale, order of categories, values that mean "no value"."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal, InvalidOperation

from shoal.engines.core.base import Engine, Relation
from shoal.errors import UsageError
from shoal.model.roles import SCALES, Column, Schema
from shoal.steps.sql import aliased, exp, named, string, when
from shoal.steps.sql import column as column_of

MOST_SPELLINGS = 1_000
"""Spellings of "missing" that one column may have."""
LONGEST_NUMBER = 38
"""Digits before or behind the point with which a number is looked for."""


def described(
    schema: Schema,
    scale: Mapping[str, str] | None = None,
    order: Mapping[str, Sequence[object]] | None = None,
    missing_values: Mapping[str, Sequence[object]] | None = None,
) -> tuple[Column, ...]:
    """The columns with their settings; invalid settings are refused, without a value in the message."""
    properties = {**(scale or {}), **(order or {}), **(missing_values or {})}
    for name in properties:
        schema.require(name)
    scales = {name: _scale(name, word) for name, word in (scale or {}).items()}
    orders = {name: _order(name, values) for name, values in (order or {}).items()}
    gone = {name: _spellings(name, values) for name, values in (missing_values or {}).items()}
    out = []
    for c in schema.columns:
        if c.name not in properties:
            out.append(c)
            continue
        placed = orders.get(c.name, c.order)
        kind = scales.get(c.name, "ordered" if c.name in orders else c.scale)
        if c.name in orders and kind != "ordered":
            raise UsageError(f"column '{c.name}' is given an order and the scale {kind}.", hint="Leave one of them out.")
        spelled = tuple(dict.fromkeys((*c.missing_values, *gone.get(c.name, ()))))
        kept = tuple(v for v in placed if v not in spelled) if kind in ("", "ordered") else ()
        out.append(replace(c, scale=kind, order=kept, missing_values=spelled))
    return tuple(out)


def without_spellings(engine: Engine, relation: Relation, new: Mapping[str, Sequence[object]]) -> Relation:
    """The relation with the spellings read as missing: numbers as numbers (9 is 9.0), all else byte for byte as it is written."""
    if not any(new.values()):
        return relation
    terms = []
    for c in relation.columns:
        value: exp.Expr = column_of(c.name, "r")
        if new.get(c.name):
            test = _is_listed(engine, c, value, [text_of(v) for v in new[c.name]])
            value = when(test, exp.Null(), value) if test is not None else value
        terms.append(named(value, c.name))
    terms += [named(column_of(n, "r"), n) for n in relation.in_sql[len(relation.columns) :]]
    inside = aliased(relation.sql, "r")
    query = exp.Subquery(this=exp.select(*terms).from_(inside))
    return replace(relation, query=query, reader=None)


def _is_listed(engine: Engine, column: Column, value: exp.Expr, spelled: Sequence[str]) -> exp.Expr | None:
    """Whether a value is one of the spellings; None where none of them can stand in the column."""
    if column.kind not in ("integer", "float", "decimal"):
        return exp.In(this=engine.text(value.copy(), column), expressions=[string(v) for v in spelled])
    numbers = dict.fromkeys(n for v in spelled if (n := _number(v)) is not None)
    return exp.In(this=value.copy(), expressions=[exp.Literal.number(f"{n:f}") for n in numbers]) if numbers else None


def _number(text: str) -> Decimal | None:
    """The number that a text writes; None for others, and for those that no column holds."""
    try:
        number = Decimal(text.strip())
    except InvalidOperation:
        return None
    return number if number.is_finite() and abs(number.adjusted()) < LONGEST_NUMBER else None


def text_of(value: object) -> str:
    """A value of a list as the text that columns are compared by."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _scale(name: str, word: str) -> str:
    if word not in SCALES:
        raise UsageError(f"the scale of '{name}' is not known.", hint=f"Scales: {', '.join(SCALES)}.", column=name)
    return word


def _order(name: str, values: Sequence[object]) -> tuple[str, ...]:
    texts = tuple(text_of(v) for v in values)
    if isinstance(values, str) or len(texts) < 2 or len(set(texts)) < len(texts):
        hint = "Such as order: {pain: [low, medium, high]}."
        raise UsageError(f"the order of '{name}' needs at least two values, each named once.", hint=hint, column=name)
    return texts


def _spellings(name: str, values: Sequence[object]) -> tuple[str, ...]:
    texts = tuple(dict.fromkeys(text_of(v) for v in ([values] if isinstance(values, str) else values)))
    if not texts or len(texts) > MOST_SPELLINGS:
        hint = "Such as missing_values: {weight: ['?', '-9']}."
        raise UsageError(f"the missing values of '{name}' are {'none' if not texts else 'too many'}.", hint=hint, column=name)
    return texts
