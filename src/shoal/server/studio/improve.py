"""Improve: plans to choose from, a slider per column with the verdict from counts, ways out, who is left out."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from shoal.api.improve import Improvement, Tried, ways
from shoal.errors import ShoalError, UsageError
from shoal.model.roles import Role
from shoal.release.policy.policy import Policy
from shoal.report.charts import Chart, frontier
from shoal.report.numbers import number, percent
from shoal.server.studio import words
from shoal.server.studio.here import Here, Studio, fields_of, here, table_page, to
from shoal.workspace import edits
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

    changing("levels", lambda at, fields: _levels(studio, at, fields))
    changing("locks", _locks)
    changing("bands", lambda at, fields: _bands(studio, at, fields))
    changing("ask", _ask)
    changing("way", _way)
    changing("plan", lambda at, fields: _plan(studio, at, fields))
    changing("offer", lambda at, fields: _offer(studio, at, fields))

    @router.post("/t/{table_id}/search")
    async def search(request: Request, table_id: str) -> Response:
        await fields_of(request)
        await run_in_threadpool(lambda: search_of(studio, here(studio, table_id), again=True))
        return to(f"/t/{table_id}/improve")

    return router


def search_of(studio: Studio, at: Here, *, again: bool = False) -> Job:
    """The search for plans under this policy; begun where there is none yet.

    Whoever takes a plan asks for its groups from then on; the search that found it goes on being shown.
    """
    free = edits.freed(at.step.policy, at.step.locked)
    asked: dict[str, Any] = {"policy": free, "locked": list(at.step.locked)}
    if not again:
        rest = edits.without_k(free)
        for job in studio.workspace.jobs.of_table(at.kept.id, "plans"):
            if job.asked == asked:
                return job
            same = job.asked["locked"] == asked["locked"] and edits.without_k(job.asked["policy"]) == rest
            if same and any(_is_taken(at, plan) for plan in job.found.get("plans", [])):
                return job
    job = studio.workspace.jobs.add(at.kept.id, "plans", asked)
    studio.runner.wake()
    return job


def _is_taken(at: Here, plan: Mapping[str, Any]) -> bool:
    """Whether the policy asks for exactly this plan."""
    fixed = {c: r.min_level for c, r in at.policy.quasi.items()}
    return bool(plan["k"] == at.policy.smallest_class and plan["levels"] == fixed)


def levels_of(at: Here, heights: Mapping[str, int]) -> dict[str, int]:
    """Where the sliders stand: the levels that the policy fixes; the values themselves where it says nothing."""
    return {c: min(at.policy.quasi[c].min_level or 0, top) for c, top in heights.items()}


def shown(at: Here, found: Improvement, job: Job) -> dict[str, Any]:
    """What the page shows."""
    levels = levels_of(at, found.heights)
    tried = found.at(levels)
    plans = [p for p in job.found.get("plans", []) if p["name"]]
    for p in plans:
        p["taken"], p["mark"] = _is_taken(at, p), MARKS[p["name"]]
    offers = [{**o, "number": i} for i, o in enumerate(job.found.get("offers", [])) if _actionable(o)]
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
    points = [{"k": p["k"], "loss": p["loss"], "chosen": _is_taken(at, p)} for p in job.found.get("plans", [])]
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


def _numbered(at: Here, fields: dict[str, str], prefix: str) -> dict[str, str]:
    """Fields ``prefix.N`` by the name of column N."""
    return {at.column(key[len(prefix) :]): value for key, value in fields.items() if key.startswith(prefix)}


def _whole(said: str) -> int:
    if not said.isdecimal() or len(said) > 9:
        raise UsageError("this is no whole number.", hint="Choose one of those shown.")
    return int(said)


def _finite(said: str) -> float:
    """
    >>> _finite("2.5")
    2.5
    """
    try:
        found = float(said)
    except ValueError:
        found = math.nan
    if not math.isfinite(found):
        raise UsageError("this is no number.", hint="Write a number such as 5.")
    return found


def _levels(studio: Studio, at: Here, fields: dict[str, str]) -> tuple[str, str, tuple[str, ...]]:
    wanted = {name: _whole(value) for name, value in _numbered(at, fields, "level.").items()}
    studio.answers.improvement(at.kept, at.policy).checked(wanted)
    moved = [c for c, level in wanted.items() if c in at.policy.quasi and level != (at.policy.quasi[c].min_level or 0)]
    said = ", ".join(f"{words.plain(c)}: level {wanted[c]}" for c in moved[:2]) or "levels as they are"
    return said, edits.with_levels(at.step.policy, wanted), at.step.locked


def _bands(studio: Studio, at: Here, fields: dict[str, str]) -> tuple[str, str, tuple[str, ...]]:
    """Own bands of a column of numbers; they are tried before they are kept."""
    name = at.column(fields.get("column", ""))
    widths = [_finite(part) for part in fields.get("widths", "").replace(";", ",").split(",") if part.strip()]
    whole = [int(w) if w.is_integer() else w for w in widths]
    text = edits.with_bands(at.step.policy, name, whole)
    studio.answers.improvement(at.kept, Policy.parse(text))
    said = f"bands of {', '.join(f'{w:g}' for w in whole)}" if whole else "bands as Shoal builds them"
    return f"{words.plain(name)}: {said}", text, at.step.locked


def _locks(at: Here, fields: dict[str, str]) -> tuple[str, str, tuple[str, ...]]:
    locked = tuple(_numbered(at, fields, "lock."))
    text = at.step.policy
    fixed = {c: at.policy.quasi[c].min_level or 0 for c in locked if c in at.policy.quasi}
    if fixed:
        text = edits.with_levels(text, fixed)
    for name, value in _numbered(at, fields, "weight.").items():
        if name in at.policy.quasi and value and _finite(value) != at.policy.quasi[name].weight:
            text = edits.with_weight(text, name, _finite(value))
    said = f"locked {words.several(locked)}" if locked else "nothing is locked"
    return said, text, locked


def _ask(at: Here, fields: dict[str, str]) -> tuple[str, str, tuple[str, ...]]:
    text, said = at.step.policy, []
    k = _whole(fields.get("k", ""))
    if k != max(at.policy.smallest_class, 2):
        text = edits.with_k(text, k)
        said.append(f"groups of at least {k}")
    share = _finite(fields.get("suppress", "")) / 100
    if f"{share:g}" != f"{at.policy.suppress:g}":
        text = edits.with_suppress(text, float(f"{share:.6g}"))
        said.append(f"left out: at most {percent(share)}")
    return ", ".join(said) or "asked the same", text, at.step.locked


def _way(at: Here, fields: dict[str, str]) -> tuple[str, str, tuple[str, ...]]:
    if "suppress" in fields:
        return _ask(at, {"k": str(max(at.policy.smallest_class, 2)), "suppress": f"{100 * _finite(fields['suppress']):g}"})
    name, level = at.column(fields.get("column", "")), _whole(fields.get("level", ""))
    kept = {c: r.min_level or 0 for c, r in at.policy.quasi.items()}
    said = f"{words.plain(name)}: level {level}"
    return said, edits.with_levels(at.step.policy, {**kept, name: level}), at.step.locked


def _plan(studio: Studio, at: Here, fields: dict[str, str]) -> tuple[str, str, tuple[str, ...]]:
    """Take a plan: its levels, and the size of its groups, without which they would be smaller than it says."""
    k, job = _whole(fields.get("k", "")), search_of(studio, at)
    found = next((p for p in job.found.get("plans", []) if p["k"] == k), None)
    if found is None:
        raise UsageError("this plan is not there any more.", hint="Choose one of those shown.")
    text = edits.with_levels(at.step.policy, found["levels"])
    if k != at.policy.smallest_class:
        text = edits.with_k(text, k)
    return f"took plan “{found['name'] or k}”", text, at.step.locked


def _actionable(offer: Mapping[str, Any]) -> bool:
    return offer.get("change") in ("suppress", "k", "drop column")


def _offer(studio: Studio, at: Here, fields: dict[str, str]) -> tuple[str, str, tuple[str, ...]]:
    offers, number_ = search_of(studio, at).found.get("offers", []), _whole(fields.get("number", ""))
    if number_ >= len(offers) or not _actionable(offers[number_]):
        raise UsageError("this offer is not there any more.", hint="Choose one of those shown.")
    offer = offers[number_]
    if offer["change"] == "suppress":
        share = offer["suppress"]
        return f"left out: at most {percent(share)}", edits.with_suppress(at.step.policy, share), at.step.locked
    if offer["change"] == "k":
        return f"groups of at least {offer['k']}", edits.with_k(at.step.policy, offer["k"]), at.step.locked
    name = offer["column"]
    return f"left out {words.plain(name)}", edits.with_role(at.step.policy, name, Role.DIRECT), at.step.locked
