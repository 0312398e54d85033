"""DuckDB: the embedded engine for files, frames and DuckDB databases. Nothing is installed or loaded from outside."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cache, cached_property
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa

from shoal.disk.atomic import scratch_of
from shoal.engines.core.base import BATCH_ROWS, Engine, Relation, refused_loss
from shoal.engines.core.kinds import columns_of, no_rows
from shoal.engines.core.limits import ended_after, too_long
from shoal.engines.core.memory import for_database
from shoal.engines.core.stored_types import with_stored
from shoal.engines.duckdb.sql import (
    LateTypeError,
    flat,
    fraction_of_time,
    identifier,
    literal,
    moment,
    stopped,
    to_microseconds,
    translated,
)
from shoal.engines.servers.tables import Remembered, spellings, table_expression
from shoal.errors import EngineError, OutputError, ShoalError, UnreadableError
from shoal.model.roles import Column
from shoal.steps.sql import call, cast, exp, string, when

_SETTINGS: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_unsigned_extensions": "false",
}

ABOVE = 16 << 20
"""What DuckDB keeps beside its tables while memory goes back to the machine."""
SPARING, SPARING_COLUMN, SPARING_THREADS = 512 << 20, 256 << 10, 4
"""Memory, at least so much for each column, and threads while rows are written, where nobody said more: writing is done by one
thread anyway."""

LOOKED_AT = 32
"""Of so many classes one is looked at where their number is estimated: a million classes to 0.6 %."""


class DuckDB(Engine):
    """An embedded database; in memory unless a file is named (opened read-only until a table is made in it)."""

    name: ClassVar[str] = "duckdb"
    dialect: ClassVar[str] = "duckdb"

    def __init__(self, url: str = "duckdb", *, stable_order: bool = False) -> None:
        self._cleanup: Callable[[], Any] = lambda: None
        self._file = _file_of(url)
        self._names = 0
        self.stable_order = stable_order  # type: ignore[misc]  # of files and frames, not of database tables
        self._registered: dict[str, Any] = {}
        self._pending: dict[str, Callable[[], Any]] = {}
        self.source = "the table"  # what messages call it
        self.explain_late: Callable[[int], ShoalError] | None = None
        self._pending_views: list[tuple[str, str]] = []
        self._opened: Any = None
        self._closed = False
        self._kept: list[Any] = []
        self.version: str | None = None  # of a lake table
        self._seconds: float | None = None  # that a statement may take
        if self._file is not None:
            self._opened = self._connect(read_only=True)

    @cached_property
    def folder(self) -> Path:
        """A private folder, made when it is first needed, and removed with the engine."""
        scratch, remove = scratch_of(self)
        self.also_close(remove, None)
        return scratch

    @property
    def _connection(self) -> Any:
        """The connection, opened when it is first needed: a table that is counted by codes needs none."""
        if self._closed:
            raise EngineError(f"{self.source} is closed.", hint="Open it again.")
        if self._opened is None:
            self._opened = self._connect(read_only=True)
        return self._opened

    def limit_memory(self, memory: int | None) -> None:
        super().limit_memory(memory)
        if memory is not None and self._opened is not None:
            self.run(f"SET memory_limit = '{for_database(memory)}B'")

    def give_back(self) -> None:
        """DuckDB keeps freed blocks up to its limit; under a lower one, just above what its tables need, it releases them."""
        if self.memory is not None and self._opened is not None and not self._closed:
            used = self.run_table("SELECT sum(memory_usage_bytes)::BIGINT AS n FROM duckdb_memory()", self.name)["n"][0].as_py()
            lower = int(used or 0) + ABOVE
            if lower < for_database(self.memory):
                self.run(f"SET memory_limit = '{lower}B'")
                self.limit_memory(self.memory)
        super().give_back()

    @contextmanager
    def sparing(self, columns: int = 1) -> Iterator[None]:
        """Rows that are streamed, sorted or joined need few of the threads and little memory; the rest goes to disk."""
        if self.memory is not None:
            yield
            return
        threads = int(self.run_table("SELECT current_setting('threads') AS n", self.name)["n"][0].as_py())
        self.run(f"SET memory_limit = '{max(SPARING, columns * SPARING_COLUMN)}B'")
        self.run(f"SET threads = {min(threads, SPARING_THREADS)}")
        try:
            yield
        finally:
            if not self._closed:
                self.run("RESET memory_limit")
                self.run(f"SET threads = {threads}")

    def _connect(self, *, read_only: bool) -> Any:
        import duckdb

        if self._file is not None and read_only and not self._file.exists():
            raise UnreadableError(f"file '{self._file}' does not exist.", hint="Check the path.")
        try:
            if self._file is None:
                connection = duckdb.connect(config={**_SETTINGS, "temp_directory": str(self.folder)})
            else:  # connections of one process to one file share a database: what differs between them is set afterwards
                connection = duckdb.connect(str(self._file), read_only=read_only, config=_SETTINGS)
                with suppress(duckdb.Error):  # the folder is in use already, by another connection
                    connection.execute(f"SET temp_directory = {literal(str(_spill()))}")
            if self.memory is not None:
                connection.execute(f"SET memory_limit = '{for_database(self.memory)}B'")
        except duckdb.Error as error:
            raise translated(error, str(self._file)) from None
        with suppress(duckdb.Error):  # a build without time zones has no zoned moments either
            connection.execute(
                "SET GLOBAL TimeZone = 'UTC'"
            )  # moments with a zone are spelled in UTC, for any zone of the machine
        return _quiet(connection)

    def hold(self, *, write: bool = False) -> str | None:
        """A database file is locked while it is open: nobody else writes to it. Its name is its size and last change."""
        self.holding = self.version or self._mark()
        return self.holding

    def also_close(self, remove: Callable[[], Any], keeper: Any) -> None:
        """Call ``remove`` when this engine is closed, and keep ``keeper`` until then."""
        first = self._cleanup
        self._kept.append(keeper)
        self._cleanup = lambda: (remove(), first())

    def _mark(self) -> str | None:
        if self._file is None:
            return None
        stat = self._file.stat()
        return f"duckdb {stat.st_size} bytes, {stat.st_mtime_ns} ns"

    # -- schema -----------------------------------------------------------------------------------------------------

    def relation(self, table: str, **options: Any) -> Relation:
        source = f"duckdb://{self._file}::{table}" if self._file else table
        first: UnreadableError | None = None
        for schema, name in spellings(table):
            try:
                return replace(self.describe(table_expression(schema, name), table), source=source)
            except UnreadableError as error:
                first = first or error
        assert first is not None
        raise first

    def describe(self, sql: exp.Expr, source: str, **details: Any) -> Relation:
        """The columns of a query or table, from its plan alone."""
        query = exp.select("*").from_(sql.copy()).limit(0)
        table = self.run_table(self.render(query), source)
        columns = columns_of(table.schema)
        if self._file is not None:  # a file's own reader says how it keeps its columns
            columns = with_stored(columns, table.schema)
        return flat(Relation(sql, columns, source, details), table.schema)

    def view(self, body: str, source: str, *, held: bool = False, **details: Any) -> Relation:
        """A relation over a query in DuckDB's own words (its literals made with :func:`literal`).

        With ``held`` the rows are kept in memory: the query is bound once, which thousands of columns make dear.
        """
        name = self.fresh("source")
        self.run(f"CREATE {'TABLE' if held else 'VIEW'} {name} AS {body}", source)
        return self.describe(exp.table_(name, quoted=True), source, **details)

    def register(self, data: Any, source: str, **details: Any) -> Relation:
        """A relation over an Arrow table or reader, or a pandas or polars frame."""
        name = self.fresh("frame")
        self._register(name, data)
        return self.describe(exp.table_(name, quoted=True), source, **details)

    def defer(self, load: Callable[[], Any], columns: Sequence[Column], source: str, **details: Any) -> Relation:
        """A relation over an Arrow table with these columns that is loaded when it is first asked for."""
        name = self.fresh("frame")
        self._pending[name] = load
        return Relation(lambda: exp.table_(name, quoted=True), tuple(columns), source, details)

    def defer_view(self, body: str, columns: Sequence[Column], source: str, **details: Any) -> Relation:
        """As :meth:`view` for columns that are known already: DuckDB hears of it when something is asked in SQL."""
        name = self.fresh("source")
        self._pending_views.append((f"CREATE VIEW {name} AS {body}", source))
        return Relation(lambda: exp.table_(name, quoted=True), tuple(columns), source, details)

    def _settle(self) -> Any:
        """The connection, with everything deferred now loaded."""
        while self._pending:
            name, load = self._pending.popitem()
            self._register(name, load())
        while self._pending_views:
            view, source = self._pending_views.pop(0)
            self.run(view, source)
        return self._connection

    def _register(self, name: str, data: Any) -> None:
        self._registered[name] = data
        self._connection.register(name, data)

    def _unregister(self, name: str) -> None:
        del self._registered[name]
        self._connection.unregister(name)

    def _cursor(self) -> Any:
        """A connection of its own to the same data, so that open readers do not disturb other queries."""
        cursor = _quiet(self._settle().cursor())
        for name, data in self._registered.items():
            cursor.register(name, data)
        return cursor

    def _error(self, error: BaseException, source: str) -> ShoalError:
        cause = translated(error, source)
        if isinstance(cause, LateTypeError) and self.explain_late is not None:
            return self.explain_late(cause.position)
        return cause

    def fresh(self, prefix: str) -> str:
        self._names += 1
        return f"shoal_{prefix}_{self._names}"

    # -- running ----------------------------------------------------------------------------------------------------

    def run(self, sql: str, source: str = "") -> None:
        """A statement without result."""
        with self._answering(source or self.name, None, self._seconds) as connection:
            connection.execute(sql)

    def send(self, sql: str) -> None:
        self.run(sql)

    def run_table(self, sql: str, source: str) -> Any:
        """The result of a query text as one pyarrow Table."""
        with self._answering(source, None, self._seconds) as connection:
            return connection.sql(sql).to_arrow_table()

    def fetch(self, query: exp.Expr) -> pa.Table:
        return self.run_table(self.render(query), self.source)

    def stream(self, query: exp.Expr, *, batch_rows: int = BATCH_ROWS) -> Iterator[pa.RecordBatch]:
        return self.stream_sql(self.render(query), batch_rows)

    def stream_sql(self, sql: str, batch_rows: int = BATCH_ROWS) -> Iterator[pa.RecordBatch]:
        """The result of a query text as RecordBatches."""
        cursor, left = self._cursor(), self._seconds
        try:
            with self._answering(self.source, cursor, left):
                reader = cursor.sql(sql).to_arrow_reader(batch_rows)
                batch = next(reader, None)
            if batch is None:
                yield no_rows(reader.schema)
            while batch is not None:
                yield batch
                begun = time.monotonic()
                with self._answering(self.source, cursor, left):
                    batch = next(reader, None)
                left = None if left is None else max(left - (time.monotonic() - begun), 0)
        finally:
            cursor.close()

    @contextmanager
    def _answering(self, source: str, cursor: Any, seconds: float | None) -> Iterator[Any]:
        """``cursor`` (else the connection) at work: stopped where it takes too long, its errors in our words."""
        import duckdb

        over: Callable[[], bool] = bool  # not yet
        try:
            connection = cursor or self._settle()
            with ended_after(seconds, connection.interrupt) as over:
                yield connection
        except (duckdb.Error, OSError, RuntimeError, pa.ArrowException) as error:
            if isinstance(error, ShoalError):
                raise
            raise (too_long("DuckDB") if over() and stopped(error) else self._error(error, source)) from None

    def limit_time(self, seconds: float) -> None:
        self._seconds = seconds

    # -- expressions ------------------------------------------------------------------------------------------------

    def text(self, value: exp.Expr, column: Column) -> exp.Expr:
        if column.kind == "boolean":
            return cast(value, "TEXT")
        if column.kind == "timestamp":
            return moment(cast(to_microseconds(value, column), "TIMESTAMP"), "%Y-%m-%d %H:%M:%S")
        if column.kind == "time":
            return fraction_of_time(cast(to_microseconds(value, column), "TEXT"))
        if column.kind == "binary":
            return exp.Lower(this=exp.Hex(this=value))
        return super().text(value, column)

    def key(self, value: exp.Expr, column: Column) -> exp.Expr:
        return super().key(to_microseconds(value, column), column)

    def row_hash(self, texts: Sequence[exp.Expr], seed: int) -> exp.Expr:
        return call("hash", string(f"shoal:{seed}"), *[t.copy() for t in texts])

    def class_mark(self, keys: Sequence[exp.Expr]) -> exp.Expr:
        """64 bits."""
        return call("hash", *[k.copy() for k in keys])

    def about_distinct(self, mark: exp.Expr) -> exp.Expr:
        """Of one mark in :data:`LOOKED_AT` it is seen whether it is new; DuckDB's own estimate errs by more than a tenth."""
        some = exp.Count(this=exp.Distinct(expressions=[when((mark % exp.convert(LOOKED_AT)).eq(0), mark.copy())]))
        return some * exp.convert(LOOKED_AT)

    @contextmanager
    def mapping(self, data: pa.Table) -> Iterator[exp.Expr]:
        name = self.fresh("map")
        self._register(name, data)
        try:
            yield exp.table_(name, quoted=True)
        finally:
            self._unregister(name)

    # -- new tables -------------------------------------------------------------------------------------------------

    def create_table(self, name: str, query: exp.Expr) -> None:
        self._writable()
        self._refuse_taken(name)
        self.run(f"CREATE TABLE {identifier(name)} AS {self.render(query)}", name)
        self.made = identifier(name)

    def load_table(self, name: str, batches: Iterator[pa.RecordBatch], columns: Sequence[Column]) -> None:
        self._writable()
        self._refuse_taken(name)
        first = next(batches)
        source = Remembered(chain([first], batches))
        reader = pa.RecordBatchReader.from_batches(first.schema, iter(source))
        view = self.fresh("load")
        self._register(view, reader)
        try:
            self.run(f"CREATE TABLE {identifier(name)} AS FROM {view}", name)
            self.made = identifier(name)
        except EngineError:
            if source.error is not None:
                raise source.error from None
            raise
        finally:
            self._unregister(view)

    def take_over(self, passing: str, name: str) -> None:
        """A table with constraints stays and gets the new rows, if it has the same columns; another one is dropped."""
        where = "schema_name = current_schema() AND lower(table_name) = lower({})".format
        indexes = self._first(f"SELECT sql FROM duckdb_indexes() WHERE {where(literal(name))} AND sql IS NOT NULL", name)  # noqa: S608
        kept = self._first(f"SELECT 1 FROM duckdb_constraints() WHERE {where(literal(name))}", name)  # noqa: S608
        listed = "SELECT column_name || ' ' || data_type FROM duckdb_columns() WHERE {} ORDER BY column_index".format
        old, new = identifier(name), identifier(passing)
        if kept and self._first(listed(where(literal(name))), name) != self._first(listed(where(literal(passing))), name):
            raise refused_loss(name, "keys and other constraints")
        renamed = [f"DROP TABLE IF EXISTS {old}", f"ALTER TABLE {new} RENAME TO {old}", *indexes]
        filled = [f"DELETE FROM {old}", f"INSERT INTO {old} SELECT * FROM {new}", f"DROP TABLE {new}"]  # noqa: S608  quoted
        self.run("BEGIN TRANSACTION", name)
        try:
            for statement in (*(filled if kept else renamed), "COMMIT"):
                self.run(statement, name)
        except BaseException:
            with suppress(EngineError):  # the first error is the one to tell
                self.run("ROLLBACK", name)
            raise
        self.made = None

    def _first(self, sql: str, source: str) -> list[Any]:
        """The first column of a result."""
        values: list[Any] = self.run_table(sql, source).column(0).to_pylist()
        return values

    def _writable(self) -> None:
        """Reopen a database file for writing; views over it are kept by name only, so this comes last."""
        if self._file is not None:
            self._connection.close()
            self._opened = self._connect(read_only=False)
            for name, data in self._registered.items():  # value maps that the query to come is joined with
                self._connection.register(name, data)

    def _refuse_taken(self, name: str) -> None:
        query = f"SELECT count(*) AS n FROM information_schema.tables WHERE lower(table_name) = lower({literal(name)})"  # noqa: S608
        if self.run_table(query, name)["n"][0].as_py():
            raise OutputError(f"table '{name}' is already there.", hint="Choose a new name; nothing was changed.")

    def close(self) -> None:
        self._closed = True
        if self._opened is not None:
            self._opened.close()
        self._cleanup()


@cache
def _spill() -> Path:
    """The private folder of this process for what database files need beyond memory; shared, as their databases are."""
    return scratch_of(_spill)[0]


def _quiet(connection: Any) -> Any:
    """Switch off DuckDB's own progress bar, which would appear in the middle of what a command prints.

    In a Jupyter kernel without ipywidgets the bar is off already, and DuckDB refuses any change of the setting.
    """
    import duckdb

    with suppress(duckdb.InvalidInputException):
        connection.execute("SET enable_progress_bar = false")
    return connection


def _file_of(url: str) -> Path | None:
    rest = url.partition("://")[2]
    return Path(rest) if rest and rest != ":memory:" else None
