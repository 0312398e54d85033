"""Hierarchies of the sensitive columns whose closeness is asked for by the hierarchical distance."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shoal.errors import PolicyError
from shoal.model.counts.classes import ClassCounts
from shoal.model.requirement import TCloseness

if TYPE_CHECKING:
    from shoal.model.hierarchy import Hierarchy
    from shoal.release.policy.policy import Policy


def sensitive_trees(policy: Policy, base: ClassCounts) -> dict[str, Hierarchy]:
    """The hierarchy of each such column, over the values at hand; a column without one is refused."""
    from shoal.hierarchies import from_policy

    out = {}
    for name in policy.sensitive:
        close = policy.asked_of(name, TCloseness)
        if close is None or close.distance != "hierarchical":
            continue
        asked, inside = policy.sensitive[name], base.sensitive[name]
        if asked is None:
            raise PolicyError(
                f"closeness of '{name}' by the hierarchical distance needs a hierarchy of that column.",
                hint=f"Write roles: {{sensitive: {{{name}: {{hierarchy: FILE}}}}}}, or use distance: equal.",
            )
        counts = np.bincount(inside.values[inside.values >= 0], minlength=len(inside.categories)).astype(np.int64)
        out[name] = (
            from_policy(asked, policy.folder or ".").fit(name, inside.categories, counts).over(name, inside.categories, counts)
        )
    return out
