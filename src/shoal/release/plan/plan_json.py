"""Plans and steps from JSON, with every kind of step known.

:mod:`shoal.model.plan` reads the steps that are registered. The rooms that define steps register them when they are imported;
this module imports them, when a step of theirs is read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shoal.errors import UnreadableError
from shoal.model.plan import Plan, Step, is_step_kind, step_from_json


def parse_plan(text: str) -> Plan:
    """The plan of a ``plan.json``.

    >>> parse_plan(Plan().to_json()).steps
    ()
    """
    return Plan.from_json(text, parse_step)


def parse_step(data: Mapping[str, Any]) -> Step:
    """A step from its JSON form, by its ``kind``.

    >>> parse_step({"kind": "rare", "column": "town", "min_count": 10}).column
    'town'
    """
    if not is_step_kind(data.get("kind", "")):
        # Imported here: most plans use the steps that are loaded already, and the techniques take a tenth of a second.
        import shoal.protector.pseudonyms.plan_step
        import shoal.steps
        import shoal.techniques  # noqa: F401
    return step_from_json(data)


def read_plan(path: str | Path) -> Plan:
    """A plan.json that Shoal wrote, or the whole plan in the private file of a release (``FOLDER.private.json``)."""
    try:
        text = Path(path).read_text(encoding="utf-8")
        kept = json.loads(text) if '"shoal-private/1"' in text[:200] else {}
        return parse_plan(json.dumps(kept["plan"]) if kept.get("plan") else text)
    except ValueError as error:
        if isinstance(error, UnicodeDecodeError | json.JSONDecodeError):
            raise UnreadableError("the plan cannot be read: it is not JSON.", hint="Name a plan.json after --plan.") from None
        raise
    except (OSError, RecursionError) as error:
        hint = "Name a plan.json after --plan."
        raise UnreadableError(f"the plan cannot be read: {type(error).__name__}.", hint=hint) from None
