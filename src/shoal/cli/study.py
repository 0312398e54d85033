"""``shoal study``: many quasi-identifiers and subpopulations of one table in one run."""

# no "from __future__ import annotations": typer would compile every annotation again, and --help would wait for it

from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.cli import _shared
from shoal.cli._shell import common, texts
from shoal.cli._shell.options import Option, from_verb
from shoal.cli._shell.preview import show_preview
from shoal.errors import UsageError

LEDGER = Path("registry-ledger.json")


def _read_sets(file: Path) -> list[tuple[str, ...]]:
    from shoal.errors import UnreadableError

    try:
        lines = file.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError):
        raise UnreadableError(f"'{file.name}' cannot be read.", hint="Expected text with one set of columns per line.") from None
    return [texts.names(line) for line in lines if line.strip() and not line.lstrip().startswith("#")]


OPTIONS = {
    "sets": Option("Text file with one set of columns per line: age,sex,zip.", "FILE", _read_sets, kind=Path),
    "by": Option("Column of the subpopulations.", "COLUMN"),
    "up_to": Option("Search all sets of at most this many of --quasi.", "NUMBER"),
    "group_size": Option("Number of people whose uniqueness is predicted from κ.", "NUMBER"),
    "alpha": Option("Unique share from which a set is called identifying.", "SHARE"),
    "k": Option("Smallest group of a safe set.", "K"),
}


def register(app: typer.Typer) -> None:
    app.command("study")(study)


@from_verb("study:study", OPTIONS, shared=("quasi", "qi", "unit", "counts"), reading=("read",))
def study(
    table: common.Table,
    verb_options: dict[str, Any],
    reading: dict[str, Any],
    report: Annotated[Path | None, typer.Option("--report", metavar="FILE", help="Write a self-contained HTML page.")] = None,
    publish: Annotated[
        str | None, typer.Option("--publish", metavar="REGISTRY", help="Publish each result to this registry: file or URL.")
    ] = None,
    codes: Annotated[
        str, typer.Option("--codes", metavar="COLUMN=CODE", help="With --publish: codes of the columns: age=age/years,sex=sex.")
    ] = "",
    population: Annotated[
        str, typer.Option("--population", metavar="NAME", help="With --publish: the population, such as NL/Utrecht@2021.")
    ] = "",
    holder: Annotated[str, typer.Option("--holder", metavar="NAME", help="With --publish: who publishes.")] = "",
    key: Annotated[Path | None, typer.Option("--key", metavar="FILE", help="With --publish: the holder's private key.")] = None,
    ledger: Annotated[Path, typer.Option("--ledger", metavar="FILE", help="Private record of what was published.")] = LEDGER,
    noise: Annotated[float | None, typer.Option("--noise", metavar="EPSILON", help="Publish with noise of this ε.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="With --publish: show what would be published.")] = False,
    preview: common.Preview = False,
    as_json: common.Json = False,
) -> None:
    """Measure many sets of columns, in the whole table and by subpopulation; find minimal identifying sets."""
    import shoal

    if publish is not None and not (codes and population):
        raise UsageError(
            "--publish requires --codes and --population.",
            hint="Add --codes age=age/years,sex=sex --population NL/Utrecht@2021.",
        )
    if publish is None and (codes or population or holder or key or dry_run or noise is not None):
        raise UsageError("--codes, --population, --holder, --key, --noise and --dry-run require --publish.")
    if "up_to" not in verb_options and (columns := verb_options.pop("quasi", ())):
        verb_options.setdefault("sets", [columns])
    if preview:
        show_preview("study", table, reading, as_json=as_json, **verb_options)
        return
    with _shared.progress("counting") as progress:
        found = shoal.study(shoal.open(table, **reading), progress=progress, **verb_options)
    if report is not None:
        _shared.say(f"Page written to {found.report(report)}.")
    if not as_json:
        _show(found)
    content = found.to_json()
    if publish is not None:
        from shoal.cli._registry.publish import Publishing, publish_study

        how = Publishing(holder, publish, ledger, key, noise, dry_run=dry_run)
        content = content | {"published": publish_study(content, codes, population, how, as_json=as_json)}
    if as_json:
        _shared.put_json(content)
    elif report is None and publish is None:
        named = "TABLE" if "://" in table else table  # a URL may hold a password
        _shared.next_step(f"shoal study {named} … --report study.html", within=True)


def _show(s: Any) -> None:
    out = _shared.console()
    out.print(_shared.printable(s.sentence), style="bold", markup=False)
    if s.sets:
        rows = [
            (x.name, *(_shared.shown(v) for v in (x.sizes.sets, x.sizes.min, x.sizes.q1, x.sizes.median, x.sizes.mean)),
             *(_shared.shown(v) for v in (x.sizes.q3, x.sizes.max)), _shared.shown(x.entropy, 3), _shared.shown(x.kappa, 3))
            for x in s.sets
        ]  # fmt: skip
        heads = ("columns", "groups", "min", "q1", "median", "mean", "q3", "max", "bits", "κ")
        out.print(_shared.table_of("Group sizes", heads, rows, right=range(1, 10)))
        small = [(x.name, *(f"{n:,}" for n in x.at.values())) for x in s.sets]
        heads2 = ("columns", *(f"≤ {t}" for t in s.sets[0].at))
        out.print(_shared.table_of("Members in groups of at most", heads2, small, right=range(1, 6)))
        exact = [(x.name, *(f"{n:,}" for n in x.exactly.values())) for x in s.sets]
        heads3 = ("columns", *(str(j) for j in s.sets[0].exactly))
        out.print(_shared.table_of("Members in groups of exactly", heads3, exact, right=range(1, 11)))
    if s.by is not None:
        rows2 = [(x.name, *_by_cells(x)) for x in s.sets]
        title = f"Subpopulations by {s.by}: size and median group; log uniqueness on κ"
        heads4 = ("columns", "groups", "Pearson", "Spearman", "slope on κ", "R²")
        out.print(_shared.table_of(title, heads4, rows2, right=range(1, 6)))
    if s.lattice is not None:
        for title, found in (("Smallest identifying sets", s.lattice.identifying), ("Largest safe sets", s.lattice.safe)):
            rows3 = [(" + ".join(x.columns), f"{x.unique:,}", f"{x.k:,}") for x in found[:40]]
            if rows3:
                out.print(_shared.table_of(title, ("columns", "one of a kind", "smallest group"), rows3, right=(1, 2)))
            else:
                out.print(f"{title}: none.", markup=False)
    for note in s.notes:
        out.print(_shared.printable(f"• {note}"), markup=False)


def _by_cells(x: Any) -> list[str]:
    r = x.regression
    found = (x.pearson, x.spearman, None if r is None else r.slope, None if r is None else r.r2)
    return [f"{len(x.groups):,}", *("" if v is None else _shared.shown(v, 3) for v in found)]
