"""The command ``shoal``: one file per group of commands, found by name; each parses, calls and prints.

A command module has ``register(app)`` and imports nothing heavy at its top, so that ``shoal --help`` answers at once.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
import sys
import time
from collections.abc import Sequence
from typing import Any

import typer

from shoal.cli import _shared
from shoal.cli._shared import report_warnings
from shoal.cli._shell import process, texts
from shoal.cli._shell.commands import ALL, Commands, Group, indented
from shoal.disk.atomic import disk_full
from shoal.errors import OutputError, ShoalError

_TOGETHER = {
    "about": ("presets", "explain", "doctor", "manual", "demo"),
    "check": ("verify", "attack"),
    "compare": ("study",),
    "link": ("encode",),
    "predict": ("observe",),
    "studio": ("serve",),
    "tables": ("import", "export", "table", "hierarchy", "transform"),
}
MODULES = {command: module for module, commands in _TOGETHER.items() for command in commands}
"""Commands that share a module with another."""

INTERRUPTED = 130
EPILOG = "'shoal COMMAND --help' explains one command. Everything is computed on this computer."


class Root(Group):
    """The command itself: its help lists the subcommands by purpose."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        for purpose, lines in indented("purposes.txt").items():
            commands = [line.split(": ", 1) for line in lines]
            with formatter.section(purpose):
                formatter.write_dl([(name, words) for name, words in commands if name in self.commands])


def build(only: str = "") -> typer.Typer:
    """The whole command; ``only`` one subcommand where its name is known already, and none for ``--version``."""
    app = Commands(
        name="shoal",
        cls=Root,
        help="Measure how well people are hidden in a table, predict it, make the table safe, prove it.",
        epilog=EPILOG,
        add_completion=True,
        pretty_exceptions_enable=False,
    )
    app.callback()(_root)
    present = [m.name for m in pkgutil.iter_modules(__path__) if not m.name.startswith("_")]
    only = MODULES.get(only, only)
    wanted = [only] if only in present else [] if only == "--version" else present
    for name in wanted:
        importlib.import_module(f"shoal.cli.{name}").register(app)
    return app


@functools.cache
def _built(only: str) -> Any:
    """The command with its options, read from the signatures once: the vault's seventy take a tenth of a second."""
    return typer.main.get_command(build(only))


def _version(wanted: bool) -> None:
    if wanted:
        from shoal import __version__

        typer.echo(f"shoal {__version__}")
        raise typer.Exit


def _root(
    version: bool = typer.Option(False, "--version", help="Show the version and stop.", callback=_version, is_eager=True),
    quiet: bool = typer.Option(False, "--quiet", "-q", help="Print errors only. The exit code gives the result."),
    verbose: bool = typer.Option(False, "--verbose", "-v", help="Also print each step, and time and memory."),
) -> None:
    """Measure how well people are hidden in a table, predict it, make the table safe, prove it.

    ``quiet`` and ``verbose`` may stand anywhere and are taken before (:mod:`shoal.cli._shell.process`); here they are explained.
    """


def _run(words: list[str], loud: _shared.Volume) -> object:
    """Run one command with the settings that hold for it; what the command returns."""
    given, source = process.read(words[0] if words else "")
    command = _built(words[0] if words else "")
    _shared.listen(loud)
    if loud.quiet:
        process.hush(words)
    elif source and "--help" not in words:
        _shared.say(source)
    everything = {ALL: ALL in words}
    spoken = ["--help" if word == ALL else word for word in words]
    with report_warnings(_shared.say):
        return command(spoken, standalone_mode=False, obj=everything, default_map={words[0]: given} if given else None)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command; every way out has its exit code (0 fine, 1 not met, 2 usage, 3 data, 4 internal)."""
    started = time.perf_counter()
    loud, typed = process.take_volume(texts.explained(list(sys.argv[1:] if arguments is None else arguments)))
    as_json = "--json" in typed
    try:
        code = _run(typed, loud)
    except ShoalError as error:
        sys.exit(process.fail(error, as_json=as_json))
    except typer.Exit as stop:
        sys.exit(stop.exit_code)
    except process.usage_errors() as error:
        sys.exit(process.fail_usage(error, as_json=as_json))
    except (KeyboardInterrupt, typer.Abort):
        sys.exit(process.fail_interrupted(as_json=as_json))
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(141)
    except Exception as error:  # the last net: say where, never what
        if disk_full(error):
            sys.exit(process.fail(OutputError("the disk is full.", hint="Free space and run again."), as_json=as_json))
        sys.exit(process.fail_internal(error, as_json=as_json))
    if code == INTERRUPTED:  # the parser caught Ctrl-C and made it a number
        sys.exit(process.fail_interrupted(as_json=as_json))
    if loud.verbose:
        _shared.say(process.time_taken(started))
    sys.exit(code if isinstance(code, int) else 0)
