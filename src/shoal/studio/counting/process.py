"""A counting process: opens tables, counts them once, answers questions about the counts. It ends when its input closes.

A question is a function of a view and its arguments; the object that it refers to (the columns, the measurement, the counts for
trying levels) is made when it is first needed and kept as long as it is among those last used.
"""

from __future__ import annotations

import os
import pickle
import re
import sys
from collections import OrderedDict
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO

import pyarrow.csv as pa_csv

import shoal
from shoal.api.improvement import freed, improve
from shoal.api.inspect import first_look
from shoal.engines.table import Table
from shoal.errors import AmbiguousColumnError, DataError, EmptyTableError, InternalError, ShoalError
from shoal.release.policy.policy import Policy
from shoal.studio.views import improved, measured, understood
from shoal.studio.views.measured import drawn

TABLES = 4
"""Tables that are held open; the one that nobody asked for longest goes first."""
COUNTED = 4
"""Objects that are kept of each table."""
WARM_ROWS = 40_000
"""Rows of the made-up table that a process begins with: enough for the compiled kernels, which smaller tables do without."""


@dataclass(frozen=True)
class Question:
    """``work(made, *given)`` about a table, where ``made`` is what ``kind`` makes of it under a policy.

    Questions with the same ``key`` ask of the same object: policies that differ in what plays no part in it have one key.
    """

    number: int
    table_id: str
    source: str
    kind: str
    key: str = ""
    policy: Policy | None = None
    work: Callable[..., Any] | None = None
    given: tuple[Any, ...] = ()
    read: Mapping[str, Any] = field(default_factory=dict)


class Kept:
    """The tables of one process with what was counted of each."""

    def __init__(self) -> None:
        self._tables: OrderedDict[str, tuple[Table, OrderedDict[tuple[str, str], Any]]] = OrderedDict()
        self._read: dict[str, dict[str, Any]] = {}

    def answer(self, asked: Question) -> Any:
        if asked.kind == "forget":
            return self.forget(asked.table_id)
        if asked.kind == "warm":
            return warm(asked.key)
        table, made = self._opened(asked)
        key = (asked.kind, asked.key)
        if key not in made:
            made[key] = MAKERS[asked.kind](table, asked.policy)
        made.move_to_end(key)
        while len(made) > COUNTED:
            made.popitem(last=False)
        return None if asked.work is None else drawn(asked.work(made[key], *asked.given))

    def _opened(self, asked: Question) -> tuple[Table, OrderedDict[tuple[str, str], Any]]:
        if asked.table_id in self._tables and self._read[asked.table_id] != asked.read:
            self.forget(asked.table_id)
        if asked.table_id not in self._tables:
            self._tables[asked.table_id] = (shoal.open(asked.source, **asked.read), OrderedDict())
            self._read[asked.table_id] = dict(asked.read)
        self._tables.move_to_end(asked.table_id)
        while len(self._tables) > TABLES:
            self.forget(next(iter(self._tables)))
        return self._tables[asked.table_id]

    def forget(self, table_id: str) -> None:
        found = self._tables.pop(table_id, None)
        if found is not None:
            found[1].clear()
            found[0].close()


def _measured(table: Table, policy: Policy) -> Any:
    told = table.described(scale=policy.scale, order=policy.order, missing_values=policy.missing_values)
    return shoal.measure(told, quasi=list(policy.quasi), sensitive=list(policy.sensitive), unit=policy.unit)


def _improvement(table: Table, policy: Policy) -> Any:
    return improve(table, replace(freed(policy), about={}))


def itself(made: Any) -> Any:
    """What was made, as it is."""
    return made


MAKERS: dict[str, Callable[[Table, Any], Any]] = {
    "rows": lambda table, _: table,
    "columns": lambda table, _: first_look(table),
    "measure": _measured,
    "improve": _improvement,
}


def serve(questions: BinaryIO, answers: BinaryIO) -> None:
    """Answer until the questions end; an error is returned as the answer."""
    kept = Kept()
    while True:
        try:
            asked: Question = pickle.load(questions)  # noqa: S301 - from the server that started us
        except EOFError:
            return
        try:
            said = (asked.number, True, kept.answer(asked))
        except BaseException as error:
            said = (asked.number, False, _told(error, asked.source))
        pickle.dump(said, answers, protocol=pickle.HIGHEST_PROTOCOL)
        answers.flush()


def _told(error: BaseException, source: str) -> BaseException:
    """An error that can be sent: the library's own, in words for somebody who dropped a file; of others only their kind."""
    if isinstance(error, MemoryError):
        return DataError("there is not enough memory to count this.", hint="Mark fewer columns with Q, or bring a sample.")
    if isinstance(error, ShoalError):
        error.message = error.message.replace(source, _shown(source))
        if answers := offered(error.hint):
            error.answers = answers  # type: ignore[attr-defined]
            error.hint = "Choose how it is read, or repair the file and drop it again."
        elif isinstance(error, AmbiguousColumnError):
            error.hint = "Give each column a name of its own in the file, then drop it again."
        elif isinstance(error, EmptyTableError):
            error.hint = "Choose one with at least one row of data."
        elif any(said in error.hint for said in ("pass ", "Pass ", "--")):
            error.hint = "Repair the file, or save it in another form, then drop it again."
    if isinstance(error, ShoalError | OSError):
        with suppress(Exception):
            pickle.loads(pickle.dumps(error))  # noqa: S301 - what was just written
            return error
    if isinstance(error, ShoalError):
        return DataError(error.message, hint=error.hint)
    return InternalError(f"something went wrong inside: {type(error).__name__}.", hint="Your tables are intact. Go back.")


ANSWERS = {
    **{(row, "set-aside"): "Leave such rows out" for row in ("totals", "units", "notes")},
    **{(row, "keep"): "Read them as records" for row in ("totals", "units", "notes")},
    ("bad_lines", "set-aside"): "Leave the lines that do not fit out, and count them",
    ("bad_lines", "refuse"): "Refuse such a file",
    ("quoted_empty", "text"): "Read them as empty texts",
    ("tables", "keep"): "Read all rows as one table",
    ("rename_duplicates", "true"): "Number the doubled names",
    ("rename_duplicates", "false"): "Refuse doubled names",
    ("comment", "none"): "Read them as records",
    ("skip", "0"): "Read them as part of the table",
}
"""Options of reading that a person may choose in the studio, and what each means."""


def offered(hint: str) -> list[tuple[str, str, str]]:
    """The options of reading that a message names, each with its words.

    >>> offered("Pass --read totals=set-aside to leave it out, or --read totals=keep to read it as a record.")[1]
    ('totals', 'keep', 'Read them as records')
    """
    found = re.findall(r"--read (\w+)=([\w-]+)", hint)
    return [(name, value, ANSWERS[name, value]) for name, value in found if (name, value) in ANSWERS]


def _shown(source: str) -> str:
    """A source as a message may name it: a file without its folder, a table without the address of its database."""
    return source.rpartition("::")[2] if "://" in source else Path(source).name


def main() -> None:
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what a library prints must not stand among the answers
    with answers:
        serve(sys.stdin.buffer, answers)


def warm(what: str) -> None:
    """Load what the first table needs, while somebody still looks for it: the walk of a page over a table as people bring it."""
    asked = Policy.of(
        quasi=["date_of_birth", "sex"], sensitive=["diagnosis"], insensitive=["postcode"], k=3, allow={"suppress": 1}
    )
    with suppress(Exception), TemporaryDirectory(prefix="shoal-studio-") as folder:
        source = Path(folder) / "people.csv"
        people = shoal.datasets.people(WARM_ROWS, seed=1).select(["date_of_birth", "sex", "postcode", "diagnosis"])
        pa_csv.write_csv(people, source)
        with shoal.open(source) as table:
            if what == "measure":
                first_look(table)
                drawn(measured.shown(_measured(table, asked), 3))
                return
            understood.shown(_measured(table, asked), {}, 3, 5)
            tried = _improvement(table, asked)
            improved.shown(tried, {"date_of_birth": 4, "sex": 0})
            improved.more(tried, {"date_of_birth": 4, "sex": 0}, "sex")


if __name__ == "__main__":
    main()
