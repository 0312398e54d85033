"""Safety against detail: the loss of the best plan at a few k, beside the plan that was chosen."""

from __future__ import annotations

from math import prod

from shoal.model.certificate.parts import TradeOff
from shoal.release.plan.prepare import Prepared, requirements
from shoal.release.plan.published_classes import Decision

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
