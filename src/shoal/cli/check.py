"""``shoal check``: a gate for pipelines."""

# no "from __future__ import annotations": typer would compile every annotation again, and --help would wait for it

from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.cli import _shared
from shoal.cli._shell import common, texts
from shoal.cli._shell.options import from_verb
from shoal.cli._shell.preview import show_preview


def register(app: typer.Typer) -> None:
    app.command("check")(check)


@from_verb(
    "arguments:PolicyOptions",
    shared=("quasi", "qi", "sensitive", "direct", "insensitive", "rest", "unit", "weight", "k"),
    reading=("read", "rename_duplicates", "only_aggregates", "scale", "order", "missing_values"),
)
def check(
    tables: Annotated[list[str], typer.Argument(metavar="TABLE...", help="Files, or ENGINE-URL::table.")],
    verb_options: dict[str, Any],
    reading: dict[str, Any],
    policy: Annotated[
        Path | None, typer.Option("--policy", metavar="FILE", help="Policy (YAML); or use --quasi, --k and other options.")
    ] = None,
    form: Annotated[str, typer.Option("--format", metavar="FORMAT", help="text, json, junit, sarif or md.")] = "text",
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="Write the result to a file instead of stdout.")
    ] = None,
    preview: common.Preview = False,
    as_json: common.Json = False,
) -> None:
    """Check if tables meet a policy. Exit code 0 if all do, 1 if not. The output contains counts only."""
    import shoal
    from shoal.disk.atomic import write_text
    from shoal.release.gate.result import FORMATS, render_all

    if form not in FORMATS:
        raise typer.BadParameter(f"Unknown format '{form}'. Choose {', '.join(FORMATS)}.")
    texts.require_policy(policy, verb_options)
    if preview:
        show_preview("check", tables, reading, as_json=as_json, policy=policy, **verb_options)
        return
    with _shared.progress("counting") as progress:
        how = texts.read_as_policy(policy, reading)
        opened = [shoal.open(table, **how) for table in tables]
        for one in opened:
            _shared.tell_repairs(one.source)
        results = [shoal.check(one, policy, progress=progress, **verb_options) for one in opened]
    text = render_all(results, "json" if as_json else form)
    if out is not None:
        write_text(out, text)
    elif form == "text" and not as_json:
        for line in text.splitlines():
            _shared.line(line)
    else:
        typer.echo(text, nl=False)
    met = all(r.met for r in results)
    if form == "text" and not as_json:
        mend = f"shoal anonymize {_shared.named(tables[0])} --draft policy.yml makes a table that meets it."
        _shared.next_step("continue; --format junit --out k.xml keeps the verdict for a pipeline." if met else mend)
    if not met:
        raise typer.Exit(1)
