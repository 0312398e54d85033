"""``shoal import``: tables of other systems."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shoal.cli import _shared


def register(app: typer.Typer) -> None:
    app.command("import")(bring_in)


def bring_in(
    system: Annotated[str, typer.Argument(metavar="SYSTEM", help="fhir: a Bulk export (.ndjson). omop: tables of the CDM.")],
    source: Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder with its files.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="New folder for tables and policy (fhir), new policy file (omop).")],
    k: Annotated[int, typer.Option("--k", min=2, help="The k that the drafted policy asks for.")] = 5,
    as_json: _shared.Json = False,
) -> None:
    """Tables of another system, with a drafted policy that releases them together. Names and identifiers stay behind."""
    from shoal import systems
    from shoal.errors import UsageError

    ways = {"fhir": systems.from_fhir, "omop": systems.from_omop}
    if system not in ways:
        raise UsageError("that system is not known.", hint="fhir (a Bulk export) or omop (tables of the CDM).")
    found = ways[system](source, out, k=k)
    if as_json:
        _shared.put_json(found.to_json())
        return
    rows = [(name, f"{n:,}") for name, n in found.tables.items()]
    _shared.console().print(_shared.table_of("Tables", ("table", "rows"), rows, right=(1,)))
    for what, n in found.left.items():
        _shared.console().print(f"Left behind: {n:,} {what}.", markup=False)
    policy = _shared.printable(str(out / "policy.yml" if system == "fhir" else out))
    _shared.console().print(f"Next: read {policy}, then: shoal anonymize --policy {policy} --out release", markup=False)
