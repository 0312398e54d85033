"""A worker process: reads ids of jobs, does each, says so. It ends when its input closes: its parent process is gone then."""

from __future__ import annotations

import os
import queue
import sys
import threading
from contextlib import suppress

from shoal.disk.atomic import disk_full
from shoal.errors import ShoalError
from shoal.studio.workspace.rows import Job
from shoal.studio.workspace.work import KINDS, Stopped
from shoal.studio.workspace.workspace import Workspace


def main() -> None:
    """Work until the input closes."""
    todo: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(todo,), daemon=True).start()
    with Workspace(os.environ["SHOAL_STUDIO_FOLDER"], store=os.environ["SHOAL_STUDIO_STORE"]) as workspace:
        while True:
            key = todo.get()
            with workspace.jobs.held(key):
                do(workspace, workspace.jobs.get(key))
            sys.stdout.write("done\n")
            sys.stdout.flush()


def do(workspace: Workspace, job: Job) -> None:
    """Run one job by its kind; an error is recorded in the job, without a data value."""
    jobs = workspace.jobs
    try:
        found = KINDS[job.kind](workspace, job)
        jobs.end(job.id, "done", found=found)
    except Stopped:
        pass  # cancelled; the state says so already
    except ShoalError as error:
        offers = [str(getattr(a, "sentence", "")) for a in getattr(error, "alternatives", ())]
        jobs.end(job.id, "failed", found={"offers": [o for o in offers if o]}, message=error.message, hint=error.hint)
    except MemoryError:
        jobs.end(job.id, "failed", message="There is not enough memory for this.", hint="Name fewer columns, or a sample.")
    except Exception as error:
        if disk_full(error):
            jobs.end(job.id, "failed", message="The disk is full; nothing was left behind.", hint="Free space and run it again.")
        else:
            hint = "This is an error of Shoal, not yours; the table is intact."
            jobs.end(job.id, "failed", message=f"Something went wrong inside: {type(error).__name__}.", hint=hint)


def _listen(todo: queue.SimpleQueue[str]) -> None:
    with suppress(OSError):
        for line in sys.stdin:
            todo.put(line.strip())
    os._exit(0)


if __name__ == "__main__":
    main()
