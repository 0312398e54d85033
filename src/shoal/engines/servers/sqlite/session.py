"""SQLite: one connection to a file, its statements, and the one state of the data that they see."""

from __future__ import annotations

import itertools
import math
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa
from sqlglot import exp

from shoal.engines.core.base import BATCH_ROWS, Engine
from shoal.engines.servers.sqlite.errors import failed, name_of
from shoal.engines.servers.sqlite.functions import FUNCTIONS, Set
from shoal.engines.servers.sqlite.place import SCHEME, file_of
from shoal.engines.servers.tables import Reading
from shoal.errors import EngineError, ShoalError, UnreadableError

MAGIC = b"SQLite format 3\x00"
PATIENCE = 10.0
"""Seconds that a writer is waited for."""
STEPS = 20_000
"""Steps of SQLite after which it asks whether to go on."""


class Session(Engine):
    """A connection that is opened at once, for reading; again, for writing, where a new table shall be made."""

    def __init__(self, url: str) -> None:
        self.file = file_of(url)
        self.asked: list[str] = []
        self._maps: dict[str, Any] = {}
        self._read: dict[str, tuple[dict[str, str], list[Reading]]] = {}
        self._numbers = itertools.count(1)
        self._depth = 0
        self._begun = False
        self._seen = 0
        self._writes = False
        self._limit: float | None = None
        self._ends = math.inf
        self._connection: sqlite3.Connection | None = None
        self._connect("ro")

    def _connect(self, mode: str) -> None:
        _require_sqlite(self.file)
        place = f"file:{quote(str(self.file.absolute()))}?mode={mode}"
        try:
            made = sqlite3.connect(place, uri=True, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
            self._connection = made
            for name, arguments, function in FUNCTIONS:
                made.create_function(name, arguments, function, deterministic=True)
            made.create_aggregate("SHOAL_SET", 1, Set)  # type: ignore[arg-type]
            made.set_progress_handler(self._overdue, STEPS)
            self.encoding = {"UTF-16le": "utf-16-le", "UTF-16be": "utf-16-be"}.get(self._rows("PRAGMA encoding")[0][0], "utf-8")
        except sqlite3.Error as error:
            self.close()
            raise failed(error, self.file) from None
        except BaseException:
            self.close()
            raise

    @property
    def utf8(self) -> bool:
        """Whether the file keeps texts as UTF-8."""
        return self.encoding == "utf-8"

    @property
    def place(self) -> object:
        return SCHEME, self.file.resolve()

    def send(self, sql: str) -> None:
        self._run(sql)

    def limit_time(self, seconds: float) -> None:
        self._limit = seconds

    def _overdue(self) -> bool:
        return time.monotonic() > self._ends

    def will_write(self) -> None:
        if not self._writes:
            self.keep()
            self.close()
            self._connect("rw")
            self._writes = True
            for name, data in self._maps.items():
                self._bring(name, data)

    def _bring(self, name: str, data: Any) -> None:
        raise NotImplementedError

    def close(self) -> None:
        self.holding, self._depth, self._begun = None, 0, False
        if self._connection is not None:
            with suppress(sqlite3.Error):
                self._connection.close()
            self._connection = None

    # -- statements ---------------------------------------------------------------------------------------------------

    def _execute(self, sql: str, parameters: Sequence[Any] = ()) -> sqlite3.Cursor:
        if self._connection is None:
            raise EngineError(f"'{self.file}' is closed.", hint="Open the table again.")
        self._ends = math.inf if self._limit is None else time.monotonic() + self._limit
        many = isinstance(parameters, list)
        return self._connection.executemany(sql, parameters) if many else self._connection.execute(sql, parameters)

    def _run(self, sql: str, parameters: Sequence[Any] = ()) -> None:
        """A statement without answer; once for each row of a list."""
        try:
            self._execute(sql, parameters).close()
        except sqlite3.Error as error:
            raise self._failed(error) from None

    def _rows(self, sql: str, parameters: Sequence[Any] = ()) -> list[Any]:
        """The answer to a question about the file or the cells of a column."""
        try:
            return self._execute(sql, parameters).fetchall()
        except sqlite3.Error as error:
            raise self._failed(error) from None

    def _names(self, sql: str) -> list[str]:
        try:
            return [d[0] for d in self._execute(sql).description]
        except sqlite3.Error as error:
            raise self._failed(error) from None

    def _failed(self, error: sqlite3.Error) -> ShoalError:
        """SQLite's errors in our words; a statement that was not stopped by its limit was stopped by a signal."""
        if name_of(error).startswith("SQLITE_INTERRUPT"):
            if time.monotonic() <= self._ends:
                raise KeyboardInterrupt from None
            hint = "Ask for fewer columns, or raise the limit (--statement-timeout)."
            return EngineError(f"SQLite stopped the query on '{self.file}' (a time limit).", hint=hint)
        return failed(error, self.file)

    def stream(self, query: exp.Expr, *, batch_rows: int = BATCH_ROWS) -> Iterator[Any]:
        sql = self.render(query)
        with self.snapshot():
            try:
                cursor = self._execute(sql)
                names = [d[0] for d in cursor.description]
                rows = cursor.fetchmany(batch_rows)
                types = self._types(rows, names, sql, whole=len(rows) < batch_rows)
                while True:
                    cells = list(zip(*rows, strict=True)) or [()] * len(names)
                    yield pa.RecordBatch.from_arrays([pa.array(c, t) for c, t in zip(cells, types, strict=True)], names=names)
                    rows = cursor.fetchmany(batch_rows) if len(rows) == batch_rows else []
                    if not rows:
                        break
            except sqlite3.Error as error:
                raise self._failed(error) from None
            except (pa.ArrowInvalid, pa.ArrowTypeError):
                raise EngineError(
                    f"a column of '{self.file}' holds cells of several types.", hint="Open the table again."
                ) from None

    def _types(self, rows: Sequence[Any], names: Sequence[str], sql: str, *, whole: bool) -> list[Any]:
        """The Arrow types of an answer: by its first rows, and where a column has no value among them, by all."""
        cells = list(zip(*rows, strict=True)) or [()] * len(names)
        types = [pa.array(c).type for c in cells]
        if whole or not any(pa.types.is_null(t) for t in types):
            return types
        empty = [i for i, t in enumerate(types) if pa.types.is_null(t)]
        terms = ", ".join(
            f"MAX(CASE WHEN {identifier(names[i])} IS NOT NULL THEN TYPEOF({identifier(names[i])}) END)" for i in empty
        )
        known = {"integer": pa.int64(), "real": pa.float64(), "text": pa.string(), "blob": pa.binary(), None: pa.null()}
        for i, found in zip(empty, self._rows(f"SELECT {terms} FROM ({sql})")[0], strict=True):  # noqa: S608
            types[i] = known[found]
        return types

    # -- one state ----------------------------------------------------------------------------------------------------

    def snapshot(self) -> AbstractContextManager[None]:
        return self._snapshot()

    @contextmanager
    def _snapshot(self) -> Iterator[None]:
        """One transaction; inside another one it does nothing. It is committed in any case: what failed was undone before."""
        self._depth += 1
        try:
            if self._depth == 1:
                self._begin()
            yield
        finally:
            self._depth = max(self._depth - 1, 0)
            if self._depth == 0:
                self._end()

    def _begin(self) -> None:
        self._run("BEGIN")
        self._begun = True
        self._rows("SELECT 1 FROM sqlite_master LIMIT 1")  # here the state is taken
        version = self._rows("PRAGMA data_version")[0][0]
        if self._read and version != self._seen:
            self._look_again()
        self._seen = version

    def _look_again(self) -> None:
        raise NotImplementedError

    def _end(self) -> None:
        if self._connection is not None and self._begun:
            self._begun = False
            try:
                self._run("COMMIT")
            except ShoalError:
                with suppress(ShoalError):
                    self._run("ROLLBACK")
                raise

    def hold(self, *, write: bool = False) -> str | None:
        """One transaction until :meth:`close`: others write to a log that is not read (WAL), or have to wait."""
        self.keep()
        if write:
            self.will_write()
        self._depth += 1
        try:
            self._begin()
        except BaseException:
            self._depth -= 1
            raise
        self.holding = _state(self.file)
        return self.holding

    def keep(self) -> None:
        if self.holding is not None:
            self.holding = None
            self._depth -= 1
            self._end()


def identifier(name: str) -> str:
    """A quoted name."""
    return '"' + name.replace('"', '""') + '"'


def _require_sqlite(path: Path) -> None:
    with path.open("rb") as content:
        head = content.read(16)
    if head != MAGIC:
        hint = f"Open it as duckdb://{path}::TABLE." if head[8:12] == b"DUCK" else "It may be locked with a password, or broken."
        raise UnreadableError(f"'{path}' is not an SQLite file.", hint=hint)


def _state(path: Path) -> str:
    """What the certificate calls the state that is read: size and last change, and what is not yet in the file itself."""
    seen, log = path.stat(), path.with_name(path.name + "-wal")
    beside = f", log {log.stat().st_size} bytes" if log.is_file() else ""
    return f"sqlite {seen.st_size} bytes, {seen.st_mtime_ns} ns{beside}"
