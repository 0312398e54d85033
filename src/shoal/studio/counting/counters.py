"""The counting processes as the server sees them: each table has its process, questions go in, futures come out."""

from __future__ import annotations

import itertools
import os
import pickle
import subprocess
import sys
import threading
from collections import OrderedDict
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import replace
from typing import Any

from shoal.errors import DataError
from shoal.studio.counting.process import Question

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
        found: Future[Any] = Future()
        with self._lock:
            if self._stopped:
                found.set_exception(_ended())
                return found
            process = self._running()
            assert process.stdin is not None
            self._waiting[asked.number] = found
            try:
                pickle.dump(asked, process.stdin, protocol=pickle.HIGHEST_PROTOCOL)
                process.stdin.flush()
            except OSError:
                self._waiting.pop(asked.number, None)
                found.set_exception(_ended())
        return found

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
            words = [sys.executable, "-m", "shoal.studio.counting.process"]
            self._process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=dict(os.environ))
            threading.Thread(target=self._listen, args=(self._process,), daemon=True).start()
        return self._process

    def _listen(self, process: subprocess.Popen[bytes]) -> None:
        """Distribute answers until the process ends; questions that still wait then fail with a reason."""
        assert process.stdin is not None
        assert process.stdout is not None
        with suppress(EOFError, OSError, pickle.UnpicklingError):
            while True:
                number, well, said = pickle.load(process.stdout)  # noqa: S301 - our own process
                found = self._waiting.pop(number, None)
                if found is not None:
                    found.set_result(said) if well else found.set_exception(said)
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
            one.set_exception(_ended())


def _ended() -> DataError:
    return DataError(
        "the counting stopped before it was done; there may not be enough memory.",
        hint="Go back and try again; mark fewer columns with Q, or bring a sample.",
    )


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
