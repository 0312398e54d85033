"""Steps that SQL cannot express: rows go through Arrow batches into a private DuckDB table, then on as any other table.

Where a step depends on a row's position, rows come in the order of their content, so that the same table and seed give the same
noise and the same sample on every engine. Rows are chosen first, then changed. Whole-column steps read only their columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from shoal.engines.core.base import Engine, Relation
from shoal.engines.core.kinds import columns_of, kind_of
from shoal.engines.duckdb.engine import DuckDB
from shoal.engines.recode.codes import beside_codes, column_after, with_codes, without_codes
from shoal.engines.recode.sql import Published, published, untouched
from shoal.errors import InternalError
from shoal.kernels.text import same_cells
from shoal.model.plan import SUPPRESSED, ColumnStep, Plan, RowStep, Step, StreamStep
from shoal.model.roles import MOMENTS, NUMBERS, Column
from shoal.steps import ExpressionStep
from shoal.steps.sql import column
from shoal.steps.sqlglot import exp


def is_staged(step: Step) -> bool:
    """Whether a step needs batches rather than SQL."""
    return isinstance(step, (StreamStep, ColumnStep, RowStep))


class Staging:
    """The rows after all steps, in a private DuckDB table with the columns ``p… g… u`` of :mod:`shoal.engines.recode.sql`."""

    def __init__(self, names: Sequence[str], plan: Plan, needs: Sequence[str]) -> None:
        self.engine = DuckDB(stable_order=True)
        self.names = list(names)
        self.plan = plan
        self.needs = list(needs)
        self.table = "staged_0"
        self.left_out = 0
        self._count = 0

    def close(self) -> None:
        self.engine.close()

    # -- the walk ---------------------------------------------------------------------------------------------------

    def load(
        self,
        engine: Engine,
        relation: Relation,
        steps: dict[str, ExpressionStep],
        unit: str | None,
        class_map: Any,
        compared: Sequence[str],
    ) -> Published:
        """Read, carry out the staged steps in the order given, and describe the result."""
        staged = [s for s in self.plan.steps if is_staged(s)]
        touched = [n for n in dict.fromkeys(c for s in staged for c in s.columns) if n in self.names]
        originals = list(dict.fromkeys([*self.needs, *touched]))
        ordered = any(getattr(s, "by_position", True) for s in staged) or not (self.plan.shuffle or engine.stable_order)
        with ExitStack() as stack:
            source = published(engine, relation, self.names, steps, unit, class_map, stack, originals, ordered, compared)
            self.raw = untouched(relation, self.names, [*steps, *originals, *compared])
            self.columns = list(source.columns)
            self.flagged = sorted({*source.flagged, *(self.names.index(n) for n in touched)})
            self.originals = originals
            query = source.query.order_by(*source.order) if ordered else source.query
            batches = self._described(engine.stream(query), engine, relation, source)
            rest = self._store(batches, staged)
        for group in rest:
            self._again(group)
        schema = self.engine.run_table(f"FROM {self.table} LIMIT 0", "staging").schema
        after = [self._after(k.kind, c, staged) for k, c in self._kinds(schema)]
        picked = [f"p{i}" for i in range(len(after))] + [f"g{i}" for i in self.flagged] + (["u"] if unit is not None else [])
        final = exp.select(*[column(p, "z") for p in picked]).from_(
            exp.alias_(exp.table_(self.table, quoted=True), "z", table=True)
        )
        return Published(final, tuple(after), tuple(self.flagged), unit is not None)

    def _kinds(self, schema: Any) -> Iterator[tuple[Column, Column]]:
        kinds = {c.name: c for c in columns_of(schema)}
        for i, known in enumerate(self.columns):
            yield kinds[f"p{i}"], known

    def _after(self, kind: str, column: Column, staged: Sequence[Step]) -> Column:
        """What is known of a column after the steps that touched it."""
        if column.name in self.raw:
            return column
        for step in staged:
            if column.name in step.columns:
                column = column_after(step, column, kind)
                if step.publishes == "groups":
                    column = replace(column, order=self._group_order(column.name))
        return column if column.kind == kind else replace(column, kind=kind)

    def _group_order(self, name: str) -> tuple[str, ...]:
        """The groups in the order of their smallest value, where the values were numbers or moments; the rest comes last."""
        p, o = f"p{self.names.index(name)}", f"o{self.originals.index(name)}"
        table = self.engine.run_table(f"SELECT {p} AS p, min({o}) AS o FROM {self.table} GROUP BY 1 ORDER BY 2, 1", "staging")  # noqa: S608
        if kind_of(table.schema.field("o").type) not in (*NUMBERS, *MOMENTS):
            return ()
        return tuple(t for t in table["p"].to_pylist() if t is not None and t != SUPPRESSED)

    def _described(self, batches: Iterator[Any], engine: Engine, relation: Relation, source: Published) -> Iterator[Any]:
        """Batches as tables in the one type of each kind, with all flags there."""
        known = {c.name: c for c in relation.columns}
        for batch in batches:
            data: dict[str, Any] = {}
            for i, c in enumerate(source.columns):
                values = batch.column(f"p{i}")
                data[f"p{i}"] = values if c.name in self.raw else engine.decode(values, c)
            for i, name in enumerate(self.originals):
                data[f"o{i}"] = engine.decode(batch.column(f"o{i}"), known[name])
            for i in self.flagged:
                have = i in source.flagged
                data[f"g{i}"] = batch.column(f"g{i}").cast(pa.int8()) if have else pa.array([0] * batch.num_rows, pa.int8())
            if source.has_unit:
                data["u"] = batch.column("u")
            yield pa.table(data)

    def _store(self, tables: Iterator[Any], staged: list[Step]) -> list[list[Step]]:
        """Write the chosen rows after the first group of stream steps; give back the groups that remain."""
        groups: list[list[Step]] = []
        tables = self._chosen(tables, [s for s in staged if isinstance(s, RowStep)])
        for step in [s for s in staged if not isinstance(s, RowStep)]:
            stream = isinstance(step, StreamStep)
            if stream and groups and isinstance(groups[-1][0], StreamStep):
                groups[-1].append(step)
            else:
                groups.append([step])
        first = groups.pop(0) if groups and isinstance(groups[0][0], StreamStep) else []
        self._write(self._streamed(tables, first))
        return groups

    def _chosen(self, tables: Iterator[Any], steps: Sequence[RowStep]) -> Iterator[Any]:
        """The rows that every row step lets stay; the others are counted in ``left_out``."""
        running = [(s, s.start(self._seed(s))) for s in steps]
        seen = [0] * len(steps)
        for table in tables:
            before = table.num_rows
            for i, (step, stays) in enumerate(running):
                view = self._view(table, step) if step.needs else table
                seen[i], here = seen[i] + table.num_rows, seen[i]
                table = table.filter(pa.array(stays(view, here)))
            self.left_out += before - table.num_rows
            yield table

    def _streamed(self, tables: Iterator[Any], steps: Sequence[Step]) -> Iterator[Any]:
        running = [(s, s.start(self._seed(s))) for s in steps if isinstance(s, StreamStep)]
        seen = 0
        for table in tables:
            rows = table.num_rows
            for step, function in running:
                view, declared = self._view(table, step), self._declared(step)
                table = self._replace(table, step, with_codes(function(without_codes(view, declared), seen), view, declared))
            seen += rows
            yield table

    def _seed(self, step: Step) -> int:
        """The seed, for steps that say that they draw; the others never see it."""
        return self.plan.seed if step.draws else 0

    def _view(self, table: Any, step: Any) -> Any:
        """The columns a step replaces (as they are now) and those it needs (as they were), under their own names."""
        data = {
            n: table[f"p{self.names.index(n)}"] if n in self.names else table[f"o{self.originals.index(n)}"] for n in step.columns
        }
        data |= {n: table[f"o{self.originals.index(n)}"] for n in step.needs if n not in data}
        return pa.table(data)

    def _declared(self, step: Step) -> dict[str, tuple[object, ...]]:
        """The codes declared missing that the step must not see, by column."""
        known = {c.name: c for c in self.columns}
        if not step.codes_apart:
            return {}
        return {n: known[n].user_missing for n in step.columns if n in known and known[n].user_missing}

    def _replace(self, table: Any, step: Step, result: Any) -> Any:
        """``table`` with the columns of a step's ``result``, and where they differ from the original."""
        if result.num_rows != table.num_rows:
            raise InternalError(f"step '{step.kind}' returned {result.num_rows} rows for {table.num_rows}.")
        for name in step.columns:
            if name not in self.names:
                continue
            i = self.names.index(name)
            values = result[name]
            if values.type == pa.null():
                values = values.cast(pa.string())
            table = table.set_column(table.column_names.index(f"p{i}"), f"p{i}", values)
            same = same_cells(table[f"o{self.originals.index(name)}"], values)
            flags = pc.if_else(same, pa.scalar(0, pa.int8()), pa.scalar(1, pa.int8()))
            table = table.set_column(table.column_names.index(f"g{i}"), f"g{i}", flags)
        return table

    def _again(self, group: Sequence[Step]) -> None:
        """A later group: stream steps once more over the staged rows, or one whole-column step."""
        old = self.table
        if isinstance(group[0], StreamStep):
            batches = self.engine.stream_sql(f"FROM {old}")
            self._write(self._streamed((pa.Table.from_batches([b]) for b in batches), group))
        else:
            step: Any = group[0]
            used = [f"p{self.names.index(n)}" for n in step.columns if n in self.names]
            used += [f"g{p[1:]}" for p in used]
            used += [f"o{self.originals.index(n)}" for n in dict.fromkeys([*step.columns, *step.needs])]
            table = self.engine.run_table(f"SELECT {', '.join(used)} FROM {old}", "staging")  # noqa: S608
            made = beside_codes(step, self._view(table, step), self._seed(step), self._declared(step))
            changed = self._replace(table, step, made)
            new = [n for n in changed.column_names if n[0] in "pg"]
            self._positional(old, changed.select(new))
        self.engine.run(f"DROP TABLE {old}")

    def _write(self, tables: Iterator[Any]) -> None:
        self._count += 1
        self.table = f"staged_{self._count}"
        self.engine.load_table(self.table, _batches(tables), ())

    def _positional(self, old: str, new: Any) -> None:
        self._count += 1
        self.table = f"staged_{self._count}"
        with self.engine.mapping(new) as right:
            kept = self.engine.run_table(f"FROM {old} LIMIT 0", "staging").column_names
            chosen = ", ".join(f"{'r' if n in new.column_names else 'l'}.{n} AS {n}" for n in kept)
            body = f"SELECT {chosen} FROM {old} AS l POSITIONAL JOIN {self.engine.render(right)} AS r"  # noqa: S608
            self.engine.run(f"CREATE TABLE {self.table} AS {body}")


def _batches(tables: Iterator[Any]) -> Iterator[Any]:
    """Record batches of one schema: the first table's."""
    schema = None
    for table in tables:
        schema = schema or table.schema
        yield from table.cast(schema).combine_chunks().to_batches() or [pa.RecordBatch.from_pylist([], schema=schema)]
