"""A plan made earlier, on new data: its steps become a hierarchy with one level, so that the same checks apply."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from shoal.errors import PolicyError, UnreadableError
from shoal.hierarchies.rule import Rule
from shoal.hierarchies.values import texts_of
from shoal.model.hierarchy import Hierarchy
from shoal.model.plan import SUPPRESSED, Plan, Step
from shoal.release.plan.prepare import Prepared
from shoal.steps import Drop, Keep, evaluate

NOBODY = "\x00no such value"


def read_plan(path: str | Path) -> Plan:
    """A plan.json that Shoal wrote, or the whole plan in the private file of a release (``FOLDER.private.json``)."""
    try:
        text = Path(path).read_text(encoding="utf-8")
        kept = json.loads(text) if '"shoal-private/1"' in text[:200] else {}
        return Plan.from_json(json.dumps(kept["plan"]) if kept.get("plan") else text)
    except ValueError as error:
        if isinstance(error, UnicodeDecodeError | json.JSONDecodeError):
            raise UnreadableError("the plan cannot be read: it is no JSON.", hint="Name a plan.json after --plan.") from None
        raise
    except (OSError, RecursionError) as error:
        raise UnreadableError(
            f"the plan cannot be read: {type(error).__name__}.", hint="Name a plan.json after --plan."
        ) from None


@dataclass(frozen=True)
class _Given(Rule):
    """Level 0 is the value, level 1 what the plan publishes."""

    given: Any = None
    kind: ClassVar[str] = "given"

    @property
    def inner(self) -> int:
        return 1

    def step(self, column: str, level: int, *, missing_label: str | None = None) -> Step:
        return Keep(column) if level == 0 else self.given


def fixed(prepared: Prepared, plan: Plan) -> tuple[Prepared, dict[str, tuple[int | None, int | None]]]:
    """The prepared table with the plan's one level per column, and the bounds that hold it there."""
    rules: dict[str, Rule] = {}
    hierarchies: dict[str, Hierarchy] = {}
    bounds: dict[str, tuple[int | None, int | None]] = {}
    for j, name in enumerate(prepared.base.columns):
        steps = plan.for_column(name)
        if len(steps) != 1 or isinstance(steps[0], Drop):
            raise PolicyError(
                f"the plan has {len(steps)} steps that publish quasi-identifier '{name}'; one is needed.",
                hint="Use the plan of a release with the same quasi-identifiers.",
            )
        rules[name] = _Given(steps[0])
        hierarchies[name] = _one_level(name, steps[0], prepared.base.categories[j])
        level = 0 if isinstance(steps[0], Keep) else 1
        bounds[name] = (level, level)
    return replace(prepared, rules=rules, hierarchies=hierarchies, inferred={}), bounds


def _one_level(name: str, step: Step, values: Any) -> Hierarchy:
    texts = texts_of(name, values)
    if isinstance(step, Keep):
        labels = list(texts)
    elif hasattr(step, "label"):
        labels = [str(step.label(t)) for t in texts]
    else:
        found = evaluate(step, texts)
        labels = [found.labels[i] for i in found.index]
    rows = [[t, label] for t, label in zip(texts, labels, strict=True)]
    if getattr(step, "missing_label", None) is None and set(labels) <= {SUPPRESSED}:
        rows.append([NOBODY, NOBODY])  # a single group '*' would take the missing values in, which this step leaves missing
    return Hierarchy.from_rows(name, rows or [[SUPPRESSED, SUPPRESSED]])
