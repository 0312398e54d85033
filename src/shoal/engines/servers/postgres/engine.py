"""PostgreSQL: results come as Arrow through ADBC (binary COPY), never through Python objects.

Quirks handled here: text is compared with ``COLLATE "C"`` (a column's own collation may fold case or accents); ``char(n)`` is
read without its padding; NaN equals NaN; ``numeric`` without a scale is given the scale that its values need; moments with
a zone are read in UTC; ``IS NOT DISTINCT FROM`` cannot be hashed, so missing values are made comparable in joins.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Any

import pyarrow as pa
from sqlglot import exp, parse_one

from shoal.engines.core.base import Relation, refused_loss
from shoal.engines.servers.postgres.session import LooseNumeric, Session, check_finite, reading
from shoal.engines.servers.tables import Remembered, build_relation, no_table, spellings, table_expression
from shoal.errors import EngineError
from shoal.kernels.arrow import ArrowValues
from shoal.model.roles import Column
from shoal.steps.sql import aliased, call, cast, column, string

_TABLE = """
SELECT a.attname FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid
WHERE c.relname = $1 AND c.relkind IN ('r', 'p', 'v', 'm', 'f') AND a.attnum > 0 AND NOT a.attisdropped
AND (CASE WHEN $2 = '' THEN pg_catalog.pg_table_is_visible(c.oid) ELSE n.nspname = $2 END)
AND pg_catalog.has_column_privilege(c.oid, a.attnum, 'SELECT')
ORDER BY a.attnum
"""
_REPLACED = """
WITH columns AS (
  SELECT attrelid AS id, pg_catalog.array_agg(pg_catalog.concat_ws(' ', attname,
    pg_catalog.format_type(atttypid, atttypmod), attgenerated, attidentity) ORDER BY attnum) AS names
  FROM pg_catalog.pg_attribute WHERE attnum > 0 AND NOT attisdropped
  AND attrelid IN (pg_catalog.to_regclass($1), pg_catalog.to_regclass($2)) GROUP BY attrelid)
SELECT CASE WHEN count(DISTINCT names) = 1 AND count(*) = 2 THEN 'same' ELSE 'other' END,
  EXISTS (SELECT FROM pg_catalog.pg_trigger WHERE tgrelid = pg_catalog.to_regclass($1) AND NOT tgisinternal)
  OR EXISTS (SELECT FROM pg_catalog.pg_rewrite WHERE ev_class = pg_catalog.to_regclass($1))
  OR EXISTS (SELECT FROM pg_catalog.pg_inherits WHERE pg_catalog.to_regclass($1) IN (inhparent, inhrelid))
  OR EXISTS (SELECT FROM pg_catalog.pg_class WHERE oid = pg_catalog.to_regclass($1) AND (relrowsecurity OR relkind <> 'r')),
  EXISTS (SELECT FROM pg_catalog.pg_index WHERE indrelid = pg_catalog.to_regclass($1))
  OR EXISTS (SELECT FROM pg_catalog.pg_class WHERE oid = pg_catalog.to_regclass($1) AND relacl IS NOT NULL)
FROM columns
"""
"""Of the table $1, which $2 shall replace: whether the columns are the same, whether something would change rows that are
inserted, and whether it has rights or indexes."""


class Postgres(Session):
    """A PostgreSQL database."""

    name = "postgres"
    dialect = "postgres"

    # -- the schema ---------------------------------------------------------------------------------------------------

    def relation(self, table: str, **options: Any) -> Relation:
        for schema, name in spellings(table):
            columns = self._run(_TABLE, (name, schema or "")).column(0).to_pylist()
            if columns:
                return self._relation(schema, name, columns, table, options)
        raise no_table(table, self.address.shown)

    def _relation(self, schema: str | None, name: str, names: list[str], table: str, options: dict[str, Any]) -> Relation:
        source = table_expression(schema, name)
        nothing = exp.select(*[column(n, "r") for n in names]).from_(aliased(source, "r")).limit(0)
        fields = self._schema(self.render(nothing))
        readings = [reading(field, source) for field in fields]
        return build_relation(source, readings, f"{self.address.shown}::{table}", options, table)

    # -- tables -------------------------------------------------------------------------------------------------------

    def create_table(self, name: str, query: exp.Expr) -> None:
        self._may_write()
        schema, table = self._free(name)
        self._run(self.render(exp.Create(this=table_expression(schema, table), kind="TABLE", expression=query)))
        self.made = self.render(table_expression(schema, table))

    def load_table(self, name: str, batches: Iterator[pa.RecordBatch], columns: Sequence[Column]) -> None:
        self._may_write()
        schema, table = self._free(name)
        first = next(batches)
        source = Remembered(chain([first], batches))
        reader = pa.RecordBatchReader.from_batches(first.schema, iter(source))
        with self.snapshot():
            try:
                with self._answering() as cursor:
                    cursor.adbc_ingest(table, reader, mode="create", db_schema_name=schema)
            except EngineError:
                if source.error is not None:
                    raise source.error from None
                raise
        self.made = self.render(table_expression(schema, table))

    def take_over(self, passing: str, name: str) -> None:
        """In the transaction of the run, which :meth:`keep` commits. A table with the same columns stays, with its rights,
        indexes and views, and gets the new rows: TRUNCATE removes those too that came after the snapshot of the run."""
        (schema, table), (_, own) = self._spelled(name), self._spelled(passing)
        old, new = (self.render(table_expression(schema, n)) for n in (table, own))
        there, changes, kept = (c[0].as_py() for c in self._run(_REPLACED, (old, new)).columns)
        if there == "same" and not changes:
            self._run(f"TRUNCATE {old}")
            self._run(f"INSERT INTO {old} SELECT * FROM {new}")  # noqa: S608  quoted identifiers
            self._run(f"DROP TABLE {new}")
        elif changes or kept:
            raise refused_loss(name, "rights, indexes, triggers or rules")
        else:
            self._run(f"DROP TABLE IF EXISTS {old}")
            self._run(f"ALTER TABLE {new} RENAME TO {self.render(exp.to_identifier(table, quoted=True))}")
        self.made = None

    def _has_table(self, schema: str | None, table: str) -> bool:
        return bool(self._run(_TABLE, (table, schema or "")).num_rows)

    def _schemas(self) -> list[str]:
        names: list[str] = self._run("SELECT nspname FROM pg_catalog.pg_namespace").column(0).to_pylist()
        return names

    # -- the dialect --------------------------------------------------------------------------------------------------

    def render(self, query: exp.Expr) -> str:
        if query.find(LooseNumeric) is not None:
            query = query.copy()
            used = {c.name for c in query.find_all(exp.Column) if c.table != "r"}
            for node in list(query.find_all(LooseNumeric)):
                node.replace(self._scaled(node) if node.this.name in used else exp.Null())
        return super().render(query)

    def _scaled(self, node: LooseNumeric) -> exp.Expr:
        table, value = node.args["table"], node.this
        where = f"{table.sql(dialect=self.dialect)}.{value.name}"
        if where not in self._scales:
            scale = exp.func("MAX", exp.func("SCALE", exp.func("TRIM_SCALE", column(value.name, "r"))))
            scales = self._run(super().render(exp.select(exp.alias_(scale, "n")).from_(aliased(table, "r")))).column(0)[0].as_py()
            self._scales[where] = int(scales or 0)
        scale_, number = self._scales[where], exp.func("NULLIF", value.copy(), cast(string("NaN"), "DECIMAL"))
        return exp.Cast(this=number, to=exp.DataType.build(f"DECIMAL({38 if scale_ <= 19 else 76}, {scale_})"))

    def key(self, value: exp.Expr, column: Column) -> exp.Expr:
        if column.kind == "text":
            return exp.Collate(this=exp.Paren(this=value), expression=exp.to_identifier("C", quoted=True))
        return super().key(value, column)

    def clean_float(self, value: exp.Expr) -> exp.Expr:
        double = cast(value, "DOUBLE")
        summed = exp.Paren(this=exp.Add(this=double, expression=cast(exp.Literal.number("0"), "DOUBLE")))
        return exp.func("NULLIF", summed, cast(string("NaN"), "DOUBLE"))

    def text(self, value: exp.Expr, column: Column) -> exp.Expr:
        if column.kind in ("timestamp", "time"):
            digits = "YYYY-MM-DD HH24:MI:SS.US" if column.kind == "timestamp" else "HH24:MI:SS.US"
            spelled = call("TO_CHAR", value.copy(), string(digits))
            return call("REGEXP_REPLACE", spelled, string(r"\.000000$"), string(""))
        if column.kind == "binary":
            return call("ENCODE", value.copy(), string("hex"))
        return super().text(value, column)

    def decode(self, values: ArrowValues, column: Column) -> ArrowValues:
        decoded = super().decode(values, column)
        if column.kind in ("date", "timestamp"):
            check_finite(decoded, column)
        return decoded

    def same(self, left: exp.Expr, right: exp.Expr) -> exp.Expr:
        return exp.EQ(this=_hashable(left), expression=_hashable(right))

    @contextmanager
    def mapping(self, data: pa.Table) -> Iterator[exp.Expr]:
        """One array literal per column, unnested: quick to parse, and no right to create anything is needed."""
        query = parse_one("SELECT * FROM UNNEST(a) AS u(b)", dialect="postgres")
        arrays, names = [], []
        for field in data.schema:
            kind = "BIGINT" if pa.types.is_integer(field.type) else "TEXT"
            literal = string(_array_literal(data[field.name].to_pylist()))
            arrays.append(exp.Cast(this=literal, to=exp.DataType.build(f"{kind}[]", dialect="postgres")))
            names.append(exp.to_identifier(field.name, quoted=True))
        unnest = query.find(exp.Unnest)
        assert unnest is not None
        unnest.set("expressions", arrays)
        unnest.args["alias"].set("columns", names)
        yield exp.Subquery(this=query)


def _hashable(value: exp.Expr) -> exp.Expr:
    """Text that differs for a missing and an empty value, so that a plain = can be hashed."""
    given = exp.DPipe(this=string("v"), expression=cast(value, "TEXT"))
    return exp.Coalesce(this=given, expressions=[string("n")])


def _array_literal(values: Sequence[Any]) -> str:
    """PostgreSQL's text form of an array.

    >>> print(_array_literal(['a"b', None, 'c\\\\', "NULL"]))
    {"a\\"b",NULL,"c\\\\","NULL"}
    """
    parts = []
    for value in values:
        if value is None:
            parts.append("NULL")
        elif isinstance(value, int):
            parts.append(str(value))
        else:
            parts.append('"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"')
    return "{" + ",".join(parts) + "}"
