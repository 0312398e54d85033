"""The runner: takes jobs from the queue and hands each to a worker process; stops them; says what was lost.

::

    server thread ── claim ──> Worker(process) <── one line per job ──> shoal.studio.workspace.worker
                                     cancel: the process is ended and another one started

A worker ends when the runner's process does, because its input closes then.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from contextlib import suppress

from shoal.studio.workspace.workspace import Workspace

WORKERS = 2
TICK = 2.0
"""Seconds after which the queue is looked at even if nobody said that a job came: another process may have put one there."""


class Worker:
    """One worker process, started when it is first needed."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._process: subprocess.Popen[str] | None = None
        self._starting = threading.Lock()
        self.job = ""

    def do(self, job_id: str) -> None:
        """Have a job done; returns at its end, or at the worker's."""
        process, ended = self._running(), True
        self.job = job_id
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
        """End the process at once."""
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
                words = [sys.executable, "-m", "shoal.studio.workspace.worker"]
                place = {"SHOAL_STUDIO_FOLDER": str(self._workspace.files.root), "SHOAL_STUDIO_STORE": self._workspace.store}
                self._process = subprocess.Popen(
                    words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, **place}, text=True
                )
            return self._process


_ENDED = "The worker ended before its work was done."


class Runner:
    """Worker processes for the queue of one workspace."""

    def __init__(self, workspace: Workspace, *, workers: int = WORKERS) -> None:
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
        """A job came."""
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
                self._workspace.jobs.sweep()
                with self._came:
                    if not self._closing:
                        self._came.wait(TICK)
                continue
            worker.do(job.id)
