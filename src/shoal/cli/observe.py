"""``shoal observe``: what an observer of an anonymity protocol must believe."""

# no "from __future__ import annotations": typer would compile every annotation again, and --help would wait for it

from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.cli import _shared
from shoal.cli._shell import options, texts
from shoal.cli._shell.commands import Commands

Plot = Annotated[Path | None, typer.Option("--plot", help="Write the surest guess by observation: .svg, .png or .html.")]
SHOWN = 12


def register(app: typer.Typer) -> None:
    group = Commands(
        no_args_is_help=True,
        rich_markup_mode=None,
        help="Compute what an observer of an anonymity protocol can infer: exact posteriors.",
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    for name, command in (("dining", dining), ("threshold-mix", threshold_mix), ("pool-mix", pool_mix), ("crowds", crowds)):
        group.command(name)(command)
    app.add_typer(group, name="observe")


def dining(
    players: Annotated[int, typer.Option("--players", help="Players in the ring.")] = 3,
    bias: Annotated[float, typer.Option("--bias", help="Chance that a coin shows 1.")] = 0.5,
    insiders: Annotated[str, typer.Option("--insiders", help="Players who observe, from 0: 0,2.")] = "",
    plot: Plot = None,
    as_json: options.Json = False,
) -> None:
    """Dining cryptographers: who paid, from what is announced."""
    from shoal.measures.observer import models

    try:
        inside = [int(x) for x in texts.names(insiders)]
    except ValueError:
        raise typer.BadParameter("insiders are numbers of players: 0,2.") from None
    _tell(models.dining_cryptographers(players, bias=bias, insiders=inside), plot, as_json=as_json)


def threshold_mix(
    messages: Annotated[int, typer.Option("--messages", help="Messages in a batch.")],
    attacker: Annotated[int, typer.Option("--attacker", help="Messages of the batch that are the observer's own.")] = 0,
    plot: Plot = None,
    as_json: options.Json = False,
) -> None:
    """A mix that waits for so many messages: which of them is the one that leaves."""
    from shoal.measures.observer import models

    _tell(models.threshold_mix(messages, attacker=attacker), plot, as_json=as_json)


def pool_mix(
    messages: Annotated[int, typer.Option("--messages", help="Messages that arrive, and leave, each round.")],
    pool: Annotated[int, typer.Option("--pool", help="Messages that stay, drawn at random.")],
    rounds: Annotated[int, typer.Option("--rounds", help="Rounds so far.")] = 20,
    plot: Plot = None,
    as_json: options.Json = False,
) -> None:
    """A mix that keeps a pool: which message of which round leaves now."""
    from shoal.measures.observer import models

    _tell(models.pool_mix(messages, pool, rounds), plot, as_json=as_json)


def crowds(
    members: Annotated[int, typer.Option("--members", help="Members of the crowd.")],
    corrupt: Annotated[int, typer.Option("--corrupt", help="Members who collaborate and observe.")] = 1,
    forward: Annotated[float, typer.Option("--forward", help="Chance to forward instead of delivering.")] = 0.75,
    paths: Annotated[int, typer.Option("--paths", help="Paths of the same person: the predecessor attack.")] = 1,
    plot: Plot = None,
    as_json: options.Json = False,
) -> None:
    """Crowds: who began, from who came before the first collaborator."""
    from shoal.measures.observer import models

    _tell(models.crowds(members, corrupt=corrupt, forward=forward, paths=paths), plot, as_json=as_json)


def _tell(model: Any, plot: Path | None, *, as_json: bool) -> None:
    found = model.to_json()
    seen = found["observations"]
    if plot is not None:
        from shoal.report.charts import bars, save

        names, sure = [s["observation"] for s in seen[:SHOWN]], [s["posterior"] for s in seen[:SHOWN]]
        chart = bars(names, sure, title=f"Surest guess by observation: {model.name}", x="posterior of the likeliest")
        _shared.say(f"Plot written to {save(chart, plot)}.")
    if as_json:
        _shared.put_json(found)
        return
    said = f"{model.name}: {found['subjects']:,} candidates, {_shared.shown(found['entropy_before'])} bits of doubt before, "
    said += f"{_shared.shown(found['entropy_after'])} after on average; "
    said += f"the best guess is right with a chance of {_shared.shown(found['right_guess'])}"
    _shared.line(said + (" (perfect: nothing is learned)." if found["perfect"] else "."))
    heads = ["observation", "chance", "likeliest", "posterior", "entropy", "degree", "grade", "KL"]
    rows = [
        [
            s["observation"],
            _shared.shown(s["chance"]),
            s["likeliest"],
            _shared.shown(s["posterior"]),
            _shared.shown(s["shannon_entropy"]),
            _shared.shown(s["degree_of_anonymity"], 3),
            s["grade"],
            _shared.shown(s["kl"]),
        ]
        for s in seen[:SHOWN]
    ]
    _shared.show_table("What each observation tells", heads, rows, right=(1, 3, 4, 5, 7))
    if len(seen) > SHOWN:
        _shared.line(f"and {len(seen) - SHOWN:,} rarer observations (--json has all)")
    _shared.next_step("more members or other settings show what they buy; --plot observed.svg draws the guesses.")
