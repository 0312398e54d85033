"""The options that only ``shoal anonymize`` has; those of several commands are in :mod:`shoal.cli._shared`."""

from pathlib import Path
from typing import Annotated

import typer

Table = Annotated[
    str | None, typer.Argument(metavar="[TABLE]", help="A file, or ENGINE-URL::table; none where the policy names tables.")
]
Policy = Annotated[Path | None, typer.Option("--policy", help="The policy (YAML); or say it in words: --quasi, --k …")]
K = Annotated[int | None, typer.Option("--k", help="Everybody is to be alike with at least k - 1 others.")]
Out = Annotated[Path | None, typer.Option("--out", "-o", help="The release folder; must not exist yet.")]
Draft = Annotated[Path | None, typer.Option("--draft", help="Write a policy with suggested roles to this file and stop.")]
Format = Annotated[str, typer.Option("--format", help="csv, parquet, delta, arrow, jsonl, excel, spss, stata or sas.")]
ToTable = Annotated[str, typer.Option("--to-table", help="Publish as a new table of this name in the same database.")]
Plan = Annotated[Path | None, typer.Option("--plan", help="Use this plan.json instead of searching; it is checked again.")]
Previous = Annotated[list[Path] | None, typer.Option("--previous", help="Earlier release of the same people; may repeat.")]
Key = Annotated[Path | None, typer.Option("--key", help="Ed25519 key file to sign with (mode 600).")]
Seed = Annotated[int | None, typer.Option("--seed", help="Same input and seed, same data bytes.")]
