"""Who was left out: the published groups that lost the largest share of their records, under the small-cell rule."""

from __future__ import annotations

import numpy as np

from shoal.kernels.group import sum_by
from shoal.model.certificate.parts import LostGroup
from shoal.model.display import written
from shoal.release.plan.loss_limits import shown_records
from shoal.release.plan.prepare import Prepared
from shoal.release.plan.published_classes import Decision, Shown

MOST_LINES = 8
NOT_NAMED = "(groups that are not named)"


def lost_groups(prepared: Prepared, decision: Decision | Shown) -> tuple[LostGroup, ...]:
    """The published groups that lost the largest share of their records, under the small-cell rule.

    A group is named only where enough of its records are published and enough were left out; its records are the published ones.
    What other groups of the column lost is added up in one line, and where that is a small number, more groups are taken into it:
    no small count follows by subtraction.
    """
    if decision.stays.all() or not decision.codes:
        return ()
    base, least = prepared.base, prepared.policy.cells.minimum
    out = np.flatnonzero(~decision.stays)
    gone = (base.sizes if base.records is None else base.records)[out]
    found: list[tuple[float, LostGroup]] = []
    for j, name in enumerate(base.columns):
        labels = decision.labels[j]
        shown = shown_records(prepared, decision, j)  # the first is the missing value, here too:
        lost = sum_by(decision.codes[j][out] + 1, gone, len(labels) + 1)
        large = np.flatnonzero((shown >= least) & (lost >= least))
        named = [(int(lost[i]), int(shown[i]), "missing" if i == 0 else str(labels[i - 1])) for i in large]
        rest = int(gone.sum()) - sum(left for left, _, _ in named)
        named.sort()
        while named and 0 < rest < least:
            rest += named.pop(0)[0]
        found += [(left / (there + left), _group(name, label, there, left)) for left, there, label in named]
        if rest >= least:
            found.append((0.0, LostGroup(name, NOT_NAMED, "", rest, "")))
    found.sort(key=lambda f: (-f[0], f[1].column, f[1].group))
    return tuple(line for _, line in found[:MOST_LINES])


def _group(column: str, label: str, shown: int, lost: int) -> LostGroup:
    """One line of :func:`lost_groups`."""
    return LostGroup(column, label, shown, lost, f"{written(100 * lost / (shown + lost), 3)} %")
