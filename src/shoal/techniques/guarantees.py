"""What each kind of step promises: whether it is true of everyone, and what it keeps (``guarantees.toml``).

Every clause (they are parted by semicolons) has a falsifier in ``tests/unit/techniques/test_transform_falsifiers.py``.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.resources import files

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


_TABLE = tomllib.loads(files(__package__).joinpath("guarantees.toml").read_text(encoding="utf-8"))
GUARANTEES: dict[str, Guarantee] = {kind: Guarantee(**entry) for kind, entry in _TABLE["steps"].items()}
"""By kind of step."""
VARIANTS: dict[str, Guarantee] = {name: Guarantee(**entry) for name, entry in _TABLE["variants"].items()}
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
    known = GUARANTEES.get(step.kind)
    if known is None:
        raise UsageError(f"nothing is known of what step '{step.kind}' keeps.")
    return known


def guarantees(plan: Plan) -> tuple[Guarantee, ...]:
    """What each step of a plan promises, with what limits it: records left out afterwards, other steps on the same column."""
    out = []
    leaves_out = plan.suppression.scope == "rows" and plan.suppression.k >= 2
    for i, step in enumerate(plan.steps):
        stated = guarantee(step)
        earlier, later = _on(step, plan.steps[:i]), _on(step, plan.steps[i + 1 :])
        if step.kind in ("drop", "constant"):  # nothing is left of what was made before
            earlier = []
        limits = (
            [AFTER_EARLIER] * bool(earlier) + [BEFORE_SUPPRESSION] * (leaves_out and stated.of_all) + [BEFORE_LATER] * bool(later)
        )
        true = stated.truthful and all(s.truthful for s in earlier)
        out.append(replace(stated, truthful=true, keeps="; ".join([stated.keeps, *limits])))
    return tuple(out)


def _on(step: Step, others: Sequence[Step]) -> list[Step]:
    """Those of the others that change a column of the step."""
    return [s for s in others if s.kind != "keep" and {*step.columns} & {*s.columns}]
