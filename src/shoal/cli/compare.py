"""``shoal compare``: what did a release cost, and what is it still good for?"""

# no "from __future__ import annotations": typer would compile every annotation again, and --help would wait for it

from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.cli import _shared
from shoal.cli._shell import common, texts
from shoal.cli._shell.options import Option, from_verb
from shoal.cli._shell.preview import show_preview

OPTIONS = {
    "target": Option("Train models of these columns: a,b (default: the sensitive ones).", "COLUMNS"),
    "key": Option("Column that identifies the same record in both tables.", "COLUMN"),
    "analyses": Option(
        "mean:income, table:sex,region, regression:income~age. Repeatable.", "ANALYSIS", tuple, "--analysis", list[str]
    ),
    "hierarchies": Option("What labels mean, in ARX's layout. Repeatable.", "COLUMN=FILE", texts.files, "--hierarchy", list[str]),
    "models": Option("Train models on both tables."),
    "frontier": Option("Search the least loss at each k."),
}
METHODS = {"lattice": "one level per column", "local": "local recoding", "release": "this release"}
"""How the least loss at a k was found."""


def register(app: typer.Typer) -> None:
    app.command("compare")(compare)


@from_verb("comparison:compare", OPTIONS, shared=("quasi", "qi", "sensitive", "seed"), reading=("read",))
def compare(
    original: Annotated[str, typer.Argument(metavar="ORIGINAL", help="Original table: a file, or ENGINE-URL::table.")],
    release: Annotated[str, typer.Argument(metavar="RELEASE", help="Folder of a release, or any table made from the original.")],
    verb_options: dict[str, Any],
    reading: dict[str, Any],
    report: Annotated[Path | None, typer.Option("--report", metavar="FILE", help="Write a self-contained HTML page.")] = None,
    preview: common.Preview = False,
    as_json: common.Json = False,
) -> None:
    """Compare a release with its original: losses, distributions, correlations, counts, models and analyses."""
    import shoal

    if preview:
        show_preview("compare", original, reading, as_json=as_json, release=release, **verb_options)
        return
    with _shared.progress("comparing") as progress:
        found = shoal.compare(shoal.open(original, **reading), release, progress=progress, **verb_options)
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
    points = [(f"{p.k:,}", _said(p.loss), METHODS[p.method]) for p in c.frontier]
    if points:
        out.print(_shared.table_of("The least loss found at each k", ("k", "loss", "by"), points, right=(0, 1)))
    if c.frontier_why:
        out.print(f"Loss at each k: {c.frontier_why}", markup=False)
    for note in c.notes:
        out.print(_shared.printable(f"• {note}"), markup=False)


def _said(x: float | None) -> str:
    return "" if x is None or x != x else _shared.shown(x, 3)


def _percent(x: float | None, *, kept: bool = False) -> str:
    return "" if x is None else f"{_shared.shown(100 * (1 - x if kept else x), 3)} %"
