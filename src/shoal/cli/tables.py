"""``shoal table``, ``hierarchy`` and ``transform``; ``import`` and ``export``: tables and codebooks of other systems."""

import json
import re
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import shoal
from shoal.cli import _shared
from shoal.cli._shared import preview_instead, shell_word, table_beside
from shoal.cli._shell import options, texts
from shoal.cli._shell.options import SHARED, Option, from_verb
from shoal.disk.atomic import write_text
from shoal.errors import PolicyError, UsageError

if TYPE_CHECKING:
    from shoal.release.counts.table import CountTable


# no "from __future__ import annotations": typer would compile every annotation again, and --help would wait for it


def register(app: typer.Typer) -> None:
    app.command("hierarchy")(hierarchy)
    app.command("table")(table)
    app.command("transform")(transform)
    app.command("import")(bring_in)
    app.command("export")(hand_out)


def _parse_rule(rule: str | None) -> Any:
    """A file name or word as it is; a mapping from its YAML."""
    if rule is None or not rule.strip().startswith("{"):
        return rule
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        return json.loads(json.dumps(YAML(typ="safe", pure=True).load(rule), default=str))
    except (YAMLError, ValueError):
        raise PolicyError("Invalid --hierarchy.", hint="Write it as in a policy: '{intervals: [5, 10], top: 90}'.") from None


@from_verb(
    "hierarchy:hierarchy",
    {
        "column": Option("The column.", "COLUMN"),
        "rule": Option("'{intervals: [5, 10]}' as in a policy, or an ARX file.", "RULE", _parse_rule, "--hierarchy", str),
        "k": Option("Count groups of fewer records without naming them.", least=1),
    },
    reading=("read", "rename_duplicates", "only_aggregates"),
)
def hierarchy(
    table: options.Table,
    verb_options: dict[str, Any],
    reading: dict[str, Any],
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write the levels as an ARX file (value;level 1;…).")] = None,
    public: Annotated[bool, typer.Option("--public", help="The values are public knowledge: also write rare ones.")] = False,
    preview: options.Preview = False,
    as_json: options.Json = False,
) -> None:
    """Preview the levels of a column: groups per level, smallest, largest, and how many are below k."""
    preview_instead(preview, "hierarchy", table, reading, as_json=as_json, **verb_options)
    with shoal.open(table, **reading) as opened:
        tree = shoal.hierarchy(opened, **verb_options)
    column, k = tree.column, tree.k
    if out is not None:
        tree.write(out, public=public)
    if as_json:
        _shared.put_json(tree.to_json())
        return
    if out is not None and tree.rare:
        _shared.line(_about_rare(len(tree.rare), k, public=public))
    if tree.why:
        _shared.line(f"guessed  {tree.why}")
    lines = []
    for p in tree.levels:
        numbers = [str(n) for n in (p.level, p.groups, p.smallest, p.largest, p.below_k)]
        lines.append([*numbers, ", ".join(f"{n} ({c})" for n, c in p.shown[:4])])
    heads = ["level", "groups", "smallest", "largest", f"below {k}", "largest groups"]
    _shared.show_table(f"Levels of {_shared.printable(column)}", heads, lines, right=(0, 1, 2, 3, 4))
    for message in tree.findings:
        _shared.line(f"lint  {message}")
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


@from_verb(
    "count_table:count_table",
    {
        "rows": Option("The column whose values are the rows.", "COLUMN"),
        "columns": Option("The column whose values are the columns.", "COLUMN"),
        "layers": Option("Further columns to cross: a,b.", "COLUMNS", texts.names),
        "unit": SHARED["unit"],
        "method": Option("suppress, or round: also round the counts that are shown.", "METHOD"),
        "public": Option("The categories are public knowledge: merge none."),
        "threshold": Option("Counts of fewer people are hidden.", least=2),
        "base": Option("Rounded to multiples of this.", least=2),
        "previous": Option("Published table of counts of the same people. Repeatable.", "FILE", kind=list[Path]),
    },
    reading=("read", "rename_duplicates", "missing_values"),
)
def table(
    table: options.Table,
    verb_options: dict[str, Any],
    reading: dict[str, Any],
    hide_zeros: Annotated[bool, typer.Option("--hide-zeros", help="Hide cells without people too.")] = False,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write the table as CSV, one line per cell.")] = None,
    preview: options.Preview = False,
    as_json: options.Json = False,
) -> None:
    """Make a table of counts to publish, with small counts hidden and not recoverable from the sums."""
    verb_options["zeros"] = not hide_zeros
    preview_instead(preview, "count_table", table, reading, as_json=as_json, **verb_options)
    with shoal.open(table, **reading) as source:
        counted = shoal.count_table(source, **verb_options)
    if out is not None:
        counted.write(out)
    if as_json:
        _shared.put_json(counted.to_json())
        return
    _print_counts(counted)
    if out is not None:
        _shared.say(f"Written to {out}.")
        _shared.next_step(f"publish {out} beside its notes; the same with another --threshold shows what that would hide.")
    else:
        _shared.next_step("the same with --out counts.csv writes it to publish.")


def _print_counts(table: "CountTable") -> None:
    for title, heads, lines in _pages(table):
        _shared.show_table(title, heads, lines, right=range(1, len(heads)))
    for sentence in table.findings:
        _shared.line(sentence)
    _shared.line(f"{table.hidden:,} of {table.cells:,} cells are hidden. {table.attack.sentence}")


def _pages(table: "CountTable") -> list[tuple[str, list[str], list[list[str]]]]:
    """A page per combination of layers: rows down, columns across, a point where a count is hidden."""
    crossed, cells = table.crossed, {row[:-1]: row[-1] for row in table.rows()}
    axes = [list(dict.fromkeys(row[a] for row in cells)) for a in range(len(crossed.columns))]
    across = axes[1] if len(axes) > 1 else [None]
    pages: dict[tuple[object, ...], list[list[str]]] = {}
    for key in dict.fromkeys(row[2:] for row in cells):
        for down in axes[0]:
            line = [cells[(down, *([right] if right is not None else []), *key)] for right in across]
            pages.setdefault(key, []).append([str(down), *("·" if n is None else f"{n:,}" for n in line)])
    heads = [crossed.columns[0], *([str(right) for right in across if right is not None] if len(axes) > 1 else ["people"])]
    named = crossed.columns[2:]
    return [
        (", ".join(f"{_shared.printable(c)}: {_shared.printable(str(v))}" for c, v in zip(named, key, strict=True)), heads, lines)
        for key, lines in pages.items()
    ]


@from_verb(
    "transform:transform",
    {
        "seed": Option("Seed of 16 digits or more, instead of the plan's.", "NUMBER"),
        "private": Option("OUT.private.json of an earlier run: repeat it.", "FILE"),
        "exclude": SHARED["exclude"],
        "exclude_by": SHARED["exclude_by"],
    },
    reading=("read", "rename_duplicates", "memory"),
)
def transform(
    table: options.Table,
    plan: Annotated[Path, typer.Option("--plan", metavar="FILE", help="The plan: a YAML file, or a plan.json that Shoal wrote.")],
    verb_options: dict[str, Any],
    reading: dict[str, Any],
    out: Annotated[
        str | None, typer.Option("--out", "-o", metavar="FILE", help="File to write, or ::name for a table beside this one.")
    ] = None,
    save_plan: Annotated[
        Path | None, typer.Option("--save-plan", metavar="FILE", help="Write the finished plan as JSON, without its seed.")
    ] = None,
    preview: options.Preview = False,
    as_json: options.Json = False,
) -> None:
    """Apply a plan (generalize, suppress, add noise, swap …) and report what changed, without a proof."""
    if out is None and save_plan is None:
        raise UsageError("No output given.", hint="Pass --out FILE, or --save-plan FILE to write only the plan.")
    preview_instead(preview, "transform", table, reading, as_json=as_json, plan=plan, out=out, **verb_options)
    with shoal.open(table, **reading) as opened, _shared.progress("transforming") as report:
        _shared.tell_repairs(opened.source)
        transformed = shoal.transform(opened, plan, **verb_options)
        if out is not None:
            _shared.tell_losses(opened.not_kept(transformed.plan, out))
            transformed = shoal.transform(opened, transformed.plan, out, progress=report, **verb_options)
    if save_plan is not None:
        write_text(save_plan, (transformed.plan.without_seed() if transformed.plan.draws else transformed.plan).to_json())
    told_of = transformed.to_json()
    if transformed.done is not None and transformed.done.drawn is not None and transformed.private_file is None:
        told_of["private_file"] = str(_beside_a_table(transformed.done.path, transformed.done.drawn))
    if as_json:
        _shared.put_json(told_of)
    else:
        _tell_steps(told_of, table, out)
        if transformed.excluded is not None:
            _shared.line(transformed.excluded.sentence)


def _beside_a_table(out: str, seed: int) -> Path:
    """A new table's seed, in the folder that the command is run in."""
    from shoal.engines.recode.write import keep_seed, place_of

    name = re.sub(r"[^\w.-]", "_", out.rpartition("::")[2]) or "table"
    place = place_of(Path(name))
    if place.exists():
        place = place_of(Path(f"{name}-{secrets.token_hex(4)}"))
    keep_seed(place, seed, out.rpartition("::")[2])
    return place


def _tell_steps(recipe: dict[str, Any], table: str, out: str | None) -> None:
    rows = []
    for step in recipe["steps"]:
        changed = ", ".join(f"{c} {share:.1%}" for c, share in (step["changed"] or {}).items())
        rows.append([step["kind"], ", ".join(step["columns"]), changed, "yes" if step["truthful"] else "no", step["keeps"]])
    heads = ["step", "columns", "cells changed", "true", "keeps"]
    _shared.show_table("Steps", heads, rows)
    if "records_out" in recipe:
        _shared.line(
            f"{recipe['records_out']:,} of {recipe['records_in']:,} records written to {out}; {recipe['unsampled']:,} outside "
            f"the sample, {recipe['suppressed']:,} suppressed."
        )
    _shared.tell_losses(recipe.get("not_kept", ()), after=True)
    if not recipe["truthful"]:
        _shared.line("Some published values are not true of their person.")
    if recipe.get("private_file"):
        _shared.line(
            f"The seed of the random changes is in {recipe['private_file']}: keep it separate; anyone who has it can undo them. "
            f"--private {recipe['private_file']} repeats the run."
        )
    if out is not None:
        typed = _as_typed(table, out)
        _shared.next_step(f"shoal measure {typed} --quasi a,b measures it; nothing is proven yet.")


def _as_typed(table: str, out: str) -> str:
    """What was written as the next command names it: a new table by its whole address."""
    _, new, name = out.rpartition("::")
    return shell_word(table_beside(table if out.startswith("::") else out, name)) if new else _shared.named(out)


SYSTEMS = "fhir, omop, redcap, limesurvey, ddi or arx."
PLACE = "Folder with its files (arx: a .deid file; limesurvey: or .lsa)."


def bring_in(
    system: Annotated[str, typer.Argument(metavar="SYSTEM", help=SYSTEMS)],
    source: Annotated[Path, typer.Argument(metavar="FOLDER", help=PLACE)],
    out: Annotated[Path, typer.Option("--out", "-o", help="New folder for tables and policy (omop: a new policy file).")],
    k: Annotated[int, typer.Option("--k", min=2, help="The k that the drafted policy requires.")] = 5,
    as_json: options.Json = False,
) -> None:
    """Import tables of another system, without names and identifiers, and draft a policy for them."""
    from shoal import systems

    ways = {name: getattr(systems, f"from_{name}") for name in ("fhir", "omop", "redcap", "limesurvey", "ddi", "arx")}
    if system not in ways:
        raise UsageError(f"Unknown system '{system}'.", hint=f"Choose one of: {', '.join(ways)}.")
    brought = ways[system](source, out, k=k)
    if as_json:
        _shared.put_json(brought.to_json())
        return
    rows = [(name, f"{n:,}") for name, n in brought.tables.items()]
    _shared.show_table("Tables", ("table", "rows"), rows, right=(1,))
    for what, n in brought.left.items():
        _shared.line(f"Not imported: {what} ({n:,}).")
    policy = _shared.printable(str(out if system == "omop" else out / "policy.yml"))
    table = (
        "" if system in ("fhir", "omop") else f"{_shared.printable(str(out / ('data.csv' if system == 'arx' else 'data.sav')))} "
    )
    _shared.next_step(f"read {policy}, then: shoal anonymize {table}--policy {policy} --out release", within=True)


def hand_out(
    system: Annotated[str, typer.Argument(metavar="SYSTEM", help="ddi: a codebook (DDI-C 2.5); page: one page to sign.")],
    release: Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder of a release.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="New file.")],
) -> None:
    """Export the codebook of a release, or a page to sign: what leaves, to whom, what can still be learnt."""
    from shoal import systems

    ways = {"ddi": systems.to_ddi, "page": systems.to_signing_page}
    if system not in ways:
        raise UsageError(f"Unknown system '{system}'.", hint="Choose ddi, a codebook, or page, one page to sign.")
    written = ways[system](release, out)
    step = "deliver it together with the data." if system == "ddi" else "print it, read it, sign it."
    _shared.say(f"Written to {written}. Next: {step}")
