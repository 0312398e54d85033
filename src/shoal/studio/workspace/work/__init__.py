"""What worker processes do, one file per kind of job. Each calls the library's verbs and returns numbers and words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from shoal.studio.workspace.work.plans import plans
from shoal.studio.workspace.work.release import release
from shoal.studio.workspace.work.telling import Stopped
from shoal.studio.workspace.work.tries import tries

if TYPE_CHECKING:
    from shoal.studio.workspace.rows import Job
    from shoal.studio.workspace.workspace import Workspace

KINDS: Mapping[str, Callable[[Workspace, Job], Mapping[str, Any]]] = {"plans": plans, "release": release, "tries": tries}

__all__ = ["KINDS", "Stopped"]
