"""One planner behind every door: command, Python, draft and studio get the same plan for the same question.

Takes    a prepared table and its policy, or a plan made earlier
Returns  the decision, with what each other method would cost or why it was not tried
Keeps    no method is left out without a reason; work is counted, not timed, so that the plan does not depend on the machine

``method: best`` (the default) tries one level per column and local recoding with hierarchy values, with sets of values, with
ranges of numbers and with one level for some columns, each with as much suppression as the policy allows. It uses the one that
loses least. A policy that names a method gets that method. If the policy states an objective, the plan that serves it best is
used instead, of these and of those that hold the columns of the objective at their lowest level.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import prod

from shoal.engines.core.memory import bytes_to_search, left_for_data, refused
from shoal.errors import InfeasibleError, RequirementError, StoppedError
from shoal.model.certificate.certificate import METHODS
from shoal.model.certificate.parts import OtherMethod, TradeOff
from shoal.model.counts.classes import IntArray
from shoal.model.display import Progress, silent, written
from shoal.model.plan import Plan
from shoal.model.requirement import K
from shoal.release.plan.column_steps import check_coarse, safe_harbor_steps
from shoal.release.plan.given_plan import given_plan, probabilistic
from shoal.release.plan.loss_limits import OFFER_CELLS, OFFER_CLASSES, check_loss, too_little, with_offers
from shoal.release.plan.methods import CELLS, NARROW, local_recoding, local_unfit, one_level, resisting, with_notes
from shoal.release.plan.prepare import Prepared, requirements
from shoal.release.plan.published_classes import Decision
from shoal.release.policy.policy import Policy

MOST_LISTED = 2_000_000
"""Nodes of a lattice up to which a search keeps a bound for each."""
MOST_LOCAL = 50_000
"""Base classes up to which local recoding is tried unless the policy names it."""
FIRST_CELLS = 200_000_000
"""Cells that the first search for one level per column may look at, if local recoding is tried beside it. It goes on if it may
lose less than local recoding."""
LARGER, MOST_REPEATED = (2, 4, 8), 10_000
"""Factors of k that local recoding is repeated with if known columns find too much; base classes up to which it is."""
MIXED, MIXED_RUN, BLOCK = 400_000_000, 10_000_000, 4096
"""Work for local recodings with one level for some columns (classes × columns × classes that each is compared with), the fixed
work of each of them, once more for each column beyond :data:`NARROW`, and the most classes that a class is compared with."""
MOSTLY = 0.7
"""Share of its domain that a column loses in the best local recoding, from which on it is also held at its highest level."""
NEAR = 1.1
"""A column is held beside others if holding it alone loses at most this times the least."""
CELLS_TRIED = {"hierarchy": "values", "sets": "sets", "ranges": "ranges"}
"""Cells of a local recoding that are tried unless the policy names one, and the name of each among the methods compared."""
MOST_RANGED = 5_000
"""Base classes up to which ranges are tried, if a column has numbers: other records share a class, which sometimes loses less."""


class StoppedSearchError(KeyboardInterrupt):
    """The search was interrupted; ``best`` is the plan that loses least of those known by then."""

    def __init__(self, best: Decision, method: str) -> None:
        super().__init__(_best_so_far(method, best.loss_name, best.loss, best.levels if method == "lattice" else {}))
        self.best = best


def _best_so_far(method: str, loss_name: str, loss: float, levels: Mapping[str, int]) -> str:
    at = f" (levels: {', '.join(f'{column} {level}' for column, level in levels.items())})" if levels else ""
    return f"Best plan so far: {METHODS.get(method, method)}, {loss_name} {written(loss, 3)}{at}."


def decide(
    prepared: Prepared,
    *,
    given: Plan | None = None,
    progress: Progress = silent,
    cells: int = CELLS,
    later: bool = False,
    decisions: dict[str, Decision | None] | None = None,
) -> Decision:
    """The plan that meets the policy and loses least; or the plan given, checked again.

    ``cells`` is the work that the search for one level per column may take; with little of it, as for a draft, local recoding
    tries less, too. A ``later`` release, which is compared with earlier
    ones, gets one level per column unless the policy names a method: local recoding would cut across the earlier groups.
    ``decisions`` receives the plan of each method as soon as it is known. If the search is interrupted after the first of them,
    :class:`StoppedSearchError` has the best.
    """
    decisions = {} if decisions is None else decisions
    if given is not None:
        decision = given_plan(prepared, given, progress, "given plan", "The plan was made earlier and carried over.")
        _check_list(prepared, decision)
        return _with_source(prepared, decision)
    check_memory(prepared)

    def offered(changed: Prepared) -> Decision:
        return _by_method(changed, silent, OFFER_CELLS, later or changed.base.n_classes > OFFER_CLASSES)

    try:
        decision = _by_method(prepared, progress, cells, later, decisions)
    except KeyboardInterrupt as stopped:
        held = [(one, method) for method, one in decisions.items() if one is not None]
        if held:
            raise StoppedSearchError(*min(held, key=lambda pair: pair[0].loss)) from None
        from shoal.search.full_domain.objective import InterruptedSearchError

        if isinstance(stopped, InterruptedSearchError):
            sentence = _best_so_far("lattice", stopped.loss_name, stopped.value, stopped.levels)
            raise KeyboardInterrupt(sentence) from None
        raise
    except InfeasibleError as error:
        if prepared.policy.method == "probabilistic":  # its own hint says more than plans of other methods
            raise
        raise with_offers(prepared, error, offered) from None
    _check_list(prepared, decision)
    check_loss(prepared, decision, offered)
    return _with_source(prepared, decision)


def _with_source(prepared: Prepared, decision: Decision) -> Decision:
    """The decision with the source of the number of people that it rests on, for the certificate."""
    return replace(decision, notes=(*decision.notes, *filter(None, [prepared.population_from])))


def _by_method(
    prepared: Prepared, progress: Progress, cells: int, later: bool, decisions: dict[str, Decision | None] | None = None
) -> Decision:
    method = prepared.policy.method
    if method == "best":
        return _best(prepared, progress, cells, "it is compared with an earlier release" if later else "", decisions)
    if method == "lattice":
        return _one_level(prepared, progress, cells=cells)
    return _local(prepared, progress) if method == "local" else probabilistic(prepared, progress)


def _best(
    prepared: Prepared, progress: Progress, cells: int, why: str = "", decisions: dict[str, Decision | None] | None = None
) -> Decision:
    """The method that loses least, one level per column if it loses no more than local recoding; the others with their cost."""
    why = why or local_unfit(prepared)
    if not why and prepared.base.n_classes > MOST_LOCAL:
        why = f"the table has more than {MOST_LOCAL:,} classes"
    local = {} if why else dict(_local_policies(prepared))
    decisions = {} if decisions is None else decisions
    _by_each(prepared, progress, cells, local, decisions)
    plans = sorted(((name, d) for name, d in decisions.items() if d is not None), key=lambda pair: round(pair[1].loss, 12))
    best, decision, missed = _chosen(prepared, progress, plans, local)
    others = [_cost(name, d, prepared, decision, missed) for name, d in plans if name != best]
    others.sort(key=lambda other: other.loss is None)
    others += [OtherMethod(name, None, 0, NO_PLAN) for name, d in decisions.items() if d is None]
    others += [OtherMethod("local", None, 0, f"was not tried: {why}")] if why else []
    others += [OtherMethod("mixed", None, 0, f"was not tried: {TOO_MANY}")] if local and "mixed" not in decisions else []
    return replace(decision, others=tuple(others))


def _chosen(
    prepared: Prepared, progress: Progress, plans: Sequence[tuple[str, Decision]], local: Mapping[str, Policy]
) -> tuple[str, Decision, frozenset[str]]:
    """The plan that loses least or, if the policy states one, serves the objective best; as :func:`_finding_few`."""
    if not prepared.policy.objective:
        return _finding_few(prepared, progress, _telling(prepared, plans), local)
    from shoal.release.plan.objective import ranked, stated  # models and tables of counts, for few policies

    serving = [*plans, *(_serving(prepared, progress) if local else ())]
    tried, wrong = ranked(prepared, _telling(prepared, sorted(serving, key=lambda pair: round(pair[1].loss, 12))))
    best, decision, missed = _finding_few(prepared, progress, tried, {})
    return best, stated(prepared, decision, tried, wrong), missed


def _telling(prepared: Prepared, plans: Sequence[tuple[str, Decision]]) -> Sequence[tuple[str, Decision]]:
    return [pair for pair in plans if not too_little(prepared, pair[1])] or plans


def _serving(prepared: Prepared, progress: Progress) -> list[tuple[str, Decision]]:
    """Local recodings that hold columns at their lowest level: some or all of a table of counts, or each column by itself."""
    rules, named = prepared.policy.quasi, prepared.policy.objective.get("counts", ())
    sizes = range(1, min(len(named), len(rules) - 1) + 1) if named else (1,)
    some = (columns for n in sizes for columns in itertools.combinations(named or rules, n))
    return [
        ("held", d) for d in _hold_levels(prepared, progress, ({c: rules[c].min_level or 0 for c in columns} for columns in some))
    ]


def _by_each(
    prepared: Prepared, progress: Progress, cells: int, local: Mapping[str, Policy], decisions: dict[str, Decision | None]
) -> None:
    """Put the plan of each method into ``decisions``; None where it found none, an error if none did."""
    first = min(cells, FIRST_CELLS) if local else cells
    one, problem = _try_search(lambda: _one_level(prepared, progress, cells=first))
    decisions["lattice"] = one
    known: dict[Hashable, IntArray] = {}
    thorough = cells >= FIRST_CELLS
    for name, policy in local.items():
        at = replace(prepared, policy=policy)
        decisions[name], wrong = _try_search(lambda at=at: local_recoding(at, progress, thorough=thorough, known=known))  # type: ignore[misc]
        problem = problem or wrong
    n, columns = prepared.base.n_classes, len(prepared.quasi)
    runs = MIXED // (n * min(n, BLOCK) * columns + MIXED_RUN * max(1, columns - NARROW))
    if local and cells >= FIRST_CELLS and runs:
        recoded = [d for name, d in decisions.items() if d is not None and name in local]
        lost = min(recoded, key=lambda d: d.loss).lost if recoded else {}
        decisions["mixed"] = _mixed(prepared, progress, runs, [c for c, share in lost.items() if share >= MOSTLY])
    least = min((d.loss for name, d in decisions.items() if d is not None and name != "lattice"), default=math.inf)
    if one is not None and cells > first and not one.proven and one.gap and one.loss - one.gap <= least:
        decisions["lattice"] = _one_level(prepared, progress, cells=cells)
    if not any(decisions.values()):
        raise problem or InfeasibleError("no method found a plan that meets the requirements.")


def _mixed(prepared: Prepared, progress: Progress, runs: int, lost: Collection[str]) -> Decision | None:
    """The local recoding that loses least of those tried with one level for some columns; None if there is none.

    First each column that the policy leaves open is held at each level that tells something, the lowest levels and columns with
    few values first; the columns that are ``lost`` to a recoding of all of them are also held at their highest, which comes with
    the lowest. The best stays held; the others that came near to it are held beside it, while that loses less.
    """
    rules, trees = prepared.policy.quasi, prepared.hierarchies
    free = [c for c in prepared.quasi if rules[c].min_level is rules[c].max_level is None]
    most = len(prepared.quasi) - 1 - sum(r.fixed for r in rules.values())
    pins = [(c, level) for c in free for level in range(trees[c].height + (c in lost))]
    pins.sort(key=lambda p: (p[1] % max(1, trees[p[0]].height), trees[p[0]].n_leaves, p[1]))
    best, held = None, dict[str, int]()
    while len(held) < most and pins[:runs]:
        decided = [(d, pin) for pin in pins[:runs] for d in _hold_levels(prepared, progress, [{**held, pin[0]: pin[1]}])]
        decided.sort(key=lambda pair: pair[0].loss)
        if not decided or (best is not None and decided[0][0].loss >= best.loss):
            break
        runs = max(0, runs - len(pins))
        best, (column, level) = decided[0]
        held[column] = level
        pins = [pin for d, pin in decided if pin[0] not in held and d.loss <= NEAR * best.loss]
    return best


def _hold_levels(prepared: Prepared, progress: Progress, pins: Iterable[Mapping[str, int]]) -> Iterator[Decision]:
    """The local recoding with these levels for these columns, of each of the pins that has one."""
    policy = replace(prepared.policy, local_cells=prepared.policy.local_cells or "sets")
    for levels in pins:
        held = {c: replace(policy.quasi[c], min_level=level, max_level=level) for c, level in levels.items()}
        at = replace(prepared, policy=replace(policy, quasi={**policy.quasi, **held}))
        decision, _problem = _try_search(lambda at=at: local_recoding(at, progress))  # type: ignore[misc]
        if decision is not None:
            yield decision


def _finding_few(
    prepared: Prepared, progress: Progress, plans: Sequence[tuple[str, Decision]], local: Mapping[str, Policy]
) -> tuple[str, Decision, frozenset[str]]:
    """The first of these plans, by loss, in which known columns find few records, or a local recoding with larger classes that
    loses less; and the names of those in which they find too many. If they do in all, the first."""
    from shoal.release.make.known_columns import finds_few  # writes a file, and is seldom needed

    missed = [name for name, _ in itertools.takewhile(lambda pair: not finds_few(prepared, pair[1]), plans)]
    held = [*plans[len(missed) : len(missed) + 1]]
    for name in (n for n in missed if n in local):
        larger = _with_larger_classes(replace(prepared, policy=local[name]), progress)
        held += [(name, larger)] if larger is not None and not too_little(prepared, larger) else []
    best, decision = min(held or plans[:1], key=lambda pair: pair[1].loss)
    return best, decision, frozenset(missed)


def _cost(name: str, made: Decision, prepared: Prepared, best: Decision, missed: Collection[str]) -> OtherMethod:
    if name in missed:
        return OtherMethod(name, None, 0, TOO_FINE if made.loss < best.loss else NO_BETTER)
    return OtherMethod(name, float(made.loss), made.suppressed(prepared.base))


def _with_larger_classes(prepared: Prepared, progress: Progress) -> Decision | None:
    """The local recoding with the smallest classes, of those tried, in which known columns find few records."""
    from shoal.release.make.known_columns import finds_few

    for factor in LARGER if prepared.base.n_classes <= MOST_REPEATED else ():
        smallest = factor * max(prepared.policy.smallest_class, 1)
        decision, _problem = _try_search(lambda smallest=smallest: local_recoding(prepared, progress, smallest=smallest))  # type: ignore[misc]
        if decision is not None and finds_few(prepared, decision):
            return with_notes(decision, (LARGER_CLASSES.format(smallest),), proven=False)
    return None


def _local(prepared: Prepared, progress: Progress) -> Decision:
    from shoal.release.make.known_columns import finds_few

    decision = local_recoding(prepared, progress)
    return decision if finds_few(prepared, decision) else _with_larger_classes(prepared, progress) or decision


def _local_policies(prepared: Prepared) -> list[tuple[str, Policy]]:
    """The local recodings that a policy leaves open, each with its name among the methods compared."""
    from shoal.search.local_recoding.published import is_number

    policy, base = prepared.policy, prepared.base
    if policy.local_cells is not None:
        return [("local", policy)]
    ranged = base.n_classes <= MOST_RANGED and any(is_number(values.type) for values in base.categories)
    names = {cells: name for cells, name in CELLS_TRIED.items() if cells != "ranges" or ranged}
    return [(name, replace(policy, local_cells=cells)) for cells, name in names.items()]


def _try_search(search: Callable[[], Decision]) -> tuple[Decision | None, RequirementError | None]:
    try:
        return search(), None
    except (InfeasibleError, StoppedError) as error:
        return None, error


LARGER_CLASSES = "Classes of at least {}, so that known columns find no more records than allowed."
TOO_FINE = "loses less, but more records can be found by known columns than allowed"
NO_BETTER = "loses no less, and more records can be found by known columns than allowed"
TOO_MANY = "it would take too long for so many classes or columns"
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
    if decision.method not in ("lattice", "local") or policy.method == "local" or policy.objective:
        return ()
    if policy.smallest_class < 2 or base.n_classes > most or nodes > FRONTIER_NODES:
        return ()
    chosen = policy.smallest_class
    ks = sorted(k for k in {2, 3, 5, 10, 20, 50, chosen} if k <= base.n_members)
    points = frontier(
        prepared.searched,
        prepared.hierarchies,
        [r for r in requirements(prepared) if r.kind != "k"],
        ks=ks,
        suppress=(policy.suppress,),
        loss=policy.optimize,
        weights=policy.importance,
        bounds=policy.level_bounds,
        population=prepared.population,
        people=prepared.people,
    )
    points_found = [(int(p.k), float(p.loss)) for p in points if p.loss is not None]
    points_found += _local_losses(prepared, [k for k in ks if k != chosen]) if with_local else []
    points_found.append((chosen, float(decision.loss)))
    least: dict[int, float | None] = {
        k: min((loss for at, loss in points_found if at >= k), default=None) for k in ks
    }  # a plan for a larger k is one for this k
    least[chosen] = float(decision.loss)
    return tuple(TradeOff(k, loss, k == chosen) for k, loss in least.items() if loss is not None)


def _local_losses(prepared: Prepared, ks: Sequence[int]) -> list[tuple[int, float]]:
    """The loss of each local recoding at each k that it reaches."""
    out: list[tuple[int, float]] = []
    known: dict[Hashable, IntArray] = {}
    for k in ks:
        others = tuple(r for r in prepared.policy.requirements if not isinstance(r, K))
        at_k = replace(prepared.policy, requirements=(K(k), *others))
        for _, local in _local_policies(replace(prepared, policy=at_k)):
            at = replace(prepared, policy=local)
            decision, _problem = _try_search(lambda at=at: local_recoding(at, silent, known=known))  # type: ignore[misc]
            out += [(k, float(decision.loss))] if decision is not None else []
    return out
