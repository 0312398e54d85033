"""``shoal transform``: carry out a plan on a table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli import _shared

if TYPE_CHECKING:
    from shoal.engines.recode.write import Recoded
    from shoal.model.plan import Plan


def register(app: typer.Typer) -> None:
    app.command("transform")(transform)


def transform(
    table: Annotated[str, typer.Argument(metavar="TABLE", help="A file, or ENGINE-URL::table.")],
    plan: Annotated[Path, typer.Option("--plan", help="What to do: a page of YAML, or a plan.json that Shoal wrote.")],
    out: Annotated[str | None, typer.Option("--out", help="File to write, or ::name for a table beside this one.")] = None,
    seed: Annotated[int | None, typer.Option("--seed", help="Instead of the plan's: same input and seed, same bytes.")] = None,
    save_plan: Annotated[
        Path | None, typer.Option("--save-plan", help="Write the finished plan as JSON. Keep its seed secret.")
    ] = None,
    read: _shared.Read = None,
    as_json: _shared.Json = False,
) -> None:
    """Carry out a plan (generalize, suppress, noise, swap, mask, sample …) and tell what changed. For a proof, see anonymize."""
    from dataclasses import replace

    import shoal
    from shoal.api.transform import read_plan
    from shoal.errors import UsageError

    if out is None and save_plan is None:
        raise UsageError("there is nowhere to write to.", hint="Give --out FILE, or --save-plan FILE to see the plan only.")
    with shoal.open(table, **_shared.read_options(read)) as opened, _shared.progress("transforming") as told:
        made = read_plan(plan, opened)
        if seed is not None:
            made = replace(made, seed=seed)
        done = opened.recode(made, out, progress=told) if out is not None else None
    if save_plan is not None:
        from shoal.disk.atomic import write_text

        write_text(save_plan, made.to_json())
    found = _found(made, done)
    if as_json:
        _shared.put_json(found)
    else:
        _tell(found, out)


def _found(plan: Plan, done: Recoded | None) -> dict[str, Any]:
    from shoal.transform import guarantee

    steps = []
    for step in plan.steps:
        said = guarantee(step)
        steps.append(
            {
                "kind": step.kind,
                "columns": list(step.columns),
                "changed": {c: done.changed[c] for c in step.columns} if done is not None else None,
                "truthful": step.truthful,
                "keeps": said.keeps,
                "loses": said.loses,
            }
        )
    out: dict[str, Any] = {"truthful": plan.truthful, "steps": steps}
    if done is not None:
        out |= {
            "records_in": done.records_in,
            "records_out": done.records_out,
            "unsampled": done.unsampled,
            "suppressed": done.suppressed,
            "changed": dict(done.changed),
        }
    return out


def _tell(found: dict[str, Any], out: str | None) -> None:
    rows = []
    for step in found["steps"]:
        changed = ", ".join(f"{c} {share:.1%}" for c, share in (step["changed"] or {}).items())
        rows.append([step["kind"], ", ".join(step["columns"]), changed, "yes" if step["truthful"] else "no", step["keeps"]])
    heads = ["step", "columns", "cells changed", "true", "keeps"]
    _shared.console().print(_shared.table_of("Steps", heads, rows))
    if "records_out" in found:
        typer.echo(
            f"{found['records_out']:,} of {found['records_in']:,} records written to {out}; {found['unsampled']:,} outside the "
            f"sample, {found['suppressed']:,} suppressed."
        )
    if not found["truthful"]:
        typer.echo("Some published values are not true of their person. Keep the seed as secret as the table.")
