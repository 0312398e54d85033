"""COUNT as SQL, for every dialect: queries are sqlglot expressions, names inside them are positions (``c0``, ``c1`` …).

The shape is always the same: ``s`` reads the columns and cleans floats, ``p`` sends them through their steps and makes them
comparable byte for byte, the outer query groups. Column and table names from outside appear only as quoted identifiers in ``s``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from sqlglot import exp

from shoal.engines.core.base import Engine, Relation, cast, column
from shoal.engines.recode.expressions import Shaped, aliased, shape
from shoal.errors import DataError, HierarchyGapError, MemoryBudgetError
from shoal.model.counts.classes import ClassCounts
from shoal.model.plan import Step
from shoal.model.roles import Column


@dataclass(frozen=True)
class CountRequest:
    """What COUNT is asked: columns, each perhaps through a step; sensitive columns; the person and weight columns."""

    columns: tuple[str, ...]
    through: Mapping[str, Step] = field(default_factory=dict)
    sensitive: tuple[str, ...] = ()
    unit: str | None = None
    weight: str | None = None
    memory_budget: int | None = None


def one_of(relation: Relation, name: str) -> Column:
    """The column of that name."""
    return next(c for c in relation.columns if c.name == name)


def cleaned(engine: Engine, relation: Relation, names: Sequence[str]) -> exp.Select:
    """``s``: the named columns as c0, c1 …; floats without NaN and negative zero."""
    terms = []
    for i, name in enumerate(names):
        value: exp.Expr = column(name, "t")
        if one_of(relation, name).kind == "float":
            value = engine.clean_float(value)
        terms.append(exp.alias_(value, f"c{i}", quoted=True))
    return exp.select(*(terms or [exp.alias_(exp.convert(1), "c0", quoted=True)])).from_(aliased(relation.sql, "t"))


def shaped_columns(
    engine: Engine, relation: Relation, names: Sequence[str], through: Mapping[str, Step], stack: ExitStack
) -> list[Shaped]:
    """Each column after its step, over ``s``."""
    return [
        shape(engine, one_of(relation, name), column(f"c{i}", "s"), through.get(name), f"m{i}", stack)
        for i, name in enumerate(names)
    ]


def shaped_from(query: exp.Select, inner: exp.Expr, shaped: Sequence[Shaped]) -> exp.Select:
    """FROM (inner) AS s and the joins of the value maps."""
    query = query.from_(aliased(exp.Subquery(this=inner), "s"))
    joins = [s.join.copy() for s in shaped if s.join is not None]
    query.set("joins", [*query.args.get("joins", []), *joins])
    return query


def check_gaps(engine: Engine, inner: exp.Select, shaped: Sequence[Shaped], names: Sequence[str]) -> None:
    """Stop where a value map does not cover the data, with the number of values and records."""
    for item, name in zip(shaped, names, strict=True):
        if item.gap is None or item.join is None:
            continue
        compared = item.join.args["on"].this  # what the map is asked for: text byte for byte
        counted = exp.select(
            exp.alias_(exp.Count(this=exp.Star()), "n", quoted=True),
            exp.alias_(exp.Count(this=exp.Distinct(expressions=[compared.copy()])), "v", quoted=True),
        )
        found = engine.fetch(shaped_from(counted, inner.copy(), [item]).where(item.gap.copy()))
        records, values = int(found["n"][0].as_py()), int(found["v"][0].as_py())
        if records:
            raise gap_error(name, values, records)


def gap_error(name: str, values: int, records: int) -> HierarchyGapError:
    """The error for values that a map does not cover."""
    return HierarchyGapError(
        f"the value map of '{name}' does not cover the data: {values} distinct value(s) in {records} record(s) are not its keys.",
        hint="Extend the hierarchy, or use on_gap='suppress' or on_gap='top'.",
        column=name,
    )


def people(unit: exp.Expr) -> exp.Expr:
    """Distinct people; rows without an id together count as one more person, the cautious side."""
    flag = exp.Case(
        ifs=[exp.If(this=exp.Is(this=unit.copy(), expression=exp.Null()), true=exp.convert(1))], default=exp.convert(0)
    )
    return exp.Add(this=exp.Count(this=exp.Distinct(expressions=[unit.copy()])), expression=exp.Max(this=flag))


def count_by_sql(engine: Engine, relation: Relation, request: CountRequest) -> ClassCounts:
    """COUNT through plain GROUP BY queries: the path for databases, and the check on every faster path."""
    with ExitStack() as stack:
        stack.enter_context(engine.snapshot())
        names = [*request.columns]
        extra = [n for n in (*request.sensitive, request.unit, request.weight) if n is not None]
        names += [n for n in dict.fromkeys(extra) if n not in names]
        inner = cleaned(engine, relation, names)
        shaped = shaped_columns(engine, relation, request.columns, request.through, stack)
        check_gaps(engine, inner, shaped, request.columns)
        parts = _Parts(engine, relation, names, inner, shaped, request)
        return parts.counts()


@dataclass(frozen=True)
class _Parts:
    engine: Engine
    relation: Relation
    names: list[str]
    inner: exp.Select
    shaped: list[Shaped]
    request: CountRequest

    def raw(self, name: str) -> exp.Expr:
        """A column as it is in the table, comparable byte for byte."""
        return self.engine.key(column(f"c{self.names.index(name)}", "s"), one_of(self.relation, name))

    def grouped(self, more: Mapping[str, exp.Expr], groups: Sequence[str], numbers: Sequence[exp.Expr]) -> exp.Select:
        """SELECT groups, numbers FROM p GROUP BY groups; ``more`` are further columns of ``p``."""
        keys = {f"k{i}": self.engine.key(item.value.copy(), item.column) for i, item in enumerate(self.shaped)}
        terms = [exp.alias_(v.copy(), k, quoted=True) for k, v in {**keys, **more}.items()]
        terms = terms or [exp.alias_(exp.convert(1), "one", quoted=True)]
        inside = shaped_from(exp.select(*terms), self.inner.copy(), self.shaped)
        query = exp.select(*[column(g, "p") for g in groups], *numbers).from_(aliased(exp.Subquery(this=inside), "p"))
        return query.group_by(*[column(g, "p") for g in groups]) if groups else query

    def fetch(self, query: exp.Select) -> Any:
        import pyarrow as pa

        budget, batches, size = self.request.memory_budget, [], 0
        for batch in self.engine.stream(query):
            batches.append(batch)
            size += batch.nbytes
            if budget is not None and size > budget:
                raise over_budget(size, budget, self.request.columns)
        return pa.Table.from_batches(batches)

    def counts(self) -> ClassCounts:
        from shoal.engines.core.assemble import Assembled, assemble

        request = self.request
        keys = [f"k{i}" for i in range(len(self.shaped))]
        columns = [s.column for s in self.shaped]
        numbers = [exp.alias_(exp.Count(this=exp.Star()), "n", quoted=True)]
        more: dict[str, exp.Expr] = {}
        if request.unit is not None:
            more["u"] = self.raw(request.unit)
            numbers.append(exp.alias_(people(column("u", "p")), "people", quoted=True))
        if request.weight is not None:
            more["w"] = cast(column(f"c{self.names.index(request.weight)}", "s"), "DOUBLE")
            numbers.append(exp.alias_(exp.Sum(this=column("w", "p")), "weight", quoted=True))
            numbers.append(exp.alias_(exp.Count(this=column("w", "p")), "weighted", quoted=True))
        table = self.fetch(self.grouped(more, keys, numbers))
        decoded = [self.engine.decode(table[k], c) for k, c in zip(keys, columns, strict=True)]
        inside: dict[str, Assembled] = {}
        for name in request.sensitive:
            inside[name] = self.sensitive(name, keys, columns)
        n_people = self.all_people() if request.unit is not None else None
        if request.weight is not None:
            check_weights(table, request.weight)
        return assemble(request, columns, decoded, table, inside, n_people)

    def sensitive(self, name: str, keys: list[str], columns: list[Column]) -> Any:
        from shoal.engines.core.assemble import Assembled

        more = {"v": self.raw(name)}
        size: exp.Expr = exp.Count(this=exp.Star())
        if self.request.unit is not None:
            more["u"] = self.raw(self.request.unit)
            size = people(column("u", "p"))
        table = self.fetch(self.grouped(more, [*keys, "v"], [exp.alias_(size, "n", quoted=True)]))
        decoded = [self.engine.decode(table[k], c) for k, c in zip(keys, columns, strict=True)]
        return Assembled(decoded, self.engine.decode(table["v"], one_of(self.relation, name)), table["n"])

    def all_people(self) -> int:
        assert self.request.unit is not None
        query = self.grouped({"u": self.raw(self.request.unit)}, [], [exp.alias_(people(column("u", "p")), "n", quoted=True)])
        found = self.engine.fetch(query)["n"][0].as_py()
        return int(found or 0)


def check_weights(table: Any, name: str) -> None:
    """Every row needs a weight."""
    import pyarrow.compute as pc

    lacking = int(pc.sum(pc.subtract(table["n"].cast("int64"), table["weighted"].cast("int64"))).as_py() or 0)
    if lacking:
        raise DataError(
            f"weight column '{name}' is missing in {lacking} record{'s' if lacking != 1 else ''}.",
            hint="Give every record a weight, or count without weights.",
            column=name,
        )


def over_budget(size: int, budget: int, columns: Sequence[str]) -> MemoryBudgetError:
    """The error when classes take more memory than allowed."""
    return MemoryBudgetError(
        f"classes of {len(columns)} columns need at least {size / 2**20:.1f} MiB; the memory budget is {budget / 2**20:.1f} MiB.",
        hint=f"Count fewer or coarser columns (through=…) of: {', '.join(columns)}; or raise memory_budget.",
        estimate=size,
        budget=budget,
    )
