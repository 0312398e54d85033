"""``shoal presets``: the named rules that a policy can start from."""

from typing import Annotated

import typer

from shoal.cli import _shared
from shoal.cli._shell import common


def presets(
    name: Annotated[str, typer.Argument(help="One preset, with everything about it.")] = "",
    as_json: common.Json = False,
) -> None:
    """List the named rules that a policy can start from: what each asks, and where it is written.

    Examples: shoal presets; shoal presets ema-public
    """
    from shoal.release.policy.presets import PRESETS, preset

    chosen = [preset(name)] if name else list(PRESETS.values())
    if as_json:
        _shared.put_json({"presets": [{**p.to_json(), "require": dict(p.require)} for p in chosen]})
        return
    for p in chosen:
        typer.secho(p.name, bold=True)
        _shared.line(f"  {p.rule}")
        if name:
            _shared.line(f"  {p.source} ({p.date}); {p.to_json()['read']}")
            if p.note:
                _shared.line(f"  {p.note}")
    _shared.line(f"Use it: 'preset: {chosen[0].name}' in a policy." + ("" if name else " More about one: shoal presets NAME"))
