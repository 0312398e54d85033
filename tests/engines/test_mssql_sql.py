"""SQL Server: no server is at hand, so its SQL is generated for every kind of request and parsed back; nothing is run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
import sqlglot
from sqlglot import exp

from shoal.engines.core.base import Relation
from shoal.engines.servers.addresses import Address
from shoal.engines.servers.mssql import OPTIONS, SQLServer, _odbc, reading
from shoal.engines.servers.tables import build_relation, table_expression
from shoal.engines.table import make_table
from shoal.model.plan import Plan, Suppression
from shoal.model.roles import Column
from shoal.steps import Clamp, Constant, Cut, MapValues, Prefix, Round

NATIVE = {
    "na]me": "nvarchar", "padded": "char", "n": "int", "d": "decimal", "x": "float", "ok": "bit", "day": "date", "t": "datetime2",
    "z": "datetimeoffset", "g": "uniqueidentifier", "b": "varbinary",
}  # fmt: skip


class Recorder(SQLServer):
    """Keeps the SQL of every query and answers each with one row of nothing."""

    def __init__(self) -> None:
        self.address = Address.parse("mssql://u:p@localhost/db", port=1433, known=OPTIONS)
        self.asked: list[str] = []
        self.sent: list[str] = []

    def stream(self, query: exp.Expr, *, batch_rows: int = 1) -> Iterator[Any]:
        self.asked.append(self.render(query))
        names = [e.alias_or_name for e in query.expressions]
        yield pa.RecordBatch.from_pydict({n: pa.array([0], pa.int64()) for n in names})

    def _rows(self, sql: str, *parameters: Any) -> list[Any]:
        return []

    def _whole(self, statements: Any, more: Any = None) -> None:
        self.sent += statements


def relation() -> Relation:
    readings = [reading(n, t) for n, t in NATIVE.items()]
    return build_relation(table_expression("dbo", "peo]ple"), readings, "mssql://localhost::people", {}, "people")


@pytest.fixture(scope="module")
def asked() -> list[str]:
    engine = Recorder()
    table = make_table(engine, relation(), "people", {})
    step = MapValues("na]me", ("a'", "Ω"), (0, 1), ("x", "y"), "top", "other", "?")
    through = {
        "na]me": step, "n": Cut("n", (1.0, 2.5), ("a", "b", "c")), "x": Round("x", 0.25), "d": Clamp("d", 0.0, None),
        "padded": Prefix("padded", 2), "day": Prefix("day", 4, ""), "ok": Constant("ok"),
        "t": Cut("t", ("2024-01-01",), ("o", "n")),
    }  # fmt: skip
    from contextlib import ExitStack

    from shoal.engines.count.sql import CountRequest, _Parts, cleaned, shaped_columns
    from shoal.engines.recode.sql import final, published, suppressed

    with ExitStack() as stack:
        request = CountRequest(tuple(through), through, ("g",), "z", "x")
        names = [*through, "g", "z"]
        inner = cleaned(engine, table._relation, names)
        shaped = shaped_columns(engine, table._relation, list(through), through, stack)
        parts = _Parts(engine, table._relation, names, inner, shaped, request)
        keys = [f"k{i}" for i in range(len(through))]
        query = parts.grouped(
            {"u": parts.raw("z"), "v": parts.raw("g")}, [*keys, "v"], [exp.alias_(exp.Count(this=exp.Star()), "n")]
        )
        engine.asked.append(engine.render(query))
        for scope in ("rows", "cells"):
            plan = Plan(tuple(through.values()), Suppression(5, ("na]me", "n"), scope, "z"))
            rows = published(engine, table._relation, list(NATIVE), through, "z", None, stack)
            out = final(engine, suppressed(engine, rows, plan, None, stack), plan)
            engine.asked.append(engine.render(out))
            engine.create_table("new.t", out)
    return engine.asked + engine.sent


def test_every_query_is_one_statement_of_the_dialect(asked: list[str]) -> None:
    assert len(asked) >= 5
    for sql in asked:
        assert len(sqlglot.parse(sql, dialect="tsql", error_level=sqlglot.ErrorLevel.RAISE)) == 1


def test_text_is_compared_as_bytes_behind_a_mark(asked: list[str]) -> None:
    assert "AS VARBINARY(MAX))" in asked[-1]
    assert "+ N'|'" in asked[-1]


def test_nothing_of_newer_or_other_servers_is_used(asked: list[str]) -> None:
    for sql in asked:
        bare = re.sub(r"N'(?:[^']|'')*'", "''", sql)
        for word in (
            "GREATEST",
            "IS NOT DISTINCT",
            "||",
            " TRUE",
            " FALSE",
            "LIMIT",
            "ISNAN",
            "AS TEXT",
            "VARCHAR(MAX) COLLATE C",
        ):
            assert word not in bare, word


def test_literals_are_national_and_names_bracketed(asked: list[str]) -> None:
    joined = "\n".join(asked)
    assert "Ω" in joined
    assert "[na]]me]" in joined
    assert not re.search(r"(?<![N'\\w$])'[^']*Ω", joined)


def test_keys_are_read_back_as_text() -> None:
    from shoal.model.roles import Column

    values = pa.array([None if v is None else (v + "|").encode("utf-16-le") for v in ("a ", "Ω😀", "", None, "x|")], pa.binary())
    assert Recorder().decode(values, Column("a", "text")).to_pylist() == ["a ", "Ω😀", "", None, "x|"]


def test_the_connection_string_holds_hostile_passwords() -> None:
    text = _odbc(Address.parse("mssql://u:p%7D%3B%40x@h:1/d", port=1433, known=OPTIONS))
    assert "PWD={p}};@x}" in text
    assert "SERVER={h,1}" in text


def test_numbers_are_not_shortened_on_the_way(asked: list[str]) -> None:
    """CAST of a float has six digits, of money two decimals; COUNT and SUM of integers end at 2³¹."""
    assert any("COUNT_BIG(" in sql for sql in asked)
    assert not any(re.search(r"\bCOUNT\(", sql) for sql in asked)
    text = SQLServer.text(Recorder(), exp.column("x"), Column("x", "float"))
    assert text.sql(dialect="tsql") == "CONVERT(NVARCHAR(40), (CAST(x AS FLOAT) + 0e0), 3)"
    kinds = {word: reading("c", word) for word in ("money", "smallmoney", "timestamp", "image")}
    assert {w: r.column.kind for w, r in kinds.items()} == {
        "money": "decimal", "smallmoney": "decimal", "timestamp": "binary", "image": "binary",
    }  # fmt: skip
    assert all(r.value is not None and "CAST(" in r.value.sql(dialect="tsql") for r in kinds.values())
