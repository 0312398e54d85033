"""Before anything is written: do people whose records stay linked share the whole set of their classes with enough others?"""

from __future__ import annotations

from collections import Counter

import numpy as np

from shoal.errors import InfeasibleError
from shoal.kernels.group import group_codes
from shoal.kernels.people import memberships
from shoal.release.make.recode import published_unit
from shoal.release.plan.prepare import Prepared, without_unit
from shoal.release.plan.published_classes import Decision


def check_links(prepared: Prepared, decision: Decision) -> None:
    """Refuse a plan that publishes the person column and leaves fewer than k people with the same records in the same classes."""
    unit, k = published_unit(prepared, decision.plan), prepared.policy.smallest_class
    if unit is None:
        return
    alike = people_alike(prepared, decision, unit)
    few = sum(n for n in alike if n < k)
    if few:
        raise InfeasibleError(
            f"people with several records stay linked: as few as {min(alike)} have the same number of records in the same "
            f"classes, {k} are asked. {few:,} of {sum(alike):,} people share theirs with too few.",
            hint="Publish the unit as 'drop', so that records of a person are not linked; or leave these people out "
            "first; or give each a pseudonym that is renewed (shoal vault domain add --renew-uses 1).",
        )


def people_alike(prepared: Prepared, decision: Decision, unit: str) -> list[int]:
    """The sizes of the groups of people who have the same number of published records in the same published classes."""
    base = prepared.base
    pairs = without_unit(prepared.counted).count((unit, *base.columns))
    where = memberships(pairs, base)
    classes = group_codes(list(decision.codes), n_rows=base.n_classes).ids.astype(np.int64)
    gone = ~decision.stays[where.classes]
    number = np.where(gone, -1, classes[where.classes])
    records: dict[int, Counter[int]] = {}
    for person, klass, n in zip(where.people.tolist(), number.tolist(), pairs.sizes.tolist(), strict=True):
        if klass >= 0 or prepared.policy.scope == "cells":
            records.setdefault(person, Counter())[klass] += n
    return list(Counter(frozenset(r.items()) for r in records.values()).values())
