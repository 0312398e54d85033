"""``shoal study``: many quasi-identifiers and subpopulations of one table in one run."""

# no "from __future__ import annotations": typer would compile every annotation again, and --help would wait for it

from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.cli import _shared
from shoal.cli._shell.preview import show_preview


def register(app: typer.Typer) -> None:
    app.command("study")(study)


def study(
    table: _shared.Table,
    sets: Annotated[Path | None, typer.Option("--sets", help="A text file, one set of columns per line: age,sex,zip.")] = None,
    by: Annotated[str | None, typer.Option("--by", help="The column of the subpopulations.")] = None,
    quasi: _shared.Quasi = None,
    up_to: Annotated[int | None, typer.Option("--up-to", min=1, help="Search all sets of at most so many of --quasi.")] = None,
    unit: _shared.Unit = None,
    group_size: Annotated[int, typer.Option("--group-size", help="People whose uniqueness is predicted from κ.")] = 10,
    alpha: Annotated[float, typer.Option("--alpha", help="Share that must be unique to call a set identifying.")] = 0.05,
    k: Annotated[int, typer.Option("--k", help="Smallest group of a safe set.")] = 5,
    report: Annotated[Path | None, typer.Option("--report", help="Write a self-contained HTML page.")] = None,
    read: _shared.Read = None,
    preview: _shared.Preview = False,
    as_json: _shared.Json = False,
    qi: _shared.Qi = None,
) -> None:
    """Group sizes, people in small groups, κ and entropy of many sets of columns, by subpopulation; minimal identifying sets."""
    import shoal

    pool = _shared.names(quasi or qi)
    asked = _read_sets(sets) if sets is not None else [pool] if pool and up_to is None else []
    words: dict[str, Any] = {
        "sets": asked, "by": by, "quasi": pool if up_to is not None else None, "up_to": up_to, "unit": unit,
        "group_size": group_size, "alpha": alpha, "k": k,
    }  # fmt: skip
    if preview:
        show_preview("study", table, _shared.read_options(read), as_json=as_json, **words)
        return
    with _shared.progress("counting") as told:
        found = shoal.study(shoal.open(table, **_shared.read_options(read)), progress=told, **words)
    if report is not None:
        _shared.say(f"Page written to {found.report(report)}.")
    if as_json:
        _shared.put_json(found.to_json())
        return
    _show(found)
    if report is None:
        named = "TABLE" if "://" in table else table  # a URL may hold a password
        _shared.next_step(f"shoal study {named} … --report study.html", within=True)


def _read_sets(file: Path) -> list[tuple[str, ...]]:
    from shoal.errors import UnreadableError

    try:
        lines = file.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError):
        raise UnreadableError("the file of sets cannot be read.", hint="A text file with one set of columns per line.") from None
    return [_shared.names(line) for line in lines if line.strip() and not line.lstrip().startswith("#")]


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
