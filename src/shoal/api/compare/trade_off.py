"""How much does a larger k cost on this table? The least loss at a few k, or why it is not known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from shoal.api.compare.result import FrontierPoint
from shoal.engines.table import Table
from shoal.model.hierarchy import Hierarchy
from shoal.release.plan.prepare import guessed_rule
from shoal.search import frontier

KS = (2, 3, 5, 10, 20, 50)
SECONDS = 15.0
"""Time that the search may take; what it found by then is shown."""
MOST_CLASSES = 300_000


def trade_off(
    table: Table, quasi: Sequence[str], trees: Mapping[str, Hierarchy], suppress: float
) -> tuple[tuple[FrontierPoint, ...], str]:
    """Points of the frontier, k by k, and in words what is missing of it."""
    if not quasi:
        return (), "no quasi-identifiers are named (--quasi a,b), so there is no k to trade."
    counts = table.count(tuple(quasi))
    if counts.n_classes > MOST_CLASSES:
        return (), f"the original has {counts.n_classes:,} classes; it is drawn up to {MOST_CLASSES:,}."
    levels = {}
    for j, name in enumerate(counts.columns):
        own = trees.get(name)
        here = counts.codes[j] >= 0
        values = counts.categories[j]
        seen = np.bincount(counts.codes[j][here], weights=counts.sizes[here], minlength=len(values)).astype(np.int64)
        levels[name] = own or guessed_rule(table.schema[name], values, seen, k=min(KS)).over(name, values, seen)
    ks = [k for k in KS if k <= counts.n_members]
    found = frontier(counts, levels, ks=ks, suppress=(suppress,), time_budget=SECONDS)
    points = tuple(FrontierPoint(p.k, p.loss) for p in found if p.loss is not None)
    if len(found) < len(ks):
        return points, f"the search was stopped after {SECONDS:g} seconds; larger k are not shown."
    missing = [p.k for p in found if p.loss is None]
    return points, f"no plan reaches k = {missing[0]:,} within the records left out here." if missing else ""
