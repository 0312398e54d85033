"""How a command fails: the message, as text and as JSON, and the exit code.

Settings from a file or the environment, for what people set once: memory, format, the patience with a server.

``shoal.toml`` in the working folder, else in the user's configuration folder; ``SHOAL_CONFIG`` names another. ``[measure]``
holds for one command, a key above the first table for all that know it; ``SHOAL_MEMORY=2GB`` beats the file, an option beats
both. Nothing that says what is claimed, who gets data or where output goes can be set here: a file that came with a download
must not decide that.
"""

from __future__ import annotations

import dataclasses
import io
import os
import sys
import time
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer

from shoal.cli import _shared
from shoal.cli._shared import Volume, printable
from shoal.errors import DataError, InternalError, ShoalError, UsageError
from shoal.version import __version__


def print_error(error: ShoalError) -> None:
    """An error and its hint on a line each, for any names in them."""
    for line in (f"{type(error).__name__}: {error.message}", *([f"  {error.hint}"] if error.hint else [])):
        typer.echo(printable(line), err=True)


def fail(error: ShoalError, *, as_json: bool) -> int:
    """Tell a ShoalError; its exit code."""
    print_error(error)
    if as_json:
        content = {"type": type(error).__name__, "message": error.message, "hint": error.hint, "exit_code": error.exit_code}
        offers = getattr(error, "alternatives", None)
        if offers is not None:  # columns, levels and counts: no data value
            content["alternatives"] = [dataclasses.asdict(offer) for offer in offers]
        _shared.put_json({"error": content})
    return error.exit_code


def usage_errors() -> tuple[type[Exception], ...]:
    """The exceptions of the command-line parser, whether typer brings its own click or uses the package."""
    own = [c for c in typer.BadParameter.__mro__ if c.__name__ == "ClickException"]
    return tuple(own) or (typer.BadParameter,)


def fail_usage(error: Exception, *, as_json: bool) -> int:
    """Tell a mistake on the command line."""
    message = error.format_message() if hasattr(error, "format_message") else str(error)
    wrapped = UsageError(message, hint="Run the command with --help to see what it takes.")
    return fail(wrapped, as_json=as_json)


def fail_interrupted(*, as_json: bool) -> int:
    """Tell that the user interrupted."""
    _shared.say("Stopped. Nothing was left half-written.")
    if as_json:
        _shared.put_json({"error": {"type": "Interrupted", "message": "stopped by the user", "hint": "", "exit_code": 130}})
    return 130


def fail_internal(error: BaseException, *, as_json: bool) -> int:
    """Tell our own mistake by type and place; its text may hold a data value and is not shown."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "shoal" in Path(f.filename).parts]
    where = f"{'/'.join(Path(frames[-1].filename).parts[-2:])}:{frames[-1].lineno}" if frames else "an unknown place"
    wrapped = InternalError(
        f"{type(error).__name__} at {where}.",
        hint="This is an internal error (bug) in Shoal, not in your data. Please report this line; it contains no data.",
    )
    return fail(wrapped, as_json=as_json)


QUIET, VERBOSE = ("-q", "--quiet"), ("-v", "--verbose")
STREAMS = (("vault", "filter"),)
"""Commands whose standard output is their product, not words."""


def take_volume(words: list[str]) -> tuple[Volume, list[str]]:
    """The volume, and the words without it; what follows ``--`` is left alone.

    >>> take_volume(["measure", "t.csv", "-q"])
    (Volume(quiet=True, verbose=False), ['measure', 't.csv'])
    >>> take_volume(["measure", "--", "-v"])
    (Volume(quiet=False, verbose=False), ['measure', '--', '-v'])
    """
    end = words.index("--") if "--" in words else len(words)
    head, tail = words[:end], words[end:]
    quiet, verbose = any(w in QUIET for w in head), any(w in VERBOSE for w in head)
    rest = [w for w in head if w not in (*QUIET, *VERBOSE)] + tail
    return Volume(quiet and not verbose, verbose), rest


def hush(words: list[str]) -> None:
    """Standard output goes nowhere from here on, unless it is data."""
    if "--json" not in words and tuple(words[:2]) not in STREAMS:
        sys.stdout = Nowhere()


class Nowhere(io.TextIOBase):
    """A stream that forgets what is written to it."""

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        return len(text)


def time_taken(started: float) -> str:
    """What the run took, for ``-v``; memory where the system tells it.

    >>> time_taken(time.perf_counter()).startswith("shoal ")
    True
    """
    line = f"shoal {__version__}: {time.perf_counter() - started:.1f} s, {time.process_time():.1f} s of processor time"
    try:
        import resource
    except ImportError:  # Windows
        return f"{line}."
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return f"{line}, at most {peak / 1e6:,.0f} MB."


SETTABLE = ("memory", "format", "statement_timeout")
FILE = "shoal.toml"


def place(environ: Mapping[str, str] = os.environ) -> Path | None:
    """The file that is used, or None."""
    named = environ.get("SHOAL_CONFIG")
    if named:
        if not Path(named).is_file():
            raise UsageError("SHOAL_CONFIG names no file.", hint="Name an existing file, or unset it.")
        return Path(named)
    return next((p for p in (Path(FILE), _home(environ) / FILE) if p.is_file()), None)


def read(command: str, environ: Mapping[str, str] = os.environ) -> tuple[dict[str, str], str]:
    """The settings for one command, and a sentence that says where they come from (empty where there are none)."""
    path = place(environ)
    page = _page(path) if path else {}
    common = {k: v for k, v in page.items() if not isinstance(v, dict)}
    own = page.get(command.split(" ")[0], {})
    settings = {key: _text(key, value) for key, value in {**common, **own}.items()}
    sources = [f"{path.name} ({', '.join(settings)})"] if path and settings else []
    spoken = {k: environ[f"SHOAL_{k.upper()}"] for k in SETTABLE if environ.get(f"SHOAL_{k.upper()}")}
    sources += [f"SHOAL_{k.upper()}" for k in spoken]
    return {**settings, **spoken}, f"Settings from {', '.join(sources)}." if sources else ""


def _page(path: Path) -> dict[str, Any]:
    import tomllib  # where there is such a file, which is seldom

    try:
        page = tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as problem:
        hint = 'It is TOML, for example: memory = "2GB".'
        raise DataError(f"the settings in '{path.name}' can't be read.", hint=hint) from problem
    for table in (page, *(v for v in page.values() if isinstance(v, dict))):
        for key, value in table.items():
            if key not in SETTABLE and not (table is page and isinstance(value, dict)):
                hint = f"Settable: {', '.join(SETTABLE)}."
                raise UsageError(f"'{path.name}' holds '{key}', which can't be set in a file.", hint=hint)
    return page


def _text(key: str, value: Any) -> str:
    if not isinstance(value, str | int):
        raise UsageError(f"the setting '{key}' is not a word or a number.", hint='For example memory = "2GB".')
    return str(value)


def _home(environ: Mapping[str, str]) -> Path:
    """Where this system keeps settings of a person."""
    if sys.platform == "win32":
        return Path(environ.get("APPDATA", "~")).expanduser() / "shoal"
    if sys.platform == "darwin":
        return Path("~/Library/Application Support/shoal").expanduser()
    return Path(environ.get("XDG_CONFIG_HOME") or "~/.config").expanduser() / "shoal"
