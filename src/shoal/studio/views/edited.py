"""The editor of levels: what a column's levels look like now, and which values may be named."""

from __future__ import annotations

from typing import Any

from shoal.api.improvement import Improvement
from shoal.studio.levels.groups import MOST

SHOWN = 12


def levels(found: Improvement, column: str) -> dict[str, Any]:
    """Every level with its groups, and the values that enough records have, in order of their text."""
    previews = found.shown(column)
    top = found.heights[column]
    named = values(found, column)
    return {
        "levels": [
            {
                "level": p.level,
                "hidden": p.level == top,
                "groups": p.groups,
                "smallest": p.smallest if p.smallest >= found.policy.cells.minimum else None,
                "small": p.below_k,
                "shown": [{"label": label, "n": n} for label, n in p.shown[:SHOWN]],
                "more": max(0, p.groups - p.below_k - SHOWN),
            }
            for p in previews
        ],
        "values": named if len(named) <= MOST else [],
        "not_named": previews[0].below_k,
        "least": found.policy.cells.minimum,
    }


def values(found: Improvement, column: str) -> list[tuple[str, int]]:
    """The values that may be named, with their records, in order of their text."""
    return sorted(found.named_values(column))


def rows(found: Improvement, column: str) -> list[list[str]]:
    """A file of the levels (value; level 1; …): values that too few have are one line of stars."""
    named = {label for label, _ in values(found, column)}
    hierarchy = found.prepared.hierarchies[column]
    out = []
    for i, leaf in enumerate(hierarchy.leaves):
        if leaf in named:
            out.append([str(level.labels[level.groups[i]]) for level in hierarchy.levels])
    if len(out) < len(hierarchy.leaves):
        out.append(["*"] * len(hierarchy.levels))
    return out
