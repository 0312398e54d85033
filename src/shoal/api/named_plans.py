"""Plans to choose from: the planner's own at the size asked, and the best with one level per column at several sizes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from shoal.api.improvement import Improvement, freed
from shoal.errors import InfeasibleError, ShoalError
from shoal.model.display import Progress, silent
from shoal.model.requirement import K, MaxRisk
from shoal.release.plan.decide import decide
from shoal.release.plan.prepare import Prepared
from shoal.release.policy.policy import Policy

SIZES = (2, 3, 5, 10, 20, 50, 100)
"""Sizes of the smallest group besides the one that is asked for."""
CELLS = 1_000_000_000
"""Work of the search for each."""
MOST_BESIDE = 16
"""Plans that are tried beside each one found."""


@dataclass(frozen=True)
class NamedPlan:
    """A plan: the smallest group it was searched for, its levels and what they cost. ``name`` is empty for most."""

    k: int
    levels: Mapping[str, int]
    loss: float
    suppressed: int
    records: int
    name: str = ""
    proven: bool = False


@dataclass(frozen=True)
class Plans:
    """Plans by the size of the smallest group; ``offers`` says what could be asked instead, where nothing can be met."""

    asked: int
    plans: tuple[NamedPlan, ...]
    least: NamedPlan | None = None
    """What a release does if the policy fixes no level, if that is local recoding: it loses less than the others."""
    tried: tuple[tuple[int, float], ...] = ()
    """Smallest group and loss of plans one level beside those found, which lose more."""
    offers: tuple[Mapping[str, Any], ...] = ()
    problem: str = ""
    hierarchies: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """The guessed levels that the numbers of the plans count, by column, as a policy states them."""

    def to_json(self) -> dict[str, Any]:
        return {
            "asked": self.asked,
            "plans": [asdict(p) for p in self.plans],
            "least": None if self.least is None else asdict(self.least),
            "tried": [list(t) for t in self.tried],
            "offers": [dict(o) for o in self.offers],
            "problem": self.problem,
            "hierarchies": {c: dict(rule) for c, rule in self.hierarchies.items()},
        }


def find_plans(
    prepared: Prepared,
    *,
    locked: Sequence[str] = (),
    progress: Progress = silent,
    best: Callable[[Plans], None] | None = None,
) -> Plans:
    """Search at the size asked first, then at others; ``best`` hears of every new plan, so that nobody waits for the last.

    Locked columns keep the level that the policy gives them.
    """
    policy = freed(prepared.policy, tuple(locked))
    asked, most = max(policy.smallest_class, 2), prepared.base.n_members
    sizes = [asked, *(k for k in SIZES if k != asked and k <= most)]
    found: list[NamedPlan] = []
    tried: list[tuple[int, float]] = []
    offers: tuple[Mapping[str, Any], ...] = ()
    problem = ""
    progress(0.0, f"searching for groups of {asked}")
    least = _least(prepared, policy) if policy.method == "best" and not locked else None
    for i, k in enumerate(sizes):
        progress(i / len(sizes), f"searching for groups of {k}")
        try:
            found.append(_plan(prepared, policy, k))
            tried += _beside(prepared, policy, found[-1])
        except InfeasibleError as error:
            if k == asked:
                problem, offers = error.message, tuple(asdict(o) for o in getattr(error, "alternatives", ()))
        except ShoalError as error:
            if k == asked:
                problem = error.message
        if best is not None:
            best(Plans(asked, named(found, asked), least, tuple(tried), offers, problem, prepared.guessed))
    return Plans(asked, named(found, asked), least, tuple(tried), offers, problem, prepared.guessed)


def _least(prepared: Prepared, policy: Policy) -> NamedPlan | None:
    """What a release of this policy does, if that is local recoding."""
    try:
        decision = decide(replace(prepared, policy=policy))
    except ShoalError:  # the search for one level per column says why
        return None
    if decision.method != "local":
        return None
    return NamedPlan(policy.smallest_class, {}, float(decision.loss), 0, prepared.base.n_records, "least loss")


def _plan(prepared: Prepared, policy: Policy, k: int) -> NamedPlan:
    """The plan that loses least where every group has k; how much it loses is for people to judge here."""
    decision = decide(replace(prepared, policy=_at_size(policy, k)), cells=CELLS)
    gone, records = decision.suppressed(prepared.base), prepared.base.n_records
    return NamedPlan(k, dict(decision.levels), float(decision.loss), gone, records, proven=decision.proven)


def _at_size(policy: Policy, k: int) -> Policy:
    """The policy with another smallest group, and without limits to what is lost."""
    others = tuple(r for r in policy.requirements if not isinstance(r, K | MaxRisk))
    return replace(policy, requirements=(K(k), *others), method="lattice", loss_limit=1.0, blank_limit=1.0)


def _beside(prepared: Prepared, policy: Policy, plan: NamedPlan) -> list[tuple[int, float]]:
    """The plans one level beside a plan that work too: what the search passed over, for the picture of it."""
    near = Improvement(replace(prepared, policy=_at_size(policy, plan.k)))
    moves = [(c, n + d) for c, n in plan.levels.items() for d in (-1, 1) if 0 <= n + d <= near.heights[c]]
    tries = [near.at({**plan.levels, c: n}) for c, n in moves[:MOST_BESIDE]]
    return [(plan.k, t.loss) for t in tries if t.met]


def named(plans: Sequence[NamedPlan], asked: int) -> tuple[NamedPlan, ...]:
    """The plans in order of k; of those that meet the requirements, the finest, the safest and one between have names.

    Balanced is the plan that gains most safety (on a doubling scale) for the detail it gives up.

    >>> some = [NamedPlan(k, {}, loss, 0, 100) for k, loss in ((2, 0.1), (5, 0.2), (10, 0.25), (50, 0.9))]
    >>> [(p.k, p.name) for p in named(some, 5)]
    [(2, ''), (5, 'most detail'), (10, 'balanced'), (50, 'safest')]
    >>> [(p.k, p.name) for p in named(some[:2], 5)]
    [(2, ''), (5, 'most detail')]
    """
    ordered = sorted((replace(p, name="") for p in plans), key=lambda p: p.k)
    good = [p for p in ordered if p.k >= asked]
    if not good:
        return tuple(ordered)
    first, last = good[0], good[-1]
    names = {first.k: "most detail"}
    if last is not first:
        names[last.k] = "safest"
    if good[1:-1]:
        wide = math.log(last.k / first.k)
        deep = max(last.loss - first.loss, 1e-9)
        gain = {p.k: math.log(p.k / first.k) / wide - (p.loss - first.loss) / deep for p in good[1:-1]}
        names[max(gain, key=lambda k: (gain[k], -k))] = "balanced"
    return tuple(replace(p, name=names.get(p.k, "")) for p in ordered)
