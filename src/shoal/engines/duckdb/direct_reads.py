"""Queries over a file that can be read without the database.

Where a query only chooses columns, the database is not asked at all; where it does more, the file's table is replaced by a stream
of the columns that the query uses. Both see the rows in the order of the file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa

from shoal.engines.core.kinds import normalize
from shoal.steps.sqlglot import exp


class Source(Protocol):
    """A file that gives columns as Arrow batches."""

    @property
    def schema(self) -> Any:
        """Names and Arrow types of its columns."""
        ...

    def batches(self, names: Sequence[str]) -> Iterator[Any]:
        """The named columns from the beginning, in the order of the file; at least one batch."""
        ...


@dataclass(frozen=True)
class Choice:
    """Columns of a source under new names; floats of ``cleaned`` ones without NaN and minus zero."""

    source: Source
    columns: Mapping[str, tuple[str, bool]]

    def batches(self, most: int) -> Iterator[Any]:
        """RecordBatches of at most so many rows."""
        names = list(dict.fromkeys(name for name, _ in self.columns.values()))
        for batch in self.source.batches(names):
            found = [(batch.column(names.index(name)), clean) for name, clean in self.columns.values()]
            arrays = [normalize(values, "float") if clean else values for values, clean in found]
            made = pa.RecordBatch.from_arrays(arrays, names=list(self.columns))
            for start in range(0, max(1, made.num_rows), most):
                yield made.slice(start, most)


class Stream:
    """Columns of a source, read anew each time the database asks; ``error`` is what went wrong at the source."""

    def __init__(self, source: Source, names: Sequence[str]) -> None:
        self._source, self._names = source, list(names)
        self._schema = pa.schema([source.schema.field(n) for n in names])
        self.error: BaseException | None = None

    def __arrow_c_schema__(self) -> Any:
        return self._schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return pa.RecordBatchReader.from_batches(self._schema, self._batches()).__arrow_c_stream__(requested_schema)

    def _batches(self) -> Iterator[Any]:
        try:
            yield from self._source.batches(self._names)
        except GeneratorExit:
            raise
        except BaseException as error:  # the database would hide it
            self.error = error
            raise


def choice(query: exp.Expr, sources: Mapping[str, Source], clean: Callable[[exp.Expr], exp.Expr]) -> Choice | None:
    """What a query chooses of a source; None where it does more than that."""
    found = _inner(query)
    if found is None:
        return None
    alias, inside, terms = found
    if isinstance(inside, exp.Table):
        source = sources.get(inside.name)
        known = {n: (n, False) for n in source.schema.names} if source is not None else {}
    else:
        below = choice(inside, sources, clean)
        source, known = (None, {}) if below is None else (below.source, dict(below.columns))
    chosen: dict[str, tuple[str, bool]] = {}
    for name, value in terms:
        used = list(value.find_all(exp.Column))
        if len(used) < 1 or used[0].table != alias or used[0].name not in known or name in chosen:
            return None
        column, cleaned = known[used[0].name]
        if value != used[0]:
            if value != clean(used[0].copy()):
                return None
            cleaned = True
        chosen[name] = (column, cleaned)
    return Choice(source, chosen) if source is not None and chosen else None


def _inner(query: exp.Expr) -> tuple[str, exp.Expr, list[tuple[str, exp.Expr]]] | None:
    """Alias and source of a SELECT without anything but columns, and its columns by their names."""
    if not isinstance(query, exp.Select) or {k for k, v in query.args.items() if v} != {"expressions", "from_"}:
        return None
    source = query.args["from_"].this
    if {k for k, v in source.args.items() if v} != {"this", "alias"} or not isinstance(source, exp.Table | exp.Subquery):
        return None
    inside = source if isinstance(source, exp.Table) else source.this
    return source.alias, inside, [(e.alias_or_name, e.unalias()) for e in query.expressions]


def streamed(
    query: exp.Expr, sources: Mapping[str, Source], fresh: Callable[[str], str]
) -> tuple[exp.Expr, dict[str, Stream]] | None:
    """The query over streams of the columns that it uses; None where it reads no such source, or only some of its rows."""
    if not any(t.name in sources for t in query.find_all(exp.Table)) or query.find(exp.Limit, exp.With, exp.TableSample):
        return None
    query, streams = query.copy(), {}
    for table in [t for t in query.find_all(exp.Table) if t.name in sources]:
        used = _used(table)
        if not used or not set(used) <= set(sources[table.name].schema.names):
            return None
        name = fresh("stream")
        streams[name] = Stream(sources[table.name], used)
        table.set("this", exp.to_identifier(name, quoted=True))
    return query, streams


def _used(table: exp.Table) -> list[str]:
    """The columns that a query uses of a table in it; none where that cannot be told."""
    select = table.parent_select
    if select is None or not table.alias or any(s.find_ancestor(exp.Count) is None for s in select.find_all(exp.Star)):
        return []
    here = [c for c in select.find_all(exp.Column) if c.parent_select is select]
    if not all(c.table for c in here):
        return []
    return list(dict.fromkeys(c.name for c in here if c.table == table.alias))
