"""``shoal transform``: carry out a plan on a table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.cli import _shared


def register(app: typer.Typer) -> None:
    app.command("transform")(transform)


def transform(
    table: _shared.Table,
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
    import shoal
    from shoal.disk.atomic import write_text
    from shoal.errors import UsageError

    if out is None and save_plan is None:
        raise UsageError("there is nowhere to write to.", hint="Give --out FILE, or --save-plan FILE to see the plan only.")
    with shoal.open(table, **_shared.read_options(read)) as opened, _shared.progress("transforming") as told:
        found = shoal.transform(opened, plan, out, seed=seed, progress=told)
    if save_plan is not None:
        write_text(save_plan, found.plan.to_json())
    if as_json:
        _shared.put_json(found.to_json())
    else:
        _tell(found.to_json(), out)


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
