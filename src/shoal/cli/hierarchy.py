"""``shoal hierarchy``: look at the levels of a column before they are used, check a file, write a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.cli import _shared
from shoal.cli._shell import common, texts
from shoal.cli._shell.preview import show_preview


def register(app: typer.Typer) -> None:
    app.command("hierarchy")(hierarchy)


def hierarchy(
    table: common.Table,
    column: Annotated[str, typer.Option("--column", help="The column.")],
    rule: Annotated[
        str | None,
        typer.Option("--hierarchy", help="'{intervals: [5, 10]}' as in a policy, or an ARX file."),
    ] = None,
    k: Annotated[int, typer.Option("--k", min=1, help="Count groups of fewer records without naming them.")] = 5,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write the levels as an ARX file (value;level 1;…).")] = None,
    public: Annotated[bool, typer.Option("--public", help="The values are public knowledge: also write rare ones.")] = False,
    read: common.Read = None,
    rename_duplicates: common.RenameDuplicates = False,
    statement_timeout: common.StatementTimeout = None,
    only_aggregates: common.OnlyAggregates = False,
    preview: common.Preview = False,
    as_json: common.Json = False,
) -> None:
    """Preview the levels of a column: groups per level, smallest, largest, and how many are below k."""
    import shoal

    reading = texts.read_options(read, rename=rename_duplicates, timeout=statement_timeout, only_aggregates=only_aggregates)
    if preview:
        show_preview("hierarchy", table, reading, as_json=as_json, column=column, rule=_parsed(rule), k=k)
        return
    with shoal.open(table, **reading) as opened:
        found = shoal.hierarchy(opened, column=column, rule=_parsed(rule), k=k)
    if out is not None:
        found.write(out, public=public)
    if as_json:
        _shared.put_json(found.to_json())
        return
    if out is not None and found.rare:
        _shared.line(_about_rare(len(found.rare), k, public=public))
    if found.why:
        _shared.line(f"guessed  {_shared.printable(found.why)}")
    lines = []
    for p in found.levels:
        numbers = [str(n) for n in (p.level, p.groups, p.smallest, p.largest, p.below_k)]
        lines.append([*numbers, ", ".join(f"{n} ({c})" for n, c in p.shown[:4])])
    heads = ["level", "groups", "smallest", "largest", f"below {k}", "largest groups"]
    _shared.console().print(_shared.table_of(f"Levels of {_shared.printable(column)}", heads, lines, right=(0, 1, 2, 3, 4)))
    for message in found.findings:
        _shared.line(f"lint  {_shared.printable(message)}")
    source = _shared.named(table)
    if out is None:
        _shared.next_step(f"shoal hierarchy {source} --column {column} --out levels.csv writes them, to be corrected by hand.")
    else:
        _shared.next_step(f"name {out} as the column's hierarchy in the policy of shoal anonymize {source} --draft policy.yml")


def _about_rare(rare: int, k: int, *, public: bool) -> str:
    values = f"{rare:,} value{'s' if rare > 1 else ''} with fewer than {k} records"
    if public:
        return f"The file contains {values} (--public)."
    return (
        f"{values} {'are' if rare > 1 else 'is'} not written to the file, and suppressed if you use it. "
        "If the list of values is public knowledge: --public."
    )


def _parsed(rule: str | None) -> Any:
    """A file name or word as it is; a mapping from its YAML."""
    if rule is None or not rule.strip().startswith("{"):
        return rule
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    from shoal.errors import PolicyError

    try:
        return json.loads(json.dumps(YAML(typ="safe", pure=True).load(rule), default=str))
    except (YAMLError, ValueError):
        raise PolicyError("Invalid --hierarchy.", hint="Write it as in a policy: '{intervals: [5, 10], top: 90}'.") from None
