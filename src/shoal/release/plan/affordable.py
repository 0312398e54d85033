"""A plan that loses too much is no success: it stops the run, and the nearest sensible plans are offered with their cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from shoal.errors import InfeasibleError, ShoalError
from shoal.model.requirement import K, Requirement
from shoal.release.plan.prepare import Prepared, requirements
from shoal.release.plan.published_classes import Decision

LOSS_LIMIT = 0.8
"""Loss above which the command stops where the policy says nothing (``allow: {loss: …}``)."""
OFFER_SECONDS = 2.0
"""Seconds that the search for one offer may take."""


def check_loss(prepared: Prepared, decision: Decision) -> None:
    """Refuse a plan above the loss allowed, and one that leaves every quasi-identifier blank unless a loss of 1 is allowed."""
    limit = _limit(prepared)
    blank, several = blank_columns(prepared, decision)
    nothing = several > 0 and len(blank) == several and limit < 1
    above = decision.loss_name in ("loss", "ncp") and decision.loss > limit
    if not nothing and not above:
        return
    found = f"every quasi-identifier would be blank ({', '.join(blank)})" if nothing else f"the loss would be {decision.loss:.2g}"
    if blank and not nothing:
        found += f", with {len(blank)} of {several} quasi-identifiers blank ({', '.join(blank)})"
    offers = list(_offers(prepared))
    near = " ".join(f"{i}. {offer}." for i, offer in enumerate(offers, start=1))
    raise InfeasibleError(
        f"the plan that loses least tells too little: {found}; a loss of {limit:.2g} is allowed. Nothing was written.",
        hint=f"Nearest plans: {near} " * bool(near) + "Or name fewer quasi-identifiers, or accept it with allow: {loss: 1}.",
    )


def _limit(prepared: Prepared) -> float:
    said = prepared.policy.loss_limit
    return LOSS_LIMIT if said is None else said


def blank_columns(prepared: Prepared, decision: Decision) -> tuple[tuple[str, ...], int]:
    """Quasi-identifiers of which the published records hold one value, and how many held several before."""
    several = [j for j, c in enumerate(prepared.base.codes) if len(np.unique(c)) > 1]
    blank = tuple(prepared.quasi[j] for j in several if len(np.unique(decision.released.codes[j])) == 1)
    return blank, len(several)


def _offers(prepared: Prepared) -> Iterator[str]:
    """Plans near to what was asked: more suppression, a smaller k, a quasi-identifier less; each with its loss."""
    policy, asked = prepared.policy, requirements(prepared)
    k = policy.smallest_class
    for suppress in (0.05, 0.1, 0.2):
        if suppress > policy.suppress:
            yield from _tried(prepared, f"allow: {{suppress: {suppress}}}", asked, suppress=suppress)
    for smaller in sorted({k // 2, 3, 2} - {0, 1}, reverse=True):
        if smaller < k:
            fewer = [K(smaller) if isinstance(r, K) else r for r in asked]
            yield from _tried(prepared, f"k: {smaller}", fewer)
    finest = sorted(prepared.quasi, key=lambda c: -prepared.hierarchies[c].n_leaves)
    for column in finest[:2] if len(prepared.quasi) > 1 else ():
        top = prepared.hierarchies[column].height
        yield from _tried(prepared, f"'{column}' left out", asked, bounds={column: (top, top)})


def _tried(
    prepared: Prepared,
    words: str,
    asked: list[Requirement],
    *,
    suppress: float | None = None,
    bounds: Mapping[str, tuple[int, int]] | None = None,
) -> Iterator[str]:
    """The offer, where it is found quickly and stays inside the loss allowed."""
    from shoal.search import lattice

    policy = prepared.policy
    free = {c: (r.min_level, r.max_level) for c, r in policy.quasi.items()}
    try:
        found = lattice(
            prepared.base,
            prepared.hierarchies,
            asked,
            suppress=policy.suppress if suppress is None else suppress,
            loss=policy.optimize,
            weights={c: r.weight for c, r in policy.quasi.items()},
            bounds={**free, **(bounds or {})},
            population=prepared.population,
            people=prepared.people,
            time_budget=OFFER_SECONDS,
        )
    except ShoalError:
        return
    kept = sum(level < prepared.hierarchies[c].height for c, level in found.levels.items())
    if found.loss <= _limit(prepared) and kept:
        yield f"{words}: loss {found.loss:.2g}, {kept} of {len(found.levels)} columns tell something"
