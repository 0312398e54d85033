"""Statements written down instead of sent: an engine that is watched runs nothing but questions to its catalog.

Answers are made up: no rows, or one group of one. So whoever works with such an engine must take what it counts from elsewhere
(:class:`shoal.engines.previewed.PreviewTable`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import pyarrow as pa

from shoal.engines.core.base import Engine
from shoal.engines.core.limits import is_aggregate
from shoal.model.roles import Column
from shoal.steps.sql import exp

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
            yield from _made_up(query).to_batches() or [pa.RecordBatch.from_pylist([], schema=_made_up(query).schema)]

        def created(name: str, query: exp.Expr) -> None:
            self._note(engine.render(exp.Create(this=exp.table_(name, quoted=True), kind="TABLE", expression=query)), "nothing")

        def loaded(name: str, batches: Iterator[Any], columns: Sequence[Column]) -> None:
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
