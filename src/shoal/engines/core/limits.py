"""What an administrator may demand of a run: a limit on the time of a statement, and statements that give aggregates only.

An aggregate is a count, or a class of equal values with its size. Rows, and values of columns that nobody has named as
quasi-identifying, sensitive or insensitive (they may be identifiers), are not; a statement that would return them is refused
before it is sent.
"""

from __future__ import annotations

import re
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from shoal.engines.core.base import Engine
from shoal.errors import EngineError, ShoalWarning, UsageError
from shoal.model.roles import Role, Schema
from shoal.steps.sql import exp

_EVERY: ContextVar[float | None] = ContextVar("limit of every statement", default=None)
_TOLD: ContextVar[bool] = ContextVar("whether the user was informed that files have no limit", default=True)
_UNITS = {"ms": 0.001, "s": 1.0, "min": 60.0, "h": 3600.0}
_TIME = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*(ms|s|min|h)?\s*")
_SAID = (Role.QUASI, Role.SENSITIVE, Role.INSENSITIVE)


def seconds_of(given: str | float) -> float:
    """A time in seconds from ``30``, ``"30s"``, ``"500ms"``, ``"5min"`` or ``"1h"``; at least a millisecond.

    >>> seconds_of("500ms"), seconds_of(30), seconds_of("2min")
    (0.5, 30.0, 120.0)
    """
    match = _TIME.fullmatch(str(given))
    seconds = float(match[1]) * _UNITS[match[2] or "s"] if match else 0.0
    if not 0.001 <= seconds <= 86_400 * 24:
        raise UsageError("the limit on statements is not a duration.", hint="Write 30s, 500ms, 5min or 1h.")
    return seconds


def limit_every_statement(given: str | float | None) -> None:
    """From now on this holds for every table of a database that is opened without a limit of its own; None: no limit."""
    _EVERY.set(None if given is None else seconds_of(given))
    _TOLD.set(given is None)


def limit_of(given: str | float | None, *, in_database: bool) -> float | None:
    """The limit for a table: its own, or the one of every statement; files have no statements, which is reported once."""
    own, every = None if given is None else seconds_of(given), _EVERY.get()
    if own is not None and (in_database or own != every):
        return own
    if in_database:
        return every
    if every is not None and not _TOLD.get():
        _TOLD.set(True)
        what = "the limit on statements (--statement-timeout) is for databases; files are read without one."
        warnings.warn(what, ShoalWarning, stacklevel=3)
    return None


def only_aggregates(engine: Engine) -> None:
    """From now on the engine refuses queries that would return rows."""
    engine.only_aggregates = True

    def checked(answer: Callable[..., Any]) -> Callable[..., Any]:
        def run(query: exp.Expr, **more: Any) -> Any:
            if not is_aggregate(query):
                raise refused("this would return rows of the table")
            return answer(query, **more)

        return run

    for name in ("stream", "fetch"):
        setattr(engine, name, checked(getattr(engine, name)))


def is_aggregate(query: exp.Expr) -> bool:
    """Whether a query gives one row per group, or one in all.

    >>> from sqlglot import parse_one
    >>> is_aggregate(parse_one("SELECT a, COUNT(*) FROM t GROUP BY a")), is_aggregate(parse_one("SELECT a FROM t"))
    (True, False)
    >>> is_aggregate(parse_one("SELECT COUNT(*) OVER () FROM t")), is_aggregate(parse_one("SELECT DISTINCT a FROM t"))
    (False, False)
    """
    if not isinstance(query, exp.Select) or query.args.get("distinct"):
        return False
    counts = [any(_counts(a) for a in term.find_all(exp.AggFunc)) for term in query.expressions]
    return any(counts) and (query.args.get("group") is not None or all(counts))


def _counts(function: exp.Expr) -> bool:
    return function.find_ancestor(exp.Window) is None and function.find_ancestor(exp.Subquery) is None


def require_said(schema: Schema, names: Iterable[str]) -> None:
    """Refuse columns whose values may be identifiers."""
    for name in names:
        if schema.roles.get(name) not in _SAID or name == schema.unit:
            raise refused(f"the values of column '{name}' may be identifiers")


_SAY = "Name the columns by their roles (--quasi, --sensitive, --insensitive), or leave --only-aggregates out."


def refused(what: str, hint: str = _SAY) -> UsageError:
    """The error for anything but an aggregate."""
    return UsageError(f"only aggregates are allowed: {what}.", hint=hint)


AGAIN = 0.1
"""Seconds after which an engine is asked again: a request that comes between two parts of a statement is lost."""


@contextmanager
def ended_after(seconds: float | None, stop: Callable[[], object]) -> Iterator[Callable[[], bool]]:
    """Call ``stop`` from another thread once the block takes longer; what is given tells whether that happened.

    ``stop`` is never called after the block.
    """
    if seconds is None:
        yield lambda: False
        return
    done, over, asking = threading.Event(), threading.Event(), threading.Lock()

    def watch() -> None:
        waiting = seconds
        while not done.wait(waiting):
            over.set()
            waiting = AGAIN
            with asking:
                if not done.is_set():
                    stop()

    watcher = threading.Thread(target=watch, name="shoal statement limit", daemon=True)
    watcher.start()
    try:
        yield over.is_set
    finally:
        with asking:
            done.set()
        watcher.join()


def too_long(engine: str) -> EngineError:
    """The error of a statement that was stopped by the limit."""
    hint = "Ask for fewer columns, or raise the limit (--statement-timeout)."
    return EngineError(f"{engine} stopped the query: it took longer than the time limit.", hint=hint)
