"""Jobs: request, progress and result. The state is correct, also after a crash.

A worker holds a lock on a job's file as long as it works. The system gives the lock back however the worker ends, so that a job
that is marked as running and has no lock is lost.
"""

from __future__ import annotations

import json
import os
import secrets
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from shoal.disk.atomic import hold, is_free
from shoal.stores import sa
from shoal.studio.workspace.database import JOBS, writing
from shoal.studio.workspace.files import Files
from shoal.studio.workspace.rows import OPEN, Job, Rows, State

if TYPE_CHECKING:
    from sqlalchemy import Engine

LOST = "The studio stopped while this ran. The table and every earlier release are intact."
YOUNG = 10.0
"""Seconds in which a job that was just claimed is not called lost: its worker may be about to lock it."""


class Jobs(Rows[Job]):
    """The queue and the past of every table; the newest comes first."""

    def __init__(self, engine: Engine, files: Files) -> None:
        super().__init__(engine, JOBS, Job, "job", newest="made")
        self._files = files

    def add(self, table_id: str, kind: str, asked: Mapping[str, Any]) -> Job:
        """Put a job at the end of the queue; one that asks the same and is not at its end is given back instead."""
        text = json.dumps(asked, sort_keys=True)
        with writing(self._engine) as db:
            same = sa.and_(JOBS.c.table_id == table_id, JOBS.c.kind == kind, JOBS.c.asked == text, JOBS.c.state.in_(OPEN))
            there = db.execute(sa.select(JOBS.c.id).where(same)).scalar()
            if there is None:
                there = secrets.token_hex(8)
                empty = {"share": 0.0, "doing": "", "found": "{}", "message": "", "hint": "", "begun": 0.0, "ended": 0.0}
                row = {"id": there, "table_id": table_id, "kind": kind, "state": "queued", "asked": text, "made": time.time()}
                db.execute(JOBS.insert().values(**row, **empty))
        return self.get(there)

    def of_table(self, table_id: str, kind: str | None = None) -> list[Job]:
        return self.some(JOBS.c.table_id == table_id, *(() if kind is None else (JOBS.c.kind == kind,)))

    def claim(self) -> Job | None:
        """The oldest job that waits, now running; None where none waits. Two who ask at once never get the same."""
        with writing(self._engine) as db:
            first = sa.select(JOBS.c.id).where(JOBS.c.state == "queued").order_by(JOBS.c.made, JOBS.c.id).limit(1)
            found = db.execute(first).scalar()
            if found is None:
                return None
            db.execute(JOBS.update().where(JOBS.c.id == found).values(state="running", begun=time.time()))
        return self.get(found)

    @contextmanager
    def held(self, job_id: str) -> Iterator[None]:
        """The lock of the worker that does the job."""
        place = self._files.lock_of(job_id)
        os.close(os.open(place, os.O_WRONLY | os.O_CREAT, 0o600))
        handle = hold(place)
        try:
            yield
        finally:
            if handle is not None:
                os.close(handle)
            place.unlink(missing_ok=True)

    def show(self, job_id: str, share: float, doing: str, found: Mapping[str, Any] | None = None) -> bool:
        """How far a running job is, and the best it has found; False where it does not run any more: the worker stops then."""
        values: dict[str, Any] = {"share": min(max(share, 0.0), 1.0), "doing": doing}
        if found is not None:
            values["found"] = json.dumps(found)
        return self._if_open(job_id, values)

    def end(
        self, job_id: str, state: State, *, found: Mapping[str, Any] | None = None, message: str = "", hint: str = ""
    ) -> bool:
        """The end of a job; False where it had ended before: the first end counts."""
        values: dict[str, Any] = {"state": state, "ended": time.time(), "message": message, "hint": hint}
        if found is not None:
            values["found"] = json.dumps(found)
        if state == "done":
            values["share"] = 1.0
        return self._if_open(job_id, values)

    def cancel(self, job_id: str) -> bool:
        """Stop a job that waits or runs; its worker is ended by the process that started it."""
        return self.end(job_id, "cancelled")

    def sweep(self) -> list[Job]:
        """Mark running jobs without a worker as lost; waiting jobs go on waiting."""
        now, lost = time.time(), []
        for job in self.some(JOBS.c.state == "running"):
            place = self._files.lock_of(job.id)
            gone = is_free(place) if place.exists() else now - job.begun > YOUNG
            if gone and self.end(job.id, "lost", message=LOST, hint="Run it again."):
                place.unlink(missing_ok=True)
                lost.append(job)
        return lost

    def _if_open(self, job_id: str, values: Mapping[str, Any]) -> bool:
        with writing(self._engine) as db:
            done = db.execute(JOBS.update().where(JOBS.c.id == job_id, JOBS.c.state.in_(OPEN)).values(**values))
        return bool(done.rowcount)
