"""MySQL and MariaDB: one connection, its queries, and the one state of the data that they see."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any, Self

from sqlglot import exp

from shoal.engines.core.base import BATCH_ROWS, Engine, Relation
from shoal.engines.servers.mysql.errors import LOST, no_connection, translate
from shoal.engines.servers.mysql.login import address_of, connected
from shoal.engines.servers.mysql.types import arrow_batch
from shoal.errors import EngineError, InternalError, need

_SESSION = (
    "SET NAMES utf8mb4",
    "SET time_zone = '+00:00'",
    "SET sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION,ERROR_FOR_DIVISION_BY_ZERO'",
    "SET SESSION tmp_table_size = 268435456, max_heap_table_size = 268435456",  # a million groups: 4 s in memory, 44 s on disk
    "SET SESSION sort_buffer_size = 33554432",  # hundreds of columns are sorted at once
    "SET SESSION group_concat_max_len = 1073741824",  # a set of classes is never cut short
)


_ENGINE = "SELECT engine FROM information_schema.tables WHERE table_schema = coalesce(%s, database()) AND table_name = %s"


class Session(Engine):
    """A connection that is opened at once, and again after an unfinished stream; never inside a snapshot, which is gone then."""

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

    def send(self, sql: str) -> None:
        self._run(sql)

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
    def _other(self) -> Iterator[Self]:
        """The same database over a connection of its own."""
        other = copy.copy(self)
        other._busy, other._connection, other._in_snapshot, other._depth, other.holding = False, None, False, 0, None
        try:
            yield other
        finally:
            other.close()

    @property
    def place(self) -> object:
        a = self.address
        return a.scheme, a.host, a.port, a.user, a.database, tuple(sorted(a.options.items()))

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

    def _begin(self, *, read_only: bool = False) -> None:
        self._run("START TRANSACTION WITH CONSISTENT SNAPSHOT" + (", READ ONLY" if read_only else ""))
        self._in_snapshot = True

    def _end(self) -> None:
        if self._in_snapshot and self._connection is not None and not self._busy:
            with suppress(EngineError):  # the first error is the one to tell
                self._run("ROLLBACK")
        self._in_snapshot = False

    def hold(self, *, write: bool = False) -> str | None:
        """One consistent snapshot until :meth:`close`, read-only: a new table is made after it, whatever ``write`` says.

        Tables of engines without transactions (MyISAM) are not in it.
        """
        self.keep()
        self._depth += 1
        self._begin(read_only=True)
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


def _forget(cursor: Any) -> None:
    """Keep the driver from reading an unfinished answer to its end."""
    if cursor._result is not None:
        cursor._result.unbuffered_active = False
        cursor._result.connection = None
    cursor.connection = None
