"""Counting in processes of its own: what a page asks of a table never takes the server's time, and the counts stay there.

A process opens tables, counts them once and answers questions about the counts, until its input closes. A question is a function
of a view and its arguments; the object that it refers to (the columns, the measurement, the counts for trying levels) is made
when it is first needed and kept as long as it is among those last used.
"""

from __future__ import annotations

import codecs
import gc
import itertools
import os
import pickle
import re
import subprocess
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from concurrent.futures import Future
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
        table = self._tables.pop(table_id, None)
        if table is not None:
            table[1].clear()
            table[0].close()


def _measure(table: Table, policy: Policy) -> Any:
    source = table.described(scale=policy.scale, order=policy.order, missing_values=policy.missing_values)
    return shoal.measure(source, quasi=list(policy.quasi), sensitive=list(policy.sensitive), unit=policy.unit)


def _improvement(table: Table, policy: Policy) -> Any:
    return improve(table, replace(freed(policy), about={}))


def itself(made: Any) -> Any:
    """What was made, as it is."""
    return made


MAKERS: dict[str, Callable[[Table, Any], Any]] = {
    "rows": lambda table, _: table,
    "columns": lambda table, _: first_look(table),
    "measure": _measure,
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
            reply = (asked.number, True, kept.answer(asked))
        except BaseException as error:
            reply = (asked.number, False, _tell(error, asked.source))
        pickle.dump(reply, answers, protocol=pickle.HIGHEST_PROTOCOL)
        answers.flush()


def _tell(error: BaseException, source: str) -> BaseException:
    """An error that can be sent: the library's own, in words for somebody who dropped a file; of others only their kind."""
    if isinstance(error, MemoryError):
        return DataError("there is not enough memory to count this.", hint="Mark fewer columns with Q, or bring a sample.")
    if isinstance(error, ShoalError):
        shown = source.rpartition("::")[2] if "://" in source else Path(source).name  # no folder, no address of a database
        error.message = error.message.replace(source, shown)
        if answers := offered(error.hint):
            error.answers = answers  # type: ignore[attr-defined]
            error.hint = "Choose how it is read, or repair the file and drop it again."
        elif isinstance(error, AmbiguousColumnError):
            error.hint = "Give each column a name of its own in the file, then drop it again."
        elif isinstance(error, EmptyTableError):
            error.hint = "Choose one with at least one row of data."
        elif any(word in error.hint for word in ("pass ", "Pass ", "--")):
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
    ("tables", "keep"): "Read the table as it stands",
    ("groups", "set-aside"): "Leave such headings out",
    ("groups", "keep"): "Read them as records",
    ("header", "1"): "The first line holds the names",
    ("header", "false"): "The first line is a record",
    ("rename_duplicates", "true"): "Number the doubled names",
    ("rename_duplicates", "false"): "Refuse doubled names",
    ("comment", "none"): "Read them as records",
    ("skip", "0"): "Read them as part of the table",
}
"""Options of reading that a person may choose in the studio, and what each means."""


def answer_of(option: str, value: str) -> str | None:
    """What a choice means in words; None if the studio does not know it.

    >>> answer_of("encoding", "cp1250"), answer_of("encoding", "NAME"), answer_of("sheet", "People")
    ('Read it as cp1250', None, "Read sheet 'People'")
    """
    if option == "sheet" and value != "NAME":
        return f"Read sheet '{value}'"
    with suppress(LookupError):
        return f"Read it as {value}" if option == "encoding" and codecs.lookup(value) else ANSWERS.get((option, value))
    return None


def offered(hint: str) -> list[tuple[str, str, str]]:
    """The options of reading that a message names, each with its words.

    >>> offered("Pass --read totals=set-aside to leave it out, or --read totals=keep to read it as a record.")[1]
    ('totals', 'keep', 'Read them as records')
    """
    choices = [(a or c, b or d) for a, b, c, d in re.findall(r'--read (?:"(\w+)=([^"]+)"|(\w+)=([\w-]+))', hint)]
    return [(name, value, words) for name, value in choices if (words := answer_of(name, value))]


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
                drawn(measured.shown(_measure(table, asked), 3))
                return
            understood.shown(_measure(table, asked), {}, 3, 5)
            tried = _improvement(table, asked)
            improved.shown(tried, {"date_of_birth": 4, "sex": 0})
            improved.more(tried, {"date_of_birth": 4, "sex": 0}, "sex")
    gc.freeze()  # what is loaded now stays: looking through it for garbage took 0.15 s in the middle of an answer


if __name__ == "__main__":
    main()


_numbers = itertools.count()
MOST_PLACES = 1000
"""Tables whose process is remembered."""


class Counter:
    """One process, started on demand and restarted if it has ended."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._waiting: dict[int, Future[Any]] = {}
        self._warming = 0
        self._stopped = False

    @property
    def busy(self) -> int:
        """Questions of pages that wait for their answer."""
        return len(self._waiting) - self._warming

    @property
    def started(self) -> bool:
        return self._process is not None

    def ask(self, asked: Question) -> Future[Any]:
        answer: Future[Any] = Future()
        with self._lock:
            if self._stopped:
                answer.set_exception(_ended_error())
                return answer
            process = self._running()
            assert process.stdin is not None
            self._waiting[asked.number] = answer
            try:
                pickle.dump(asked, process.stdin, protocol=pickle.HIGHEST_PROTOCOL)
                process.stdin.flush()
            except OSError:
                self._waiting.pop(asked.number, None)
                answer.set_exception(_ended_error())
        return answer

    def warm(self) -> None:
        """Start the process and have it load what the first table needs; returns when it has, or has ended."""
        self._warming = 1
        try:
            with suppress(DataError):
                for what in ("measure", "improve"):  # a question in between does not wait for the second
                    self.ask(Question(next(_numbers), "", "", "warm", what)).result()
        finally:
            self._warming = 0

    def stop(self) -> None:
        """End the process for good; pending questions fail with a reason."""
        with self._lock:
            self._stopped = True
            process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            words = [sys.executable, "-m", "shoal.studio.counting"]
            self._process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=dict(os.environ))
            threading.Thread(target=self._listen, args=(self._process,), daemon=True).start()
        return self._process

    def _listen(self, process: subprocess.Popen[bytes]) -> None:
        """Distribute answers until the process ends; questions that still wait then fail with a reason."""
        assert process.stdin is not None
        assert process.stdout is not None
        with suppress(EOFError, OSError, pickle.UnpicklingError):
            while True:
                number, well, content = pickle.load(process.stdout)  # noqa: S301 - our own process
                waiting = self._waiting.pop(number, None)
                if waiting is not None:
                    waiting.set_result(content) if well else waiting.set_exception(content)
        process.wait()
        with self._lock:
            left = list(self._waiting.values())
            self._waiting.clear()
            for pipe in (process.stdin, process.stdout):
                with suppress(OSError):
                    pipe.close()
            if self._process is process:
                self._process = None
        for one in left:
            one.set_exception(_ended_error())


def _ended_error() -> DataError:
    hint = "Go back and try again; mark fewer columns with Q, or bring a sample."
    return DataError("the counting stopped before it was done; there may not be enough memory.", hint=hint)


class Counters:
    """A few counting processes. A table goes to the one with least to do and stays there, because its counts are there."""

    def __init__(self, processes: int) -> None:
        self._counters = [Counter() for _ in range(processes)]
        self._places: OrderedDict[str, Counter] = OrderedDict()
        self._lock = threading.Lock()

    def warm(self) -> None:
        """One process after the other: the first is ready soonest when nothing else loads beside it."""
        for one in self._counters:
            one.warm()

    def ask(self, asked: Question) -> Future[Any]:
        """The answer to come; the question gets its number here."""
        return self._place(asked.table_id).ask(replace(asked, number=next(_numbers)))

    def forget(self, table_id: str) -> None:
        with self._lock:
            there = self._places.pop(table_id, None)
        if there is not None:
            there.ask(Question(next(_numbers), table_id, "", "forget"))

    def close(self) -> None:
        for one in self._counters:
            one.stop()

    def _place(self, table_id: str) -> Counter:
        with self._lock:
            if table_id not in self._places:
                tables = list(self._places.values())
                self._places[table_id] = min(self._counters, key=lambda one: (one.busy, not one.started, tables.count(one)))
            self._places.move_to_end(table_id)
            while len(self._places) > MOST_PLACES:
                self._places.popitem(last=False)
            return self._places[table_id]
