"""RECODE: apply a plan and write the result, whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa

from shoal.disk.atomic import scratch
from shoal.engines.connect import is_url, refuse_misspelt
from shoal.engines.core.base import Engine, Relation
from shoal.engines.core.memory import left_for_data
from shoal.engines.core.stored_types import whole_durations
from shoal.engines.count.by_codes import KeptCodes
from shoal.engines.duckdb.engine import DuckDB
from shoal.engines.files.formats import in_database
from shoal.engines.files.readers import expected_rows
from shoal.engines.files.statistical.read import need_names
from shoal.engines.files.writers import output_format, write_file
from shoal.engines.recode.batch_steps import cut_on_batches, in_their_order, label_steps
from shoal.engines.recode.by_codes import can_recode, recode_by_codes
from shoal.engines.recode.job import Job
from shoal.engines.recode.losses import expected_losses, written_losses
from shoal.engines.recode.private_seed import kept_beside
from shoal.engines.recode.spill import HELD
from shoal.engines.recode.sql import Published, published, suppressed, suppression_columns, unordered
from shoal.engines.recode.staging import Staging, is_staged
from shoal.errors import UsageError
from shoal.model.display import Progress
from shoal.model.plan import ColumnStep, Plan, RowStep
from shoal.model.roles import Schema
from shoal.steps import Drop, ExpressionStep, Keep
from shoal.steps.sql import aliased, column, exp


@dataclass(frozen=True)
class Recoded:
    """What RECODE did.

    ``changed`` is, per column of the input, the share of the published records whose cell differs from the original, by the
    column's step or by suppression of cells; a dropped column counts as 1. Records left out are in ``suppressed``, not here.
    ``suppressed`` counts records left out (scope ``rows``) or with blanked quasi-identifiers (``cells``). Records outside a
    sample are neither: they are in ``unsampled``. ``drawn`` is the seed of random steps where none was stated; for a file it is
    kept in ``private_file`` beside it, for a table the caller must keep it. ``not_kept`` says what the format of the file
    cannot hold, or what was not carried over. ``parts_at`` is where the engine sees the folder of files that it wrote itself.
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
    parts_at: str = ""


@dataclass(frozen=True)
class Recoding:
    """A plan to apply, and everything that follows from it and the schema.

    In ``plan`` each step that follows another on its column is a step on batches; ``steps`` are the expression steps, ``names``
    the published columns, ``compared`` the columns that classes are formed of.
    """

    engine: Engine
    relation: Relation
    schema: Schema
    plan: Plan
    steps: dict[str, ExpressionStep]
    names: list[str]
    unit: str | None
    compared: list[str]
    kept: Any
    class_map: Any
    progress: Progress | None

    def by_codes(self) -> dict[str, ExpressionStep] | None:
        """All steps as labels of values, if the table can be recoded by codes; None if not."""
        if self.class_map is not None or any(isinstance(s, ColumnStep | RowStep) for s in self.plan.steps):
            return None
        labels = label_steps(self.plan, self.steps, self.schema)
        if labels is None:
            return None
        coded = {*labels, *self.compared}
        return labels if can_recode(self.relation, self.names, self.plan, self.engine.memory, coded) else None


def recode(
    engine: Engine,
    relation: Relation,
    schema: Schema,
    plan: Plan,
    out: str | Path,
    *,
    kept: Any = None,
    class_map: Any = None,
    format: str | None = None,
    raw: bool = False,
    progress: Progress | None = None,
    parts: bool = False,
    at_hand: KeptCodes | None = None,
) -> Recoded:
    """See :meth:`shoal.engines.table.Table.recode`."""
    seeded = plan.seeded()
    drawn = seeded.seed if seeded.seed != plan.seed else None
    ordered = in_their_order(seeded, schema)
    steps = expression_steps(ordered, schema)
    dropped = {s.column for s in ordered.steps if isinstance(s, Drop)}
    names = [n for n in schema.names if n not in dropped]
    if not names:
        raise UsageError("the plan leaves no column.", hint="Keep at least one column.")
    target = _target(out, format)
    _keep_source(target, relation)
    form = output_format(target, format) if isinstance(target, Path) else ""
    if form:
        need_names(names, form)
    if progress is not None:
        progress(0.0, "reading")
    unit = ordered.suppression.unit if ordered.suppression.scope != "none" and kept is None else None
    if unit is not None:
        schema.require(unit, what="unit")
    run = Recoding(
        engine=engine,
        relation=relation,
        schema=schema,
        plan=ordered,
        steps=steps,
        names=names,
        unit=unit,
        compared=_compared(ordered, names, kept, unit, class_map),
        kept=kept,
        class_map=class_map,
        progress=progress,
    )
    labels = run.by_codes() if isinstance(target, Path) else None
    if isinstance(target, Path) and labels is not None:
        return _write_by_codes(run, labels, target, form, raw=raw, at_hand=at_hand)
    if isinstance(target, str) and target.startswith("::"):
        engine.will_write()
    elif relation.reader is not None and class_map is None and not run.compared:
        batched = cut_on_batches(ordered, schema)
        run = replace(run, plan=batched, steps=expression_steps(batched, schema))
    with ExitStack() as stack:
        stack.enter_context(engine.snapshot())
        stack.enter_context(engine.sparing())
        job, counted = _job(run, stack)
        private, losses, parts_at = None, tuple[str, ...](), ""
        if isinstance(target, Path):
            with kept_beside(target, drawn) as private:
                if parts and form == "parquet" and job.can_be_parts(engine, target):
                    parts_at = job.to_parts(target)
                else:
                    job.to_file(target, form, raw, hidden_columns(run.plan, names, kept))
                losses = written_losses(relation, job.columns, seeded, form)
        else:
            job.to_table(engine, str(target))
        records, unsampled = counted()
        losses += tuple(sentence for step in seeded.steps for sentence in step.told(records - unsampled))
    changed = {names[i]: job.flags[f"g{i}"] / max(1, job.written) for i in job.flagged}
    if progress is not None:
        progress(1.0, "written")
    return Recoded(
        records_in=records,
        records_out=job.written,
        suppressed=job.flags["h"] if "h" in job.flags else records - unsampled - job.written,
        changed=dict.fromkeys(schema.names, 0.0) | changed | dict.fromkeys(dropped, 1.0),
        path=str(out),
        files=(os.fspath(target),) if isinstance(target, Path) else (),
        unsampled=unsampled,
        drawn=drawn,
        private_file=None if private is None else str(private),
        not_kept=losses,
        parts_at=parts_at,
    )


def _write_by_codes(
    run: Recoding, labels: Mapping[str, ExpressionStep], path: Path, format: str, *, raw: bool, at_hand: KeptCodes | None
) -> Recoded:
    """Files and frames whose codes fit in memory: two to four times less processor time than SQL."""
    plan, names = run.plan, run.names
    suppression_columns(plan, names, run.kept)
    rows = recode_by_codes(run.relation, names, labels, plan, run.unit, run.kept, run.progress, at_hand)
    with closing(rows.batches(run.progress, dictionaries=format == "parquet")) as batches:
        first = next(batches)
        hidden = hidden_columns(plan, names, run.kept)
        write_file(path, format, first.schema, chain([first], batches), rows.columns, raw=raw, hidden=hidden)
    out = len(rows.order)
    changed = {n: c / max(1, out) for n, c in rows.changed.items()} | {n: 1.0 for n in run.schema.names if n not in names}
    if run.progress is not None:
        run.progress(1.0, "written")
    return Recoded(
        records_in=rows.records,
        records_out=out,
        suppressed=rows.records - out,
        changed=dict.fromkeys(run.schema.names, 0.0) | changed,
        path=str(path),
        files=(str(path),),
        not_kept=written_losses(run.relation, rows.columns, plan, format),
    )


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


def will_not_keep(relation: Relation, schema: Schema, plan: Plan, out: str | Path, format: str | None) -> tuple[str, ...]:
    """What a file would not keep of the table; empty for tables of a database."""
    target = _target(out, format)
    return expected_losses(relation, schema.columns, plan, output_format(target, format)) if isinstance(target, Path) else ()


def _compared(plan: Plan, names: Sequence[str], kept: Any, unit: str | None, class_map: Any) -> list[str]:
    """Columns that classes are formed of: they are compared in their kind, so that no two engines differ."""
    mapped = [] if class_map is None else list(class_map.column_names)
    return [*suppression_columns(plan, names, kept), *mapped, *([unit] if unit is not None else [])]


def hidden_columns(plan: Plan, names: Sequence[str], kept: Any) -> frozenset[str]:
    """Columns of which a value may have been hidden: all where records may be left out, else those that a step changes.

    It depends on the plan alone: whether a label is left out tells nothing about the records.
    """
    rule = plan.suppression
    if (rule.scope != "none" and (rule.k >= 2 or kept is not None)) or any(isinstance(s, RowStep) for s in plan.steps):
        return frozenset(names)
    return frozenset(c for s in plan.steps if not isinstance(s, Keep) for c in s.columns)


def _job(run: Recoding, stack: ExitStack) -> tuple[Job, Callable[[], tuple[int, int]]]:
    """The rows to write, and a function that afterwards gives the records read and how many of them are outside a sample.

    They come in SQL from the source's own engine, or in batches if a step needs them; suppression after such steps is
    applied in a private table.
    """
    engine, relation, plan = run.engine, run.relation, run.plan
    folder = stack.enter_context(scratch())
    held = HELD if engine.memory is None else min(HELD, left_for_data(engine.memory) // 4)
    suppresses = bool(suppression_columns(plan, run.names, run.kept))
    worker, staging = engine, None
    if not any(is_staged(s) for s in plan.steps):
        source = published(engine, relation, run.names, run.steps, run.unit, run.class_map, stack, compared=run.compared)
    else:
        staging = Staging(run.names, plan, folder, held, engine.memory)
        tables = staging.load(engine, relation, run.steps, run.unit, run.class_map, stack, run.compared)
        worker = DuckDB(stable_order=True)
        stack.callback(worker.close)
        worker.limit_memory(engine.memory)
        stack.enter_context(worker.sparing())
        plan = replace(plan, shuffle=plan.shuffle or staging.unordered)
        if not suppresses:
            job = Job(
                engine=worker,
                given=lambda: tables,
                columns=staging.columns,
                flagged=staging.flagged,
                plan=plan,
                folder=folder,
                held=held,
                expected=expected_rows(engine, relation, run.progress),
                progress=run.progress,
            )
            return job, lambda: (staging.rows_read, staging.left_out)
        source = _in_a_table(worker, staging, tables, run.unit is not None)
    rows = suppressed(worker, source, plan, run.kept, stack)
    counts = suppresses and staging is None
    records = engine.count_rows(relation) if counts else expected_rows(engine, relation, run.progress)
    job = Job(
        engine=worker,
        given=lambda: worker.stream(unordered(rows)),
        columns=rows.columns,
        flagged=rows.flagged,
        plan=plan,
        folder=folder,
        held=held,
        expected=records,
        progress=run.progress,
        rows=rows,
    )
    if staging is not None:
        return job, lambda: (staging.rows_read, staging.left_out)
    return job, lambda: (records if suppresses else job.written, 0)


def _in_a_table(worker: DuckDB, staging: Staging, tables: Iterator[Any], has_unit: bool) -> Published:
    """Staged rows in a private table, which spills to disk: classes can then be counted in SQL."""
    whole = (whole_durations(t) for t in tables)
    batches = (b for t in whole for b in t.combine_chunks().to_batches() or [_no_rows(t.schema)])
    worker.load_table("staged", batches, ())
    picked = [f"p{i}" for i in range(len(staging.columns))] + [f"g{i}" for i in staging.flagged] + (["u"] if has_unit else [])
    query = exp.select(*[column(p, "z") for p in picked]).from_(aliased(exp.table_("staged", quoted=True), "z"))
    return Published(query, staging.columns, tuple(staging.flagged), has_unit)


def _no_rows(schema: Any) -> Any:
    return pa.RecordBatch.from_pylist([], schema=schema)


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
    """Refuse to write over the table that is being read, or beside one that is in no database."""
    if isinstance(target, str) and target.startswith("::") and not in_database(relation):
        raise UsageError("a new table needs a table in a database as input.", hint="Name a file, or ENGINE-URL::table.")
    if isinstance(target, Path) and target.exists() and relation.source and Path(relation.source).exists():
        source = Path(relation.source)
        if target.samefile(source) or (source.is_dir() and source.resolve() in target.resolve().parents):
            raise UsageError(f"'{target}' is the table that is being read.", hint="Write to another file.")
