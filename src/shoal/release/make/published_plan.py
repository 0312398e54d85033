"""The plan as a release shows it: without the seed, and without values that only few published people have.

A value map lists values of the original beside their published labels. A value that nobody published has, or only few, would tell
that somebody in the original has it; so such values are omitted, and labels that no record shows with them. Anyone who carries the
published plan out on another table gets ``*`` for them. The owner keeps the whole plan in the private file beside the folder.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from shoal.kernels.group import group_codes
from shoal.kernels.text import canonical_text
from shoal.model.plan import Plan, Step
from shoal.release.plan.coarser_start import rare_in_groups
from shoal.release.plan.prepare import Prepared
from shoal.release.plan.published_classes import Decision, at_level
from shoal.steps import MapValues


def published_plan(prepared: Prepared, decision: Decision) -> Plan:
    """The plan of a decision without its seed and without rare values; the same steps where nothing is left out."""
    steps = tuple(_pruned(s, prepared, decision) if isinstance(s, MapValues) else s for s in decision.plan.steps)
    return replace(decision.plan, steps=steps).without_seed()


def leaves_out(prepared: Prepared, decision: Decision) -> bool:
    """Whether the published plan lacks values that the whole plan has."""
    return published_plan(prepared, decision).steps != decision.plan.steps


def _pruned(step: MapValues, prepared: Prepared, decision: Decision) -> Step:
    if step.column not in prepared.base.columns:
        return step
    common = _common(prepared, decision, step.column)
    kept = [i for i, key in enumerate(step.keys) if key in common or _number(key) in common]
    if len(kept) == len(step.keys):
        return step
    used = sorted({step.targets[i] for i in kept})
    place = {old: new for new, old in enumerate(used)}
    return replace(
        step,
        keys=tuple(step.keys[i] for i in kept),
        targets=tuple(place[step.targets[i]] for i in kept),
        labels=tuple(step.labels[t] for t in used),
        on_gap="suppress" if step.on_gap == "error" else step.on_gap,
    )


def _common(prepared: Prepared, decision: Decision, column: str) -> set[str | float]:
    """Values that enough published people have: as text, and as a number where the column holds floats."""
    j = prepared.base.column(column)
    counts = _people_with(prepared, decision, j)
    if prepared.coarser is not None and prepared.coarser.levels[column]:
        counts = rare_in_groups(prepared.coarser, prepared.hierarchies[column], column, _gone(prepared, decision, j))
    texts = canonical_text(prepared.values(column)).to_pylist()
    found = [t for t, n in zip(texts, counts, strict=True) if n >= prepared.policy.cells.minimum]
    return {*found, *(_number(t) for t in found)} if prepared.schema[column].kind == "float" else set(found)


def _people_with(prepared: Prepared, decision: Decision, j: int) -> npt.NDArray[np.int64]:
    """Published people (records, without a person column) with each value of the j-th quasi-identifier."""
    base = prepared.base
    if prepared.people is not None:  # some people are in several classes: each counts once
        codes, (classes, person) = base.codes[j], prepared.people
        there = decision.stays[classes] & (codes[classes] >= 0)
        codes = codes[classes][there]
        once = group_codes([codes, person[there]]).first
        return np.bincount(codes[once], minlength=len(base.categories[j])).astype(np.int64)
    out = np.flatnonzero(~decision.stays)
    gone = np.bincount(base.codes[j][out] + 1, weights=base.sizes[out], minlength=len(base.categories[j]) + 1)
    return (prepared.members(base.columns[j]) - gone.astype(np.int64))[1:]


def _gone(prepared: Prepared, decision: Decision, j: int) -> npt.NDArray[np.int64]:
    """Records left out, by group of the level at which the j-th quasi-identifier was counted."""
    name, gone = prepared.base.columns[j], ~decision.stays
    codes = at_level(prepared, prepared.base, name, prepared.lowest(name))[0]
    there = gone & (codes >= 0)
    n = len(prepared.hierarchies[name].levels[prepared.lowest(name)].labels)
    return np.bincount(codes[there], weights=prepared.base.sizes[there], minlength=n).astype(np.int64)


def _number(text: str) -> str | float:
    """The number that a text spells; the text itself where it spells none."""
    try:
        return float(text) + 0.0
    except ValueError:
        return text
