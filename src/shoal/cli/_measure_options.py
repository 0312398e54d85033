"""The options that only ``shoal measure`` has; those of several commands are in :mod:`shoal.cli._shared`."""

from pathlib import Path
from typing import Annotated

import typer

Text = str | None
Quasi = Annotated[Text, typer.Option("--quasi", help="Quasi-identifiers: a,b,c. Without it roles are proposed and asked for.")]
Population = Annotated[Text, typer.Option("--population", help="Size (17.5M) or table of the population.")]
Missing = Annotated[str, typer.Option("--missing", help="Rule for missing values: own, wildcard or drop.")]
By = Annotated[Text, typer.Option("--by", help="Also inside each value of this column.")]
Hierarchies = Annotated[
    list[str] | None, typer.Option("--hierarchy", help="column=file: hierarchy of a sensitive column, for t. Repeatable.")
]
Require = Annotated[
    Text,
    typer.Option(
        "--require",
        help='Requirements: "k>=5, t[diagnosis]<=0.2"; events: "known[2]>=5, unicity[4]<=5%". Exit code 1 if not met.',
    ),
]
Explain = Annotated[Text, typer.Option("--explain", metavar="[NUMBER]", help="Explain every number, or one: k, suda …")]
Impact = Annotated[Text, typer.Option("--impact", help="Worth of sensitive columns: ill=5,income=1.")]
Household = Annotated[Text, typer.Option("--household", help="Also risk of households: their column.")]
Suda = Annotated[bool, typer.Option("--suda", help="Also minimal sample uniques and SUDA scores.")]
Report = Annotated[Path | None, typer.Option("--report", help="Write a self-contained HTML report.")]
Time = Annotated[Text, typer.Option("--time", help="Event tables: the column of the time.")]
Place = Annotated[Text, typer.Option("--place", help="Event tables: the columns of the place or item: a,b.")]
TimeWidths = Annotated[Text, typer.Option("--time-widths", help="Granularities: exact,hour,6h,day,week,month,none.")]
PlaceLevels = Annotated[Text, typer.Option("--place-levels", help="exact,grid:0.1,prefix:3,level:1,none.")]
Known = Annotated[Text, typer.Option("--known", help="How many records are known: 1,2,3,4.")]
Plot = Annotated[
    Path | None, typer.Option("--plot", help="Draw the group sizes, or the curves of an event table: .svg, .png, .html.")
]
