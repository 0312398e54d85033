"""MySQL and MariaDB: one connection, its queries, and the one state of the data that they see."""

from __future__ import annotations

import copy
import socket
import ssl
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Self

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from shoal.engines.connect import Address, certificate_refused
from shoal.engines.core.base import BATCH_ROWS, Relation
from shoal.engines.servers.mysql.login import address_of, connected
from shoal.engines.servers.tables import Reading, Server
from shoal.errors import DataError, EngineError, InternalError, need
from shoal.kernels.arrow import ArrowValues
from shoal.model.roles import Column
from shoal.steps.sql import cast, column

_WORDS_OF = {
    "integer": "tinyint smallint mediumint int bigint year",
    "decimal": "decimal",
    "float": "float double",
    "date": "date",
    "timestamp": "datetime timestamp",
    "time": "time",
    "text": "char varchar tinytext text mediumtext longtext",
    "binary": "binary varbinary tinyblob blob mediumblob longblob",
}
_KINDS = {word: kind for kind, words in _WORDS_OF.items() for word in words.split()}

# type codes of the protocol
_INTEGERS = {1, 2, 3, 8, 9, 13}
_FLOATS = {4, 5}
_DECIMALS = {0, 246}
_DATES = {10, 14}
_MOMENTS = {7, 12}
_TIME = 11
_BINARY_CHARSET = 63


def reading(name: str, data_type: str, column_type: str, precision: int, scale: int, *, booleans: bool) -> Reading:
    """How a column is read, from information_schema."""
    word = data_type.lower()
    native = column_type.lower()
    if word == "bit":
        return Reading(Column(name, "integer"), cast(column(name, "r"), "BIGINT"), native)
    if word == "tinyint" and native.startswith("tinyint(1)") and booleans:
        return Reading(Column(name, "boolean"), None, native)
    if word == "year" or ("zerofill" in native and word not in ("float", "double")):  # spelled with zeros in front
        plain = exp.Add(this=column(name, "r"), expression=exp.convert(0))
        return Reading(Column(name, _KINDS[word], stored=_stored_type(word, native)), plain, native)
    if word in _KINDS:
        return Reading(Column(name, _KINDS[word], stored=_stored_type(word, native)), None, native)
    return Reading(Column(name, "text"), cast(column(name, "r"), "TEXT"), native)  # enum, set, json, uuid, inet …


def _stored_type(word: str, native: str) -> Any:
    """The type to keep where the kind alone does not tell it: whole numbers beyond 2⁶³."""
    return pa.uint64() if word == "bigint" and "unsigned" in native else None


def arrow_column(values: Sequence[bytes | None], field: Any) -> pa.Array:
    """One column of a result: the driver's bytes, parsed by Arrow."""
    raw = pa.array(values, pa.binary())
    code = field.type_code
    try:
        if code in _INTEGERS:
            return _integers(raw.cast(pa.string()))
        if code in _FLOATS:
            return raw.cast(pa.string()).cast(pa.float64())
        if code in _DECIMALS:
            digits = 38 if field.length <= 38 else 76
            kind = pa.decimal128(digits, field.scale) if digits == 38 else pa.decimal256(digits, field.scale)
            return raw.cast(pa.string()).cast(kind)
        if code in _DATES:
            return raw.cast(pa.string()).cast(pa.date32())
        if code in _MOMENTS:
            return raw.cast(pa.string()).cast(pa.timestamp("us"))
        if code == _TIME:
            return _times(raw.cast(pa.string()))
        return raw if field.charsetnr == _BINARY_CHARSET else raw.cast(pa.string())
    except pa.ArrowInvalid:
        what = "a date or time column holds a value that is not a date (0000-00-00) or not a time of day."
        hint = "Replace such values in the database, or open the table with types={column: 'text'}."
        raise DataError(what, hint=hint) from None


def _times(text: pa.Array) -> pa.Array:
    """Times of day; MySQL's TIME may also be a duration of many hours, which is none."""
    moment = pc.binary_join_element_wise("1970-01-01", text, " ").cast(pa.timestamp("us"))
    return moment.cast(pa.time64("us"))


def _integers(text: pa.Array) -> pa.Array:
    try:
        return text.cast(pa.int64())
    except pa.ArrowInvalid:  # BIGINT UNSIGNED
        return text.cast(pa.decimal128(38, 0))


def native_type(arrow_type: pa.DataType) -> str:
    """The column type of a new table for an Arrow type."""
    test = pa.types
    if test.is_decimal(arrow_type):
        return f"DECIMAL({min(arrow_type.precision, 65)},{arrow_type.scale})"
    types = (
        (test.is_boolean, "BOOLEAN"),
        (test.is_uint64, "BIGINT UNSIGNED"),
        (test.is_integer, "BIGINT"),
        (test.is_floating, "DOUBLE"),
        (test.is_date, "DATE"),
        (test.is_timestamp, "DATETIME(6)"),
        (test.is_time, "TIME(6)"),
        (test.is_binary, "LONGBLOB"),
    )
    return next((word for check, word in types if check(arrow_type)), "LONGTEXT")


def mapping_types(data: pa.Table) -> dict[str, str]:
    """Column types of a mapping, no longer than its values: short ones stay in memory and can be indexed.

    Columns whose names begin with ``k`` are keys and held as bytes.

    >>> import pyarrow as pa
    >>> mapping_types(pa.table({"k": ["a", "ë"], "l": ["long", None], "n": [1, 2]}))
    {'k': 'VARBINARY(2)', 'l': 'VARCHAR(4) CHARACTER SET utf8mb4', 'n': 'BIGINT'}
    """
    out = {}
    for field in data.schema:
        if pa.types.is_integer(field.type):
            out[field.name] = "BIGINT"
            continue
        measure, word, longest = pc.utf8_length, "VARCHAR({}) CHARACTER SET utf8mb4", 4000
        if field.name.startswith("k"):
            measure, word, longest = pc.binary_length, "VARBINARY({})", 16_000
        size = int(pc.max(measure(data[field.name].cast(pa.string()))).as_py() or 1)
        large = "LONGBLOB" if "BINARY" in word else "LONGTEXT CHARACTER SET utf8mb4"
        out[field.name] = word.format(max(size, 1)) if size <= longest else large
    return out


def arrow_batch(rows: Sequence[Any], fields: Sequence[Any]) -> pa.RecordBatch:
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(fields)
    arrays = [arrow_column(values, field) for values, field in zip(columns, fields, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, names=[f.name if isinstance(f.name, str) else f.name.decode() for f in fields])


def python_rows(batch: pa.RecordBatch) -> list[tuple[Any, ...]]:
    return list(zip(*(c.to_pylist() for c in batch.columns), strict=True))


def booleans_of(values: ArrowValues, column: Column) -> ArrowValues:
    if pa.types.is_boolean(values.type):
        return values
    numbers = values.cast(pa.int64())
    limits = pc.min_max(numbers).as_py()
    if limits["min"] is not None and (limits["min"] < 0 or limits["max"] > 1):
        what = f"column '{column.name}' is declared tinyint(1), a boolean, but holds other numbers than 0 and 1."
        hint = "Open the table with booleans=False to read such columns as whole numbers."
        raise DataError(what, hint=hint, column=column.name)
    return numbers.cast(pa.bool_())


_SESSION = (
    "SET NAMES utf8mb4",
    "SET time_zone = '+00:00'",
    "SET sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION,ERROR_FOR_DIVISION_BY_ZERO'",
    "SET SESSION tmp_table_size = 268435456, max_heap_table_size = 268435456",  # a million groups: 4 s in memory, 44 s on disk
    "SET SESSION sort_buffer_size = 33554432",  # hundreds of columns are sorted at once
    "SET SESSION group_concat_max_len = 1073741824",  # a set of classes is never cut short
)


_ENGINE = "SELECT engine FROM information_schema.tables WHERE table_schema = coalesce(%s, database()) AND table_name = %s"


class Session(Server):
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
            what = f"the connection to the server at {self.address.shown} broke off, and its snapshot of the table is gone."
            raise EngineError(what, hint="Run it again from the start.")
        if self._connection is None:
            try:
                self._connection = connected(self.address)
                with self._connection.cursor() as cursor:
                    for statement in (*_SESSION, *self._limits):
                        cursor.execute(statement)
            except pymysql.Error as error:
                raise no_connection(self.address, error) from None
        return self._connection

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
        """Rows of a small question to the catalog, as text; none of a statement without an answer."""
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
        self._rows(sql, parameters)

    def _failed(self, error: Exception) -> EngineError:
        code = error.args[0] if error.args and isinstance(error.args[0], int) else 0
        if code in LOST or isinstance(error, OSError):
            self.close()
        return translate(code, self.address)

    # -- queries ------------------------------------------------------------------------------------------------------

    def stream(self, query: exp.Expr, *, batch_rows: int = BATCH_ROWS) -> Iterator[pa.RecordBatch]:
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

    @contextmanager
    def snapshot(self) -> Iterator[None]:
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
        """One consistent snapshot until :meth:`close`, read-only: a new table is made after it, with or without ``write``.

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


LOST = {2006, 2013, 2014, 2055, 1053, 1927}
_WORDS = {
    1146: ("a table is not there (any more).", "Check the name; it may have been dropped or renamed meanwhile."),
    1049: ("this database does not exist.", "Check the URL's last part."),
    1054: ("a column is not there (any more).", "Open the table again to reload its columns."),
    1044: (
        "the user may not use this database.",
        "Reading needs SELECT on the table; a new table needs CREATE, ALTER, INSERT and DROP.",
    ),
    1142: ("the user may not do this.", "Reading needs SELECT on the table; a new table needs CREATE, ALTER, INSERT and DROP."),
    1143: ("the user may not read a column.", "Grant SELECT on it, or leave it out."),
    1050: ("a table of that name is already there.", "Choose another name, or drop it first."),
    1290: ("the server is read-only.", "Write to a file instead of a new table."),
    1792: ("the transaction is read-only.", "A run reads in one read-only transaction."),
    1021: ("the disk of the database server is full.", "Free space on the server, or write to a file."),
    1114: ("a table of the server is full.", "Free space on the server, or write to a file."),
    1040: ("the server has no connection left.", "Try again later."),
    1412: ("the table was changed (altered) while it was read.", "Run it again from the start."),
    1317: ("the server stopped the query.", "Try again, or ask for fewer columns."),
    1969: ("the server stopped the query: its time limit.", "Ask for fewer columns, or raise the limit (--statement-timeout)."),
    3024: ("the server stopped the query: its time limit.", "Ask for fewer columns, or raise the limit (--statement-timeout)."),
    1153: ("a question or answer was longer than the server allows.", "Raise max_allowed_packet, or use fewer labels."),
}


def translate(code: int, address: Address) -> EngineError:
    """An error in our words: a driver's message may hold data values."""
    if code in LOST or code == 0:
        return EngineError(
            f"the connection to the server at {address.shown} broke off.", hint="Try again when the server is back.", code=code
        )
    what, hint = _WORDS.get(code, (f"the query could not be run (error {code}).", "See the server's log."))
    return EngineError(f"MySQL/MariaDB at {address.shown}: {what}", hint=hint, code=code)


def no_connection(address: Address, error: Exception) -> EngineError:
    """Why the connection failed, from the driver's error and what is behind it."""
    code = error.args[0] if error.args else 0
    shown, cause = address.shown, getattr(error, "original_exception", error)
    who = f"user '{address.user}'" if address.user else "the user"
    if code in (1045, 1698):
        what = f"the server at {shown} refuses {who}: wrong or missing password, or no such user."
        return EngineError(what, hint="Put the password into MYSQL_PWD, ~/.my.cnf or the URL.")
    if code == 1130:
        return EngineError(f"the server at {shown} does not let {who} in from this machine.", hint="Ask its administrator.")
    if code in _WORDS:
        return translate(int(code), address)
    if code == 2026:
        hint = "On a network that you trust, say so: ssl_mode=DISABLED."
        return EngineError(f"the server at {shown} offers no encryption, so it cannot prove who it is.", hint=hint)
    if isinstance(cause, ssl.SSLError):
        return _not_trusted(shown, cause)
    if isinstance(cause, TimeoutError) or "timed out" in str(error):
        return EngineError(
            f"the server at {shown} did not answer in time.", hint="Check host, port and firewall, or raise connect_timeout=."
        )
    if isinstance(cause, socket.gaierror):
        return EngineError(f"host '{address.host}' is unknown.", hint="Check the name.")
    refused = ": the connection was refused" if isinstance(cause, ConnectionRefusedError) else ""
    return EngineError(
        f"no MySQL or MariaDB server answers at {shown}{refused}.", hint="Check host and port, and that the server runs."
    )


def _not_trusted(shown: str, error: ssl.SSLError) -> EngineError:
    if isinstance(error, ssl.SSLCertVerificationError):
        return certificate_refused(f"the server at {shown}", error.verify_code, "ssl_ca")
    return EngineError(
        f"no encrypted connection to {shown} could be agreed on.", hint="Check which versions of TLS the server offers."
    )
