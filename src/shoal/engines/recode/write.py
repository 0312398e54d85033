"""RECODE: carry out a plan and write the result, whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from shoal.engines.connect import connect, is_url, refuse_misspelt
from shoal.engines.core.base import Engine, Relation
from shoal.engines.core.stored import stored_or_decoded
from shoal.engines.files.losses import not_kept
from shoal.engines.files.writers import output_format, write_file
from shoal.engines.recode.by_codes import can_recode, recode_by_codes
from shoal.engines.recode.labels import label_steps
from shoal.engines.recode.seed import kept_beside
from shoal.engines.recode.sql import Published, Rows, facts, final, published, suppressed, suppression_columns
from shoal.engines.recode.staging import Staging, is_staged
from shoal.errors import UsageError
from shoal.model.plan import ColumnStep, Plan, RowStep
from shoal.model.progress import Progress
from shoal.model.roles import Column, Schema
from shoal.steps import Drop, ExpressionStep, Keep
from shoal.steps.sql import aliased, column
from shoal.steps.sqlglot import exp


@dataclass(frozen=True)
class Recoded:
    """What RECODE did.

    ``changed`` is, per column of the input, the share of the published records whose cell differs from the original, by the
    column's step or by suppression of cells; a dropped column counts as 1. Records left out are in ``suppressed``, not here.
    ``suppressed`` counts records left out (scope ``rows``) or with blanked quasi-identifiers (``cells``). Records outside a
    sample are neither: they are in ``unsampled``. ``drawn`` is the seed of random steps where none was stated; for a file it is
    kept in ``private_file`` beside it, for a table the caller must keep it. ``not_kept`` says what the format of the file
    cannot hold, or what was not carried over.
    """

    records_in: int
    records_out: int
    suppressed: int
    changed: Mapping[str, float] = field(default_factory=dict)
    path: str = ""
    files: tuple[str, ...] = ()
    unsampled: int = 0
    drawn: int | None = field(default=None, repr=False)
    private_file: str | None = None
    not_kept: tuple[str, ...] = ()


def recode(
    engine: Engine,
    relation: Relation,
    schema: Schema,
    plan: Plan,
    out: str | Path,
    kept: Any,
    class_map: Any,
    format: str | None,
    raw: bool,
    progress: Progress | None,
) -> Recoded:
    """See :meth:`shoal.engines.table.Table.recode`."""
    seeded = plan.seeded()
    drawn = seeded.seed if seeded.seed != plan.seed else None
    plan = seeded
    steps = expression_steps(plan, schema)
    dropped = {s.column for s in plan.steps if isinstance(s, Drop)}
    names = [n for n in schema.names if n not in dropped]
    if not names:
        raise UsageError("the plan leaves no column.", hint="Keep at least one column.")
    target = _target(out, format)
    _keep_source(target, relation)
    if progress is not None:
        progress(0.0, "reading")
    unit = plan.suppression.unit if plan.suppression.scope != "none" and kept is None else None
    if unit is not None:
        schema.require(unit, what="unit")
    labels = None if any(isinstance(s, ColumnStep | RowStep) for s in plan.steps) else label_steps(plan, steps, schema)
    compared = _compared(plan, names, kept, unit, class_map)
    coded = {*(labels or {}), *compared}
    if (
        isinstance(target, Path)
        and class_map is None
        and labels is not None
        and can_recode(relation, names, plan, engine.memory, coded)
    ):
        return _by_codes(relation, schema, names, labels, plan, unit, kept, target, output_format(target, format), raw, progress)
    staged = any(is_staged(s) for s in plan.steps)
    with ExitStack() as stack:
        stack.enter_context(engine.snapshot())
        records = engine.count_rows(relation)
        source, worker, unsampled = _source(engine, relation, plan, names, steps, unit, class_map, stack, compared)
        rows = suppressed(worker, source, plan, kept, stack)
        job = _Job(worker, rows, plan, records, progress)
        private, told = None, tuple[str, ...]()
        if isinstance(target, Path):
            with kept_beside(target, drawn) as private:
                form = output_format(target, format)
                told = not_kept(rows.columns, form, staged=staged, notes=int(relation.details.get("notes") or 0))
                job.to_file(target, form, rows.columns, raw, _hidden(plan, names, kept))
        else:
            job.to_table(engine, str(target))
    done = _report(job, schema, names, records, unsampled, str(out), target, dropped, rows)
    return replace(done, drawn=drawn, private_file=None if private is None else str(private), not_kept=told)


def _by_codes(
    relation: Relation,
    schema: Schema,
    names: Sequence[str],
    steps: Mapping[str, ExpressionStep],
    plan: Plan,
    unit: str | None,
    kept: Any,
    path: Path,
    format: str,
    raw: bool,
    progress: Progress | None,
) -> Recoded:
    """The quick way for files and frames."""
    suppression_columns(plan, names, kept)
    rows = recode_by_codes(relation, names, steps, plan, unit, kept, progress)
    batches = rows.batches(progress, dictionaries=format == "parquet")
    first = next(batches)
    write_file(path, format, first.schema, _chain(first, batches), rows.columns, raw=raw, hidden=_hidden(plan, names, kept))
    out = len(rows.order)
    changed = dict.fromkeys(schema.names, 0.0) | {n: c / max(1, out) for n, c in rows.changed.items()}
    changed |= {n: 1.0 for n in schema.names if n not in names}
    if progress is not None:
        progress(1.0, "written")
    told = not_kept(rows.columns, format, notes=int(relation.details.get("notes") or 0))
    return Recoded(rows.records, out, rows.records - out, changed, str(path), (str(path),), not_kept=told)


def expression_steps(plan: Plan, schema: Schema) -> dict[str, ExpressionStep]:
    """The expression step of each column that has one and changes it; every named column must exist."""
    named: set[str] = set()
    steps: dict[str, ExpressionStep] = {}
    for step in plan.steps:
        for name in (*step.columns, *getattr(step, "needs", ())):
            schema.require(name, what=f"column of step '{step.kind}'")
        if is_staged(step):
            continue
        if step.column in named:
            raise UsageError(f"column '{step.column}' has two expression steps.", hint="Join them into one step.")
        named.add(step.column)
        if isinstance(step, ExpressionStep) and not isinstance(step, Keep):
            steps[step.column] = step
    return steps


def told_before(relation: Relation, schema: Schema, plan: Plan, out: str | Path, format: str | None) -> tuple[str, ...]:
    """What will not be kept: labels and declarations of every column, types of those that the plan leaves as they are."""
    target = _target(out, format)
    if not isinstance(target, Path):
        return ()
    changed = {c for s in plan.steps if not isinstance(s, Keep) for c in s.columns}
    dropped = {s.column for s in plan.steps if isinstance(s, Drop)}
    bare = {c.name: replace(c, kind="text", stored=None, form="") for c in schema.columns if c.name in changed}
    columns = [bare.get(c.name, c) for c in schema.columns if c.name not in dropped]
    staged = any(is_staged(s) for s in plan.steps)
    return not_kept(columns, output_format(target, format), staged=staged, notes=int(relation.details.get("notes") or 0))


def _compared(plan: Plan, names: Sequence[str], kept: Any, unit: str | None, class_map: Any) -> list[str]:
    """Columns that classes are formed of: they are compared in their kind, so that no two engines differ."""
    mapped = [] if class_map is None else list(class_map.column_names)
    return [*suppression_columns(plan, names, kept), *mapped, *([unit] if unit is not None else [])]


def _hidden(plan: Plan, names: Sequence[str], kept: Any) -> frozenset[str]:
    """Columns of which a value may have been hidden: all where records may be left out, else those that a step changes.

    It depends on the plan alone: whether a label is left out tells nothing about the records.
    """
    rule = plan.suppression
    if (rule.scope != "none" and (rule.k >= 2 or kept is not None)) or any(isinstance(s, RowStep) for s in plan.steps):
        return frozenset(names)
    return frozenset(c for s in plan.steps if not isinstance(s, Keep) for c in s.columns)


def _source(
    engine: Engine,
    relation: Relation,
    plan: Plan,
    names: Sequence[str],
    steps: dict[str, ExpressionStep],
    unit: str | None,
    class_map: Any,
    stack: ExitStack,
    compared: Sequence[str],
) -> tuple[Published, Engine, int]:
    """``p`` in the source's own engine, or in a private one after steps that SQL cannot express; rows outside a sample."""
    staged = [s for s in plan.steps if is_staged(s)]
    if not staged:
        return published(engine, relation, names, steps, unit, class_map, stack, compared=compared), engine, 0
    needs = [n for s in staged for n in s.needs]  # type: ignore[attr-defined]
    needs += [c for s in staged for c in s.columns if c not in names]
    staging = Staging(names, plan, list(dict.fromkeys(needs)))
    stack.callback(staging.close)
    staging.engine.limit_memory(engine.memory)
    source = staging.load(engine, relation, steps, unit, class_map, compared)
    return source, staging.engine, staging.left_out


def _target(out: str | Path, format: str | None) -> Path | str:
    """A path, or ``::name`` / ``URL::name`` as text."""
    if isinstance(out, str) and (out.startswith("::") or is_url(out)):
        return out
    refuse_misspelt(str(out))
    path = Path(out)
    if path.is_dir():
        raise UsageError(f"'{path}' is a folder.", hint="Name a file in it.")
    output_format(path, format)
    return path


def _keep_source(target: Path | str, relation: Relation) -> None:
    """Refuse to write over the table that is being read."""
    if isinstance(target, Path) and target.exists() and relation.source and Path(relation.source).exists():
        source = Path(relation.source)
        if target.samefile(source) or (source.is_dir() and source.resolve() in target.resolve().parents):
            raise UsageError(f"'{target}' is the table that is being read.", hint="Write to another file.")


class _Job:
    """Writing the published rows, and what was counted on the way."""

    def __init__(self, engine: Engine, rows: Rows, plan: Plan, records: int, progress: Progress | None) -> None:
        self.engine, self.rows, self.plan, self.records, self.progress = engine, rows, plan, records, progress
        self.written = 0
        self.flags: dict[str, int] = dict.fromkeys([f"g{i}" for i in rows.flagged] + (["h"] if rows.cells else []), 0)

    def to_file(self, path: Path, format: str, columns: Sequence[Column], raw: bool, hidden: frozenset[str]) -> None:
        batches = self._batches()
        first = next(batches)
        write_file(path, format, first.schema, _chain(first, batches), columns, raw=raw, hidden=hidden)

    def _batches(self) -> Iterator[Any]:
        """Published batches under their own names; flags are added up and left out."""

        names = [c.name for c in self.rows.columns]
        schema = None
        for batch in self.engine.stream(final(self.engine, self.rows, self.plan, flags=True)):
            for flag in self.flags:
                self.flags[flag] += int(pc.sum(batch.column(flag)).as_py() or 0)
            arrays = [stored_or_decoded(self.engine, batch.column(f"p{i}"), c) for i, c in enumerate(self.rows.columns)]
            schema = schema or pa.schema([pa.field(n, a.type) for n, a in zip(names, arrays, strict=True)])
            self.written += batch.num_rows
            if self.progress is not None:
                self.progress(min(1.0, self.written / max(1, self.records)), "writing")
            yield pa.RecordBatch.from_arrays([a.cast(t) for a, t in zip(arrays, schema.types, strict=True)], schema=schema)

    def to_table(self, home: Engine, out: str) -> None:
        """A new table in the source's own database by CREATE TABLE AS, elsewhere by loading batches."""
        if self.engine is home and out.startswith("::"):
            found = home.fetch(facts(self.rows))
            self.written = int(found["n"][0].as_py())
            self.flags = {f: int(found[f][0].as_py() or 0) for f in self.flags}
            home.create_table(out[2:], _named(final(home, self.rows, self.plan, flags=False), self.rows.columns))
            return
        target, name = (home, out[2:]) if out.startswith("::") else connect(out)
        with ExitStack() as stack:
            if target is not home:
                stack.callback(target.close)
            target.load_table(name, self._batches(), self.rows.columns)


def _named(query: Any, columns: Sequence[Column]) -> Any:
    """p0, p1 … under the columns' own names."""
    terms = [exp.alias_(column(f"p{i}", "o"), exp.to_identifier(c.name, quoted=True)) for i, c in enumerate(columns)]
    ordered = query.copy()
    order = ordered.args.get("order")
    ordered.set("order", None)
    outer = exp.select(*terms).from_(aliased(exp.Subquery(this=ordered), "o"))
    if order is not None:
        for node in order.find_all(exp.Column):
            node.set("table", exp.to_identifier("o", quoted=True))
        outer.set("order", order)
    return outer


def _chain(first: Any, rest: Iterator[Any]) -> Iterator[Any]:
    yield first
    yield from rest


def _report(
    job: _Job,
    schema: Schema,
    names: Sequence[str],
    records: int,
    unsampled: int,
    out: str,
    target: Path | str,
    dropped: set[str],
    rows: Rows,
) -> Recoded:
    changed = dict.fromkeys(schema.names, 0.0)
    for i in rows.flagged:
        changed[names[i]] = job.flags[f"g{i}"] / max(1, job.written)
    changed |= dict.fromkeys(dropped, 1.0)
    lost = job.flags.get("h", 0) if rows.cells else records - unsampled - job.written
    files = (os.fspath(target),) if isinstance(target, Path) else ()
    if job.progress is not None:
        job.progress(1.0, "written")
    return Recoded(records, job.written, lost, changed, out, files, unsampled)
