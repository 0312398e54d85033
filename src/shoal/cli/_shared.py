"""What every command says with: JSON on stdout, words on stderr, progress bars."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterable, Iterator
from typing import Any

import typer

from shoal.cli._shell.terminal import console as console
from shoal.cli._shell.terminal import line as line
from shoal.cli._shell.terminal import printable as printable
from shoal.cli._shell.terminal import shown as shown
from shoal.cli._shell.terminal import table_of as table_of
from shoal.cli._shell.volume import Volume
from shoal.model.display import Progress
from shoal.model.strict_json import plain

_loud = Volume()


def say(message: str) -> None:
    """A message of one line beside the result: to stderr, unless quiet was asked for."""
    if not _loud.quiet:
        typer.echo(printable(message), err=True)


def named(table: str) -> str:
    """A table as it can be typed after a command; a URL may hold a password and is not repeated."""
    from shoal.cli._shell.again import word

    return "TABLE" if "://" in table else word(table)


def next_step(command: str, *, within: bool = False) -> None:
    """The one thing to do next, beside the result or ``within`` it; not folded, so that it can be copied."""
    sys.stdout.flush()  # the result first, wherever the two streams meet
    typer.echo(printable(f"Next: {command}")) if within else say(f"Next: {command}")


def listen(loud: Volume) -> None:
    """From here on this loud: quiet, usual or verbose."""
    global _loud
    _loud = loud


LONG_JSON = 1_000_000
"""Characters from which an object is written without indentation: it is for programs, and takes a third of the time."""


def put_json(value: Any) -> None:
    """One object on stdout, indented unless it is very long. Infinite and undefined numbers become null."""
    made = plain(value)
    text = json.dumps(made, ensure_ascii=False)
    typer.echo(json.dumps(made, ensure_ascii=False, indent=2) if len(text) < LONG_JSON else text)


@contextlib.contextmanager
def progress(title: str) -> Iterator[Progress]:
    """A progress bar on stderr when it is a terminal; otherwise silence, or with ``-v`` a line per step."""
    if _loud.verbose or _loud.quiet or not sys.stderr.isatty():
        yield _steps(title) if _loud.verbose else (lambda done, what: None)
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn())  # names of columns are no markup
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=1.0)
        yield lambda done, what: bar.update(task, completed=done, description=printable(what or title))


def _steps(title: str) -> Progress:
    """Says each step once, when it begins."""
    said = {""}

    def step(done: float, what: str) -> None:
        if (what or title) not in said:
            said.add(what or title)
            say(what or title)

    return step


def tell_losses(sentences: Iterable[str], *, after: bool = False) -> None:
    """What a format cannot hold: on stderr before writing, so that it can be stopped; among the answers afterwards."""
    for sentence in sentences:
        told = f"{'not kept' if after else 'will not be kept'}: {printable(sentence)}"
        line(told) if after else typer.echo(told, err=True)
