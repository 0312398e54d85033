"""SQL Server, through ODBC. **Experimental**: its SQL is generated and parsed in the tests; no server was at hand.

Quirks handled here: collations fold case, accents and trailing blanks, and ``VARBINARY`` ignores zero bytes at the end, so text
is compared as bytes behind a closing mark; literals are national (``N'…'``); it has no boolean literal, no NaN, no ``GREATEST``
and no ``IS NOT DISTINCT FROM`` before 2022; ``LEN`` drops trailing blanks; ``COUNT`` ends at 2³¹; as text, a float has six
digits and money two decimals; ``timestamp`` is a counter in bytes; on some servers the case of system names matters.
"""

from __future__ import annotations

import datetime as dt
import decimal
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import pyarrow as pa
from sqlglot import exp, parse_one

from shoal.engines.core.base import BATCH_ROWS, Engine, Relation
from shoal.engines.servers.addresses import Address
from shoal.engines.servers.tables import Reading, build_relation, no_table, spellings, table_expression
from shoal.errors import EngineError, OutputError, need
from shoal.model.roles import Column
from shoal.steps.sql import cast, column, string

OPTIONS = ("host", "user", "password", "driver", "encrypt", "trust")
"""Connection options that a URL may name; ``encrypt=yes`` and ``trust=no`` (the certificate is verified) are the defaults."""

MARK = "|"
"""Ends every text key, so that neither blanks nor zero bytes stand last."""

_WORDS = {
    "integer": "tinyint smallint int bigint",
    "decimal": "decimal numeric",
    "float": "float real",
    "boolean": "bit",
    "date": "date",
    "timestamp": "datetime datetime2 smalldatetime",
    "time": "time",
    "text": "char varchar nchar nvarchar",
    "binary": "binary varbinary",
}
_KINDS = {word: kind for kind, words in _WORDS.items() for word in words.split()}

_COLUMNS = """
SELECT COLUMN_NAME, DATA_TYPE FROM INFORMATION_SCHEMA.COLUMNS
WHERE TABLE_SCHEMA = COALESCE(?, SCHEMA_NAME()) AND TABLE_NAME = ? ORDER BY ORDINAL_POSITION
"""


class SQLServer(Engine):
    """A SQL Server database; one connection, opened at once. Experimental: no server was at hand to test it."""

    name = "mssql"
    dialect = "tsql"

    def __init__(self, url: str) -> None:
        self.address = Address.parse(url, port=1433, known=OPTIONS, password_from=("MSSQL_PASSWORD", "SHOAL_PASSWORD"))
        try:
            import pyodbc
        except ImportError:  # the package, or the ODBC library of the system
            raise need("mssql", "pyodbc") from None
        try:
            self._connection = pyodbc.connect(_odbc(self.address), autocommit=True, timeout=10)
        except pyodbc.Error:
            raise EngineError(
                f"no SQL Server answers at {self.address.shown}, or it refuses the user (this engine is experimental).",
                hint="Check host, port and password (MSSQL_PASSWORD), and that the ODBC driver is installed.",
            ) from None

    def close(self) -> None:
        import pyodbc

        with suppress(pyodbc.Error):
            self._connection.close()

    # -- the schema ---------------------------------------------------------------------------------------------------

    def relation(self, table: str, **options: Any) -> Relation:
        for schema, name in spellings(table):
            found = self._rows(_COLUMNS, schema, name)
            if found:
                readings = [reading(n, t) for n, t in found]
                return build_relation(table_expression(schema, name), readings, f"{self.address.shown}::{table}", options, table)
        raise no_table(table, self.address.shown)

    # -- queries ------------------------------------------------------------------------------------------------------

    def _rows(self, sql: str, *parameters: Any) -> list[Any]:
        with self._errors(), self._connection.cursor() as cursor:
            return list(cursor.execute(sql, *parameters).fetchall())

    def stream(self, query: exp.Expr, *, batch_rows: int = BATCH_ROWS) -> Iterator[Any]:
        with self._errors(), self._connection.cursor() as cursor:
            cursor.execute(self.render(query))
            names = [d[0] for d in cursor.description]
            types = [_arrow_type(d) for d in cursor.description]
            while True:
                rows = cursor.fetchmany(batch_rows)
                columns = list(zip(*rows, strict=True)) if rows else [()] * len(names)
                arrays = [pa.array(c, t) for c, t in zip(columns, types, strict=True)]
                yield pa.RecordBatch.from_arrays(arrays, names=names)
                if len(rows) < batch_rows:
                    return

    @contextmanager
    def _errors(self) -> Iterator[None]:
        import pyodbc

        try:
            yield
        except pyodbc.Error as error:
            state = str(error.args[0]) if error.args else ""
            what = "broke off" if state.startswith("08") else f"could not carry out the query (SQLSTATE {state})"
            raise EngineError(
                f"SQL Server at {self.address.shown} {what}.", hint="See the server's log.", sqlstate=state
            ) from None

    # -- tables -------------------------------------------------------------------------------------------------------

    def create_table(self, name: str, query: exp.Expr) -> None:
        schema, table = self._free(name)
        unordered = query.copy()
        unordered.set("order", None)  # a table has no order, and a subquery may have none here
        self._whole([self.render(exp.Create(this=table_expression(schema, table), kind="TABLE", expression=unordered))])
        self.made = self.render(table_expression(schema, table))

    def load_table(self, name: str, batches: Iterator[Any], columns: Sequence[Column]) -> None:
        schema, table = self._free(name)
        first = next(batches)
        target = self.render(table_expression(schema, table))
        types = ", ".join(f"{self.render(exp.to_identifier(f.name, quoted=True))} {native_type(f.type)}" for f in first.schema)
        marks = ", ".join("?" for _ in first.schema)

        def fill(cursor: Any) -> None:
            batch = first
            while batch is not None:
                rows = list(zip(*(c.to_pylist() for c in batch.columns), strict=True))
                if rows:
                    cursor.executemany(f"INSERT INTO {target} VALUES ({marks})", rows)  # noqa: S608  a quoted identifier
                batch = next(batches, None)

        self._whole([f"CREATE TABLE {target} ({types})"], fill)
        self.made = target

    def send(self, sql: str) -> None:
        self._whole([sql])

    def _whole(self, statements: Sequence[str], more: Any = None) -> None:
        """Statements in one transaction: here new tables belong to it too."""
        self._connection.autocommit = False
        try:
            with self._errors(), self._connection.cursor() as cursor:
                for statement in statements:
                    cursor.execute(statement)
                if more is not None:
                    more(cursor)
                self._connection.commit()
        except BaseException:
            with suppress(EngineError), self._errors():
                self._connection.rollback()
            raise
        finally:
            self._connection.autocommit = True

    def _free(self, name: str) -> tuple[str | None, str]:
        known = {r[0] for r in self._rows("SELECT name FROM sys.schemas")}
        for schema, table in spellings(name):
            if self._rows(_COLUMNS, schema, table):
                raise OutputError(f"table '{name}' is already at {self.address.shown}.", hint="Choose another name.")
        return next(((s, t) for s, t in spellings(name) if s in known), (None, name))

    # -- the dialect --------------------------------------------------------------------------------------------------

    def render(self, query: exp.Expr) -> str:
        return super().render(query.transform(_older_words))

    def key(self, value: exp.Expr, column: Column) -> exp.Expr:
        if column.kind == "text":
            marked = exp.DPipe(this=_national(value), expression=string(MARK))
            return exp.Cast(this=marked, to=_type("VARBINARY(MAX)"))
        return super().key(value, column)

    def clean_float(self, value: exp.Expr) -> exp.Expr:
        return exp.Paren(this=exp.Add(this=cast(value, "DOUBLE"), expression=exp.Literal.number("0e0")))

    def text(self, value: exp.Expr, column: Column) -> exp.Expr:
        if column.kind == "text":
            wide = exp.Collate(this=_national(value), expression=exp.Var(this="Latin1_General_100_CI_AS_SC"))
            return exp.Paren(this=wide)
        if column.kind == "float":
            return _spelled(self.clean_float(value), "NVARCHAR(40)", 3)  # all seventeen digits: no two numbers become one
        if column.kind == "date":
            return _spelled(value, "NVARCHAR(10)", 23)
        if column.kind in ("timestamp", "time"):
            exact = exp.Cast(this=value.copy(), to=_type("DATETIME2(6)" if column.kind == "timestamp" else "TIME(6)"))
            shown = _spelled(exact, "NVARCHAR(26)" if column.kind == "timestamp" else "NVARCHAR(15)", 121)
            return exp.Anonymous(this="REPLACE", expressions=[shown, string(".000000"), string("")])
        if column.kind == "binary":
            return exp.func("LOWER", _spelled(value, "NVARCHAR(MAX)", 2))
        return super().text(value, column)

    def decode(self, values: Any, column: Column) -> Any:
        if column.kind == "text" and pa.types.is_binary(values.type):
            texts = [None if v is None else v.decode("utf-16-le").removesuffix(MARK) for v in values.to_pylist()]
            return pa.array(texts, pa.string())
        return super().decode(values, column)

    def same(self, left: exp.Expr, right: exp.Expr) -> exp.Expr:
        none = exp.and_(
            exp.Is(this=left.copy(), expression=exp.Null()), exp.Is(this=right.copy(), expression=exp.Null()), copy=False
        )
        return exp.Paren(this=exp.or_(exp.EQ(this=left, expression=right), none, copy=False))

    def set_of(self, value: exp.Expr) -> exp.Expr:
        """32 bytes for a set of any size."""
        spelled = exp.cast(value, exp.DataType.build("VARCHAR(MAX)", dialect="tsql"))
        listed = exp.Anonymous(this="STRING_AGG", expressions=[spelled, string(",")])
        order = exp.Order(expressions=[exp.Ordered(this=value.copy(), nulls_first=True)])
        return exp.Anonymous(this="HASHBYTES", expressions=[string("SHA2_256"), exp.WithinGroup(this=listed, expression=order)])

    def char_length(self, value: exp.Expr) -> exp.Expr:
        marked = exp.DPipe(this=value, expression=string(MARK))
        return exp.Paren(this=exp.Sub(this=exp.Anonymous(this="LEN", expressions=[marked]), expression=exp.convert(1)))

    @contextmanager
    def mapping(self, data: Any) -> Iterator[exp.Expr]:
        """A JSON text read as a table: no right to create anything is needed."""
        rows = list(zip(*(data[n].to_pylist() for n in data.column_names), strict=True))
        fields = []
        for i, field in enumerate(data.schema):
            kind = "BIGINT" if pa.types.is_integer(field.type) else "NVARCHAR(MAX)"
            fields.append(f"x{i} {kind} '$[{i}]'")
        query = parse_one(f"SELECT * FROM OPENJSON('x') WITH ({', '.join(fields)}) AS q", dialect="tsql")  # noqa: S608
        found = query.find(exp.OpenJSON)
        assert found is not None
        found.set("this", string(json.dumps(rows, ensure_ascii=False)))
        query.set("expressions", [exp.alias_(column(f"x{i}", "q"), n, quoted=True) for i, n in enumerate(data.column_names)])
        yield exp.Subquery(this=query)


def reading(name: str, data_type: str) -> Reading:
    """How a column is read, from information_schema."""
    word = data_type.lower()
    value: exp.Expr = column(name, "r")
    exact = {"money": "DECIMAL(19, 4)", "smallmoney": "DECIMAL(10, 4)", "timestamp": "VARBINARY(8)", "image": "VARBINARY(MAX)"}
    if word in exact:
        kind = "binary" if "BINARY" in exact[word] else "decimal"
        return Reading(Column(name, kind), exp.Cast(this=value, to=_type(exact[word])), word)
    if word in ("char", "nchar"):
        return Reading(Column(name, "text"), exp.Anonymous(this="RTRIM", expressions=[value]), word)
    if word == "datetimeoffset":
        moment = exp.Anonymous(this="SWITCHOFFSET", expressions=[value, string("+00:00")])
        return Reading(Column(name, "timestamp"), exp.Cast(this=moment, to=_type("DATETIME2(6)")), word)
    if word in _KINDS:
        return Reading(Column(name, _KINDS[word]), None, word)
    return Reading(Column(name, "text"), _national(value), word)


def native_type(arrow_type: Any) -> str:
    """The column type of a new table for an Arrow type."""
    test = pa.types
    if test.is_decimal(arrow_type):
        return f"DECIMAL({min(arrow_type.precision, 38)},{arrow_type.scale})"
    words = (
        (test.is_boolean, "BIT"),
        (test.is_uint64, "DECIMAL(20,0)"),
        (test.is_integer, "BIGINT"),
        (test.is_floating, "FLOAT"),
        (test.is_date, "DATE"),
        (test.is_timestamp, "DATETIME2(6)"),
        (test.is_time, "TIME(6)"),
        (test.is_binary, "VARBINARY(MAX)"),
    )
    return next((word for check, word in words if check(arrow_type)), "NVARCHAR(MAX)")


def _arrow_type(described: Any) -> Any:
    """The Arrow type of a result's column, from the driver's description of it."""
    kinds = {
        str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_(), bytes: pa.binary(), bytearray: pa.binary(),
        dt.date: pa.date32(), dt.datetime: pa.timestamp("us"), dt.time: pa.time64("us"),
    }  # fmt: skip
    if described[1] is decimal.Decimal:
        return pa.decimal128(min(described[4] or 38, 38), described[5] or 0)
    return kinds.get(described[1], pa.string())


def _older_words(node: exp.Expr) -> exp.Expr:
    """National literals and types, counts and sums of 64 bits, and GREATEST as a CASE."""
    if isinstance(node, exp.Count):
        return exp.Count(this=node.this, big_int=True)
    if isinstance(node, exp.Sum) and node.this.name != "w":  # flags; weights are floats
        return exp.Sum(this=cast(node.this, "BIGINT"))
    if isinstance(node, exp.Literal) and node.is_string and not isinstance(node.parent, exp.OpenJSONColumnDef):
        return exp.National(this=node.this)
    if isinstance(node, exp.DataType) and node.this == exp.DataType.Type.TEXT:
        return _type("NVARCHAR(MAX)")
    if isinstance(node, exp.Greatest) and len(node.expressions) == 1:
        more = exp.GT(this=node.this.copy(), expression=node.expressions[0].copy())
        return exp.Case(ifs=[exp.If(this=more, true=node.this)], default=node.expressions[0])
    return node


def _type(words: str) -> exp.DataType:
    return exp.DataType.build(words, dialect="tsql")


def _national(value: exp.Expr) -> exp.Expr:
    return exp.Cast(this=value.copy(), to=_type("NVARCHAR(MAX)"))


def _spelled(value: exp.Expr, kind: str, style: int) -> exp.Expr:
    return exp.Anonymous(this="CONVERT", expressions=[exp.Var(this=kind), value.copy(), exp.convert(style)])


def _odbc(address: Address) -> str:
    """The connection string; values in braces, as ODBC wants them."""
    fields = {
        "DRIVER": address.options.get("driver", "ODBC Driver 18 for SQL Server"),
        "SERVER": f"{address.host or 'localhost'},{address.port}",
        "DATABASE": address.database,
        "UID": address.user,
        "PWD": address.password,
        "Encrypt": address.options.get("encrypt", "yes"),
        "TrustServerCertificate": address.options.get("trust", "no"),
        "APP": "shoal",
    }
    return ";".join(f"{k}={{{v.replace('}', '}}')}}}" for k, v in fields.items() if v is not None)
