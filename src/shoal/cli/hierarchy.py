"""``shoal hierarchy``: look at the levels of a column before they are used, check a file, write a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.cli import _shared


def register(app: typer.Typer) -> None:
    app.command("hierarchy")(hierarchy)


def hierarchy(
    table: Annotated[str, typer.Argument(metavar="TABLE", help="A file, or ENGINE-URL::table.")],
    column: Annotated[str, typer.Option("--column", help="The column.")],
    rule: Annotated[
        str | None,
        typer.Option(
            "--hierarchy", help="As in a policy: '{intervals: [5, 10]}', a file of ARX; left out: guessed from the data."
        ),
    ] = None,
    k: Annotated[int, typer.Option("--k", min=1, help="Groups of fewer records are counted, not named.")] = 5,
    out: Annotated[Path | None, typer.Option("--out", help="Write the levels as a file of ARX (value;level 1;…).")] = None,
    read: _shared.Read = None,
    as_json: _shared.Json = False,
) -> None:
    """Levels of a hierarchy over a column: groups per level, smallest and largest, how many below k; and what lint finds."""
    import shoal
    from shoal.hierarchies import from_policy, infer, lint, preview, write_arx

    with shoal.open(table, **_shared.read_options(read)) as opened:
        opened.schema.require(column)
        values, counts = opened.values(column)
        there = values.is_valid().to_numpy(zero_copy_only=False)
        values, counts = values.drop_null(), counts[there]
        spec = _parsed(rule)
        made = infer(opened.schema[column], values, counts) if spec is None else from_policy(spec).fit(column, values, counts)
    rows = getattr(made, "rows", None)
    findings = [f.message for f in lint(rows, values=_texts(values), counts=counts)] if rows is not None else []
    levels = made.over(column, values, counts)
    shown = preview(levels, counts, k=k)
    if out is not None:
        write_arx(levels, out)
    if as_json:
        parts = [{n: getattr(p, n) for n in ("level", "groups", "smallest", "largest", "below_k")} for p in shown]
        for part, p in zip(parts, shown, strict=True):
            part["shown"] = [{"label": label, "records": n} for label, n in p.shown]
        _shared.put_json(
            {"column": column, "rule": made.kind, "why": getattr(made, "why", ""), "levels": parts, "lint": findings}
        )
        return
    if getattr(made, "why", ""):
        typer.echo(f"guessed  {_shared.printable(made.why)}")
    lines = [
        [
            str(p.level),
            str(p.groups),
            str(p.smallest),
            str(p.largest),
            str(p.below_k),
            ", ".join(f"{n} ({c})" for n, c in p.shown[:4]),
        ]
        for p in shown
    ]
    heads = ["level", "groups", "smallest", "largest", f"below {k}", "largest groups"]
    _shared.console().print(_shared.table_of(f"Levels of {_shared.printable(column)}", heads, lines, right=(0, 1, 2, 3, 4)))
    for message in findings:
        typer.echo(f"lint  {_shared.printable(message)}")


def _texts(values: Any) -> list[str]:
    from shoal.kernels.text import canonical_text

    return [str(t) for t in canonical_text(values).to_pylist()]


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
        raise PolicyError(
            "the hierarchy is not understood.", hint="Write it as in a policy: '{intervals: [5, 10], top: 90}'."
        ) from None
