"""The plan that a draft proposes, so that the first release tells something: what had better stay out, and what the rest costs.

Takes    a table and the policy of its suggested roles
Returns  what the planner chooses and the quasi-identifiers to leave out, with what each choice would cost
Keeps    the planner's own answer if that leaves enough to tell; if too many cells would be blank, the column of which most would
         be blank stays out, of many columns several at once; the same on every machine
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from shoal.errors import ShoalError
from shoal.model.display import Progress, silent
from shoal.release.plan.decide import StoppedSearchError, decide
from shoal.release.plan.loss_limits import blank_shares, mean_share, too_little
from shoal.release.plan.prepare import Prepared, prepare
from shoal.release.plan.published_classes import Decision
from shoal.release.policy.policy import Policy

if TYPE_CHECKING:
    from shoal.engines.table import Table


MOST_BLANK = 0.3
"""Share of blank cells above which a column is left out."""
FEWEST = 2
"""Quasi-identifiers that are never left out."""
NEARLY_ALL = 0.9
"""Share of blank cells of one column from which it is left out, independent of the others."""
MOST_CLASSES = 400_000
"""Base classes up to which plans are tried for a draft."""
DRAFT_CELLS = 20_000_000
"""Cells that each search for a draft may look at, about a second. The release searches longer."""
DRAFT_LOCAL = 200
"""Base classes up to which a draft also tries local recoding with hierarchy values: it is slow, and sets seldom lose more."""
AT_ONCE = 8
"""Of so many columns one is left out before the next trial; of twice as many two."""


FEWER = "Take a smaller k, or fewer quasi-identifiers."
PRECIOUS = ("age", "birth_date", "sex")
"""What columns are about that are the last to stay out: most analyses need them."""


@dataclass(frozen=True)
class FirstPlan:
    """What a draft proposes. ``left_out`` holds the share of cells that would be blank, by column that had better stay out."""

    method: str = ""
    loss: float = 0.0
    blank: float = 0.0
    left_out: Mapping[str, float] = field(default_factory=dict)
    problem: str = ""
    """Why the policy cannot be applied as it stands, where that is so."""
    tried: tuple[Prepared, Decision, Decision | None] | None = field(default=None, compare=False, repr=False)
    """What was decided, where it was tried, and the plan with one level per column that was compared with it."""


class StoppedDraftError(KeyboardInterrupt):
    """The search was interrupted; ``best`` is the best plan found until then."""

    def __init__(self, best: FirstPlan) -> None:
        super().__init__()
        self.best = best


def first_plan(
    table: Table, policy: Policy, *, precious: Collection[str] = (), progress: Progress = silent, whole: bool = False
) -> FirstPlan:
    """Try the planner with ever fewer columns; ``precious`` ones are the last to stay out.

    With ``whole`` only all columns together: the answer says which one would be left out, and no other plan is tried.
    If it is interrupted inside a search, :class:`StoppedDraftError` has the best plan found, of these or of more columns.
    """
    left_out: dict[str, float] = {}
    last: FirstPlan | None = None
    try:
        prepared = prepare(table, policy, to_try=True)
        while prepared.base.n_classes <= MOST_CLASSES:
            progress(0.5, f"trying plans for {len(prepared.quasi)} columns")
            cells = prepared.policy.local_cells if prepared.base.n_classes <= DRAFT_LOCAL else "sets"
            relaxed = replace(prepared, policy=replace(prepared.policy, loss_limit=1.0, blank_limit=1.0, local_cells=cells))
            plans: dict[str, Decision | None] = {}
            decision = decide(relaxed, cells=DRAFT_CELLS, decisions=plans)
            shares = blank_shares(relaxed, decision)
            blank = mean_share(shares)
            enough = blank <= MOST_BLANK and max(shares.values(), default=0.0) < NEARLY_ALL
            if enough or len(prepared.quasi) <= FEWEST:
                problem = ""
                if not enough and too_little(prepared, decision):
                    k, records = prepared.policy.smallest_class, prepared.base.n_records
                    problem = (
                        f"{records:,} records are too few for k: {k}, {100 * blank:.0f} % of the cells would be blank. {FEWER}"
                    )
                return FirstPlan(
                    decision.method, decision.loss, blank, left_out, problem, (prepared, decision, plans.get("lattice"))
                )
            last = FirstPlan(decision.method, decision.loss, blank, dict(left_out))
            by_blank = sorted(shares, key=lambda c: (c not in precious or shares[c] >= NEARLY_ALL, shares[c]), reverse=True)
            worst = by_blank[: max(1, len(shares) // AT_ONCE)]
            left_out |= {c: shares[c] for c in worst}
            if whole:
                return replace(last, left_out=left_out)
            prepared = prepare(table, _without(prepared.policy, worst), to_try=True)
    except KeyboardInterrupt as stopped:
        if isinstance(stopped, StoppedSearchError):
            decision = stopped.best
            last = FirstPlan(decision.method, decision.loss, mean_share(blank_shares(relaxed, decision)), left_out)
        if last is None:
            raise
        raise StoppedDraftError(last) from None
    except ShoalError as error:
        return FirstPlan(problem=f"{error.message} {error.hint or ''}".strip())
    return FirstPlan()


def _without(policy: Policy, columns: Collection[str]) -> Policy:
    """The policy with quasi-identifiers dropped."""
    rest = {c: r for c, r in policy.quasi.items() if c not in columns}
    return replace(policy, quasi=rest, direct={**policy.direct, **dict.fromkeys(columns, "drop")})
