"""``transform``: apply a plan on a table and tell what changed. No proof: for that, see ``anonymize``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from shoal.api.arguments import Source, opened
from shoal.api.plan_files import plan_for, read_plan
from shoal.engines.core.memory import WRITTEN, WRITTEN_AT_MOST
from shoal.engines.exclusion import leave_out
from shoal.engines.recode.private_seed import read_seed
from shoal.engines.recode.write import Recoded
from shoal.engines.table import Table
from shoal.errors import UsageError
from shoal.model.display import Progress
from shoal.model.exclusion import Excluded
from shoal.model.plan import Plan
from shoal.techniques import Guarantee
from shoal.techniques.guarantees import guarantees


@dataclass(frozen=True, repr=False)
class Transformed:
    """The finished plan, and what it did; ``done`` is None where nothing was written.

    ``plan`` holds the seed of random steps: anyone who has it can undo them. ``plan.without_seed()`` may be shown. Where the seed
    was drawn, it is also in :attr:`private_file`, beside the file that was written.
    """

    plan: Plan
    done: Recoded | None = None
    excluded: Excluded | None = None

    def __repr__(self) -> str:
        steps = f"steps {len(self.plan.steps)}, {'' if self.plan.truthful else 'not '}truthful"
        if self.done is None:
            return f"<Transformed: {steps}, nothing written>"
        return f"<Transformed: {steps}, {self.done.records_out:,} of {self.done.records_in:,} records written>"

    @property
    def truthful(self) -> bool:
        """Whether every published value is still true of its person."""
        return self.plan.truthful

    @property
    def private_file(self) -> Path | None:
        """The file that keeps a drawn seed; None where none was drawn, or a table was written."""
        return Path(self.done.private_file) if self.done is not None and self.done.private_file else None

    @property
    def guarantees(self) -> tuple[Guarantee, ...]:
        """What each step of the plan keeps and loses."""
        return guarantees(self.plan)

    def to_json(self) -> dict[str, Any]:
        done, steps = self.done, []
        for step, said in zip(self.plan.steps, self.guarantees, strict=True):
            changed = None if done is None else {c: done.changed[c] for c in step.columns}
            about = {"kind": step.kind, "columns": list(step.columns), "changed": changed, "truthful": said.truthful}
            steps.append({**about, "keeps": said.keeps, "loses": said.loses})
        out: dict[str, Any] = {"truthful": self.truthful, "steps": steps}
        if done is not None:
            out |= {
                "records_in": done.records_in,
                "records_out": done.records_out,
                "unsampled": done.unsampled,
                "suppressed": done.suppressed,
                "changed": dict(done.changed),
                "private_file": done.private_file,
                "not_kept": list(done.not_kept),
            }
        if self.excluded is not None:
            out["excluded"] = self.excluded.to_json()
        return out


def transform(
    table: Source,
    plan: Plan | Mapping[str, Any] | str | Path,
    out: str | Path | None = None,
    *,
    seed: int | None = None,
    private: str | Path | None = None,
    format: str | None = None,
    exclude: str | Path | Iterable[Any] | None = None,
    exclude_by: str | None = None,
    progress: Progress | None = None,
) -> Transformed:
    """Apply a plan: generalize, suppress, add noise, swap, mask, sample …

    Parameters
    ----------
    table : Table, path, URL or frame
        Anything that :func:`shoal.open` accepts, or a table that it returned.
    plan : Plan, mapping or path
        A page of YAML, its content as a mapping, or a plan.json that Shoal wrote.
    out : path or ``::name``, optional
        A file, or a new table beside this one. Without it the plan is made and nothing is written.
    seed : int, optional
        Instead of the plan's: same input and seed, same bytes. At least 16 digits where a step is random; without one a
        secret seed is drawn and kept beside the output.
    private : path, optional
        The private file of an earlier run, instead of ``seed``: repeats it.
    format : str, optional
        Of the file, where its ending does not tell it.
    exclude, exclude_by : optional
        Opt-outs (a file with one id per line, ``FILE:column``, or the ids), and the column that holds
        their ids; the person column (``unit``) by default. Their rows are left out first.

    Examples
    --------
    >>> found = transform({"pay": [12.0, 17.0]}, {"steps": [{"column": "pay", "round": {"base": 10}}]})
    >>> found.plan.steps[0].kind, found.truthful, found.done
    ('round', True, None)
    """
    source, told = opened(table), None
    if exclude is not None:
        left = leave_out(source, exclude, exclude_by)
        source, told = left.table, left.told
    if out is not None:
        source.check_written("writing this table", WRITTEN, WRITTEN_AT_MOST)
    made = _plan(source, plan)
    if private is not None:
        if seed is not None:
            raise UsageError("the seed is given twice.", hint="Give seed or private, not both.")
        seed = read_seed(private)
    if seed is not None:
        made = replace(made, seed=seed)
    if out is None:
        if made.seed:
            made.seeded()  # a seed that could be guessed is refused here already
        return Transformed(made, excluded=told)
    done = source.recode(made, out, format=format, progress=progress)
    return Transformed(made if done.drawn is None else replace(made, seed=done.drawn), done, told)


def _plan(table: Table, plan: Plan | Mapping[str, Any] | str | Path) -> Plan:
    if isinstance(plan, Plan):
        return plan
    return read_plan(plan, table) if isinstance(plan, str | Path) else plan_for(table, plan)
