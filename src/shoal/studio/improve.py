"""Improve: plans to choose from, a slider per column with the verdict from counts, ways out, who is left out."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

from fastapi import APIRouter
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response

from shoal.errors import ShoalError
from shoal.report.charts import frontier, svg
from shoal.report.numbers import percent
from shoal.studio import policy_changes, words
from shoal.studio.answers import StillCounting
from shoal.studio.here import Conflict, Fields, Here, Studio, change_policy, here, may_change, posts, table_page
from shoal.studio.policy_changes import (
    AUDIENCES,
    KEEP,
    audience,
    is_release_of,
    is_taken,
    keep_of,
    levels_of,
    reached,
    search_of,
    use_of,
    used,
)
from shoal.studio.views import improved
from shoal.studio.views.measured import PHONE
from shoal.studio.workspace.database import Job

MARKS = {"most detail": "○", "balanced": "◆", "safest": "□"}
FIRST = "x-shoal-first"
"""A script that sends this header gets the numbers first and asks for the rest of the page afterwards."""
NOTHING_MORE: dict[str, Any] = {"ways": [], "lost": [], "path": None, "effect": None, "rows": []}
Change = Callable[[Here, dict[str, str]], tuple[str, str, tuple[str, ...]]]


def create_router(studio: Studio) -> APIRouter:
    router = APIRouter()

    @router.get("/t/{table_id}/improve")
    def improve(request: Request, table_id: str) -> Response:
        return improve_page(request, studio, table_id)

    @router.get("/t/{table_id}/plans")
    def plans(request: Request, table_id: str) -> Response:
        at = here(studio, table_id)
        job = search_of(studio, at, begin=False) if at.policy.quasi else policy_changes.NONE_YET
        named, least = named_plans(at, job), policy_changes.least_plan(at, job)
        levels = [p["levels"] for p in named]
        columns = studio.answers.improvement(at.kept, at.policy, improved.compared, levels) if named else []
        rows = studio.answers.improvement(at.kept, at.policy, improved.samples, levels, [p["k"] for p in named]) if named else []
        samples = [(least, least["rows"])] if least and least.get("rows") else []
        content = {"plans": named, "least": least, "columns": columns, "samples": [*samples, *zip(named, rows, strict=True)]}
        return table_page(request, studio, at, "improve", template="plans.html", **content)

    def changing(path: str, change: Change) -> None:
        @posts(router, "/t/{table_id}/" + path)
        def changed(request: Request, fields: Fields, table_id: str) -> Response | str:
            try:
                change_policy(studio, table_id, lambda at: change(at, fields), fields.get("seen", ""))
            except Conflict as error:
                return improve_page(request, studio, table_id, error)
            if change is policy_changes.goal and (at := here(studio, table_id)).policy.quasi:
                search_of(studio, at, exact=True)
            return f"/t/{table_id}/improve"

    changing("goal", policy_changes.goal)
    for path in ("levels", "lock", "way", "plan", "offer"):
        changing(path, partial(getattr(policy_changes, path), studio))

    @posts(router, "/t/{table_id}/search")
    def search(*_: Request | Fields, table_id: str) -> str:
        search_of(studio, here(studio, table_id), again=True)
        return f"/t/{table_id}/improve"

    return router


def improve_page(request: Request, studio: Studio, table_id: str, conflict: Conflict | None = None) -> Response:
    """The page; with what another window did to it, if both changed the same."""
    at = here(studio, table_id)
    if not at.policy.quasi:
        return table_page(request, studio, at, "improve", tried=None, job=None)
    if at.undecided:
        return table_page(request, studio, at, "improve", tried=None, job=None, undecided=len(at.undecided))
    number = request.query_params.get("column", "")
    column = at.column(number) if number else ""
    try:
        page = shown(studio, at, column, whole=FIRST not in request.headers, begin=may_change(request))
    except ShoalError as error:
        problem = {"found": error.message, "do": error.hint}
        return table_page(request, studio, at, "improve", tried=None, job=None, problem=problem)
    if conflict is not None:
        page["problem"] = {"found": conflict.message, "do": conflict.hint}
    answer = table_page(request, studio, at, "improve", **page)
    answer.status_code = 200 if conflict is None else conflict.status
    return answer


def shown(studio: Studio, at: Here, column: str = "", *, whole: bool = True, begin: bool = True) -> dict[str, Any]:
    """What the page shows; not the ``whole`` of it where a moved slider waits for its numbers; ``begin`` a search if none ran."""
    job = search_of(studio, at, begin=begin)
    levels = levels_of(studio, at)
    content = dict(studio.answers.improvement(at.kept, at.policy, improved.shown, levels))
    rest: dict[str, Any] = {**NOTHING_MORE, "effect_of": column}
    if whole:
        try:
            rest = studio.answers.improvement(at.kept, at.policy, improved.more, levels, column)
        except StillCounting:  # the numbers stand already; the page asks for the rest again
            whole = False
    plans, least = named_plans(at, job), policy_changes.least_plan(at, job)
    if least is not None and least["taken"] and not least["levels"]:
        asked = len(at.policy.requirements) + 1
        gone, share = least["suppressed"], least["suppressed"] / least["records"]
        content |= {
            "tried": {"met": True, "suppressed": gone}, "met_count": (asked, asked), "verdicts": [],
            "said": (f"Everyone hides among at least {least['reached']:,}.", improved.left_out_words(gone)),
            "cells": improved.cells(at.policy, (least["reached"], True), (least["loss"], None, True), (share, gone, True)),
        }  # fmt: skip
        rest = {**NOTHING_MORE, "effect_of": column, "rows": least.get("rows", [])}
    better = min((p["loss"] for p in plans), default=float("inf"))  # a way that loses more than a plan on the page does not help
    ways = [w for w in rest["ways"] if w["loss"] <= better + 1e-9]
    offers = [{**o, "number": i, "button": policy_changes.actionable(o)} for i, o in enumerate(job.found.get("offers", []))]
    places = {c.name: i for i, c in enumerate(at.columns)}
    marks = policy_changes.marks_of(studio, at, levels)
    return {
        **content,
        **rest,
        "ways": [{**w, "column": places[w["column"]] if w["column"] is not None else None} for w in ways],
        "whole": whole,
        "goal": _goal(at),
        "job": job,
        "plans": plans,
        "least": least if least is not None and (least.get("says") or not least["levels"]) else None,
        "attacks": _attacks(studio, at),
        "frontier": _frontier(at, job),
        "found_problem": job.found.get("problem", "") if not plans and least is None else "",
        "offers": offers,
        "sliders": [
            {"name": name, "number": places[name], "level": levels[name], "mark": marks[name], "keep": keep_of(at, name), **s}
            for name, s in content["stops"].items()
        ],
        "locked": at.step.locked,
    }


def _goal(at: Here) -> dict[str, Any]:
    """What the owner wants, as a sentence and as the fields of its form."""
    preset = at.policy.preset.name if at.policy.preset is not None else ""
    dear, cheap = ([c for c in at.policy.quasi if keep_of(at, c) == word] for word in ("high", "low"))
    parts = [f"For {audience(preset)}" if preset else "For nobody in particular yet"]
    parts.append(f"groups of at least {max(at.policy.smallest_class, 2):,}")
    parts.append(f"at most {percent(at.policy.suppress)} left out")
    parts += [f"{words.several(dear)} kept as detailed as possible"] if dear else []
    parts += [f"{words.several(cheap)} may lose most"] if cheap else []
    parts += [used(at.policy.objective)] if at.policy.objective else []
    targets = [(f"predict.{i}", c.name) for i, c in enumerate(at.columns) if c.name in at.policy.sensitive]
    uses = {"targets": targets, "fields": use_of(at)}
    return {"said": "; ".join(parts) + ".", "preset": preset, "audiences": AUDIENCES, "keep": KEEP, **uses}


def named_plans(at: Here, job: Job) -> list[dict[str, Any]]:
    """The plans that a search gave names, with their sign, and whether the policy asks for it."""
    plans, levels = job.found.get("plans", []), job.found.get("hierarchies", {})
    named, least = [p for p in plans if p["name"]], policy_changes.least_plan(at, job)
    chosen = (least["k"], least["levels"]) if least is not None and least["taken"] else None
    taken = [is_taken(at, p, levels) or (p["k"], p["levels"]) == chosen for p in named]
    return [{**p, "taken": t, "mark": MARKS[p["name"]], "reached": reached(p)} for p, t in zip(named, taken, strict=True)]


def _attacks(studio: Studio, at: Here) -> dict[str, Any] | None:
    """What the attacks on a release of exactly this policy found, its sign-off put aside; None where none is written."""
    for made in studio.workspace.releases.of_table(at.kept.id):
        if is_release_of(made, at.policy):
            verdicts = [a["verdict"] for a in made.told["attacks"]]
            hold, read, broken = (verdicts.count(v) for v in ("holds", "warning", "broken"))
            return {"release": made.id, "tried": hold + read + broken, "hold": hold, "read": read, "broken": broken}
    return None


def _frontier(at: Here, job: Job) -> list[Markup] | None:
    plans = job.found.get("plans", [])
    points = [
        {"k": reached(p), "loss": p["loss"], "name": p["name"], "chosen": is_taken(at, p, job.found.get("hierarchies", {}))}
        for p in plans
    ]
    if len({p["k"] for p in points}) < 2:
        return None
    tried = tuple((k, loss) for k, loss in job.found.get("tried", []))
    return _draw(tuple(tuple(p.items()) for p in points), tried, job.found.get("asked", 2))


@lru_cache(maxsize=64)
def _draw(points: tuple[Any, ...], tried: tuple[tuple[int, float], ...], asked: int) -> list[Markup]:
    """The same plans are drawn once, however many look at them; for a desktop and for a telephone."""
    return [svg(frontier([dict(p) for p in points], asked=asked, title="Plans", width=w, tried=tried)) for w in (440, PHONE)]
