"""Literals, names and expressions in DuckDB's words."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from shoal.engines.core.base import Relation
from shoal.engines.core.kinds import is_nested, kind_of
from shoal.engines.core.stored_types import RAW, WHOLE, fine_durations
from shoal.model.roles import Column
from shoal.steps.sql import cast, exp, string
from shoal.steps.sql import column as column_of


def literal(value: str) -> str:
    """A text literal in DuckDB's words.

    >>> literal("it's")
    "'it''s'"
    """
    return "'" + value.replace("'", "''") + "'"


def identifier(name: str) -> str:
    """A quoted identifier in DuckDB's words."""
    return '"' + name.replace('"', '""') + '"'


def path_literal(path: Path) -> str:
    """A path as a literal, its wildcard characters made ordinary ones."""
    return literal(re.sub(r"([*?\[])", r"[\1]", str(path)))


def flat(relation: Relation, schema: Any) -> Relation:
    """The relation with lists, structures and other types of DuckDB's own read as text: JSON where they are nested.

    Each of them is there in its own type too, under its name and :data:`~shoal.engines.core.stored_types.RAW`; durations of
    nanoseconds, which DuckDB cuts, come as whole numbers under it.
    """
    odd = {f.name: is_nested(f.type) for f in schema if kind_of(f.type) == "other"}
    if not odd:
        return relation
    terms = []
    for c in relation.columns:
        value: exp.Expr = column_of(c.name, "r")
        if c.name in odd:
            value = cast(exp.Anonymous(this="to_json", expressions=[value]) if odd[c.name] else value, "TEXT")
            raw = c.name + WHOLE if fine_durations(c.stored) else c.name
            terms.append(exp.alias_(column_of(raw, "r"), c.name + RAW, quoted=True))
        terms.append(exp.alias_(value, c.name, quoted=True))
    inside = exp.alias_(relation.sql.copy(), exp.to_identifier("r", quoted=True), table=True)
    columns = tuple(replace(c, kind="text") if c.name in odd else c for c in relation.columns)
    query, names = exp.Subquery(this=exp.select(*terms).from_(inside)), tuple(odd)
    return replace(relation, query=query, columns=columns, reads_as_text=names, not_as_codes=names)


def to_microseconds(value: exp.Expr, column: Column) -> exp.Expr:
    """Moments and times of day of nanoseconds as classes and steps take them."""
    if getattr(column.stored, "unit", "") != "ns" or column.kind not in ("timestamp", "time"):
        return value
    if column.kind == "time":
        return cast(value, "TIME")
    plain = cast(value, "TIMESTAMPTZ") if getattr(column.stored, "tz", None) is not None else value  # no direct cast from a zone
    return cast(plain, "TIMESTAMP")


def moment(value: exp.Expr, form: str) -> exp.Expr:
    """A timestamp's text; six more digits only where there is a fraction of a second."""

    def spelled(pattern: str) -> exp.Expr:
        return exp.Anonymous(this="strftime", expressions=[value.copy(), string(pattern)])

    whole = exp.EQ(
        this=exp.Mod(this=exp.Anonymous(this="epoch_us", expressions=[value.copy()]), expression=exp.convert(1_000_000)),
        expression=exp.convert(0),
    )
    return exp.Case(ifs=[exp.If(this=whole, true=spelled(form))], default=spelled(form + ".%f"))


def fraction_of_time(text: exp.Expr) -> exp.Expr:
    """DuckDB writes 10:00:00.5; the canonical text has six digits."""
    short = exp.LTE(this=exp.Length(this=text.copy()), expression=exp.convert(8))
    padded = exp.Anonymous(this="rpad", expressions=[text.copy(), exp.convert(15), string("0")])
    return exp.Case(ifs=[exp.If(this=short, true=text.copy())], default=padded)
