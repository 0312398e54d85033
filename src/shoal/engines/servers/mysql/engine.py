"""MySQL and MariaDB, through pymysql; values stay bytes until Arrow parses them.

Quirks handled here: collations fold case, accents and trailing blanks, so text is compared as ``BINARY``; ``tinyint(1)`` is
a boolean; results are sorted and grouped on the whole value; moments with a zone are read in UTC; there is no NaN; a new table
is filled under another name and then renamed.
"""

from __future__ import annotations

import copy
import secrets
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any

from sqlglot import exp

from shoal.engines.core.base import BATCH_ROWS, Engine, Relation
from shoal.engines.servers.mysql.errors import LOST, no_connection, translate
from shoal.engines.servers.mysql.login import address_of, connected
from shoal.engines.servers.mysql.sql import json_table, json_text, moment_text, quoted, utf8, utf8_bytes, with_fractions
from shoal.engines.servers.mysql.types import arrow_batch, booleans_of, mapping_types, native_type, python_rows, reading
from shoal.engines.servers.tables import build_relation, no_table, spellings, table_expression
from shoal.errors import EngineError, InternalError, OutputError, need
from shoal.model.roles import Column
from shoal.steps.sql import cast

_SESSION = (
    "SET NAMES utf8mb4",
    "SET time_zone = '+00:00'",
    "SET sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION,ERROR_FOR_DIVISION_BY_ZERO'",
    "SET SESSION tmp_table_size = 268435456, max_heap_table_size = 268435456",  # a million groups: 4 s in memory, 44 s on disk
    "SET SESSION sort_buffer_size = 33554432",  # hundreds of columns are sorted at once
    "SET SESSION group_concat_max_len = 1073741824",  # a set of classes is never cut short
)

_COLUMNS = """
SELECT table_name, column_name, data_type, column_type, coalesce(numeric_precision, 0), coalesce(numeric_scale, 0)
FROM information_schema.columns WHERE table_schema = coalesce(%s, database()) AND table_name = %s ORDER BY ordinal_position
"""

_ENGINE = "SELECT engine FROM information_schema.tables WHERE table_schema = coalesce(%s, database()) AND table_name = %s"

LARGEST_JSON = 8_000_000
"""Bytes of a mapping that may travel inside a query; the server's limit for a whole statement is 16 MiB by default."""


class MySQL(Engine):
    """A MySQL or MariaDB database; one connection, opened at once and again after an unfinished stream."""

    name = "mysql"
    dialect = "mysql"

    def __init__(self, url: str) -> None:
        self.address = address_of(url)
        self._depth = 0
        self._busy = False
        self._in_snapshot = False
        self._limits: tuple[str, ...] = ()
        self._version: bool | None = None
        self._connection: Any = None
        self._connect()

    def _connect(self) -> Any:
        try:
            import pymysql
        except ModuleNotFoundError:
            raise need("mysql", "pymysql") from None
        if self._connection is None and self._in_snapshot:
            self._in_snapshot = False
            if self.holding is not None:
                self.holding, self._depth = None, self._depth - 1
            raise EngineError(
                f"the connection to the server at {self.address.shown} broke off, and its snapshot of the table is gone.",
                hint="Run it again from the start.",
            )
        if self._connection is None:
            try:
                self._connection = connected(self.address)
                for statement in (*_SESSION, *self._limits):
                    self._execute(statement)
            except pymysql.Error as error:
                raise no_connection(self.address, error) from None
        return self._connection

    def _execute(self, statement: str) -> None:
        with self._connection.cursor() as cursor:
            cursor.execute(statement)

    def limit_time(self, seconds: float) -> None:
        """MariaDB counts in seconds, MySQL in milliseconds (of SELECT)."""
        maria = "maria" in self._rows("SELECT version()")[0][0].lower()
        limit = f"max_statement_time = {seconds:.3f}" if maria else f"max_execution_time = {round(seconds * 1000)}"
        self._limits = (f"SET SESSION {limit}",)
        self._run(self._limits[0])

    def close(self) -> None:
        if self._connection is not None:
            import pymysql

            with suppress(pymysql.Error, OSError):
                self._connection._force_close()
            self._connection = None
            self._busy = False

    # -- the schema ---------------------------------------------------------------------------------------------------

    def relation(self, table: str, **options: Any) -> Relation:
        booleans = bool(options.pop("booleans", True))
        for schema, name in spellings(table):
            found = [r for r in self._rows(_COLUMNS, (schema, name)) if r[0] == name]
            if found:
                readings = [reading(r[1], r[2], r[3], int(r[4]), int(r[5]), booleans=booleans) for r in found]
                shown = f"{self.address.shown}::{table}"
                return build_relation(table_expression(schema, name), readings, shown, options, table)
        raise no_table(table, self.address.shown)

    def _rows(self, sql: str, parameters: Sequence[Any] | None = None) -> list[list[str]]:
        """Rows of a small question to the catalog, as text."""
        import pymysql

        if self._busy:
            with self._other() as other:
                return other._rows(sql, parameters)
        try:
            with self._connect().cursor() as cursor:
                cursor.execute(sql, parameters)
                return [["" if v is None else v.decode("utf-8") for v in row] for row in cursor.fetchall()]
        except (pymysql.Error, OSError) as error:
            raise self._failed(error) from None

    def _run(self, sql: str, parameters: Sequence[Any] | None = None) -> None:
        import pymysql

        if self._busy:
            with self._other() as other:
                return other._run(sql, parameters)
        try:
            with self._connect().cursor() as cursor:
                cursor.execute(sql, parameters)
        except (pymysql.Error, OSError) as error:
            raise self._failed(error) from None

    def _failed(self, error: Exception) -> EngineError:
        code = error.args[0] if error.args and isinstance(error.args[0], int) else 0
        if code in LOST or isinstance(error, OSError):
            self.close()
        return translate(code, self.address)

    # -- queries ------------------------------------------------------------------------------------------------------

    def stream(self, query: exp.Expr, *, batch_rows: int = BATCH_ROWS) -> Iterator[Any]:
        import pymysql
        from pymysql.cursors import SSCursor

        if self._busy:  # another stream is being read over the connection
            if self.holding is not None:
                raise InternalError("two answers at a time cannot be read from one snapshot.")
            with self._other() as other:
                yield from other.stream(query, batch_rows=batch_rows)
            return
        connection = self._connect()
        cursor = connection.cursor(SSCursor)
        self._busy = True
        finished = False
        try:
            cursor.execute(self.render(query))
            fields = cursor._result.fields
            rows = cursor.fetchmany(batch_rows)
            while True:
                yield arrow_batch(rows, fields)
                rows = cursor.fetchmany(batch_rows) if len(rows) == batch_rows else ()
                if not rows:
                    break
            cursor.close()
            finished, self._busy = True, False
        except (pymysql.Error, OSError) as error:
            raise self._failed(error) from None
        except GeneratorExit:  # nobody wants the rest; the connection is needed where it holds a snapshot
            if self._in_snapshot and self._connection is connection:
                cursor.close()
                finished, self._busy = True, False
            raise
        finally:
            if not finished:  # the rest of the answer is in the way
                _forget(cursor)
                if self._connection is connection:
                    self.close()

    @contextmanager
    def _other(self) -> Iterator[MySQL]:
        """The same database over a connection of its own."""
        other = copy.copy(self)
        other._busy, other._connection, other._in_snapshot, other._depth, other.holding = False, None, False, 0, None
        try:
            yield other
        finally:
            other.close()

    def snapshot(self) -> AbstractContextManager[None]:
        return self._snapshot()

    @contextmanager
    def _snapshot(self) -> Iterator[None]:
        """One transaction; none where another stream is being read, since a connection holds one answer at a time."""
        self._depth += 1
        if self._depth == 1 and not self._busy:
            self._begin()
        try:
            yield
        finally:
            self._depth -= 1
            if self._depth == 0:
                self._end()

    def _begin(self) -> None:
        self._run("START TRANSACTION WITH CONSISTENT SNAPSHOT")
        self._in_snapshot = True

    def _end(self) -> None:
        if self._in_snapshot and self._connection is not None and not self._busy:
            with suppress(EngineError):  # the first error is the one to tell
                self._run("ROLLBACK")
        self._in_snapshot = False

    def hold(self, *, write: bool = False) -> str | None:
        """One consistent snapshot until :meth:`close`; tables of engines without transactions (MyISAM) are not in it."""
        self.keep()
        self._depth += 1
        self._begin()
        self.holding = f"mysql {self._rows('SELECT CONCAT(connection_id(), CHAR(32), utc_timestamp(6))')[0][0]}"
        return self.holding

    def isolates(self, relation: Relation) -> bool:
        tables = [(t.db or None, t.name) for t in relation.sql.find_all(exp.Table)]
        return all(r[0] == "InnoDB" for t in tables for r in self._rows(_ENGINE, t))  # a view may read anything

    def keep(self) -> None:
        if self.holding is not None:
            self.holding = None
            self._depth -= 1
            self._end()

    # -- tables -------------------------------------------------------------------------------------------------------

    def create_table(self, name: str, query: exp.Expr) -> None:
        self.keep()
        with self._appearing(name) as table:
            self._run(self.render(exp.Create(this=table, kind="TABLE", expression=query)))

    def load_table(self, name: str, batches: Iterator[Any], columns: Sequence[Column]) -> None:
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

    @contextmanager
    def _appearing(self, name: str) -> Iterator[exp.Table]:
        """A table under a passing name that gets its real name at the end, or is dropped."""
        schema, table = self._free(name)
        passing = table_expression(schema, f"shoal_{secrets.token_hex(8)}")
        try:
            yield passing
            self._run(f"RENAME TABLE {self.render(passing)} TO {self.render(table_expression(schema, table))}")
        except BaseException:
            with suppress(EngineError):
                self._run(f"DROP TABLE IF EXISTS {self.render(passing)}")
            raise

    def _free(self, name: str) -> tuple[str | None, str]:
        for schema, table in spellings(name):
            if self._rows(_COLUMNS, (schema, table)):
                raise OutputError(
                    f"table '{name}' is already at {self.address.shown}.", hint="Choose another name, or drop it first."
                )
        known = {r[0] for r in self._rows("SHOW DATABASES")}
        for schema, table in spellings(name):
            if schema in known:
                return schema, table
        return None, name

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
            digest = exp.Anonymous(this="SHA2", expressions=[utf8(value), exp.convert(256)])
            return exp.Anonymous(this="UNHEX", expressions=[digest])
        return self.key(value, column)

    def set_of(self, value: exp.Expr) -> exp.Expr:
        """32 bytes for a set of any size: only the start of a long text is compared where rows are sorted."""
        ordered = exp.Order(this=value, expressions=[exp.Ordered(this=value.copy(), nulls_first=True)])
        digest = exp.Anonymous(this="SHA2", expressions=[exp.GroupConcat(this=ordered), exp.convert(256)])
        return exp.Anonymous(this="UNHEX", expressions=[digest])

    def clean_float(self, value: exp.Expr) -> exp.Expr:
        return exp.Paren(this=exp.Add(this=cast(value, "DOUBLE"), expression=exp.Literal.number("0e0")))

    def text(self, value: exp.Expr, column: Column) -> exp.Expr:
        if column.kind == "timestamp":
            return moment_text(value, "%Y-%m-%d %H:%i:%s")
        if column.kind == "time":
            return moment_text(value, "%H:%i:%s")
        if column.kind == "binary":
            return exp.func("LOWER", exp.Anonymous(this="HEX", expressions=[value.copy()]))
        return super().text(value, column)

    def decode(self, values: Any, column: Column) -> Any:
        if column.kind == "boolean":
            return booleans_of(values, column)
        return super().decode(values, column)

    def mapped(self, value: exp.Expr, column: Column) -> exp.Expr:
        """Columns of a mapping whose names begin with ``k`` are bytes already: left alone, they can be looked up by an index."""
        return value if value.name.startswith("k") else self.key(value, column)

    @contextmanager
    def mapping(self, data: Any) -> Iterator[exp.Expr]:
        """A JSON text read as a table, which the server indexes by itself: no right to create anything is needed."""
        document = json_text(data)
        if len(document) > LARGEST_JSON:
            name = f"shoal_{secrets.token_hex(8)}"
            try:
                self._temporary(name, data)
                yield table_expression(None, name)
            finally:
                with suppress(EngineError):
                    self._run(f"DROP TEMPORARY TABLE IF EXISTS `{name}`")
            return
        if not self._has_json_table():
            with super().mapping(data) as inline:
                yield inline
            return
        yield json_table(document, mapping_types(data))

    def _temporary(self, name: str, data: Any) -> None:
        """A temporary table with an index on its first column, filled in parts."""
        types = mapping_types(data)
        columns = ", ".join(f"{quoted(n)} {t}" for n, t in types.items())
        self._run(f"CREATE TEMPORARY TABLE `{name}` ({columns}, KEY ({quoted(data.column_names[0])})) CHARACTER SET utf8mb4")
        part = max(1, data.num_rows * LARGEST_JSON // (4 * len(json_text(data))))
        for start in range(0, data.num_rows, part):
            rows = json_table(json_text(data.slice(start, part)), types)
            self._run(self.render(exp.Insert(this=table_expression(None, name), expression=rows.this)))

    def _has_json_table(self) -> bool:
        if self._version is None:
            text = self._rows("SELECT version()")[0][0]
            numbers = tuple(int(n) for n in text.split("-")[0].split(".")[:2])
            self._version = numbers >= ((10, 6) if "maria" in text.lower() else (8, 0))
        return self._version


def _forget(cursor: Any) -> None:
    """Keep the driver from reading an unfinished answer to its end."""
    if cursor._result is not None:
        cursor._result.unbuffered_active = False
        cursor._result.connection = None
    cursor.connection = None
