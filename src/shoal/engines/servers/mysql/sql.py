"""Expressions of MySQL and MariaDB: bytes of a text, moments as text, a JSON text as a table."""

from __future__ import annotations

import json
from typing import Any

from sqlglot import exp

from shoal.steps.sql import string


def utf8_bytes(value: exp.Expr) -> exp.Expr:
    """The same bytes for the same text, whatever the character set of the column."""
    return exp.Cast(this=utf8(value), to=exp.DataType.build("BINARY"))


def utf8(value: exp.Expr) -> exp.Expr:
    return exp.Cast(this=value.copy(), to=exp.DataType(this=exp.DataType.Type.CHARACTER_SET, kind=exp.Var(this="utf8mb4")))


def moment_text(value: exp.Expr, layout: str) -> exp.Expr:
    """A moment as text, with six digits of a second where there is a fraction."""

    def spelled(with_fraction: str) -> exp.Expr:
        return exp.Anonymous(this="DATE_FORMAT", expressions=[value.copy(), string(with_fraction)])

    whole = exp.EQ(this=exp.Anonymous(this="MICROSECOND", expressions=[value.copy()]), expression=exp.convert(0))
    return exp.Case(ifs=[exp.If(this=whole, true=spelled(layout))], default=spelled(layout + ".%f"))


def with_fractions(node: exp.Expr) -> exp.Expr:
    """CAST … AS DATETIME would drop fractions of a second."""
    if isinstance(node, exp.Cast) and isinstance(node.to, exp.DataType) and node.to.this == exp.DataType.Type.TIMESTAMP:
        return exp.Cast(this=node.this, to=exp.DataType.build("DATETIME(6)", dialect="mysql"))
    return node


def json_text(data: Any) -> str:
    """The rows of a mapping as a JSON text of lists."""
    columns = [data[name].to_pylist() for name in data.column_names]
    return json.dumps(list(zip(*columns, strict=True)), ensure_ascii=False)


def json_table(document: exp.Expr, types: dict[str, str]) -> exp.Subquery:
    """(SELECT … FROM JSON_TABLE(document …)); the limit makes the server keep it as a table of its own, with an index."""
    table = exp.JSONTable(
        this=document,
        path=string("$[*]"),
        schema=exp.JSONSchema(
            expressions=[
                exp.JSONColumnDef(this=exp.to_identifier(f"x{i}"), kind=exp.Var(this=kind), path=string(f"$[{i}]"))
                for i, kind in enumerate(types.values())
            ]
        ),
    )
    terms = [exp.alias_(exp.column(f"x{i}", table="q"), name, quoted=True) for i, name in enumerate(types)]
    return exp.Subquery(
        this=exp.select(*terms).from_(exp.Table(this=table, alias=exp.TableAlias(this=exp.to_identifier("q")))).limit(2**62)
    )
