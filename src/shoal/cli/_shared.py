"""What every command says with: JSON on stdout, words on stderr, progress bars."""

from __future__ import annotations

import contextlib
import json
import math
import re
import shlex
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from shoal.errors import ShoalWarning
from shoal.model.display import Progress, written
from shoal.model.strict_json import plain

if TYPE_CHECKING:
    from rich.console import Console, RenderableType


@dataclass(frozen=True)
class Volume:
    """How much a command prints: at most one of the two is set."""

    quiet: bool = False
    verbose: bool = False


_loud = Volume()


def say(message: str) -> None:
    """A message of one line beside the result: to stderr, unless quiet was asked for."""
    if not _loud.quiet:
        typer.echo(printable(message), err=True)


def named(table: str) -> str:
    """A table as it can be typed after a command; a URL may hold a password and is not repeated."""
    return "TABLE" if "://" in table else shell_word(table)


def next_step(command: str, *, within: bool = False) -> None:
    """The one thing to do next, beside the result or ``within`` it; not folded, so that it can be copied."""
    sys.stdout.flush()  # the result first, wherever the two streams meet
    typer.echo(printable(f"Next: {command}")) if within else say(f"Next: {command}")


def listen(loud: Volume) -> None:
    """From here on this loud: quiet, usual or verbose."""
    global _loud
    _loud = loud


def is_verbose() -> bool:
    return _loud.verbose


LONG_JSON = 1_000_000
"""Characters from which an object is written without indentation: it is for programs, and takes a third of the time."""


def put_json(value: object) -> None:
    """One object on stdout, indented unless it is very long. Infinite and undefined numbers become null."""
    document = plain(value)
    text = json.dumps(document, ensure_ascii=False)
    typer.echo(json.dumps(document, ensure_ascii=False, indent=2) if len(text) < LONG_JSON else text)


@contextlib.contextmanager
def progress(title: str) -> Iterator[Progress]:
    """A progress bar on stderr when it is a terminal; otherwise silence, or with ``-v`` a line per step."""
    if _loud.verbose or _loud.quiet or not sys.stderr.isatty():
        yield _steps(title) if _loud.verbose else (lambda done, what: None)
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn())  # names are not markup
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=1.0)
        yield lambda done, what: bar.update(task, completed=done, description=printable(what or title))


def _steps(title: str) -> Progress:
    """Says each step once, when it begins."""
    shown_before = {""}

    def step(done: float, what: str) -> None:
        if (what or title) not in shown_before:
            shown_before.add(what or title)
            say(what or title)

    return step


def tell_repairs(source: Mapping[str, Any], read: Mapping[str, Any] | None = None) -> None:
    """Report what the reader mended in a file, a line each, and what a policy's plan (``read``) does not name."""
    for repair in source.get("repairs", ()):
        say(f"• {repair}")
    other = [f"{name}={value}" for name, value in source.get("plan", {}).items() if read and name not in read]
    if other:
        say(f"• Not in the policy's reading plan: {', '.join(other)}.")


def tell_losses(sentences: Iterable[str], *, after: bool = False) -> None:
    """What a format cannot hold: on stderr before writing, so that it can be stopped; among the answers afterwards."""
    for sentence in sentences:
        text = f"{'not kept' if after else 'will not be kept'}: {printable(sentence)}"
        line(text) if after else typer.echo(text, err=True)


def tell(result: Mapping[str, object], words: RenderableType, *, as_json: bool) -> None:
    """The answer: one object, or a sentence or table."""
    if as_json:
        put_json(result)
    elif isinstance(words, str):
        typer.echo("\n".join(printable(line) for line in words.split("\n")))
    else:
        console().print(words)


LONGEST = 32
"""Longer words may be cut to fit a table."""
ROUNDING = 1e-12
"""Sums of doubles near 1 are not known better than this."""


def console() -> Console:
    """Where people read: stdout, without colour when it is not a terminal."""
    from rich.console import Console

    return Console(highlight=False, emoji=False, soft_wrap=not sys.stdout.isatty())


def line(text: str, style: str = "") -> None:
    """One line of the result: folded between words on a terminal, as it is anywhere else."""
    console().print(printable(text), style=style or None, markup=False)


def show_table(
    title: str, heads: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[int] = (), style: str = "bold"
) -> None:
    console().print(table_of(title, heads, rows, right=right, style=style))


def notes(sentences: Iterable[str]) -> None:
    """Print remarks below a result, a line each."""
    for sentence in sentences:
        line(f"• {sentence}")


def printable(text: str) -> str:
    """Text without control characters: a hostile name cannot drive the terminal.

    >>> printable("age\\x1b[2J")
    'age�[2J'
    """
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def shown(x: float, digits: int = 4) -> str:
    """A counted or summed number as people read it: grouped where it is long, never with an exponent.

    What is nearer to 0 than :data:`ROUNDING` is left over from sums of numbers near 1 and is shown as 0.

    >>> shown(5000.0), shown(1234567.8), shown(0.25), shown(12.3456), shown(0.0000123), shown(3.0), shown(float("inf"))
    ('5,000', '1,234,568', '0.25', '12.35', '0.0000123', '3', '∞')
    >>> shown(3.2e-16), shown(2e-11)
    ('0', 'nearer to 0 than 0.000000001')
    """
    if not math.isfinite(x):
        return "∞" if x > 0 else "−∞" if x < 0 else "none"
    if abs(x) < ROUNDING or abs(x) >= 10 ** (digits - 1):
        return f"{x if abs(x) >= ROUNDING else 0:,.0f}"
    return written(x, digits)


def plural(n: int, noun: str) -> str:
    """A number with its noun.

    >>> plural(1, "more warning"), plural(1200, "row")
    ('1 more warning', '1,200 rows')
    """
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def table_of(
    title: str, heads: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[int] = (), style: str = "bold"
) -> Any:
    """A table whose cells are inert text and that fits the terminal.

    Cells are folded between words; numbers (``right``) and words are not cut. Where that needs more room than there is, the
    columns stand closer, then below each other, each part with the first column.
    """
    from rich.console import Group
    from rich.text import Text

    room = console().width
    least = [_least([heads[i], *(row[i] for row in rows)], whole=i in right) for i in range(len(heads))]
    parts = list(_parts(least, room))
    shown = [
        _table([heads[i] for i in part], [[row[i] for i in part] for row in rows], part, right, least, room) for part in parts
    ]
    above: list[RenderableType] = [Text(printable(title), style=style)] if title else []
    return Group(*above, *shown)


def _least(texts: Sequence[str], *, whole: bool) -> int:
    """The width that a column needs: its longest word, or its longest cell where cells are not to be folded."""
    from rich.cells import cell_len

    cells = [*texts[0].split(), *texts[1:]] if whole else [word for text in texts for word in text.split()]
    longest = max(map(cell_len, cells), default=1)
    return longest if whole else min(longest, LONGEST)


def _parts(least: Sequence[int], room: int) -> Iterator[tuple[int, ...]]:
    """The columns that stand beside each other; the first column stands in every part."""
    part: list[int] = [0]
    for i in range(1, len(least)):
        if len(part) > 1 and sum(least[j] for j in (*part, i)) + len(part) + 2 > room:
            yield tuple(part)
            part = [0]
        part.append(i)
    yield tuple(part) if least else ()


def _table(
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    part: Sequence[int],
    right: Sequence[int],
    least: Sequence[int],
    room: int,
) -> Any:
    from rich import box
    from rich.cells import cell_len
    from rich.table import Table
    from rich.text import Text

    apart = 1 if sum(least[i] for i in part) + 3 * len(part) + 1 <= room else 0
    table = Table(box=box.SIMPLE_HEAD, padding=(0, apart))
    inside = room - (1 + 2 * apart) * len(part) - 1
    natural = [max([cell_len(heads[i]), *(cell_len(row[i]) for row in rows)]) for i in range(len(part))]
    widths = _widths(natural, [least[i] for i in part], inside)
    for i, head in enumerate(heads):
        side = "right" if part[i] in right else "left"
        table.add_column(Text(head), justify=side, overflow="fold", width=widths[i])  # type: ignore[arg-type]
    for row in rows:
        table.add_row(*(Text(printable(cell)) for cell in row))
    return table


def _widths(natural: Sequence[int], least: Sequence[int], room: int) -> list[int]:
    """Widths that fit: the widest column gives way first, none below what it needs while another can give.

    >>> _widths([10, 40], [5, 6], 30), _widths([3, 4], [3, 4], 30), _widths([9, 9], [9, 9], 10)
    ([10, 20], [3, 4], [5, 5])
    """
    widths = [max(1, n) for n in natural]
    for floor in (least, [1] * len(least)):
        while sum(widths) > room and any(w > f for w, f in zip(widths, floor, strict=True)):
            at = max((i for i in range(len(widths)) if widths[i] > floor[i]), key=lambda i: widths[i])
            widths[at] -= 1
    return widths


_SIGNED_IN = re.compile(r"^([\w+.-]+://[^:@/]*):.*@")
_SECRET = re.compile(r"(?<=[?&])[^=&]*password=[^&]*&?", re.IGNORECASE)


def table_beside(table: str, name: str) -> str:
    """The URL of a new table beside ``table``, without a password.

    >>> table_beside("postgresql://ann:secret@host/db::visits", "visits_public")
    'postgresql://ann@host/db::visits_public'
    >>> table_beside("postgresql+psycopg://ann:secret@host/db?password=more&sslmode=require::visits", "safe")
    'postgresql+psycopg://ann@host/db?sslmode=require::safe'
    """
    url = _SECRET.sub("", _SIGNED_IN.sub(r"\1@", table.rpartition("::")[0]))
    return f"{url.rstrip('?&')}::{name}"


def shell_word(path: str | Path) -> str:
    """A path as it can be typed after a command.

    >>> shell_word("my file.csv")
    "'my file.csv'"
    """
    return shlex.quote(printable(str(path)))


@contextmanager
def report_warnings(say: Callable[[str], None]) -> Iterator[None]:
    """Inside, each of Shoal's warnings is printed once where it arises; other warnings are unchanged."""
    with warnings.catch_warnings():
        warnings.filterwarnings("always", category=ShoalWarning)
        others = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
            if issubclass(category, ShoalWarning):
                say(f"Note: {message}")
            else:
                others(message, category, *place, **more)

        warnings.showwarning = show
        yield


def preview_instead(
    wanted: bool, verb: str, tables: str | Sequence[str] | None, reading: Mapping[str, Any], *, as_json: bool, **words: Any
) -> None:
    """If a preview is wanted, print the statements, or all that is known of them as JSON, and end the command.

    What the statements rest on goes to stderr.
    """
    if not wanted:
        return
    from shoal.api.preview import preview

    sources = [tables] if tables is None or isinstance(tables, str) else tables
    previews = [preview(verb, source, reading=reading, **words) for source in sources]
    if as_json:
        put_json(previews[0].to_json() if len(previews) == 1 else {"verb": verb, "tables": [f.to_json() for f in previews]})
        raise typer.Exit
    for one in previews:
        for statement in one.statements:
            typer.echo(f"-- returns {statement.returns}\n{printable(statement.sql)};")
    for note in dict.fromkeys(f.note for f in previews):
        say(note)
    raise typer.Exit
