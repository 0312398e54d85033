"""PostgreSQL: one connection, its queries, and the one state of the data that they see."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any

import pyarrow as pa
from sqlglot import exp

from shoal.engines.core.base import BATCH_ROWS, Engine
from shoal.engines.servers.addresses import Address
from shoal.engines.servers.postgres.errors import no_connection, translate
from shoal.engines.servers.postgres.login import OPTIONS, connection_string
from shoal.engines.servers.postgres.types import plain
from shoal.errors import EngineError, need

_SESSION = (
    "SET timezone='UTC'",
    "SET datestyle='ISO, YMD'",
    "SET intervalstyle='iso_8601'",
    "SET bytea_output='hex'",
    "SET extra_float_digits=1",
    "SET standard_conforming_strings=on",
)


class Session(Engine):
    """A connection that is opened at once."""

    def __init__(self, url: str) -> None:
        self.address = Address.parse(url, port=5432, known=OPTIONS, password_from=("PGPASSWORD", "SHOAL_PASSWORD"))
        self._depth = 0
        self._holds_writes = False
        self._scales: dict[str, int] = {}
        self._connection = self._connect()

    def _connect(self) -> Any:
        try:
            import adbc_driver_manager
            import adbc_driver_postgresql.dbapi as adbc
        except ModuleNotFoundError:
            raise need("postgres", "adbc-driver-postgresql") from None
        try:
            connection = adbc.connect(connection_string(self.address), autocommit=True)
        except adbc_driver_manager.Error as error:
            raise no_connection(self.address, str(error)) from None
        try:
            for statement in _SESSION:
                with connection.cursor() as cursor:
                    cursor.execute(statement)
        except adbc_driver_manager.Error as error:
            with suppress(adbc_driver_manager.Error):
                connection.close()
            raise self._failed(error) from None
        return connection

    def send(self, sql: str) -> None:
        self._run(sql)

    def limit_time(self, seconds: float) -> None:
        self._run(f"SET statement_timeout = {round(seconds * 1000)}")

    def close(self) -> None:
        self.holding = None
        if self._connection is not None:
            import adbc_driver_manager

            with suppress(adbc_driver_manager.Error, OSError):  # a connection that broke off need not be closed
                self._connection.close()
            self._connection = None

    # -- queries ------------------------------------------------------------------------------------------------------

    def stream(self, query: exp.Expr, *, batch_rows: int = BATCH_ROWS) -> Iterator[Any]:
        import adbc_driver_manager

        sql = self.render(query)
        try:
            with self._cursor() as cursor:
                cursor.execute(sql)
                reader = cursor.fetch_record_batch()
                empty = True
                for batch in reader:
                    empty = False
                    for start in range(0, batch.num_rows, batch_rows):
                        yield plain(batch.slice(start, batch_rows))
                if empty:
                    yield plain(pa.RecordBatch.from_pylist([], schema=reader.schema))
        except adbc_driver_manager.Error as error:
            raise self._failed(error) from None
        except (pa.ArrowException, OSError) as error:
            raise self._failed(error) from None

    def _cursor(self) -> Any:
        if self._connection is None:
            raise EngineError(f"the connection to {self.address.shown} is closed.", hint="Open the table again.")
        return self._connection.cursor()

    def _run(self, sql: str, parameters: Sequence[Any] = ()) -> Any:
        import adbc_driver_manager

        try:
            with self._cursor() as cursor:
                cursor.execute(sql, parameters or None)
                return cursor.fetch_arrow_table() if cursor.description else None
        except (adbc_driver_manager.Error, OSError) as error:
            raise self._failed(error) from None

    def _schema(self, sql: str) -> Any:
        """The columns that a query would have; it is prepared, not run."""
        import adbc_driver_manager

        try:
            with self._cursor() as cursor:
                return cursor.adbc_execute_schema(sql)
        except (adbc_driver_manager.Error, OSError) as error:
            raise self._failed(error) from None

    def _failed(self, error: Exception) -> EngineError:
        if self.holding is not None:  # after an error the server answers nothing more in this transaction
            self._end()
        return translate(str(getattr(error, "sqlstate", None) or ""), str(error), self.address)

    @property
    def place(self) -> object:
        a = self.address
        return a.scheme, a.host, a.port, a.user, a.database, tuple(sorted(a.options.items()))

    def snapshot(self) -> AbstractContextManager[None]:
        return self._snapshot()

    @contextmanager
    def _snapshot(self) -> Iterator[None]:
        """One transaction, which a new table at its end belongs to; inside another one it does nothing."""
        self._depth += 1
        if self._depth == 1:
            self._run("BEGIN ISOLATION LEVEL REPEATABLE READ")
        try:
            yield
        except BaseException:
            self._depth -= 1
            if self._depth == 0:
                with suppress(EngineError):  # the first error is the one to tell
                    self._run("ROLLBACK")
            raise
        self._depth -= 1
        if self._depth == 0:
            self._run("COMMIT")

    def hold(self, *, write: bool = False) -> str | None:
        """One transaction until :meth:`close`: repeatable read, and read-only unless a table shall be made."""
        self._end()
        self._run("BEGIN ISOLATION LEVEL REPEATABLE READ" + ("" if write else ", READ ONLY"))
        self._depth += 1
        self.holding = f"postgres {self._run('SELECT pg_catalog.pg_current_snapshot()::text').column(0)[0].as_py()}"
        self._holds_writes = write
        return self.holding

    def keep(self) -> None:
        if self.holding is not None:
            self.holding = None
            self._depth -= 1
            self._run("COMMIT")

    def _end(self) -> None:
        """Leave the snapshot; what was made in it is gone."""
        if self.holding is not None:
            self.holding = None
            self._depth -= 1
            if self._depth == 0:
                with suppress(EngineError):
                    self._run("ROLLBACK")

    def _may_write(self) -> None:
        """A table that has nothing to do with the run leaves its snapshot."""
        if self.holding is not None and not self._holds_writes:
            self._end()
