"""Search, then look at the published classes before anything is written: what is decided is what will be found.

The search compares closeness with the whole table; a reader of the release can only compare with the published one. Where
the two differ, the limit is tightened and the search repeated, so that the claim holds for the file.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from shoal.attacks.downcoding import Recoded, narrowed
from shoal.engines.core.memory import bytes_to_search, left_for_data, refused
from shoal.errors import InfeasibleError, PolicyError
from shoal.hierarchies.rule import Rule
from shoal.hierarchies.values import texts_of
from shoal.model.certificate.parts import TradeOff
from shoal.model.counts.classes import MISSING, CodeArray, IntArray
from shoal.model.display import Progress, silent, written
from shoal.model.hierarchy import Hierarchy
from shoal.model.plan import SUPPRESSED, Plan, RowStep, Step, Suppression
from shoal.model.requirement import Verdict
from shoal.release.gate.count_facts import estimates, facts_of_counts
from shoal.release.gate.safe_harbor import check_coarse, safe_harbor_steps
from shoal.release.plan.column_steps import other_steps, resisting
from shoal.release.plan.loss_limits import check_loss
from shoal.release.plan.prepare import Prepared, requirements
from shoal.release.plan.published_classes import Decision, below_nodes, describe_local, of_levels, published
from shoal.release.proof.facts import judge, recursive_levels
from shoal.steps import Drop, Keep, evaluate

if TYPE_CHECKING:
    from shoal.search.local_recoding.local import LocalResult

TRIES = 8
MOST_LISTED = 2_000_000
"""Nodes of a lattice up to which a search keeps a bound for each."""


def decide(prepared: Prepared, *, given: Plan | None = None, progress: Progress = silent) -> Decision:
    """The plan that meets the policy and loses least, with the method that the policy names; or the plan given, re-checked."""
    if given is None:
        check_memory(prepared)
    if given is not None:
        decision = _given(prepared, given, progress, "given plan", "The plan was made earlier and carried over.")
    elif prepared.policy.method == "lattice":
        decision = resisting(prepared, lambda floor: _lattice(prepared, progress, floor))
    elif prepared.policy.method == "local":
        decision = _local(prepared, progress)
    else:
        decision = _probabilistic(prepared, progress)
    if prepared.on_list:
        check_coarse(prepared, safe_harbor_steps(prepared), decision.plan.steps)
    if given is None:
        check_loss(prepared, decision)
    return decision


def check_memory(prepared: Prepared) -> None:
    """Refuse a search that would take more memory than the table may, before it begins."""
    memory = prepared.table.memory
    if memory is None:
        return
    nodes = min(math.prod(h.height + 1 for h in prepared.hierarchies.values()), MOST_LISTED)
    size = bytes_to_search(prepared.base.n_classes, len(prepared.quasi), nodes)
    if size > left_for_data(memory):
        raise refused(
            f"the search over {prepared.base.n_classes:,} classes",
            size,
            memory,
            "Raise --memory; or begin coarser: a higher min_level of columns with many values, or fewer quasi-identifiers.",
        )


def _lattice(prepared: Prepared, progress: Progress, floor: Mapping[str, int]) -> Decision:
    """The plan that loses least and meets the policy in the file; ``floor`` holds the least level of some columns."""
    from shoal.search import lattice

    policy = prepared.policy
    tight: dict[str, float] = {}
    bounds = {c: (max(r.min_level or 0, floor.get(c, 0)), r.max_level) for c, r in policy.quasi.items()}
    short: list[Verdict] = []
    for attempt in range(TRIES):
        found = lattice(
            prepared.base,
            prepared.hierarchies,
            requirements(prepared, tight),
            suppress=policy.suppress,
            loss=policy.optimize,
            weights={c: r.weight for c, r in policy.quasi.items()},
            bounds=bounds,
            population=prepared.population,
            people=prepared.people,
            time_budget=policy.search_time if prepared.steps is None else None,
            steps=prepared.steps,
            progress=lambda done, what: progress(0.25 + 0.3 * done, what),
        )
        decision = of_levels(prepared, found.levels, found)
        short = shortfalls(prepared, decision)
        if not short:
            note = (f"The search was repeated {attempt} times with stricter limits so that the claim holds for the file.",)
            return _with_notes(decision, note if attempt else (), proven=decision.proven and not attempt)
        if not _tighten(short, tight):
            break
    raise InfeasibleError(
        f"no plan was found that meets {short[0].requirement.name} against the published table.",
        hint="Raise the limit a little, allow more suppression, or drop a quasi-identifier.",
    )


def _local(prepared: Prepared, progress: Progress) -> Decision:
    """Local recoding: each class gets the finest published values that still have company; no record is left out.

    The recoding is a table of classes, which holds values and is not kept; the plan says only that it was local.
    """
    from shoal.search import local

    policy, base = prepared.policy, prepared.base
    if policy.optimize not in ("loss", "ncp"):
        raise PolicyError(
            f"a local recoding cannot optimize '{policy.optimize}'.", hint="Use optimize: loss or ncp, or method: lattice."
        )
    if policy.scope == "cells":
        raise PolicyError(
            "a local recoding leaves no record out and blanks none: 'allow: {scope: cells}' has no meaning there.",
            hint="Leave the scope out, or use method: lattice.",
        )
    if policy.sample is not None:
        raise PolicyError("a sample cannot be recoded locally.", hint="Use method: lattice, or leave the sample out.")
    if any(r.min_level is not None or r.max_level is not None for r in policy.quasi.values()):
        raise PolicyError("level bounds cannot be kept by local recoding.", hint="Use method: lattice, or leave the bounds out.")
    if policy.hardened:
        raise PolicyError(
            "a local recoding cannot be hardened: it makes each class as fine as it may be, which is what downcoding uses.",
            hint="Use method: lattice.",
        )
    tight: dict[str, float] = {}
    for _attempt in range(TRIES):
        found = local(
            base,
            prepared.hierarchies,
            requirements(prepared, tight),
            cells=policy.local_cells,
            weights={c: r.weight for c, r in policy.quasi.items()},
            people=prepared.people,
            time_budget=policy.search_time if prepared.steps is None else None,
            progress=lambda done, what: progress(0.25 + 0.3 * done, what),
        )
        stays = np.ones(base.n_classes, dtype=np.bool_)
        coded = [_coded(p.labels, found.groups) for p in found.published]
        decision = _of_local(prepared, found, coded, stays)
        unmet = shortfalls(prepared, decision)
        if not unmet:
            return decision
        if not _tighten(unmet, tight):
            break
    raise InfeasibleError(f"no local recoding was found that meets {unmet[0].requirement.name}.", hint="Use method: lattice.")


def _of_local(
    prepared: Prepared, found: LocalResult, coded: list[tuple[CodeArray, tuple[str | None, ...]]], stays: npt.NDArray[np.bool_]
) -> Decision:
    policy, base = prepared.policy, prepared.base
    codes = tuple(c for c, _ in coded)
    finer, covered = below_nodes(prepared, found)
    cells = narrowed(Recoded(base, codes, finer, stays), base.columns, covered)
    return Decision(
        plan=Plan(
            other_steps(prepared),
            Suppression(policy.smallest_class, base.columns, policy.scope, policy.unit),
            policy.seed,
            notes=(describe_local(found),),
        ),
        method="local",
        levels={},
        loss=found.ncp if policy.optimize == "ncp" else found.loss,
        loss_name="ncp" if policy.optimize == "ncp" else "loss",
        proven=False,
        gap=float(found.ncp if policy.optimize == "ncp" else found.loss),
        stays=stays,
        codes=codes,
        labels=tuple(names for _, names in coded),
        released=published(prepared, base, codes, stays),
        class_map=found.class_map(),
        finer=finer,
        notes=(f"Local recoding: {cells.sentence}",) if cells.rate else (),
        narrowed=cells,
    )


def _coded(labels: Sequence[str | None], groups: IntArray) -> tuple[CodeArray, tuple[str | None, ...]]:
    """Codes of the label of each class's group, in order of first appearance; a missing one is −1."""
    order: dict[str | None, int] = {}
    codes = np.full(len(labels), MISSING, dtype=np.int32)
    for group in groups[np.sort(np.unique(groups, return_index=True)[1])].tolist():
        if labels[group] is not None:
            codes[group] = order.setdefault(labels[group], len(order))
    return codes[groups], tuple(order)


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
    try:
        return _given(prepared, Plan(found.steps), progress, "probabilistic", note)
    except InfeasibleError:
        records = int(prepared.base.n_records)
        raise InfeasibleError(
            f"the values allotted for {policy.population:,} people do not give these {records:,} records "
            f"k = {policy.smallest_class} with at most {written(policy.suppress, 3)} of them left out; "
            "k is counted in the written file.",
            hint="Use method: lattice; or state as population the people whom the table covers, not a whole country.",
        ) from None


def _given(prepared: Prepared, plan: Plan, progress: Progress, method: str, note: str) -> Decision:
    """A plan made earlier, on these data: each column has one level, the plan's; everything is checked again."""
    from shoal.search import lattice

    if prepared.population is not None:
        raise PolicyError(
            "a population table cannot be used with a plan made earlier.", hint="Let a plan be searched for these data."
        )
    held, bounds = fixed(prepared, plan)
    policy = prepared.policy
    if policy.sample is None and any(isinstance(s, RowStep) for s in plan.steps):
        raise PolicyError(
            "the plan draws a sample; the policy asks for none.", hint="Write 'sample: {share: 0.1}' into the policy."
        )
    found = lattice(
        held.base,
        held.hierarchies,
        requirements(held),
        suppress=policy.suppress,
        loss=policy.optimize,
        weights={c: r.weight for c, r in policy.quasi.items()},
        bounds=bounds,
        people=held.people,
        progress=lambda done, what: progress(0.25 + 0.3 * done, what),
    )
    decision = of_levels(held, found.levels, found)
    unmet = shortfalls(held, decision)
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


def shortfalls(prepared: Prepared, decision: Decision) -> list[Verdict]:
    """Requirements that the classes to be published would not meet, counted by people and, where they differ, by records."""
    asked = [r for r in prepared.policy.requirements if not r.needs_original]  # decided on the written file
    counted = [decision.released]
    if prepared.by_record is not None:
        counted.append(published(prepared, prepared.by_record, decision.codes, decision.stays))
    levels = recursive_levels(asked)
    facts = [facts_of_counts(c, levels, prepared.trees) for c in counted]
    return [v for f in facts for v in judge(asked, f, {**decision.given, **estimates(asked, f)}) if not v.met]


def _tighten(unmet: list[Verdict], tight: dict[str, float]) -> bool:
    """Make the limits stricter by what they were missed by; False where that is not possible."""
    for verdict in unmet:
        asked, found = verdict.requirement, verdict.found
        if asked.law != "union" or found is None:
            return False
        missed = abs(found - asked.limit) + 1e-6
        tight[asked.name] = tight.get(asked.name, asked.limit) + (missed if asked.sign == ">=" else -missed)
        if tight[asked.name] <= 0:
            return False
    return True


def _with_notes(decision: Decision, notes: tuple[str, ...], *, proven: bool) -> Decision:
    known = decision.gap if proven or not decision.proven else None  # proven for another question: how far off is not known
    return replace(decision, notes=(*decision.notes, *notes), proven=proven, gap=known)


FRONTIER_CLASSES, FRONTIER_NODES = 60_000, 20_000
"""Base classes and lattice nodes up to which the frontier is drawn."""


def trade_off(prepared: Prepared, decision: Decision) -> tuple[TradeOff, ...]:
    """Loss of the best plan at a few k besides the one asked, where that is cheap; the chosen plan is marked."""
    from shoal.search import frontier

    policy = prepared.policy
    nodes = prod(h.height + 1 for h in prepared.hierarchies.values())
    if (
        decision.method != "lattice"
        or policy.smallest_class < 2
        or prepared.base.n_classes > FRONTIER_CLASSES
        or nodes > FRONTIER_NODES
    ):
        return ()
    chosen = policy.smallest_class
    most = prepared.base.n_members
    points = frontier(
        prepared.base,
        prepared.hierarchies,
        [r for r in requirements(prepared) if r.kind != "k"],
        ks=sorted(k for k in {2, 3, 5, 10, 20, 50, chosen} if k <= most),
        suppress=(policy.suppress,),
        loss=policy.optimize,
        weights={c: r.weight for c, r in policy.quasi.items()},
        bounds={c: (r.min_level, r.max_level) for c, r in policy.quasi.items()},
        population=prepared.population,
        people=prepared.people,
    )
    out = [TradeOff(int(p.k), float(p.loss), False) for p in points if p.loss is not None and p.k != chosen]
    return tuple(sorted([*out, TradeOff(chosen, float(decision.loss), True)], key=lambda p: p.k))


NOBODY = "\x00no such value"


@dataclass(frozen=True)
class _Given(Rule):
    """Level 0 is the value, level 1 what the plan publishes."""

    given: Any = None
    kind: ClassVar[str] = "given"

    @property
    def inner(self) -> int:
        return 1

    def step(self, column: str, level: int, *, missing_label: str | None = None) -> Step:
        return Keep(column) if level == 0 else self.given


def fixed(prepared: Prepared, plan: Plan) -> tuple[Prepared, dict[str, tuple[int | None, int | None]]]:
    """The prepared table with the plan's one level per column, and the bounds that hold it there."""
    rules: dict[str, Rule] = {}
    hierarchies: dict[str, Hierarchy] = {}
    bounds: dict[str, tuple[int | None, int | None]] = {}
    for j, name in enumerate(prepared.base.columns):
        steps = plan.for_column(name)
        if len(steps) != 1 or isinstance(steps[0], Drop):
            raise PolicyError(
                f"the plan has {len(steps)} steps that publish quasi-identifier '{name}'; one is needed.",
                hint="Use the plan of a release with the same quasi-identifiers.",
            )
        rules[name] = _Given(steps[0])
        hierarchies[name] = _one_level(name, steps[0], prepared.base.categories[j])
        level = 0 if isinstance(steps[0], Keep) else 1
        bounds[name] = (level, level)
    return replace(prepared, rules=rules, hierarchies=hierarchies, inferred={}), bounds


def _one_level(name: str, step: Step, values: Any) -> Hierarchy:
    texts = texts_of(name, values)
    if isinstance(step, Keep):
        labels = list(texts)
    elif hasattr(step, "label"):
        labels = [str(step.label(t)) for t in texts]
    else:
        found = evaluate(step, texts)
        labels = [found.labels[i] for i in found.index]
    rows = [[t, label] for t, label in zip(texts, labels, strict=True)]
    if getattr(step, "missing_label", None) is None and set(labels) <= {SUPPRESSED}:
        rows.append([NOBODY, NOBODY])  # a single group '*' would take the missing values in, which this step leaves missing
    return Hierarchy.from_rows(name, rows or [[SUPPRESSED, SUPPRESSED]])
