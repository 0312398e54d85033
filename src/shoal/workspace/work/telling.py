"""How a worker tells how far it is; and how it hears that nobody wants its work any more."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shoal.workspace.rows import Job
    from shoal.workspace.workspace import Workspace

EVERY = 0.2
"""Seconds between two notes about the same thing."""


class Stopped(Exception):
    """The job was cancelled."""


class Telling:
    """Progress of one job, written into the workspace."""

    def __init__(self, workspace: Workspace, job: Job, *, low: float = 0.0, high: float = 1.0) -> None:
        self._workspace, self._job = workspace, job
        self._low, self._high = low, high
        self._last, self._doing, self._share = 0.0, "", 0.0

    def __call__(self, share: float, doing: str) -> None:
        now = time.monotonic()
        self._share = self._low + (self._high - self._low) * share
        if doing == self._doing and now - self._last < EVERY:
            return
        self._last, self._doing = now, doing
        self.found(None)

    def found(self, best: Mapping[str, Any] | None) -> None:
        """The best so far."""
        if not self._workspace.jobs.show(self._job.id, self._share, self._doing, best):
            raise Stopped
