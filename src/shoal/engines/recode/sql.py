"""RECODE as SQL: the published rows of a plan, for every dialect.

``p`` holds each published column as ``p0, p1 …`` and, for columns that a step may change, ``g0 …`` (1 where the cell differs
from the original); classes that are too small are left out by a join with the classes that stay (less memory than a
window); the rows are ordered by a keyed hash of their published content, which carries nothing of the input's order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from shoal.engines.core.base import Engine, Relation
from shoal.engines.core.kinds import normalize
from shoal.engines.core.step_sql import check_gaps, cleaned, people, shaped_columns, shaped_from
from shoal.engines.recode.batch_steps import order_of_groups
from shoal.errors import DataError, UsageError, missing_column
from shoal.kernels.arrow import from_numpy, kind_of
from shoal.kernels.codes import code_labels, is_numeric, label_texts
from shoal.kernels.text import canonical_text
from shoal.model.plan import SUPPRESSED, Plan
from shoal.model.roles import Column
from shoal.steps import ExpressionStep
from shoal.steps.sql import aliased, cast, column, count_all, exp, is_null, named, select, string, subquery, when

PUBLISHED = "\x00published"


@dataclass(frozen=True)
class Published:
    """``p`` as a query, the published columns in order (``p{i}``), which of them may have changed cells (``g{i}``)."""

    query: exp.Select
    columns: tuple[Column, ...]
    flagged: tuple[int, ...]
    has_unit: bool = False


def published(
    engine: Engine,
    relation: Relation,
    names: Sequence[str],
    steps: Mapping[str, ExpressionStep],
    unit: str | None,
    class_map: pa.Table | None,
    stack: ExitStack,
    originals: Sequence[str] = (),
    compared: Sequence[str] = (),
) -> Published:
    """``p``: the named columns after their expression steps or the class map; ``originals`` come along as ``o0, o1 …``.

    Columns that are neither changed nor ``compared`` come in the type that the source keeps them in.
    """
    more = [n for n in (unit, *originals) if n is not None and n not in names]
    mapped = [n for n in names if class_map is not None and n in class_map.column_names]
    more += [n for n in map_columns(class_map) if n not in names and n not in more]
    everything = [*names, *dict.fromkeys(more)]
    inner = cleaned(engine, relation, everything, untouched(relation, names, [*steps, *mapped, *more, *originals, *compared]))
    shaped = shaped_columns(engine, relation, names, {n: s for n, s in steps.items() if n not in mapped}, stack)
    check_gaps(engine, inner, shaped, names)
    terms, columns, flagged = [], [], []
    for i, (name, item) in enumerate(zip(names, shaped, strict=True)):
        original = column(f"c{i}", "s")
        if name in mapped:
            value: exp.Expr = column(f"q{map_columns(class_map).index(name)}", "cm")
            after = mapped_column(item.column, steps.get(name), class_map)
        else:
            value, after = item.value, item.column
        terms.append(named(value.copy(), f"p{i}"))
        columns.append(after)
        if name in mapped or name in steps:
            flagged.append(i)
            terms.append(named(_differs(engine, original, relation.column(name), value, after), f"g{i}"))
    if unit is not None:
        key = engine.key(column(f"c{everything.index(unit)}", "s"), relation.column(unit))
        terms.append(named(key, "u"))
    terms += [named(column(f"c{everything.index(n)}", "s"), f"o{i}") for i, n in enumerate(originals)]
    query = shaped_from(terms, inner, shaped)
    if class_map is not None:
        _join_class_map(engine, relation, query, inner, everything, class_map, stack)
    return Published(query, tuple(columns), tuple(flagged), unit is not None)


def mapped_column(source: Column, step: ExpressionStep | None, class_map: pa.Table) -> Column:
    """A column after the class map."""
    grouped = source if step is None else step.after(source)
    labels: dict[object, str] = dict(label_texts(source).items())  # of the cells that stay as they were
    labels.update(code_labels(grouped))
    order = order_of_groups(as_texts(class_map, {source.name: "was", source.name + PUBLISHED: "is"}), source.order)
    return replace(grouped, kind="text", labels=labels, order=order, coded=False, grouped=True, stored=None)


def untouched(relation: Relation, names: Sequence[str], touched: Sequence[str]) -> set[str]:
    """The columns that come in the type of their source: nothing is done to them, and no value of theirs is read as missing."""
    known = {c.name for c in relation.columns if c.stored is not None and not c.missing_values}
    return {n for n in names if n in known and n not in touched}


def _differs(engine: Engine, before: exp.Expr, source: Column, after: exp.Expr, target: Column) -> exp.Expr:
    """1 where the published cell is not the original: compared as numbers where both are, else as canonical text."""
    text = Column(source.name, "text")
    if source.kind == target.kind == "integer":  # as they are: doubles beyond 2⁵³ would fall together
        same = engine.same(before.copy(), after.copy())
    elif target.kind in ("integer", "float"):
        same = engine.same(cast(before, "DOUBLE"), cast(after, "DOUBLE"))
    else:
        same = engine.same(
            engine.key(engine.text(before.copy(), source), text), engine.key(engine.text(after.copy(), target), text)
        )
    return when(same, exp.convert(0), exp.convert(1))


def map_columns(class_map: pa.Table | None) -> list[str]:
    """The columns whose values together name a class of the map."""
    return [] if class_map is None else [n for n in class_map.column_names if not n.endswith(PUBLISHED)]


def _join_class_map(
    engine: Engine,
    relation: Relation,
    query: exp.Select,
    inner: exp.Select,
    everything: Sequence[str],
    class_map: pa.Table,
    stack: ExitStack,
) -> None:
    """JOIN the published values of each original class; stop where a class of the data is not in the map."""
    names = map_columns(class_map)
    for name in names:
        if name not in everything:
            raise missing_column(name, list(everything), table="the table", what="column of the class map")
    text = Column("", "text")
    table = as_texts(class_map, {n: f"k{i}" for i, n in enumerate(names)})
    table = table.append_column("here", from_numpy(np.ones(table.num_rows, np.int64)))
    for i, name in enumerate(names):
        if name + PUBLISHED in class_map.column_names:
            table = table.append_column(f"q{i}", as_texts(class_map, {name + PUBLISHED: "x"}).column(0))
    source = stack.enter_context(engine.mapping(table))
    terms = []
    for i, name in enumerate(names):
        left = engine.text(column(f"c{everything.index(name)}", "s"), relation.column(name))
        terms.append(engine.same(engine.key(left, text), engine.mapped(column(f"k{i}", "cm"), text)))
    join = exp.Join(this=aliased(source, "cm"), on=exp.and_(*terms), kind="LEFT")
    query.set("joins", [*query.args.get("joins", []), join])
    lost = select([named(count_all(), "n")], subquery(inner, "s"))
    lost.set("joins", [join.copy()])
    missing = engine.fetch(lost.where(is_null(column("here", "cm")), copy=False))["n"][0].as_py()
    if missing:
        raise not_covered(missing)


def not_covered(records: int) -> DataError:
    """The error for records whose class the map does not hold."""
    what = f"the class map does not cover {records} record(s) of the table."
    return DataError(what, hint="Count the table again and build a new map.")


def as_texts(table: pa.Table, names: Mapping[str, str]) -> pa.Table:
    """Columns of an Arrow table as canonical texts, under new names."""
    return pa.table({new: canonical_text(normalize(table[old], kind_of(table[old].type))) for old, new in names.items()})


@dataclass(frozen=True)
class Rows:
    """The published rows: the query without order, its columns, and a count of records whose cells were suppressed (``h``)."""

    query: exp.Select
    columns: tuple[Column, ...]
    flagged: tuple[int, ...]
    cells: bool


def suppression_columns(plan: Plan, names: Sequence[str], kept: pa.Table | None) -> list[str]:
    """The published columns that form the classes; every one must be published."""
    rule = plan.suppression
    if rule.scope == "none" or (rule.k < 2 and kept is None):
        return []
    by = list(rule.columns) or ([n for n in kept.column_names if n in names] if kept is not None else [])
    if not by:
        raise UsageError("suppression names no columns.", hint="Give Suppression(columns=…) the quasi-identifiers.")
    for name in by:
        if name not in names:
            raise missing_column(name, list(names), table="the published table", what="column of the suppression")
    return by


def suppressed(engine: Engine, source: Published, plan: Plan, kept: pa.Table | None, stack: ExitStack) -> Rows:
    """``p`` without the classes that do not stay (scope ``rows``), or with their quasi-identifiers blanked (``cells``)."""
    rule = plan.suppression
    names = [c.name for c in source.columns]
    everything = [f"p{i}" for i in range(len(names))]
    flags = [f"g{i}" for i in source.flagged]
    if rule.scope == "none" or (rule.k < 2 and kept is None):
        picked = select([column(n, "p") for n in (*everything, *flags)], subquery(source.query, "p"))
        return Rows(picked, source.columns, source.flagged, False)
    by = suppression_columns(plan, names, kept)
    at = [names.index(n) for n in by]
    stays, keys = _staying(engine, source, plan, at, kept, by, stack)
    on = exp.and_(*[engine.same(k, column(f"k{j}", "q")) for j, k in enumerate(keys)])
    if rule.scope == "rows":
        picked = select([column(n, "p") for n in (*everything, *flags)], subquery(source.query, "p"))
        picked.set("joins", [exp.Join(this=aliased(stays, "q"), on=on, kind="INNER")])
        return Rows(picked, source.columns, source.flagged, False)
    return _blank_small(engine, source, at, stays, on)


def _staying(
    engine: Engine, source: Published, plan: Plan, at: Sequence[int], kept: pa.Table | None, by: Sequence[str], stack: ExitStack
) -> tuple[exp.Expr, list[exp.Expr]]:
    """The classes that stay as ``k0, k1 …``, and the keys of a row of ``p`` to compare with them."""
    if kept is not None:
        text = Column("", "text")
        table = as_texts(kept, {n: f"k{j}" for j, n in enumerate(by)})
        relation = stack.enter_context(engine.mapping(table.group_by(table.column_names).aggregate([])))
        terms = [named(engine.mapped(column(f"k{j}", "w"), text), f"k{j}") for j in range(len(by))]
        stays: exp.Expr = exp.Subquery(this=select(terms, aliased(relation, "w")))
        keys = [engine.key(engine.text(column(f"p{i}", "p"), source.columns[i]), text) for i in at]
        return stays, keys
    keys = [engine.fingerprint(column(f"p{i}", "p"), source.columns[i]) for i in at]
    inside = [named(k.copy(), f"k{j}") for j, k in enumerate(keys)]
    if source.has_unit:
        inside.append(named(column("u", "p"), "u"))
    classes = select(inside, subquery(source.query, "p"))
    groups = [column(f"k{j}", "w") for j in range(len(at))]
    size = people(column("u", "w")) if source.has_unit else count_all()
    grouped = select(groups, subquery(classes, "w")).group_by(*[g.copy() for g in groups], copy=False)
    enough = exp.GTE(this=size, expression=exp.convert(plan.suppression.k))
    return exp.Subquery(this=grouped.having(enough, copy=False)), keys


def _blank_small(engine: Engine, source: Published, at: Sequence[int], stays: exp.Expr, on: exp.Expr) -> Rows:
    """Every row, with the quasi-identifiers of small classes replaced by the suppression mark."""
    lost = is_null(column("here", "q"))
    marked = select([exp.Star(), named(exp.convert(1), "here")], aliased(stays, "r"))
    terms: list[exp.Expr] = []
    columns = list(source.columns)
    flagged = sorted({*source.flagged, *at})
    for i, before in enumerate(source.columns):
        value: exp.Expr = column(f"p{i}", "p")
        if i in at:
            value = when(lost.copy(), string(SUPPRESSED), engine.text(value, before))
            order = before.order if before.grouped else ()
            columns[i] = replace(before, kind="text", coded=is_numeric(before), order=order, stored=None, former=None)
        terms.append(named(value, f"p{i}"))
    for i in flagged:
        flag: exp.Expr = column(f"g{i}", "p") if i in source.flagged else exp.convert(0)
        if i in at:
            flag = when(lost.copy(), exp.convert(1), flag)
        terms.append(named(flag, f"g{i}"))
    terms.append(named(when(lost, exp.convert(1), exp.convert(0)), "h"))
    query = select(terms, subquery(source.query, "p"))
    query.set("joins", [exp.Join(this=subquery(marked, "q"), on=on, kind="LEFT")])
    return Rows(query, tuple(columns), tuple(flagged), True)


def unordered(rows: Rows) -> exp.Select:
    """The rows in no order, with the columns ``g…`` and ``h``."""
    extra = [f"g{i}" for i in rows.flagged] + (["h"] if rows.cells else [])
    names = [f"p{i}" for i in range(len(rows.columns))]
    return select([column(n, "f") for n in [*names, *extra]], subquery(rows.query, "f"))


def final(engine: Engine, rows: Rows, plan: Plan) -> exp.Select:
    """The published columns in an order of the engine's own, for a new table beside the source."""
    names = [f"p{i}" for i in range(len(rows.columns))]
    query = select([column(n, "f") for n in names], subquery(rows.query, "f"))
    if plan.shuffle:
        query = query.order_by(_hash(engine, rows, plan), *[column(n, "f") for n in names])
    return query


def hashed(engine: Engine, rows: Rows, plan: Plan) -> exp.Select:
    """The published columns in no order, with the hash to order them by as ``x``."""
    terms = [column(f"p{i}", "f") for i in range(len(rows.columns))]
    return select([*terms, named(_hash(engine, rows, plan), "x")], subquery(rows.query, "f"))


def _hash(engine: Engine, rows: Rows, plan: Plan) -> exp.Expr:
    return engine.row_hash([engine.text(column(f"p{i}", "f"), c) for i, c in enumerate(rows.columns)], plan.seed)


def facts(rows: Rows) -> exp.Select:
    """Number of rows and sum of every flag."""
    flags = [f"g{i}" for i in rows.flagged] + (["h"] if rows.cells else [])
    terms = [named(count_all(), "n")]
    terms += [named(exp.Sum(this=column(f, "f")), f) for f in flags]
    return select(terms, subquery(rows.query, "f"))
