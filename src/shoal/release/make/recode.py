"""RECODE: the data are written by the engine that holds them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from shoal.engines.core.state import changed
from shoal.errors import HierarchyGapError, OutputError, UsageError
from shoal.model.plan import Plan
from shoal.release.make.delta import DELTA
from shoal.release.plan.prepare import Prepared
from shoal.release.plan.published_classes import Decision
from shoal.steps import Drop, Keep

if TYPE_CHECKING:
    from shoal.engines.recode.write import Recoded

ENDINGS = {
    "csv": "csv",
    "parquet": "parquet",
    "arrow": "arrow",
    "excel": "xlsx",
    "xlsx": "xlsx",
    "spss": "sav",
    "sav": "sav",
    "stata": "dta",
    "dta": "dta",
    "jsonl": "jsonl",
    "sas": "xpt",
    "xpt": "xpt",
}
"""Formats of the published data, and the ending of the file. No packed ones: what they unpack to could not be bounded first."""


def ending(form: str) -> str:
    """The ending of the published file, or of the folder of a Delta table.

    >>> ending("excel"), ending("delta")
    ('xlsx', 'parquet')
    """
    known = {**ENDINGS, DELTA: "parquet"}
    if form not in known:
        raise UsageError(f"format '{form}' is not known.", hint=f"Formats: {', '.join(known)}.")
    return known[form]


def recode(prepared: Prepared, decision: Decision, out: Path, *, keep_unit: bool = False) -> Recoded:
    """The plan applied into a file, or into a folder of Parquet files where the engine's own machines can write them.

    ``keep_unit`` leaves the person column as it is, for the private count of people.
    """
    plan = decision.plan
    if keep_unit:
        unit = prepared.policy.unit
        steps = tuple(Keep(s.column) if isinstance(s, Drop) and s.column == unit else s for s in plan.steps)
        plan = Plan(steps, plan.suppression, plan.seed, plan.shuffle)
    try:
        return prepared.table.with_nested_as_text().recode(
            plan, out, kept=decision.kept, class_map=decision.class_map, parts=True
        )
    except HierarchyGapError:  # every value that was counted is covered
        raise changed() from None
    except OutputError:
        raise
    except OSError as error:  # whose message would name a file of a temporary place
        raise OutputError(
            f"the data could not be written: {type(error).__name__}.", hint="Check rights and free space."
        ) from None


def published_unit(prepared: Prepared, plan: Plan) -> str | None:
    """The person column, where the plan publishes it in some form."""
    unit = prepared.policy.unit
    return None if unit is None or any(isinstance(s, Drop) for s in plan.for_column(unit)) else unit
