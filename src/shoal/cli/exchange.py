"""``shoal import`` and ``shoal export``: tables and codebooks of other systems."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shoal.cli import _shared
from shoal.cli._shell import options


def register(app: typer.Typer) -> None:
    app.command("import")(bring_in)
    app.command("export")(hand_out)


SYSTEMS = "fhir, omop, redcap, limesurvey, ddi or arx."
PLACE = "Folder with its files (arx: a .deid file; limesurvey: or .lsa)."


def bring_in(
    system: Annotated[str, typer.Argument(metavar="SYSTEM", help=SYSTEMS)],
    source: Annotated[Path, typer.Argument(metavar="FOLDER", help=PLACE)],
    out: Annotated[Path, typer.Option("--out", "-o", help="New folder for tables and policy (omop: a new policy file).")],
    k: Annotated[int, typer.Option("--k", min=2, help="The k that the drafted policy requires.")] = 5,
    as_json: options.Json = False,
) -> None:
    """Import tables of another system, without names and identifiers, and draft a policy for them."""
    from shoal import systems
    from shoal.errors import UsageError

    ways = {name: getattr(systems, f"from_{name}") for name in ("fhir", "omop", "redcap", "limesurvey", "ddi", "arx")}
    if system not in ways:
        raise UsageError(f"Unknown system '{system}'.", hint=f"Choose one of: {', '.join(ways)}.")
    found = ways[system](source, out, k=k)
    if as_json:
        _shared.put_json(found.to_json())
        return
    rows = [(name, f"{n:,}") for name, n in found.tables.items()]
    _shared.show_table("Tables", ("table", "rows"), rows, right=(1,))
    for what, n in found.left.items():
        _shared.line(f"Not imported: {what} ({n:,}).")
    policy = _shared.printable(str(out if system == "omop" else out / "policy.yml"))
    table = (
        "" if system in ("fhir", "omop") else f"{_shared.printable(str(out / ('data.csv' if system == 'arx' else 'data.sav')))} "
    )
    _shared.next_step(f"read {policy}, then: shoal anonymize {table}--policy {policy} --out release", within=True)


def hand_out(
    system: Annotated[str, typer.Argument(metavar="SYSTEM", help="ddi: a codebook (DDI-C 2.5); page: one page to sign.")],
    release: Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder of a release.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="New file.")],
) -> None:
    """Export the codebook of a release, or a page to sign: what leaves, to whom, what can still be learnt."""
    from shoal import systems
    from shoal.errors import UsageError

    ways = {"ddi": systems.to_ddi, "page": systems.to_signing_page}
    if system not in ways:
        raise UsageError(f"Unknown system '{system}'.", hint="Choose ddi, a codebook, or page, one page to sign.")
    written = ways[system](release, out)
    step = "deliver it together with the data." if system == "ddi" else "print it, read it, sign it."
    _shared.say(f"Written to {written}. Next: {step}")
