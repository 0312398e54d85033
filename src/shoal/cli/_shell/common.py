"""Options that several commands have, each with its one explanation."""

from typing import Annotated

import typer

from shoal.cli._shell.commands import StatementTimeout as StatementTimeout

Json = Annotated[bool, typer.Option("--json", help="One JSON object on stdout; everything else goes to stderr.")]
Seed = Annotated[int, typer.Option("--seed", help="Same input and seed, same bytes.")]
Read = Annotated[
    list[str] | None,
    typer.Option(
        "--read",
        help="How a file is read, where the guess is wrong: delimiter=; encoding=latin-1 decimal=, null=NA … Repeatable.",
    ),
]
RenameDuplicates = Annotated[
    bool,
    typer.Option("--rename-duplicates", help="Number columns with the same name: age, age_2 … Without it the file is refused."),
]
Memory = Annotated[
    str | None,
    typer.Option("--memory", help="What the run may take: 2GB. Beyond it the disk is used, or the run is refused."),
]
OnlyAggregates = Annotated[
    bool,
    typer.Option("--only-aggregates", help="Databases: refuse statements that would return rows or identifiers."),
]
Preview = Annotated[
    bool,
    typer.Option("--preview", help="Databases: print the statements that would be sent, and send none."),
]
Order = Annotated[
    list[str] | None,
    typer.Option("--order", help="Categories of a column from low to high: pain=low,medium,high. Repeatable."),
]
Scale = Annotated[
    list[str] | None,
    typer.Option("--scale", help="What a column's values are: ward=nominal; number, ordered, date, place, id, text. Repeatable."),
]
MissingValues = Annotated[
    list[str] | None,
    typer.Option("--missing-values", help="Values of a column that mean 'no value': weight=?,-9. Repeatable."),
]
Table = Annotated[str, typer.Argument(metavar="TABLE", help="A file, or ENGINE-URL::table.")]
Quasi = Annotated[str | None, typer.Option("--quasi", help="Quasi-identifiers: a,b,c.")]
Qi = Annotated[str | None, typer.Option("--qi", help="The same as --quasi.", hidden=True)]
Sensitive = Annotated[str | None, typer.Option("--sensitive", help="Sensitive columns: a,b.")]
Direct = Annotated[str | None, typer.Option("--direct", help="Columns that name people by themselves: a,b.")]
Insensitive = Annotated[str | None, typer.Option("--insensitive", help="Columns that are neither: a,b.")]
Rest = Annotated[str | None, typer.Option("--rest", help="What becomes of columns that are not named: drop or insensitive.")]
Unit = Annotated[str | None, typer.Option("--unit", help="The column that names a person: k counts people, not rows.")]
Weight = Annotated[str | None, typer.Option("--weight", help="The column of sampling weights.")]

Exclude = Annotated[
    str | None,
    typer.Option("--exclude", help="People who asked not to be in it: a file with one id per line, or FILE:column."),
]
ExcludeBy = Annotated[str | None, typer.Option("--exclude-by", help="The column that holds these ids; the unit without it.")]
