"""Find the plan that loses least: optimal full-domain, local (multidimensional) and probabilistic searches.

Everything here works on ``ClassCounts`` and hierarchies; no engine, no rows. Names load on first use.
"""

from __future__ import annotations

import importlib
from typing import Any

_WHERE = {
    "lattice": "shoal.search.full_domain",
    "frontier": "shoal.search.trade_off",
    "datafly": "shoal.search.classic",
    "incognito": "shoal.search.classic",
    "ola": "shoal.search.classic",
    "local": "shoal.search.multidimensional",
    "loss_at": "shoal.search.plan_loss",
    "allocation": "shoal.search.probabilistic",
    "Allocation": "shoal.search.probabilistic",
    "FrontierPoint": "shoal.search.trade_off",
    "LocalResult": "shoal.search.multidimensional",
    "SearchResult": "shoal.search.result",
    "Alternative": "shoal.search.result",
    "missing_label": "shoal.search.problem",
}

__all__ = sorted(_WHERE)


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'shoal.search' has no attribute '{name}'")
    value = getattr(importlib.import_module(_WHERE[name]), name)
    globals()[name] = value
    return value
