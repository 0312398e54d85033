"""Meters and suggestions of questionnaires: worked out once for each text, suggestions in a thread of their own."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from dataclasses import dataclass
from typing import Any

import shoal
from shoal.api.design import resolver
from shoal.api.table_population import with_pilot
from shoal.prediction.questionnaire.meter import Meter
from shoal.prediction.questionnaire.questionnaire import Questionnaire
from shoal.prediction.questionnaire.suggest import Suggestion
from shoal.studio.workspace import Workspace, question_edits

KEPT = 64
PATIENCE = 1.0
"""Seconds that a page waits for suggestions; the next look finds them."""


@dataclass(frozen=True)
class Metered:
    """A questionnaire with its numbers."""

    asked: Questionnaire
    meter: Meter


class Meters:
    """What is known of the questionnaires that are looked at."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="questions")
        self._lock = threading.Lock()
        self._known: OrderedDict[tuple[str, str], Future[Any]] = OrderedDict()

    def metered(self, text: str) -> Metered:
        """The numbers; errors of the library are the caller's to show."""

        def work() -> Metered:
            asked = self._with_pilot(question_edits.questionnaire_of(text, resolver("")), question_edits.pilot_of(text))
            return Metered(asked, asked.meter())

        found: Metered = self._once("meter", text, work, here=True).result()
        return found

    def suggested(self, text: str) -> list[Suggestion] | None:
        """The cheapest change first, then single ones; None while they are looked for."""
        asked = self.metered(text).asked
        found = self._once("suggest", text, lambda: [asked.suggest(), *asked.single_changes()])
        try:
            out: list[Suggestion] = found.result(PATIENCE)
        except NotYet:
            return None
        return out

    def _with_pilot(self, asked: Questionnaire, table_id: str) -> Questionnaire:
        if not table_id or not asked.questions:
            return asked
        tables = self._workspace.tables
        with shoal.open(tables.path(tables.get(table_id))) as table:
            return with_pilot(asked, table)

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _once(self, kind: str, text: str, work: Callable[[], Any], *, here: bool = False) -> Future[Any]:
        key = (kind, hashlib.sha256(text.encode("utf-8")).hexdigest())
        with self._lock:
            found = self._known.get(key)
            if found is None:
                found = Future() if here else self._pool.submit(work)
                self._known[key] = found
                while len(self._known) > KEPT:
                    self._known.popitem(last=False)[1].cancel()
            else:
                here = False
        if here:
            try:
                found.set_result(work())
            except BaseException as error:
                with self._lock:
                    self._known.pop(key, None)
                found.set_exception(error)
        return found
