"""One planner behind every door: command, Python, draft and studio get the same plan for the same question.

Takes    a prepared table and its policy, or a plan made earlier
Returns  the decision, with what each other method would cost or why it was not tried
Keeps    no method is left out without a reason; work is counted, not timed, so that the plan does not depend on the machine

``method: best`` (the default) uses one level per column, with as much suppression as the policy allows, if that tells enough.
Else it compares it with local recoding by the loss that the policy optimizes. A policy that names a method gets that method.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod

from shoal.engines.core.memory import bytes_to_search, left_for_data, refused
from shoal.errors import InfeasibleError, RequirementError, StoppedError
from shoal.model.certificate.parts import OtherMethod, TradeOff
from shoal.model.display import Progress, silent
from shoal.model.plan import Plan
from shoal.model.requirement import K
from shoal.release.gate.safe_harbor import check_coarse, safe_harbor_steps
from shoal.release.plan.column_steps import resisting
from shoal.release.plan.given_plan import given_plan, probabilistic
from shoal.release.plan.loss_limits import blank_columns, blank_shares, check_loss, too_little, with_offers
from shoal.release.plan.methods import CELLS, local_recoding, local_unfit, one_level
from shoal.release.plan.prepare import Prepared, requirements
from shoal.release.plan.published_classes import Decision

MOST_LISTED = 2_000_000
"""Nodes of a lattice up to which a search keeps a bound for each."""
MOST_LOCAL = 50_000
"""Base classes up to which local recoding is tried unless the policy names it."""
FIRST_CELLS = 200_000_000
"""Cells that the first search for one level per column may look at. It goes on if a plan that tells enough may exist."""
ENOUGH = 0.4
"""Loss up to which one level per column is used although local recoding loses less: equal values stay equal, the plan can be used
again, and a later release can be checked against this one. 0 would always use the method that loses least."""
TELLS_ENOUGH = f"one level per column loses at most {ENOUGH} and leaves no column blank"


def decide(prepared: Prepared, *, given: Plan | None = None, progress: Progress = silent, cells: int = CELLS) -> Decision:
    """The plan that meets the policy and loses least; or the plan given, checked again.

    ``cells`` is the work that the search for one level per column may take.
    """
    if given is not None:
        decision = given_plan(prepared, given, progress, "given plan", "The plan was made earlier and carried over.")
        _check_list(prepared, decision)
        return decision
    check_memory(prepared)
    try:
        decision = _by_method(prepared, progress, cells)
    except InfeasibleError as error:
        if prepared.policy.method == "probabilistic":  # its own hint says more than plans of other methods
            raise
        raise with_offers(prepared, error) from None
    _check_list(prepared, decision)
    check_loss(prepared, decision)
    return decision


def _by_method(prepared: Prepared, progress: Progress, cells: int) -> Decision:
    method = prepared.policy.method
    if method == "best":
        return _best(prepared, progress, cells)
    if method == "lattice":
        return _one_level(prepared, progress, cells=cells)
    return local_recoding(prepared, progress) if method == "local" else probabilistic(prepared, progress)


def _best(prepared: Prepared, progress: Progress, cells: int) -> Decision:
    """One level per column if that tells enough, else the method that loses least; the others with what they would cost."""
    why = local_unfit(prepared)
    if not why and prepared.base.n_classes > MOST_LOCAL:
        why = f"the table has more than {MOST_LOCAL:,} classes"
    one, problem = _tried(lambda: _one_level(prepared, progress, cells=min(cells, FIRST_CELLS)))
    if one is not None and _least_possible(one) <= (1.0 if why else ENOUGH) and cells > FIRST_CELLS:
        one = _one_level(prepared, progress, cells=cells)
    if not why and one is not None and _tells_enough(prepared, one):
        why = TELLS_ENOUGH
    if why and one is not None:
        return replace(one, others=(OtherMethod("local", None, 0, f"was not tried: {why}"),))
    local = None
    if not why:
        local, wrong = _tried(lambda: local_recoding(prepared, progress))
        problem = problem or wrong
    if one is not None and local is not None and ENOUGH < _least_possible(one) <= local.loss and cells > FIRST_CELLS:
        one = _one_level(prepared, progress, cells=cells)
    found = sorted((d for d in (one, local) if d is not None), key=lambda d: d.loss)  # equal losses: one level per column
    if not found:
        raise problem or InfeasibleError("no method found a plan that meets the requirements.")
    best = next((d for d in found if not too_little(prepared, d)), found[0])
    others = [OtherMethod(d.method, float(d.loss), d.suppressed(prepared.base)) for d in found if d is not best]
    missing = "lattice" if one is None else "local" if local is None else ""
    if missing:
        others.append(OtherMethod(missing, None, 0, NO_PLAN))
    return replace(best, others=tuple(others))


def _tried(search: Callable[[], Decision]) -> tuple[Decision | None, RequirementError | None]:
    try:
        return search(), None
    except (InfeasibleError, StoppedError) as error:
        return None, error


def _least_possible(decision: Decision) -> float:
    """The least loss that a longer search could reach; ∞ if it could not go lower, or nothing is known of that."""
    return math.inf if decision.proven or not decision.gap else decision.loss - decision.gap


def _tells_enough(prepared: Prepared, decision: Decision) -> bool:
    """Whether a plan with one level per column loses little and leaves every column something to tell."""
    little = decision.loss_name not in ("loss", "ncp") or decision.loss <= ENOUGH
    return little and not blank_columns(blank_shares(prepared, decision)) and not too_little(prepared, decision)


NO_PLAN = "found no plan that meets the requirements"

HARDENED_CELLS = 50_000_000
"""Cells for each of the many searches of a hardened plan."""


def _one_level(prepared: Prepared, progress: Progress, *, cells: int = CELLS) -> Decision:
    cells = min(cells, HARDENED_CELLS) if prepared.policy.hardened else cells
    return resisting(prepared, lambda floor: one_level(prepared, progress, floor, cells=cells))


def _check_list(prepared: Prepared, decision: Decision) -> None:
    if prepared.on_list:
        check_coarse(prepared, safe_harbor_steps(prepared), decision.plan.steps)


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


FRONTIER_CLASSES, FRONTIER_NODES, FRONTIER_LOCAL = 60_000, 20_000, 1_000
"""Base classes and lattice nodes up to which the frontier is drawn; base classes up to which local recoding is part of it."""


def trade_off(prepared: Prepared, decision: Decision) -> tuple[TradeOff, ...]:
    """The least loss found at a few k besides the one asked, by the methods that were compared; the chosen plan is marked.

    Nothing if that is not cheap: a curve of one method only would show more loss than the plan chosen.
    """
    from shoal.search import frontier

    policy, base = prepared.policy, prepared.base
    nodes = prod(h.height + 1 for h in prepared.hierarchies.values())
    with_local = decision.method == "local" and policy.method == "best"
    most = FRONTIER_LOCAL if with_local else FRONTIER_CLASSES
    if decision.method not in ("lattice", "local") or policy.method == "local":
        return ()
    if policy.smallest_class < 2 or base.n_classes > most or nodes > FRONTIER_NODES:
        return ()
    chosen = policy.smallest_class
    ks = sorted(k for k in {2, 3, 5, 10, 20, 50, chosen} if k <= base.n_members)
    points = frontier(
        base,
        prepared.hierarchies,
        [r for r in requirements(prepared) if r.kind != "k"],
        ks=ks,
        suppress=(policy.suppress,),
        loss=policy.optimize,
        weights={c: r.weight for c, r in policy.quasi.items()},
        bounds={c: (r.min_level, r.max_level) for c, r in policy.quasi.items()},
        population=prepared.population,
        people=prepared.people,
    )
    found = [(int(p.k), float(p.loss)) for p in points if p.loss is not None]
    found += _local_losses(prepared, [k for k in ks if k != chosen]) if with_local else []
    found.append((chosen, float(decision.loss)))
    least: dict[int, float | None] = {
        k: min((loss for at, loss in found if at >= k), default=None) for k in ks
    }  # a plan for a larger k is one for this k
    least[chosen] = float(decision.loss)
    return tuple(TradeOff(k, loss, k == chosen) for k, loss in least.items() if loss is not None)


def _local_losses(prepared: Prepared, ks: Sequence[int]) -> list[tuple[int, float]]:
    """The loss of local recoding at each k that it reaches."""
    out = []
    for k in ks:
        others = tuple(r for r in prepared.policy.requirements if not isinstance(r, K))
        at = replace(prepared, policy=replace(prepared.policy, requirements=(K(k), *others)))
        try:
            out.append((k, float(local_recoding(at, silent).loss)))
        except InfeasibleError:
            continue
    return out
