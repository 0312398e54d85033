"""The safe-harbor list, held against a plan: identifiers gone, places, dates and ages coarse enough.

The list itself is :mod:`shoal.transform.safe_harbor`. A column that it would remove must be a direct identifier; a
quasi-identifier must be published at least as coarsely as it asks; any other column of the list gets the list's own step.
"""

from __future__ import annotations

from shoal.errors import PolicyError
from shoal.model.plan import Step
from shoal.release.plan.prepare import Prepared
from shoal.steps import Drop


def safe_harbor_steps(prepared: Prepared) -> dict[str, Step]:
    """Steps that the list asks for, by column, for all columns that it touches and that are not removed."""
    from shoal.transform.safe_harbor import safe_harbor

    policy = prepared.policy
    found = safe_harbor(prepared.schema, reference=str(policy.about.get("date", "")))
    out = {}
    for step in found.steps:
        name = step.column
        if name in policy.direct or (name == policy.unit and policy.publish_unit == "drop"):
            continue
        if isinstance(step, Drop):
            raise PolicyError(
                f"column '{name}' looks like '{found.items[name]}', which the safe-harbor list removes, but it is not direct.",
                hint=f"Move '{name}' under roles.direct, or rename the column if the guess is wrong.",
                column=name,
            )
        out[name] = step
    return out


def check_coarse(prepared: Prepared, steps: dict[str, Step], planned: tuple[Step, ...]) -> None:
    """Refuse a plan that tells apart values which the list joins."""
    from shoal.kernels.text import canonical_text
    from shoal.steps import evaluate

    for j, name in enumerate(prepared.base.columns):
        if name not in steps:
            continue
        texts = canonical_text(prepared.base.categories[j]).to_pylist()
        asked = evaluate(steps[name], texts).texts()
        given = next(s for s in planned if s.column == name)
        label_of: dict[str, str] = {}
        for want, have in zip(asked, evaluate(given, texts).texts(), strict=True):
            if label_of.setdefault(want, have) != have:
                raise PolicyError(
                    f"column '{name}' would be published finer than the safe-harbor list allows.",
                    hint=f"Give '{name}' a hierarchy with the list's groups (dates: years; ZIP: three digits; ages: 90 and over "
                    "in one) and a min_level.",
                    column=name,
                )
