"""Improve: the verdict of some levels, a slider per column, ways out; from counts."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from shoal.api.improvement import ROWS, Improvement, Tried, effect, path, sample_rows, ways
from shoal.hierarchies.lint import LevelPreview
from shoal.hierarchies.published_labels import REST
from shoal.release.policy.policy import Policy
from shoal.report.charts import Chart, before_after, rising
from shoal.report.numbers import number, percent
from shoal.studio import words
from shoal.studio.views.measured import PHONE


def heights(improvement: Improvement) -> dict[str, int]:
    return improvement.heights


def meanings(improvement: Improvement) -> dict[str, str]:
    """A digest of what each column's levels are: two pages that show the same one mean the same by a level's number."""
    return {name: hashlib.sha256(repr(improvement.shown(name)).encode("utf-8")).hexdigest()[:12] for name in improvement.heights}


def guessed(improvement: Improvement) -> dict[str, dict[str, Any]]:
    """The guessed levels, as a policy states them."""
    return improvement.guessed


def met(improvement: Improvement, levels: Mapping[str, int]) -> bool:
    return improvement.at(levels).met


def shown(improvement: Improvement, levels: Mapping[str, int]) -> dict[str, Any]:
    """The verdict of these levels and the sliders: what a moved slider waits for."""
    tried = improvement.at(levels)
    held = [v.met for v in tried.verdicts] + [tried.suppress_met]
    if improvement.policy.loss_limit is not None or not tried.loss_met:
        held.append(tried.loss_met)
    return {
        "tried": {"met": tried.met, "suppressed": tried.suppressed},
        "said": _say_verdict(improvement, tried),
        "met_count": (sum(held), len(held)) if tried.k is not None else (0, len(improvement.policy.requirements) + 1),
        "cells": _cells(improvement, tried),
        "stops": {name: _stops(improvement, name, level) for name, level in levels.items()},
        "asked_k": max(improvement.policy.smallest_class, 2),
        "asked_out": f"{100 * improvement.policy.suppress:g}",
        "smallest_named": improvement.policy.cells.minimum,
        "verdicts": [
            {"met": v.met, "sentence": v.sentence, "found": None if v.found is None else number(v.found)} for v in tried.verdicts
        ],
    }


def compared(improvement: Improvement, plans: Sequence[Mapping[str, int]]) -> list[tuple[str, list[dict[str, Any]]]]:
    """For each column what every plan makes of it: a label of its level, and how many values are left."""
    out = []
    for name in improvement.heights:
        cells = []
        for levels in plans:
            stops = _stops(improvement, name, levels[name])
            cells.append({"level": levels[name], "groups": stops["after"], **{n: stops[n] for n in ("label", "height", "bar")}})
        out.append((name, cells))
    return out


def samples(improvement: Improvement, plans: Sequence[Mapping[str, int]], sizes: Sequence[int]) -> list[list[dict[str, Any]]]:
    """Three published rows of each plan; ``sizes`` are the smallest groups of the plans."""
    return [_rows(improvement, improvement.at(levels), k, 3) for levels, k in zip(plans, sizes, strict=True)]


def _rows(improvement: Improvement, tried: Tried, least: int, most: int = ROWS) -> list[dict[str, Any]]:
    return [] if tried.shown is None else sample_rows(improvement.prepared, tried.shown, least, most)


def more(improvement: Improvement, levels: Mapping[str, int], column: str) -> dict[str, Any]:
    """What may come a moment later: ways out, who is left out, the path from raw to safe, a column and rows before and after."""
    tried = improvement.at(levels)
    # without a choice: the generalized column with most values; if none is generalized, the column with most values
    most = max(levels, key=lambda c: (levels[c] > 0, improvement.shown(c)[0].groups))
    name = column if column in improvement.heights else most
    return {
        "ways": [] if tried.met else _ways(improvement, levels),
        "lost": [
            {"column": g.column, "group": g.group, "suppressed": g.suppressed, "share": g.share}
            for g in improvement.left_out(tried)
        ],
        "path": _path(improvement, levels, tried),
        "effect_of": name,
        "effect": _effect(improvement, name, tried),
        "rows": _rows(improvement, tried, improvement.policy.smallest_class) if tried.met else [],
    }


def _effect(improvement: Improvement, name: str, tried: Tried) -> list[Chart]:
    shown, title = effect(improvement, name, tried), f"{words.plain(name)}, before and after"
    return [before_after(shown.before, shown.after, title=title, values=shown.values, width=width) for width in (440, PHONE)]


def _path(improvement: Improvement, levels: Mapping[str, int], tried: Tried) -> list[Chart] | None:
    steps = path(improvement, levels)
    if not steps or not improvement.prepared.base.n_members:
        return None
    names = [words.plain(name) or "raw" for name, _ in steps]
    people = [n for _, n in steps]
    if people[-1] and tried.k is not None:
        names, people = [*names, "left out"], [*people, 0]
    asked = max(improvement.policy.smallest_class, 2)
    total, title, y = improvement.prepared.base.n_members, "From raw to safe", f"people in groups under {asked:,}"
    return [rising(names, people, total, title=title, y=y, joined="", width=width) for width in (340, PHONE - 88)]


def left_out_words(n: int) -> str:
    """
    >>> left_out_words(0), left_out_words(1), left_out_words(1200)
    ('Nobody is left out.', '1 person is left out.', '1,200 people are left out.')
    """
    return f"{words.people(n)} {'is' if n == 1 else 'are'} left out." if n else "Nobody is left out."


def _say_verdict(improvement: Improvement, tried: Tried) -> tuple[str, str]:
    """The verdict in a sentence."""
    if tried.met:
        return f"Everyone hides among at least {tried.k:,}.", left_out_words(tried.suppressed)
    if tried.k is None:
        return "Not yet: nobody would be left.", f"Everybody is in a group smaller than {improvement.policy.smallest_class:,}."
    if not tried.suppress_met:
        return f"Not yet: {percent(tried.left_out)} would be left out.", f"You allow {percent(improvement.policy.suppress)}."
    if not tried.loss_met:
        who = "Shoal allows" if improvement.policy.loss_limit is None else "You allow"
        return f"Not yet: {percent(tried.loss)} of the detail would be lost.", f"{who} {percent(tried.loss_limit)}."
    failed = next(v for v in tried.verdicts if not v.met)
    return "Not yet:", failed.sentence


def cells(
    policy: Policy, k: tuple[int | None, bool], loss: tuple[float, float | None, bool], out: tuple[float, int, bool]
) -> list[dict[str, Any]]:
    """The verdict in three cells: smallest group, detail lost (and its limit, if one is asked), left out; each whether met."""
    smallest, asked = "none" if k[0] is None else f"{k[0]:,}", f"asked {max(policy.smallest_class, 2):,}"
    limit = f"loss {loss[0]:.3f}" if loss[1] is None else f"allowed {percent(loss[1])}"
    content = (
        ("Smallest group", asked, smallest, "people", k[1], "under"),
        ("Detail lost", limit, percent(loss[0]), "", None if loss[1] is None else loss[2], "over"),  # nothing asked, nothing met
        ("Left out", f"allowed {percent(policy.suppress)}", percent(out[0]), words.people(out[1]), out[2], "over"),
    )
    return [dict(zip(("name", "asked", "value", "unit", "met", "word"), cell, strict=True)) for cell in content]


def _cells(improvement: Improvement, tried: Tried) -> list[dict[str, Any]]:
    k = tried.k is not None and tried.k >= max(improvement.policy.smallest_class, 2)
    limit = tried.loss_limit if improvement.policy.loss_limit is not None or not tried.loss_met else None
    out = (tried.left_out, tried.suppressed, tried.suppress_met)
    return cells(improvement.policy, (tried.k, k), (tried.loss, limit, tried.loss_met), out)


def _ways(improvement: Improvement, levels: Mapping[str, int]) -> list[dict[str, Any]]:
    out: list[dict[str, Any]] = []
    for way in ways(improvement, levels):
        if way.column:
            top = improvement.heights[way.column]
            level = "hidden" if way.level == top else f"level {way.level} of {top}"
            sentence = f"{words.plain(way.column)}: {level}"
            out.append({"column": way.column, "level": way.level, "words": sentence})
        else:
            out.append({"column": None, "suppress": way.suppress, "words": f"Allow {percent(way.suppress)} left out"})
        out[-1] |= {"loss": way.tried.loss, "cost": f"{percent(way.tried.left_out)} out"}
    return out


def _stops(improvement: Improvement, name: str, level: int) -> dict[str, Any]:
    """A column's levels: what each does to the one before, in full and as a short name below its stop."""
    previews, top = improvement.shown(name), improvement.heights[name]
    raw, total, kept = previews[0], previews[-1].largest, dict.fromkeys(("label", "short"), "as it is")
    stops: list[dict[str, Any]] = [{"level": 0, **kept, "groups": f"{raw.groups:,}", "bar": bar(raw, total)}]
    for before, p in pairwise(previews):
        label, short = "hidden", "hidden"
        if p.level < top:
            known = {label for label, _ in before.shown}
            new = next((label for label, _ in p.shown if label not in known and label not in REST), "")
            merged = p.groups < before.groups
            label = f"{before.groups:,} → {p.groups:,}: {new or 'rare values merged'}" if merged else "nothing merges"
            short = (new or "rare merged") if merged else "no change"
        groups = f"{before.groups:,} → {p.groups:,}"
        stops.append({"level": p.level, "label": label, "short": short, "groups": groups, "bar": bar(p, total)})
    shown = {"label": stops[level]["label"], "bar": stops[level]["bar"]}
    return {"height": top, "after": previews[level].groups, "stops": stops, **shown}


def bar(p: LevelPreview, total: int) -> str:
    """The path of a bar of 60 × 6: the largest groups of a level side by side, each as wide as its share of all records.

    >>> bar(LevelPreview(1, 3, 1, 6, 1, (("a", 6), ("b", 3))), 10)
    'M0 0h35v6h-35zM36 0h17v6h-17z'
    """
    ends = np.cumsum([0, *(60 * n / max(total, 1) for _, n in p.shown)])
    return "".join(f"M{a:.3g} 0h{b - a - 1:.3g}v6h-{b - a - 1:.3g}z" for a, b in pairwise(ends.tolist()) if b - a > 1.5)
