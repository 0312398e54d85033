"""The plan that a draft proposes, so that the first release tells something: how to recode, and what had better stay out.

Takes    a table and the policy of its suggested roles
Returns  the method and the quasi-identifiers to leave out, with what each choice would cost
Keeps    one level per column where that leaves every column something to tell; else local recoding; and where that leaves too
         many cells blank, the column of which most would be blank stays out, one after the other; the same on every machine
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from shoal.errors import ShoalError
from shoal.model.display import Progress, silent
from shoal.release.plan.decide import decide
from shoal.release.plan.loss_limits import BLANK_LIMIT, LOSS_LIMIT, blank_columns, blank_shares, mean_share
from shoal.release.plan.prepare import Prepared, prepare
from shoal.release.plan.published_classes import Decision
from shoal.release.policy.policy import Policy

if TYPE_CHECKING:
    from shoal.engines.table import Table


MOST_LOSS = 0.4
"""Loss up to which one level per column is proposed."""
MOST_BLANK = 0.3
"""Share of blank cells of a local recoding above which a column is left out."""
FEWEST = 2
"""Quasi-identifiers that are never left out."""
NEARLY_ALL = 0.9
"""Share of blank cells of one column from which it is left out, whatever the others keep."""
MOST_CLASSES, MOST_LOCAL = 400_000, 40_000
"""Base classes up to which one level per column, and local recoding, are tried for a draft."""
CELLS, FEWEST_STEPS = 100_000_000, 20
"""Cells of base classes that the search behind the first plan may look at, and the fewest steps of it. Work is counted, not
timed: the draft is the same on a busy machine."""


PRECIOUS = ("age", "birth_date", "sex")
"""What columns are about that are the last to stay out: most analyses need them."""


@dataclass(frozen=True)
class FirstPlan:
    """What a draft proposes. ``left_out`` holds the share of cells that would be blank, by column that had better stay out."""

    method: str = ""
    loss: float | None = 0.0
    """None where it was not tried."""
    blank: float = 0.0
    one_level_blank: tuple[str, ...] = ()
    one_level_loss: float | None = None
    left_out: Mapping[str, float] = field(default_factory=dict)
    problem: str = ""
    """Why the policy cannot be applied as it stands, where that is so."""


def first_plan(table: Table, policy: Policy, *, precious: Collection[str] = (), progress: Progress = silent) -> FirstPlan:
    """Try one level per column, then local recoding with ever fewer columns; ``precious`` ones are the last to stay out."""
    try:
        prepared = prepare(table, policy)
        if prepared.base.n_classes > MOST_CLASSES:
            return FirstPlan()
        progress(0.5, "trying one level per column")
        levels = _tried(prepared, "lattice")
        if levels is not None and levels[0].loss <= MOST_LOSS and not blank_columns(levels[1]):
            return FirstPlan("lattice", levels[0].loss, mean_share(levels[1]))
        if prepared.base.n_classes > MOST_LOCAL:
            gone = () if levels is None else blank_columns(levels[1])
            return FirstPlan("local", None, 0.0, gone, None if levels is None else levels[0].loss)
        return _local(table, prepared, levels, precious, progress)
    except ShoalError as error:
        return FirstPlan(problem=f"{error.message} {error.hint or ''}".strip())


def _local(
    table: Table,
    prepared: Prepared,
    levels: tuple[Decision, dict[str, float]] | None,
    precious: Collection[str],
    progress: Progress,
) -> FirstPlan:
    gone, loss = ((), None) if levels is None else (blank_columns(levels[1]), levels[0].loss)
    left_out: dict[str, float] = {}
    while True:
        progress(0.6, f"trying local recoding of {len(prepared.quasi)} columns")
        found = _tried(prepared, "local")
        if found is None:
            return FirstPlan()
        decision, shares = found
        blank = mean_share(shares)
        enough = blank <= MOST_BLANK and max(shares.values(), default=0.0) < NEARLY_ALL
        if enough or len(prepared.quasi) <= FEWEST:
            problem = "" if enough else _too_little(prepared, decision, shares)
            return FirstPlan("local", decision.loss, blank, gone, loss, left_out, problem)
        worst = max(shares, key=lambda c: (c not in precious or shares[c] >= NEARLY_ALL, shares[c]))
        left_out[worst] = shares[worst]
        prepared = prepare(table, _without(prepared.policy, worst))


def _too_little(prepared: Prepared, decision: Decision, shares: dict[str, float]) -> str:
    """Why a run of this plan would stop (:func:`~shoal.release.plan.loss_limits.check_loss`); empty where it would not."""
    blank, k = mean_share(shares), prepared.policy.smallest_class
    if decision.loss <= LOSS_LIMIT and blank <= BLANK_LIMIT and len(blank_columns(shares)) < len(shares):
        return ""
    return (
        f"{prepared.base.n_records:,} records are too few for k: {k}, {100 * blank:.0f} % of the cells would be blank. "
        "Take a smaller k, or fewer quasi-identifiers."
    )


def _without(policy: Policy, column: str) -> Policy:
    """The policy with a quasi-identifier dropped."""
    rest = {c: r for c, r in policy.quasi.items() if c != column}
    return replace(policy, quasi=rest, direct={**policy.direct, column: "drop"})


def _tried(prepared: Prepared, method: str) -> tuple[Decision, dict[str, float]] | None:
    """The decision of a method by counted work, and the share of blank cells by column; nothing where it finds none."""
    policy = replace(prepared.policy, method=method, loss_limit=1.0, blank_limit=1.0)  # type: ignore[arg-type]
    steps = max(FEWEST_STEPS, CELLS // max(1, prepared.base.n_classes * len(prepared.quasi)))
    asked = replace(prepared, policy=policy, steps=steps)
    try:
        decision = decide(asked)
    except ShoalError:
        return None
    return decision, blank_shares(asked, decision)
