"""Commands whose help fits a screen: what most people need is explained, the rest named by group, examples at the end.

``--help-all`` explains every option. Groups go by the names of options, so that a new command gets them for nothing.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import os
import re
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

GROUPS: dict[str, tuple[str, ...]] = {
    "Reading": ("--read", "--rename-duplicates", "--scale", "--order", "--missing-values", "--missing", "--memory"),
    "Connection": ("--statement-timeout", "--preview", "--only-aggregates"),
    "Event tables": ("--time", "--place", "--time-widths", "--place-levels", "--known"),
    "Objections": ("--exclude", "--exclude-by"),
    "Repeating": ("--seed", "--private", "--save-plan", "--plan", "--key", "--previous"),
    "Roles": ("--direct", "--insensitive", "--weight", "--rest", "--keep", "--objective"),
    "Vault": ("--vault", "--key-file", "--key-share", "--anchor", "--token-file", "--second-token-file"),
}
SHORT = 12
"""Commands with no more options than this explain all of them."""

ALL = "--help-all"
LONGEST = 300
"""Characters of the first sentence of a command's help, which is never cut."""
MOST_DIGITS = 15
"""Digits up to which a number is plainly one."""


class Command(TyperCommand):
    """A command of Shoal: grouped help, then examples."""

    def get_params(self, ctx: Any) -> list[Any]:
        return read_plainly(super().get_params(ctx))

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """The line of usage, with arguments as the list below names them: TABLE, [TABLE], TABLE..."""
        return [re.sub(r"[{}]", "", piece).upper().replace("......", "...") for piece in super().collect_usage_pieces(ctx)]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        _format_options(self, ctx, formatter)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """The examples of this command, a line each, not folded: they are for copying."""
        super().format_epilog(ctx, formatter)
        lines = examples().get(ctx.command_path.removeprefix("shoal "), [])
        if lines:
            with formatter.section("Examples"):
                for line in lines:
                    formatter.write(f"{'':>{formatter.current_indent}}{line}\n")


def _format_options(command: Any, ctx: Any, formatter: Any) -> None:
    """Arguments, options that are explained, and the names of the others by group."""
    records = [(p, p.get_help_record(ctx)) for p in command.get_params(ctx)]
    shown = [(p, (plain_metavar(r[0], argument=p.param_type_name == "argument"), r[1])) for p, r in records if r is not None]
    options = [(p, r) for p, r in shown if p.param_type_name == "option"]
    grouped = {} if (ctx.obj or {}).get(ALL) or len(options) <= SHORT else _group_options([p for p, _ in options])
    named = {name for names in grouped.values() for name in names}
    arguments = [r for p, r in shown if p.param_type_name == "argument"]
    if arguments:
        with formatter.section("Arguments"):
            formatter.write_dl(arguments)
    with formatter.section("Options"):
        formatter.write_dl([r for p, r in options if not named & set(p.opts)])
    if grouped:
        with formatter.section(f"More, explained by {ctx.command_path} {ALL}"):
            formatter.write_dl([(group, ", ".join(names)) for group, names in grouped.items()])


class Group(TyperGroup):
    """A group of such commands, as its own options see it."""

    def get_params(self, ctx: Any) -> list[Any]:
        return read_plainly(super().get_params(ctx))

    def format_options(self, ctx: Any, formatter: Any) -> None:
        _format_options(self, ctx, formatter)
        self.format_commands(ctx, formatter)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Each command with its whole first sentence."""
        commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        lines = [
            (name, command.get_short_help_str(limit=LONGEST)) for name, command in commands if command and not command.hidden
        ]
        if lines:
            with formatter.section("Commands"):
                formatter.write_dl(lines)


class Commands(typer.Typer):
    """A group of such commands. Where one reads tables, the time of its statements can be limited."""

    def __init__(self, **settings: Any) -> None:
        usual: dict[str, Any] = {"cls": Group, "no_args_is_help": True, "rich_markup_mode": None}
        usual["context_settings"] = {"help_option_names": ["-h", "--help"]}
        super().__init__(**(usual | settings))

    def command(self, name: str | None = None, **settings: Any) -> Any:
        register = super().command(name, **({"cls": Command} | settings))

        def registered(function: Callable[..., Any]) -> Callable[..., Any]:
            register(with_limit(function))
            return function

        return registered


def plain_metavar(text: str, *, argument: bool) -> str:
    """The left column of the help without names of Python types.

    >>> plain_metavar("table... <list[str]>", argument=True), plain_metavar("--port <int>", argument=False)
    ('TABLE...', '--port NUMBER')
    """
    plain = re.sub(r" <([a-z]+)[^>]*>", lambda m: "" if argument else f" {METAVARS.get(m[1], 'TEXT')}", text)
    return plain.upper() if argument else plain


METAVARS = {"int": "NUMBER", "float": "NUMBER", "path": "PATH"}


def read_plainly(parameters: list[Any]) -> list[Any]:
    """Let parameters read what is plain (:func:`plain`) by themselves; typer reads the rest, and asks for what is required.

    From 0.29 on typer reads each value through pydantic, a text as a text too: loading that is a seventh of what a small
    table takes.
    """
    for parameter in parameters:
        described = getattr(parameter, "type_descriptor", None)
        if described is None or "process_value" in vars(parameter):
            continue
        if not described.is_ranged and described.parameter_info.parser is None:
            parameter.process_value = partial(_process, parameter, parameter.process_value)
    return parameters


def _process(parameter: Any, thorough: Callable[[Any, Any], Any], ctx: Any, value: Any) -> Any:
    read: Any = plain(value, parameter.type_descriptor.annotation)
    if value is None and not parameter.required:
        read = () if parameter.multiple or parameter.nargs == -1 else None
    elif read is None or read == []:
        return thorough(ctx, value)
    return read if parameter.callback is None else parameter.callback(ctx, parameter, read)


def plain(value: object, annotation: object) -> object:
    """A value that has its type already, or a text that is plainly a whole number or a path; None where that is not sure.

    >>> plain("a", str), plain("12", int), plain(0.5, float), plain("0.5", float), plain(True, int), plain(("a",), list[str])
    ('a', 12, 0.5, None, None, ['a'])
    """
    if annotation in (str, int, float, bool) and type(value) is annotation:
        return value
    if annotation == list[str] and isinstance(value, list | tuple) and all(type(v) is str for v in value):
        return list(value)
    if not isinstance(value, str):
        return None
    if annotation is int and value.isascii() and value.isdecimal() and len(value) <= MOST_DIGITS:
        return int(value)
    if annotation is Path and "\0" not in value and not (os.path.exists(value) and not os.access(value, os.R_OK)):
        return Path(value)
    return None


def examples() -> dict[str, list[str]]:
    return indented("examples.txt")


def indented(name: str) -> dict[str, list[str]]:
    """The lines of a page beside this file by the heading above them, which starts at the margin."""
    from importlib import resources  # help alone needs them

    page = resources.files(__package__).joinpath(name).read_text("utf-8")
    sections: dict[str, list[str]] = {}
    for line in page.splitlines():
        if line.startswith("  "):
            sections[next(reversed(sections))].append(line.strip())
        elif line:
            sections[line] = []
    return sections


def _group_options(options: list[Any]) -> dict[str, list[str]]:
    """The names of optional options, by the group that holds them; one alone makes no group."""
    mine = {name for p in options if not p.required for name in p.opts}
    groups = {group: [name for name in names if name in mine] for group, names in GROUPS.items()}
    return {group: names for group, names in groups.items() if len(names) > 1}


LIMITS = "shoal.engines.core.limits"


def limited(value: str | None) -> str | None:
    """The limit holds for every table that the command opens; without one, none does."""
    if value is not None or LIMITS in sys.modules:  # otherwise nothing was ever limited, and nothing is loaded
        importlib.import_module(LIMITS).limit_every_statement(value)
    return value


StatementTimeout = Annotated[
    str | None,
    typer.Option(
        "--statement-timeout", help="Databases and Spark: stop statements after this time: 30s, 5min.", callback=limited
    ),
]


def with_limit(function: Callable[..., Any]) -> Callable[..., Any]:
    """``function`` with the option ``--statement-timeout``, where it reads tables and has none."""
    known = inspect.signature(function, eval_str=True)
    names = set(known.parameters)
    notes = [m for p in known.parameters.values() for m in getattr(p.annotation, "__metadata__", ())]
    helps = [getattr(m, "help", None) or "" for m in notes]
    if "statement_timeout" in names or not (names & {"preview", "table"} or any("ENGINE-URL" in h for h in helps)):
        return function

    @functools.wraps(function)
    def ended_in_time(statement_timeout: str | None = None, **words: Any) -> Any:
        return function(**words)

    more = inspect.Parameter("statement_timeout", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=StatementTimeout)
    ended_in_time.__signature__ = known.replace(parameters=[*known.parameters.values(), more])  # type: ignore[attr-defined]
    ended_in_time.__annotations__ = function.__annotations__ | {"statement_timeout": StatementTimeout}
    return ended_in_time
