"""The search for plans under the policy that holds, and where the sliders stand."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from shoal.studio.here import Here, Studio
from shoal.studio.workspace import edits
from shoal.studio.workspace.rows import Job

_freed = lru_cache(maxsize=64)(edits.freed)
_without_k = lru_cache(maxsize=64)(edits.without_k)
NONE_YET = Job("", "", "plans", "cancelled", {}, 0.0, "", {}, "Nobody has searched for plans yet.", "", 0.0, 0.0, 0.0)


def search_of(studio: Studio, at: Here, *, again: bool = False, begin: bool = True) -> Job:
    """The search for plans under this policy; begun where there is none yet, unless whoever looks may change nothing.

    Whoever takes a plan asks for its groups from then on; the search that found it goes on being shown.
    """
    free = _freed(at.step.policy, at.step.locked)
    asked: dict[str, Any] = {"policy": free, "locked": list(at.step.locked)}
    if not again:
        rest = _without_k(free)
        for job in studio.workspace.jobs.of_table(at.kept.id, "plans"):
            if job.asked == asked:
                return job
            same = job.asked["locked"] == asked["locked"] and _without_k(job.asked["policy"]) == rest
            if same and any(is_taken(at, plan) for plan in job.found.get("plans", [])):
                return job
    if not begin:
        return NONE_YET
    job = studio.workspace.jobs.add(at.kept.id, "plans", asked)
    studio.runner.wake()
    return job


def is_taken(at: Here, plan: Mapping[str, Any]) -> bool:
    """Whether the policy asks for exactly this plan."""
    fixed = {c: r.min_level for c, r in at.policy.quasi.items()}
    return bool(plan["k"] == at.policy.smallest_class and plan["levels"] == fixed)


def levels_of(at: Here, heights: Mapping[str, int]) -> dict[str, int]:
    """Where the sliders stand: the levels that the policy fixes; the values themselves where it says nothing."""
    return {c: min(at.policy.quasi[c].min_level or 0, top) for c, top in heights.items()}
