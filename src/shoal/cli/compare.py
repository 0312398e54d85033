"""``shoal compare``: what did a release cost, and what is it still good for?"""

# no "from __future__ import annotations": typer would compile every annotation again, and --help would wait for it

from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.cli import _shared
from shoal.cli._shell import common, texts
from shoal.cli._shell.preview import show_preview


def register(app: typer.Typer) -> None:
    app.command("compare")(compare)


def compare(
    original: Annotated[str, typer.Argument(metavar="ORIGINAL", help="The original table: a file, or ENGINE-URL::table.")],
    release: Annotated[str, typer.Argument(metavar="RELEASE", help="The folder of a release, or any table made from it.")],
    quasi: common.Quasi = None,
    sensitive: common.Sensitive = None,
    target: Annotated[
        str | None, typer.Option("--target", help="Train models of these columns: a,b. The sensitive ones without it.")
    ] = None,
    key: Annotated[str | None, typer.Option("--key", help="A column that names the same record in both tables.")] = None,
    analysis: Annotated[
        list[str] | None,
        typer.Option("--analysis", help="mean:income, table:sex,region, regression:income~age+sex. Repeatable."),
    ] = None,
    hierarchy: Annotated[
        list[str] | None, typer.Option("--hierarchy", help="What labels mean: COLUMN=FILE in ARX's layout. Repeatable.")
    ] = None,
    models: Annotated[bool, typer.Option("--models/--no-models", help="Train models on both tables.")] = True,
    frontier: Annotated[bool, typer.Option("--frontier/--no-frontier", help="Search the least loss at each k.")] = True,
    report: Annotated[Path | None, typer.Option("--report", help="Write a self-contained HTML page.")] = None,
    read: common.Read = None,
    preview: common.Preview = False,
    seed: common.Seed = 0,
    as_json: common.Json = False,
    qi: common.Qi = None,
) -> None:
    """What did it cost? Losses, distributions, correlations, counts, models and analyses, original against release."""
    import shoal

    trees = {}
    for text in hierarchy or ():
        column, separator, file = text.partition("=")
        if not separator or not file:
            raise typer.BadParameter("a hierarchy is given as column=file.")
        trees[column.strip()] = Path(file.strip())
    words: dict[str, Any] = {
        "quasi": texts.names(quasi or qi) or None,
        "sensitive": texts.names(sensitive) or None,
        "target": texts.names(target) or None,
        "key": key,
        "analyses": tuple(analysis or ()),
        "hierarchies": trees,
        "models": models,
        "frontier": frontier,
        "seed": seed,
    }
    if preview:
        show_preview("compare", original, texts.read_options(read), as_json=as_json, release=release, **words)
        return
    with _shared.progress("comparing") as told:
        found = shoal.compare(shoal.open(original, **texts.read_options(read)), release, progress=told, **words)
    if report is not None:
        _shared.say(f"Page written to {found.report(report)}.")
    if as_json:
        _shared.put_json(found.to_json())
        return
    _show(found)
    if report is None:
        one, two = ("TABLE" if "://" in name else name for name in (original, release))  # a URL may hold a password
        _shared.next_step(f"shoal compare {one} {two} --report compare.html", within=True)


def _show(c: Any) -> None:
    out = _shared.console()
    out.print(_shared.printable(c.sentence), style="bold", markup=False)
    rows = [
        (x.name, x.kind, f"{x.values[0]:,} → {x.values[1]:,}", _percent(x.losses["granularity"], kept=True), _said(x.distance))
        for x in c.columns
    ]
    heads = ("column", "", "values", "detail kept", "distance")
    out.print(_shared.table_of("Columns", heads, rows, right=(2, 3, 4)))
    if c.not_published:
        out.print(_shared.printable(f"Not published: {', '.join(c.not_published)}."), markup=False)
    losses = [(name.replace("_", " "), _said(value)) for name, value in c.overall.items()]
    out.print(_shared.table_of("Over all columns", ("measure", "value"), losses, right=(1,)))
    worst = sorted(c.pairs, key=lambda p: -p.distance)[:5]
    pairs = [(" + ".join(p.columns), _said(p.distance), _said(p.before), _said(p.after)) for p in worst]
    if pairs:
        heads2 = ("columns", "distance", "Cramér's V before", "after")
        out.print(_shared.table_of("Pairs that changed most", heads2, pairs, right=(1, 2, 3)))
    if c.classes:
        k = c.classes
        out.print(
            _shared.printable(f"Smallest class over {', '.join(k['quasi'])}: {k['k']['before']:,} → {k['k']['after']:,}."),
            markup=False,
        )
    if c.propensity is not None:
        out.print(
            f"pMSE {_said(c.propensity.pmse)}, {_said(c.propensity.ratio)} times that of resampled original records.",
            markup=False,
        )
    if c.queries is not None and c.queries.queries:
        q = c.queries
        out.print(f"Random counts are off by {_percent(q.median)} (median), {_percent(q.p90)} (nine in ten).", markup=False)
    models = [(m.target, m.model, m.score, _said(m.baseline), _said(m.before), _said(m.after)) for m in c.models]
    if models:
        heads3 = ("target", "model", "score", "best guess", "original", "release")
        out.print(_shared.table_of("Models, tested on original rows", heads3, models, right=(3, 4, 5)))
    analyses = [(a.analysis, _said(a.before), _said(a.after), f"{_said(a.change)} ({a.measure})") for a in c.analyses]
    if analyses:
        out.print(_shared.table_of("Analyses", ("", "before", "after", "change"), analyses, right=(1, 2)))
    points = [(f"{p.k:,}", _said(p.loss)) for p in c.frontier]
    if points:
        out.print(_shared.table_of("The least loss at each k", ("k", "loss"), points, right=(0, 1)))
    if c.frontier_why:
        out.print(f"Loss at each k: {c.frontier_why}", markup=False)
    for note in c.notes:
        out.print(_shared.printable(f"• {note}"), markup=False)


def _said(x: float | None) -> str:
    return "" if x is None or x != x else _shared.shown(x, 3)


def _percent(x: float | None, *, kept: bool = False) -> str:
    return "" if x is None else f"{_shared.shown(100 * (1 - x if kept else x), 3)} %"
