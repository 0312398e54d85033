"""SQLite: statements are answered where the file is, over one connection, in one transaction at a time.

Quirks handled here: text is compared as bytes (columns may declare collations that fold case or trailing blanks); doubles are
read and spelled by Python, since SQLite shows 15 digits of them; dates and moments are text (:mod:`.cells`); there is no
REPEAT, LEFT or RIGHT; a value map is a temporary table, which the file never sees. The file is opened for reading until a new
table is asked for.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
from sqlglot import exp

from shoal.engines.core.base import Relation
from shoal.engines.servers.sqlite.cells import readings, same
from shoal.engines.servers.sqlite.session import Session, identifier
from shoal.engines.servers.tables import Reading, build_relation, table_expression
from shoal.errors import DataError, EngineError, OutputError, ShoalError, UnreadableError, UsageError, nearest
from shoal.model.roles import Column, check_names
from shoal.steps.sql import cast, string

_TABLES = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY name"
_INTERNAL = ("sqlite_", "gpkg_", "rtree_")
_ARROW = {"date": pa.date32(), "timestamp": pa.timestamp("us"), "text": pa.string()}
_DECLARED = (
    (pa.types.is_boolean, "BOOLEAN"), (pa.types.is_integer, "INTEGER"), (pa.types.is_floating, "REAL"),
    (pa.types.is_date, "DATE"), (pa.types.is_timestamp, "DATETIME"), (pa.types.is_binary, "BLOB"),
)  # fmt: skip


class SQLite(Session):
    """A table of an SQLite file."""

    name = "sqlite"
    dialect = "sqlite"
    creates_by_query = False

    # -- the schema ---------------------------------------------------------------------------------------------------

    def relation(self, table: str, **options: Any) -> Relation:
        types = dict(options.pop("types", None) or {})
        with self.snapshot():
            name = self.named(table)
            found = self._readings(name, types)
        self._read[name] = (types, found)
        return build_relation(table_expression(None, name), found, f"sqlite://{self.file}::{name}", options, name)

    def named(self, wanted: str | None) -> str:
        """The table of that name, as the file spells it; without a name the only one."""
        known = [str(n) for (n,) in self._rows(_TABLES)]
        listed = [n for n in known if not n.lower().startswith(_INTERNAL)]
        if wanted is None and len(listed) == 1:
            return listed[0]
        shown = ", ".join(listed[:20]) or "none"
        if wanted is None:
            raise UsageError(
                f"'{self.file.name}' holds {len(listed)} tables.", hint=f"Name one: sqlite://{self.file}::TABLE. Tables: {shown}."
            )
        found = next((n for n in known if n == wanted), None) or next((n for n in known if n.lower() == wanted.lower()), None)
        if found is None:
            close = nearest(wanted, known)
            hint = f"Did you mean '{close}'?" if close else f"Tables: {shown}."
            raise UnreadableError(f"table '{wanted}' is not in '{self.file.name}'.", hint=hint)
        return found

    def _readings(self, table: str, types: dict[str, str]) -> list[Reading]:
        source = identifier(table)
        said = {str(row[1]): str(row[2]).upper() for row in self._rows(f"PRAGMA table_xinfo({source})")}
        names = self._names(f"SELECT * FROM {source} LIMIT 0")  # noqa: S608  a quoted identifier
        check_names(names, table=table)
        return readings(self._asked, source, {n: said.get(n, "") for n in names}, types, table)

    def _asked(self, sql: str) -> Sequence[Any]:
        self.asked.append(sql)
        row: Sequence[Any] = self._rows(sql)[0]
        return row

    def _look_again(self) -> None:
        """Somebody has written since the columns were looked at: they must still be read alike."""
        for table, (types, before) in self._read.items():
            try:
                alike = same(before, self._readings(table, types))
            except DataError:
                alike = False
            if not alike:
                raise EngineError(
                    f"the columns of table '{table}' are not what they were when it was opened.", hint="Open the table again."
                )

    # -- tables -------------------------------------------------------------------------------------------------------

    def create_table(self, name: str, query: exp.Expr) -> None:
        self.load_table(name, self.stream(query), ())

    def load_table(self, name: str, batches: Iterator[Any], columns: Sequence[Column]) -> None:
        self.will_write()
        with self.snapshot():
            if self._rows("SELECT 1 FROM sqlite_master WHERE LOWER(name) = LOWER(?)", (name,)):
                raise OutputError(
                    f"table '{name}' is already in '{self.file.name}'.", hint="Choose another name, or drop it first."
                )
            first = next(batches)
            types = ", ".join(f"{identifier(f.name)} {_declared(f.type)}" for f in first.schema)
            self._run("SAVEPOINT shoal_table")
            try:
                self._run(f"CREATE TABLE {identifier(name)} ({types})")
                insert = f"INSERT INTO {identifier(name)} VALUES ({', '.join('?' for _ in first.schema)})"  # noqa: S608
                batch = first
                while batch is not None:
                    self._run(insert, list(zip(*(_cells(c) for c in batch.columns), strict=True)))
                    batch = next(batches, None)
            except BaseException:
                with suppress(ShoalError):  # a full disk has undone all of it
                    self._run("ROLLBACK TO shoal_table")
                    self._run("RELEASE shoal_table")
                raise
            self._run("RELEASE shoal_table")
            self.made = identifier(name)

    # -- the dialect --------------------------------------------------------------------------------------------------

    def render(self, query: exp.Expr) -> str:
        query = query.copy()
        for node in reversed(list(query.find_all(exp.Cast, exp.EQ, exp.Left, exp.Right, exp.Repeat, exp.Greatest))):
            own = _own(node)
            if own is not None:
                node.replace(own)
        return super().render(query)

    def key(self, value: exp.Expr, column: Column) -> exp.Expr:
        return cast(value, "BINARY") if column.kind == "text" else super().key(value, column)

    def mapped(self, value: exp.Expr, column: Column) -> exp.Expr:
        """Columns of a mapping whose names begin with ``k`` are bytes already: left alone, they are looked up by an index."""
        return value if value.name.startswith("k") else self.key(value, column)

    def clean_float(self, value: exp.Expr) -> exp.Expr:
        return exp.Paren(this=exp.Add(this=cast(value, "DOUBLE"), expression=exp.Literal.number("0.0")))

    def text(self, value: exp.Expr, column: Column) -> exp.Expr:
        if column.kind == "float":
            return _call("SHOAL_TEXT", self.clean_float(value))
        if column.kind == "timestamp":
            whole = exp.EQ(this=_call("SUBSTR", value, exp.convert(20)), expression=string(".000000"))
            start = _call("SUBSTR", value, exp.convert(1), exp.convert(19))
            return exp.Case(ifs=[exp.If(this=whole, true=start)], default=value.copy())
        if column.kind == "date":
            return value
        if column.kind == "binary":
            return exp.Lower(this=exp.Hex(this=value))
        return super().text(value, column)

    def set_of(self, value: exp.Expr) -> exp.Expr:
        return _call("SHOAL_SET", value)

    def decode(self, values: Any, column: Column) -> Any:
        if isinstance(values, pa.ChunkedArray):
            values = values.combine_chunks() if values.num_chunks != 1 else values.chunk(0)
        try:
            if column.kind == "text" and pa.types.is_binary(values.type) and not self.utf8:
                values = pa.array([None if v is None else v.decode(self.encoding) for v in values.to_pylist()], pa.string())
            if column.kind in _ARROW:
                return values.cast(_ARROW[column.kind])
            if column.kind == "boolean":
                return _booleans(values.cast(pa.int64()))
        except (pa.ArrowInvalid, UnicodeDecodeError):
            what = "text that is not UTF-8" if column.kind == "text" else f"values that are no {column.kind}"
            raise DataError(f"column '{column.name}' holds {what}.", hint="Mend them in the file.", column=column.name) from None
        if pa.types.is_null(values.type):
            values = values.cast({"integer": pa.int64(), "binary": pa.binary()}.get(column.kind, pa.float64()))
        return super().decode(values, column)

    @contextmanager
    def mapping(self, data: Any) -> Iterator[exp.Expr]:
        name = f"shoal_map_{next(self._numbers)}"
        self._maps[name] = data
        self._bring(name, data)
        try:
            yield exp.Table(this=exp.to_identifier(name, quoted=True), db=exp.to_identifier("temp", quoted=True))
        finally:
            del self._maps[name]
            with suppress(EngineError):
                self._run(f"DROP TABLE IF EXISTS temp.{identifier(name)}")

    def _bring(self, name: str, data: Any) -> None:
        """A mapping as a temporary table; keys as bytes, with an index."""
        keys = [identifier(n) for n in data.column_names if n.startswith("k")]
        types = ", ".join(f"{identifier(f.name)} {'INTEGER' if pa.types.is_integer(f.type) else ''}" for f in data.schema)
        marks = ", ".join("CAST(? AS BLOB)" if n.startswith("k") else "?" for n in data.column_names)
        self._run(f"CREATE TEMP TABLE {identifier(name)} ({types})")
        rows = list(zip(*(data[n].to_pylist() for n in data.column_names), strict=True))
        self._run(f"INSERT INTO temp.{identifier(name)} VALUES ({marks})", rows)  # noqa: S608  a name of our own
        if keys:
            self._run(f"CREATE INDEX temp.{identifier(name + '_keys')} ON {identifier(name)} ({', '.join(keys)})")


def open_only(path: Path, table: str | None, types: Any) -> tuple[SQLite, Relation]:
    """The table of that name, or the only one of a file."""
    engine = SQLite(str(path))
    try:
        return engine, engine.relation(engine.named(table), types=types)
    except BaseException:
        engine.close()
        raise


def _call(name: str, *values: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this=name, expressions=[v.copy() for v in values])


def _own(node: exp.Expr) -> exp.Expr | None:
    """What SQLite has no word for, or an inexact one, in its own words; None where it stays."""
    if isinstance(node, exp.Left):
        return _call("SUBSTR", node.this, exp.convert(1), node.expression)
    if isinstance(node, exp.Right):
        return _call("SUBSTR", node.this, exp.Neg(this=node.expression.copy()))
    if isinstance(node, exp.Greatest):
        return _call("MAX", node.this, *node.expressions)
    if isinstance(node, exp.Repeat):
        zeros = _call("HEX", _call("ZEROBLOB", node.args["times"]))
        return _call("REPLACE", zeros, string("00"), node.this)
    if isinstance(node, exp.EQ):
        return _by_spelling(node)
    return _literal(node)


def _by_spelling(node: exp.EQ) -> exp.Expr | None:
    """A double looked up among the keys of a value map, which are spelled as Python does: so their index can be used."""
    right = node.expression
    if isinstance(right, exp.Cast) and isinstance(right.this, exp.Column) and right.this.name == "k":
        return exp.EQ(this=cast(_call("SHOAL_TEXT", node.this), "BINARY"), expression=right.this.copy())
    return None


def _literal(node: exp.Expr) -> exp.Expr | None:
    """CAST of a text literal: doubles by Python, to the last bit; days and moments in the form of :mod:`.cells`."""
    if not isinstance(node.this, exp.Literal) or not node.this.is_string:
        return None
    kind = node.args["to"].this
    if kind == exp.DataType.Type.DOUBLE:
        return _call("SHOAL_DOUBLE", node.this)
    if kind == exp.DataType.Type.DATE:
        return string(dt.datetime.fromisoformat(node.this.this).date().isoformat())
    if kind == exp.DataType.Type.TIMESTAMP:
        return string(dt.datetime.fromisoformat(node.this.this).isoformat(sep=" ", timespec="microseconds"))
    return None


def _booleans(numbers: Any) -> Any:
    if any(n not in (0, 1, None) for n in numbers.unique().to_pylist()):
        raise pa.ArrowInvalid
    return numbers.cast(pa.bool_())


def _declared(arrow_type: Any) -> str:
    """The declared type of a new table's column, by which it is read in the same kind again; decimals stay texts."""
    return next((word for check, word in _DECLARED if check(arrow_type)), "TEXT")


def _cells(values: Any) -> list[Any]:
    """Python values that SQLite keeps as they are."""
    if pa.types.is_timestamp(values.type):
        return [None if v is None else v.isoformat(sep=" ") for v in values.to_pylist()]
    if pa.types.is_boolean(values.type) or pa.types.is_integer(values.type) or pa.types.is_floating(values.type):
        return list(values.to_pylist())
    return list(values.to_pylist() if pa.types.is_binary(values.type) else values.cast(pa.string()).to_pylist())
