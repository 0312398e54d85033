"""Improve: plans to choose from, a slider per column with the verdict from counts, ways out, who is left out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from shoal.api.improve import Improvement, Tried, ways
from shoal.errors import ShoalError
from shoal.report.charts import Chart, frontier
from shoal.report.numbers import number, percent
from shoal.server.studio import changes, words
from shoal.server.studio.here import Here, Studio, fields_of, here, table_page, to
from shoal.server.studio.search import is_taken, levels_of, search_of
from shoal.workspace.rows import Job

MARKS = {"most detail": "○", "balanced": "◆", "safest": "□"}
Change = Callable[[Here, dict[str, str]], tuple[str, str, tuple[str, ...]]]


def create_router(studio: Studio) -> APIRouter:
    router = APIRouter()

    @router.get("/t/{table_id}/improve")
    def improve(request: Request, table_id: str) -> Response:
        at = here(studio, table_id)
        if not at.policy.quasi:
            return table_page(request, studio, at, "improve", tried=None, job=None)
        try:
            found = studio.answers.improvement(at.kept, at.policy)
        except ShoalError as error:
            problem = {"found": error.message, "do": error.hint}
            return table_page(request, studio, at, "improve", tried=None, job=None, problem=problem)
        return table_page(request, studio, at, "improve", **shown(at, found, search_of(studio, at)))

    def changing(path: str, change: Change) -> None:
        @router.post("/t/{table_id}/" + path, name=path)
        async def changed(request: Request, table_id: str) -> Response:
            fields = await fields_of(request)

            def work() -> None:
                at = here(studio, table_id)
                name, text, locked = change(at, fields)
                studio.workspace.history.add(at.kept.id, name, text, locked=locked)

            await run_in_threadpool(work)
            return to(f"/t/{table_id}/improve")

    changing("levels", lambda at, fields: changes.levels(studio, at, fields))
    changing("locks", changes.locks)
    changing("bands", lambda at, fields: changes.bands(studio, at, fields))
    changing("ask", changes.ask)
    changing("way", changes.way)
    changing("plan", lambda at, fields: changes.plan(studio, at, fields))
    changing("offer", lambda at, fields: changes.offer(studio, at, fields))

    @router.post("/t/{table_id}/search")
    async def search(request: Request, table_id: str) -> Response:
        await fields_of(request)
        await run_in_threadpool(lambda: search_of(studio, here(studio, table_id), again=True))
        return to(f"/t/{table_id}/improve")

    return router


def shown(at: Here, found: Improvement, job: Job) -> dict[str, Any]:
    """What the page shows."""
    levels = levels_of(at, found.heights)
    tried = found.at(levels)
    plans = [p for p in job.found.get("plans", []) if p["name"]]
    for p in plans:
        p["taken"], p["mark"] = is_taken(at, p), MARKS[p["name"]]
    offers = [{**o, "number": i} for i, o in enumerate(job.found.get("offers", [])) if changes.actionable(o)]
    met = [v.met for v in tried.verdicts] + [tried.suppress_met, tried.loss_met]
    return {
        "tried": tried,
        "said": _said(found, tried),
        "met_count": (sum(met), len(met)) if tried.k is not None else (0, len(found.policy.requirements) + 2),
        "cells": _cells(found, tried),
        "ways": _ways(at, found, levels) if not tried.met else [],
        "job": job,
        "plans": plans,
        "frontier": _frontier(at, job),
        "found_problem": job.found.get("problem", "") if not plans else "",
        "offers": offers,
        "sliders": _sliders(at, found, levels),
        "asked_k": max(found.policy.smallest_class, 2),
        "asked_out": f"{100 * found.policy.suppress:g}",
        "lost": found.left_out(tried),
        "least": found.policy.cells.minimum,
        "verdicts": [
            {"met": v.met, "sentence": v.sentence, "found": None if v.found is None else number(v.found)} for v in tried.verdicts
        ],
    }


def _said(found: Improvement, tried: Tried) -> tuple[str, str]:
    """The verdict in a sentence."""
    if tried.met:
        out = f"{words.people(tried.suppressed)} {'is' if tried.suppressed == 1 else 'are'} left out."
        return f"Everyone hides among at least {tried.k:,}.", out if tried.suppressed else "Nobody is left out."
    if tried.k is None:
        return "Not yet: nobody would be left.", f"Everybody is in a group smaller than {found.policy.smallest_class:,}."
    if not tried.suppress_met:
        return f"Not yet: {percent(tried.left_out)} would be left out.", f"You allow {percent(found.policy.suppress)}."
    if not tried.loss_met:
        return f"Not yet: {percent(tried.loss)} of the detail would be lost.", f"You allow {percent(tried.loss_limit)}."
    failed = next(v for v in tried.verdicts if not v.met)
    return "Not yet:", failed.sentence


def _cells(found: Improvement, tried: Tried) -> list[dict[str, Any]]:
    k = max(found.policy.smallest_class, 2)
    smallest = f"{tried.k:,}" if tried.k is not None else "none"
    return [
        {
            "name": "Smallest group",
            "asked": f"asked {k:,}",
            "value": smallest,
            "unit": "people",
            "met": tried.k is not None and tried.k >= k,
            "word": "under",
        },
        {
            "name": "Detail lost",
            "asked": f"loss {tried.loss:.3f}",
            "value": percent(tried.loss),
            "unit": "",
            "met": tried.loss_met,
            "word": "over",
        },
        {
            "name": "Left out",
            "asked": f"allowed {percent(found.policy.suppress)}",
            "value": percent(tried.left_out),
            "unit": words.people(tried.suppressed),
            "met": tried.suppress_met,
            "word": "over",
        },
    ]


def _ways(at: Here, found: Improvement, levels: Mapping[str, int]) -> list[dict[str, Any]]:
    out = []
    places = {c.name: i for i, c in enumerate(at.columns)}
    for way in ways(found, levels):
        if way.column:
            top = found.heights[way.column]
            said = "hidden" if way.level == top else f"level {way.level} of {top}"
            cost = f"{percent(way.tried.left_out)} out"
            told = f"{words.plain(way.column)}: {said}"
            out.append({"column": places[way.column], "level": way.level, "words": told, "cost": cost})
        else:
            said = f"Allow {percent(way.suppress)} left out"
            out.append({"column": None, "suppress": way.suppress, "words": said, "cost": f"{percent(way.tried.left_out)} out"})
    return out


def _frontier(at: Here, job: Job) -> Chart | None:
    points = [{"k": p["k"], "loss": p["loss"], "chosen": is_taken(at, p)} for p in job.found.get("plans", [])]
    return frontier(points, asked=job.found.get("asked", 2), title="Plans", width=440) if len(points) > 1 else None


def _sliders(at: Here, found: Improvement, levels: Mapping[str, int]) -> list[dict[str, Any]]:
    places = {c.name: i for i, c in enumerate(at.columns)}
    out = []
    for name, top in found.heights.items():
        previews = found.shown(name)
        stops = []
        for p in previews:
            label = "hidden" if p.level == top else p.shown[0][0] if p.shown else f"level {p.level}" if p.level else "as it is"
            stops.append({"level": p.level, "label": label})
        out.append(
            {
                "number": places[name],
                "name": name,
                "level": levels[name],
                "height": top,
                "before": previews[0].groups,
                "after": previews[levels[name]].groups,
                "stops": stops,
                "locked": name in at.step.locked,
                "weight": f"{at.policy.quasi[name].weight:g}",
                "bands": _widths(at, name),
            }
        )
    return out


def _widths(at: Here, name: str) -> str | None:
    """The widths of the bands that a person gave; None for a column that is no number."""
    scale = at.policy.scale.get(name) or next(c.scale.value for c in at.columns if c.name == name)
    rule = at.policy.quasi[name].hierarchy
    given = rule.get("intervals", []) if isinstance(rule, Mapping) else []
    return ", ".join(f"{w:g}" for w in given) if scale == "number" and isinstance(given, list | tuple) else None
