"""Every exception of Shoal, under one root.

A message says requirement, result and, after a line break, what to do next. It may name columns, files and
counts; it never holds a data value, because a rare value is a person. Details that do hold values travel as attributes
(``error.values``) and are never printed by the command line, logs or reports.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar


class ShoalError(Exception):
    """Root of all errors raised on purpose.

    >>> e = UsageError("k must be at least 2; found 0.", hint="Pass k=5 for an internal release.")
    >>> print(e)
    k must be at least 2; found 0.
      Pass k=5 for an internal release.
    >>> e.exit_code
    2
    """

    exit_code: ClassVar[int] = 3

    def __init__(self, message: str, *, hint: str = "", **details: Any) -> None:
        message, hint = (text.encode("utf-8", "backslashreplace").decode() for text in (message, hint))  # no lone surrogates
        message, hint = ("".join(c if c.isprintable() or c in "\n\t" else "\ufffd" for c in text) for text in (message, hint))
        super().__init__(message)
        self.message = message
        self.hint = hint
        for name, value in details.items():
            setattr(self, name, value)

    def __str__(self) -> str:
        return f"{self.message}\n  {self.hint}" if self.hint else self.message


class refuse:
    """Raise ``error`` in place of exceptions of these kinds, whose own texts may contain data values.

    >>> with refuse(UsageError("the share is not a number."), ValueError):
    ...     float("one half")
    Traceback (most recent call last):
    shoal.errors.UsageError: the share is not a number.
    """

    def __init__(self, error: Exception, *kinds: type[BaseException]) -> None:
        self.error = error
        self.kinds = kinds

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, raised: BaseException | None, _trace: object) -> None:
        if isinstance(raised, self.kinds):
            raise self.error from None


class UsageError(ShoalError, ValueError):
    """The caller asked for something that makes no sense: exit code 2."""

    exit_code = 2


class MissingColumnError(UsageError):
    """A named column is not in the table."""


class AmbiguousColumnError(UsageError):
    """Two columns have the same name, or names that people and engines confuse."""


class RoleError(UsageError):
    """A column has no role, or two."""


class DependencyError(UsageError):
    """An optional part is not installed."""


class PolicyError(UsageError):
    """A policy, plan or questionnaire file cannot be understood."""


class DataError(ShoalError, ValueError):
    """The data cannot be used as they are: exit code 3."""


class UnreadableError(DataError):
    """A file or table cannot be read."""


class EmptyTableError(DataError):
    """A table without rows: no anonymity number is defined for nobody."""


class HierarchyError(DataError):
    """A generalization hierarchy is not a total, monotone tree."""


class HierarchyGapError(HierarchyError):
    """Values of the data are not covered by a hierarchy."""


class EngineError(ShoalError):
    """A database, Spark or the file system refused or broke off: exit code 3."""


class MemoryBudgetError(EngineError, MemoryError):
    """The answer would not fit into the memory that was allowed."""


class OutputError(EngineError, OSError):
    """The output could not be written; nothing was left under its final name."""


class RequirementError(ShoalError):
    """A requirement is not met: exit code 1."""

    exit_code = 1


class InfeasibleError(RequirementError):
    """No plan within the limits meets the requirements."""

    alternatives: tuple[Any, ...] = ()
    blocking: tuple[str, ...] = ()


class StoppedError(RequirementError):
    """Cancelled, or out of time, before any answer was found."""


class VerificationError(RequirementError):
    """A written release does not hold what was promised."""


class TamperError(RequirementError):
    """A signature, hash or chain does not match."""


class AccessError(RequirementError):
    """The vault or the registry refuses: wrong role, no approval, expired, over a limit."""


class InternalError(ShoalError):
    """Our own mistake: exit code 4."""

    exit_code = 4


class ShoalWarning(UserWarning):
    """A doubtful statistic or guess: the result stands, but read the sentence."""


def nearest(name: str, candidates: Iterable[str], *, alike: float = 0.6) -> str | None:
    """The candidate most like ``name``, or None if none is as much ``alike``.

    >>> nearest("zipcode", ["age", "zip_code", "sex"])
    'zip_code'
    >>> nearest("q", ["age", "sex"]) is None
    True
    """
    options = list(candidates)
    folded: dict[str, str] = {}
    for option in options:
        folded.setdefault(option.casefold(), option)
    hit = difflib.get_close_matches(name.casefold(), list(folded), n=1, cutoff=alike)
    return folded[hit[0]] if hit else None


def suggest(name: str, candidates: Iterable[str]) -> str:
    """The question whether the nearest known name was meant; nothing if none is near.

    >>> suggest("zipcode", ["age", "zip_code"]), suggest("q", ["age", "sex"])
    ("Did you mean 'zip_code'?", '')
    """
    close = nearest(name, candidates)
    return f"Did you mean '{close}'?" if close else ""


def check_options(given: Iterable[str], known: Iterable[str]) -> None:
    """Refuse an option that is not known, and suggest the nearest one that is."""
    for option in given:
        if option not in known:
            hint = f"{suggest(option, known)} Options: {', '.join(known)}.".strip()
            raise UsageError(f"Unknown option '{option}'.", hint=hint)


def check_choice(what: str, word: str, known: Iterable[str]) -> None:
    """Refuse a word that is not one of those known."""
    if word not in known:
        raise UsageError(f"{what} '{word}' is not known.", hint=f"Known: {', '.join(known)}. {suggest(word, known)}".strip())


def missing_column(name: str, columns: Sequence[str], *, table: str, what: str = "column") -> MissingColumnError:
    """The error for an unknown column, with the nearest name.

    >>> print(missing_column("zipcode", ["age", "zip_code"], table="patients", what="quasi-identifier"))
    quasi-identifier 'zipcode' is not in table 'patients'.
      Columns: age, zip_code. Did you mean 'zip_code'?
    """
    shown = ", ".join(columns[:20]) + (f", … ({len(columns)} in all)" if len(columns) > 20 else "")
    hint = f"Columns: {shown}. {suggest(name, columns)}".strip()
    return MissingColumnError(f"{what} '{name}' is not in table '{table}'.", hint=hint, column=name)


def need(extra: str, package: str) -> DependencyError:
    """The error for an optional package that is not installed.

    >>> print(need("plot", "matplotlib"))
    this needs the package 'matplotlib', which is not installed.
      Install it with: pip install 'matplotlib>=3.9'
    """
    return DependencyError(
        f"this needs the package '{package}', which is not installed.",
        hint=f"Install it with: {install_line(extra, package)}",
        package=package,
    )


def install_line(extra: str, package: str) -> str:
    """The command that installs what an extra of Shoal names: it works whether Shoal came from a checkout or a wheel."""
    import re
    import shlex
    from importlib.metadata import PackageNotFoundError, requires

    try:
        named = requires("shoal") or []
    except PackageNotFoundError:
        named = []
    of_extra = [line.split(";")[0].strip() for line in named if re.search(rf"extra == ['\"]{extra}['\"]", line)]
    return f"pip install {' '.join(shlex.quote(name) for name in of_extra or [package])}"
