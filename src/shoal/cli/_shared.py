"""What every command shares: JSON on stdout, words on stderr, progress bars, and the ways to fail."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import sys
import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.cli._shell.limit import StatementTimeout as StatementTimeout
from shoal.cli._shell.terminal import console as console
from shoal.cli._shell.terminal import line as line
from shoal.cli._shell.terminal import printable as printable
from shoal.cli._shell.terminal import shown as shown
from shoal.cli._shell.terminal import table_of as table_of
from shoal.cli._shell.volume import Volume
from shoal.errors import InternalError, ShoalError, UsageError, nearest
from shoal.model.plain import plain
from shoal.model.progress import Progress

Json = Annotated[bool, typer.Option("--json", help="One JSON object on stdout; everything else goes to stderr.")]
Seed = Annotated[int, typer.Option("--seed", help="Same input and seed, same bytes.")]
Read = Annotated[
    list[str] | None,
    typer.Option(
        "--read",
        help="How a file is read, where the guess is wrong: delimiter=; encoding=latin-1 decimal=, null=NA … Repeatable.",
    ),
]
RenameDuplicates = Annotated[
    bool,
    typer.Option("--rename-duplicates", help="Number columns with the same name: age, age_2 … Without it the file is refused."),
]
Memory = Annotated[
    str | None,
    typer.Option("--memory", help="What the run may take: 2GB. Beyond it the disk is used, or the run is refused."),
]
OnlyAggregates = Annotated[
    bool,
    typer.Option("--only-aggregates", help="Databases: refuse statements that would return rows or identifiers."),
]
Preview = Annotated[
    bool,
    typer.Option("--preview", help="Databases: print the statements that would be sent, and send none."),
]
Order = Annotated[
    list[str] | None,
    typer.Option("--order", help="Categories of a column from low to high: pain=low,medium,high. Repeatable."),
]
Scale = Annotated[
    list[str] | None,
    typer.Option("--scale", help="What a column's values are: ward=nominal; number, ordered, date, place, id, text. Repeatable."),
]
MissingValues = Annotated[
    list[str] | None,
    typer.Option("--missing-values", help="Values of a column that mean 'no value': weight=?,-9. Repeatable."),
]
Table = Annotated[str, typer.Argument(metavar="TABLE", help="A file, or ENGINE-URL::table.")]
Quasi = Annotated[str | None, typer.Option("--quasi", help="Quasi-identifiers: a,b,c.")]
Qi = Annotated[str | None, typer.Option("--qi", help="The same as --quasi.", hidden=True)]
Sensitive = Annotated[str | None, typer.Option("--sensitive", help="Sensitive columns: a,b.")]
Direct = Annotated[str | None, typer.Option("--direct", help="Columns that name people by themselves: a,b.")]
Insensitive = Annotated[str | None, typer.Option("--insensitive", help="Columns that are neither: a,b.")]
Rest = Annotated[str | None, typer.Option("--rest", help="What becomes of columns that are not named: drop or insensitive.")]
Unit = Annotated[str | None, typer.Option("--unit", help="The column that names a person: k counts people, not rows.")]
Weight = Annotated[str | None, typer.Option("--weight", help="The column of sampling weights.")]

Exclude = Annotated[
    str | None,
    typer.Option("--exclude", help="People who asked not to be in it: a file with one id per line, or FILE:column."),
]
ExcludeBy = Annotated[str | None, typer.Option("--exclude-by", help="The column that holds these ids; the unit without it.")]

_loud = Volume()


def names(text: str | None) -> tuple[str, ...]:
    """Column names from ``a,b,c``; a name with a comma is written in double quotes.

    >>> names('age, sex,"zip, code"')
    ('age', 'sex', 'zip, code')
    """
    if not text:
        return ()
    import csv

    row = next(csv.reader([text], skipinitialspace=True))
    found = tuple(n.strip() for n in row if n.strip())
    if len(set(found)) != len(found):
        raise UsageError("a column is named twice.", hint="Name each column once, separated by commas.")
    return found


def pairs_of(text: str | None, option: str) -> dict[str, str]:
    """``a=b,c=d`` as a mapping."""
    out: dict[str, str] = {}
    for part in names(text):
        name, equals, word = part.partition("=")
        if not equals or not name.strip() or not word.strip() or name.strip() in out:
            raise UsageError(f"{option} is written like a=b,c=d, each name once.")
        out[name.strip()] = word.strip()
    return out


def roles(**given: str | None) -> dict[str, Any]:
    """The roles that were given, as keywords of the verbs: names of columns; unit and weight are one column each.

    >>> roles(quasi="age,sex", unit="person", direct=None)
    {'quasi': ('age', 'sex'), 'unit': 'person'}
    """
    return {word: text if word in ("unit", "weight") else names(text) for word, text in given.items() if text is not None}


def orders(given: Sequence[str] | None) -> dict[str, tuple[str, ...]]:
    """Orders of columns from ``column=a,b,c`` texts.

    >>> orders(["pain=low,medium,high"])
    {'pain': ('low', 'medium', 'high')}
    """
    return _listed(given, 2, "an --order", "--order pain=low,medium,high")


def _listed(given: Sequence[str] | None, least: int, what: str, example: str) -> dict[str, tuple[str, ...]]:
    """Lists of values by column from ``column=a,b`` texts; a column that is named again gets more."""
    import csv

    out: dict[str, tuple[str, ...]] = {}
    for text in given or ():
        column, separator, listed = text.partition("=")
        values = tuple(v.strip() for v in next(csv.reader([listed], skipinitialspace=True), []))
        if not separator or not column or len(values) < least:
            raise UsageError(f"{what} is written wrongly.", hint=f"For example {example}.")
        out[column] = (*out.get(column, ()), *values)
    return out


def properties(
    scale: Sequence[str] | None, missing: Sequence[str] | None, order: Sequence[str] | None = None
) -> dict[str, dict[str, Any]]:
    """What is said about columns beside their roles, as keywords of ``shoal.open``.

    >>> properties(["ward=nominal"], ["weight=?,-9"])
    {'scale': {'ward': 'nominal'}, 'missing_values': {'weight': ('?', '-9')}}
    """
    pairs = [text.rpartition("=") for text in scale or ()]
    if not all(separator and column for column, separator, _ in pairs):
        raise UsageError("a --scale is written wrongly.", hint="For example --scale ward=nominal.")
    said: dict[str, dict[str, Any]] = {
        "scale": {column: word for column, _, word in pairs},
        "order": orders(order),
        "missing_values": _listed(missing, 1, "a --missing-values", "--missing-values weight=?,-9"),
    }
    return {name: values for name, values in said.items() if values}


def asked(policy: Path | None, *, k: int | None, hint: str = "", **given: str | None) -> dict[str, Any]:
    """What is asked in words, where no policy file says it; one of the two is needed."""
    words = roles(**given) | ({"k": k} if k is not None else {})
    if policy is None and not words:
        raise UsageError("nothing is asked: there is no --policy.", hint=hint or "Or say it in words: --quasi a,b --k 5 …")
    return words


READING = (
    *("format", "delimiter", "quote", "encoding", "decimal", "header", "null", "types", "dates", "sheet"),
    *("user_missing", "booleans", "rename_duplicates"),
)
_BY_COLUMN, _YES_NO = ("types", "dates"), ("header", "booleans", "rename_duplicates")


def read_options(
    given: Sequence[str] | None,
    *,
    rename: bool = False,
    memory: str | None = None,
    timeout: str | None = None,
    only_aggregates: bool = False,
) -> dict[str, Any]:
    """Options of ``shoal.open`` from ``key=value`` texts; ``null``, ``types`` and ``dates`` may be given several times.

    >>> read_options(["delimiter=tab", "header=false", "null=NA", "null=?", "types=zip:text"])
    {'delimiter': '\\t', 'header': False, 'null': ['NA', '?'], 'types': {'zip': 'text'}}
    """
    out: dict[str, Any] = {"rename_duplicates": True} if rename else {}
    if memory is not None:
        out["memory"] = memory
    if timeout is not None:
        out["statement_timeout"] = timeout
    if only_aggregates:
        out["only_aggregates"] = True
    for text in given or ():
        key, separator, value = text.partition("=")
        column, colon, kind = value.partition(":") if key == "dates" else value.rpartition(":")  # a form may hold colons
        if key not in READING:
            close = nearest(key, READING)
            raise UsageError(
                f"'{key}' is not an option of --read.",
                hint=f"Did you mean '{close}'?" if close else f"Known: {', '.join(READING)}.",
            )
        if not separator or (key in _BY_COLUMN and not colon) or (key in _YES_NO and value not in ("true", "false")):
            raise UsageError(
                "an option of --read is written wrongly.", hint="For example delimiter=; header=false types=zip:text."
            )
        if key == "null":
            out.setdefault(key, []).append(value)
        elif key in _BY_COLUMN:
            out.setdefault(key, {})[column] = kind
        else:
            out[key] = value == "true" if key in _YES_NO else "\t" if value == "tab" else value
    return out


def how_read(source: Mapping[str, Any]) -> str:
    """How a text file was read, in one line, so that a wrong guess is seen; empty for other sources.

    >>> how_read({"format": "csv", "delimiter": ";", "encoding": "latin-1", "decimal": ",", "header": True})
    "Read as CSV: delimiter ';', encoding latin-1, decimal ',', first line holds the names. Wrong? See --read."
    """
    if source.get("format") != "csv":
        return ""
    names = "first line holds the names" if source["header"] else "no line of names"
    mark = "tab" if source["delimiter"] == "\t" else f"'{source['delimiter']}'"
    decimal = source.get("decimal") or "."
    return f"Read as CSV: delimiter {mark}, encoding {source['encoding']}, decimal '{decimal}', {names}. Wrong? See --read."


def say(message: str) -> None:
    """A message of one line beside the result: to stderr, unless quiet was asked for."""
    if not _loud.quiet:
        typer.echo(printable(message), err=True)


def named(table: str) -> str:
    """A table as a command names it; a URL may hold a password and is not repeated."""
    return "TABLE" if "://" in table else table


def next_step(command: str, *, within: bool = False) -> None:
    """The one thing to do next, beside the result or ``within`` it; not folded, so that it can be copied."""
    sys.stdout.flush()  # the result first, wherever the two streams meet
    typer.echo(printable(f"Next: {command}")) if within else say(f"Next: {command}")


def listen(loud: Volume) -> None:
    """From here on this loud: quiet, usual or verbose."""
    global _loud
    _loud = loud


def tell(error: ShoalError) -> None:
    """An error and its hint on a line each, whatever names they hold."""
    for said in (f"{type(error).__name__}: {error.message}", *([f"  {error.hint}"] if error.hint else [])):
        typer.echo(printable(said), err=True)


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


def fail(error: ShoalError, *, as_json: bool) -> int:
    """Tell a ShoalError; its exit code."""
    tell(error)
    if as_json:
        told = {"type": type(error).__name__, "message": error.message, "hint": error.hint, "exit_code": error.exit_code}
        offers = getattr(error, "alternatives", None)
        if offers is not None:  # columns, levels and counts: no data value
            told["alternatives"] = [dataclasses.asdict(offer) for offer in offers]
        put_json({"error": told})
    return error.exit_code


def explained(words: list[str]) -> list[str]:
    """``--explain`` alone means all numbers; a word after it is one number, unless it is another option or a file.

    >>> explained(["measure", "t.csv", "--explain"]), explained(["measure", "--explain", "match", "t.csv"])[1]
    (['measure', 't.csv', '--explain=all'], '--explain=match')
    """
    if "--explain" not in words or words[:1] != ["measure"]:
        return words
    from shoal.measures.glossary import words as known
    from shoal.measures.shown import SHOWN

    at = words.index("--explain")
    names = {*known(), *(spelling for s in SHOWN for spelling in s.also)}
    given = words[at + 1] if at + 1 < len(words) else ""
    one = given in names and not Path(given).exists()
    return [*words[:at], f"--explain={given if one else 'all'}", *words[at + 1 + one :]]


def usage_errors() -> tuple[type[Exception], ...]:
    """The exceptions of the command-line parser, whether typer brings its own click or uses the package."""
    own = [c for c in typer.BadParameter.__mro__ if c.__name__ == "ClickException"]
    return tuple(own) or (typer.BadParameter,)


def fail_usage(error: Exception, *, as_json: bool) -> int:
    """Tell a mistake on the command line."""
    said = error.format_message() if hasattr(error, "format_message") else str(error)
    wrapped = UsageError(said, hint="Run the command with --help to see what it takes.")
    return fail(wrapped, as_json=as_json)


def stopped(*, as_json: bool) -> int:
    """Tell that the user interrupted."""
    say("Stopped. Nothing was left half-written.")
    if as_json:
        put_json({"error": {"type": "Interrupted", "message": "stopped by the user", "hint": "", "exit_code": 130}})
    return 130


def fail_internal(error: BaseException, *, as_json: bool) -> int:
    """Tell our own mistake by type and place; its text may hold a data value and is not shown."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "shoal" in Path(f.filename).parts]
    where = f"{'/'.join(Path(frames[-1].filename).parts[-2:])}:{frames[-1].lineno}" if frames else "an unknown place"
    wrapped = InternalError(
        f"{type(error).__name__} at {where}.",
        hint="This is a mistake in Shoal, not in your data. Please report this line; it holds no data.",
    )
    return fail(wrapped, as_json=as_json)


def tell_losses(sentences: Iterable[str], *, after: bool = False) -> None:
    """What a format cannot hold: on stderr before writing, so that it can be stopped; among the answers afterwards."""
    for sentence in sentences:
        told = f"{'not kept' if after else 'will not be kept'}: {printable(sentence)}"
        line(told) if after else typer.echo(told, err=True)
