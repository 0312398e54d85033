"""A plan that leaves too little information fails: the run stops and offers the nearest sensible plans with their cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from shoal.errors import InfeasibleError, ShoalError
from shoal.model.counts.classes import IntArray
from shoal.model.display import written
from shoal.model.requirement import K, Requirement
from shoal.release.plan.prepare import Prepared, requirements
from shoal.release.plan.published_classes import Decision, Shown

LOSS_LIMIT = 0.8
"""Loss above which a run stops where the policy says nothing (``allow: {loss: …}``)."""
BLANK_LIMIT = 0.75
"""Share of blank cells of quasi-identifiers above which a run stops where the policy says nothing (``allow: {blank: …}``)."""
OFFER_SECONDS = 2.0
"""Seconds that the search for one offer may take."""


@dataclass(frozen=True)
class Offer:
    """A plan near to the requirements: the change of the policy, its loss, and how many quasi-identifiers are informative."""

    change: str
    loss: float
    telling: int
    columns: int
    sentence: str = ""

    def __post_init__(self) -> None:
        said = f"{self.change}: loss {written(self.loss, 2)}, {self.telling} of {self.columns} columns tell something."
        object.__setattr__(self, "sentence", said)


def check_loss(prepared: Prepared, decision: Decision) -> None:
    """Refuse a plan above the loss or the blank cells allowed; one that leaves everything blank unless all of it is allowed."""
    most_loss, most_blank = _limits(prepared)
    shares = blank_shares(prepared, decision)
    if not shares:  # nothing to tell, or the policy says itself what every column becomes
        return
    gone = blank_columns(shares)
    nothing = len(gone) == len(shares) and most_blank < 1
    if nothing:
        found = f"every quasi-identifier would be blank ({', '.join(gone)})"
    elif decision.loss_name in ("loss", "ncp") and decision.loss > most_loss:
        found = f"the loss would be {written(decision.loss, 2)}, and {written(most_loss, 2)} is allowed"
    elif mean_share(shares) > most_blank:
        found = (
            f"{100 * mean_share(shares):.0f} % of the quasi-identifying cells would be blank, and {100 * most_blank:.0f} % may be"
        )
    else:
        return
    if gone and not nothing:
        found += f"; {len(gone)} of {len(shares)} quasi-identifiers would be wholly blank ({', '.join(gone)})"
    offers = tuple(_offers(prepared))
    near = " ".join(f"{i}. {offer.sentence}" for i, offer in enumerate(offers, start=1))
    raise InfeasibleError(
        f"the plan that loses least tells too little: {found}. Nothing was written.",
        hint=f"Nearest plans: {near} " * bool(near)
        + "Or name fewer quasi-identifiers, or accept it with allow: {loss: 1, blank: 1}.",
        alternatives=offers,
    )


def _limits(prepared: Prepared) -> tuple[float, float]:
    """The loss and the share of blank cells that are allowed; who accepts any loss accepts blank cells too."""
    policy = prepared.policy
    loss = LOSS_LIMIT if policy.loss_limit is None else policy.loss_limit
    accepted = 1.0 if policy.loss_limit == 1 else BLANK_LIMIT
    return loss, accepted if policy.blank_limit is None else policy.blank_limit


def _offers(prepared: Prepared) -> Iterator[Offer]:
    """Plans near to the requirements: local recoding, more suppression, a smaller k, a quasi-identifier less; with their cost."""
    policy, asked = prepared.policy, requirements(prepared)
    yield from _local(prepared, asked)
    for suppress in (0.05, 0.1, 0.2):
        if suppress > policy.suppress:
            yield from _tried(prepared, f"allow: {{suppress: {suppress}}}", asked, suppress=suppress)
    k = policy.smallest_class
    for smaller in sorted({k // 2, 3, 2} - {0, 1}, reverse=True):
        if smaller < k:
            fewer = [K(smaller) if isinstance(r, K) else r for r in asked]
            yield from _tried(prepared, f"k: {smaller}", fewer)
    finest = sorted(prepared.quasi, key=lambda c: -prepared.hierarchies[c].n_leaves)
    for column in finest[:2] if len(prepared.quasi) > 1 else ():
        top = prepared.hierarchies[column].height
        yield from _tried(prepared, f"'{column}' left out", asked, bounds={column: (top, top)})


def _local(prepared: Prepared, asked: list[Requirement]) -> Iterator[Offer]:
    """Local recoding, where the policy could ask for it and does not."""
    from shoal.search import local

    policy = prepared.policy
    bounded = any(r.min_level is not None or r.max_level is not None for r in policy.quasi.values())
    if policy.method == "local" or policy.sample is not None or policy.hardened or bounded or prepared.population is not None:
        return
    if policy.optimize not in ("loss", "ncp"):
        return
    weights = {c: r.weight for c, r in policy.quasi.items()}
    try:
        found = local(
            prepared.base,
            prepared.hierarchies,
            asked,
            weights=weights,
            people=prepared.people,
            time_budget=OFFER_SECONDS,
        )
    except ShoalError:
        return
    kept = sum(len(set(labels)) > 1 for labels in found.labels)
    if found.loss <= _limits(prepared)[0] and kept:
        yield Offer("method: local", float(found.loss), kept, len(found.labels))


def _tried(
    prepared: Prepared,
    words: str,
    asked: list[Requirement],
    *,
    suppress: float | None = None,
    bounds: Mapping[str, tuple[int, int]] | None = None,
) -> Iterator[Offer]:
    """The offer, where it is found quickly and stays inside what is allowed."""
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
    most_loss, most_blank = _limits(prepared)
    left = [c for c in found.levels if bounds is None or c not in bounds]
    kept = sum(found.levels[c] < prepared.hierarchies[c].height for c in left)
    too_much = policy.optimize in ("loss", "ncp") and found.loss > most_loss
    if kept and not too_much and 1 - kept / len(left) <= most_blank:
        yield Offer(words, float(found.loss), kept, len(found.levels))


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
    kept = np.where(decision.stays, base.sizes if base.records is None else base.records, 0)
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
