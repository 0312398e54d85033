"""Improve: the verdict of some levels, a slider per column, ways out; from counts."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from shoal.api.improvement import Improvement, Tried, effect, path, ways
from shoal.hierarchies.published_labels import REST
from shoal.kernels.group import group_codes
from shoal.report.charts import Chart, before_after, rising
from shoal.report.numbers import number, percent
from shoal.studio import words

ROWS = 5
"""Published rows that are shown."""


def heights(found: Improvement) -> dict[str, int]:
    return found.heights


def meanings(found: Improvement) -> dict[str, str]:
    """A digest of what each column's levels are: two pages that show the same one mean the same by a level's number."""
    return {name: hashlib.sha256(repr(found.shown(name)).encode("utf-8")).hexdigest()[:12] for name in found.heights}


def guessed(found: Improvement) -> dict[str, dict[str, Any]]:
    """The guessed levels, as a policy states them."""
    return found.guessed


def met(found: Improvement, levels: Mapping[str, int]) -> bool:
    return found.at(levels).met


def shown(found: Improvement, levels: Mapping[str, int]) -> dict[str, Any]:
    """The verdict of these levels, the sliders and who is left out: what a moved slider changes."""
    tried = found.at(levels)
    held = [v.met for v in tried.verdicts] + [tried.suppress_met]
    if found.policy.loss_limit is not None or not tried.loss_met:
        held.append(tried.loss_met)
    return {
        "tried": {"met": tried.met, "suppressed": tried.suppressed},
        "said": _said(found, tried),
        "met_count": (sum(held), len(held)) if tried.k is not None else (0, len(found.policy.requirements) + 1),
        "cells": _cells(found, tried),
        "stops": {name: _stops(found, name, level) for name, level in levels.items()},
        "asked_k": max(found.policy.smallest_class, 2),
        "asked_out": f"{100 * found.policy.suppress:g}",
        "lost": [
            {"column": g.column, "group": g.group, "suppressed": g.suppressed, "share": g.share} for g in found.left_out(tried)
        ],
        "least": found.policy.cells.minimum,
        "verdicts": [
            {"met": v.met, "sentence": v.sentence, "found": None if v.found is None else number(v.found)} for v in tried.verdicts
        ],
    }


def compared(found: Improvement, plans: Sequence[Mapping[str, int]]) -> list[tuple[str, list[dict[str, Any]]]]:
    """For each column what every plan makes of it: a label of its level, and how many values are left."""
    out = []
    for name in found.heights:
        cells = []
        for levels in plans:
            told = _stops(found, name, levels[name])
            cells.append({"label": told["label"], "level": levels[name], "height": told["height"], "groups": told["after"]})
        out.append((name, cells))
    return out


def more(found: Improvement, levels: Mapping[str, int], column: str) -> dict[str, Any]:
    """What may come a moment later: ways out, the path from raw to safe, one column before and after."""
    tried = found.at(levels)
    name = column if column in found.heights else _most_changed(found, levels)
    return {
        "ways": [] if tried.met else _ways(found, levels),
        "path": _path(found, levels, tried),
        "effect_of": name,
        "effect": _effect(found, name, tried),
        "rows": _rows(found, tried) if tried.met else [],
    }


def _rows(found: Improvement, tried: Tried) -> list[dict[str, Any]]:
    """Five rows as they would be published, from the largest to the smallest group; each group is as large as was asked."""
    assert tried.shown is not None
    pick = np.flatnonzero(tried.shown.stays)
    groups = group_codes([codes[pick] for codes in tried.shown.codes])
    sizes = np.bincount(groups.ids, weights=found.prepared.base.sizes[pick], minlength=groups.n).astype(np.int64)
    order = np.argsort(-sizes, kind="stable")
    values = [[*labels, "missing"] for labels in tried.shown.labels]  # code −1 is the last
    out = []
    for group in order[np.unique(np.linspace(0, groups.n - 1, ROWS).astype(int))]:
        at = pick[groups.first[group]]
        row = [named[codes[at]] for named, codes in zip(values, tried.shown.codes, strict=True)]
        out.append({"people": int(sizes[group]), "cells": row})
    return out


def _most_changed(found: Improvement, levels: Mapping[str, int]) -> str:
    """The generalized column with most values; if none is generalized, the column with most values."""
    return max(levels, key=lambda c: (levels[c] > 0, found.shown(c)[0].groups))


def _effect(found: Improvement, name: str, tried: Tried) -> Chart:
    told = effect(found, name, tried)
    return before_after(told.before, told.after, title=f"{words.plain(name)}, before and after", values=told.values)


def _path(found: Improvement, levels: Mapping[str, int], tried: Tried) -> Chart | None:
    steps = path(found, levels)
    if not steps or not found.prepared.base.n_members:
        return None
    names = [words.plain(name) or "raw" for name, _ in steps]
    people = [n for _, n in steps]
    if people[-1] and tried.k is not None:
        names, people = [*names, "left out"], [*people, 0]
    asked = max(found.policy.smallest_class, 2)
    y = f"people in groups under {asked:,}"
    return rising(names, people, found.prepared.base.n_members, title="From raw to safe", y=y, joined="", width=340)


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
    limited = found.policy.loss_limit is not None or not tried.loss_met  # nothing asked, nothing met
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
            "asked": f"allowed {percent(tried.loss_limit)}" if limited else f"loss {tried.loss:.3f}",
            "value": percent(tried.loss),
            "unit": "",
            "met": tried.loss_met if limited else None,
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


def _ways(found: Improvement, levels: Mapping[str, int]) -> list[dict[str, Any]]:
    out: list[dict[str, Any]] = []
    for way in ways(found, levels):
        if way.column:
            top = found.heights[way.column]
            said = "hidden" if way.level == top else f"level {way.level} of {top}"
            told = f"{words.plain(way.column)}: {said}"
            out.append({"column": way.column, "level": way.level, "words": told})
        else:
            out.append({"column": None, "suppress": way.suppress, "words": f"Allow {percent(way.suppress)} left out"})
        out[-1] |= {"loss": way.tried.loss, "cost": f"{percent(way.tried.left_out)} out"}
    return out


def _stops(found: Improvement, name: str, level: int) -> dict[str, Any]:
    """A column's levels: what each does to the one before, in full and as a short name below its stop."""
    previews, top = found.shown(name), found.heights[name]
    stops: list[dict[str, Any]] = [{"level": 0, "label": "as it is", "short": "as it is"}]
    for before, p in pairwise(previews):
        label, short = "hidden", "hidden"
        if p.level < top:
            known = {label for label, _ in before.shown}
            new = next((label for label, _ in p.shown if label not in known and label not in REST), "")
            merged = p.groups < before.groups
            label = f"{before.groups:,} → {p.groups:,}: {new or 'rare values merged'}" if merged else "nothing merges"
            short = (new or f"{p.groups:,} values") if merged else "no change"
        stops.append({"level": p.level, "label": label, "short": short})
    return {"height": top, "after": previews[level].groups, "stops": stops, "label": stops[level]["label"]}
