"""How columns of Spark's types are read."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from shoal.engines.servers.tables import Reading
from shoal.model.roles import Column
from shoal.steps.sql import column, string

_WORDS_OF = {
    "integer": "tinyint smallint int bigint",
    "float": "float double",
    "boolean": "boolean",
    "date": "date",
    "timestamp": "timestamp_ntz",
    "time": "time",
    "text": "string",
    "binary": "binary",
}
_KINDS = {word: kind for kind, words in _WORDS_OF.items() for word in words.split()}


def reading(field: Any) -> Reading:
    """How a column is read, from its Spark type."""
    native = field.dataType.simpleString()
    declared = (field.metadata or {}).get("__CHAR_VARCHAR_TYPE_STRING", "")
    value: exp.Expr = column(field.name, "r")
    if native.startswith("decimal"):
        return Reading(Column(field.name, "decimal"), None, native)
    if declared.startswith("char"):
        return Reading(Column(field.name, "text"), exp.Anonymous(this="RTRIM", expressions=[value]), declared)
    if native.startswith("string collate"):
        plain = exp.Anonymous(this="COLLATE", expressions=[value, string("UTF8_BINARY")])
        return Reading(Column(field.name, "text"), plain, native)
    if native == "timestamp":
        return Reading(Column(field.name, "timestamp"), _cast(value, "TIMESTAMP_NTZ"), native)
    if native in _KINDS:
        return Reading(Column(field.name, _KINDS[native]), None, native)
    return Reading(Column(field.name, "text"), exp.Anonymous(this="TO_JSON", expressions=[value]), native)


def _cast(value: exp.Expr, to: str) -> exp.Expr:
    return exp.Cast(this=value, to=exp.DataType.build(to, dialect="spark"))
