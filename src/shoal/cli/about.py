"""``shoal presets``, ``shoal explain`` and ``shoal doctor``: what Shoal knows, says and has."""

import typer

from shoal.cli._about import doctor, explain, presets
from shoal.cli._shell import manual


def register(app: typer.Typer) -> None:
    app.command("presets")(presets.presets)
    app.command("explain")(explain.explain)
    app.command("doctor")(doctor.doctor)
    app.command("manual")(manual.manual)
