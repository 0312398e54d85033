"""What each kind of step promises: whether it is true of everyone, and what it keeps."""

from __future__ import annotations

from dataclasses import dataclass, replace

from shoal.errors import UsageError
from shoal.model.plan import Step


@dataclass(frozen=True)
class Guarantee:
    """``truthful``: every published value is still true of its person; ``keeps`` and ``loses`` say what analysts can rely on."""

    truthful: bool
    keeps: str
    loses: str


_TRUE = "every published value is true, though less precise"
GUARANTEES: dict[str, Guarantee] = {
    "keep": Guarantee(True, "everything", "nothing"),
    "drop": Guarantee(True, "the other columns", "the column"),
    "constant": Guarantee(True, "the other columns", "the column's values"),
    "map": Guarantee(True, _TRUE, "differences inside a group"),
    "cut": Guarantee(True, _TRUE, "differences inside an interval"),
    "prefix": Guarantee(True, _TRUE, "the hidden characters"),
    "generalize": Guarantee(True, _TRUE, "differences inside a group"),
    "round": Guarantee(True, "values to the nearest multiple of the base", "differences below the base"),
    "clamp": Guarantee(True, "values between the limits; that a limit is reached", "how far a value lies beyond a limit"),
    "centres": Guarantee(False, "the mean of each group (with means), the order of groups", "each person's own value"),
    "represent": Guarantee(False, "the mean of each group (with means), the order of groups", "each person's own value"),
    "microaggregate": Guarantee(
        False, "means; at least k records share each combination", "variances shrink; each person's own value"
    ),
    "noise": Guarantee(False, "means in expectation; variances after subtracting the stated one", "each person's own value"),
    "correlated_noise": Guarantee(False, "means and correlations in expectation", "each person's own value; variances grow"),
    "permute": Guarantee(False, "the column's distribution exactly", "relations to other columns outside the strata"),
    "rank_swap": Guarantee(
        False, "the column's distribution exactly; ranks within the window (at least 5)", "each person's own value"
    ),
    "pram": Guarantee(False, "expected counts (invariant, or after correction by the matrix)", "each person's own value"),
    "date_shift": Guarantee(False, "order and distances of one person's dates", "calendar dates, seasons, weekdays"),
    "sample": Guarantee(True, "every published record is true; shares in expectation", "the records outside the sample"),
    "keyed_hash": Guarantee(False, "which records belong together", "the identifier"),
    "pseudonymize": Guarantee(True, "which records belong together; the vault can undo it", "the identifier"),
    "fake": Guarantee(
        False, "format; equal values get equal fakes (code: different ones different fakes; names may coincide)", "the identifier"
    ),
}
"""By kind of step."""


def guarantee(step: Step) -> Guarantee:
    """What ``step`` promises.

    >>> from shoal.steps import Prefix
    >>> guarantee(Prefix("zip", 2)).truthful
    True
    """
    found = GUARANTEES.get(step.kind)
    if getattr(step, "mode", "") == "multiplicative" and found is not None:
        return replace(found, loses="each person's own value, but 0 stays 0 and small numbers may stay as they are")
    if found is None:
        raise UsageError(f"nothing is known of what step '{step.kind}' keeps.")
    return found
