"""A plan that leaves too little information fails: the run stops and offers the nearest sensible plans with their cost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from shoal.errors import InfeasibleError, ShoalError
from shoal.model.counts.classes import IntArray
from shoal.model.display import silent, written
from shoal.model.requirement import K
from shoal.release.plan.prepare import Prepared, requirements
from shoal.release.plan.published_classes import Decision, Shown

LOSS_LIMIT = 0.8
"""Loss above which a run stops where the policy says nothing (``allow: {loss: …}``)."""
BLANK_LIMIT = 0.75
"""Share of blank cells of quasi-identifiers above which a run stops where the policy says nothing (``allow: {blank: …}``)."""
OFFER_CELLS, OFFER_CLASSES = 100_000_000, 10_000
"""Cells that the search for one offer may look at, and base classes up to which local recoding is tried for one."""
MOST_OFFERS = 3
SHARES = (0.02, 0.05, 0.1, 0.2)
"""Shares of records left out that are offered; more is not an offer but a different table."""


@dataclass(frozen=True)
class Offer:
    """A plan near to the requirements that was tried: the change of the policy, its loss, what is still informative.

    ``kind`` is ``method``, ``suppress``, ``k``, ``raise level`` or ``drop column``; the field of the change holds its value.
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
    sentence: str = ""

    def __post_init__(self) -> None:
        out = f", {self.suppressed:,} records left out" if self.suppressed else ""
        told = f"{self.change}: loss {written(self.loss, 2)}{out}, {self.telling} of {self.columns} columns tell something."
        object.__setattr__(self, "sentence", told)


def check_loss(prepared: Prepared, decision: Decision) -> None:
    """Refuse a plan above the loss or the blank cells allowed; one that leaves everything blank unless all of it is allowed."""
    found = too_little(prepared, decision)
    if not found:
        return
    tried = offers(prepared)
    raise InfeasibleError(
        f"the best plan found tells too little: {found}. Nothing was written.",
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
        found = f"the loss would be {written(decision.loss, 2)}, and {written(most_loss, 2)} is allowed"
    elif mean_share(shares) > most_blank:
        found = (
            f"{100 * mean_share(shares):.0f} % of the quasi-identifying cells would be blank, and {100 * most_blank:.0f} % may be"
        )
    else:
        return ""
    if gone:
        found += f"; {len(gone)} of {len(shares)} quasi-identifiers would be wholly blank ({', '.join(gone)})"
    return found


def _limits(prepared: Prepared) -> tuple[float, float]:
    """The loss and the share of blank cells that are allowed; who accepts any loss accepts blank cells too."""
    policy = prepared.policy
    loss = LOSS_LIMIT if policy.loss_limit is None else policy.loss_limit
    accepted = 1.0 if policy.loss_limit == 1 else BLANK_LIMIT
    return loss, accepted if policy.blank_limit is None else policy.blank_limit


def with_offers(prepared: Prepared, error: InfeasibleError) -> InfeasibleError:
    """An error for requirements that no plan meets, with the nearest plans that were tried; its own hint if there are none."""
    tried = offers(prepared)
    return InfeasibleError(error.message, hint=nearest_plans(tried) or error.hint, alternatives=tried, blocking=error.blocking)


def nearest_plans(tried: Sequence[Offer]) -> str:
    """The offers as a sentence."""
    listed = " ".join(f"{i}. {offer.sentence}" for i, offer in enumerate(tried, start=1))
    return f"Nearest plans: {listed}" if tried else ""


def offers(prepared: Prepared) -> tuple[Offer, ...]:
    """Up to three plans near to the requirements, of different kinds, each tried; the one that loses least first."""
    kinds = (_by_method, _by_suppression, _by_size, _by_level, _by_column)
    found = [offer for kind in kinds if (offer := kind(prepared)) is not None]
    return tuple(sorted(found, key=lambda o: o.loss)[:MOST_OFFERS])


def _by_method(prepared: Prepared) -> Offer | None:
    """Local recoding, if the policy could ask for it and does not."""
    from shoal.release.plan.methods import local_recoding, local_unfit

    policy = prepared.policy
    if policy.method != "lattice" or prepared.base.n_classes > OFFER_CLASSES or local_unfit(prepared):
        return None
    try:
        found = local_recoding(prepared, silent)
    except ShoalError:
        return None
    if too_little(prepared, found):
        return None
    kept = sum(len(set(labels)) > 1 for labels in found.labels)
    return Offer("method", "method: local", float(found.loss), kept, len(found.labels), method="local")


def _by_suppression(prepared: Prepared) -> Offer | None:
    """The least share of records left out that works."""
    for share in SHARES:
        change = f"allow: {{suppress: {share}}}"
        offer = _tried(prepared, "suppress", change, suppress=share) if share > prepared.policy.suppress else None
        if offer is not None:
            return offer
    return None


def _by_size(prepared: Prepared) -> Offer | None:
    """The largest smaller group that works."""
    k = prepared.policy.smallest_class
    if any(r.needs_sample for r in prepared.policy.requirements):  # k follows from another requirement
        return None
    for smaller in sorted({k // 2, 3, 2} - {0, 1}, reverse=True):
        offer = _tried(prepared, "k", f"k: {smaller}", k=smaller) if smaller < k else None
        if offer is not None:
            return offer
    return None


def _by_level(prepared: Prepared) -> Offer | None:
    """The bounded column that may be generalized further, if that helps."""
    bounded = [c for c, r in prepared.policy.quasi.items() if (r.max_level or 0) < prepared.hierarchies[c].height]
    return _least(
        _tried(prepared, "raise level", f"'{c}' up to its highest level", column=c, level=prepared.hierarchies[c].height)
        for c in bounded
        if prepared.policy.quasi[c].max_level is not None
    )


def _by_column(prepared: Prepared) -> Offer | None:
    """One of the two finest columns left out."""
    finest = sorted(prepared.quasi, key=lambda c: -prepared.hierarchies[c].n_leaves)
    few = finest[:2] if len(prepared.quasi) > 1 else ()
    return _least(_tried(prepared, "drop column", f"'{c}' left out", column=c) for c in few)


def _least(tried: Iterable[Offer | None]) -> Offer | None:
    return min((offer for offer in tried if offer is not None), key=lambda o: o.loss, default=None)


def _tried(
    prepared: Prepared,
    kind: str,
    change: str,
    *,
    suppress: float | None = None,
    k: int | None = None,
    column: str | None = None,
    level: int | None = None,
) -> Offer | None:
    """The offer, if a plan is found and stays inside what is allowed."""
    from shoal.search import lattice

    policy, top = prepared.policy, {c: prepared.hierarchies[c].height for c in prepared.quasi}
    bounds = {c: (r.min_level, r.max_level) for c, r in policy.quasi.items()}
    if column is not None:
        bounds[column] = (bounds[column][0], level) if level is not None else (top[column], top[column])
    asked = requirements(prepared)
    try:
        found = lattice(
            prepared.base,
            prepared.hierarchies,
            asked if k is None else [K(k) if isinstance(r, K) else r for r in asked],
            suppress=policy.suppress if suppress is None else suppress,
            loss=policy.optimize,
            weights={c: r.weight for c, r in policy.quasi.items()},
            bounds=bounds,
            population=prepared.population,
            people=prepared.people,
            steps=OFFER_CELLS // (prepared.base.n_classes * len(top) + 20_000),
        )
    except ShoalError:
        return None
    most_loss, most_blank = _limits(prepared)
    left = [c for c in found.levels if kind != "drop column" or c != column]
    kept = sum(found.levels[c] < top[c] for c in left)
    too_much = policy.optimize in ("loss", "ncp") and found.loss > most_loss
    if not kept or too_much or 1 - kept / len(left) > most_blank:
        return None
    return Offer(
        kind, change, float(found.loss), kept, len(top), found.suppressed, suppress=suppress, k=k, column=column, level=level
    )


def blank_shares(prepared: Prepared, decision: Decision) -> dict[str, float]:
    """Share of blank cells among the published records, by quasi-identifier that is judged."""
    base = prepared.base
    out = {}
    for j, name in enumerate(base.columns):
        if prepared.n_values(name) < 2 or _fixed(prepared, name):
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


def _fixed(prepared: Prepared, name: str) -> bool:
    rule, height = prepared.policy.quasi[name], prepared.hierarchies[name].height
    lowest = (rule.min_level or 0) if prepared.coarser is None else prepared.coarser.asked[name]
    return lowest >= (height if rule.max_level is None else rule.max_level)


def blank_columns(shares: Mapping[str, float]) -> tuple[str, ...]:
    """The columns that are blank in every record."""
    return tuple(name for name, share in shares.items() if share == 1.0)


def mean_share(shares: Mapping[str, float]) -> float:
    """Share of all cells that are blank; 0 where no column held several values."""
    return sum(shares.values()) / len(shares) if shares else 0.0
