"""RECODE: apply a plan and write the result, whole or not at all."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.disk.atomic import hold, is_left, passing_name, scratch, write_private
from shoal.engines.connect import is_url, refuse_misspelt
from shoal.engines.core.base import Engine, Relation
from shoal.engines.core.kinds import no_rows
from shoal.engines.core.memory import left_for_data
from shoal.engines.core.stored_types import whole_durations
from shoal.engines.count.by_codes import KeptCodes
from shoal.engines.duckdb.engine import DuckDB
from shoal.engines.files.formats import in_database
from shoal.engines.files.losses import expected_losses, written_losses
from shoal.engines.files.readers import expected_rows
from shoal.engines.files.statistical.read import need_names
from shoal.engines.files.writers import output_format, write_file
from shoal.engines.recode.batch_steps import cut_on_batches, in_their_order, label_steps
from shoal.engines.recode.by_codes import can_recode, recode_by_codes
from shoal.engines.recode.job import Job
from shoal.engines.recode.spill import HELD
from shoal.engines.recode.sql import Published, published, suppressed, suppression_columns, unordered
from shoal.engines.recode.staging import Staging, is_staged
from shoal.errors import UnreadableError, UsageError
from shoal.model.display import Progress
from shoal.model.plan import ColumnStep, Plan, RowStep
from shoal.model.roles import Schema
from shoal.model.seed import PRIVATE_ENDING, PRIVATE_FORMAT
from shoal.steps import Drop, ExpressionStep, Keep
from shoal.steps.sql import aliased, column, exp, select

if TYPE_CHECKING:
    import pyarrow as pa

NOTE = "Anyone who has this file can undo the random changes of the output. Keep it apart from it."


def place_of(out: Path) -> Path:
    """Where the seed of an output is kept: ``out.csv`` → ``out.csv.private.json``."""
    return out.with_name(out.name + PRIVATE_ENDING)


@contextmanager
def kept_beside(out: Path, seed: int | None) -> Iterator[Path | None]:
    """Keep ``seed`` beside ``out`` once the block has written it; None: nothing was drawn.

    A private file of an earlier output of the same name goes with that output.
    """
    place = place_of(out)
    _rescue(out.parent)
    if seed is None:
        yield None
        return
    hidden, handle = out.with_name(passing_name("kept")), None
    try:
        keep_seed(hidden, seed, out.name)
        handle = hold(hidden)
        yield place
        hidden.replace(place)
    finally:
        hidden.unlink(missing_ok=True)
        if handle is not None:
            os.close(handle)


def _rescue(folder: Path) -> None:
    """What killed runs left: a seed whose output is there, written after it, gets its name; one without an output is removed."""
    for left in folder.glob(".shoal-kept-*"):
        with suppress(OSError, ValueError, KeyError, TypeError):
            if not is_left(left):
                continue
            out = folder / Path(json.loads(left.read_text(encoding="utf-8"))["output"]).name
            if out.exists() and not place_of(out).exists() and out.stat().st_mtime_ns >= left.stat().st_mtime_ns:
                left.replace(place_of(out))
        with suppress(OSError):
            if is_left(left):
                left.unlink()


def keep_seed(path: Path, seed: int, output: str) -> None:
    """A private file with the seed of an output; never over another."""
    content = {"format": PRIVATE_FORMAT, "note": NOTE, "output": output, "seed": seed}
    write_private(path, json.dumps(content, indent=1) + "\n")


def read_seed(path: str | Path) -> int:
    """The seed of a private file, of an output or of a release."""
    try:
        data: Any = json.loads(Path(path).read_text(encoding="utf-8"))
        if data["format"] != PRIVATE_FORMAT or isinstance(data["seed"], bool):
            raise ValueError
        return int(data["seed"])
    except OSError as error:
        raise UnreadableError(f"the private file cannot be read: {type(error).__name__}.", hint="Check its path.") from None
    except (ValueError, KeyError, TypeError):
        raise UnreadableError("the private file is not one that Shoal wrote.", hint=f"It ends in {PRIVATE_ENDING}.") from None


@dataclass(frozen=True)
class Recoded:
    """What RECODE did.

    ``changed`` is, per column of the input, the share of the published records whose cell differs from the original, by the
    column's step or by suppression of cells; a dropped column counts as 1. Records left out are in ``suppressed``, not here.
    ``suppressed`` counts records left out (scope ``rows``) or with blanked quasi-identifiers (``cells``). Records outside a
    sample are neither: they are in ``unsampled``. ``drawn`` is the seed of random steps where none was stated; for a file it is
    kept in ``private_file`` beside it, for a table the caller must keep it. ``not_kept`` says what the format of the file
    cannot hold, or what was not carried over. ``parts_at`` is where the engine sees the folder of files that it wrote itself.
    ``codes`` are, by column, the codes that are new in a file of SPSS or Stata, with the texts that they stand for.
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
    codes: Mapping[str, Mapping[str, str]] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Recoding:
    """A plan to apply to a table, and what follows from both.

    ``seeded`` is the plan with its seed; in ``plan`` each step that follows another on its column is a step on batches. ``form``
    is the format of the file, empty for a table.
    """

    engine: Engine
    relation: Relation
    schema: Schema
    seeded: Plan
    plan: Plan
    kept: pa.Table | None
    class_map: pa.Table | None
    progress: Progress | None
    form: str = ""
    raw: bool = False

    @cached_property
    def steps(self) -> dict[str, ExpressionStep]:
        """The expression step of each column that has one."""
        return expression_steps(self.plan, self.schema)

    @cached_property
    def names(self) -> list[str]:
        """The published columns."""
        dropped = {s.column for s in self.plan.steps if isinstance(s, Drop)}
        return [n for n in self.schema.names if n not in dropped]

    @cached_property
    def unit(self) -> str | None:
        """The column that names people, where suppression counts them."""
        rule = self.plan.suppression
        unit = rule.unit if rule.scope != "none" and self.kept is None else None
        return unit if unit is None else self.schema.require(unit, what="unit")

    @cached_property
    def compared(self) -> list[str]:
        """Columns that classes are formed of: they are compared in their kind, so that no two engines differ."""
        mapped = [] if self.class_map is None else list(self.class_map.column_names)
        return [*suppression_columns(self.plan, self.names, self.kept), *mapped, *([self.unit] if self.unit is not None else [])]

    def as_labels(self) -> dict[str, ExpressionStep] | None:
        """All steps as labels of values, if the table can be recoded by codes; None if not."""
        if any(isinstance(s, ColumnStep | RowStep) for s in self.plan.steps):
            return None
        labels = label_steps(self.plan, self.steps, self.schema)
        if labels is None:
            return None
        coded = {*labels, *self.compared}
        return labels if can_recode(self.relation, self.names, self.plan, self.engine.memory, coded) else None

    def cut_on_batches(self) -> Recoding:
        """The same with long cuts on batches, where no class is formed and the rows are read from a file."""
        if self.relation.reader is None or self.class_map is not None or self.compared:
            return self
        return replace(self, plan=cut_on_batches(self.plan, self.schema))

    def done(self, records: int, written: int, changed: Mapping[str, int], target: Path | str, **more: Any) -> Recoded:
        """What was done: ``changed`` counts cells by column."""
        if self.progress is not None:
            self.progress(1.0, "written")
        kept = set(self.names)
        shares = {n: changed.get(n, 0) / max(1, written) if n in kept else 1.0 for n in self.schema.names}
        files = (os.fspath(target),) if isinstance(target, Path) else ()
        return Recoded(records, written, changed=shares, path=str(target), files=files, **more)


def recode(
    engine: Engine,
    relation: Relation,
    schema: Schema,
    plan: Plan,
    out: str | Path,
    *,
    kept: pa.Table | None = None,
    class_map: pa.Table | None = None,
    format: str | None = None,
    raw: bool = False,
    progress: Progress | None = None,
    parts: bool = False,
    at_hand: KeptCodes | None = None,
) -> Recoded:
    """See :meth:`shoal.engines.table.Table.recode`."""
    seeded = plan.seeded()
    run = Recoding(engine, relation, schema, seeded, in_their_order(seeded, schema), kept, class_map, progress)
    expression_steps(run.plan, schema)
    if not run.names:
        raise UsageError("the plan leaves no column.", hint="Keep at least one column.")
    target = _target(out, format)
    _keep_source(target, relation)
    if isinstance(target, Path):
        run = replace(run, form=output_format(target, format), raw=raw)
        need_names(run.names, run.form)
    if progress is not None:
        progress(0.0, "reading")
    if not isinstance(target, Path):
        return _write(run if target.startswith("::") else run.cut_on_batches(), target, drawn=_drawn_seed(seeded, plan))
    labels = run.as_labels()
    if labels is not None:
        return _write_by_codes(run, labels, target, at_hand)
    return _write(run.cut_on_batches(), target, drawn=_drawn_seed(seeded, plan), parts=parts)


def _drawn_seed(seeded: Plan, plan: Plan) -> int | None:
    return seeded.seed if seeded.seed != plan.seed else None


def _write(run: Recoding, target: Path | str, *, drawn: int | None, parts: bool = False) -> Recoded:
    """By the engine, and in batches where a step needs them."""
    with ExitStack() as stack:
        stack.enter_context(run.engine.snapshot())
        stack.enter_context(run.engine.sparing(len(run.names)))
        job, counted = _job(run, stack)
        private, losses, parts_at, codes = None, tuple[str, ...](), "", dict[str, dict[str, str]]()
        if isinstance(target, Path):
            with kept_beside(target, drawn) as private:
                if parts and run.form == "parquet" and job.can_be_parts(run.engine, target):
                    parts_at = job.to_parts(target)
                else:
                    codes = job.to_file(target, run.form, run.raw, hidden_columns(run.plan, run.names, run.kept))
                losses = written_losses(run.relation, job.columns, run.seeded, run.form)
        else:
            job.to_table(run.engine, target)
        records, unsampled = counted()
        losses += tuple(sentence for step in run.seeded.steps for sentence in step.messages(records - unsampled))
    return run.done(
        records,
        job.written,
        {run.names[i]: job.flags[f"g{i}"] for i in job.flagged},
        target,
        suppressed=job.flags["h"] if "h" in job.flags else records - unsampled - job.written,
        unsampled=unsampled,
        drawn=drawn,
        private_file=None if private is None else str(private),
        not_kept=losses,
        parts_at=parts_at,
        codes=codes,
    )


def _write_by_codes(run: Recoding, labels: Mapping[str, ExpressionStep], path: Path, at_hand: KeptCodes | None) -> Recoded:
    """Files and frames whose codes fit in memory: two to four times less processor time than SQL."""
    rows = recode_by_codes(run.relation, run.names, labels, run.plan, run.unit, run.kept, run.progress, at_hand, run.class_map)
    with closing(rows.batches(run.progress, dictionaries=run.form == "parquet")) as batches:
        first = next(batches)
        hidden = hidden_columns(run.plan, run.names, run.kept)
        codes = write_file(path, run.form, first.schema, chain([first], batches), rows.columns, raw=run.raw, hidden=hidden)
    written, losses = len(rows.order), written_losses(run.relation, rows.columns, run.seeded, run.form)
    return run.done(rows.records, written, rows.changed, path, suppressed=rows.records - written, not_kept=losses, codes=codes)


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


def hidden_columns(plan: Plan, names: Sequence[str], kept: pa.Table | None) -> frozenset[str]:
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
        stack.enter_context(worker.sparing(len(run.names)))
        plan = replace(plan, shuffle=plan.shuffle or staging.unordered)
        if not suppresses:
            expected = expected_rows(engine, relation, run.progress)
            job = Job(worker, lambda: tables, staging.columns, staging.flagged, plan, folder, held, expected, run.progress)
            return job, lambda: (staging.rows_read, staging.left_out)
        source = _in_a_table(worker, staging, tables, run.unit is not None)
    rows = suppressed(worker, source, plan, run.kept, stack)
    counts = suppresses and staging is None
    records = engine.count_rows(relation) if counts else expected_rows(engine, relation, run.progress)
    given = lambda: worker.stream(unordered(rows))  # noqa: E731
    job = Job(worker, given, rows.columns, rows.flagged, plan, folder, held, records, run.progress, rows)
    if staging is not None:
        return job, lambda: (staging.rows_read, staging.left_out)
    return job, lambda: (records if suppresses else job.written, 0)


def _in_a_table(worker: DuckDB, staging: Staging, tables: Iterator[pa.Table], has_unit: bool) -> Published:
    """Staged rows in a private table, which spills to disk: classes can then be counted in SQL."""
    whole = (whole_durations(t) for t in tables)
    batches = (b for t in whole for b in t.combine_chunks().to_batches() or [no_rows(t.schema)])
    worker.load_table("staged", batches, ())
    picked = [f"p{i}" for i in range(len(staging.columns))] + [f"g{i}" for i in staging.flagged] + (["u"] if has_unit else [])
    query = select([column(p, "z") for p in picked], aliased(exp.table_("staged", quoted=True), "z"))
    return Published(query, staging.columns, tuple(staging.flagged), has_unit)


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
