"""The safe-harbor list, held against a plan: identifiers gone, places, dates and ages coarse enough.

The steps are those of :mod:`shoal.techniques.safe_harbor`. A column that the list would remove must be a direct identifier; a
quasi-identifier must be published at least as coarsely as the list asks; any other column of the list gets the list's own step.
A person may state, with a reason, that a column is none of the eighteen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.errors import DataError, PolicyError, UsageError
from shoal.find.safe_harbor import column_names as words
from shoal.find.safe_harbor.classes import Classed
from shoal.kernels.text import canonical_text
from shoal.model.plan import Step
from shoal.model.roles import Column
from shoal.release.certificate.sentences import today
from shoal.release.gate.on_list import OnList
from shoal.steps import Drop, evaluate

if TYPE_CHECKING:
    from shoal.release.plan.prepare import Prepared


def safe_harbor_steps(prepared: Prepared) -> dict[str, Step]:
    """Steps that the list asks for, by column, for all columns that it touches and that are not removed."""
    policy, out = prepared.policy, {}
    for name, one in prepared.on_list.items():
        if policy.direct.get(name) == "drop" or (name == policy.unit and policy.publish_unit == "drop") or one.reason:
            continue
        if name in policy.direct or name == policy.unit:
            raise _derived(name)
        if not one.why:
            continue
        step = None if one.classed.kind == "remove" else _step(prepared, prepared.schema[name], one.classed)
        if step is None and (one.classed.kind == "remove" or name not in policy.quasi):
            raise _refused(name, one, one.why)
        if step is not None:
            out[name] = step
    return out


def _step(prepared: Prepared, column: Column, classed: Classed) -> Step | None:
    """The list's own step for a column; None where it has none that keeps something."""
    from shoal.techniques.safe_harbor import ITEMS, step_for

    texts = [v for v in canonical_text(prepared.table.values(column.name)[0]).to_pylist() if v is not None]
    if classed.kind == "zip" and all(len(v) <= 3 for v in texts):
        return None  # areas already: what is too small among them only a person can join
    if classed.kind == "age" and words.per_year(column.name) != 1:
        return None
    name = {"year": "birth"}.get(classed.kind, classed.kind)
    item = next(i for i in ITEMS if i.name == name)
    try:
        step = step_for(column, item, reference=today(prepared.policy.about.get("date")))
        if isinstance(step, Drop):
            return None
        kept = any(label not in (None, "*") for label in evaluate(step, texts).texts())
    except (UsageError, DataError):
        return None
    return step if kept else None


def _refused(name: str, one: OnList, why: str) -> PolicyError:
    asks = "removes, but it is not direct" if one.classed.kind == "remove" else "makes coarser, but not in this spelling"
    return PolicyError(
        f"column '{name}' looks like '{one.classed.title}' ({one.classed.evidence}), which the safe-harbor list {asks}: {why}.",
        hint=f"Move '{name}' under roles.direct. If it is none of the eighteen, say why: "
        f"allow: {{none_of_the_eighteen: {{{name}: the reason}}}}",
        column=name,
    )


def _derived(name: str) -> PolicyError:
    return PolicyError(
        f"pseudonyms of column '{name}' would be published: the safe-harbor list allows no code that is derived from information "
        "about the person (45 CFR 164.514(c)).",
        hint=f"Publish '{name}' as 'drop'. If its values are codes that were drawn at random, say so: "
        f"allow: {{none_of_the_eighteen: {{{name}: the reason}}}}",
        column=name,
    )


def check_coarse(prepared: Prepared, steps: dict[str, Step], planned: tuple[Step, ...]) -> None:
    """Refuse a plan that tells apart values which the list joins. A local recoding has no steps: its file is looked at."""
    for name in prepared.base.columns:
        given = next((s for s in planned if s.column == name), None)
        if name not in steps or given is None:
            continue
        texts = canonical_text(prepared.values(name)).to_pylist()
        asked = evaluate(steps[name], texts).texts()
        label_of: dict[str, str] = {}
        for want, have in zip(asked, evaluate(given, texts).texts(), strict=True):
            if label_of.setdefault(want, have) != have:
                raise finer(name, "it separates what the list merges")


def finer(name: str, why: str) -> PolicyError:
    """The error for a column that would be published in more detail than the list allows."""
    return PolicyError(
        f"column '{name}' would be published finer than the safe-harbor list allows: {why}.",
        hint=f"Give '{name}' a hierarchy with the list's groups (dates: years; ZIP: three digits; ages: 90 and over in one) and "
        f"a min_level, or move it under roles.direct. If it is none of the eighteen: "
        f"allow: {{none_of_the_eighteen: {{{name}: the reason}}}}",
        column=name,
    )
