"""``shoal presets``, ``shoal explain`` and ``shoal doctor``: what Shoal knows, says and has."""

import typer

from shoal.cli._about import doctor, explain, presets


def register(app: typer.Typer) -> None:
    app.command("presets")(presets.presets)
    app.command("explain")(explain.explain)
    app.command("doctor")(doctor.doctor)
