"""The methods that find a plan: one level per column, local recoding, values allotted for a population.

Each looks at the published classes before anything is written. A search compares closeness with the whole table; a reader of
the release can only compare with the published one. If the two differ, the limit is tightened and the search repeated, so that
the claim holds for the file.

The plan with the least loss tells something by being the least: a finer one was refused. ``hardened`` asks for the first plan, in
order of loss, that the attacks on its choice do not profit from: downcoding (Cohen 2022) refines at most 1 % of the records,
minimality (Wong, Fu, Wang & Pei 2007) gains on at most 5 % of the classes examined. Raising one column by one level gives plans
that are not the least; a plan below the first one (finer, with more suppression) is not considered.
"""

from __future__ import annotations

import contextlib
import heapq
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.attacks import choice_rng
from shoal.attacks.downcoding import Recoded, downcoding, narrowed
from shoal.errors import InfeasibleError, PolicyError
from shoal.kernels.arrow import from_numpy, positions
from shoal.model.attack import AttackResult
from shoal.model.counts.classes import CodeArray
from shoal.model.display import Progress, written
from shoal.model.plan import SUPPRESSED, Plan, Suppression
from shoal.model.requirement import DistinctDiversity, Verdict
from shoal.release.gate.count_facts import SPELLINGS, estimates, facts_of_counts
from shoal.release.plan.column_steps import other_steps
from shoal.release.plan.prepare import Prepared, requirements
from shoal.release.plan.published_classes import Decision, below_nodes, describe_local, of_levels, published
from shoal.release.proof.facts import judge, recursive_levels

if TYPE_CHECKING:
    from shoal.search.local_recoding.local import Known, LocalResult

TRIES = 8
"""Searches with ever stricter limits until the claim holds for the file."""


CELLS, PER_STEP, NARROW = 5_000_000_000, 20_000, 12
"""Cells of base classes that a search may look at, and what a step of it costs beside them, once more for each column beyond
:data:`NARROW`. Work is counted, not timed: the same table and policy give the same plan on a busy machine."""


def one_level(prepared: Prepared, progress: Progress, floor: Mapping[str, int], *, cells: int = CELLS) -> Decision:
    """The plan with one level per column that loses least and meets the policy in the file.

    ``floor`` holds the least level of some columns. The search stops after so many cells, or after the policy's ``time_limit``.
    """
    from shoal.search import lattice

    policy = prepared.policy
    columns = len(prepared.quasi)
    steps = cells // (prepared.base.n_classes * columns + PER_STEP * max(1, columns - NARROW))
    tight: dict[str, float] = {}
    bounds = {c: (max(r.min_level or 0, floor.get(c, 0)), r.max_level) for c, r in policy.quasi.items()}
    short: list[Verdict] = []
    searched = prepared.searched
    for attempt in range(TRIES):
        result = lattice(
            searched,
            prepared.hierarchies,
            requirements(prepared, tight),
            suppress=policy.suppress,
            loss=policy.optimize,
            weights=policy.importance,
            bounds=bounds,
            population=prepared.population,
            people=prepared.people,
            time_budget=policy.time_limit,
            steps=steps if policy.time_limit is None else None,
            progress=lambda done, what: progress(0.25 + 0.3 * done, what),
        )
        decision = of_levels(prepared, result.levels, result)
        short = shortfalls(prepared, decision)
        if not short:
            note = (f"The search was repeated {attempt} times with stricter limits so that the claim holds for the file.",)
            return with_notes(decision, note if attempt else (), proven=decision.proven and not attempt)
        if not _tighten(short, tight):
            break
    raise InfeasibleError(
        f"no plan was found that meets {short[0].requirement.name} against the published table.",
        hint=(SPELLINGS if short[0].requirement.section == "diversity" else "")
        + "Raise the limit a little, allow more suppression, or drop a quasi-identifier.",
    )


def local_unfit(prepared: Prepared) -> str:
    """Why the policy cannot be met by local recoding; empty if it can."""
    policy = prepared.policy
    rules = policy.quasi.values()
    reasons = {
        f"it cannot optimize '{policy.optimize}', only loss or ncp": policy.optimize not in ("loss", "ncp"),
        "its cells are blanked one by one already, so 'allow: {scope: cells}' has no meaning": policy.scope == "cells",
        "every column is held at one level": all(r.fixed for r in rules),
        "a population table is given": prepared.population is not None,
        "its groups are fitted to the records, so matches in a population cannot be derived from their sizes": any(
            r.needs_sample for r in policy.requirements
        ),
        "the classes were counted at higher levels": prepared.coarser is not None,
        "the safe-harbor list asks for its own groups": bool(prepared.on_list),
    }
    return next((why for why, holds in reasons.items() if holds), "")


def local_recoding(
    prepared: Prepared, progress: Progress, *, smallest: int = 0, thorough: bool = True, known: Known | None = None
) -> Decision:
    """Local recoding: each class gets the finest published values that still have company, of ``smallest`` members if that is
    more than the policy asks for; records are left out, within the limit, if that loses less. ``known``: clusters that recodings
    with other cells or requirements found before.

    The recoding is a table of classes, which holds values and is not kept; the plan says only that it was local.
    """
    from shoal.search import local

    policy, base = prepared.policy, prepared.searched
    why = local_unfit(prepared)
    if why:
        raise PolicyError(f"local recoding cannot be used: {why}.", hint="Use method: lattice, or leave the method out.")
    tight: dict[str, float] = {"k": smallest}
    for _attempt in range(TRIES):
        result = local(
            base,
            prepared.hierarchies,
            requirements(prepared, tight),
            cells=policy.local_cells or "hierarchy",
            suppress=policy.suppress,
            weights=policy.importance,
            bounds=policy.level_bounds,
            people=prepared.people,
            thorough=thorough,
            known=known,
            time_budget=policy.time_limit,
            progress=lambda done, what: progress(0.25 + 0.3 * done, what),
        )
        decision = _of_local(prepared, result, _coded(result))
        unmet = shortfalls(prepared, decision)
        if not unmet:
            return _resisting_local(prepared, decision)
        if not _tighten(unmet, tight):
            break
    raise InfeasibleError(f"no local recoding was found that meets {unmet[0].requirement.name}.", hint="Use method: lattice.")


def _resisting_local(prepared: Prepared, decision: Decision) -> Decision:
    """The decision, if ``hardened`` does not refuse it: its levels cannot be raised, as those of one level per column can."""
    telling = tells(on_the_choice(prepared, decision)) if prepared.policy.hardened else None
    if telling is None:
        return decision
    what = f"the choice of this local recoding tells something: {telling.name} succeeds at {written(telling.rate or 0.0, 3)}. "
    what += "Cells with sets of values, or method: lattice, whose levels can be raised, may resist."
    raise InfeasibleError(what, hint="Use cells: sets or method: lattice, or leave 'hardened' out.")


def _of_local(prepared: Prepared, result: LocalResult, coded: list[tuple[CodeArray, tuple[str | None, ...]]]) -> Decision:
    policy, base, stays = prepared.policy, prepared.base, result.stays
    codes = tuple(c for c, _ in coded)
    finer, covered = below_nodes(prepared, result)
    cells = narrowed(Recoded(base, codes, finer, stays), base.columns, covered)
    return Decision(
        plan=Plan(
            other_steps(prepared),
            Suppression(policy.smallest_class, base.columns, policy.scope, policy.unit),
            policy.seed,
            notes=(describe_local(result),),
        ),
        method="local",
        levels={},
        loss=result.ncp if policy.optimize == "ncp" else result.loss,
        loss_name="ncp" if policy.optimize == "ncp" else "loss",
        proven=False,
        gap=None,
        stays=stays,
        codes=codes,
        labels=tuple(names for _, names in coded),
        released=published(prepared, base, codes, stays),
        kept=result.kept_table() if policy.sample is not None or not stays.all() else None,
        class_map=_with_the_rest(prepared, result.class_map()),
        finer=finer,
        notes=(f"Local recoding: {cells.sentence}",) if cells.rate else (),
        narrowed=cells,
        lost=dict(zip(base.columns, result.by_column, strict=True)),
    )


def _with_the_rest(prepared: Prepared, class_map: Any) -> Any:
    """The class map with the classes that are not in the sample, as ``*``: RECODE applies the map before it draws the sample."""
    if prepared.sampled is None:
        return class_map

    from shoal.search.local_recoding.published import published_table

    whole = prepared.table.without_unit().count(prepared.quasi)
    every = np.zeros(whole.n_classes, dtype=np.int64)
    rest = published_table(whole, [pa.array([SUPPRESSED])] * len(whole.columns), every)
    both = pa.concat_tables([class_map, rest], promote_options="permissive")
    first = [(name, "first", pc.ScalarAggregateOptions(skip_nulls=False)) for name in both.column_names[len(whole.columns) :]]
    joined = both.group_by(list(whole.columns), use_threads=False).aggregate(first)
    return joined.rename_columns([n.removesuffix("_first") if n.endswith("published_first") else n for n in joined.column_names])


def _coded(result: LocalResult) -> list[tuple[CodeArray, tuple[str | None, ...]]]:
    """Per column, codes of what each class publishes, in order of first appearance, and their labels; a missing one is −1."""
    first = np.unique(result.groups, return_index=True)[1]
    order = np.argsort(first)
    place = np.argsort(order)[result.groups]
    seen = [p.texts.take(from_numpy(order)).dictionary_encode() for p in result.published]
    return [(positions(texts.indices)[place], tuple(texts.dictionary.to_pylist())) for texts in seen]


def shortfalls(prepared: Prepared, decision: Decision) -> list[Verdict]:
    """Requirements that the classes to be published would not meet, counted by people and, where they differ, by records."""
    requirements = [r for r in prepared.policy.requirements if not r.on_file]  # decided on the written file
    counted = [decision.released]
    if prepared.by_record is not None:
        counted.append(published(prepared, prepared.by_record, decision.codes, decision.stays))
    levels = recursive_levels(requirements)
    facts = [facts_of_counts(c, levels, prepared.trees, requirements) for c in counted]
    return [v for f in facts for v in judge(requirements, f, {**decision.given, **estimates(requirements, f)}) if not v.met]


def _tighten(unmet: list[Verdict], tight: dict[str, float]) -> bool:
    """Make the limits stricter by what they were missed by; False where that is not possible."""
    for verdict in unmet:
        requirement, value = verdict.requirement, verdict.found
        if requirement.law != "union" or value is None:
            return False
        missed = abs(value - requirement.limit) + 1e-6
        tight[requirement.name] = tight.get(requirement.name, requirement.limit) + (
            missed if requirement.sign == ">=" else -missed
        )
        if tight[requirement.name] <= 0:
            return False
    return True


def with_notes(decision: Decision, notes: tuple[str, ...], *, proven: bool) -> Decision:
    known = decision.gap if proven or not decision.proven else None  # proven for another question: how far off is not known
    return replace(decision, notes=(*decision.notes, *notes), proven=proven, gap=known)


LIMITS = {"minimality": 0.05, "downcoding": 0.01}
"""What ``hardened: true`` allows: share of classes with a gain in certainty, share of records refined."""

MOST_SEARCHES = 300


def structure(prepared: Prepared, decision: Decision) -> Recoded:
    """The base classes with their published and their next finer codes."""
    return Recoded(prepared.base, decision.codes, decision.finer, decision.stays)


def tells(results: list[AttackResult]) -> AttackResult | None:
    """The first attack on the choice of the plan that does better than ``hardened`` allows."""
    for result in results:
        limit = LIMITS.get(result.name.split(":")[0])
        if limit is not None and result.rate is not None and result.rate > limit:
            return result
    return None


def on_the_choice(prepared: Prepared, decision: Decision) -> list[AttackResult]:
    """The attacks that use the choice of the plan, as they will be run on the release."""
    from shoal.attacks.minimality import minimality

    choice, policy = structure(prepared, decision), prepared.policy
    out = [downcoding(choice, prepared.quasi), *([decision.narrowed] if decision.narrowed else [])]
    for i, column in enumerate(prepared.base.sensitive):
        diversity = policy.asked_of(column, DistinctDiversity)
        rng = choice_rng(policy.seed, i)
        out.append(minimality(choice, column, prepared.quasi, distinct=diversity.l if diversity else None, rng=rng))
    return out


def resisting(prepared: Prepared, search: Callable[[Mapping[str, int]], Decision]) -> Decision:
    """The plan with the least loss; with ``hardened`` the first in order of loss whose choice tells next to nothing."""
    first = search({})
    if not prepared.policy.hardened:
        return first
    begun, searches, passed_over, last = time.monotonic(), 1, 0, ""
    seen = {_key(first)}
    queue: list[tuple[float, int, dict[str, int], Decision]] = [(first.loss, 0, {}, first)]
    while queue:
        _, _, floor, decision = heapq.heappop(queue)
        telling = tells(on_the_choice(prepared, decision))
        if telling is None:
            sentence = f"Hardened: {passed_over:,} plans with less loss were passed over because their choice tells something."
            return replace(decision, notes=(*decision.notes, sentence), proven=False, gap=None)
        passed_over, last = passed_over + 1, f"{telling.name} succeeds at {written(telling.rate or 0.0, 3)}"
        for column, level in decision.levels.items():
            highest = prepared.policy.quasi[column].max_level
            highest = prepared.hierarchies[column].height if highest is None else highest
            if level == highest or searches >= MOST_SEARCHES or _late(prepared, begun):
                continue
            searches += 1
            higher = {**floor, column: level + 1}
            with contextlib.suppress(InfeasibleError):
                result = search(higher)
                if _key(result) not in seen:
                    seen.add(_key(result))
                    heapq.heappush(queue, (result.loss, len(seen), higher, result))
    what = f"no plan was found whose choice tells next to nothing: {passed_over:,} were tried; at the last of them {last}."
    raise InfeasibleError(what, hint="Raise max_level, allow more suppression, ask for a larger k, or leave 'hardened' out.")


def _key(decision: Decision) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(decision.levels.items()))


def _late(prepared: Prepared, begun: float) -> bool:
    limit = prepared.policy.time_limit
    return limit is not None and time.monotonic() - begun > limit
