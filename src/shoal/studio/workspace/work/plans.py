"""The job that looks for plans: the best at several sizes of the smallest group."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import shoal
from shoal.api.improvement import find_plans
from shoal.release.plan.prepare import prepare
from shoal.release.policy.policy import Policy
from shoal.studio.workspace.work.telling import Telling

if TYPE_CHECKING:
    from shoal.studio.workspace.rows import Job
    from shoal.studio.workspace.workspace import Workspace


def plans(workspace: Workspace, job: Job) -> Mapping[str, Any]:
    """``asked``: ``policy`` (YAML), ``locked`` (columns). The plans found so far can be read while it runs."""
    tell = Telling(workspace, job)
    kept = workspace.tables.get(job.table_id)
    policy = Policy.parse(job.asked["policy"])
    with shoal.open(workspace.tables.path(kept), **policy.read) as table:
        tell(0.0, "counting the classes")
        prepared = prepare(table, policy)
        found = find_plans(prepared, locked=job.asked["locked"], progress=tell, best=lambda some: tell.found(some.to_json()))
    return found.to_json()
