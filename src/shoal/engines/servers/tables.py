"""What the tables of database servers have in common: their names, and the columns as read.

A *reading* is how one column of a server's table is read: its kind, and the expression that turns the server's own type
into the one that all engines share (``char(n)`` without its padding, enumerations and identifiers as text, moments in UTC).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shoal.engines.connect import Address
from shoal.engines.core.base import Engine, Relation
from shoal.errors import EngineError, OutputError, UsageError, missing_column
from shoal.model.roles import Column
from shoal.steps.sql import aliased, cast, column, exp, named

if TYPE_CHECKING:
    import pyarrow as pa


def spellings(table: str) -> Iterator[tuple[str | None, str]]:
    """What a table's name may mean: the whole name first, then schema and table at each dot.

    >>> list(spellings("a.b.c"))
    [(None, 'a.b.c'), ('a', 'b.c'), ('a.b', 'c')]
    """
    yield None, table
    for i, character in enumerate(table):
        if character == "." and 0 < i < len(table) - 1:
            yield table[:i], table[i + 1 :]


def table_expression(schema: str | None, table: str) -> exp.Table:
    """A quoted table name."""
    db = exp.to_identifier(schema, quoted=True) if schema is not None else None
    return exp.Table(this=exp.to_identifier(table, quoted=True), db=db)


@dataclass(frozen=True)
class Reading:
    """One column as read: ``value`` is None where the column is used as it is."""

    column: Column
    value: exp.Expr | None = None
    native: str = ""


_CASTS = {"text": "TEXT", "integer": "BIGINT", "float": "DOUBLE", "date": "DATE", "timestamp": "TIMESTAMP", "boolean": "BOOLEAN"}


def retyped(reading: Reading, kind: str) -> Reading:
    """The column read as another kind (``types={"age": "integer"}``)."""
    if kind == reading.column.kind:
        return reading
    if kind not in _CASTS:
        raise UsageError(f"column '{reading.column.name}' cannot be read as '{kind}'.", hint=f"Kinds: {', '.join(_CASTS)}.")
    value = reading.value if reading.value is not None else column(reading.column.name, "r")
    return Reading(Column(reading.column.name, kind), cast(value, _CASTS[kind]), reading.native)


def build_relation(source: exp.Expr, readings: Sequence[Reading], shown: str, options: Mapping[str, Any], table: str) -> Relation:
    """The relation over ``source`` (named ``r`` inside): a plain table where every column is used as it is, else a subquery."""
    options = dict(options)
    types: Mapping[str, str] = options.pop("types", None) or {}
    if options:
        raise UsageError(f"option '{next(iter(options))}' means nothing for a database table.", hint="Known options: types.")
    known = {r.column.name for r in readings}
    for name in types:
        if name not in known:
            raise missing_column(name, sorted(known), table=table)
    readings = [retyped(r, types[r.column.name]) if r.column.name in types else r for r in readings]
    columns = tuple(r.column for r in readings)
    native = {r.column.name: r.native for r in readings}
    if all(r.value is None for r in readings):
        return Relation(source, columns, source=shown, native=native)
    terms = [named(r.value or column(r.column.name, "r"), r.column.name) for r in readings]
    return Relation(exp.Subquery(this=exp.select(*terms).from_(aliased(source, "r"))), columns, source=shown, native=native)


def no_table(table: str, shown: str) -> EngineError:
    """The error for a table that is not there, or not for this user."""
    hint = "Check the name (schema.table, exact case) and the rights of the user."
    return EngineError(f"table '{table}' is not at {shown}, or this user may not read it.", hint=hint, table=table)


class Server(Engine):
    """What the engines of database servers share: an address, names of new tables."""

    address: Address

    @abstractmethod
    def _run(self, sql: str, parameters: Sequence[Any] = ()) -> Any:
        """Run a statement."""

    @abstractmethod
    def _has_table(self, schema: str | None, table: str) -> bool:
        """Whether there is such a table; without a schema, where the server looks for it."""

    @abstractmethod
    def _schemas(self) -> Collection[str]:
        """The schemas (databases) of the server."""

    def send(self, sql: str) -> None:
        self._run(sql)

    @property
    def place(self) -> object:
        a = self.address
        return a.scheme, a.host, a.port, a.user, a.database, tuple(sorted(a.options.items()))

    def _free(self, name: str) -> tuple[str | None, str]:
        """Schema and name for a new table; an error where the name is taken."""
        if any(self._has_table(schema, table) for schema, table in spellings(name)):
            hint = "Choose another name, or drop it first."
            raise OutputError(f"table '{name}' is already at {self.address.shown}.", hint=hint)
        return self._spelled(name)

    def _spelled(self, name: str) -> tuple[str | None, str]:
        """Schema and name of a table that may be there."""
        known = self._schemas()
        return next(((schema, table) for schema, table in spellings(name) if schema in known), (None, name))


class Remembered:
    """Batches on their way through a driver, which would hide what went wrong at their source.

    >>> batches = Remembered(iter([1, 2]))
    >>> list(batches), batches.error
    ([1, 2], None)
    """

    def __init__(self, batches: Iterator[pa.RecordBatch]) -> None:
        self._batches = batches
        self.error: BaseException | None = None

    def __iter__(self) -> Iterator[Any]:
        try:
            yield from self._batches
        except BaseException as error:
            self.error = error
            raise
