"""A table whose statements are written down and not sent; questions are answered from invented rows.

So a whole command can be walked through without reading anything. There are 25 classes of 40 people, each with the same 25
sensitive values, which meets most requirements as it is; numbers that come out mean nothing.
"""

from __future__ import annotations

import datetime as dt
import decimal
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from shoal.disk.atomic import scratch
from shoal.engines.core.base import BATCH_ROWS, Engine, Relation
from shoal.engines.core.kinds import no_rows
from shoal.engines.core.limits import is_aggregate
from shoal.engines.core.state import Held
from shoal.engines.files.frames import open_frame
from shoal.engines.recode.write import Recoded
from shoal.engines.table import Table
from shoal.model.plan import Plan
from shoal.model.roles import Column, Role, Schema
from shoal.steps.sql import exp

MADE_UP_ROWS, MADE_UP_VALUES = 1_000, 25
_DAY = dt.datetime(2000, 1, 1)
_MADE_UP: dict[str, Callable[[int], Any]] = {
    "integer": lambda i: i,
    "float": float,
    "decimal": lambda i: decimal.Decimal(i),
    "boolean": lambda i: i % 2 == 1,
    "date": lambda i: (_DAY + dt.timedelta(days=i)).date(),
    "timestamp": lambda i: _DAY + dt.timedelta(hours=i),
    "time": lambda i: dt.time(i % 24),
    "binary": lambda i: b"v%d" % i,
    "": lambda i: f"v{i}",
}


def _note_statements(name: str) -> Any:
    """A method of a table: the statements are noted, and made-up rows give the answer."""

    def ask(self: PreviewTable, *arguments: Any, **options: Any) -> Any:
        getattr(super(PreviewTable, self), name)(*arguments, **options)
        return getattr(self._stand_in(), name)(*arguments, **options)

    return ask


class PreviewTable(Table):
    """What a table would be asked, in ``recorder``."""

    recorder: Recorder
    number: int

    @classmethod
    def watched(cls, table: Table, statements: list[Statement], number: int = 0) -> PreviewTable:
        """``table`` under watch: its connection sends nothing about tables from now on, and ``statements`` gets what it would.

        Rows of tables with different numbers are different ones.
        """
        recorder = Recorder(statements)
        recorder.watch(table._engine)
        return cls._over(table, recorder, number)

    @classmethod
    def _over(cls, table: Table, recorder: Recorder, number: int) -> PreviewTable:
        copy = cls(table._engine, table._relation, table._schema, name=table.name)
        copy.recorder, copy.number = recorder, number
        return copy

    def _changed(self, *, relation: Relation | None = None, schema: Schema | None = None) -> Table:
        return self._over(super()._changed(relation=relation, schema=schema), self.recorder, self.number)

    def for_one_run(self) -> Table:
        return self

    def n_rows(self) -> int:
        super().n_rows()
        return MADE_UP_ROWS

    def most_rows(self) -> int:
        return self.n_rows()

    count = _note_statements("count")
    count_many = _note_statements("count_many")
    values_of = _note_statements("values_of")
    numbers = _note_statements("numbers")
    distinct = _note_statements("distinct")
    first_rows = _note_statements("first_rows")

    def scan(self, columns: Sequence[str] | None = None, *, batch_size: int = BATCH_ROWS) -> Iterator[pa.RecordBatch]:
        list(super().scan(columns, batch_size=batch_size))
        return self._stand_in().scan(columns, batch_size=batch_size)

    def require(self, held: Held) -> None:
        """Made-up rows do not change."""

    def recode(self, plan: Plan, out: str | Path, **more: Any) -> Recoded:
        """Notes the statements; writes made-up rows where a file is asked for."""
        self.note_recode(plan, out, **more)
        if isinstance(out, str) and "::" in out:
            return Recoded(MADE_UP_ROWS, MADE_UP_ROWS, 0)
        return self._stand_in().recode(plan, out, **more)

    def note_recode(self, plan: Plan, out: str | Path, **more: Any) -> None:
        """The statements of applying a plan."""
        with scratch() as folder:
            place = out if isinstance(out, str) and "::" in out else folder / Path(out).name
            super().recode(plan, place, **{n: v for n, v in more.items() if n != "progress"})

    def _stand_in(self) -> Table:
        rows = pa.table({c.name: _values(self._schema, c.name, c.kind, self.number) for c in self._schema.columns})
        engine, relation = open_frame(rows, {})
        return Table(engine, relation, self._schema, name=self.name)


def _values(schema: Schema, name: str, kind: str, number: int) -> list[Any]:
    make, role, rows = _MADE_UP.get(kind, _MADE_UP[""]), schema.roles.get(name), range(MADE_UP_ROWS)
    if name == schema.weight:
        return [make(1) for _ in rows]
    if name == schema.unit or role not in (Role.QUASI, Role.SENSITIVE, Role.INSENSITIVE):
        return [make(i + number * MADE_UP_ROWS) for i in rows]
    return [make((i if role is Role.QUASI else i // MADE_UP_VALUES) % MADE_UP_VALUES) for i in rows]


Returns = Literal["nothing", "aggregates", "rows"]
_CATALOG = "pg_catalog."
_TYPES = {
    "integer": pa.int64(), "float": pa.float64(), "decimal": pa.decimal128(38, 0), "boolean": pa.bool_(), "date": pa.date32(),
    "timestamp": pa.timestamp("us"), "time": pa.time64("us"), "binary": pa.binary(),
}  # fmt: skip


@dataclass(frozen=True)
class Statement:
    """A statement that would be sent, and what would come back: nothing, numbers (classes with their sizes), or rows."""

    sql: str
    returns: Returns


@dataclass
class Recorder:
    """What an engine would have sent."""

    statements: list[Statement] = field(default_factory=list)

    def watch(self, engine: Engine) -> None:
        """From now on the engine sends nothing about its tables."""

        def streamed(query: exp.Expr, **_: object) -> Iterator[Any]:
            self._note(engine.render(query), "aggregates" if is_aggregate(query) else "rows")
            yield from _made_up(query).to_batches() or [no_rows(_made_up(query).schema)]

        def created(name: str, query: exp.Expr) -> None:
            self._note(engine.render(exp.Create(this=exp.table_(name, quoted=True), kind="TABLE", expression=query)), "nothing")

        def loaded(name: str, batches: Iterator[pa.RecordBatch], columns: Sequence[Column]) -> None:
            next(batches)
            self._note(f"CREATE TABLE {engine.render(exp.table_(name, quoted=True))} …, filled row by row", "nothing")

        def parted(query: exp.Expr, names: Sequence[str], *_: object) -> str:
            self._note(f"{engine.render(query)} …, written as Parquet files by {engine.name}", "nothing")
            return ""

        replaced: dict[str, Callable[..., Any]] = {
            "stream": streamed,
            "fetch": lambda query: pa.Table.from_batches(list(streamed(query))),
            "create_table": created,
            "load_table": loaded,
            "write_parts": parted,
            "decode": lambda values, column: pa.nulls(len(values), _TYPES.get(column.kind, pa.string())),
        }
        send = getattr(engine, "_run", None)
        if send is not None:
            replaced["_run"] = lambda sql, parameters=(): self._sent(send, sql, parameters)
        for name, function in replaced.items():
            setattr(engine, name, function)

    def _sent(self, send: Callable[..., Any], sql: str, parameters: Sequence[Any]) -> Any:
        """A text that an engine sends by itself: a transaction, a setting; a question to the catalog is asked."""
        if _CATALOG in sql:
            return send(sql, parameters)
        self._note(sql, "aggregates" if sql.startswith("SELECT") else "nothing")
        return pa.table({"n": [0]})

    def _note(self, sql: str, returns: Returns) -> None:
        self.statements.append(Statement(sql, returns))


def _made_up(query: exp.Expr) -> Any:
    """No rows; of an aggregate one group of one, or nothing where it looks for what must not be there."""
    names = [e.alias_or_name for e in query.expressions]
    if is_aggregate(query):
        return pa.table({n: pa.array([0 if query.args.get("where") else 1], pa.int64()) for n in names})
    return pa.table({n: pa.nulls(0) for n in names})
