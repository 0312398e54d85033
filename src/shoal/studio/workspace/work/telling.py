"""How a worker tells how far it is; and how it hears that nobody wants its work any more."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shoal.studio.workspace.rows import Job
    from shoal.studio.workspace.workspace import Workspace

EVERY = 0.2
"""Seconds between two notes about the same thing."""


class Stopped(Exception):
    """The job was cancelled."""


class Telling:
    """Progress of one job, written into the workspace.

    Where ``line_of`` names the line that a piece of work belongs to, the seconds of each line are kept in ``past``; if
    ``verdict_of`` finds the name and verdict of an attack in a message, these are kept in ``verdicts``.
    """

    def __init__(
        self,
        workspace: Workspace,
        job: Job,
        *,
        low: float = 0.0,
        high: float = 1.0,
        line_of: Callable[[str], str] | None = None,
        verdict_of: Callable[[str], tuple[str, str] | None] | None = None,
    ) -> None:
        self._workspace, self._job = workspace, job
        self._low, self._high = low, high
        self._last, self._doing, self._share = 0.0, "", 0.0
        self._line_of, self._verdict_of, self._since = line_of, verdict_of, time.monotonic()
        self.past: dict[str, float] = {}
        self.verdicts: dict[str, str] = {}

    def __call__(self, share: float, doing: str) -> None:
        now = time.monotonic()
        self._share = self._low + (self._high - self._low) * share
        if doing == self._doing and now - self._last < EVERY:
            return
        self.settle()
        self._last, self._doing = now, doing
        verdict = None if self._verdict_of is None else self._verdict_of(doing)
        if verdict is not None:
            self.verdicts[verdict[0]] = verdict[1]
        self.found(None if self._line_of is None else {"past": self.past, "verdicts": self.verdicts})

    def settle(self) -> None:
        """Count the time until now to what was being done."""
        now = time.monotonic()
        if self._line_of is not None and self._doing:
            line = self._line_of(self._doing)
            self.past[line] = self.past.get(line, 0.0) + now - self._since
        self._since = now

    def found(self, best: Mapping[str, Any] | None) -> None:
        """The best so far."""
        if not self._workspace.jobs.show(self._job.id, self._share, self._doing, best):
            raise Stopped
