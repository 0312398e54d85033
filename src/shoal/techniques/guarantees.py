"""What each kind of step promises: whether it is true of everyone, and what it keeps.

Every clause (they are parted by semicolons) has a falsifier in ``tests/unit/techniques/test_transform_falsifiers.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from shoal.errors import UsageError
from shoal.model.plan import Plan, Step


@dataclass(frozen=True)
class Guarantee:
    """``truthful``: every published value is still true of its person; ``keeps`` and ``loses`` say what analysts can rely on.

    ``of_all``: what is kept is a matter of all records that the step saw, not of each one.
    """

    truthful: bool
    keeps: str
    loses: str
    of_all: bool = False


_TRUE = "every published value is true, though less precise"
_OWN = "each person's own value"
_TOGETHER = "which records belong together"
GUARANTEES: dict[str, Guarantee] = {
    "keep": Guarantee(True, "everything", "nothing"),
    "drop": Guarantee(True, "the other columns", "the column"),
    "constant": Guarantee(True, "the other columns", "the column's values"),
    "map": Guarantee(True, _TRUE, "differences inside a group"),
    "cut": Guarantee(True, _TRUE, "differences inside an interval"),
    "rare": Guarantee(True, "values of at least min_count records, as they are", "the other values", True),
    "prefix": Guarantee(True, _TRUE, "the hidden characters"),
    "generalize": Guarantee(True, _TRUE, "differences inside a group"),
    "round": Guarantee(True, "values to the nearest multiple of the base", "differences below the base"),
    "clamp": Guarantee(True, "values between the limits; that a limit is reached", "how far a value lies beyond a limit"),
    "centres": Guarantee(False, "the mean of each group (with means, to their decimals); the order of groups", _OWN, True),
    "represent": Guarantee(False, "the mean of each group (with means, to their decimals); the order of groups", _OWN, True),
    "microaggregate": Guarantee(
        False, "means of the cells that stay; at least k records share each combination", f"{_OWN}; variances shrink", True
    ),
    "noise": Guarantee(
        False,
        "means in expectation; variances after subtracting the stated one, to within a quarter of a squared step (rounding)",
        _OWN,
        True,
    ),
    "correlated_noise": Guarantee(
        False, "means in expectation; correlations in expectation, but for rounding", f"{_OWN}; variances grow", True
    ),
    "permute": Guarantee(False, "the column's distribution exactly", "relations to other columns outside the strata", True),
    "rank_swap": Guarantee(
        False, "the column's distribution exactly; ranks within the window (at least 5), of numbers to 15 digits", _OWN, True
    ),
    "pram": Guarantee(False, "expected counts of the categories (invariant, or after correction by the matrix)", _OWN, True),
    "date_shift": Guarantee(False, "order and distances of one person's dates in a column", "calendar dates, seasons, weekdays"),
    "sample": Guarantee(True, "every published record is true; shares in expectation", "the records outside the sample", True),
    "keyed_hash": Guarantee(False, _TOGETHER, "the identifier"),
    "pseudonymize": Guarantee(True, f"{_TOGETHER}; the vault can undo it", "the identifier"),
    "fake": Guarantee(False, "the format; equal values get equal fakes, different ones different fakes", "the identifier"),
}
"""By kind of step."""

VARIANTS: dict[str, Guarantee] = {
    "multiplicative": Guarantee(
        False, "means in expectation", f"{_OWN}, but 0 stays 0 and small numbers may stay as they are", True
    ),
    "median": Guarantee(False, "at least k records share each combination", _OWN, True),
    "made-up names": Guarantee(False, "equal values get equal fakes, different ones may coincide", "the identifier"),
}
"""Of steps whose settings change what they promise."""

BEFORE_SUPPRESSION = "before records are suppressed"
BEFORE_LATER = "before later steps on the column"
AFTER_EARLIER = "of what earlier steps on the column made"


def guarantee(step: Step) -> Guarantee:
    """What ``step`` promises, of the records that it sees.

    >>> from shoal.steps import Prefix
    >>> guarantee(Prefix("zip", 2)).truthful
    True
    """
    if getattr(step, "mode", "") == "multiplicative":
        return VARIANTS["multiplicative"]
    if step.kind == "microaggregate" and getattr(step, "publish", "") == "median":
        return VARIANTS["median"]
    if step.kind == "fake" and getattr(step, "provider", "code") != "code":
        return VARIANTS["made-up names"]
    found = GUARANTEES.get(step.kind)
    if found is None:
        raise UsageError(f"nothing is known of what step '{step.kind}' keeps.")
    return found


def guarantees(plan: Plan) -> tuple[Guarantee, ...]:
    """What each step of a plan promises, with what limits it: records left out afterwards, other steps on the same column."""
    out = []
    leaves_out = plan.suppression.scope == "rows" and plan.suppression.k >= 2
    for i, step in enumerate(plan.steps):
        said = guarantee(step)
        earlier, later = _on(step, plan.steps[:i]), _on(step, plan.steps[i + 1 :])
        if step.kind in ("drop", "constant"):  # nothing is left of what was made before
            earlier = []
        limits = (
            [AFTER_EARLIER] * bool(earlier) + [BEFORE_SUPPRESSION] * (leaves_out and said.of_all) + [BEFORE_LATER] * bool(later)
        )
        true = said.truthful and all(s.truthful for s in earlier)
        out.append(replace(said, truthful=true, keeps="; ".join([said.keeps, *limits])))
    return tuple(out)


def _on(step: Step, others: Sequence[Step]) -> list[Step]:
    """Those of the others that change a column of the step."""
    return [s for s in others if s.kind != "keep" and {*step.columns} & {*s.columns}]
