"""What happened to each column of the input, line by line."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from shoal.model.certificate.parts import Column
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
        treatment, why = "removed" if any(isinstance(s, Drop) for s in steps) else "retained", ""
        if steps and not isinstance(steps[0], Keep | Drop):
            treatment, why = steps[0].kind, magnitude(prepared, steps[0])
        kind, share = column.kind, changed.get(name)
        out.append(Column(name=name, role=word, kind=kind, treatment=treatment, changed=share, why=why))
    return tuple(out)


def _generalized(prepared: Prepared, decision: Decision, name: str, changed: float | None) -> Column:
    j = prepared.base.column(name)
    level, height = decision.levels.get(name), prepared.hierarchies[name].height
    treatment = "retained" if level == 0 else "generalized" if level is None or level < height else "generalized to one group"
    return Column(
        name=name,
        role="quasi",
        kind=prepared.schema[name].kind,
        treatment=treatment,
        level=level,
        height=height,
        changed=changed,
        values_before=len(np.unique(prepared.base.codes[j])),
        values_after=len(np.unique(decision.released.codes[j])),
        why=f"guessed hierarchy: {prepared.inferred[name]}" if name in prepared.inferred else "hierarchy as given",
    )
