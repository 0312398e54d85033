"""``--statement-timeout``: the time of statements, for every command that reads tables."""

from __future__ import annotations

import functools
import importlib
import inspect
import sys
from collections.abc import Callable
from typing import Annotated, Any

import typer

LIMITS = "shoal.engines.core.limits"


def limited(value: str | None) -> str | None:
    """The limit holds for every table that the command opens; without one, none does."""
    if value is not None or LIMITS in sys.modules:  # otherwise nothing was ever limited, and nothing is loaded
        importlib.import_module(LIMITS).limit_every_statement(value)
    return value


StatementTimeout = Annotated[
    str | None,
    typer.Option(
        "--statement-timeout", help="Databases and Spark: statements that take longer are stopped: 30s, 5min.", callback=limited
    ),
]


def with_limit(function: Callable[..., Any]) -> Callable[..., Any]:
    """``function`` with the option ``--statement-timeout``, where it reads tables and has none."""
    known = inspect.signature(function, eval_str=True)
    names, helps = set(known.parameters), _helps(known)
    if "statement_timeout" in names or not (names & {"preview", "table"} or any("ENGINE-URL" in h for h in helps)):
        return function

    @functools.wraps(function)
    def ended_in_time(statement_timeout: str | None = None, **words: Any) -> Any:
        return function(**words)

    more = inspect.Parameter("statement_timeout", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=StatementTimeout)
    ended_in_time.__signature__ = known.replace(parameters=[*known.parameters.values(), more])  # type: ignore[attr-defined]
    ended_in_time.__annotations__ = function.__annotations__ | {"statement_timeout": StatementTimeout}
    return ended_in_time


def _helps(known: inspect.Signature) -> list[str]:
    """The help of each option and argument."""
    said = [m for p in known.parameters.values() for m in getattr(p.annotation, "__metadata__", ())]
    return [getattr(m, "help", None) or "" for m in said]
