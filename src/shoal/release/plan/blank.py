"""How much of a release is blank: cells of quasi-identifiers that tell nothing any more.

A cell is blank where the whole domain is published in its place (``*``), and everywhere in a column of which the published
records hold one value. Not counted are columns that held one value before, columns whose level the policy fixes (it asks for what
they become), and records left out or blanked as suppressed: how many there may be is another limit (``allow: {suppress: …}``).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from shoal.model.counts.classes import IntArray
from shoal.release.plan.prepare import Prepared
from shoal.release.plan.published_classes import Decision, Shown


def blank_shares(prepared: Prepared, decision: Decision) -> dict[str, float]:
    """Share of blank cells among the published records, by quasi-identifier that is judged."""
    base = prepared.base
    out = {}
    for j, name in enumerate(base.columns):
        if prepared.n_values(name) < 2 or _fixed(prepared, name):
            continue
        top = prepared.hierarchies[name].levels[-1].labels[0]
        shown = shown_records(prepared, decision, j)
        blank = np.array([label == top for label in (None, *decision.labels[j])])
        one = int(np.count_nonzero(shown)) == 1
        out[name] = 1.0 if one else float(shown[blank].sum() / shown.sum())
    return out


def shown_records(prepared: Prepared, decision: Decision | Shown, j: int) -> IntArray:
    """Published records with each label of the j-th quasi-identifier, those with a missing value first."""
    base = prepared.base
    kept = np.where(decision.stays, base.sizes if base.records is None else base.records, 0)
    return np.bincount(decision.codes[j] + 1, weights=kept, minlength=len(decision.labels[j]) + 1).astype(np.int64)


def _fixed(prepared: Prepared, name: str) -> bool:
    rule, height = prepared.policy.quasi[name], prepared.hierarchies[name].height
    lowest = (rule.min_level or 0) if prepared.coarser is None else prepared.coarser.asked[name]
    return lowest >= (height if rule.max_level is None else rule.max_level)


def wholly(shares: Mapping[str, float]) -> tuple[str, ...]:
    """The columns that are blank in every record."""
    return tuple(name for name, share in shares.items() if share == 1.0)


def mean_share(shares: Mapping[str, float]) -> float:
    """Share of all cells that are blank; 0 where no column held several values."""
    return sum(shares.values()) / len(shares) if shares else 0.0
