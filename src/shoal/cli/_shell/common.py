"""Options that several commands have, each with its one explanation."""

from typing import Annotated

import typer

from shoal.cli._shell.commands import StatementTimeout as StatementTimeout

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout; messages go to stderr.")]
Seed = Annotated[int, typer.Option("--seed", help="Same input and seed, same output.")]
Read = Annotated[
    list[str] | None,
    typer.Option(
        "--read",
        help="How to read a file: delimiter=; encoding=latin-1 … Repeatable.",
    ),
]
RenameDuplicates = Annotated[
    bool,
    typer.Option("--rename-duplicates", help="Number columns with the same name (age, age_2)."),
]
Memory = Annotated[
    str | None,
    typer.Option("--memory", help="Memory limit, such as 2GB. Beyond it Shoal uses the disk."),
]
OnlyAggregates = Annotated[
    bool,
    typer.Option("--only-aggregates", help="Databases: refuse statements that return rows."),
]
Preview = Annotated[
    bool,
    typer.Option("--preview", help="Databases: print the statements instead of sending them."),
]
Order = Annotated[
    list[str] | None,
    typer.Option("--order", help="Categories from low to high: pain=low,medium,high. Repeatable."),
]
Scale = Annotated[
    list[str] | None,
    typer.Option("--scale", help="Scale of a column: ward=nominal, number, ordered … Repeatable."),
]
MissingValues = Annotated[
    list[str] | None,
    typer.Option("--missing-values", help="Values that mean 'no value': weight=?,-9. Repeatable."),
]
Table = Annotated[str, typer.Argument(metavar="TABLE", help="A file, or ENGINE-URL::table.")]
Quasi = Annotated[str | None, typer.Option("--quasi", help="Quasi-identifiers: a,b,c.")]
Qi = Annotated[str | None, typer.Option("--qi", help="The same as --quasi.", hidden=True)]
Sensitive = Annotated[str | None, typer.Option("--sensitive", help="Sensitive columns: a,b.")]
Direct = Annotated[str | None, typer.Option("--direct", help="Columns that identify a person directly: a,b.")]
Insensitive = Annotated[str | None, typer.Option("--insensitive", help="Columns that are neither: a,b.")]
Rest = Annotated[str | None, typer.Option("--rest", help="What to do with other columns: quasi or drop.")]
Unit = Annotated[str | None, typer.Option("--unit", help="Column that identifies a person: k counts people, not rows.")]
Weight = Annotated[str | None, typer.Option("--weight", help="Column of sampling weights.")]

Exclude = Annotated[
    str | None,
    typer.Option("--exclude", help="Opt-outs: a file with one id per line, or FILE:column."),
]
ExcludeBy = Annotated[str | None, typer.Option("--exclude-by", help="Column that contains these ids (default: --unit).")]
