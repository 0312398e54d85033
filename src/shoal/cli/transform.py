"""``shoal transform``: carry out a plan on a table."""

from __future__ import annotations

import re
import secrets
from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.cli import _shared
from shoal.cli._shell import common, texts
from shoal.cli._shell.preview import show_preview


def register(app: typer.Typer) -> None:
    app.command("transform")(transform)


def transform(
    table: common.Table,
    plan: Annotated[Path, typer.Option("--plan", help="The plan: a YAML file, or a plan.json that Shoal wrote.")],
    out: Annotated[str | None, typer.Option("--out", "-o", help="File to write, or ::name for a table beside this one.")] = None,
    seed: Annotated[int | None, typer.Option("--seed", help="Seed of 16 digits or more, instead of the plan's.")] = None,
    private: Annotated[Path | None, typer.Option("--private", help="OUT.private.json of an earlier run: repeat it.")] = None,
    save_plan: Annotated[
        Path | None, typer.Option("--save-plan", help="Write the finished plan as JSON, without its seed.")
    ] = None,
    exclude: common.Exclude = None,
    exclude_by: common.ExcludeBy = None,
    read: common.Read = None,
    rename_duplicates: common.RenameDuplicates = False,
    statement_timeout: common.StatementTimeout = None,
    preview: common.Preview = False,
    memory: common.Memory = None,
    as_json: common.Json = False,
) -> None:
    """Apply a plan (generalize, suppress, add noise, swap …) and report what changed, without a proof."""
    import shoal
    from shoal.disk.atomic import write_text
    from shoal.errors import UsageError

    if out is None and save_plan is None:
        raise UsageError("No output given.", hint="Pass --out FILE, or --save-plan FILE to write only the plan.")
    reading = texts.read_options(read, rename=rename_duplicates, memory=memory, timeout=statement_timeout)
    words: dict[str, Any] = {"seed": seed, "private": private, "exclude": exclude, "exclude_by": exclude_by}
    if preview:
        show_preview("transform", table, reading, as_json=as_json, plan=plan, out=out, **words)
        return
    with shoal.open(table, **reading) as opened, _shared.progress("transforming") as told:
        _shared.tell_repairs(opened.source)
        found = shoal.transform(opened, plan, **words)
        if out is not None:
            _shared.tell_losses(opened.not_kept(found.plan, out))
            found = shoal.transform(opened, found.plan, out, progress=told, **words)
    if save_plan is not None:
        write_text(save_plan, (found.plan.without_seed() if found.plan.draws else found.plan).to_json())
    told_of = found.to_json()
    if found.done is not None and found.done.drawn is not None and found.private_file is None:
        told_of["private_file"] = str(_beside_a_table(found.done.path, found.done.drawn))
    if as_json:
        _shared.put_json(told_of)
    else:
        _tell(told_of, table, out)
        if found.excluded is not None:
            _shared.line(found.excluded.sentence)


def _beside_a_table(out: str, seed: int) -> Path:
    """A new table's seed, in the folder that the command is run in."""
    from shoal.engines.recode.private_seed import keep_seed, place_of

    name = re.sub(r"[^\w.-]", "_", out.rpartition("::")[2]) or "table"
    place = place_of(Path(name))
    if place.exists():
        place = place_of(Path(f"{name}-{secrets.token_hex(4)}"))
    keep_seed(place, seed, out.rpartition("::")[2])
    return place


def _tell(found: dict[str, Any], table: str, out: str | None) -> None:
    rows = []
    for step in found["steps"]:
        changed = ", ".join(f"{c} {share:.1%}" for c, share in (step["changed"] or {}).items())
        rows.append([step["kind"], ", ".join(step["columns"]), changed, "yes" if step["truthful"] else "no", step["keeps"]])
    heads = ["step", "columns", "cells changed", "true", "keeps"]
    _shared.console().print(_shared.table_of("Steps", heads, rows))
    if "records_out" in found:
        _shared.line(
            f"{found['records_out']:,} of {found['records_in']:,} records written to {out}; {found['unsampled']:,} outside the "
            f"sample, {found['suppressed']:,} suppressed."
        )
    _shared.tell_losses(found.get("not_kept", ()), after=True)
    if not found["truthful"]:
        _shared.line("Some published values are not true of their person.")
    if found.get("private_file"):
        _shared.line(
            f"The seed of the random changes is in {found['private_file']}: keep it separate; anyone who has it can undo them. "
            f"--private {found['private_file']} repeats the run."
        )
    if out is not None:
        made = _as_typed(table, out)
        _shared.next_step(f"shoal measure {made} --quasi a,b measures it; nothing is proven yet.")


def _as_typed(table: str, out: str) -> str:
    """What was written as the next command names it: a new table by its whole address."""
    from shoal.cli._shared import shell_word, table_beside

    _, new, name = out.rpartition("::")
    return shell_word(table_beside(table if out.startswith("::") else out, name)) if new else _shared.named(out)
