"""The job that tries harder: a release against a table an attacker may have, or an earlier release of the same people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import shoal
from shoal.studio.workspace.work.telling import Telling

if TYPE_CHECKING:
    from shoal.studio.workspace.rows import Job
    from shoal.studio.workspace.workspace import Workspace


def tries(workspace: Workspace, job: Job) -> Mapping[str, Any]:
    """``asked``: ``release``, and ``other`` (a table of the workspace), ``earlier`` (a release of it) or ``dropped`` (in a
    folder that was brought for this; it is removed)."""
    tell = Telling(workspace, job)
    folder = workspace.releases.folder(workspace.releases.get(job.asked["release"]))
    tell(0.1, "trying to link people")
    other = job.asked.get("other")
    if other:
        outside = workspace.tables.path(workspace.tables.get(other))
        found = shoal.attack(folder, with_=outside)
    elif job.asked.get("dropped"):
        brought = workspace.files.of_release(job.asked["dropped"])
        try:
            found = shoal.attack(folder, previous=list(brought.iterdir()))
        finally:
            workspace.files.forget(brought)
    else:
        before = workspace.releases.folder(workspace.releases.get(job.asked["earlier"]))
        found = shoal.attack(folder, previous=[before])
    results = [{"name": a.name, "verdict": a.verdict, "sentence": a.sentence} for a in found.results]
    return {"holds": found.holds, "results": results}
