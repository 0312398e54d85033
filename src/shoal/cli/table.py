"""``shoal table``: a table of counts that may be published."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli import _shared
from shoal.cli._shell import common, texts
from shoal.cli._shell.preview import show_preview

if TYPE_CHECKING:
    from shoal.release.counts.table import CountTable


def register(app: typer.Typer) -> None:
    app.command("table")(table)


def table(
    table: common.Table,
    rows: Annotated[str, typer.Option("--rows", help="The column whose values are the rows.")],
    columns: Annotated[str | None, typer.Option("--columns", help="The column whose values are the columns.")] = None,
    layers: Annotated[str | None, typer.Option("--layers", help="Further columns to cross: a,b.")] = None,
    unit: common.Unit = None,
    threshold: Annotated[int, typer.Option("--threshold", min=2, help="Counts of fewer people are hidden.")] = 10,
    method: Annotated[
        str, typer.Option("--method", help="suppress, or round: also round the counts that are shown.")
    ] = "suppress",
    base: Annotated[int, typer.Option("--base", min=2, help="Rounded to multiples of this.")] = 5,
    hide_zeros: Annotated[bool, typer.Option("--hide-zeros", help="Hide cells without people too.")] = False,
    public: Annotated[bool, typer.Option("--public", help="The categories are public knowledge: merge none.")] = False,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write the table as CSV, one line per cell.")] = None,
    read: common.Read = None,
    rename_duplicates: common.RenameDuplicates = False,
    missing_values: common.MissingValues = None,
    preview: common.Preview = False,
    as_json: common.Json = False,
) -> None:
    """Make a table of counts to publish, with small counts hidden and not recoverable from the sums."""
    import shoal

    reading = texts.read_options(read, rename=rename_duplicates) | texts.properties(None, missing_values)
    words: dict[str, Any] = {
        "rows": rows, "columns": columns, "layers": texts.names(layers), "unit": unit, "threshold": threshold,
        "method": method, "base": base, "zeros": not hide_zeros, "public": public,
    }  # fmt: skip
    if preview:
        show_preview("count_table", table, reading, as_json=as_json, **words)
        return
    with shoal.open(table, **reading) as source:
        found = shoal.count_table(source, **words)
    if out is not None:
        found.write(out)
    if as_json:
        _shared.put_json(found.to_json())
        return
    _print(found)
    if out is not None:
        _shared.say(f"Written to {out}.")
        _shared.next_step(f"publish {out} beside its notes; the same with another --threshold shows what that would hide.")
    else:
        _shared.next_step("the same with --out counts.csv writes it to publish.")


def _print(found: CountTable) -> None:
    shown = _shared.console()
    for title, heads, lines in _pages(found):
        shown.print(_shared.table_of(title, heads, lines, right=range(1, len(heads))))
    for sentence in found.findings:
        _shared.line(sentence)
    _shared.line(f"{found.hidden:,} of {found.cells:,} cells are hidden. {found.attack.sentence}")


def _pages(found: CountTable) -> list[tuple[str, list[str], list[list[str]]]]:
    """A page per combination of layers: rows down, columns across, a point where a count is hidden."""
    crossed, cells = found.crossed, {row[:-1]: row[-1] for row in found.rows()}
    axes = [list(dict.fromkeys(row[a] for row in cells)) for a in range(len(crossed.columns))]
    across = axes[1] if len(axes) > 1 else [None]
    pages: dict[tuple[object, ...], list[list[str]]] = {}
    for key in dict.fromkeys(row[2:] for row in cells):
        for down in axes[0]:
            line = [cells[(down, *([right] if right is not None else []), *key)] for right in across]
            pages.setdefault(key, []).append([str(down), *("·" if n is None else f"{n:,}" for n in line)])
    heads = (
        [crossed.columns[0], *(str(right) for right in across if right is not None)]
        if len(axes) > 1
        else [crossed.columns[0], "people"]
    )
    named = crossed.columns[2:]
    return [
        (", ".join(f"{_shared.printable(c)}: {_shared.printable(str(v))}" for c, v in zip(named, key, strict=True)), heads, lines)
        for key, lines in pages.items()
    ]
