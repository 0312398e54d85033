"""A plan that leaves too little information fails: the run stops and offers the nearest sensible plans with their cost."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shoal.errors import InfeasibleError, ShoalError
from shoal.model.counts.classes import IntArray
from shoal.model.display import written
from shoal.model.requirement import K, ordered
from shoal.release.gate.count_facts import SPELLINGS
from shoal.release.plan.prepare import Prepared, guessed_again
from shoal.release.plan.published_classes import Decision, Shown
from shoal.release.policy.policy import Policy

LOSS_LIMIT = 0.8
"""Loss above which a run stops where the policy says nothing (``allow: {loss: …}``)."""
BLANK_LIMIT = 0.75
"""Share of blank cells of quasi-identifiers above which a run stops where the policy says nothing (``allow: {blank: …}``)."""
OFFER_CELLS, OFFER_CLASSES = 100_000_000, 5_000
"""Cells that the search for one offer may look at, and base classes up to which local recoding is tried for one."""
MOST_OFFERS, MOST_SINGLE = 3, 4
"""Offers, and columns of which each by itself is tried for one."""
Planner = Callable[[Prepared], Decision]
SHARES = (0.02, 0.05, 0.1, 0.2)
"""Shares of records left out that are offered; more is not an offer but a different table."""


@dataclass(frozen=True)
class Offer:
    """A plan near to the requirements that was tried: the change of the policy, its loss, what is still informative.

    A release tries mixtures too and searches longer, so it may lose less than ``loss``.

    ``kind`` is ``method``, ``cells``, ``suppress``, ``k``, ``raise level`` or ``drop column``; the field of the change
    holds its value, if it is one. ``names``: the columns whose bound is lifted or that are left out.
    """

    kind: str
    change: str
    loss: float
    telling: int
    columns: int
    suppressed: int = 0
    suppress: float | None = None
    k: int | None = None
    column: str | None = None
    level: int | None = None
    method: str | None = None
    names: tuple[str, ...] = ()
    sentence: str = ""

    def __post_init__(self) -> None:
        out = f", {self.suppressed:,} records left out" if self.suppressed else ""
        lost = f"loss {_at_most(self.loss)}" + " (columns left out count as lost)" * (self.kind == "drop column")
        sentence = f"{self.change}: {lost}{out}, {self.telling} of {self.columns} columns tell something."
        object.__setattr__(self, "sentence", sentence)


def _at_most(loss: float) -> str:
    """A loss with two digits, rounded up.

    >>> _at_most(0.0), _at_most(0.5), _at_most(0.0851), _at_most(1234.0)
    ('0', 'at most 0.5', 'at most 0.086', 'at most 1,300')
    """
    if loss <= 0:
        return "0"
    step = math.log10(loss) // 1 - 1
    return f"at most {written(math.ceil(loss / 10**step - 1e-9) * 10**step, 2)}"


def check_loss(prepared: Prepared, decision: Decision, plan: Planner) -> None:
    """Refuse a plan above the loss or the blank cells allowed; one that leaves everything blank unless all of it is allowed.

    ``plan`` finds the plan of each changed policy that may be offered."""
    problem = too_little(prepared, decision)
    if not problem:
        return
    tried = offers(prepared, plan)
    raise InfeasibleError(
        f"the best plan found tells too little: {problem}. Nothing was written.",
        hint=f"{nearest_plans(tried)} " * bool(tried)
        + "Or name fewer quasi-identifiers, or accept it with allow: {loss: 1, blank: 1}.",
        alternatives=tried,
    )


def too_little(prepared: Prepared, decision: Decision) -> str:
    """In which way a plan keeps less detail than the policy allows; empty if it keeps enough."""
    most_loss, most_blank = _limits(prepared)
    shares = blank_shares(prepared, decision)
    if not shares:  # nothing to tell, or the policy says itself what every column becomes
        return ""
    gone = blank_columns(shares)
    nothing = len(gone) == len(shares) and most_blank < 1
    if nothing:
        return f"every quasi-identifier would be blank ({', '.join(gone)})"
    if decision.loss_name in ("loss", "ncp") and decision.loss > most_loss:
        problem = f"the loss would be {written(decision.loss, 2)}, and {written(most_loss, 2)} is allowed"
    elif mean_share(shares) > most_blank:
        problem = (
            f"{100 * mean_share(shares):.0f} % of the quasi-identifying cells would be blank, and {100 * most_blank:.0f} % may be"
        )
    else:
        return ""
    if gone:
        problem += f"; {len(gone)} of {len(shares)} quasi-identifiers would be wholly blank ({', '.join(gone)})"
    return problem


def _limits(prepared: Prepared) -> tuple[float, float]:
    """The loss and the share of blank cells that are allowed; who accepts any loss accepts blank cells too."""
    policy = prepared.policy
    loss = LOSS_LIMIT if policy.loss_limit is None else policy.loss_limit
    accepted = 1.0 if policy.loss_limit == 1 else BLANK_LIMIT
    return loss, accepted if policy.blank_limit is None else policy.blank_limit


def with_offers(prepared: Prepared, error: InfeasibleError, plan: Planner) -> InfeasibleError:
    """An error for requirements that no plan meets, with the nearest plans that were tried; its own hint if there are none."""
    tried = offers(prepared, plan)
    hint = ("" if prepared.searched is prepared.base else SPELLINGS) + (nearest_plans(tried) or error.hint or "")
    return InfeasibleError(error.message, hint=hint, alternatives=tried, blocking=error.blocking)


def nearest_plans(tried: Sequence[Offer]) -> str:
    """The offers as a sentence."""
    listed = " ".join(f"{i}. {offer.sentence}" for i, offer in enumerate(tried, start=1))
    return f"Nearest plans: {listed}" if tried else ""


def offers(prepared: Prepared, plan: Planner) -> tuple[Offer, ...]:
    """Up to three plans near to the requirements, of different kinds, each tried; the one that loses least first."""
    if prepared.policy.method == "local" and prepared.base.n_classes > OFFER_CLASSES:
        return ()
    kinds = (_by_method, _by_cells, _by_suppression, _by_size, _by_level, _by_column)
    offers_found = [offer for kind in kinds if (offer := kind(prepared, plan)) is not None]
    return tuple(sorted(offers_found, key=lambda o: o.loss)[:MOST_OFFERS])


def _by_method(prepared: Prepared, plan: Planner) -> Offer | None:
    """The planner's choice, if the policy names a method."""
    named = prepared.policy.method in ("lattice", "local")
    free = replace(prepared.policy, method="best", local_cells=None)
    return _try_offer(prepared, plan, free, "method", "method: best", method="best") if named else None


def _by_cells(prepared: Prepared, plan: Planner) -> Offer | None:
    """Values of the columns that may not be generalized kept, or blanked one by one."""
    rules, trees = prepared.policy.quasi, prepared.hierarchies
    kept = [c for c, r in rules.items() if r.max_level == 0 < trees[c].height and len(trees[c].levels[-1].labels) == 1]
    if not kept or prepared.base.n_classes > OFFER_CLASSES:
        return None
    flat = {c: replace(trees[c], levels=(trees[c].levels[0], trees[c].levels[-1])) for c in kept}
    quasi = {**rules, **{c: replace(rules[c], max_level=None, hierarchy="flat") for c in kept}}
    policy = replace(prepared.policy, quasi=quasi, method="local", local_cells="hierarchy")
    change = f"hierarchy: flat and no max_level for {_list_names(kept)}, method: local, cells: hierarchy (values kept or blanked)"
    return _try_offer(replace(prepared, hierarchies={**trees, **flat}), plan, policy, "cells", change)


def _by_suppression(prepared: Prepared, plan: Planner) -> Offer | None:
    """The least share of records left out that works."""
    policy = prepared.policy
    return _first(
        _try_offer(prepared, plan, replace(policy, suppress=s), "suppress", f"allow: {{suppress: {s}}}", suppress=s)
        for s in SHARES
        if s > policy.suppress
    )


def _by_size(prepared: Prepared, plan: Planner) -> Offer | None:
    """The largest smaller group of those tried that works; levels that were guessed for k are guessed again."""
    policy, k = prepared.policy, prepared.policy.smallest_class
    if any(r.needs_sample for r in policy.requirements):  # k follows from another requirement
        return None
    others = [r for r in policy.requirements if not isinstance(r, K)]
    sizes = [n for n in sorted({k // 2, 3, 2} - {0, 1}, reverse=True) if n < k]
    policies = {n: replace(policy, requirements=ordered([K(n), *others])) for n in sizes}
    return _first(_try_offer(guessed_again(prepared, at), plan, at, "k", f"k: {n}", k=n) for n, at in policies.items())


def _by_level(prepared: Prepared, plan: Planner) -> Offer | None:
    """The bounded column whose bound is best lifted; if no single one helps, the fewest found that do together."""
    rules, trees = prepared.policy.quasi, prepared.hierarchies
    bounded = [c for c in _finest(prepared) if (top := rules[c].max_level) is not None and top < trees[c].height]

    def lifted(names: Sequence[str]) -> Offer | None:
        policy = replace(prepared.policy, quasi={c: replace(r, max_level=None) if c in names else r for c, r in rules.items()})
        column, level = (names[0], trees[names[0]].height) if len(names) == 1 else (None, None)
        return _try_offer(
            prepared,
            plan,
            policy,
            "raise level",
            f"no max_level for {_list_names(names)}",
            names=(*names,),
            column=column,
            level=level,
        )

    return _fewest(bounded, lifted)


def _by_column(prepared: Prepared, plan: Planner) -> Offer | None:
    """One of the finest columns left out; if none helps, the fewest of the finest found that do together."""
    rules, trees = prepared.policy.quasi, prepared.hierarchies

    def without(names: Sequence[str]) -> Offer | None:
        gone = {c: replace(rules[c], min_level=trees[c].height, max_level=trees[c].height) for c in names}
        policy, column = replace(prepared.policy, quasi={**rules, **gone}), names[0] if len(names) == 1 else None
        return _try_offer(prepared, plan, policy, "drop column", f"{_list_names(names)} left out", names=(*names,), column=column)

    return _fewest(_finest(prepared)[:-1], without)


def _fewest(columns: Sequence[str], tried: Callable[[Sequence[str]], Offer | None]) -> Offer | None:
    """The best change of one of the first columns; if none works, of the first ones that work together, less those not needed."""
    singles = [offer for c in columns[:MOST_SINGLE] if (offer := tried([c])) is not None]
    if singles or len(columns) < 2:
        return min(singles, key=lambda o: o.loss, default=None)
    together = next(((o, columns[:n]) for n in range(2, len(columns) + 1) if (o := tried(columns[:n])) is not None), None)
    if together is None:
        return None
    offer, names = together
    for c in names[:-1][:MOST_SINGLE]:
        rest = [n for n in names if n != c]
        fewer = tried(rest) if len(rest) > 1 else None
        offer, names = (fewer, rest) if fewer is not None else (offer, names)
    return offer


def _finest(prepared: Prepared) -> list[str]:
    return sorted(prepared.quasi, key=lambda c: -prepared.hierarchies[c].n_leaves)


def _first(tried: Iterable[Offer | None]) -> Offer | None:
    return next((offer for offer in tried if offer is not None), None)


def _list_names(names: Sequence[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)


def _try_offer(prepared: Prepared, plan: Planner, policy: Policy, kind: str, change: str, **value: Any) -> Offer | None:
    """The offer, if the planner finds a plan for the changed policy that stays inside what is allowed."""
    at = replace(prepared, policy=policy)
    try:
        decision = plan(at)
    except ShoalError:
        return None
    if too_little(at, decision):
        return None
    kept = sum(len(set(labels)) > 1 for labels in decision.labels)
    gone = decision.suppressed(prepared.base)
    return Offer(kind, change, float(decision.loss), kept, len(decision.labels), gone, **value)


def blank_shares(prepared: Prepared, decision: Decision) -> dict[str, float]:
    """Share of blank cells among the published records, by quasi-identifier that is judged."""
    base = prepared.base
    out = {}
    for j, name in enumerate(base.columns):
        if prepared.n_values(name) < 2 or _is_fixed(prepared, name):
            continue
        top = prepared.hierarchies[name].levels[-1].labels[0]
        shown = shown_records(prepared, decision, j)
        blank = np.array([label == top for label in (None, *decision.labels[j])])
        one = int(np.count_nonzero(shown)) == 1
        out[name] = 1.0 if one else float(shown[blank].sum() / shown.sum())
    return out


def shown_records(prepared: Prepared, decision: Decision | Shown, j: int) -> IntArray:
    """Published records with each label of the j-th quasi-identifier, those with a missing value first."""
    base = prepared.base
    kept = np.where(decision.stays, base.records_by_class, 0)
    return np.bincount(decision.codes[j] + 1, weights=kept, minlength=len(decision.labels[j]) + 1).astype(np.int64)


def _is_fixed(prepared: Prepared, name: str) -> bool:
    rule, height = prepared.policy.quasi[name], prepared.hierarchies[name].height
    lowest = (rule.min_level or 0) if prepared.coarser is None else prepared.coarser.asked[name]
    return lowest >= (height if rule.max_level is None else rule.max_level)


def blank_columns(shares: Mapping[str, float]) -> tuple[str, ...]:
    """The columns that are blank in every record."""
    return tuple(name for name, share in shares.items() if share == 1.0)


def mean_share(shares: Mapping[str, float]) -> float:
    """Share of all cells that are blank; 0 where no column held several values."""
    return sum(shares.values()) / len(shares) if shares else 0.0
