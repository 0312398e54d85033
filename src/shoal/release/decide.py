"""Search, then look at the published classes before anything is written: what is decided is what will be found.

The search compares closeness with the whole table; a reader of the release can only compare with the published one. Where
the two differ, the limit is tightened and the search repeated, so that the claim holds for the file.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from shoal.errors import InfeasibleError, InternalError, PolicyError
from shoal.model.counts import MISSING, ClassCounts, CodeArray, SensitiveCounts
from shoal.model.plan import Drop, Keep, Plan, Step, StreamStep, Suppression
from shoal.release.check import facts_of_counts
from shoal.release.checklist import check_coarse, safe_harbor_steps
from shoal.release.judge import Finding, judge, recursive_levels
from shoal.release.prepare import Prepared, Progress, requirements, silent

if TYPE_CHECKING:
    from shoal.search.result import SearchResult

TRIES = 8


@dataclass(frozen=True, eq=False)
class Decision:
    """A plan, what it will publish, and how it was found.

    ``kept`` and ``class_map`` are handed to RECODE and forgotten: they hold values. ``stays`` says for each base class whether
    it is published; ``published`` are its codes, per column, after the plan.
    """

    plan: Plan
    method: str
    levels: Mapping[str, int]
    loss: float
    loss_name: str
    proven: bool
    gap: float
    stays: npt.NDArray[np.bool_]
    codes: tuple[CodeArray, ...]
    labels: tuple[tuple[str | None, ...], ...]
    released: ClassCounts
    kept: Any = None
    class_map: Any = None
    finer: tuple[CodeArray, ...] = ()
    notes: tuple[str, ...] = ()


def decide(prepared: Prepared, *, given: Plan | None = None, progress: Progress = silent) -> Decision:
    """The plan that meets the policy and loses least, with the method that the policy names; or the plan given, re-checked."""
    if given is not None:
        decision = _given(prepared, given, progress, "given plan", "The plan was made earlier and carried over.")
    elif prepared.policy.method == "lattice":
        decision = _lattice(prepared, progress)
    elif prepared.policy.method == "local":
        decision = _local(prepared, progress)
    else:
        decision = _probabilistic(prepared, progress)
    if _listed(prepared):
        check_coarse(prepared, safe_harbor_steps(prepared), decision.plan.steps)
    return decision


def _listed(prepared: Prepared) -> bool:
    return prepared.policy.preset is not None and prepared.policy.preset.checklist == "safe-harbor"


def _lattice(prepared: Prepared, progress: Progress) -> Decision:
    from shoal.search import lattice

    policy = prepared.policy
    tight: dict[str, float] = {}
    bounds = {
        c: (r.min_level, r.max_level) for c, r in policy.quasi.items() if r.min_level is not None or r.max_level is not None
    }
    least, short = policy.smallest_class, list[Finding]()
    for attempt in range(TRIES):
        found = lattice(
            prepared.base,
            prepared.hierarchies,
            requirements(policy, tight, least),
            suppress=policy.suppress,
            loss=policy.optimize,
            weights={c: r.weight for c, r in policy.quasi.items()},
            bounds=bounds or None,
            time_budget=policy.time_limit,
            progress=lambda done, what: progress(0.25 + 0.3 * done, what),
        )
        decision = of_levels(prepared, found.levels, found)
        short = [f for f in judged(prepared, decision.released) if not f.met]
        if not short and not _people_short(prepared, decision):
            note = (f"The search was repeated {attempt} times with stricter limits so that the claim holds for the file.",)
            return _with_notes(decision, note if attempt else (), proven=found.proven and not attempt)
        if short and not _tighten(prepared, short, tight):
            break
        if not short:
            least += max(1, least // 2)
    what = short[0].requirement if short else "k counted by people"
    raise InfeasibleError(
        f"no plan was found that meets {what} against the published table.",
        hint="Raise the limit a little, allow more suppression, or drop a quasi-identifier.",
    )


def _people_short(prepared: Prepared, decision: Decision) -> bool:
    """Whether a person's rows in several classes hide that a published class has too few people.

    Base classes were counted by people, but a person in two base classes that are joined is one person, not two; so the
    published classes are counted by people in the engine, and what would then be suppressed is compared with the limit.
    """
    policy, base = prepared.policy, prepared.base
    if policy.unit is None or base.n_members == base.n_people:
        return False
    steps = {s.column: s for s in decision.plan.steps if s.column in policy.quasi and not isinstance(s, Keep)}
    if any(isinstance(s, StreamStep) for s in steps.values()):
        return False  # cannot be counted through; the written file will tell
    counted = prepared.table.count(base.columns, through=steps, unit=policy.unit)
    records = counted.sizes if counted.records is None else counted.records
    lost = int(records[counted.sizes < policy.smallest_class].sum())
    if decision.kept is not None:
        return lost > 0
    return lost > math.floor(policy.suppress * base.n_records + 1e-9)


def _local(prepared: Prepared, progress: Progress) -> Decision:
    """Local recoding: each class gets the finest published values that still have company; no record is left out.

    The recoding is a table of classes, which holds values and is not kept; the plan says only that it was local.
    """
    from shoal.search import local

    policy, base = prepared.policy, prepared.base
    if any(r.min_level is not None or r.max_level is not None for r in policy.quasi.values()):
        raise PolicyError("level bounds cannot be kept by local recoding.", hint="Use method: lattice, or leave the bounds out.")
    tight: dict[str, float] = {}
    for _attempt in range(TRIES):
        found = local(
            base,
            prepared.hierarchies,
            requirements(policy, tight),
            weights={c: r.weight for c, r in policy.quasi.items()},
            time_budget=policy.time_limit,
            progress=lambda done, what: progress(0.25 + 0.3 * done, what),
        )
        stays = np.ones(base.n_classes, dtype=np.bool_)
        coded = [_coded(texts) for texts in found.labels]
        released = regrouped(base, tuple(c for c, _ in coded), stays)
        unmet = [f for f in judged(prepared, released) if not f.met]
        if not unmet:
            break
        if not _tighten(prepared, unmet, tight):
            raise InfeasibleError(f"no local recoding was found that meets {unmet[0].requirement}.", hint="Use method: lattice.")
    return Decision(
        plan=Plan(
            other_steps(prepared),
            Suppression(policy.smallest_class, base.columns, policy.scope, policy.unit),
            policy.seed,
            notes=("the quasi-identifiers are recoded locally, class by class; the table of classes is not kept",),
        ),
        method="local",
        levels={},
        loss=found.ncp if policy.optimize == "ncp" else found.loss,
        loss_name="ncp" if policy.optimize == "ncp" else "loss",
        proven=False,
        gap=float(found.ncp if policy.optimize == "ncp" else found.loss),
        stays=stays,
        codes=tuple(c for c, _ in coded),
        labels=tuple(names for _, names in coded),
        released=released,
        class_map=found.class_map(),
    )


def _coded(texts: list[str | None]) -> tuple[CodeArray, tuple[str | None, ...]]:
    """Codes of labels in order of first appearance; a missing one is −1."""
    order: dict[str | None, int] = {}
    codes = [MISSING if t is None else order.setdefault(t, len(order)) for t in texts]
    return np.asarray(codes, dtype=np.int32), tuple(order)


def _probabilistic(prepared: Prepared, progress: Progress) -> Decision:
    """Values per column from the size of the population; the sample's own k is then reached by suppression and counted."""
    from shoal.search import allocation

    policy = prepared.policy
    if policy.population is None:
        raise PolicyError(
            "method: probabilistic needs the number of people in the population.", hint="Write population: 17500000."
        )
    found = allocation(
        prepared.base,
        population=policy.population,
        k=max(policy.smallest_class, 2),
        weights={c: r.weight for c, r in policy.quasi.items()},
        hierarchies={c: prepared.hierarchies[c] for c, r in policy.quasi.items() if r.hierarchy is not None},
    )
    note = (
        f"Values per column were allotted for {policy.population:,} people: {found.cells:,} of {found.budget.cells:,} cells used."
    )
    return _given(prepared, Plan(found.steps), progress, "probabilistic", note)


def _given(prepared: Prepared, plan: Plan, progress: Progress, method: str, note: str) -> Decision:
    """A plan made earlier, on these data: each column has one level, the plan's; everything is checked anew."""
    from dataclasses import replace

    from shoal.release.reuse import fixed
    from shoal.search import lattice

    held, bounds = fixed(prepared, plan)
    policy = prepared.policy
    found = lattice(
        held.base,
        held.hierarchies,
        requirements(policy),
        suppress=policy.suppress,
        loss=policy.optimize,
        weights={c: r.weight for c, r in policy.quasi.items()},
        bounds=bounds,
        progress=lambda done, what: progress(0.25 + 0.3 * done, what),
    )
    decision = of_levels(held, found.levels, found)
    unmet = [f for f in judged(held, decision.released) if not f.met]
    if unmet:
        raise InfeasibleError(
            f"on these data the plan does not meet a requirement: {unmet[0].sentence}; found {unmet[0].found}.",
            hint="Allow more suppression, or let a plan be searched for these data (method: lattice, without --plan).",
        )
    steps = tuple(s for s in plan.steps if s.column in policy.quasi)
    kept = {s.column for s in steps}
    steps += tuple(s for s in decision.plan.steps if s.column not in kept)
    written = Plan(steps, decision.plan.suppression, policy.seed, notes=(*plan.notes, method))
    return _with_notes(replace(decision, plan=written, method=method, levels={}), (note,), proven=False)


def judged(prepared: Prepared, released: ClassCounts) -> list[Finding]:
    """The policy's requirements against the classes that would be published."""
    require = prepared.policy.require_json()
    return judge(require, facts_of_counts(released, recursive_levels(require)))


def _tighten(prepared: Prepared, unmet: list[Finding], tight: dict[str, float]) -> bool:
    """Lower the closeness limits by what they were missed by; False where something else is unmet."""
    for finding in unmet:
        if not finding.requirement.startswith("closeness."):
            return False
        column = finding.requirement.removeprefix("closeness.").removesuffix(".t")
        asked = prepared.policy.closeness[column].t
        lower = tight.get(column, asked) - (float(finding.found or 0.0) - asked) - 1e-6
        if lower <= 0:
            return False
        tight[column] = lower
    return True


def _with_notes(decision: Decision, notes: tuple[str, ...], *, proven: bool) -> Decision:
    from dataclasses import replace

    return replace(decision, notes=(*decision.notes, *notes), proven=proven)


def of_levels(prepared: Prepared, levels: Mapping[str, int], found: SearchResult) -> Decision:
    """The decision of a full-domain search result."""
    from shoal.search import missing_label

    policy, base = prepared.policy, prepared.base
    steps: list[Step] = []
    for name in base.columns:
        label = missing_label(prepared.hierarchies[name], levels[name])
        steps.append(prepared.rules[name].step(name, levels[name], missing_label=label))
    plan = Plan(
        (*steps, *other_steps(prepared)),
        Suppression(policy.smallest_class, base.columns, policy.scope, policy.unit),
        policy.seed,
        notes=tuple(f"{c}: level {levels[c]} of {prepared.hierarchies[c].height}" for c in base.columns),
    )
    at = [_at_level(prepared, j, levels[name]) for j, name in enumerate(base.columns)]
    lower = [_at_level(prepared, j, max(levels[name] - 1, 0)) for j, name in enumerate(base.columns)]
    codes = tuple(c for c, _ in at)
    return Decision(
        plan=plan,
        method=found.method,
        levels=dict(levels),
        loss=found.loss,
        loss_name=found.loss_name,
        proven=found.proven,
        gap=found.gap,
        stays=found.kept,
        codes=codes,
        labels=tuple(names for _, names in at),
        released=regrouped(base, codes, found.kept),
        kept=found.kept_table() if found.k is None else None,
        finer=tuple(c for c, _ in lower),
    )


def _at_level(prepared: Prepared, j: int, level: int) -> tuple[CodeArray, tuple[str | None, ...]]:
    """Code of each base class at a level, and the label of each code; a missing value keeps −1 unless it is joined."""
    from shoal.kernels.text import canonical_text
    from shoal.search.problem import joins_missing

    base, name = prepared.base, prepared.base.columns[j]
    hierarchy = prepared.hierarchies[name]
    at = hierarchy.levels[level]
    group = [at.groups[hierarchy.position[t]] for t in canonical_text(base.categories[j]).to_pylist()]
    group.append(0 if joins_missing(hierarchy, level) else MISSING)
    return np.asarray(group, dtype=np.int32)[base.codes[j]], at.labels


def regrouped(base: ClassCounts, codes: tuple[CodeArray, ...], stays: npt.NDArray[np.bool_]) -> ClassCounts:
    """The published classes: base classes that stay, joined where their codes agree."""
    from shoal.kernels.group import group_codes

    pick = np.flatnonzero(stays)
    if not len(pick):
        raise InfeasibleError("the plan would publish no record.", hint="Allow coarser levels or ask for less.")
    groups = group_codes([c[pick] for c in codes], n_rows=len(pick))
    sizes = np.bincount(groups.ids, weights=base.sizes[pick], minlength=groups.n).astype(np.int64)
    records = None
    if base.records is not None:
        records = np.bincount(groups.ids, weights=base.records[pick], minlength=groups.n).astype(np.int64)
    of_base = np.full(base.n_classes, -1, dtype=np.int64)
    of_base[pick] = groups.ids
    inside = {name: _joined(s, of_base) for name, s in base.sensitive.items()}
    return ClassCounts(sizes, base.columns, [c[pick][groups.first] for c in codes], (), inside, records, unit=base.unit)


def _joined(counts: SensitiveCounts, of_base: npt.NDArray[np.int64]) -> SensitiveCounts:
    klass = of_base[counts.classes]
    there = klass >= 0
    klass, values, sizes = klass[there], counts.values[there].astype(np.int64) + 1, counts.counts[there]
    width = int(values.max(initial=0)) + 1
    key, place = np.unique(klass * width + values, return_inverse=True)
    summed = np.bincount(place, weights=sizes, minlength=len(key)).astype(np.int64)
    return SensitiveCounts(counts.column, key // width, (key % width - 1).astype(np.int32), summed, counts.categories)


def other_steps(prepared: Prepared) -> tuple[Step, ...]:
    """What happens to the columns that are not quasi-identifiers."""
    policy, steps = prepared.policy, list[Step]()
    listed = safe_harbor_steps(prepared) if _listed(prepared) else {}
    changed = {c for s in policy.transform.values() for c in s.columns}
    both = sorted(changed & set(listed))
    if both:
        raise PolicyError(
            f"column '{both[0]}' is changed by the safe-harbor list; 'transform' names it too.", hint="Leave it out there."
        )
    for name in prepared.schema.names:
        if name in policy.direct:
            steps.append(_direct(name, policy.direct[name]))
        elif name == policy.unit and name not in policy.quasi:
            steps.append(_unit(name, policy.publish_unit))
        elif name in policy.transform:
            steps.append(policy.transform[name])
        elif name in changed:
            continue  # replaced by the step of another column
        elif name in (*policy.sensitive, *policy.insensitive) or name == policy.weight:
            steps.append(listed.get(name, Keep(name)))
        elif name not in policy.quasi:
            raise InternalError(f"column '{name}' has no step.")
    return tuple(steps)


def _direct(name: str, mask: str) -> Step:
    return Drop(name) if mask == "drop" else _pseudonym(name)


def _unit(name: str, publish: str) -> Step:
    if publish == "pseudonym":
        return _pseudonym(name)
    return Keep(name) if publish == "keep" else Drop(name)


def _pseudonym(name: str) -> Step:
    """A keyed hash; the key comes from the environment (``SHOAL_KEY``), never from the policy."""
    from shoal.transform.mask import KeyedHash

    return KeyedHash(name)
