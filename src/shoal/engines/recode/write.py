"""RECODE: apply a plan and write the result, whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
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
from shoal.engines.recode.losses import told_after, told_before
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
    parts: bool = False,
    at_hand: KeptCodes | None = None,
) -> Recoded:
    """See :meth:`shoal.engines.table.Table.recode`."""
    seeded = plan.seeded()
    drawn = seeded.seed if seeded.seed != plan.seed else None
    asked, plan = seeded, in_their_order(seeded, schema)
    steps = expression_steps(plan, schema)
    dropped = {s.column for s in plan.steps if isinstance(s, Drop)}
    names = [n for n in schema.names if n not in dropped]
    if not names:
        raise UsageError("the plan leaves no column.", hint="Keep at least one column.")
    target = _target(out, format)
    _keep_source(target, relation)
    if isinstance(target, Path):
        need_names(names, output_format(target, format))
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
        form = output_format(target, format)
        return _by_codes(relation, schema, names, labels, plan, unit, kept, target, form, raw, progress, at_hand)
    if isinstance(target, str) and target.startswith("::"):
        engine.will_write()
    elif relation.reader is not None and class_map is None and not compared:
        plan = cut_on_batches(plan, schema)
        steps = expression_steps(plan, schema)
    with ExitStack() as stack:
        stack.enter_context(engine.snapshot())
        stack.enter_context(engine.sparing())
        job, counted = _job(engine, relation, plan, names, steps, unit, class_map, kept, stack, compared, progress)
        private, told, parts_at = None, tuple[str, ...](), ""
        if isinstance(target, Path):
            with kept_beside(target, drawn) as private:
                form = output_format(target, format)
                if parts and form == "parquet" and job.can_be_parts(engine, target):
                    parts_at = job.to_parts(target)
                else:
                    job.to_file(target, form, raw, _hidden(plan, names, kept))
                told = told_after(relation, job.columns, asked, form)
        else:
            job.to_table(engine, str(target))
        records, unsampled = counted()
        told += tuple(sentence for step in asked.steps for sentence in step.told(records - unsampled))
    done = _report(job, schema, names, records, unsampled, str(out), target, dropped)
    return replace(done, drawn=drawn, private_file=None if private is None else str(private), not_kept=told, parts_at=parts_at)


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
    at_hand: KeptCodes | None,
) -> Recoded:
    """The quick way for files and frames."""
    suppression_columns(plan, names, kept)
    rows = recode_by_codes(relation, names, steps, plan, unit, kept, progress, at_hand)
    with closing(rows.batches(progress, dictionaries=format == "parquet")) as batches:
        first = next(batches)
        write_file(path, format, first.schema, _chain(first, batches), rows.columns, raw=raw, hidden=_hidden(plan, names, kept))
    out = len(rows.order)
    changed = dict.fromkeys(schema.names, 0.0) | {n: c / max(1, out) for n, c in rows.changed.items()}
    changed |= {n: 1.0 for n in schema.names if n not in names}
    if progress is not None:
        progress(1.0, "written")
    told = told_after(relation, rows.columns, plan, format)
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


def will_not_keep(relation: Relation, schema: Schema, plan: Plan, out: str | Path, format: str | None) -> tuple[str, ...]:
    """What a file would not keep of the table; empty for tables of a database."""
    target = _target(out, format)
    return told_before(relation, schema.columns, plan, output_format(target, format)) if isinstance(target, Path) else ()


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


def _job(
    engine: Engine,
    relation: Relation,
    plan: Plan,
    names: Sequence[str],
    steps: dict[str, ExpressionStep],
    unit: str | None,
    class_map: Any,
    kept: Any,
    stack: ExitStack,
    compared: Sequence[str],
    progress: Progress | None,
) -> tuple[Job, Callable[[], tuple[int, int]]]:
    """The rows to write, and what tells afterwards how many records were read and how many of them are outside a sample.

    They come in SQL from the source's own engine, or in batches where a step needs them; suppression after such steps is
    applied in a private table.
    """
    folder = stack.enter_context(scratch())
    held = HELD if engine.memory is None else min(HELD, left_for_data(engine.memory) // 4)
    suppresses = bool(suppression_columns(plan, names, kept))
    worker, counted = engine, None
    if not any(is_staged(s) for s in plan.steps):
        source = published(engine, relation, names, steps, unit, class_map, stack, compared=compared)
    else:
        staging = Staging(names, plan, folder, held)
        tables = staging.load(engine, relation, steps, unit, class_map, stack, compared)
        counted = lambda: (staging.rows_read, staging.left_out)  # noqa: E731
        worker = DuckDB(stable_order=True)
        stack.callback(worker.close)
        worker.limit_memory(engine.memory)
        stack.enter_context(worker.sparing())
        plan = replace(plan, shuffle=plan.shuffle or staging.unordered)
        if not suppresses:
            expected = expected_rows(engine, relation, progress)
            given = lambda: tables  # noqa: E731
            return Job(worker, given, staging.columns, staging.flagged, plan, folder, held, expected, progress), counted
        source = _in_a_table(worker, staging, tables, unit is not None)
    rows = suppressed(worker, source, plan, kept, stack)
    records = engine.count_rows(relation) if suppresses and counted is None else expected_rows(engine, relation, progress)
    stream = lambda: worker.stream(unordered(rows))  # noqa: E731
    job = Job(worker, stream, rows.columns, rows.flagged, plan, folder, held, records, progress, rows)
    return job, counted or (lambda: (records if suppresses else job.written, 0))


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


def _chain(first: Any, rest: Iterator[Any]) -> Iterator[Any]:
    yield first
    yield from rest


def _report(
    job: Job,
    schema: Schema,
    names: Sequence[str],
    records: int,
    unsampled: int,
    out: str,
    target: Path | str,
    dropped: set[str],
) -> Recoded:
    changed = dict.fromkeys(schema.names, 0.0)
    for i in job.flagged:
        changed[names[i]] = job.flags[f"g{i}"] / max(1, job.written)
    changed |= dict.fromkeys(dropped, 1.0)
    lost = job.flags["h"] if "h" in job.flags else records - unsampled - job.written
    files = (os.fspath(target),) if isinstance(target, Path) else ()
    if job.progress is not None:
        job.progress(1.0, "written")
    return Recoded(records, job.written, lost, changed, out, files, unsampled)
