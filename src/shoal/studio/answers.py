"""Answers of the library that pages ask for: worked out in counting processes, each kept for a while.

A page waits a little for an answer that is being worked out; then it says so and looks again.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYet
from contextvars import ContextVar
from dataclasses import replace
from pathlib import Path
from typing import Any

from shoal.api.improvement import freed
from shoal.api.inspect import Inspection
from shoal.errors import DataError
from shoal.release.policy.policy import Policy
from shoal.studio.counting import Counters, Question, itself
from shoal.studio.views import improved
from shoal.studio.views.measured import copied
from shoal.studio.workspace import Workspace
from shoal.studio.workspace.database import Kept
from shoal.studio.workspace.edits import is_guessed

PATIENCE = 2.5
"""Seconds that a page waits for an answer."""
WHILE_CHANGING = 300.0
"""Seconds that a change waits for one: it is made, or said not to be; it is never lost."""
WHILE_COPYING = 3600.0
"""Seconds that the copy of a database's table may take."""
patience: ContextVar[float] = ContextVar("patience", default=PATIENCE)
KEPT = 200
"""Answers that are kept; the one that nobody asked for longest goes first."""
View = Callable[..., Any]


class StillCounting(Exception):
    """The answer is not there yet."""


class Answers:
    """What pages know of one workspace's tables."""

    def __init__(self, workspace: Workspace, *, processes: int = 2) -> None:
        self._workspace = workspace
        self._counters = Counters(processes)
        self._lock = threading.Lock()
        self._known: OrderedDict[tuple[str, ...], Future[Any]] = OrderedDict()

    def warm(self) -> None:
        """Start the counting processes; returns when they are ready for a table."""
        self._counters.warm()

    def table(self, kept: Kept, policy: Policy, view: View, *given: Any) -> Any:
        """``view(table, *given)`` of the table itself."""
        return self._ask(self._question(kept, "rows", read=policy.read, work=view, given=given))

    def columns(self, kept: Kept, read: Mapping[str, Any] | None = None) -> Inspection:
        """What each column seems to be, if the file is read so; else as the table is read by default."""
        inspection: Inspection = self._ask(self._question(kept, "columns", read=kept.read if read is None else read, work=itself))
        return inspection

    def measured(self, kept: Kept, policy: Policy, view: View, *given: Any) -> Any:
        """``view(measurement, *given)`` of the table as it is, under the roles of a policy."""
        asked_for = {
            "quasi": list(policy.quasi),
            "sensitive": list(policy.sensitive),
            "unit": policy.unit,
            "described": [dict(policy.scale), _lists(policy.order), _lists(policy.missing_values)],
        }
        return self._ask(self._question(kept, "measure", _digest(asked_for), policy, view, given))

    def improvement(self, kept: Kept, policy: Policy, view: View, *given: Any) -> Any:
        """``view(improvement, *given)`` of the counts for trying levels; the levels that the policy fixes play no part in it."""
        free = replace(freed(policy), about={})
        free = self._guessing(kept, free) or free
        return self._ask(self._question(kept, "improve", _digest(free.to_json()), free, view, given))

    def _guessing(self, kept: Kept, policy: Policy) -> Policy | None:
        """The policy that does not state the levels which Shoal guessed, if its counts are at hand and guess exactly these."""
        rules = {c: replace(r, hierarchy=None) if is_guessed(r.hierarchy) else r for c, r in policy.quasi.items()}
        short = replace(policy, quasi=rules)
        with self._lock:
            asked = self._question(kept, "improve", _digest(short.to_json()), short, improved.guessed)
            known = self._known.get(_key(asked))
        if known is None or not known.done() or known.exception() is not None:
            return None
        same = all(r is rules[c] or known.result().get(c) == r.hierarchy for c, r in policy.quasi.items())
        return short if same else None

    def copied(self, source: str, target: Path, limit: int) -> None:
        """A table of a database, written to a file as it is now; not kept open."""
        key = secrets.token_hex(8)
        try:
            asked = Question(0, key, source, "rows", work=copied, given=(str(target), limit))
            self._counters.ask(asked).result(WHILE_COPYING)
        except NotYet:
            raise DataError("the database did not give the table in time.", hint="Ask for a smaller table, or a view.") from None
        finally:
            self._counters.forget(key)

    def forget(self, table_id: str) -> None:
        with self._lock:
            for key in [key for key in self._known if key[0] == table_id]:
                del self._known[key]
        self._counters.forget(table_id)

    def close(self) -> None:
        self._counters.close()
        with self._lock:
            self._known.clear()

    def _question(
        self,
        kept: Kept,
        kind: str,
        key: str = "",
        policy: Policy | None = None,
        work: View | None = None,
        given: tuple[Any, ...] = (),
        read: Mapping[str, Any] | None = None,
    ) -> Question:
        path, reading = str(self._workspace.tables.path(kept)), dict(read or {} if policy is None else policy.read)
        return Question(0, kept.id, path, kind, key, policy, work, given, reading)

    def _ask(self, asked: Question) -> Any:
        key = _key(asked)
        with self._lock:
            answer = self._known.get(key)
            if answer is None:
                answer = self._known[key] = self._counters.ask(asked)
            self._known.move_to_end(key)
            while len(self._known) > KEPT:
                self._known.popitem(last=False)
        try:
            return answer.result(patience.get())
        except NotYet:
            raise StillCounting from None
        except BaseException:
            with self._lock:  # an error is not kept: the next who asks tries again
                if self._known.get(key) is answer:
                    del self._known[key]
            raise


def _key(asked: Question) -> tuple[str, ...]:
    name = "" if asked.work is None else f"{asked.work.__module__}.{asked.work.__qualname__}"
    return (asked.table_id, asked.kind, asked.key, name, _digest([asked.given, asked.read]))


def _lists(given: Any) -> dict[str, list[str]]:
    return {name: [str(v) for v in values] for name, values in given.items()}


def _digest(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode("utf-8")).hexdigest()
