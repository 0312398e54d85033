"""Changes that the Improve page sends: each gives the step its name, the new policy, and the columns that stay locked."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from shoal.errors import UsageError
from shoal.model.roles import Role
from shoal.release.policy.policy import Policy
from shoal.report.numbers import percent
from shoal.studio import words
from shoal.studio.here import Here, Studio
from shoal.studio.views import improved
from shoal.studio.workspace import edits
from shoal.studio.workspace.rows import Job


def _numbered(at: Here, fields: dict[str, str], prefix: str) -> dict[str, str]:
    """Fields ``prefix.N`` by the name of column N."""
    return {at.column(key[len(prefix) :]): value for key, value in fields.items() if key.startswith(prefix)}


def whole(said: str) -> int:
    if not said.isdecimal() or len(said) > 9:
        raise UsageError("this is not a whole number.", hint="Choose one of those shown.")
    return int(said)


def finite(said: str) -> float:
    """
    >>> finite("2.5")
    2.5
    """
    try:
        found = float(said)
    except ValueError:
        found = math.nan
    if not math.isfinite(found):
        raise UsageError("this is not a number.", hint="Write a number such as 5.")
    return found


def levels(studio: Studio, at: Here, fields: dict[str, str]) -> tuple[str, str, tuple[str, ...]]:
    wanted = {name: whole(value) for name, value in _numbered(at, fields, "level.").items()}
    tops = studio.answers.improvement(at.kept, at.policy, improved.heights)
    if any(level > tops.get(name, -1) for name, level in wanted.items()):
        raise UsageError("this level does not exist.", hint="Choose one of those shown.")
    moved = [c for c, level in wanted.items() if c in at.policy.quasi and level != (at.policy.quasi[c].min_level or 0)]
    said = ", ".join(f"{words.plain(c)}: level {wanted[c]}" for c in moved[:2]) or "levels as they are"
    return said, edits.with_levels(at.step.policy, wanted), at.step.locked


def bands(studio: Studio, at: Here, fields: dict[str, str]) -> tuple[str, str, tuple[str, ...]]:
    """Own bands of a column of numbers; they are tried before they are kept."""
    name = at.column(fields.get("column", ""))
    widths = [finite(part) for part in fields.get("widths", "").replace(";", ",").split(",") if part.strip()]
    whole = [int(w) if w.is_integer() else w for w in widths]
    text = edits.with_bands(at.step.policy, name, whole)
    studio.answers.improvement(at.kept, Policy.parse(text), improved.heights)
    said = f"bands of {', '.join(f'{w:g}' for w in whole)}" if whole else "bands as Shoal builds them"
    return f"{words.plain(name)}: {said}", text, at.step.locked


def locks(at: Here, fields: dict[str, str]) -> tuple[str, str, tuple[str, ...]]:
    locked = tuple(_numbered(at, fields, "lock."))
    text = at.step.policy
    fixed = {c: at.policy.quasi[c].min_level or 0 for c in locked if c in at.policy.quasi}
    if fixed:
        text = edits.with_levels(text, fixed)
    for name, value in _numbered(at, fields, "weight.").items():
        if name in at.policy.quasi and value and finite(value) != at.policy.quasi[name].weight:
            text = edits.with_weight(text, name, finite(value))
    said = f"locked {words.several(locked)}" if locked else "nothing is locked"
    return said, text, locked


def lock(studio: Studio, at: Here, fields: dict[str, str]) -> tuple[str, str, tuple[str, ...]]:
    """Lock a column where its slider stands, or unlock it; the sliders stay where the form has them."""
    name = at.column(fields.get("lock", ""))
    text = levels(studio, at, fields)[1]
    if name in at.step.locked:
        return f"unlocked {words.plain(name)}", text, tuple(c for c in at.step.locked if c != name)
    return f"locked {words.plain(name)}", text, (*at.step.locked, name)


def ask(at: Here, fields: dict[str, str]) -> tuple[str, str, tuple[str, ...]]:
    text, said = at.step.policy, []
    k = whole(fields.get("k", ""))
    if k != max(at.policy.smallest_class, 2):
        text = edits.with_k(text, k)
        said.append(f"groups of at least {k}")
    share = finite(fields.get("suppress", "")) / 100
    if f"{share:g}" != f"{at.policy.suppress:g}":
        text = edits.with_suppress(text, float(f"{share:.6g}"))
        said.append(f"left out: at most {percent(share)}")
    return ", ".join(said) or "asked the same", text, at.step.locked


def way(at: Here, fields: dict[str, str]) -> tuple[str, str, tuple[str, ...]]:
    if "suppress" in fields:
        return ask(at, {"k": str(max(at.policy.smallest_class, 2)), "suppress": f"{100 * finite(fields['suppress']):g}"})
    name, level = at.column(fields.get("column", "")), whole(fields.get("level", ""))
    kept = {c: r.min_level or 0 for c, r in at.policy.quasi.items()}
    said = f"{words.plain(name)}: level {level}"
    return said, edits.with_levels(at.step.policy, {**kept, name: level}), at.step.locked


def plan(studio: Studio, at: Here, fields: dict[str, str]) -> tuple[str, str, tuple[str, ...]]:
    """Take a plan: its levels, and the size of its groups, without which they would be smaller than it says."""
    k, job = whole(fields.get("k", "")), search_of(studio, at)
    found = next((p for p in job.found.get("plans", []) if p["k"] == k), None)
    if found is None:
        raise UsageError("this plan is not there any more.", hint="Choose one of those shown.")
    text = edits.with_levels(at.step.policy, found["levels"])
    if k != at.policy.smallest_class:
        text = edits.with_k(text, k)
    return f"took plan “{found['name'] or k}”", text, at.step.locked


def actionable(offer: Mapping[str, Any]) -> bool:
    return offer.get("change") in ("suppress", "k", "drop column")


def offer(studio: Studio, at: Here, fields: dict[str, str]) -> tuple[str, str, tuple[str, ...]]:
    offers, number_ = search_of(studio, at).found.get("offers", []), whole(fields.get("number", ""))
    if number_ >= len(offers) or not actionable(offers[number_]):
        raise UsageError("this offer is not there any more.", hint="Choose one of those shown.")
    offer = offers[number_]
    if offer["change"] == "suppress":
        share = offer["suppress"]
        return f"left out: at most {percent(share)}", edits.with_suppress(at.step.policy, share), at.step.locked
    if offer["change"] == "k":
        return f"groups of at least {offer['k']}", edits.with_k(at.step.policy, offer["k"]), at.step.locked
    name = offer["column"]
    return f"left out {words.plain(name)}", edits.with_role(at.step.policy, name, Role.DIRECT), at.step.locked


_freed = lru_cache(maxsize=64)(edits.freed)
_without_k = lru_cache(maxsize=64)(edits.without_k)
NONE_YET = Job("", "", "plans", "cancelled", {}, 0.0, "", {}, "Nobody has searched for plans yet.", "", 0.0, 0.0, 0.0)


def search_of(studio: Studio, at: Here, *, again: bool = False, begin: bool = True) -> Job:
    """The search for plans under this policy; started if there is none yet, unless the user may change nothing.

    Choosing a plan sets the group size; the search that found the plan stays visible.
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
