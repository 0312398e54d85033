"""Jobs: request, progress and result. The state is correct, also after a crash.

A worker holds a lock on a job's file as long as it works. The system gives the lock back however the worker ends, so that a job
that is marked as running and has no lock is lost.

The runner: takes jobs from the queue and hands each to a worker process; stops them; says what was lost.

::

    server thread ── claim ──> Worker(process) <── one line per job ──> shoal.studio.workspace.work
                                     cancel: the process is ended and another one started

A worker ends when the runner's process does, because its input closes then.
"""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
import threading
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Protocol

from shoal.disk.atomic import hold, is_free
from shoal.stores import sa
from shoal.studio.workspace.database import JOBS, OPEN, Job, Rows, State, writing
from shoal.studio.workspace.files import Files

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
            number = db.execute(first).scalar()
            if number is None:
                return None
            db.execute(JOBS.update().where(JOBS.c.id == number).values(state="running", begun=time.time()))
        return self.get(number)

    @contextmanager
    def hold(self, job_id: str) -> Iterator[None]:
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

    def show(self, job_id: str, share: float, doing: str, result: Mapping[str, Any] | None = None) -> bool:
        """How far a running job is, and the best it has found; False where it does not run any more: the worker stops then."""
        values: dict[str, Any] = {"share": min(max(share, 0.0), 1.0), "doing": doing}
        if result is not None:
            values["found"] = json.dumps(result)
        return self._if_open(job_id, values)

    def end(
        self, job_id: str, state: State, *, result: Mapping[str, Any] | None = None, message: str = "", hint: str = ""
    ) -> bool:
        """The end of a job; False where it had ended before: the first end counts."""
        values: dict[str, Any] = {"state": state, "ended": time.time(), "message": message, "hint": hint}
        if result is not None:
            values["found"] = json.dumps(result)
        if state == "done":
            values["share"] = 1.0
        return self._if_open(job_id, values)

    def cancel(self, job_id: str) -> bool:
        """Stop a job that waits or runs; its worker is ended by the process that started it."""
        return self.end(job_id, "cancelled")

    def sweep(self, ours: Collection[str] = ()) -> list[Job]:
        """Mark running jobs without a worker as lost; waiting jobs go on waiting, and ``ours`` whose workers may still load."""
        now, lost = time.time(), []
        for job in self.some(JOBS.c.state == "running", JOBS.c.id.not_in(ours)):
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


WORKERS = 2
TICK = 2.0
"""Seconds after which the queue is looked at even if nobody said that a job came: another process may have put one there."""


class Home(Protocol):
    """What workers need of a workspace."""

    jobs: Jobs
    files: Files
    store: str


class Worker:
    """One worker process, started when it is first needed."""

    def __init__(self, workspace: Home) -> None:
        self._workspace = workspace
        self._process: subprocess.Popen[str] | None = None
        self._starting = threading.Lock()
        self.job = ""

    def do(self, job_id: str) -> None:
        """Have a job done; returns at its end, or at the worker's."""
        self.job = job_id
        process, ended = self._running(), True
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(f"{job_id}\n")
            process.stdin.flush()
            ended = not process.stdout.readline()
        except (OSError, ValueError):
            pass
        finally:
            self.job = ""
        if ended:  # its output closes a moment before the process is gone
            process.kill()
            process.wait()
            self._workspace.jobs.end(job_id, "lost", message=_ENDED, hint="Run it again; it may need more memory.")

    def warm(self) -> None:
        """Start the process, so that its first job begins at once."""
        self._running()

    def stop(self) -> None:
        process = self._process
        if process is None:
            return
        with suppress(OSError):
            process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
        self._process = None

    def _running(self) -> subprocess.Popen[str]:
        with self._starting:
            if self._process is None or self._process.poll() is not None:
                self.stop()
                words = [sys.executable, "-m", "shoal.studio.workspace.work"]
                place = {"SHOAL_STUDIO_FOLDER": str(self._workspace.files.root), "SHOAL_STUDIO_STORE": self._workspace.store}
                self._process = subprocess.Popen(
                    words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, **place}, text=True
                )
            return self._process


_ENDED = "The worker ended before its work was done."


class Runner:
    """Worker processes for the queue of one workspace."""

    def __init__(self, workspace: Home, *, workers: int = WORKERS) -> None:
        self._workspace = workspace
        self._workers = [Worker(workspace) for _ in range(workers)]
        self._came = threading.Condition()
        self._closing = False
        self._threads = [threading.Thread(target=self._serve, args=(w,), daemon=True) for w in self._workers]

    def start(self) -> None:
        """Say what an earlier studio lost, then work."""
        self._workspace.jobs.sweep()
        for thread in self._threads:
            thread.start()

    def warm(self) -> None:
        """Start the worker processes, so that the first job begins at once."""
        for worker in self._workers:
            worker.warm()

    def wake(self) -> None:
        with self._came:
            self._came.notify_all()

    def cancel(self, job_id: str) -> None:
        """Stop a job; its worker is ended, so that nothing of it goes on."""
        self._workspace.jobs.cancel(job_id)
        for worker in self._workers:
            if worker.job == job_id and worker._process is not None:
                with suppress(OSError):
                    worker._process.kill()

    def close(self) -> None:
        """End every worker; running jobs are marked as lost."""
        self._closing = True
        self.wake()
        for worker in self._workers:
            if worker._process is not None:
                with suppress(OSError):
                    worker._process.kill()
        for thread in self._threads:
            if thread.is_alive():
                thread.join(timeout=10)
        for worker in self._workers:
            worker.stop()

    def _serve(self, worker: Worker) -> None:
        while not self._closing:
            job = self._workspace.jobs.claim()
            if job is None:
                self._workspace.jobs.sweep([w.job for w in self._workers])
                with self._came:
                    if not self._closing:
                        self._came.wait(TICK)
                continue
            worker.do(job.id)
