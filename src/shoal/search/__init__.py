"""Find the plan that loses least: optimal full-domain, local (multidimensional) and probabilistic searches.

Everything here works on ``ClassCounts`` and hierarchies; no engine, no rows. Names load on first use.
"""

from __future__ import annotations

import importlib
from typing import Any

_WHERE = {
    "lattice": "shoal.search.full_domain.lattice",
    "frontier": "shoal.search.full_domain.lattice",
    "local": "shoal.search.local_recoding.local",
    "loss_at": "shoal.search.full_domain.lattice",
    "allocation": "shoal.search.probabilistic",
    "Allocation": "shoal.search.probabilistic",
    "FrontierPoint": "shoal.search.full_domain.lattice",
    "LocalResult": "shoal.search.local_recoding.local",
    "SearchResult": "shoal.search.problem.search_result",
    "Alternative": "shoal.search.problem.search_result",
    "missing_label": "shoal.search.problem.column",
}

__all__ = sorted(_WHERE)


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'shoal.search' has no attribute '{name}'")
    value = getattr(importlib.import_module(_WHERE[name]), name)
    globals()[name] = value
    return value
