"""What happened to each column of the input, line by line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from shoal.model.certificate.parts import Column
from shoal.model.plan import Step
from shoal.release.certificate.derived import GUESSED
from shoal.release.certificate.magnitude import magnitude
from shoal.release.plan.prepare import Prepared
from shoal.release.plan.published_classes import Decision
from shoal.steps import Drop, Keep


def columns_of(prepared: Prepared, decision: Decision, changed: Mapping[str, float]) -> tuple[Column, ...]:
    """One line per column of the input: role, treatment, level, share of cells changed."""
    policy, out = prepared.policy, list[Column]()
    for column in prepared.schema.columns:
        name = column.name
        steps = decision.plan.for_column(name)
        if name in policy.quasi:
            out.append(_generalized(prepared, decision, name, changed.get(name)))
            continue
        role = prepared.schema.roles.get(name)
        word = role.value if role else ("unit" if name == policy.unit else "weight")
        treatment = treatment_of(steps)
        why = magnitude(prepared, steps[0]) if treatment not in ("removed", "retained") else ""
        kind, share = column.kind, changed.get(name)
        out.append(Column(name=name, role=word, kind=kind, treatment=treatment, changed=share, why=why))
    return tuple(out)


def _generalized(prepared: Prepared, decision: Decision, name: str, changed: float | None) -> Column:
    j = prepared.base.column(name)
    level, height = decision.levels.get(name), prepared.hierarchies[name].height
    return Column(
        name=name,
        role="quasi",
        kind=prepared.schema[name].kind,
        treatment=generalized(level, height),
        level=level,
        height=height,
        changed=changed,
        values_before=prepared.n_values(name),
        values_after=len(np.unique(decision.released.codes[j])),
        why=f"{GUESSED}{prepared.inferred[name]}" if name in prepared.inferred else "hierarchy as given",
    )


def treatment_of(steps: Sequence[Step]) -> str:
    """What the steps of a column that is not a quasi-identifier do to it, in one word."""
    if any(isinstance(s, Drop) for s in steps):
        return "removed"
    return "retained" if not steps or isinstance(steps[0], Keep) else steps[0].kind


def generalized(level: int | None, height: int) -> str:
    """What a level does to a quasi-identifier, in words; without one the groups differ from class to class."""
    if level == 0:
        return "retained"
    return "generalized" if level is None or level < height else "generalized to one group"
