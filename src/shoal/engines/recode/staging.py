"""Steps that SQL cannot express: rows go through Arrow batches, one step after the other, and are never in memory all at once.

Random steps draw by a number of the row's content, so that the same table and seed give the same noise and the same sample on
every engine and in any order. Steps on whole columns take their columns in the order of a hash of the rows' content; it is never
published, as it depends on the original values and would tell about them. Rows are chosen first, then changed. They wait on disk
as they came, while a whole-column step holds the columns that it reads.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.engines.core.base import Engine, Relation
from shoal.engines.core.kinds import columns_of
from shoal.engines.core.memory import bytes_of_columns, left_for_data, refused
from shoal.engines.core.stored_types import one_type, restored
from shoal.engines.recode.batch_steps import Later, beside_codes, column_after, with_codes, without_codes
from shoal.engines.recode.spill import BEFORE, HASH, HELD, Held, as_they_come, hashed, numbers_of
from shoal.engines.recode.sql import Published, published, untouched
from shoal.errors import InternalError
from shoal.kernels.arrow import from_numpy, kind_of, to_numpy
from shoal.kernels.order import sorted_order
from shoal.kernels.text import canonical_text, same_cells
from shoal.model.plan import SUPPRESSED, ColumnStep, Plan, RowStep, Step, StreamStep
from shoal.model.roles import MOMENTS, NUMBERS, Column
from shoal.model.seed import after
from shoal.steps import ExpressionStep


def is_staged(step: Step) -> bool:
    """Whether a step needs batches rather than SQL."""
    return isinstance(step, (StreamStep, ColumnStep, RowStep))


class Staging:
    """The rows after all steps, as tables with the columns ``p… g… u`` of :mod:`shoal.engines.recode.sql`.

    ``rows_read`` and ``left_out`` are right when the last table was taken; ``held`` bytes of rows are kept in memory.
    ``unordered``: the source has no order of its own, so the rows must be shuffled before they are published.
    """

    def __init__(self, names: Sequence[str], plan: Plan, folder: Path, held: int = HELD, memory: int | None = None) -> None:
        self.names = list(names)
        self.plan = plan
        self.folder, self.held, self.memory = folder, held, memory
        self.steps = [replace(s) for s in plan.steps if is_staged(s)]  # a step that stands there twice is two steps
        self._seeds = _own_seeds(plan, self.steps)
        self.rows_read = self.left_out = 0
        self.columns: tuple[Column, ...] = ()
        self.flagged: list[int] = []
        self.looks: dict[int, Any] = {}
        self.unordered = False

    # -- the walk ---------------------------------------------------------------------------------------------------

    def load(
        self,
        engine: Engine,
        relation: Relation,
        steps: dict[str, ExpressionStep],
        unit: str | None,
        class_map: pa.Table | None,
        stack: ExitStack,
        compared: Sequence[str],
    ) -> Iterator[pa.Table]:
        """The rows after the staged steps, in the order given; :attr:`columns` and :attr:`flagged` say what they hold."""
        touched = [n for n in dict.fromkeys(c for s in self.steps for c in s.columns) if n in self.names]
        needs = [n for s in self.steps for n in s.needs]  # type: ignore[attr-defined]
        needs += [c for s in self.steps for c in s.columns if c not in self.names]
        self.originals = list(dict.fromkeys([*needs, *touched]))
        ordered = any(isinstance(s, ColumnStep) and s.by_place for s in self.steps)
        drawn = any(s.by_row for s in self.steps if isinstance(s, StreamStep | RowStep))
        self.unordered = not engine.stable_order
        mapped = class_map.column_names if class_map is not None else []
        changed = [c.name for c in relation.columns if c.name not in self.names or c.name in steps or c.name in mapped]
        originals = [*self.originals, *(n for n in changed if (ordered or drawn) and n not in self.originals)]
        source = published(engine, relation, self.names, steps, unit, class_map, stack, originals, compared)
        self.raw = untouched(relation, self.names, [*steps, *originals, *compared])
        self.known = source.columns
        self.flagged = sorted({*source.flagged, *(self.names.index(n) for n in touched)})
        tables = self._described(engine.stream(source.query), engine, relation, source, originals)
        if ordered or drawn:
            beside = {c for s in self.plan.steps if not getattr(s, "in_order", True) for c in s.columns}
            order = [self._place(c.name, originals) for c in relation.columns if c.name not in beside]
            tables = hashed(self._looked_at(tables), order, len(originals) - len(self.originals))
            tables = as_they_come(tables, self.folder, self.held) if drawn else tables
        tables = self._chosen(tables, [s for s in self.steps if isinstance(s, RowStep)])
        for i, group in enumerate(self._groups()):
            one = group[0]
            tables = self._whole(tables, one, i) if isinstance(one, ColumnStep) else self._streamed(tables, group)
        return self._finished(tables)

    def _place(self, name: str, originals: Sequence[str]) -> str:
        """Where the original values of a column stand."""
        return f"o{originals.index(name)}" if name in originals else f"p{self.names.index(name)}"

    def _groups(self) -> list[list[Step]]:
        """Steps on batches that follow each other are applied together; a whole-column step stands alone."""
        groups: list[list[Step]] = []
        for step in [s for s in self.steps if not isinstance(s, RowStep)]:
            if groups and isinstance(step, StreamStep) and isinstance(groups[-1][0], StreamStep):
                groups[-1].append(step)
            else:
                groups.append([step])
        return groups

    def _described(
        self, batches: Iterator[pa.RecordBatch], engine: Engine, relation: Relation, source: Published, originals: Sequence[str]
    ) -> Iterator[pa.Table]:
        """Batches as tables of one schema in the one type of each kind, with all flags there."""
        schema = None
        for batch in batches:
            self.rows_read += batch.num_rows
            data: dict[str, Any] = {}
            for i, c in enumerate(source.columns):
                values = batch.column(f"p{i}")
                data[f"p{i}"] = restored(values, c) if c.name in self.raw else one_type(engine.decode(values, c), c)
            for i, name in enumerate(originals):
                data[f"o{i}"] = one_type(engine.decode(batch.column(f"o{i}"), relation.column(name)), relation.column(name))
            for i in self.flagged:
                have = i in source.flagged
                data[f"g{i}"] = batch.column(f"g{i}").cast(pa.int8()) if have else from_numpy(np.zeros(batch.num_rows, np.int8))
            if source.has_unit:
                data["u"] = batch.column("u")
            table = pa.table(data)
            schema = schema or table.schema
            yield table.cast(schema)

    # -- steps ------------------------------------------------------------------------------------------------------

    def _chosen(self, tables: Iterator[pa.Table], steps: Sequence[RowStep]) -> Iterator[pa.Table]:
        """The rows that every row step lets stay; the others are counted in ``left_out``."""
        running = [(s, s.start(self._seed(s))) for s in steps]
        for table in tables:
            before = table.num_rows
            for step, stays in running:
                view = self._view(table, step) if step.needs else table
                table = table.filter(pa.array(stays(view, numbers_of(table))))
            self.left_out += before - table.num_rows
            yield table

    def _streamed(self, tables: Iterator[pa.Table], steps: Sequence[Step]) -> Iterator[pa.Table]:
        running: list[Any] = []
        schema = None
        for table in tables:
            running = running or [(s, self._started(s)) for s in steps]
            rows = numbers_of(table) if any(s.by_row for s, _ in running) else None
            for step, function in running:
                view, declared = self._view(table, step), self._declared(step)
                table = self._replace(table, step, with_codes(function(without_codes(view, declared), rows), view, declared))
            schema = schema or table.schema
            yield table.cast(schema)

    def _whole(self, tables: Iterator[pa.Table], step: Any, number: int) -> Iterator[pa.Table]:
        """A step on whole columns, which are in memory while it runs; the rows wait on disk."""
        rows = Held(self.folder, f"rows-{number}", tables)
        used = list(self._seen(step).values())
        needed = bytes_of_columns(rows.rows, len(used))
        if self.memory is not None and needed > left_for_data(self.memory):
            what = f"step '{step.kind}' on {rows.rows:,} records of {len(used)} columns"
            raise refused(what, needed, self.memory, "Raise --memory, or take a step that does not hold whole columns.")
        columns = rows.columns([*used, HASH] if step.by_place else used)
        if step.by_place:  # the order of the rows must not matter
            order = sorted_order(to_numpy(columns[HASH].combine_chunks()))
            columns = columns.take(from_numpy(order))
        stepped = beside_codes(step, self._view(columns, step), self._seed(step), self._declared(step)).select(list(step.columns))
        if step.by_place:
            place = np.empty(len(order), np.int64)
            place[order] = np.arange(len(order))
            stepped = stepped.take(from_numpy(place))
        first = 0
        for batch in rows.tables():
            yield self._replace(batch, step, stepped.slice(first, batch.num_rows))
            first += batch.num_rows
        rows.remove()

    def _started(self, step: Any) -> Any:
        """Begins when the first row comes: then a step that looks at all of them first has seen the last."""
        look = self.looks.get(id(step))
        return (step if look is None else look.step()).start(self._seed(step))

    def _looked_at(self, tables: Iterator[pa.Table]) -> Iterator[pa.Table]:
        """The tables as they come, shown to the steps that look at their column first; codes declared missing are hidden."""
        looks = {id(s): (s, s.look()) for s in self.steps if isinstance(s, StreamStep)}
        self.looks = {key: look for key, (_, look) in looks.items() if look is not None}
        for table in tables:
            for key, look in self.looks.items():
                step = looks[key][0]
                look.add(without_codes(self._originals(table, step), self._declared(step)))
            yield table

    def _seed(self, step: Step) -> int:
        """The seed, for steps that say that they draw; the others never see it."""
        return self._seeds[id(step)] if step.draws else 0

    def _view(self, table: pa.Table, step: Any) -> pa.Table:
        """The columns a step replaces (as they are now) and those it needs (as they were), under their own names."""
        return pa.table({n: table[place] for n, place in self._seen(step).items()})

    def _seen(self, step: Any) -> dict[str, str]:
        """Where the columns stand that a step sees."""
        shown = {n: f"p{self.names.index(n)}" if n in self.names else f"o{self.originals.index(n)}" for n in step.columns}
        return shown | {n: f"o{self.originals.index(n)}" for n in step.needs if n not in shown}

    def _originals(self, table: pa.Table, step: Step) -> pa.Table:
        """The columns that a step replaces, as they were."""
        return pa.table({n: table[f"o{self.originals.index(n)}"] for n in step.columns})

    def _declared(self, step: Step) -> dict[str, tuple[object, ...]]:
        """The codes declared missing that the step must not see, by column."""
        known = {c.name: c for c in self.known}
        if not step.codes_apart:
            return {}
        return {n: known[n].user_missing for n in step.columns if n in known and known[n].user_missing}

    def _replace(self, table: pa.Table, step: Step, result: pa.Table) -> pa.Table:
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

    # -- what came out ----------------------------------------------------------------------------------------------

    def _finished(self, tables: Iterator[pa.Table]) -> Iterator[pa.Table]:
        """The rows without the columns of the original; :attr:`columns` is known when this returns."""
        grouped = list(dict.fromkeys(s.column for s in self.steps if s.publishes == "groups" and s.column in self.names))
        if grouped:
            orders = {n: Groups(f"p{self.names.index(n)}", f"o{self.originals.index(n)}") for n in grouped}
            rows = Held(self.folder, "rows", seen_by(tables, list(orders.values())))
            schema, tables = rows.schema, rows.tables()
        else:
            orders = {}
            first = next(tables)
            schema, tables = first.schema, chain([first], tables)
        kinds = {c.name: c.kind for c in columns_of(schema)}
        known = {n: g.in_order() for n, g in orders.items()}
        self.columns = tuple(self._after(kinds[f"p{i}"], c, known) for i, c in enumerate(self.known))
        wanted = [n for n in schema.names if n[0] != "o" and n not in (HASH, BEFORE)]
        return (t.select(wanted) for t in tables)

    def _after(self, kind: str, column: Column, orders: dict[str, tuple[str, ...]]) -> Column:
        """What is known of a column after the steps that touched it."""
        if column.name in self.raw:
            return column
        for step in self.steps:
            if column.name in step.columns:
                column = step.after(column) if isinstance(step, Later) else column_after(step, column, kind)
                if step.publishes == "groups":
                    column = replace(column, order=orders[column.name])
        wide = column.kind == "integer" and kind == "decimal"  # whole numbers beyond 2⁶³
        return column if column.kind == kind or wide else replace(column, kind=kind)


def _own_seeds(plan: Plan, staged: Sequence[Step]) -> dict[int, int]:
    """The plan's seed for each staged step; another one where steps on its columns come first: the same draws would undo them."""
    out: dict[int, int] = {}
    waiting, earlier = iter(staged), list[Step]()
    for step in plan.steps:
        if is_staged(step):
            out[id(next(waiting))] = after(plan.seed, [_spell(s) for s in earlier if {*s.columns} & {*step.columns}])
        earlier.append(step)
    return out


def _spell(step: Step) -> str:
    return json.dumps((step.step if isinstance(step, Later) else step).to_json(), sort_keys=True)


class Groups:
    """The smallest original value of each published group, of all tables that passed."""

    def __init__(self, group: str, original: str) -> None:
        self._names, self._found = (group, original), pa.table({})

    def add(self, table: pa.Table) -> None:
        group, original = self._names
        if kind_of(table.schema.field(original).type) not in (*NUMBERS, *MOMENTS):
            return
        here = pa.table({"p": canonical_text(table[group]), "o": table[original]})
        groups = pa.concat_tables([self._found, here]) if self._found.num_columns else here
        least = groups.group_by("p").aggregate([("o", "min")])
        self._found = pa.table({"p": least["p"], "o": least["o_min"]})

    def in_order(self) -> tuple[str, ...]:
        """The groups in the order of their smallest value, where the values were numbers or moments; the rest comes last."""
        if not self._found.num_columns:
            return ()
        ranked = self._found.sort_by([("o", "ascending"), ("p", "ascending")])["p"].to_pylist()
        return tuple(t for t in ranked if t is not None and t != SUPPRESSED)


def seen_by(tables: Iterator[pa.Table], groups: Sequence[Groups]) -> Iterator[pa.Table]:
    """The tables as they come, shown to the groups."""
    for table in tables:
        for group in groups:
            group.add(table)
        yield table
