"""Manual pages (``man shoal-measure``) written from the commands themselves, so that they cannot differ from the help."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.cli._shell.commands import ALL, examples
from shoal.disk.atomic import free, publish, staged


def manual(
    out: Annotated[Path, typer.Option("--out", "-o", help="New folder for the pages: shoal.1, shoal-measure.1 …")],
) -> None:
    """Write the pages that the command man shows, one per command."""
    from shoal.cli import build

    pages = list(_pages(typer.main.get_command(build()), "shoal"))
    target = free(out)
    with staged(target.parent) as stage:
        for name, text in pages:
            (stage / f"{name.replace(' ', '-')}.1").write_text(text, "utf-8")
        publish(stage, target)
    typer.echo(f"{len(pages)} pages. To read one: man {out / 'shoal-measure.1'}")


def _pages(command: Any, name: str) -> Iterator[tuple[str, str]]:
    """The page of a command, and those of its subcommands."""
    below = {n: c for n, c in getattr(command, "commands", {}).items() if not c.hidden}
    yield name, _page(command, name, list(below))
    for sub, child in below.items():
        yield from _pages(child, f"{name} {sub}")


def _page(command: Any, name: str, below: list[str]) -> str:
    """One page in the language of man (roff)."""
    from shoal.version import __version__

    title = name.replace(" ", "-")
    context = command.make_context(name, [], resilient_parsing=True, obj={ALL: True})
    said = " ".join((command.help or "").split())
    records = [(p.param_type_name, p.get_help_record(context)) for p in command.get_params(context)]
    lines = [f'.TH {_inert(title).upper()} 1 "" "shoal {__version__}"', ".SH NAME", rf"{_inert(title)} \- {_inert(said)}"]
    lines += [".SH SYNOPSIS", f".B {_inert(name)}", _inert(" ".join(command.collect_usage_pieces(context)))]
    for kind, heading in (("argument", "ARGUMENTS"), ("option", "OPTIONS")):
        shown = [record for of, record in records if of == kind and record is not None]
        lines += [f".SH {heading}"] * bool(shown)
        lines += [line for left, right in shown for line in (".TP", f".B {_inert(left)}", _inert(right))]
    if below:
        lines += [".SH COMMANDS", _inert(", ".join(f"{title}-{sub}" for sub in below))]
    shell = examples().get(name.removeprefix("shoal "), [])
    if shell:
        lines += [".SH EXAMPLES", ".nf", *(_inert(line) for line in shell), ".fi"]
    return "\n".join(lines) + "\n"


def _inert(text: str) -> str:
    r"""Text that man shows as it is: hyphens to be copied, no line that is taken for a command.

    >>> print(_inert("--out"))
    \-\-out
    """
    escaped = " ".join(text.split()).replace("\\", r"\e").replace("-", r"\-")
    plain = "".join(c if c.isascii() else rf"\[u{ord(c):04X}]" for c in escaped)
    return rf"\&{plain}" if plain.startswith((".", "'")) else plain
