"""``shoal check``: a gate for pipelines."""

# no "from __future__ import annotations": typer would compile every annotation again, and --help would wait for it

from pathlib import Path
from typing import Annotated

import typer

from shoal.cli import _shared
from shoal.cli._shell import common, texts
from shoal.cli._shell.preview import show_preview


def register(app: typer.Typer) -> None:
    app.command("check")(check)


def check(
    tables: Annotated[list[str], typer.Argument(metavar="TABLE...", help="Files, or ENGINE-URL::table.")],
    policy: Annotated[Path | None, typer.Option("--policy", help="The policy (YAML); or say it in words: --quasi, --k …")] = None,
    quasi: common.Quasi = None,
    sensitive: common.Sensitive = None,
    direct: common.Direct = None,
    insensitive: common.Insensitive = None,
    rest: common.Rest = None,
    unit: common.Unit = None,
    weight: common.Weight = None,
    scale: common.Scale = None,
    order: common.Order = None,
    missing_values: common.MissingValues = None,
    k: Annotated[int | None, typer.Option("--k", help="Everybody must be alike with at least k - 1 others.")] = None,
    form: Annotated[str, typer.Option("--format", help="text, json, junit, sarif or md.")] = "text",
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write the result to a file instead of stdout.")] = None,
    read: common.Read = None,
    rename_duplicates: common.RenameDuplicates = False,
    statement_timeout: common.StatementTimeout = None,
    only_aggregates: common.OnlyAggregates = False,
    preview: common.Preview = False,
    as_json: common.Json = False,
    qi: common.Qi = None,
) -> None:
    """Does a table (or each of several) meet a policy? Exit code 0 if so, 1 if not. The output holds counts only."""
    import shoal
    from shoal.disk.atomic import write_text
    from shoal.release.gate.result import FORMATS, render_all

    if form not in FORMATS:
        raise typer.BadParameter(f"format '{form}' is not known; use {', '.join(FORMATS)}.")
    words = texts.asked(
        policy, k=k, quasi=quasi, qi=qi, sensitive=sensitive, direct=direct, insensitive=insensitive, unit=unit, weight=weight
    )
    words |= {"rest": rest} if rest is not None else {}
    options = texts.read_options(
        read, rename=rename_duplicates, timeout=statement_timeout, only_aggregates=only_aggregates
    ) | texts.properties(scale, missing_values, order)
    if preview:
        show_preview("check", tables, options, as_json=as_json, policy=policy, **words)
        return
    with _shared.progress("counting") as told:
        results = [shoal.check(shoal.open(table, **options), policy, progress=told, **words) for table in tables]
    text = render_all(results, "json" if as_json else form)
    if out is not None:
        write_text(out, text)
    else:
        typer.echo(text, nl=False)
    met = all(r.met for r in results)
    if form == "text" and not as_json:
        mend = f"shoal anonymize {_shared.named(tables[0])} --draft policy.yml makes a table that meets it."
        _shared.next_step("it can go on; --format junit --out k.xml keeps the verdict for a pipeline." if met else mend)
    if not met:
        raise typer.Exit(1)
