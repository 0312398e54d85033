"""``shoal import`` and ``shoal export``: tables and codebooks of other systems."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shoal.cli import _shared
from shoal.cli._shell import common


def register(app: typer.Typer) -> None:
    app.command("import")(bring_in)
    app.command("export")(hand_out)


SYSTEMS = "fhir: a Bulk export (.ndjson). omop: tables of the CDM. redcap, limesurvey, ddi: data and codebook. arx: a project."
PLACE = "The folder with its files; arx: a .deid, limesurvey: also a .lsa."


def bring_in(
    system: Annotated[str, typer.Argument(metavar="SYSTEM", help=SYSTEMS)],
    source: Annotated[Path, typer.Argument(metavar="FOLDER", help=PLACE)],
    out: Annotated[Path, typer.Option("--out", "-o", help="New folder for tables and policy; for omop a new policy file.")],
    k: Annotated[int, typer.Option("--k", min=2, help="The k that the drafted policy asks for.")] = 5,
    as_json: common.Json = False,
) -> None:
    """Tables of another system, with a drafted policy that releases them. Names and identifiers stay behind."""
    from shoal import systems
    from shoal.errors import UsageError

    ways = {name: getattr(systems, f"from_{name}") for name in ("fhir", "omop", "redcap", "limesurvey", "ddi", "arx")}
    if system not in ways:
        raise UsageError("that system is not known.", hint=f"One of: {', '.join(ways)}.")
    found = ways[system](source, out, k=k)
    if as_json:
        _shared.put_json(found.to_json())
        return
    rows = [(name, f"{n:,}") for name, n in found.tables.items()]
    _shared.console().print(_shared.table_of("Tables", ("table", "rows"), rows, right=(1,)))
    for what, n in found.left.items():
        _shared.console().print(f"Left behind: {what} ({n:,}).", markup=False)
    policy = _shared.printable(str(out if system == "omop" else out / "policy.yml"))
    table = (
        "" if system in ("fhir", "omop") else f"{_shared.printable(str(out / ('data.csv' if system == 'arx' else 'data.sav')))} "
    )
    _shared.next_step(f"read {policy}, then: shoal anonymize {table}--policy {policy} --out release", within=True)


def hand_out(
    system: Annotated[str, typer.Argument(metavar="SYSTEM", help="ddi: a codebook (DDI-C 2.5) with notes on disclosure.")],
    release: Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder of a release.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="New file.")],
) -> None:
    """What another system wants to know of a release: its columns, labels, and what was done to protect people."""
    from shoal import systems
    from shoal.errors import UsageError

    if system != "ddi":
        raise UsageError("that system is not known.", hint="ddi: a codebook of the release.")
    written = systems.to_ddi(release, out)
    _shared.say(f"Written to {_shared.printable(str(written))}. Next: lay it beside the data when you hand them over.")
