"""The policy of a table: changed by the Improve page, saved as a file, replaced, undone and redone.

A change gives the step its name, the new policy, and the columns that stay locked.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from shoal.errors import PolicyError, UsageError, refuse
from shoal.model.roles import Role
from shoal.release.policy.build import DETAIL
from shoal.release.policy.policy import Policy
from shoal.report.numbers import percent
from shoal.studio import words
from shoal.studio.here import Conflict, Fields, Here, Studio, change_policy, download, file_of, here, own_changes, posts, to
from shoal.studio.views import improved
from shoal.studio.workspace import edits
from shoal.studio.workspace.database import Job, Made
from shoal.studio.workspace.history import Superseded

AUDIENCES = (
    ("internal", "Colleagues inside", "k ≥ 5"),
    ("named-recipient", "Named researchers, under contract", "k ≥ 5, average risk ≤ 1/10"),
    ("ema-public", "Everyone: published", "largest risk ≤ 0.09 (k ≥ 12)"),
    ("strict-public", "Health or minorities, strict", "k ≥ 20, secrets mixed"),
)
KEEP = {"high": "keep most detail", "normal": "usual detail", "low": "may lose most"}


def audience(preset: str) -> str:
    """Who gets a table under a preset, in the page's words."""
    return next((title.split(":")[0].split(",")[0].lower() for name, title, _ in AUDIENCES if name == preset), preset)


def _by_number(at: Here, fields: Fields, prefix: str) -> dict[str, str]:
    """Fields ``prefix.N`` by the name of column N."""
    return {at.column(key[len(prefix) :]): value for key, value in fields.items() if key.startswith(prefix)}


def whole(text: str) -> int:
    if not text.isdecimal() or len(text) > 9:
        raise UsageError("this is not a whole number.", hint="Choose one of those shown.")
    return int(text)


def finite(text: str) -> float:
    """
    >>> finite("2.5")
    2.5
    """
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise UsageError("this is not a number.", hint="Write a number such as 5.")
    return number


def levels(studio: Studio, at: Here, fields: Fields) -> tuple[str, str, tuple[str, ...]]:
    """Move the sliders that a person moved; the others stay where they are now, also if another window has moved them."""
    tops = studio.answers.improvement(at.kept, at.policy, improved.heights)
    now = levels_of(studio, at)
    marks, places = marks_of(studio, at, now), {c.name: f"level.{i}" for i, c in enumerate(at.columns)}
    mine, clashing = own_changes(fields, {places[c]: mark for c, mark in marks.items()})
    for place in clashing:
        name = at.column(place.removeprefix("level."))
        moved = fields[f"was.{place}"].partition("~")[2] == marks[name].partition("~")[2]
        sentence = f"moved {words.plain(name)} to level {now[name]}" if moved else f"changed the levels of {words.plain(name)}"
        raise Conflict(f"Another window {sentence} meanwhile.")
    wanted = {name: whole(value) for name, value in _by_number(at, mine, "level.").items()}
    gone = {place: value for place, value in fields.items() if place.startswith("level.") and at.column(place[6:]) not in tops}
    shown = {place: fields.get(f"was.{place}", "").partition("~")[0] for place in gone}
    wanted |= {at.column(place[6:]): whole(value) for place, value in gone.items() if value != shown[place]}
    if any(level > tops.get(name, -1) for name, level in wanted.items()):
        raise UsageError("this level does not exist.", hint="Choose one of those shown.")
    sentence = ", ".join(f"{words.plain(c)}: level {level}" for c, level in list(wanted.items())[:2]) or "levels as they are"
    return sentence, edits.with_levels(at.step.policy, now | wanted, _guess_levels(studio, at)), at.step.locked


def marks_of(studio: Studio, at: Here, levels: Mapping[str, int]) -> dict[str, str]:
    """Where each slider stands and what its levels mean, as the page remembers it."""
    meanings = studio.answers.improvement(at.kept, at.policy, improved.meanings)
    return {name: f"{level}~{meanings[name]}" for name, level in levels.items()}


def _guess_levels(studio: Studio, at: Here) -> dict[str, Any]:
    """The levels that the sliders show, where they were guessed."""
    improvement: dict[str, Any] = studio.answers.improvement(at.kept, at.policy, improved.guessed)
    return improvement


def lock(studio: Studio, at: Here, fields: Fields) -> tuple[str, str, tuple[str, ...]]:
    """Lock a column where its slider stands, or unlock it; the sliders stay where the form has them."""
    name = at.column(fields.get("lock", ""))
    text = levels(studio, at, fields)[1]
    if name in at.step.locked:
        return f"unlocked {words.plain(name)}", text, tuple(c for c in at.step.locked if c != name)
    return f"locked {words.plain(name)}", text, (*at.step.locked, name)


def keep_of(at: Here, column: str) -> str:
    """How detailed a column has to stay, in the policy's word; empty for a weight that somebody wrote as a number."""
    return next((word for word, weight in DETAIL.items() if weight == at.policy.quasi[column].weight), "")


def goal(at: Here, fields: Fields) -> tuple[str, str, tuple[str, ...]]:
    """Who gets the table, what has to stay detailed, how small a group may be and how many may be left out."""
    text, sentences = at.step.policy, []
    now = {"k": str(max(at.policy.smallest_class, 2)), "suppress": f"{100 * at.policy.suppress:g}"}
    now["preset"] = at.policy.preset.name if at.policy.preset is not None else ""
    now |= {f"keep.{i}": keep_of(at, c.name) for i, c in enumerate(at.columns) if c.name in at.policy.quasi} | use_of(at)
    mine, clashing = own_changes(fields, now)
    if clashing:
        raise Conflict("Another window changed the goal meanwhile.")
    if mine.get("preset"):
        text = edits.with_preset(text, mine["preset"])
        sentences.append(f"{audience(mine['preset'])} will see it")
    for name, word in _by_number(at, mine, "keep.").items():
        text = edits.with_keep(text, name, word)
        sentences.append(f"{words.plain(name)}: {KEEP.get(word, word)}")
    if any(name == "use" or name.startswith("count.") for name in mine):
        use = _objective(at, now | mine)
        text = edits.with_objective(text, use)
        sentences.append(used(use) or "for many uses")
    if "k" in mine:
        k = whole(mine["k"])
        text = edits.with_k(text, k)
        sentences.append(f"groups of at least {k}")
    if "suppress" in mine:
        share = finite(mine["suppress"]) / 100
        text = edits.with_suppress(text, float(f"{share:.6g}"))
        sentences.append(f"left out: at most {percent(share)}")
    return ", ".join(sentences) or "asked the same", text, at.step.locked


def use_of(at: Here) -> dict[str, str]:
    """What the table is used for, as the fields of the goal: ``use``, and ``count.N`` for the columns of a table of counts."""
    counts, target = at.policy.objective.get("counts", ()), at.policy.objective.get("predict")
    fields = {f"count.{i}": "1" if c.name in counts else "" for i, c in enumerate(at.columns) if c.name in at.policy.quasi}
    named = next((f"predict.{i}" for i, c in enumerate(at.columns) if c.name == target), "")
    return {"use": "counts" if counts else named, **fields}


def _objective(at: Here, fields: Mapping[str, str]) -> dict[str, Any]:
    """The objective that these fields state."""
    if fields["use"] != "counts":
        return {"predict": at.column(fields["use"].removeprefix("predict."))} if fields["use"] else {}
    if not (columns := [name for name, ticked in _by_number(at, dict(fields), "count.").items() if ticked]):
        raise UsageError("no column to count people by is ticked.", hint="Go back and tick one to four.")
    return {"counts": columns}


def used(objective: Mapping[str, Any]) -> str:
    """What a table is used for, in words; empty where nothing is stated."""
    if "counts" in objective:
        return f"for counts of people by {words.several(objective['counts'])}"
    return f"for predictions of {words.plain(objective['predict'])}" if objective else ""


def way(studio: Studio, at: Here, fields: Fields) -> tuple[str, str, tuple[str, ...]]:
    if "suppress" in fields:
        return goal(at, {"suppress": f"{100 * finite(fields['suppress']):g}"})
    name, level = at.column(fields.get("column", "")), whole(fields.get("level", ""))
    text = edits.with_levels(at.step.policy, {**levels_of(studio, at), name: level}, _guess_levels(studio, at))
    return f"{words.plain(name)}: level {level}", text, at.step.locked


def plan(studio: Studio, at: Here, fields: Fields) -> tuple[str, str, tuple[str, ...]]:
    """Take a plan: its levels with what they mean, and the size of its groups, without which they would be smaller."""
    job, least = search_of(studio, at), "least" in fields
    asked = 0 if least else whole(fields.get("k", ""))
    chosen = job.found.get("least") if least else next((p for p in job.found.get("plans", []) if p["k"] == asked), None)
    if chosen is None:
        raise UsageError("this plan is not there any more.", hint="Choose one of those shown.")
    levels, guessed = chosen["levels"], job.found.get("hierarchies", {})
    text = job.asked["policy"] if least else edits.with_levels(at.step.policy, levels, guessed)
    k = int(chosen["k"])
    if not least and k != at.policy.smallest_class:
        text = edits.with_k(text, k)
    return f"took plan “{chosen['name'] or k}”", text, at.step.locked


def actionable(offer: Mapping[str, Any]) -> bool:
    return offer.get("kind") in ("suppress", "k", "raise level", "drop column", "method")


def offer(studio: Studio, at: Here, fields: Fields) -> tuple[str, str, tuple[str, ...]]:
    offers, number_ = search_of(studio, at).found.get("offers", []), whole(fields.get("number", ""))
    if number_ >= len(offers) or not actionable(offers[number_]):
        raise UsageError("this offer is not there any more.", hint="Choose one of those shown.")
    offer = offers[number_]
    if offer["kind"] == "suppress":
        share = offer["suppress"]
        return f"left out: at most {percent(share)}", edits.with_suppress(at.step.policy, share), at.step.locked
    if offer["kind"] == "k":
        return f"groups of at least {offer['k']}", edits.with_k(at.step.policy, offer["k"]), at.step.locked
    if offer["kind"] == "method":
        return "any method", edits.with_best_method(at.step.policy), at.step.locked
    names = offer.get("names") or [offer["column"]]
    if offer["kind"] == "raise level":
        locked = tuple(c for c in at.step.locked if c not in names)
        return f"any level for {', '.join(map(words.plain, names))}", edits.without_bounds(at.step.policy, names), locked
    return f"left out {', '.join(map(words.plain, names))}", edits.with_role(at.step.policy, names, Role.DIRECT), at.step.locked


_freed = lru_cache(maxsize=64)(edits.freed)
_unbounded = lru_cache(maxsize=64)(partial(edits.freed, bounded=False))
_without_k = lru_cache(maxsize=64)(edits.without_k)
NONE_YET = Job("", "", "plans", "cancelled", {}, 0.0, "", {}, "Nobody has searched for plans yet.", "", 0.0, 0.0, 0.0)


def search_of(studio: Studio, at: Here, *, again: bool = False, begin: bool = True, exact: bool = False) -> Job:
    """The search for plans under this policy; started if there is none yet, unless the user may change nothing.

    Choosing a plan sets the group size; the search that found the plan stays visible, also when sliders are moved from there.
    An ``exact`` one searched for this group size itself.
    """
    free = _freed(at.step.policy, at.step.locked)
    asked: dict[str, Any] = {"policy": free, "locked": list(at.step.locked)}
    if not again:
        rest = _without_k(_unbounded(free, at.step.locked))
        jobs = studio.workspace.jobs.of_table(at.kept.id, "plans")
        for job in jobs:
            if job.asked == asked:
                return job
        for job in jobs if not exact else ():
            same = job.asked["locked"] == asked["locked"]
            same = same and _without_k(_unbounded(job.asked["policy"], at.step.locked)) == rest
            if same and any(plan["name"] and plan["k"] == at.policy.smallest_class for plan in job.found.get("plans", [])):
                return job
    if not begin:
        return NONE_YET
    job = studio.workspace.jobs.add(at.kept.id, "plans", asked)
    studio.runner.wake()
    return job


def is_release_of(made: Made, policy: Policy) -> bool:
    """Whether a release was written for exactly this policy of one table, the sign-off put aside."""
    return not made.told.get("tables") and replace(edits.parsed(made.told["policy"]), about={}) == replace(policy, about={})


def is_taken(at: Here, plan: Mapping[str, Any], hierarchies: Mapping[str, Any]) -> bool:
    """Whether the policy asks for exactly this plan: its group size, its levels, and the same meaning of them."""
    fixed = {c: r.min_level if r.fixed else None for c, r in at.policy.quasi.items()}
    if plan["k"] != at.policy.smallest_class or plan["levels"] != fixed:
        return False
    return all(at.policy.quasi[c].hierarchy == rule for c, rule in hierarchies.items() if c in fixed)


def least_plan(at: Here, job: Job) -> dict[str, Any] | None:
    """The plan of the planner itself, and whether the policy leaves the choice to it."""
    least = job.found.get("least")
    if least is None:
        return None
    free = not any(r.fixed for c, r in at.policy.quasi.items() if c not in at.step.locked)
    taken = free and least["k"] == at.policy.smallest_class
    return {**least, "taken": taken, "mark": "●", "reached": reached(least)}


def reached(plan: Mapping[str, Any]) -> int:
    """The smallest group of a plan; searches of earlier versions kept only the size that they searched for."""
    return int(plan.get("smallest") or plan["k"])


def levels_of(studio: Studio, at: Here) -> dict[str, int]:
    """Where the sliders stand: the levels that the policy fixes; if it leaves the choice to the planner, those of its plan."""
    least = least_plan(at, search_of(studio, at, begin=False))
    if least is not None and least["taken"] and least["levels"]:
        return dict(least["levels"])
    heights = studio.answers.improvement(at.kept, at.policy, improved.heights)
    return {c: min(at.policy.quasi[c].min_level or 0, top) for c, top in heights.items()}


TABS = ("measure", "understand", "improve", "prove")
MOST_POLICY = 1_000_000


def create_router(studio: Studio) -> APIRouter:
    router = APIRouter()
    workspace = studio.workspace

    @router.get("/t/{table_id}/policy.yml")
    def save(table_id: str) -> Response:
        return download(here(studio, table_id).step.policy, "policy.yml")

    @router.post("/t/{table_id}/policy")
    async def use(request: Request, table_id: str) -> Response:
        async with file_of(request, studio, MOST_POLICY) as (arrived, sent):
            raw = arrived.read_bytes()
        await run_in_threadpool(_use, studio, table_id, raw)
        return to(f"/t/{table_id}/{_tab(sent.fields)}?panel=policy")

    @posts(router, "/t/{table_id}/go")
    def go(_: Request, fields: Fields, table_id: str) -> str:
        number = fields.get("number", "")
        if not number.isdecimal():
            raise UsageError("this step does not exist.", hint="Choose one of the list.")
        with refuse(Conflict("another window changed this table meanwhile."), Superseded):
            workspace.history.go(table_id, int(number), seen=fields.get("seen", ""))
        return f"/t/{table_id}/{_tab(fields)}"

    return router


def _use(studio: Studio, table_id: str, raw: bytes) -> None:
    """A policy from a file: it must be readable and fit the table's columns."""
    with refuse(PolicyError("the policy is not valid UTF-8.", hint="Choose a policy file (YAML)."), UnicodeDecodeError):
        text = edits.check_policy(raw.decode("utf-8-sig"))
    asked = Policy.parse(text)
    known = {c.name for c in here(studio, table_id).columns}
    named = [*asked.quasi, *asked.direct, *asked.sensitive, *asked.insensitive, *(c for c in (asked.unit, asked.weight) if c)]
    files = [r.hierarchy for r in asked.quasi.values()] + list(asked.sensitive.values()) + [asked.population_table]
    if asked.events is not None or any(isinstance(f, str) for f in files):
        hint = "Run it on the command line: shoal anonymize TABLE --policy FILE --out DIR"
        raise PolicyError("the policy is one of an event table, or names files beside it; the studio reads neither.", hint=hint)
    unknown = [c for c in named if c not in known]
    if unknown:
        hint = "Choose the policy of this table."
        raise PolicyError(f"the policy names {len(unknown)} columns that this table does not have.", hint=hint)
    fixed = tuple(c for c, rule in asked.quasi.items() if rule.fixed)
    locked = fixed if len(fixed) < len(asked.quasi) else ()  # some levels are the person's own; all are a plan that was taken
    change_policy(studio, table_id, lambda at: ("used a policy file", text, locked))


def _tab(fields: Fields) -> str:
    tab = fields.get("tab", "measure")
    return tab if tab in TABS else "measure"
