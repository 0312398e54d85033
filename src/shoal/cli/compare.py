"""``shoal compare`` and ``shoal study``: what a release cost; many quasi-identifiers and subpopulations of one table."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import shoal
from shoal.cli import _shared
from shoal.cli._shared import preview_instead
from shoal.cli._shell import options, texts
from shoal.cli._shell.options import Option, from_verb
from shoal.errors import UnreadableError, UsageError

# no "from __future__ import annotations": typer would compile every annotation again, and --help would wait for it


if TYPE_CHECKING:
    from shoal import Comparison, Study
    from shoal.studies.result import SetResult


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
    app.command("study")(study)


@from_verb("comparison:compare", OPTIONS, shared=("quasi", "qi", "sensitive", "counts", "seed"), reading=("read",))
def compare(
    original: Annotated[str, typer.Argument(metavar="ORIGINAL", help="Original table: a file, or ENGINE-URL::table.")],
    release: Annotated[str, typer.Argument(metavar="RELEASE", help="Folder of a release, or any table made from the original.")],
    verb_options: dict[str, Any],
    reading: dict[str, Any],
    report: Annotated[Path | None, typer.Option("--report", metavar="FILE", help="Write a self-contained HTML page.")] = None,
    preview: options.Preview = False,
    as_json: options.Json = False,
) -> None:
    """Compare a release with its original: losses, distributions, correlations, counts, models and analyses."""
    preview_instead(preview, "compare", original, reading, as_json=as_json, release=release, **verb_options)
    with _shared.progress("comparing") as progress:
        comparison = shoal.compare(shoal.open(original, **reading), release, progress=progress, **verb_options)
    if report is not None:
        _shared.say(f"Page written to {comparison.report(report)}.")
    if as_json:
        _shared.put_json(comparison.to_json())
        return
    _show(comparison)
    if report is None:
        one, two = ("TABLE" if "://" in name else name for name in (original, release))  # a URL may hold a password
        _shared.next_step(f"shoal compare {one} {two} --report compare.html", within=True)


def _show(c: "Comparison") -> None:
    _shared.line(c.sentence, style="bold")
    rows = [
        (x.name, x.kind, f"{x.values[0]:,} → {x.values[1]:,}", _percent(x.losses["granularity"], kept=True), _shown(x.distance))
        for x in c.columns
    ]
    heads = ("column", "", "values", "detail kept", "distance")
    _shared.show_table("Columns", heads, rows, right=(2, 3, 4))
    if c.not_published:
        _shared.line(f"Not published: {', '.join(c.not_published)}.")
    losses = [(name.replace("_", " "), _shown(value)) for name, value in c.overall.items()]
    _shared.show_table("Over all columns", ("measure", "value"), losses, right=(1,))
    worst = sorted(c.pairs, key=lambda p: -p.distance)[:5]
    pairs = [(" + ".join(p.columns), _shown(p.distance), _shown(p.before), _shown(p.after)) for p in worst]
    if pairs:
        heads2 = ("columns", "distance", "Cramér's V before", "after")
        _shared.show_table("Pairs that changed most", heads2, pairs, right=(1, 2, 3))
    if c.classes:
        k = c.classes
        _shared.line(f"Smallest class over {', '.join(k['quasi'])}: {k['k']['before']:,} → {k['k']['after']:,}.")
    if c.propensity is not None:
        _shared.line(f"pMSE {_shown(c.propensity.pmse)}, {_shown(c.propensity.ratio)} times that of resampled original records.")
    if c.queries is not None and c.queries.queries:
        q = c.queries
        _shared.line(f"Random counts are off by {_percent(q.median)} (median), {_percent(q.p90)} (nine in ten).")
    models = [(m.target, m.model, m.score, _shown(m.baseline), _shown(m.before), _shown(m.after)) for m in c.models]
    if models:
        heads3 = ("target", "model", "score", "best guess", "original", "release")
        _shared.show_table("Models, tested on original rows", heads3, models, right=(3, 4, 5))
    analyses = [(a.analysis, _shown(a.before), _shown(a.after), f"{_shown(a.change)} ({a.measure})") for a in c.analyses]
    if analyses:
        _shared.show_table("Analyses", ("", "before", "after", "change"), analyses, right=(1, 2))
    points = [(f"{p.k:,}", _shown(p.loss), METHODS[p.method]) for p in c.frontier]
    if points:
        _shared.show_table("The least loss found at each k", ("k", "loss", "by"), points, right=(0, 1))
        _shared.line(c.frontier_scope)
    if c.frontier_why:
        _shared.line(f"Loss at each k: {c.frontier_why}")
    _shared.notes(c.notes)


def _shown(x: float | None) -> str:
    return "" if x is None or x != x else _shared.shown(x, 3)


def _percent(x: float | None, *, kept: bool = False) -> str:
    return "" if x is None else f"{_shared.shown(100 * (1 - x if kept else x), 3)} %"


LEDGER = Path("registry-ledger.json")
Publish = Annotated[
    str | None, typer.Option("--publish", metavar="REGISTRY", help="Publish each result to this registry: file or URL.")
]
Codes = Annotated[str, typer.Option("--codes", metavar="COLUMN=CODE", help="With --publish: codes, as age=age/years,sex=sex.")]
People = Annotated[
    str, typer.Option("--population", metavar="NAME", help="With --publish: the population, such as NL/Utrecht@2021.")
]
Data = Annotated[Path | None, typer.Option("--data", metavar="FOLDER", help="With --reproduce: folder of public tables.")]


def _read_sets(file: Path) -> list[tuple[str, ...]]:
    try:
        lines = file.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError):
        raise UnreadableError(f"'{file.name}' cannot be read.", hint="Expected text with one set of columns per line.") from None
    return [texts.names(line) for line in lines if line.strip() and not line.lstrip().startswith("#")]


STUDY_OPTIONS = {
    "sets": Option("Text file: one set of columns per line.", "FILE", _read_sets, kind=Path),
    "by": Option("Column of the subpopulations.", "COLUMN"),
    "up_to": Option("Search all sets of at most this many of --quasi.", "NUMBER"),
    "group_size": Option("Number of people whose uniqueness is predicted from κ.", "NUMBER"),
    "alpha": Option("Unique share from which a set is called identifying.", "SHARE"),
    "k": Option("Smallest group of a safe set.", "K"),
}


@from_verb("study:study", STUDY_OPTIONS, shared=("quasi", "qi", "unit", "counts"), reading=("read",))
def study(
    table: options.Table,
    verb_options: dict[str, Any],
    reading: dict[str, Any],
    report: Annotated[Path | None, typer.Option("--report", metavar="FILE", help="Write a self-contained HTML page.")] = None,
    publish: Publish = None,
    codes: Codes = "",
    population: People = "",
    holder: Annotated[str, typer.Option("--holder", metavar="NAME", help="With --publish: who publishes.")] = "",
    key: Annotated[Path | None, typer.Option("--key", metavar="FILE", help="With --publish: the holder's private key.")] = None,
    ledger: Annotated[Path, typer.Option("--ledger", metavar="FILE", help="Private record of what was published.")] = LEDGER,
    noise: Annotated[float | None, typer.Option("--noise", metavar="EPSILON", help="Publish with noise of this ε.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="With --publish: show what would be published.")] = False,
    reproduce: Annotated[
        bool, typer.Option("--reproduce", help="Compare the numbers of a source: TABLE is 000 … or all.")
    ] = False,
    data: Data = None,
    preview: options.Preview = False,
    as_json: options.Json = False,
) -> None:
    """Measure many sets of columns, in the whole table and by subpopulation; find minimal identifying sets."""
    if reproduce:
        _show_reproduced(table, data, as_json=as_json)
    if data is not None:
        raise UsageError("--data requires --reproduce.")
    if publish is not None and not (codes and population):
        hint = "Add --codes age=age/years,sex=sex --population NL/Utrecht@2021."
        raise UsageError("--publish requires --codes and --population.", hint=hint)
    if publish is None and (codes or population or holder or key or dry_run or noise is not None):
        raise UsageError("--codes, --population, --holder, --key, --noise and --dry-run require --publish.")
    if "up_to" not in verb_options and (columns := verb_options.pop("quasi", ())):
        verb_options.setdefault("sets", [columns])
    preview_instead(preview, "study", table, reading, as_json=as_json, **verb_options)
    with _shared.progress("counting") as progress:
        studied = shoal.study(shoal.open(table, **reading), progress=progress, **verb_options)
    if report is not None:
        _shared.say(f"Page written to {studied.report(report)}.")
    if not as_json:
        _show_study(studied)
    content = studied.to_json()
    if publish is not None:
        from shoal.cli._publishing import Publishing, publish_study

        how = Publishing(holder, publish, ledger, key, noise, dry_run=dry_run)
        content = content | {"published": publish_study(content, codes, population, how, as_json=as_json)}
    if as_json:
        _shared.put_json(content)
    elif report is None and publish is None:
        named = "TABLE" if "://" in table else table  # a URL may hold a password
        _shared.next_step(f"shoal study {named} … --report study.html", within=True)


def _show_reproduced(source: str, data: Path | None, *, as_json: bool) -> None:
    """Printed numbers beside Shoal's; exit code 1 if one differs."""
    from shoal.studies.reproduce import reproduce

    reproduced = reproduce(source, data)
    many = {name: sum(x["verdict"] == name for x in reproduced) for name in ("same", "corrected", "differs", "no data")}
    if as_json:
        _shared.put_json({"numbers": reproduced, **many})
    else:
        ours = ["" if x["ours"] is None else _shared.shown(x["ours"], 7) for x in reproduced]
        rows = [(*list(x.values())[:5], number, x["verdict"]) for x, number in zip(reproduced, ours, strict=True)]
        heads = ("source", "where", "what", "printed", "corrected", "ours", "")
        _shared.show_table("Printed numbers beside Shoal's", heads, rows, right=(3, 4, 5))
        numbers = f"{many['same']:,} numbers are as printed, {many['corrected']:,} equal the correction"
        more = f" {many['no data']:,} more need public tables: add --data FOLDER." if many["no data"] else ""
        _shared.line(f"{numbers}, {many['differs']:,} differ.{more}", style="bold")
    raise typer.Exit(1 if many["differs"] else 0)


def _show_study(s: "Study") -> None:
    _shared.line(s.sentence, style="bold")
    if s.sets:
        parts = ("sets", "min", "q1", "median", "mean", "q3", "max")
        sizes = [[_shared.shown(getattr(x.sizes, part)) for part in parts] for x in s.sets]
        rows = [(x.name, *y, _shared.shown(x.entropy, 3), _shared.shown(x.kappa, 3)) for x, y in zip(s.sets, sizes, strict=True)]
        heads = ("columns", "groups", "min", "q1", "median", "mean", "q3", "max", "bits", "κ")
        _shared.show_table("Group sizes", heads, rows, right=range(1, 10))
        small = [(x.name, *(f"{n:,}" for n in x.at.values())) for x in s.sets]
        heads2 = ("columns", *(f"≤ {t}" for t in s.sets[0].at))
        _shared.show_table("Members in groups of at most", heads2, small, right=range(1, 6))
        exact = [(x.name, *(f"{n:,}" for n in x.exactly.values())) for x in s.sets]
        heads3 = ("columns", *(str(j) for j in s.sets[0].exactly))
        _shared.show_table("Members in groups of exactly", heads3, exact, right=range(1, 11))
    if s.by is not None:
        rows2 = [(x.name, *_by_cells(x)) for x in s.sets]
        title = f"Subpopulations by {s.by}: size and median group; log uniqueness on κ"
        heads4 = ("columns", "groups", "Pearson", "Spearman", "slope on κ", "R²")
        _shared.show_table(title, heads4, rows2, right=range(1, 6))
    if s.lattice is not None:
        for title, sets in (("Smallest identifying sets", s.lattice.identifying), ("Largest safe sets", s.lattice.safe)):
            rows3 = [(" + ".join(x.columns), f"{x.unique:,}", f"{x.k:,}") for x in sets[:40]]
            if rows3:
                _shared.show_table(title, ("columns", "one of a kind", "smallest group"), rows3, right=(1, 2))
            else:
                _shared.line(f"{title}: none.")
    _shared.notes(s.notes)


def _by_cells(x: "SetResult") -> list[str]:
    r = x.regression
    coefficients = (x.pearson, x.spearman, None if r is None else r.slope, None if r is None else r.r2)
    return [f"{len(x.groups):,}", *("" if v is None else _shared.shown(v, 3) for v in coefficients)]
