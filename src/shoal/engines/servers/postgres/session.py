"""PostgreSQL: one connection, its queries, and the one state of the data that they see."""

from __future__ import annotations

import configparser
import os
import socket
import ssl
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from shoal.engines.connect import OTHER_HOST, Address, certificate_refused, is_local, trusted_authorities
from shoal.engines.core.base import BATCH_ROWS
from shoal.engines.core.kinds import no_rows
from shoal.engines.servers.tables import Reading, Server
from shoal.errors import DataError, EngineError, UsageError, need
from shoal.kernels.arrow import ArrowValues
from shoal.model.roles import Column
from shoal.steps.sql import cast, column, string

_KINDS = {
    "int2": "integer", "int4": "integer", "int8": "integer", "oid": "integer", "numeric": "decimal", "float4": "float",
    "float8": "float", "bool": "boolean", "date": "date", "timestamp": "timestamp", "timestamptz": "timestamp", "time": "time",
    "bytea": "binary", "text": "text", "varchar": "text",
}  # fmt: skip


class LooseNumeric(exp.Expression):
    """A ``numeric`` column without a declared scale; becomes a cast to the scale that its values need when SQL is rendered."""

    arg_types = {"this": True, "table": True}  # noqa: RUF012  sqlglot's own form


def reading(field: Any, table: exp.Table) -> Reading:
    """How a column is read, from the type that the server names in its answer."""
    facts = {k.decode(): v.decode() for k, v in (field.metadata or {}).items()}
    native = facts.get("POSTGRESQL:type") or facts.get("ADBC:postgresql:typname") or "unknown"
    kind = _KINDS.get(native, "text")
    value: exp.Expr | None = None
    if native not in _KINDS:
        value = cast(column(field.name, "r"), "TEXT")
    elif native == "timestamptz":
        value = exp.AtTimeZone(this=column(field.name, "r"), zone=string("UTC"))
    elif native == "numeric":
        precision, scale = _digits(facts.get("POSTGRESQL:typmod", "-1"))
        if precision is None or scale < 0 or precision > 76:
            value = LooseNumeric(this=column(field.name, "r"), table=table)
        else:
            number = exp.func("NULLIF", column(field.name, "r"), cast(string("NaN"), "DECIMAL"))
            value = exp.Cast(this=number, to=exp.DataType.build(f"DECIMAL({precision}, {scale})"))
    return Reading(Column(field.name, kind), value, native)


def _digits(typmod: str) -> tuple[int | None, int]:
    """Precision and scale of a numeric type modifier; no precision where none is declared."""
    packed = int(typmod)
    if packed < 4:
        return None, 0
    scale = (packed - 4) & 0x7FF
    return ((packed - 4) >> 16) & 0xFFFF, scale - 0x800 if scale & 0x400 else scale


def plain(batch: pa.RecordBatch) -> pa.RecordBatch:
    """A batch without extension types: numbers as decimals, the rest as their storage."""
    if not any(isinstance(f.type, pa.BaseExtensionType) for f in batch.schema):
        return batch
    return pa.RecordBatch.from_arrays(
        [_column(a, f) for a, f in zip(batch.columns, batch.schema, strict=True)], batch.schema.names
    )


def _column(values: ArrowValues, field: Any) -> pa.Array:
    if not isinstance(field.type, pa.BaseExtensionType):
        return values
    facts = field.metadata or {}
    stored = values.storage
    if facts.get(b"POSTGRESQL:type") != b"numeric":
        return stored
    precision, scale = _digits(facts.get(b"POSTGRESQL:typmod", b"-1").decode())
    if precision is None:
        return _sum(stored)
    try:
        return stored.cast(pa.decimal128(precision, scale) if precision <= 38 else pa.decimal256(precision, scale))
    except pa.ArrowInvalid:
        raise DataError("a numeric column holds infinity.", hint="Replace it in the database, or leave the column out.") from None


def _sum(stored: pa.Array) -> pa.Array:
    """Computed numbers without a declared scale: whole ones as decimals, others as floats."""
    try:
        return stored.cast(pa.decimal128(38, 0))
    except pa.ArrowInvalid:
        return stored.cast(pa.float64())


def check_finite(values: ArrowValues, column: Column) -> None:
    """PostgreSQL has infinite dates, which nothing else can write down."""
    unit = pa.int32() if pa.types.is_date32(values.type) else pa.int64()
    days = pc.min_max(values.view(unit)).as_py()
    limit = 3_000_000 if unit == pa.int32() else 3_000_000 * 86_400_000_000
    if days["min"] is not None and (days["min"] < -limit or days["max"] > limit):
        hint = f"Replace them in the database, or open the table with types={{'{column.name}': 'text'}}."
        raise DataError(f"column '{column.name}' holds infinite dates, which cannot be published.", hint=hint, column=column.name)


_SESSION = (
    "SET timezone='UTC'",
    "SET datestyle='ISO, YMD'",
    "SET intervalstyle='iso_8601'",
    "SET bytea_output='hex'",
    "SET extra_float_digits=1",
    "SET standard_conforming_strings=on",
)


class Session(Server):
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

    def stream(self, query: exp.Expr, *, batch_rows: int = BATCH_ROWS) -> Iterator[pa.RecordBatch]:
        sql = self.render(query)
        with self._answering() as cursor:
            cursor.execute(sql)
            reader = cursor.fetch_record_batch()
            empty = True
            for batch in reader:
                empty = False
                for start in range(0, batch.num_rows, batch_rows):
                    yield plain(batch.slice(start, batch_rows))
            if empty:
                yield plain(no_rows(reader.schema))

    @contextmanager
    def _answering(self) -> Iterator[Any]:
        """A cursor; the driver's errors in our words."""
        import adbc_driver_manager

        if self._connection is None:
            raise EngineError(f"the connection to {self.address.shown} is closed.", hint="Open the table again.")
        try:
            with self._connection.cursor() as cursor:
                yield cursor
        except (adbc_driver_manager.Error, pa.ArrowException, OSError) as error:
            raise self._failed(error) from None

    def _run(self, sql: str, parameters: Sequence[Any] = ()) -> Any:
        with self._answering() as cursor:
            cursor.execute(sql, parameters or None)
            return cursor.fetch_arrow_table() if cursor.description else None

    def _schema(self, sql: str) -> pa.Schema:
        """The columns that a query would have; it is prepared, not run."""
        with self._answering() as cursor:
            return cursor.adbc_execute_schema(sql)

    def _failed(self, error: Exception) -> EngineError:
        if self.holding is not None:  # after an error the server answers nothing more in this transaction
            self._end()
        return translate(str(getattr(error, "sqlstate", None) or ""), str(error), self.address)

    @contextmanager
    def snapshot(self) -> Iterator[None]:
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


_WORDS = {  # SQLSTATE, longest prefix first → what happened, what to do next
    "42P01": ("a table is not there (any more).", "Check the name; it may have been dropped or renamed meanwhile."),
    "42703": ("a column is not there (any more).", "Open the table again to reload its columns."),
    "42501": ("the database user may not do this.", "Reading needs SELECT on the table; a new table needs CREATE on the schema."),
    "42P07": ("a table of that name is already there.", "Choose another name, or drop it first."),
    "25006": ("the database or the user is read-only.", "Write to a file instead of a new table."),
    "25P03": ("the server ended a transaction that waited too long.", "Raise idle_in_transaction_session_timeout."),
    "53100": ("the disk of the database server is full.", "Free space on the server, or write to a file."),
    "53300": ("the server has no connection left.", "Try again later."),
    "57014": (
        "the server stopped the query (a time limit, or someone cancelled it).",
        "Ask for fewer columns, or raise the limit (--statement-timeout).",
    ),
    "23": ("the new rows break a constraint of the table.", "Drop the constraint or the table, or choose another name."),
    "57P01": ("the connection broke off: an administrator ended it, or the server is shutting down.", "Try again."),
    "57P03": ("the server is starting up or shutting down.", "Try again when it is back."),
    "57P": ("the server is shutting down or crashed; the connection broke off.", "Try again when it is back."),
    "53": ("the server has no resources left for the query.", "Try again later, or ask for fewer columns."),
    "08": ("the connection to the server broke off.", "Try again when the server is back."),
    "22": ("a value in the table cannot be converted as asked.", "Check the types= option and the numeric steps of the plan."),
}
_LOST = ("server closed the connection", "no connection to the server", "could not receive data", "terminating connection",
         "SSL connection has been closed", "connection is closed", "SSL SYSCALL error", "EOF detected")  # fmt: skip
_AUTHORITY = "Check sslrootcert=, sslcert= and sslkey=."


def translate(sqlstate: str, message: str, address: Address) -> EngineError:
    """An error in our words: a driver's message may hold data values."""
    for length in (5, 3, 2):
        if sqlstate[:length] in _WORDS:
            what, hint = _WORDS[sqlstate[:length]]
            return EngineError(f"PostgreSQL at {address.shown}: {what}", hint=hint, sqlstate=sqlstate)
    if any(phrase in message for phrase in _LOST):
        return translate("08006", "", address)
    if not sqlstate and "canceling statement" in message:  # reading and loading rows tell no SQLSTATE
        return translate("57014", "", address)
    if not sqlstate and "permission denied" in message:
        return translate("42501", "", address)
    code = f" (SQLSTATE {sqlstate})" if sqlstate else ""
    return EngineError(
        f"PostgreSQL at {address.shown} could not run the query{code}.", hint="See the server's log.", sqlstate=sqlstate
    )


def no_connection(address: Address, message: str) -> EngineError:
    """Why the connection failed, from libpq's words; they are read here and not repeated."""
    shown = f"PostgreSQL at {address.shown}"
    who = f"user '{address.user}'" if address.user else "the user"
    if "does not match host" in message:
        return certificate_refused(shown, OTHER_HOST, "sslrootcert")
    if "certificate verify failed" in message:
        return certificate_refused(shown, _certificate_code(address), "sslrootcert")
    causes = {  # the first that is found in the message
        "no pg_hba.conf entry": (f"{shown} does not let {who} in from this machine.", "The server's pg_hba.conf must allow it."),
        "pg_hba.conf rejects": (f"{shown} does not let {who} in from this machine.", "The server's pg_hba.conf must allow it."),
        "too many c": (f"{shown} has no connection left.", "Try again later."),
        "remaining connection slots": (f"{shown} has no connection left.", "Try again later."),
        "permission denied": (f"{shown}: {who} may not connect to this database.", "Grant CONNECT on it."),
        "starting up": (f"{shown} is starting up.", "Try again in a moment."),
        "shutting down": (f"{shown} is shutting down.", "Try again when it is back."),
        "authentication failed": (_refusal(shown, who), _PASSWORD),
        "no password": (_refusal(shown, who), _PASSWORD),
        "is not permitted to log in": (f"{shown}: {who} may not log in.", "Ask the administrator."),
        "role": (_refusal(shown, who), _PASSWORD),
        "root certificate": ("the file of certificate authorities cannot be read.", "Check sslrootcert=."),
        "does not support SSL": (
            f"{shown} offers no encryption, so it cannot prove who it is.",
            "On a network that you trust, say so: sslmode=disable.",
        ),
        "certificate": (f"no encrypted connection to {shown}: a certificate or its key cannot be used.", _AUTHORITY),
        "SSL error": (
            f"no encrypted connection to {shown} could be agreed on.",
            "Check which versions of TLS the server offers.",
        ),
        "timeout": (f"{shown} did not answer in time.", "Check host, port and firewall, or raise connect_timeout=."),
        "timed out": (f"{shown} did not answer in time.", "Check host, port and firewall, or raise connect_timeout=."),
        "refused": (
            f"no PostgreSQL server answers at {address.shown}: the connection was refused.",
            "Does it run, at this port?",
        ),
        "translate host name": (f"host '{address.host}' is unknown.", "Check the name."),
        "definition of service": ("the service is in no service file.", "Check service= and PGSERVICEFILE."),
        "database": (f"PostgreSQL at {address.host}:{address.port}: this database does not exist.", "Check the URL's last part."),
    }
    unknown = (f"no PostgreSQL server answers at {address.shown}.", "Check host and port, and that the server runs.")
    what, hint = next((cause for part, cause in causes.items() if part in message), unknown)
    return EngineError(what, hint=hint)


_ENCRYPT = b"\x00\x00\x00\x08\x04\xd2\x16\x2f"
"""The request of PostgreSQL's protocol that comes before TLS."""


def _certificate_code(address: Address) -> int:
    """OpenSSL's number of what is wrong with the server's certificate, which libpq does not name; 0 if it cannot be found out."""
    fields = {**address.options, **security(address)}
    file = fields.get("sslrootcert") or os.environ.get("PGSSLROOTCERT") or str(Path.home() / ".postgresql" / "root.crt")
    try:
        context = ssl.create_default_context(cafile=None if file == "system" else file)
        context.check_hostname = False  # libpq compares names itself, after the chain
        host = fields.get("hostaddr") or address.host or "localhost"
        with socket.create_connection((host, address.port), timeout=10) as plain_socket:
            plain_socket.sendall(_ENCRYPT)
            if plain_socket.recv(1) == b"S":
                with context.wrap_socket(plain_socket):
                    return 0
    except ssl.SSLCertVerificationError as error:
        return error.verify_code
    except OSError:
        pass
    return 0


_PASSWORD = "Put the password into PGPASSWORD, the password file (~/.pgpass) or the URL."  # noqa: S105  advice, not a password


def _refusal(shown: str, who: str) -> str:
    return f"{shown} refuses {who}: wrong or missing password, or no such user."


OPTIONS = (
    *("host", "hostaddr", "user", "password", "passfile", "service", "require_auth", "channel_binding", "connect_timeout"),
    *("sslmode", "sslrootcert", "sslcert", "sslkey", "sslpassword", "sslcertmode", "sslcrl", "sslcrldir", "sslsni"),
    *("sslnegotiation", "ssl_min_protocol_version", "ssl_max_protocol_version", "gssencmode", "krbsrvname", "requirepeer"),
    *("application_name", "options", "keepalives", "keepalives_idle", "keepalives_interval", "keepalives_count"),
    *("tcp_user_timeout", "target_session_attrs"),
)
"""Connection options that a URL may name: those of libpq that make sense for one connection."""

VERIFIED = ("verify-full", "verify-ca", "require")  # with an authority at hand, libpq verifies under "require" too


def connection_string(address: Address) -> str:
    """The connection string of libpq."""
    fields: dict[str, str | None] = {
        "host": address.host or None, "port": str(address.port) if address.host else None, "user": address.user,
        "password": address.password, "dbname": address.database, "application_name": "shoal", "connect_timeout": "10",
        **address.options, **security(address),
    }  # fmt: skip
    quoted = {k: "'" + v.replace("\\", "\\\\").replace("'", "\\'") + "'" for k, v in fields.items() if v is not None}
    return " ".join(f"{k}={v}" for k, v in quoted.items())


def security(address: Address) -> dict[str, str]:
    """``sslmode`` and ``sslrootcert`` where nobody said them: beyond this machine a server must prove its name.

    >>> security(Address("postgresql", "127.0.0.1", 5432, None, None))
    {}
    >>> security(Address("postgresql", "db.example", 5432, None, None, options={"sslrootcert": "ca.pem"}))
    {'sslmode': 'verify-full'}
    """
    service = _service(address)
    mode = address.options.get("sslmode") or service.get("sslmode") or os.environ.get("PGSSLMODE")
    authority = address.options.get("sslrootcert") or service.get("sslrootcert") or os.environ.get("PGSSLROOTCERT")
    if mode is not None:
        if authority and mode not in VERIFIED:
            hint = "Say sslmode=verify-full, or leave the authority out."
            raise UsageError(f"a certificate authority is named, but sslmode={mode} does not verify by it.", hint=hint)
        return {}
    if authority:
        return {"sslmode": "verify-full"}
    host = address.options.get("hostaddr") or address.host or service.get("host") or os.environ.get("PGHOST", "")
    if is_local(host) and not ("service" in address.options and not service):
        return {}
    own = Path.home() / ".postgresql" / "root.crt"
    return {"sslmode": "verify-full"} | ({} if own.is_file() else {"sslrootcert": trusted_authorities() or "system"})


def _service(address: Address) -> Mapping[str, str]:
    """The service that is named, from the first file that holds it; nothing where none does."""
    name = address.options.get("service") or os.environ.get("PGSERVICE")
    if not name:
        return {}
    own = os.environ.get("PGSERVICEFILE") or str(Path.home() / ".pg_service.conf")
    for file in (own, str(Path(os.environ.get("PGSYSCONFDIR", "/etc/postgresql-common")) / "pg_service.conf")):
        parser = configparser.ConfigParser(interpolation=None, strict=False, delimiters=("=",))
        try:
            parser.read(file, encoding="utf-8")
        except (configparser.Error, UnicodeDecodeError):
            continue
        if parser.has_section(name):
            return dict(parser[name])
    return {}
