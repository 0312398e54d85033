"""MySQL and MariaDB, through pymysql; values stay bytes until Arrow parses them.

Quirks handled here: collations fold case, accents and trailing blanks, so text is compared as ``BINARY``; ``tinyint(1)`` is
a boolean; results are sorted and grouped on the whole value; moments with a zone are read in UTC; NaN does not exist; a new table
is filled under another name and then renamed.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import reduce
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from shoal.engines.core.base import Relation, refused_loss
from shoal.engines.servers.mysql.session import Session, booleans_of, mapping_types, native_type, python_rows, reading
from shoal.engines.servers.tables import build_relation, no_table, spellings, table_expression
from shoal.errors import EngineError
from shoal.kernels.arrow import ArrowValues
from shoal.model.roles import Column
from shoal.steps.sql import call, cast, named, string, when

if TYPE_CHECKING:
    import pyarrow as pa

_COLUMNS = """
SELECT table_name, column_name, data_type, column_type, coalesce(numeric_precision, 0), coalesce(numeric_scale, 0)
FROM information_schema.columns WHERE table_schema = coalesce(%s, database()) AND table_name = %s ORDER BY ordinal_position
"""
_REPLACED = """
SELECT (SELECT count(*) FROM information_schema.statistics WHERE table_schema = coalesce(%s, database()) AND table_name = %s),
  (SELECT count(*) FROM information_schema.triggers
   WHERE event_object_schema = coalesce(%s, database()) AND event_object_table = %s),
  (SELECT max(engine) FROM information_schema.tables WHERE table_schema = coalesce(%s, database()) AND table_name = %s)
"""
"""Indexes, triggers and storage engine of a table that shall be replaced."""

LARGEST_JSON = 8_000_000
"""Bytes of a mapping that may travel inside a query; the server's limit for a whole statement is 16 MiB by default."""


class MySQL(Session):
    """A MySQL or MariaDB database."""

    name = "mysql"
    dialect = "mysql"

    # -- the schema ---------------------------------------------------------------------------------------------------

    def relation(self, table: str, **options: Any) -> Relation:
        booleans = bool(options.pop("booleans", True))
        for schema, name in spellings(table):
            columns = [r for r in self._rows(_COLUMNS, (schema, name)) if r[0] == name]
            if columns:
                readings = [reading(r[1], r[2], r[3], int(r[4]), int(r[5]), booleans=booleans) for r in columns]
                shown = f"{self.address.shown}::{table}"
                return build_relation(table_expression(schema, name), readings, shown, options, table)
        raise no_table(table, self.address.shown)

    # -- tables -------------------------------------------------------------------------------------------------------

    def create_table(self, name: str, query: exp.Expr) -> None:
        self.keep()
        with self._appearing(name) as table:
            self._run(self.render(exp.Create(this=table, kind="TABLE", expression=query)))

    def load_table(self, name: str, batches: Iterator[pa.RecordBatch], columns: Sequence[Column]) -> None:
        import pymysql

        first = next(batches)
        self.keep()
        with self._appearing(name) as table:
            shown = self.render(table)
            types = ", ".join(
                f"{self.render(exp.to_identifier(f.name, quoted=True))} {native_type(f.type)}" for f in first.schema
            )
            self._run(f"CREATE TABLE {shown} ({types}) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin")
            marks = ", ".join(["%s"] * len(first.schema))
            insert = f"INSERT INTO {shown.replace('%', '%%')} VALUES ({marks})"  # noqa: S608  a quoted identifier
            with self._other() as other:  # the batches may be streaming over our own connection
                try:
                    cursor = other._connect().cursor()
                    batch = first
                    while batch is not None:
                        cursor.executemany(insert, python_rows(batch))
                        batch = next(batches, None)
                except (pymysql.Error, OSError) as error:
                    raise self._failed(error) from None

    def take_over(self, passing: str, name: str) -> None:
        """By one RENAME, so that readers see one table or the other. An InnoDB table with indexes and the same columns stays,
        and gets the new rows in one transaction. Rights and views belong to the name and stay in any case."""
        (schema, table), (_, own) = self._spelled(name), self._spelled(passing)
        there = self._has_table(schema, table)
        new, old, aside = (self.render(table_expression(schema, n)) for n in (own, table, f"{own}_old"))
        indexes, triggers, engine = self._rows(_REPLACED, (schema, table) * 3)[0]
        kept = int(indexes) > 0
        if int(triggers) or (kept and (engine != "InnoDB" or self._columns_of(schema, table) != self._columns_of(schema, own))):
            raise refused_loss(name, "rights, indexes, triggers or rules")
        if kept:
            self._run("START TRANSACTION")
            try:
                self._run(f"DELETE FROM {old}")  # noqa: S608  quoted identifiers
                self._run(f"INSERT INTO {old} SELECT * FROM {new}")  # noqa: S608
                self._run("COMMIT")
            except BaseException:
                with suppress(EngineError):  # the first error is the one to tell; to drop the new table would commit
                    self._run("ROLLBACK")
                raise
        else:
            self._run(f"RENAME TABLE {f'{old} TO {aside}, ' if there else ''}{new} TO {old}")
        self.made = None
        if there:
            self._run(f"DROP TABLE {new if kept else aside}")

    def _columns_of(self, schema: str | None, table: str) -> list[Any]:
        return [row[1:] for row in self._rows(_COLUMNS, (schema, table))]

    @contextmanager
    def _appearing(self, name: str) -> Iterator[exp.Table]:
        """A table under a passing name that gets its real name at the end, or is dropped."""
        schema, table = self._free(name)
        passing = table_expression(schema, f"shoal_{secrets.token_hex(8)}")
        try:
            yield passing
            final = self.render(table_expression(schema, table))
            self._run(f"RENAME TABLE {self.render(passing)} TO {final}")
            self.made = final
        except BaseException:
            with suppress(EngineError):
                self._run(f"DROP TABLE IF EXISTS {self.render(passing)}")
            raise

    def _has_table(self, schema: str | None, table: str) -> bool:
        return bool(self._rows(_COLUMNS, (schema, table)))

    def _schemas(self) -> set[str]:
        return {r[0] for r in self._rows("SHOW DATABASES")}

    # -- the dialect --------------------------------------------------------------------------------------------------

    def render(self, query: exp.Expr) -> str:
        return super().render(query.transform(with_fractions))

    def key(self, value: exp.Expr, column: Column) -> exp.Expr:
        if column.kind == "text":
            return utf8_bytes(value)
        return super().key(value, column)

    def fingerprint(self, value: exp.Expr, column: Column) -> exp.Expr:
        """32 bytes for a text of any length: long values cannot be indexed, and every pair would be compared."""
        if column.kind == "text":
            return call("UNHEX", call("SHA2", utf8(value), exp.convert(256)))
        return self.key(value, column)

    def set_of(self, value: exp.Expr) -> exp.Expr:
        """32 bytes for a set of any size: only the start of a long text is compared where rows are sorted."""
        ordered = exp.Order(this=value, expressions=[exp.Ordered(this=value.copy(), nulls_first=True)])
        return call("UNHEX", call("SHA2", exp.GroupConcat(this=ordered), exp.convert(256)))

    def clean_float(self, value: exp.Expr) -> exp.Expr:
        return exp.Paren(this=exp.Add(this=cast(value, "DOUBLE"), expression=exp.Literal.number("0e0")))

    def text(self, value: exp.Expr, column: Column) -> exp.Expr:
        if column.kind == "timestamp":
            return moment_text(value, "%Y-%m-%d %H:%i:%s")
        if column.kind == "time":
            return moment_text(value, "%H:%i:%s")
        if column.kind == "binary":
            return exp.func("LOWER", call("HEX", value.copy()))
        return super().text(value, column)

    def decode(self, values: ArrowValues, column: Column) -> ArrowValues:
        if column.kind == "boolean":
            return booleans_of(values, column)
        return super().decode(values, column)

    def mapped(self, value: exp.Expr, column: Column) -> exp.Expr:
        """Columns of a mapping whose names begin with ``k`` are bytes already: left alone, they can be looked up by an index."""
        return value if value.name.startswith("k") else self.key(value, column)

    @contextmanager
    def mapping(self, data: pa.Table) -> Iterator[exp.Expr]:
        """A JSON text read as a table, which the server indexes by itself: no right to create anything is needed.

        A long one travels in parts, as variables of the session.
        """
        if not self._has_json_table():
            with super().mapping(data) as inline:
                yield inline
            return
        document, types = json_text(data), mapping_types(data)
        if len(document) <= LARGEST_JSON:
            yield json_table(string(document), types)
            return
        rows = max(1, data.num_rows * LARGEST_JSON // (2 * len(document)))
        parts = [json_text(data.slice(start, rows)) for start in range(0, data.num_rows, rows)]
        names = [f"shoal_{secrets.token_hex(8)}" for _ in parts]
        try:
            for name, part in zip(names, parts, strict=True):
                self._run(f"SET @{name} = %s", (part,))
            tables: list[exp.Expr] = [json_table(exp.Parameter(this=exp.Var(this=name)), types) for name in names]
            yield exp.Subquery(this=reduce(lambda a, b: exp.Union(this=a, expression=b, distinct=False), tables))
        finally:
            for name in names:
                with suppress(EngineError):
                    self._run(f"SET @{name} = NULL")

    def _has_json_table(self) -> bool:
        if self._version is None:
            text = self._rows("SELECT version()")[0][0]
            numbers = tuple(int(n) for n in text.split("-")[0].split(".")[:2])
            self._version = numbers >= ((10, 6) if "maria" in text.lower() else (8, 0))
        return self._version


def utf8_bytes(value: exp.Expr) -> exp.Expr:
    """The same bytes for the same text in any character set of the column."""
    return exp.Cast(this=utf8(value), to=exp.DataType.build("BINARY"))


def utf8(value: exp.Expr) -> exp.Expr:
    return exp.Cast(this=value.copy(), to=exp.DataType(this=exp.DataType.Type.CHARACTER_SET, kind=exp.Var(this="utf8mb4")))


def moment_text(value: exp.Expr, layout: str) -> exp.Expr:
    """A moment as text, with six digits of a second where there is a fraction."""

    def spelled(with_fraction: str) -> exp.Expr:
        return call("DATE_FORMAT", value.copy(), string(with_fraction))

    whole = exp.EQ(this=call("MICROSECOND", value.copy()), expression=exp.convert(0))
    return when(whole, spelled(layout), spelled(layout + ".%f"))


def with_fractions(node: exp.Expr) -> exp.Expr:
    """CAST … AS DATETIME would drop fractions of a second."""
    if isinstance(node, exp.Cast) and isinstance(node.to, exp.DataType) and node.to.this == exp.DataType.Type.TIMESTAMP:
        return exp.Cast(this=node.this, to=exp.DataType.build("DATETIME(6)", dialect="mysql"))
    return node


def json_text(data: pa.Table) -> str:
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
    terms = [named(exp.column(f"x{i}", table="q"), name) for i, name in enumerate(types)]
    return exp.Subquery(
        this=exp.select(*terms).from_(exp.Table(this=table, alias=exp.TableAlias(this=exp.to_identifier("q")))).limit(2**62)
    )
