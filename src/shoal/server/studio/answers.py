"""Answers of the library that pages ask for again and again: each is worked out once, in a thread, and kept for a while.

A page waits a little for an answer that is being worked out; then it says so and looks again.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import replace
from typing import Any

import shoal
from shoal.api.improve import Improvement, improve
from shoal.api.improve.improvement import freed
from shoal.api.inspect import Inspection
from shoal.api.measurement import Measurement
from shoal.engines.table import Table
from shoal.release.policy.policy import Policy
from shoal.workspace import Workspace
from shoal.workspace.rows import Kept

PATIENCE = 2.5
"""Seconds that a page waits for an answer."""
WHILE_CHANGING = 300.0
"""Seconds that a change waits for one: it is made, or said not to be; it is never lost."""
patience: ContextVar[float] = ContextVar("patience", default=PATIENCE)
KEPT = 12
"""Answers that are kept; the one that nobody asked for longest goes first."""


class StillCounting(Exception):
    """The answer is not there yet."""


class Answers:
    """Inspections, measurements and prepared counts of one workspace's tables."""

    def __init__(self, workspace: Workspace, *, threads: int = 2) -> None:
        self._workspace = workspace
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="answers")
        self._lock = threading.Lock()
        self._known: OrderedDict[tuple[str, ...], Future[tuple[Any, Table]]] = OrderedDict()

    def inspection(self, kept: Kept) -> Inspection:
        found: Inspection = self._ask((kept.id, "inspect"), kept, lambda table: shoal.inspect(table))
        return found

    def measured(self, kept: Kept, policy: Policy) -> Measurement:
        """The numbers of the table as it is, under the roles of a policy."""
        said = {
            "quasi": list(policy.quasi),
            "sensitive": list(policy.sensitive),
            "unit": policy.unit,
            "described": [dict(policy.scale), _lists(policy.order), _lists(policy.missing_values)],
        }

        def measure(table: Table) -> Measurement:
            told = table.described(scale=policy.scale, order=policy.order, missing_values=policy.missing_values)
            return shoal.measure(told, quasi=list(policy.quasi), sensitive=list(policy.sensitive), unit=policy.unit)

        found: Measurement = self._ask((kept.id, "measure", _digest(said)), kept, measure)
        return found

    def improvement(self, kept: Kept, policy: Policy) -> Improvement:
        """The table counted for trying levels; the levels that the policy fixes play no part in it."""
        free = replace(freed(policy), about={})
        found: Improvement = self._ask((kept.id, "improve", _digest(free.to_json())), kept, lambda table: improve(table, free))
        return found

    def forget(self, table_id: str) -> None:
        """Whatever is known of a table."""
        with self._lock:
            gone = [self._known.pop(key) for key in list(self._known) if key[0] == table_id]
        for one in gone:
            _closed(one)

    def close(self) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)
        with self._lock:
            for one in self._known.values():
                _closed(one)
            self._known.clear()

    def _ask(self, key: tuple[str, ...], kept: Kept, work: Callable[[Table], Any]) -> Any:
        def worked_out() -> tuple[Any, Table]:
            table = shoal.open(self._workspace.tables.path(kept))
            try:
                return work(table), table
            except BaseException:
                table.close()
                raise

        old: list[Future[tuple[Any, Table]]] = []
        with self._lock:
            found = self._known.get(key)
            if found is None:
                found = self._known[key] = self._pool.submit(worked_out)
            self._known.move_to_end(key)
            while len(self._known) > KEPT:
                old.append(self._known.popitem(last=False)[1])
        for one in old:
            _closed(one)
        try:
            return found.result(patience.get())[0]
        except NotYet:
            raise StillCounting from None
        except BaseException:
            with self._lock:  # an error is not kept: the next who asks tries again
                if self._known.get(key) is found:
                    del self._known[key]
            raise


def _lists(given: Any) -> dict[str, list[str]]:
    return {name: [str(v) for v in values] for name, values in given.items()}


def _digest(said: Any) -> str:
    return hashlib.sha256(json.dumps(said, sort_keys=True, default=str).encode("utf-8")).hexdigest()


def _closed(answer: Future[tuple[Any, Table]]) -> None:
    """Close the table of an answer, now or when it has come."""

    def close(done: Future[tuple[Any, Table]]) -> None:
        with suppress(BaseException):
            done.result()[1].close()

    answer.add_done_callback(close)
